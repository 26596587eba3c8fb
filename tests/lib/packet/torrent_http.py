# SPDX-License-Identifier: BSD-3-Clause
"""The .torrent of what peers in a capture sent each other, as a server would have sent it before: put together from
their pieces and the names of files, and proved by the hash that they named.
"""
import hashlib
import itertools
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from packet import packets  # noqa: E402 pylint: disable=wrong-import-position

LEAD = b"\x13BitTorrent protocol"
HANDSHAKE = 68
PIECE = 7


def halves(said):
    """The octets of each half of each TCP connection: what variants.read() gives."""
    found = {}
    for item in said:
        if item.talk.l4 == "tcp" and item.what == "data":
            found.setdefault((item.talk, item.half), bytearray()).extend(item.payload)
    return found.values()


def pieces_of(octets):
    """({index: octets}, info hash) of a half behind its handshake; None: it has none."""
    at = octets.find(LEAD)
    if at < 0:
        return None
    info_hash, at, blocks = bytes(octets[at + 28:at + 48]), at + HANDSHAKE, {}
    while at + 5 <= len(octets):
        length = int.from_bytes(octets[at:at + 4], "big")
        if length > 9 and octets[at + 4] == PIECE:
            index, begin = (int.from_bytes(octets[at + n:at + n + 4], "big") for n in (5, 9))
            blocks.setdefault(index, {})[begin] = bytes(octets[at + 13:at + 4 + length])
        at += 4 + length
    return {index: b"".join(block for _, block in sorted(found.items())) for index, found in blocks.items()}, info_hash


def text(octets):
    return b"%d:%s" % (len(octets), octets)


def infos(folder, files, pieces):
    """The info dictionaries that the torrent may have: its files in any order."""
    digests = b"".join(hashlib.sha1(octets).digest() for _, octets in sorted(pieces.items()))
    for order in itertools.permutations(files):
        listed = b"".join(b"d6:lengthi%de4:pathl%see" % (size, text(name)) for name, size in order)
        yield b"d5:filesl%se4:name%s12:piece lengthi%de6:pieces%se" % (
            listed, text(folder), len(pieces[0]), text(digests))


def torrent(said, folder, files):
    """The .torrent, `files`: [(name, size)]; None: nobody is heard who has it."""
    for octets in halves(said):
        found = pieces_of(octets)
        if not found or not found[0]:
            continue
        for info in infos(folder, files, found[0]):
            if hashlib.sha1(info).digest() == found[1]:
                return b"d8:announce24:http://192.0.2.80/announ4:info%se" % info
    return None


def write(path, octets):
    """A capture in which a client loads it."""
    cap = packets.Capture()
    session = packets.Session(packets.Path(cap), 40000, 80).open()
    session.say(0, b"GET /alpha.torrent HTTP/1.1\r\nHost: 192.0.2.80\r\n\r\n")
    session.say(1, b"HTTP/1.1 200 OK\r\nContent-Type: application/x-bittorrent\r\nContent-Length: %d\r\n\r\n%s" %
                (len(octets), octets)).close()
    with open(path, "wb") as out:
        out.write(cap.octets())
