# SPDX-License-Identifier: BSD-3-Clause
"""The HTTP server of build/tests/http_stand, and raw requests to it: for tests/cli/http*.test."""
import json
import os
import socket
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
STAND = os.path.join(BUILD, "tests", "http_stand")


class Checks:
    """expect() says what does not hold; end() is the exit code."""

    def __init__(self):
        self.failed = self.done = 0

    def expect(self, what, holds, seen=""):
        self.done += 1
        if not holds:
            self.failed += 1
            print(f"failed: {what}: {seen!r:.600}")

    def end(self):
        print(f"{self.done - self.failed} of {self.done} held")
        return 1 if self.failed or not self.done else 0


def eventually(holds, seconds=20):
    """Whether it comes to hold within that time."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Asked:
    """A server at self.port of 127.0.0.1, its control socket at self.control, its process self.pid."""

    def connect(self, timeout=10):
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def ask(self, octets, parts=1, half_close=False, timeout=10):
        """All that comes back until the server closes (or 'timeout' with what came)."""
        with self.connect(timeout) as sock:
            step = max(1, len(octets) // parts)
            try:
                for i in range(0, len(octets), step):
                    sock.sendall(octets[i:i + step])
                    if parts > 1:
                        time.sleep(0.001)
                if half_close:
                    sock.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            return read_all(sock)

    def get(self, path, *headers, method="GET"):
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", *headers]
        return split("\r\n".join(lines + ["", ""]).encode(), self)

    def json(self, name):
        status, _, body = self.get(f"/api/{name}.json")
        assert status == 200, status
        return json.loads(body)

    def memory_kb(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            return int(next(l for l in file if l.startswith("VmRSS")).split()[1])

    def waited_ms(self):
        """For how long this thread and the control core have been ready but not on a CPU: on a machine
        that is busy with something else, that is not the gateway's doing."""
        total = 0
        for path in ("/proc/thread-self/schedstat", f"/proc/{self.pid}/task/{self.pid}/schedstat"):
            with open(path, encoding="ascii") as file:
                total += int(file.read().split()[1])
        return total / 1e6

    def control_answers_ms(self):
        """How long one command of sluicectl's takes, from connect to answer, and without waiting for a CPU."""
        waited, begin = self.waited_ms(), time.monotonic()
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(10)
            sock.connect(self.control)
            sock.sendall(b'{"command":"version"}\n')
            answer = sock.makefile("rb").readline()
        assert json.loads(answer)["return"] == "OK"
        took = (time.monotonic() - begin) * 1000
        return took, took - (self.waited_ms() - waited)


class Stand(Asked):
    """build/tests/http_stand, made for the test."""

    def __init__(self, *arguments, listen=None, log=None):
        self.folder = tempfile.TemporaryDirectory(prefix="sluice-http.")
        self.control = os.path.join(self.folder.name, "control.sock")
        self.port = free_port()
        self.listen = listen or f"127.0.0.1:{self.port}"
        self.program = subprocess.Popen(
            [STAND, self.control, self.listen, *arguments], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=log, text=True, bufsize=1)
        if self.program.stdout.readline() != "ready\n":
            raise SystemExit("http_stand did not start")
        self.pid = self.program.pid

    def alive(self):
        return self.program.poll() is None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.program.stdin.close()
        try:
            self.code = self.program.wait(20)
        except subprocess.TimeoutExpired:
            self.program.kill()
            self.code = self.program.wait()
        self.program.stdout.close()
        self.folder.cleanup()

    def tell(self, line):
        self.program.stdin.write(line + "\n")
        assert self.program.stdout.readline() == "done\n", "http_stand is gone"


TOKEN = "0123456789abcdef" * 4


class Acting(Stand):
    """The same with a token; self.log and self.events are what it has written."""

    def __init__(self, listen=None):
        self.files = tempfile.TemporaryDirectory(prefix="sluice-page.")
        name = os.path.join(self.files.name, "token")
        with open(os.open(name, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write(TOKEN + "\n")
        self.event_file = os.path.join(self.files.name, "eve.json")
        self.log_file = open(os.path.join(self.files.name, "log"), "w+", encoding="utf-8")  # pylint: disable=consider-using-with
        super().__init__("2", "/etc/policy.json", name, self.event_file, listen=listen, log=self.log_file)

    def __exit__(self, *_):
        super().__exit__()
        self.log_file.close()
        self.files.cleanup()

    def log(self):
        with open(self.log_file.name, encoding="utf-8") as file:
            return file.read()

    def events(self):
        with open(self.event_file, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def post(self, command, arguments=None, headers=(), token=TOKEN, body=None):
        """(status, headers, answer) of a command as the page sends it; `headers` stand before the others."""
        if body is None:
            body = json.dumps({"command": command, **({"arguments": arguments} if arguments is not None else {})})
        lines = ["POST /api/command HTTP/1.1", "Host: localhost:%d" % self.port, "Connection: close",
                 "Content-Length: %d" % len(body), *headers]
        if not any(h.lower().startswith("content-type:") for h in headers):
            lines.append("Content-Type: application/json")
        if token is not None:
            lines.append("Authorization: Bearer " + token)
        status, answered, text = split(("\r\n".join(lines + ["", ""]) + body).encode(), self)
        return status, answered, json.loads(text) if answered.get("content-type") == "application/json" else text


class Live(Asked):
    """A gateway that runs."""

    def __init__(self, port, control, pid):
        self.port, self.control, self.pid, self.code = port, control, pid, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def alive(self):
        return os.path.exists(f"/proc/{self.pid}")


def read_all(sock):
    out = b""
    try:
        while True:
            more = sock.recv(65536)
            if not more:
                return out
            out += more
    except OSError:
        return out


def split(octets, stand):
    """(status, headers in lower case, body) of one answer."""
    answer = stand.ask(octets)
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = dict((name.lower(), value.strip()) for name, _, value in (l.partition(":") for l in lines[1:]))
    return (int(lines[0].split()[1]) if lines[0] else 0), headers, body.decode("utf-8")
