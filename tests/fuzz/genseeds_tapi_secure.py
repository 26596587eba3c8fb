#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes corpus/tapi_secure/: what may come to a core that encrypts, in the form of fuzz_tapi_secure.c."""
import os

HERE = os.path.dirname(os.path.abspath(__file__))


def raw(who, octets):
    return bytes([0, who, len(octets)]) + octets


def wait(milliseconds):
    return bytes([1, milliseconds // 64])


def initiate(who, flags=0, at=0, change=0):
    return bytes([2, who, flags, at, change])


def respond(who, at=0, change=0):
    return bytes([3, who, at, change])


def message(kind, body):
    return (4 + len(body)).to_bytes(2, "big") + kind.to_bytes(2, "big") + body


def part(number, total, offset, octets):
    return message(5, b"".join(n.to_bytes(4, "big") for n in (number, total, offset)) + octets)


def seal(who, inside, flags=0, at=0, change=0):
    return bytes([4, who, flags, at, change, len(inside)]) + inside


def send(who, times=2):
    return bytes([5, who, times])


def again(which, flags=0):
    return bytes([6, which, flags])


def helo(who, flags=0):
    return bytes([7, who, flags])


HELLO = message(64, b"hello")
WHOLE = message(64, b"x" * 20)
OURS = helo(0) + send(0) + wait(320) + respond(0) + wait(64)
THEIRS = raw(1, HELLO) + wait(64) + initiate(1) + wait(64) + seal(1, HELLO)
SEEDS = {
    "ours": OURS + seal(0, HELLO) + send(0) + wait(64),
    "theirs": THEIRS + send(1) + wait(640) + seal(1, HELLO + HELLO),
    "both": helo(0) + send(0) + wait(320) + initiate(0) + wait(64) + seal(0, HELLO) + respond(0) + wait(640),
    "unanswered": helo(0) + send(0) + wait(6400) * 8 + respond(0) + wait(64) + seal(0, HELLO),
    "parts": OURS + seal(0, part(1, 24, 0, WHOLE[:12])) + seal(0, part(1, 24, 12, WHOLE[12:])) + raw(0, part(2, 24, 0, WHOLE)),
    "clear": OURS + raw(0, HELLO) + raw(0, part(1, 9, 0, HELLO)) + raw(2, HELLO),
    "inside": OURS + seal(0, message(2, b"x" * 160)) + seal(0, message(8, b"y" * 40)) + seal(0, b"\0") + seal(0, HELLO, 8),
    "again": OURS + seal(0, HELLO) + b"".join(again(n, n & 1) for n in range(24)) + seal(0, HELLO, 1),
    "altered": helo(0) + send(0) + wait(320) + respond(0, 50, 1) + respond(0) + seal(0, HELLO, 0, 20, 4) + seal(0, HELLO),
    "altered_theirs": raw(1, HELLO) + initiate(1, 0, 9, 1) + initiate(1, 0, 90, 1) + initiate(1) + initiate(1, 1) + seal(1, HELLO, 4),
    "rekey": OURS + b"".join(seal(0, HELLO) + send(0) for _ in range(24)) + wait(640) + respond(0) + wait(640) + seal(0, HELLO, 4) + seal(0, HELLO),
    "aged": OURS + wait(16320) + send(0) + wait(16320) + respond(0) + seal(0, HELLO) + wait(16320) + seal(0, HELLO),
    "turns_off": OURS + helo(0, 1) + send(0) + wait(320) + helo(0, 2) + raw(0, HELLO) + helo(0) + send(0) + wait(640) + respond(0),
    "ahead": OURS + seal(0, HELLO, 2) + seal(0, HELLO, 2) + seal(0, HELLO, 1),
}


def main():
    folder = os.path.join(HERE, "corpus", "tapi_secure")
    os.makedirs(folder, exist_ok=True)
    for name, octets in SEEDS.items():
        for how, suffix in enumerate(("", "-require", "-few", "-require-few")):
            if how == (2 if name in ("rekey", "both") else 0) or (how == 1 and name in ("clear", "turns_off", "parts")):
                with open(os.path.join(folder, name + suffix), "wb") as file:
                    file.write(bytes([how]) + octets)


if __name__ == "__main__":
    main()
