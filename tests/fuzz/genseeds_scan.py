#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the seeds of fuzz_scan_wire.c, corpus/scan_wire/: each message, in its sound forms (app/scan/wire.h); and those of
fuzz_scan_engine.c, fuzz_scan_parent.c and fuzz_scan_child.c: courses of events in records of 4 octets."""
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from rig.scan_rig import BORN, FAILED, GONE, REPLACE, VERDICT, control, head, request  # noqa: E402


def verdict(value, reason, name=b""):
    return head(VERDICT, 7) + struct.pack("=QBB6x64s", 1000, value, reason, name)


def told(kind, number, pid, text=b""):
    return head(kind, number) + struct.pack("=iIQQ32s192s", pid, 23, 5, 6, b"digest", text)


SEEDS = {
    "request-one": b"\x00" + request(1, 68, [(0, 68)]),
    "request-many": b"\x40" + request(2, 3 * 4096 + 5, [(1, 4096), (4, 8192), (7, 5)], 0),
    "request-end": b"\x00" + request(3, 4096, [(7, 4096)]),
    "request-beyond": b"\x00" + request(3, 4097, [(7, 4097)]),
    "verdict-clean": b"\x05" + verdict(0, 0),
    "verdict-unscanned": b"\x05" + verdict(1, 4),
    "verdict-infected": b"\x05" + verdict(4, 0, b"Eicar.Test"),
    "verdict-nobody": b"\x01" + verdict(0, 0),
    "replace": b"\x02" + control(REPLACE, 3),
    "born": b"\x03" + told(BORN, 3, 1234),
    "gone": b"\x03" + told(GONE, 3, 0, b"ended by signal 9 (Killed)"),
    "failed": b"\x03" + told(FAILED, 0, 0, b"no signatures"),
}

# fuzz_scan_engine.c: operation, parent, x, y
SUBMIT, OPEN, CONTROL, CONTROL_RAW, SAY, SAY_RAW, SHUT, DEAD, TIME, TURN = range(10)
IS_BORN, IS_GONE, IS_FAILED = 0, 1, 4
CLEAN, UNSCANNED, INFECTED = 0, 1, 4


def course(*records):
    return b"".join(bytes(record) if isinstance(record, tuple) else record for record in records)


def ready(parent=0):
    return bytes((OPEN, parent, 0, 0)) + bytes((CONTROL, parent, IS_BORN, 0))


ENGINE = {
    "three-files": course(ready(), (SUBMIT, 0, 2, 9), (SUBMIT, 0, 0, 3), (SUBMIT, 0, 2, 200), (SAY, 0, CLEAN, 0), (SAY, 0, INFECTED, 0),
                          (SAY, 0, UNSCANNED, 4)),
    "time-out": course(ready(), (SUBMIT, 0, 2, 9), (TIME, 0, 100, 7), (CONTROL, 0, IS_GONE, 32), (CONTROL, 0, IS_BORN, 0), (SUBMIT, 0, 2, 1),
                       (SAY, 0, CLEAN, 0)),
    "gone-at-work": course(ready(), (SUBMIT, 0, 2, 9), (CONTROL, 0, IS_GONE, 32), (CONTROL, 0, IS_BORN, 0), (SUBMIT, 0, 2, 1)),
    "killed": course(ready(), (SUBMIT, 0, 2, 9), (SUBMIT, 0, 2, 9), (SHUT, 0, 2, 0), (CONTROL, 0, IS_GONE, 32), (CONTROL, 0, IS_BORN, 0)),
    "parent-dead": course(ready(), (SUBMIT, 0, 2, 9), (SHUT, 0, 1, 0), (TIME, 0, 9, 1), (DEAD, 0, 0, 0), ready(1), (SUBMIT, 0, 2, 1)),
    "parent-silent": course(ready(), (SUBMIT, 0, 2, 8), (SAY, 0, INFECTED + 8, 0), (TIME, 0, 255, 5), (DEAD, 0, 0, 0)),
    "take-over": course(ready(), (SUBMIT, 0, 2, 9), ready(1), (SAY, 0, CLEAN, 0), (SUBMIT, 0, 2, 9), (SAY, 1, INFECTED, 0), (DEAD, 0, 0, 0)),
    "aside-refused": course(ready(), (OPEN, 1, 0, 0), (CONTROL, 1, IS_FAILED, 0), (SUBMIT, 0, 2, 9), (SAY, 0, CLEAN, 0)),
    "bad-jobs": course(ready(), *[(SUBMIT, 0, 16 * kind + 2, 200) for kind in range(8, 16)]),
    "bad-descriptors": course(*[record for number in range(6) for record in ((OPEN, number, number % 2, 0), (CONTROL, number, IS_BORN, number))]),
    "raw": course(ready(), (SUBMIT, 0, 2, 9), (SAY_RAW, 0, 24, 0), verdict(4, 0, b"Eicar.Test"), (CONTROL_RAW, 0, 68, 0), told(GONE, 1, 0)),
    "ahead": course(ready(), (SUBMIT, 0, 2, 9), (SUBMIT, 0, 2, 9), (64 + SAY, 0, CLEAN, 0), (64 + SAY, 0, CLEAN + 8 + 32, 0), (TURN, 0, 4, 0)),
    "deaf": course((OPEN, 0, 2, 0), *[record for _ in range(8) for record in (
        (CONTROL, 0, IS_BORN, 0), (SUBMIT, 0, 2, 9), (TIME, 0, 100, 7), (CONTROL, 0, IS_GONE, 0))]),
}

# fuzz_scan_parent.c: operation, scan lcore, x, y
(ASK, RAW, IS_READY, TORN, EXIT, SIGNALED, CLOSE, WAIT, NO_FORK, KIND, DEAF, END) = range(12)
ALL_READY = course(*[(IS_READY, who, 0, 0) for who in range(3)])
PARENT = {
    "replaced": course(ALL_READY, (ASK, 0, 0, 0), (IS_READY, 0, 0, 0), (ASK, 1, 0, 0), (WAIT, 0, 200, 2), (IS_READY, 0, 0, 0)),
    "retired": course(ALL_READY, (EXIT, 0, 0, 0), (WAIT, 0, 100, 0), (IS_READY, 0, 0, 0), (EXIT, 0, 1, 0), (IS_READY, 0, 0, 0)),
    "crashes": course(ALL_READY, *[record for _ in range(12) for record in ((SIGNALED, 0, 10, 0), (WAIT, 0, 250, 4), (IS_READY, 0, 0, 0))]),
    "torn-jail": course((TORN, 0, 40, 97), (EXIT, 0, 4, 70), (WAIT, 0, 200, 4), (IS_READY, 0, 0, 0), (TORN, 1, 0, 0)),
    "no-fork": course((NO_FORK, 0, 0, 0), (EXIT, 0, 0, 0), (WAIT, 0, 250, 3), (IS_READY, 0, 0, 0)),
    "nonsense": course(ALL_READY, (KIND, 0, 3, 1), (RAW, 1, 20, 0), b"x" * 40, (WAIT, 0, 100, 3), (ASK, 2, 0, 0), (IS_READY, 0, 0, 0)),
    "right-raw": course(ALL_READY, (RAW, 0, 132, 0), control(REPLACE, 1), (WAIT, 0, 100, 3)),
    "future-child": course(ALL_READY, (ASK, 0, 2, 0), (ASK, 0, 1, 0), (EXIT, 0, 0, 0), (ASK, 0, 1, 0), (IS_READY, 0, 0, 0)),
    "closed": course(ALL_READY, (CLOSE, 0, 0, 0), (WAIT, 0, 10, 0), (CLOSE, 1, 0, 0)),
    "deaf": course(ALL_READY, (DEAF, 0, 0, 0), *[record for _ in range(12) for record in ((EXIT, 0, 0, 0), (IS_READY, 0, 0, 0))]),
    "ended": course(ALL_READY, (END, 0, 0xE7, 0)),
}

# fuzz_scan_child.c: how, extents, x, y; then a page for each extent, 128: behind the one before
WHOLE, CHANGED, JUNK = 0, 2, 3
CHILD = {
    "one": course((WHOLE, 1, 1, 4), b"\x05"),
    "side-by-side": course((WHOLE, 4, 1, 4), b"\x02\x80\xa0\x80", (WHOLE, 3, 0, 9), b"\x10\x01\x20"),
    "many": course((WHOLE, 128, 1, 0), bytes(range(32)) * 4, b"\x02"),
    "beyond": course((WHOLE, 1, 1, 0), b"\x7f"),
    "none": course((WHOLE, 0, 1, 0), (WHOLE, 1, 1, 0), b"\x01"),
    "changed": course((WHOLE, 1, 1, 0), b"\x01", (CHANGED, 1, 7, 1), b"\x01", (WHOLE, 1, 1, 0), b"\x01"),
    "raw": course((WHOLE, 1, 1, 0), b"\x03", (JUNK, 9, 0, 0), b"123456789"),
}
ALL = {"scan_wire": SEEDS, "scan_engine": ENGINE, "scan_parent": PARENT, "scan_child": CHILD}
for target, seeds in ALL.items():
    folder = os.path.join(HERE, "corpus", target)
    os.makedirs(folder, exist_ok=True)
    for seed, content in seeds.items():
        with open(os.path.join(folder, seed), "wb") as file:
            file.write(content)
