#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the seeds of fuzz_content_coding.c: each coding in several forms. Needs python3-brotli and the program zstd."""
import random
import struct
import subprocess
import zlib

import brotli
import genseeds

GZIP, DEFLATE, BR, ZSTD, SHORT, SHORTER = 0, 1, 2, 3, 4, 8


def deflated(plain, bits, level=6):
    stream = zlib.compressobj(level, zlib.DEFLATED, bits)
    return stream.compress(plain) + stream.flush()


def br(plain, window, quality=5):
    return brotli.compress(plain, quality=quality, lgwin=window)


def zstd(plain, *options):
    return subprocess.run(["zstd", "-q", "-c", *options], input=plain, capture_output=True, check=True).stdout


def with_fields(plain):
    """RFC 1952 section 2.3, all of its fields."""
    head = b"\x1f\x8b\x08\x1e" + bytes(6) + struct.pack("<H", 5) + b"extra" + b"name\0" + b"comment\0"
    sums = struct.pack("<II", zlib.crc32(plain), len(plain))
    return head + struct.pack("<H", zlib.crc32(head) & 0xFFFF) + deflated(plain, -15) + sums


def main():
    text = b"".join(random.Random(1).choices([b"the ", b"gateway ", b"reads ", b"what ", b"others ", b"wrote\n"], k=300))
    skippable = b"\x50\x2a\x4d\x18\x05\0\0\0hello"
    zeros = bytes(300000)
    wide = b"\x28\xb5\x2f\xfd\0\x60"
    seeds = {
        "gzip": (GZIP, deflated(text, 31)), "gzip-fields": (GZIP, with_fields(text[:300])),
        "gzip-members": (GZIP, deflated(text, 31) + with_fields(b"") + deflated(b"end", 31)),
        "gzip-stored": (GZIP, deflated(text[:200], 31, 0)), "gzip-zeros": (GZIP, deflated(zeros, 31, 9)),
        "zlib": (DEFLATE, deflated(text, 15)), "raw": (DEFLATE, deflated(text, -15)),
        "raw-stored": (DEFLATE, deflated(text[:100], -15, 0)), "zlib-dictionary": (DEFLATE, b"\x78\xbb\0\0\0\1\3\0"),
        "br": (BR, br(text, 22)), "br-11": (BR, br(text, 18, 11)), "br-10": (BR, br(text[:300], 10)),
        "br-zeros": (BR, br(zeros, 16)), "br-window": (BR, br(zeros, 24)), "br-none": (BR, br(b"", 22)),
        "zstd": (ZSTD, zstd(text)), "zstd-19": (ZSTD, zstd(text, "-19")), "zstd-none": (ZSTD, zstd(b"", "--no-check")),
        "zstd-frames": (ZSTD, skippable + zstd(text[:200]) + skippable + zstd(b"") + zstd(zeros)),
        "zstd-blocks": (ZSTD, wide + b"\2\0\x10\0" * 4 + b"\x28\0\0hello" + b"\1\0\0"),
        "zstd-window": (ZSTD, b"\x28\xb5\x2f\xfd\0\x61" + b"\1\0\0"), "zstd-old": (ZSTD, b"\x27" + wide[1:] + bytes(20)),
        "short-gzip": (GZIP | SHORT | SHORTER, deflated(text, 31)), "short-br": (BR | SHORT, br(text, 22)),
        "short-zstd": (ZSTD | SHORT, wide + b"\1\0\0"),
        "shorter-br": (BR | SHORT | SHORTER, br(text, 22)), "shorter-zstd": (ZSTD | SHORT | SHORTER, wide + b"\1\0\0"),
    }
    genseeds.write("content_coding", {name: bytes([how, 7]) + coded for name, (how, coded) in seeds.items()})


if __name__ == "__main__":
    main()
