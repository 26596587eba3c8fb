#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ends of connections that are held, for tests/netns/hold.test.

hold_peer.py echo HOST:PORT                      sends back what it gets, many connections
hold_peer.py latency HOST:PORT N SECONDS         N connections ping-pong; one line of what it took
hold_peer.py peer listen|connect HOST:PORT even|odd PIECES
                                                 a BitTorrent peer (BEP 3) that has every other
                                                 piece, gives them and gets the rest; one JSON line
hold_peer.py wire DUMP PORT                      counts what a tcpdump -S saw: segments again,
                                                 probes of idle ends, window updates
"""
import hashlib
import json
import re
import selectors
import socket
import struct
import sys
import threading
import time

PIECE, BLOCK = 65536, 16384
CHOKE, UNCHOKE, INTERESTED, HAVE, BITFIELD, REQUEST, BLOCK_ID = 0, 1, 2, 4, 5, 6, 7


def endpoint(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


def echo(where):
    def serve(sock):
        with sock:
            while content := sock.recv(4096):
                sock.sendall(content)

    with socket.create_server(endpoint(where)) as server:
        while True:
            threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()


def latency(where, number, seconds):
    """Each connection has one small message under way; the next goes 10 ms after its answer."""
    selector, times, late = selectors.DefaultSelector(), [], []
    for _ in range(number):
        sock = socket.create_connection(endpoint(where), timeout=10)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setblocking(False)
        selector.register(sock, selectors.EVENT_READ, {"sent": 0.0})
        late.append((0.0, sock))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        now = time.monotonic()
        for due, sock in [entry for entry in late if entry[0] <= now]:
            late.remove((due, sock))
            selector.get_key(sock).data["sent"] = time.monotonic()
            sock.send(b"x" * 64)
        for key, _ in selector.select(0.005):
            if key.fileobj.recv(4096):
                times.append(time.monotonic() - key.data["sent"])
                late.append((time.monotonic() + 0.01, key.fileobj))
    times.sort()
    print("connections %d, round trips %d, median %.2f ms, p99 %.2f ms, longest %.2f ms" % (
        number, len(times), *(1000 * times[int(part * (len(times) - 1))] for part in (0.5, 0.99, 1))))


def piece_of(index):
    return hashlib.sha256(b"%d" % index).digest() * (PIECE // 32)


class Peer:
    def __init__(self, sock, first, pieces):
        self.sock, self.pieces = sock, pieces
        self.mine = set(range(first, pieces, 2))
        self.missing = set(range(pieces)) - self.mine
        self.got = {}
        self.lock = threading.Lock()
        self.ready, self.answers = threading.Condition(), []

    def send(self, number, content=b""):
        with self.lock:
            self.sock.sendall(struct.pack(">IB", 1 + len(content), number) + content)

    def read(self, length):
        content = b""
        while len(content) < length:
            part = self.sock.recv(length - len(content))
            if not part:
                raise EOFError("the other end closed")
            content += part
        return content

    def handshake(self):
        ours = b"\x13BitTorrent protocol" + bytes(8) + b"sluice lab torrent 2" + b"-SL0001-" + bytes(12)
        self.sock.sendall(ours)
        if self.read(68)[:20] != ours[:20]:
            raise ValueError("no handshake of BitTorrent")
        bits = bytearray((self.pieces + 7) // 8)
        for index in self.mine:
            bits[index // 8] |= 128 >> index % 8
        self.send(BITFIELD, bytes(bits))
        self.send(INTERESTED)
        self.send(UNCHOKE)

    def ask(self):
        for index in sorted(self.missing):
            for begin in range(0, PIECE, BLOCK):
                self.send(REQUEST, struct.pack(">III", index, begin, BLOCK))

    def take(self, content):
        index, begin = struct.unpack(">II", content[:8])
        self.got.setdefault(index, {})[begin] = content[8:]
        blocks = self.got[index]
        if len(blocks) == PIECE // BLOCK and index in self.missing:
            if b"".join(blocks[at] for at in sorted(blocks)) != piece_of(index):
                raise ValueError("piece %d is not what it was" % index)
            self.missing.remove(index)
            self.later(HAVE, index)  # who reads must not wait for room to write: the other end may do the same

    def later(self, *answer):
        with self.ready:
            self.answers.append(answer)
            self.ready.notify()

    def give(self):
        while True:
            with self.ready:
                self.ready.wait_for(lambda: self.answers)
                number, *what = self.answers.pop(0)
            if number < 0:
                return
            if number == HAVE:
                self.send(HAVE, struct.pack(">I", *what))
                continue
            index, begin, length = what
            self.send(BLOCK_ID, struct.pack(">II", index, begin) + piece_of(index)[begin:begin + length])

    def run(self):
        """Until this end has all, and the other has said so of each of our pieces."""
        wanted = set(self.mine)
        giver = threading.Thread(target=self.give, daemon=True)
        giver.start()
        self.handshake()
        while self.missing or wanted:
            length, = struct.unpack(">I", self.read(4))
            if not length:
                continue
            message = self.read(length)
            if message[0] == UNCHOKE:
                threading.Thread(target=self.ask, daemon=True).start()
            elif message[0] == REQUEST:
                self.later(REQUEST, *struct.unpack(">III", message[1:]))
            elif message[0] == BLOCK_ID:
                self.take(message[1:])
            elif message[0] == HAVE:
                wanted.discard(struct.unpack(">I", message[1:])[0])
        self.later(-1)
        giver.join()


def peer(how, where, which, pieces):
    if how == "listen":
        with socket.create_server(endpoint(where)) as server:
            sock = server.accept()[0]
    else:
        sock = socket.create_connection(endpoint(where), timeout=10)
    sock.settimeout(40)
    begin = time.monotonic()
    one = Peer(sock, which == "odd", pieces)
    result = {"complete": False}
    try:
        one.run()
        result["complete"] = True
    except (OSError, EOFError, ValueError) as error:
        result["error"] = str(error)
    result.update(have=pieces - len(one.missing), seconds=round(time.monotonic() - begin, 2))
    print(json.dumps(result), flush=True)
    sock.close()
    return 0 if result["complete"] and result["seconds"] >= 3 else 1


LINE = re.compile(r"IP6? (\S+) > (\S+): Flags \[([^\]]+)\](?:.*?seq (\d+)(?::(\d+))?)?(?:.*?ack (\d+))?.*?win (\d+).*?length (\d+)")


def wire(dump, port):
    """By direction, told by the server's port."""
    ends, last = {}, {}
    counts = {"again": 0, "keep_alives": 0, "window_updates": 0, "segments": 0}
    with open(dump, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            seen = LINE.search(line)
            if not seen:
                continue
            source, flags, length = seen[1], seen[3], int(seen[8])
            begin, end = int(seen[4] or 0), int(seen[5] or seen[4] or 0)
            if length:
                counts["segments"] += 1
                top = ends.get(source, begin)
                counts["keep_alives" if length == 1 and end == top else "again"] += end <= top and source in ends
                ends[source] = max(top, end)
            elif flags == ".":
                state = (seen[6], seen[7])
                before = last.get(source)
                counts["window_updates"] += bool(before and before[0] == state[0] and before[1] != state[1])
                last[source] = state
    print(", ".join("%s %d" % (name.replace("_", " "), value) for name, value in counts.items()) + " (port %s)" % port)


def main(words):
    if len(words) == 2 and words[0] == "echo":
        return echo(words[1])
    if len(words) == 4 and words[0] == "latency":
        return latency(words[1], int(words[2]), float(words[3]))
    if len(words) == 5 and words[0] == "peer":
        return peer(words[1], words[2], words[3], int(words[4]))
    if len(words) == 3 and words[0] == "wire":
        return wire(words[1], words[2])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
