# SPDX-License-Identifier: BSD-3-Clause
"""Torrents, and what peers say of them, for captures and scripted peers."""
import hashlib
import struct

LEAD = b"\x13BitTorrent protocol"
RESERVED = b"\0\0\0\0\0\x10\0\5"
BLOCK = 16384


def bencode(value):
    if isinstance(value, int):
        return b"i%de" % value
    if isinstance(value, bytes):
        return b"%d:" % len(value) + value
    if isinstance(value, list):
        return b"l" + b"".join(map(bencode, value)) + b"e"
    return b"d" + b"".join(bencode(k) + bencode(v) for k, v in sorted(value.items())) + b"e"


def message(kind, octets=b""):
    return struct.pack(">IB", 1 + len(octets), kind) + octets


class Torrent:
    """`files`: [(path, octets)] in a folder of that name; one file where it is None. `more`: further keys of the info
    dictionary, and `raw` one that stands instead of all."""

    def __init__(self, folder, files, piece=BLOCK, more=None, raw=None):
        self.payload, self.piece = b"".join(octets for _, octets in files), piece
        digests = b"".join(hashlib.sha1(self.payload[at:at + piece]).digest() for at in range(0, len(self.payload), piece))
        info = {b"piece length": piece, b"pieces": digests}
        if folder is None:
            info |= {b"name": files[0][0], b"length": len(files[0][1])}
        else:
            info |= {b"name": folder, b"files": [
                {b"length": len(octets), b"path": path.split(b"/")} for path, octets in files]}
        self.info = raw or bencode(info | (more or {}))
        self.hash = hashlib.sha1(self.info).digest()

    def file(self):
        """The .torrent."""
        return b"d8:announce24:http://192.0.2.80/announ4:info" + self.info + b"e"

    def handshake(self, peer=b"1"):
        return LEAD + RESERVED + self.hash + b"-qB4520-" + peer * 12

    def extended(self):
        return message(20, b"\0" + bencode({b"m": {b"ut_metadata": 3}, b"metadata_size": len(self.info)}))

    def metadata(self):
        """The messages that carry the info dictionary."""
        return [message(20, b"\3" + bencode({b"msg_type": 1, b"piece": n, b"total_size": len(self.info)})
                        + self.info[n * BLOCK:(n + 1) * BLOCK]) for n in range((len(self.info) + BLOCK - 1) // BLOCK)]

    def block(self, at, length=BLOCK):
        octets = self.payload[at:at + length]
        return message(7, struct.pack(">II", at // self.piece, at % self.piece) + octets)

    def blocks(self, length=BLOCK):
        return [self.block(at, length) for at in range(0, len(self.payload), length)]


def http(torrent, name=b"a", kind=b"application/x-bittorrent"):
    """The answer that brings a .torrent, and its request."""
    octets = torrent.file()
    return [(0, b"GET /%s HTTP/1.1\r\nHost: a.example\r\n\r\n" % name),
            (1, b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (kind, len(octets), octets))]
