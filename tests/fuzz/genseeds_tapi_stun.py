#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes corpus/tapi_stun/: the vectors of RFC 5769, and answers made by hand."""
import os
import struct
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
COOKIE = 0x2112A442
ID = bytes.fromhex("b7e7a701bc34d686fa87dfae")
RFC5769 = {
    "rfc5769_request": "00010058 2112a442 b7e7a701bc34d686fa87dfae 80220010 5354554e207465737420636c69656e74 00240004 6e0001ff"
    "80290008 932ff9b151263b36 00060009 6576746a3a68367659202020 00080014 9aeaa70cbfd8cb56781ef2b5b2d3f249c1b571a2"
    "80280004 e57a3bcf",
    "rfc5769_v4": "0101003c 2112a442 b7e7a701bc34d686fa87dfae 8022000b 7465737420766563746f7220 00200008 0001a147e112a643"
    "00080014 2b91f599fd9e90c38c7489f92af9ba53f06be7d7 80280004 c07d4c96",
    "rfc5769_v6": "01010048 2112a442 b7e7a701bc34d686fa87dfae 8022000b 7465737420766563746f7220"
    "00200014 0002a1470113a9faa5d3f179bc25f4b5bed2b9d9 00080014 a382954e4be67bf11784c97c8292c275bfe3ed41 80280004 c8fb0b4c",
}


def attribute(kind, value):
    return struct.pack(">HH", kind, len(value)) + value + bytes(-len(value) % 4)


def message(kind, *attributes, seal=False):
    body = b"".join(attributes)
    out = struct.pack(">HHI", kind, len(body) + (8 if seal else 0), COOKIE) + ID + body
    return out + attribute(0x8028, struct.pack(">I", zlib.crc32(out) ^ 0x5354554E)) if seal else out


def mapped(kind, port=32853, address=b"\xc0\0\x02\x01", mask=bytes(16)):
    value = struct.pack(">BBH", 0, 1 if len(address) == 4 else 2, port ^ (mask[0] << 8 | mask[1]))
    return attribute(kind, value + bytes(a ^ b for a, b in zip(address, mask)))


def main():
    mask = struct.pack(">I", COOKIE) + ID
    xored, plain = mapped(0x20, mask=mask), mapped(0x01)
    seeds = {name: bytes.fromhex(text) for name, text in RFC5769.items()}
    seeds |= {
        "plain": message(0x101, plain),
        "xored": message(0x101, xored),
        "sealed": message(0x101, xored, seal=True),
        "both": message(0x101, plain, xored, seal=True),
        "v6": message(0x101, mapped(0x20, address=bytes(range(16)), mask=mask), seal=True),
        "no_address": message(0x101),
        "software": message(0x101, xored, attribute(0x8022, b"Coturn-4.6.1 'Gorst'"), seal=True),
        "origin": message(0x101, xored, mapped(0x802B), mapped(0x802C), seal=True),
        "unknown": message(0x101, xored, attribute(0x7FFF, b"")),
        "integrity_first": message(0x101, attribute(0x08, bytes(20)), xored),
        "error_420": message(0x111, attribute(0x09, b"\0\0\x04\x14"), attribute(0x0A, b"\x7f\xff")),
        "error_300": message(0x111, attribute(0x09, b"\0\0\x03\0"), mapped(0x8023)),
        "error_short": message(0x111, attribute(0x09, b"\0\0")),
        "cut": message(0x101, xored)[:-4],
        "longer": message(0x101, xored)[:22] + b"\0\x0c" + message(0x101, xored)[24:],
        "behind_fingerprint": message(0x101, xored, seal=True) + attribute(0x8022, b"x"),
        "wrong_fingerprint": message(0x101, xored, seal=True)[:-1] + b"\0",
        "indication": message(0x011),
    }
    folder = os.path.join(HERE, "corpus", "tapi_stun")
    os.makedirs(folder, exist_ok=True)
    for name, octets in seeds.items():
        with open(os.path.join(folder, name), "wb") as out:
            out.write(octets)


main()
