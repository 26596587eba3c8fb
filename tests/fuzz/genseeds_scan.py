#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the seeds of fuzz_scan_wire.c, corpus/scan_wire/: each message, in its sound forms (app/scan/wire.h)."""
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
folder = os.path.join(HERE, "corpus", "scan_wire")
os.makedirs(folder, exist_ok=True)
for seed, content in SEEDS.items():
    with open(os.path.join(folder, seed), "wb") as file:
        file.write(content)
