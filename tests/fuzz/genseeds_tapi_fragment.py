#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes corpus/tapi_fragment/: messages in parts, in the form of fuzz_tapi_fragment.c."""
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))


def part(ident, total, offset, length, peer=0, fill=0, encrypted=0, wait=0):
    return struct.pack(">BBHHBB", peer | encrypted << 2 | wait << 4, ident, total, offset, length, fill)


def raw(octets, peer=0, encrypted=0):
    return struct.pack(">BH", peer | encrypted << 2 | 8, len(octets)) + octets


def message(ident, total, each=200, order=1, **more):
    return b"".join(part(ident, total, at, min(each, total - at), **more) for at in list(range(0, total, each))[::order])


def wire(ident, total, offset, octets):
    return struct.pack(">HHIII", 16 + len(octets), 5, ident, total, offset) + octets


SEEDS = {
    "in_order": message(1, 1000) + message(2, 4) + message(3, 256),
    "backwards": message(1, 3000, order=-1) + message(9, 2049, each=255, order=-1),
    "two_at_once": b"".join(part(i, 1200, at, 100, peer=i % 3) for at in range(0, 1200, 100) for i in (7, 8, 9)),
    "again_and_overlapping": message(1, 900, each=90)[:-8] + message(1, 900, each=250) + message(1, 900, each=33),
    "contradiction": part(1, 900, 0, 200) + part(1, 900, 100, 200, fill=1) + part(1, 900, 200, 200),
    "another_total": part(1, 900, 0, 200) + part(1, 901, 200, 200),
    "encrypted": message(1, 400, each=100, encrypted=1) + part(2, 400, 0, 100, encrypted=1) + part(2, 400, 100, 100),
    "too_many": b"".join(part(i, 60, 0, 30) for i in range(40)) + b"".join(part(i, 60, 30, 30) for i in range(40)),
    "too_much": b"".join(part(i, 65535, i * 600, 255, peer=i % 3) for i in range(60)),
    "late": part(1, 300, 0, 200) + part(2, 300, 0, 200, wait=7) + part(1, 300, 200, 100, wait=1) + part(2, 300, 200, 100),
    "wrong_head": raw(wire(1, 20, 0, b"\0\x15\0\x63" + b"x" * 16)) + raw(wire(2, 20, 0, b"\0\x14\0\5" + b"x" * 16)),
    "raw": raw(wire(1, 20, 0, b"\0\x14\0\x63")) + raw(wire(1, 20, 4, b"y" * 16)),
    "longest": raw(wire(1, 262144, 0, b"\0\0\0\x63")) + raw(wire(1, 262144, 262143, b"z")) + raw(wire(1, 262145, 0, b"z")),
    "edges": raw(wire(1, 100, 0xFFFFFFFF, b"z" * 10)) + raw(wire(1, 0xFFFFFFFF, 0, b"z")) + raw(wire(1, 100, 99, b"zz"))
    + raw(wire(1, 100, 0, b"")) + raw(b"\0\4\0\5") + raw(b""),
}

folder = os.path.join(HERE, "corpus", "tapi_fragment")
os.makedirs(folder, exist_ok=True)
for name, octets in SEEDS.items():
    with open(os.path.join(folder, name), "wb") as out:
        out.write(octets)
