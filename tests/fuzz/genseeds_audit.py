#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the seeds of fuzz_audit.c: how many bytes at a time, then files of an audit log."""
import hashlib
import os

HERE = os.path.dirname(os.path.abspath(__file__))
OWN = '"event_type":"audit","audit":{"action":"%s"}'


def chain(members, seq=1, prev="0" * 64):
    lines = []
    for text in members:
        line = '{"seq":%d,"prev":"%s"%s}' % (seq, prev, "," + text if text else "")
        lines.append(line)
        seq, prev = seq + 1, hashlib.sha256(line.encode()).hexdigest()
    return lines


def log(lines):
    return "".join(line + "\n" for line in lines)


def seeds():
    good = chain([OWN % "begin", '"n":1', '"n":2', "", OWN % "resume", '"n":3', OWN % "rotate", '"n":4'])
    swapped = good[:2] + [good[3], good[2]] + good[4:]
    yield "good", 0, log(good)
    yield "files", 6, log(good[:6]) + "\f\n" + log(good[6:])
    yield "archived", 6, log(good[6:])
    yield "changed", 63, log(good).replace('"n":2', '"n":3')
    yield "removed", 1, log(good[:3] + good[4:])
    yield "swapped", 2, log(swapped)
    yield "inserted", 3, log(good[:3] + good[2:])
    yield "cut", 4, log(good)[:-9]
    yield "beginning", 5, log(good[1:])
    yield "forms", 9, log(['{"seq":01,"prev":"%s"}' % ("0" * 64), "{}", "", '{"seq":18446744073709551616,',
                           '{"seq":1,"prev":"%s"}x' % ("0" * 64), '{"seq":2,"prev":"%s"' % ("A" * 64)])
    yield "largest", 9, log(chain([OWN % "rotate", ""], 2 ** 64 - 1)[:1])


def main():
    folder = os.path.join(HERE, "corpus", "audit")
    os.makedirs(folder, exist_ok=True)
    for name, piece, text in seeds():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(bytes([piece]) + text.encode())


if __name__ == "__main__":
    main()
