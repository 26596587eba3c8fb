# SPDX-License-Identifier: BSD-3-Clause
"""One question, one answer, over the control socket. A question can be waited for beside a keyboard
(live views), or be asked and be done with (`ask`)."""
import json
import select
import socket
import time

DEFAULT_SOCKET = "/run/sluice/control.sock"
DEFAULT_TIMEOUT_S = 30.0
ANSWER_BYTES_MAX = 64 << 20  # more is no answer of a gateway


class Refused(Exception):
    """The gateway answered NOK, or what was asked cannot be had from its answers."""

    def __init__(self, message):
        super().__init__("refused")
        self.message = message


class Unreachable(Exception):
    """No gateway, or none that answers."""


class Wrong(Exception):
    """The command line makes no sense, seen only after it was parsed."""


def connect(path, deadline):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.setblocking(False)
    try:
        while True:
            try:
                sock.connect(path)
                return sock
            except BlockingIOError:  # so many wait already
                if time.monotonic() > deadline:
                    raise Unreachable("%s: too many clients wait there; the gateway is busy or stands still" % path)
                time.sleep(0.05)
    except FileNotFoundError:
        problem = "%s does not exist: is the gateway running, and is this its paths.control? --socket PATH names " \
                  "another" % path
    except ConnectionRefusedError:
        problem = "nobody listens at %s: the gateway has ended; start it (sluice run -c FILE, or systemctl start " \
                  "sluice)" % path
    except PermissionError:
        problem = "%s: no permission; run as root, or as a member of the group that owns it (ls -l %s)" % (path, path)
    except OSError as error:
        problem = "%s: %s" % (path, error.strerror or error)
    except BaseException:
        sock.close()
        raise
    sock.close()
    raise Unreachable(problem)


class Question:
    """Is sent when it is made; `step` when its socket is ready, until it gives the answer."""

    def __init__(self, options, command, arguments):
        self.path, self.timeout = options.socket, options.timeout
        self.deadline = time.monotonic() + options.timeout
        arguments = {key: value for key, value in arguments.items() if value is not None}
        self.rest = (json.dumps({"command": command, "arguments": arguments}) + "\n").encode()
        self.chunks, self.length = [], 0
        self.sock = connect(self.path, self.deadline)

    def fileno(self):
        return self.sock.fileno()

    def close(self):
        self.sock.close()

    def wants_to_write(self):
        return bool(self.rest)

    def left_s(self):
        return max(0.0, self.deadline - time.monotonic())

    def late(self):
        return Unreachable("no answer within %g s: the gateway is busy or stands still; --timeout S waits longer"
                           % self.timeout)

    def step(self):
        """The message of the answer, or None: more is to come."""
        try:
            if self.rest:
                self.rest = self.rest[self.sock.send(self.rest):]
                return None
            chunk = self.sock.recv(1 << 20)
        except BlockingIOError:
            return None
        except OSError as error:
            # Turned away with an answer that was sent before ours was read
            if not self.rest:
                raise Unreachable("%s: %s" % (self.path, error.strerror or error))
            self.rest = b""
            return None
        if not chunk:
            raise Unreachable("%s: the gateway closed the connection without an answer" % self.path)
        self.chunks.append(chunk)
        self.length += len(chunk)
        if self.length > ANSWER_BYTES_MAX:
            raise Unreachable("%s: what answers there is no sluice gateway" % self.path)
        return self.read() if chunk.endswith(b"\n") else None

    def read(self):
        try:
            reply = json.loads(b"".join(self.chunks))
            result, message = reply["return"], reply["message"]
        except (ValueError, KeyError, TypeError):
            raise Unreachable("%s: what answers there is no sluice gateway" % self.path)
        if result != "OK":
            raise Refused(message)
        return message


def ask(options, command, **arguments):
    question = Question(options, command, arguments)
    try:
        while True:
            writers = [question] if question.wants_to_write() else []
            ready = select.select([] if writers else [question], writers, [], question.left_s())
            if not any(ready):
                raise question.late()
            message = question.step()
            if message is not None:
                return message
    finally:
        question.close()
