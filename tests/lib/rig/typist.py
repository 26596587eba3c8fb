#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""typist.py FILE COMMAND...: runs a program in a terminal of its own and types into it what is
appended to FILE, line by line; what it shows goes to standard output. Ends with the program, and
the program with it."""
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios


def main():
    path, command = sys.argv[1], sys.argv[2:]
    with open(path, "ab"):
        pass
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGTERM))
    with open(path, "rb") as orders:
        line = b""
        while True:
            line += orders.readline()
            if line.endswith(b"\n"):
                os.write(terminal, line[:-1] + b"\r")
                line = b""
            if select.select([terminal], [], [], 0.2)[0]:
                try:
                    sys.stdout.buffer.write(os.read(terminal, 65536))
                    sys.stdout.buffer.flush()
                except OSError:  # the program is gone
                    break
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    sys.exit(main())
