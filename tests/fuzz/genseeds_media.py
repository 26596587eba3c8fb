#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes corpus/quic/ and corpus/stun/: what clients say over datagrams, written here by hand.

The form of an input is that of fuzz_quic.c (which seals the frames itself) and fuzz_stun.c.
"""
import os
import struct
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
RAW = 0xFF
COOKIE = bytes.fromhex("2112a442")


def varint(value):
    return bytes([value]) if value < 64 else struct.pack(">H", 0x4000 | value)


def hello(name, filler=0, cookie=b""):
    """A ClientHello; with a cookie's length byte, one of DTLS."""
    sni = struct.pack(">HHHBH", 0, len(name) + 5, len(name) + 3, 0, len(name)) + name
    alpn = b"\0\x10\0\5\0\3\2h3"
    versions = b"\0\x2b\0\3\2\3\4"
    extensions = struct.pack(">HH", 0x1234, filler) + bytes(filler) + sni + alpn + versions
    version = b"\xfe\xfd" if cookie else b"\3\3"
    body = version + b"R" * 32 + b"\0" + cookie + b"\0\4\x13\1\x13\2\1\0" + struct.pack(">H", len(extensions)) + extensions
    return b"\1" + struct.pack(">I", len(body))[1:] + body


def crypto(message, begin, end, kind=6):
    part = message[begin:end]
    return bytes([kind]) + varint(begin) + varint(len(part)) + part


def fed(first, *datagrams):
    """datagrams: (bits, bytes)"""
    return bytes([first]) + b"".join(struct.pack(">BH", bits, len(body)) + body for bits, body in datagrams)


def dtls(message, begin, end, number=0):
    body = message[4:]
    part = body[begin:end]
    handshake = message[:4] + struct.pack(">H", number) + struct.pack(">I", begin)[1:] + struct.pack(">I", len(part))[1:]
    return b"\x16\xfe\xfd" + bytes(8) + struct.pack(">H", 12 + len(part)) + handshake + part


def chlo(name):
    values = [(b"PAD\0", b"----"), (b"SNI\0", name), (b"VER\0", b"Q050")]
    table, end = b"", 0
    for tag, value in values:
        end += len(value)
        table += tag + struct.pack("<I", end)
    return b"CHLO" + struct.pack("<HH", len(values), 0) + table + b"".join(v for _, v in values)


def attribute(kind, value):
    return struct.pack(">HH", kind, len(value)) + value + bytes(-len(value) % 4)


def stun(kind, *attributes, ident=COOKIE + b"abcdefghijkl", fingerprint=False):
    body = b"".join(attribute(k, v) for k, v in attributes)
    head = struct.pack(">HH", kind, len(body) + 8 * fingerprint) + ident
    if fingerprint:
        body += attribute(0x8028, struct.pack(">I", zlib.crc32(head + body) ^ 0x5354554E))
    return head + body


SHORT, LONG = hello(b"media.example"), hello(b"media.example", 900)
DTLS = hello(b"call.example", cookie=b"\0")
OLD = b"\x0d12345678Q043\1" + bytes(12) + b"\xa0\1\0\0" + chlo(b"old.example")

QUIC = {
    "v1": fed(0, (0, crypto(SHORT, 0, 999))),
    "v2-two-datagrams": fed(1, (0, crypto(LONG, 500, 9999)), (0, crypto(LONG, 0, 500))),
    "chaos": fed(0, (0, crypto(SHORT, 60, 99) + b"\1\0\0" + crypto(SHORT, 0, 30) + b"\1" + crypto(SHORT, 99, 999)),
                 (4, b"\2\5\0\1\0\1\1" + crypto(SHORT, 30, 60))),
    "coalesced": fed(0, (0, crypto(SHORT, 0, 40)), (2, crypto(SHORT, 40, 999))),
    "retry": fed(4, (0, crypto(SHORT, 0, 40)), (1, crypto(SHORT, 40, 999))),
    "ack-ecn": fed(5, (8, b"\3\0\0\0\0\1\2\3" + crypto(SHORT, 0, 999))),
    "close": fed(0, (0, b"\x1c\0\0\0" + crypto(SHORT, 0, 999))),
    "q050": fed(9, (0, b"\7" + crypto(chlo(b"q.example"), 0, 999, 8))),
    "t051": fed(11, (0, crypto(SHORT, 0, 999, 8))),
    "q043": fed(RAW, (0, OLD)),
    "q046": fed(RAW, (0, b"\xc3Q046\x50" + b"12345678" + b"\0\0\0\1" + bytes(12) + b"\xa0\1\0\0" + chlo(b"old.example"))),
    "dtls": fed(RAW, (0, dtls(DTLS, 0, 999))),
    "dtls-fragments": fed(RAW, (0, dtls(DTLS, 50, 999)), (0, dtls(DTLS, 0, 30) + dtls(DTLS, 30, 50))),
    "dtls-cookie": fed(RAW, (0, dtls(DTLS, 0, 50)), (0, dtls(DTLS, 0, 999, 1))),
    "raw-v1": fed(RAW, (0, b"\xc3\0\0\0\1\x08" + b"12345678" + b"\0\0\x44\x9e" + b"x" * 1182)),
}

STUN = {
    "binding": stun(1),
    "ice": stun(1, (6, b"abcd:efgh"), (0x24, b"\x6e\0\1\xff"), (0x802A, bytes(8)), (8, bytes(20)), fingerprint=True),
    "answer": stun(0x101, (0x20, b"\0\1\x12\x34\1\2\3\4"), (0x8022, b"server"), fingerprint=True),
    "realm": stun(0x113, (9, b"\0\0\4\1Unauthorized"), (0x15, b"nonce"), (0x14, b"viber.com")),
    "teams": stun(1, (6, b"abcd:efgh"), (0x8070, b"\0\0\0\3"), (0x8054, b"1")),
    "whatsapp": stun(3, (0x4000, bytes(102)), (8, bytes(20))),
    "webex": stun(1, (0xC003, bytes(12))),
    "framed": struct.pack(">H", 20) + stun(1),
    "zoom": stun(1, (0x101, b"01234567890123456789"), ident=b"0123456789abcdef"),
    "zoom-answer": stun(2, (0x103, bytes(8)), ident=b"0123456789abcdef"),
    "classic": stun(0x101, (1, b"\0\1\x12\x34\1\2\3\4"), (5, b"\0\1\x12\x34\1\2\3\5"), ident=b"0123456789abcdef"),
    "old-turn": stun(0x115, (0xF, bytes.fromhex("72c64bc6")), (0x13, b"data"), ident=b"0123456789abcdef"),
}


def main():
    for folder, seeds in (("quic", QUIC), ("stun", STUN)):
        path = os.path.join(HERE, "corpus", folder)
        os.makedirs(path, exist_ok=True)
        for name, seed in seeds.items():
            with open(os.path.join(path, name), "wb") as file:
                file.write(seed)


if __name__ == "__main__":
    main()
