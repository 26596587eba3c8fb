# SPDX-License-Identifier: BSD-3-Clause
"""Runs sluice-scan as a gateway does: an arena, control sockets, requests and verdicts (app/scan/wire.h)."""
import fcntl
import mmap
import os
import select
import signal
import socket
import struct
import subprocess
import tempfile
import time

MAGIC, VERSION, PAGE = 0x6C737363, 2, 4096
REQUEST, VERDICT, BORN, REPLACE, GONE, FAILED, FOLDER = range(1, 8)
VALUES = ["clean", "unscanned", "error", "timeout", "infected"]
REASONS = ["none", "too_big", "too_deep", "encrypted", "format", "limit", "protocol", "busy", "no_engine"]
EXTENTS = 128
F_ADD_SEALS, SEALS = 1033, 0x2 | 0x4 | 0x10 | 0x1  # shrink, grow, future write, seal
EICAR = b"X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"
EICAR_NDB = f"Eicar.Test:0:*:{EICAR.hex()}\n"


def head(kind, number):
    return struct.pack("=IBBHQ", MAGIC, VERSION, kind, 0, number)


def control(kind, number, text=b""):
    return head(kind, number) + struct.pack("=iIQQ32s192s", 0, 0, 0, 0, b"", text)


def request(number, size, extents, flags=1, lead=0):
    body = b"".join(struct.pack("=II", page, size) for page, size in extents)
    return head(REQUEST, number) + struct.pack("=QIIII", size, flags, len(extents), lead, 0) + body.ljust(8 * EXTENTS, b"\0")


class Arena:
    """A sealed memfd, which only this process can write."""

    def __init__(self, size):
        self.fd = os.memfd_create("arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, size)
        self.map = mmap.mmap(self.fd, size)
        fcntl.fcntl(self.fd, F_ADD_SEALS, SEALS)

    def put(self, content, at=0, pieces=1, gap=0):
        """Writes content from page `at`, in pieces of whole pages with `gap` pages between; its extents."""
        pages = -(-len(content) // PAGE)
        each = -(-pages // pieces) * PAGE
        extents, page = [], at
        for begin in range(0, len(content), each):
            part = content[begin:begin + each]
            self.map[page * PAGE:page * PAGE + len(part)] = part
            extents.append((page, len(part)))
            page += -(-len(part) // PAGE) + gap
        return extents

    def close(self):
        self.map.close()
        os.close(self.fd)


class Gone(Exception):
    pass


class Lcore:
    """A scan lcore's ends of the sockets."""

    def __init__(self):
        self.control, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.files, self.child, self.pid, self.number, self.messages = None, 0, 0, 0, 0

    def hear(self, timeout=30):
        """The next control message, as a dictionary."""
        if not select.select([self.control], [], [], timeout)[0]:
            raise TimeoutError("no control message")
        size = struct.calcsize("=IBBHQiIQQ32s192s")
        raw, fds, _, _ = socket.recv_fds(self.control, size + 1, 4)
        if not raw:
            raise Gone("control socket closed")
        assert len(raw) == size, len(raw)
        magic, version, kind, zero, number, pid, signatures, db_version, db_time, digest, text = struct.unpack(
            "=IBBHQiIQQ32s192s", raw)
        assert (magic, version, zero) == (MAGIC, VERSION, 0)
        said = {"kind": kind, "id": number, "pid": pid, "signatures": signatures, "version": db_version,
                "time": db_time, "digest": digest, "text": text.rstrip(b"\0").decode()}
        if kind == BORN:
            assert len(fds) == 1, fds
            self.drop()
            self.files, self.child, self.pid = socket.socket(fileno=fds[0]), number, pid
        elif kind == GONE:
            self.drop()
        return said

    def drop(self):
        if self.files:
            self.files.close()
        self.files = None

    def born(self, timeout=30):
        said = self.hear(timeout)
        assert said["kind"] == BORN, said
        return said

    def ask(self, arena, content, **where):
        self.number += 1
        self.messages += 1
        self.files.send(request(self.number, len(content), arena.put(content, **where)))

    def verdict(self, timeout=60):
        if not select.select([self.files], [], [], timeout)[0]:
            raise TimeoutError("no verdict")
        try:
            raw = self.files.recv(4096)
        except ConnectionResetError:
            raw = b""
        if not raw:
            raise Gone("file socket closed")
        self.messages += 1
        magic, version, kind, zero, number, ns, value, reason, last, _, name = struct.unpack("=IBBHQQBBB5s64s", raw)
        assert (magic, version, kind, zero, number) == (MAGIC, VERSION, VERDICT, 0, self.number)
        self.ns, self.last = ns, last
        name = name.rstrip(b"\0").decode()
        value, reason = VALUES[value], REASONS[reason]
        return name if value == "infected" else reason if value == "unscanned" else value

    def scan(self, arena, content, timeout=60, **where):
        self.ask(arena, content, **where)
        return self.verdict(timeout)

    def replace(self):
        self.control.send(control(REPLACE, self.child))

    def close(self):
        self.drop()
        self.control.close()


class Scanner:
    """The program with its sockets, arena and folders. `before`: is given the folder to unpack in before it is started."""

    def __init__(self, program, database, lcores=1, arena=None, user="nobody", before=None, **options):
        self.folder = tempfile.mkdtemp(prefix="scan-rig.")
        self.arena = Arena(arena or 64 << 20)
        self.lcores = [Lcore() for _ in range(lcores)]
        self.tmp = os.path.join(self.folder, "tmp")
        os.mkdir(self.tmp)
        if before:
            before(self.tmp)
        self.log = open(os.path.join(self.folder, "log"), "w+")
        fds = [self.arena.fd] + [lcore.theirs.fileno() for lcore in self.lcores]
        words = [program, "--database", database, "--arena", str(fds[0]), "--control", ",".join(map(str, fds[1:])),
                 "--tmp", self.tmp]
        if user and os.geteuid() == 0:
            words += ["--user", user]
        for name, value in options.items():
            words += ["--" + name.replace("_", "-"), str(value)]
        self.process = subprocess.Popen(words, pass_fds=fds, stderr=self.log, stdin=subprocess.DEVNULL,
                                        start_new_session=True)
        for lcore in self.lcores:
            lcore.theirs.close()

    @property
    def lcore(self):
        return self.lcores[0]

    def logged(self):
        with open(self.log.name) as file:
            return file.read()

    def children(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
            return [int(word) for word in file.read().split()]

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def left(self):
        """What lies in the folders to unpack in."""
        return sorted(os.path.relpath(os.path.join(at, name), self.tmp)
                      for at, folders, files in os.walk(self.tmp) for name in files + folders if at != self.tmp)

    def settled(self):
        """(descriptors, children, files left) when nothing moves any more."""
        last = None
        for _ in range(100):
            now = (self.descriptors(), len(self.children()), self.left())
            if now == last and now[1] == sum(lcore.control.fileno() >= 0 for lcore in self.lcores):
                break
            last = now
            time.sleep(0.05)
        return now

    def close(self, timeout=20):
        """Closes all sockets; the exit code."""
        for lcore in self.lcores:
            lcore.close()
        return self.end(timeout)

    def end(self, timeout=20):
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        self.clean()
        return code

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.clean()

    def clean(self):
        self.log.close()
        self.arena.close()
        subprocess.run(["rm", "-rf", self.folder], check=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()


def database(folder, **files):
    """Writes files NAME_ENDING=text; the folder."""
    os.makedirs(folder, exist_ok=True)
    for name, content in files.items():
        with open(os.path.join(folder, name.replace("_", ".")), "w") as file:
            file.write(content)
    return folder
