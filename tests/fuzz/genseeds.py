#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the seeds of the fuzz targets, corpus/TARGET/: one small valid input per format and form."""
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))


def block(order, kind, body):
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + length + body + length


def pcapng(order):
    """Two sections, every kind of packet block, if_tsresol in both forms and if_tsoffset."""
    section = block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    decimal, binary = (struct.pack(order + "HHB3x", 9, 1, value) for value in (9, 0x8A))
    offset, end = struct.pack(order + "HHq", 14, 8, 5), struct.pack(order + "HH", 0, 0)
    return b"".join([
        section,
        block(order, 1, struct.pack(order + "HHI", 1, 0, 0) + decimal + offset + end),
        block(order, 6, struct.pack(order + "IIIII", 0, 1, 2, 6, 60) + b"packet"),
        block(order, 2, struct.pack(order + "HHIIII", 0, 3, 1, 2, 6, 60) + b"packet"),
        block(order, 3, struct.pack(order + "I", 6) + b"simple"),
        section,
        block(order, 1, struct.pack(order + "HHI", 101, 0, 4) + binary),
        block(order, 6, struct.pack(order + "IIIII", 0, 1, 2, 4, 60) + b"abcd"),
    ])


def pcap(order, magic):
    extra = bytes(8) if magic == 0xA1B2CD34 else b""
    record = struct.pack(order + "IIII", 1, 2, 5, 5) + extra + b"hello"
    return struct.pack(order + "IHHIIII", magic, 2, 4, 0, 0, 65535, 1) + 2 * record


def main():
    folder = os.path.join(HERE, "corpus", "capture")
    os.makedirs(folder, exist_ok=True)
    seeds = {}
    for order, name in (("<", "le"), (">", "be")):
        seeds[name + ".pcapng"] = pcapng(order)
        for magic in (0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34):
            seeds[f"{name}-{magic:x}.pcap"] = pcap(order, magic)
    for name, octets in seeds.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(octets)


if __name__ == "__main__":
    main()
