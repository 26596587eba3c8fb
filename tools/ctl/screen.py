# SPDX-License-Identifier: BSD-3-Clause
"""A terminal that a live view has for itself, and gives back as it was however it ends: q, Ctrl-C,
Ctrl-Z, a signal, an error. VT100 sequences on terminals that know them; elsewhere (TERM=dumb, a
pipe) views are printed one below the other."""
import os
import re
import select
import signal
import sys
import termios
import time
import tty

ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[0m\x1b[?25h\x1b[?1049l"
ESCAPE = re.compile(r"\x1b(\[[0-9;]*[ -/]*[@-~]|O.|.)?")  # a function key: one key, of no meaning here


class Ended(Exception):
    """TERM or HUP."""

    def __init__(self, number):
        super().__init__("signal")
        self.number = number


class Screen:
    def __init__(self, plain=False):
        """`plain`: nothing but lines is written, and no key read."""
        self.out = sys.stdout
        self.is_tty = self.out.isatty() and not plain
        self.in_place = self.is_tty and os.environ.get("TERM", "dumb") not in ("", "dumb", "unknown")
        self.has_keys = sys.stdin is not None and sys.stdin.isatty() and self.is_tty
        self.modes, self.resized, self.stopping, self.keys = None, False, False, ""
        self.entered = False

    def size(self):
        try:
            size = os.get_terminal_size(self.out.fileno())
        except (OSError, ValueError):
            size = (0, 0)
        # A serial line does not know: 80x24 is what all have.
        return size[0] or 80, size[1] or 24

    # Whose the terminal is

    def __enter__(self):
        self.wake_read, self.wake_write = os.pipe()
        os.set_blocking(self.wake_read, False)
        os.set_blocking(self.wake_write, False)
        self.old_wakeup = signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        self.old = {number: signal.signal(number, function) for number, function in (
            (signal.SIGWINCH, self.on_resize), (signal.SIGTERM, self.on_end), (signal.SIGHUP, self.on_end),
            (signal.SIGTSTP, self.on_stop), (signal.SIGCONT, self.on_resize))}
        self.enter()
        return self

    def __exit__(self, kind, error, _trace):
        self.leave()
        for number, function in self.old.items():
            signal.signal(number, function)
        signal.set_wakeup_fd(self.old_wakeup)
        os.close(self.wake_read)
        os.close(self.wake_write)
        if kind is Ended:
            # As if it had not been caught, now that the terminal is in order.
            signal.signal(error.number, signal.SIG_DFL)
            os.kill(os.getpid(), error.number)
        return False

    def enter(self):
        self.entered = True
        if self.has_keys:
            self.modes = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin, termios.TCSADRAIN)  # Ctrl-C and Ctrl-Z stay signals
        if self.in_place:
            self.out.write(ENTER)
            self.out.flush()

    def leave(self):
        if not self.entered:
            return
        self.entered = False
        try:
            if self.in_place:
                self.out.write(LEAVE)
                self.out.flush()
        except OSError:
            pass  # it has gone
        finally:
            if self.modes is not None:
                try:
                    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self.modes)
                except termios.error:
                    pass
                self.modes = None

    def on_resize(self, _number, _frame):
        self.resized = True

    def on_end(self, number, _frame):
        raise Ended(number)

    def on_stop(self, _number, _frame):
        self.stopping = True  # not here: it may have come in the middle of a write

    def stop(self):
        self.stopping = False
        self.leave()
        os.kill(os.getpid(), signal.SIGSTOP)
        self.enter()
        self.resized = True

    # What is seen, and pressed

    def draw(self, lines):
        """The whole view: in place, cut to the terminal; else below what was there."""
        if not self.in_place:
            self.out.write("\n".join(lines) + "\n")
        else:
            _, rows = self.size()
            self.out.write("\x1b[H" + "\x1b[K\r\n".join(lines[:rows]) + "\x1b[K\x1b[J")
        self.out.flush()

    def read_keys(self):
        try:
            text = os.read(sys.stdin.fileno(), 1024).decode(errors="replace")
        except OSError:
            text = ""
        if not text:  # the terminal has gone
            raise Ended(signal.SIGHUP)
        self.keys += ESCAPE.sub("", text)

    def wait(self, until, question=None):
        """Returns a key, "resize", the question's answer (a tuple of it), or None at `until`."""
        while True:
            if self.stopping:
                self.stop()
            if self.resized:
                self.resized = False
                return "resize"
            if self.keys:
                key, self.keys = self.keys[0], self.keys[1:]
                return key
            left = max(0.0, until - time.monotonic())
            readers = [self.wake_read] + ([sys.stdin] if self.has_keys else [])
            writers = []
            if question is not None:
                left = min(left, question.left_s())
                (writers if question.wants_to_write() else readers).append(question)
            ready, writable, _ = select.select(readers, writers, [], left)
            if self.wake_read in ready:
                os.read(self.wake_read, 512)
            if sys.stdin in ready:
                self.read_keys()
            if question is not None:
                if question in ready or question in writable:
                    message = question.step()
                    if message is not None:
                        return (message,)
                elif question.left_s() == 0:
                    raise question.late()
            if not ready and not writable and time.monotonic() >= until:
                return None
