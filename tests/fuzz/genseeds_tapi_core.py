#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes corpus/tapi_core/: what may come to a core, in the form of fuzz_tapi_core.c."""
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))


def raw(who, where, octets, flags=0):
    return struct.pack(">BBBBH", 0, who, where, flags, len(octets)) + octets


def wait(milliseconds):
    return struct.pack(">BH", 1, milliseconds // 16)


def helo(of, where, flags=1, who=0):
    return struct.pack(">BBBBB", 2, who, where, of, flags)


def pong(which, where, flags=0):
    return struct.pack(">BBBB", 3, which, where, flags)


def send(to, length, priority=1):
    return struct.pack(">BBBH", 4, to, priority, length)


def typed(who, where, kind, body):
    return struct.pack(">BBBBB", 5, who, where, kind, len(body)) + body


def administer(what, who=0):
    return struct.pack(">BB", 6, what + 16 * who)


def ping(who, where, flags=0):
    return struct.pack(">BBBB", 7, who, where, flags)


def message(kind, body):
    return struct.pack(">HH", len(body) + 4, kind) + body


def part(ident, total, offset, octets):
    return message(5, struct.pack(">III", ident, total, offset) + octets)


def meet(who, where, which=0):
    return helo(who, where) + send(who, 10) + wait(4) + pong(which, where) + wait(8)


SEEDS = {
    "meet": b"\0" + meet(1, 20) + send(1, 100) + send(1, 3000) + wait(1000),
    "eager": b"\1" + helo(1, 20) + wait(4) + pong(0, 20) + send(1, 5) + wait(400000),
    "two_addresses": b"\0" + helo(1, 20) + helo(1, 21) + send(1, 9) + wait(4) + pong(0, 20) + pong(1, 21) + send(1, 9) + administer(20) + send(1, 9) + wait(10000),
    "fabricated": b"\0" + helo(1, 20) + send(1, 9) + wait(4) + pong(0, 20, 1) + pong(0, 20, 2) + pong(5, 20) + wait(20000) + send(1, 9),
    "third_party": b"\0" + helo(1, 66, 0, 2) + helo(3, 66, 1) + helo(4, 66, 1) + send(3, 9) + send(4, 9) + wait(70000),
    "calls_us": b"\0" + typed(2, 30, 64, b"hello") + wait(4) + pong(0, 30) + send(2, 50) + wait(4) + typed(2, 30, 64, b"again") + wait(400000),
    "pings_us": b"\0" + ping(2, 30, 1) + ping(2, 31) + ping(3, 30, 2) + wait(4) + pong(0, 30) + wait(100),
    "another_says_so": b"\0" + meet(1, 20) + raw(3, 20, message(64, b"not 1")) + raw(3, 20, part(1, 40, 0, b"x" * 20)) + send(3, 5) + wait(5000),
    "parts": b"\0" + meet(1, 20) + raw(1, 20, part(9, 40, 20, b"y" * 20)) + raw(1, 20, part(9, 40, 0, struct.pack(">HH", 40, 64) + b"x" * 16)) + raw(1, 50, part(10, 40, 0, b"z" * 30)) + wait(11000),
    "batch": b"\0" + raw(1, 20, message(64, b"one") + message(77, b"\1two") + message(9, b"") + b"\0\2") + raw(9, 20, b"") + raw(1, 20, message(64, b"x"), 2),
    "encrypted": b"\0" + meet(1, 20) + raw(1, 20, message(64, b"cipher"), 1) + send(1, 30, 5) + send(1, 3000, 5) + wait(100),
    "silence": b"\0" + meet(1, 20) + send(1, 5) + wait(9000) + send(1, 5) + wait(200000),
    "no_room": b"\0" + meet(1, 20) + administer(2) + send(1, 900) * 12 + send(1, 60000) + administer(2) + wait(1000),
    "many_peers": b"\1" + b"".join(raw(100 + i, i, message(64, b"hi")) for i in range(40)) + meet(1, 90) + wait(70000),
    "denied": b"\0" + meet(1, 20) + administer(1, 1) + send(1, 5) + typed(1, 20, 64, b"hi") + wait(6000) + send(1, 5) + wait(70000),
    "forgotten": b"\0" + meet(1, 20) + send(1, 900) * 3 + typed(1, 20, 64, b"?") + administer(0, 1) + pong(0, 20) + wait(1000) + meet(1, 20, 1),
    "quota": b"\4" + meet(1, 20) + administer(3, 1) + send(1, 900) * 5 + raw(1, 20, message(64, b"x" * 1000)) * 9 + wait(30000),
    "reload": b"\0" + meet(1, 20) + send(1, 900) * 3 + administer(2) + send(1, 3000) * 6 + raw(1, 20, part(9, 9000, 0, b"x" * 1300)) * 2 + administer(4, 1) + send(1, 9) + administer(2) + wait(1000) + administer(4, 2) + send(1, 9),
    "expired": b"\0" + helo(1, 20, 3) + helo(1, 20, 5) + helo(1, 20, 2, 3) + send(1, 5) + wait(4) + pong(0, 20) + wait(1000000) * 4 + send(1, 5) + wait(100),
}

folder = os.path.join(HERE, "corpus", "tapi_core")
os.makedirs(folder, exist_ok=True)
for name, octets in SEEDS.items():
    with open(os.path.join(folder, name), "wb") as out:
        out.write(octets)
