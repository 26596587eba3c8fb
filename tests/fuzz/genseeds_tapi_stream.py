#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes corpus/tapi_stream/: streams of frames (lib/transportapi/proto/frame.h), whole and broken.

The form of an input is that of fuzz_tapi_stream.c: u8 mtu, u8 stop, u32 splits, the stream.
"""
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))


def welcome(size=48, kind=4, version=1, pad=0):
    return struct.pack(">HHBBH", size, kind, version, 0, pad) + bytes(range(32)) + b"nonce678"


def frame(message, flags=0, crc=0x01020304, size=None, pad=0):
    return struct.pack(">IHHI", len(message) if size is None else size, flags, pad, crc) + message


def fed(stream, mtu=20, stop=0, splits=0x5EED):
    return struct.pack(">BBI", mtu, stop, splits) + stream


def main():
    many = b"".join(frame(bytes([i]) * (i * 3 % 101), i & 1, i * 77) for i in range(40))
    seeds = {
        "messages": fed(welcome() + many),
        "messages_owner_ends": fed(welcome() + many, stop=7),
        "messages_of_no_octets": fed(welcome() + frame(b"") * 9, mtu=0),
        "mtu": fed(welcome() + frame(b"m" * 100) + frame(b"n" * 101)),
        "mtu_of_tcp": fed(welcome() + frame(b"x" * 5000, 1) + frame(b"y" * 11), mtu=255),
        "claim": fed(welcome() + frame(b"few", size=32768), mtu=255),
        "cut_head": fed(welcome() + frame(b"first") + frame(b"second")[:9]),
        "cut_message": fed(welcome() + frame(b"first") + frame(b"second")[:-1]),
        "cut_welcome": fed(welcome()[:47]),
        "flag": fed(welcome() + frame(b"a") + frame(b"b", 2)),
        "reserved": fed(welcome() + frame(b"a") + frame(b"b", pad=1)),
        "welcome_twice": fed(welcome() + welcome(), mtu=255),
        "welcome_version": fed(welcome(version=2) + frame(b"a")),
        "welcome_reserved": fed(welcome(pad=1) + frame(b"a")),
        "no_welcome": fed(frame(b"a" * 60)),
        "http": fed(b"GET / HTTP/1.1\r\nHost: 192.0.2.1\r\nUser-Agent: somebody\r\n\r\n"),
    }
    folder = os.path.join(HERE, "corpus", "tapi_stream")
    os.makedirs(folder, exist_ok=True)
    for name, octets in seeds.items():
        with open(os.path.join(folder, name), "wb") as out:
            out.write(octets)


if __name__ == "__main__":
    main()
