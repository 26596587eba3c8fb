# SPDX-License-Identifier: BSD-3-Clause
"""A program in a terminal of its own: what stands on the screen, keys, resizing, and in which state
it leaves the terminal. Knows the few sequences that our programs may write; others are `strange`."""
import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

SEQUENCE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|\x1b(.)?")


class Screen:
    """What a VT100 would show."""

    def __init__(self, columns, rows):
        self.resize(columns, rows)
        self.alternate = self.hidden = False
        self.strange, self.wraps = [], 0
        self.rest = ""

    def resize(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.cells = [[" "] * columns for _ in range(rows)]
        self.x = self.y = 0

    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    def feed(self, text):
        text = self.rest + text
        at, self.rest = 0, ""
        while at < len(text):
            if text[at] != "\x1b":
                self.put(text[at])
                at += 1
                continue
            found = SEQUENCE.match(text, at)
            if found.group(2) is None and (at + 1 == len(text) or text[at + 1] == "["):
                self.rest = text[at:]  # the rest comes later
                return
            self.sequence(found)
            at = found.end()

    def sequence(self, found):
        kind, words = found.group(2), found.group(1) or ""
        if kind == "H" and not words:
            self.x = self.y = 0
        elif kind == "K" and not words:
            self.cells[self.y][self.x:] = [" "] * (self.columns - self.x)
        elif kind == "J" and not words:
            self.cells[self.y][self.x:] = [" "] * (self.columns - self.x)
            for row in range(self.y + 1, self.rows):
                self.cells[row] = [" "] * self.columns
        elif kind in "hl" and words == "?1049":
            self.alternate = kind == "h"
            self.cells = [[" "] * self.columns for _ in range(self.rows)]
        elif kind in "hl" and words == "?25":
            self.hidden = kind == "l"
        elif kind != "m":
            self.strange.append(found.group(0))

    def put(self, character):
        if character == "\r":
            self.x = 0
        elif character == "\n":
            self.y += 1
            if self.y == self.rows:
                self.cells = self.cells[1:] + [[" "] * self.columns]
                self.y -= 1
        elif character < " " and character not in "\a\b":
            self.strange.append(repr(character))
        else:
            if self.x == self.columns:
                self.wraps += 1
                self.x = 0
                self.put("\n")
            self.cells[self.y][self.x] = character
            self.x += 1


class Terminal:
    def __init__(self, command, columns=80, rows=24, env=None, term="xterm"):
        self.screen, self.raw = Screen(columns, rows), ""
        self.status = None
        # The outer end is opened here, so that its modes can be asked for when the program is gone.
        self.outer, self.inner = pty.openpty()
        self.size(columns, rows)
        self.modes = termios.tcgetattr(self.inner)
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.outer)
            os.setsid()
            fcntl.ioctl(self.inner, termios.TIOCSCTTY, 0)
            for fd in (0, 1, 2):
                os.dup2(self.inner, fd)
            environment = {**os.environ, "TERM": term, **(env or {})}
            environment.pop("NO_COLOR", None)
            os.execvpe(command[0], command, environment)

    def size(self, columns, rows):
        fcntl.ioctl(self.outer, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns, rows):
        self.size(columns, rows)  # the kernel sends SIGWINCH
        self.screen.resize(columns, rows)

    def press(self, keys):
        os.write(self.outer, keys.encode())

    def read(self, seconds):
        if not select.select([self.outer], [], [], seconds)[0]:
            return False
        try:
            text = os.read(self.outer, 65536).decode(errors="replace")
        except OSError as error:
            if error.errno == errno.EIO:
                return False
            raise
        self.raw += text
        self.screen.feed(text)
        return True

    def until(self, holds, seconds=15):
        """Reads until `holds(lines)`; False when it never does."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if holds(self.screen.lines()):
                return True
            self.read(0.05)
            self.poll()
        return holds(self.screen.lines())

    def shows(self, text, seconds=15):
        return self.until(lambda lines: any(text in line for line in lines), seconds)

    def poll(self, options=os.WNOHANG):
        if self.status is None:
            pid, status = os.waitpid(self.pid, options)
            if pid and not os.WIFSTOPPED(status):
                self.status = status
        return self.status

    def ends(self, seconds=10):
        """Its exit status, minus the signal that killed it; None: it does not end."""
        end = time.monotonic() + seconds
        while self.poll() is None and time.monotonic() < end:
            self.read(0.05)
        while self.read(0.1):
            pass
        return None if self.status is None else os.waitstatus_to_exitcode(self.status)

    def stops(self, seconds=10):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            if pid:
                return os.WIFSTOPPED(status)
        return False

    def kill(self, number):
        os.kill(self.pid, number)

    def is_sane(self):
        """As it was before: modes, cursor, main screen."""
        return (termios.tcgetattr(self.inner) == self.modes and not self.screen.hidden
                and not self.screen.alternate)

    def close(self):
        if self.poll() is None:
            self.kill(signal.SIGKILL)
            self.poll(0)
        os.close(self.outer)
        os.close(self.inner)
