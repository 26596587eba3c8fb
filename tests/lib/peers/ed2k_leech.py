#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""ed2k_leech.py OUT SIZE HASH ADDRESS SOURCE:PORT...: a user of eDonkey at ADDRESS who takes a file from several sources at once. Of
N sources, each is asked for every Nth part of 9,728,000 octets, in blocks of 180 KiB, three at a time, as eMule does; the digests of
the parts that it says have to make HASH. What came is in OUT, at its place. Prints of each source how much came and how it ended:

    SOURCE:PORT gave 9728000 of 9728000, all
    SOURCE:PORT gave 1996000 of 2000000, reset at part

`reset`, `closed` and `silent` (for 20 s) are told with what was waited for: hello, request, slot, part. Who closed or was silent is asked
twice more, as another user: of one user aMule answers no request twice. Ends with 0 if all came, else with 1."""
import os
import socket
import struct
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from content import ed2k  # noqa: E402 pylint: disable=wrong-import-position

SILENCE, TRIES = 20, 3
AT_ONCE = 3
# What it says that it is: eMule 0.50, texts in UTF-8, several requests in one message, with the file's size; no compression, as what
# comes has to be known by its place.
EMULE = {"emule": 0 << 24 | 50 << 10, "misc": 1 << 28 | 1 << 2 | 1 << 1, "misc2": 1 << 5 | 1 << 4}
NO_SUCH_FILE, QUEUED_AGAIN, DIGESTS_WANTED = 0x48, 0x57, 0x51


class Ended(Exception):
    """A source that goes on no more, by how."""


class Source:
    def __init__(self, user, where, missing):
        self.user, self.where, self.missing = user, where, missing
        self.wanted, self.how, self.step = sum(end - start for start, end in missing), "", ""
        self.connection = self.stream = None

    def say(self, octets):
        self.connection.sendall(octets)

    def hear(self, *opcodes):
        """The next frame of these kinds: (opcode, payload); others are passed over."""
        until = time.monotonic() + SILENCE
        while time.monotonic() < until:
            head = self.stream.read(6)
            if len(head) < 6:
                raise Ended("closed")
            _, length, opcode = struct.unpack("<BIB", head)
            payload = self.stream.read(length - 1)
            if len(payload) < length - 1:
                raise Ended("closed")
            if opcode in opcodes:
                return opcode, payload
        raise Ended("silent")

    def ask(self):
        """Until it sends parts."""
        of = self.user.file
        self.step = "hello"
        self.say(ed2k.hello(self.user.nick(), self.user.port, **EMULE))
        self.hear(0x4C)
        self.step = "request"
        self.say(ed2k.sized(of, self.user.size))
        opcode, answer = self.hear(0x93, NO_SUCH_FILE)
        if opcode == NO_SUCH_FILE or answer[:17] != of + b"\x59":
            raise Ended("it has no such file")
        if self.user.size >= ed2k.PART:
            self.say(ed2k.frame(ed2k.ED2K, DIGESTS_WANTED, of))
            if ed2k.md4(self.hear(0x52)[1][18:]) != of:
                raise Ended("these are no digests of the file")
        self.slot()

    def slot(self):
        self.step = "slot"
        self.say(ed2k.frame(ed2k.ED2K, 0x54, self.user.file))
        self.hear(0x55)

    def take(self):
        """Three blocks, or what is left."""
        self.step = "part"
        blocks = []
        for start, end in self.missing:
            while start < end and len(blocks) < AT_ONCE:
                blocks.append((start, min(end, start + ed2k.BLOCK)))
                start += ed2k.BLOCK
        self.say(ed2k.parts_wanted(self.user.file, *blocks))
        left = sum(end - start for start, end in blocks)
        while left:
            opcode, payload = self.hear(0x46, 0xA2, QUEUED_AGAIN)
            if opcode == QUEUED_AGAIN:
                return self.slot()
            head, form = (24, "<II") if opcode == 0x46 else (32, "<QQ")
            start, end = struct.unpack(form, payload[16:head])
            if payload[:16] != self.user.file or end - start != len(payload) - head or not any(a <= start < end <= b for a, b in blocks):
                raise Ended(f"it sent {start} to {end}, which nobody asked for")
            os.pwrite(self.user.out, payload[head:], start)
            left -= self.came(start, end)
        return None

    def came(self, start, end):
        """What was missing of it."""
        before = sum(b - a for a, b in self.missing)
        rest = [piece for a, b in self.missing for piece in ((a, min(b, start)), (max(a, end), b))]
        self.missing = [(a, b) for a, b in rest if a < b]
        return before - sum(b - a for a, b in self.missing)

    def once(self):
        try:
            self.connection = socket.create_connection(self.where, SILENCE, (self.user.address, 0))
            with self.connection, self.connection.makefile("rb") as self.stream:
                self.ask()
                while self.missing:
                    self.take()
                self.say(ed2k.frame(ed2k.ED2K, 0x49, self.user.file))
            return "all"
        except Ended as ended:
            return str(ended)
        except TimeoutError:
            return "silent"
        except (ConnectionResetError, BrokenPipeError):
            return "reset"

    def run(self):
        for _ in range(TRIES):
            self.how = self.once()
            if self.how not in ("closed", "silent"):
                break
        left = sum(end - start for start, end in self.missing)
        print(f"{self.where[0]}:{self.where[1]} gave {self.wanted - left} of {self.wanted}, "
              + (self.how if self.how == "all" else f"{self.how} at {self.step}"), flush=True)


class User:
    port = 4662

    def __init__(self, out, size, of, address):
        self.out, self.size, self.file, self.address = os.open(out, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644), size, of, address

    @staticmethod
    def nick():
        """Of somebody whom nobody has seen before; the user's hash follows from it."""
        return b"user " + os.urandom(4).hex().encode()


def main():
    out, size, of, address, *sources = sys.argv[1:]
    user = User(out, int(size), bytes.fromhex(of), address)
    parts = [(start, min(user.size, start + ed2k.PART)) for start in range(0, user.size, ed2k.PART)]
    those = []
    for number, source in enumerate(sources):
        host, _, port = source.partition(":")
        those.append(Source(user, (host, int(port)), parts[number::len(sources)]))
    threads = [threading.Thread(target=source.run) for source in those]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 1 if any(source.missing for source in those) else 0


if __name__ == "__main__":
    sys.exit(main())
