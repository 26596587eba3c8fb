#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes corpus/tapi_envelope/ and corpus/tapi_address/, in the forms of their targets."""
import os
import socket
import struct

HERE = os.path.dirname(os.path.abspath(__file__))


def envelope(message=b"abc", version=1, flags=0, size=None):
    size = 40 + len(message) if size is None else size
    return struct.pack(">HBBI", size, version, flags, 0x89ABCDEF) + bytes(range(32)) + message


def packet(rest, words=5, version=4, total=None):
    total = 4 * words + len(rest) if total is None else total
    head = struct.pack(">BBHHHBBHII", version << 4 | words, 0, total, 0, 0, 64, 253, 0, 0x7F000001, 0x7F000002)
    return head + b"\x01" * (4 * words - 20) + rest


def write(folder, seeds):
    folder = os.path.join(HERE, "corpus", folder)
    os.makedirs(folder, exist_ok=True)
    for name, octets in seeds.items():
        with open(os.path.join(folder, name), "wb") as out:
            out.write(octets)


def main():
    udp, four, six = b"\0", b"\x04", b"\x06"
    write(
        "tapi_envelope",
        {
            "plain": udp + envelope(),
            "encrypted": udp + envelope(b"x" * 1432, flags=1),
            "empty": udp + envelope(b""),
            "cut": udp + envelope()[:-1],
            "behind": udp + envelope() + b"\0",
            "version": udp + envelope(version=2),
            "flag": udp + envelope(flags=2),
            "size": udp + envelope(size=0),
            "raw": four + packet(envelope()),
            "raw_options": four + packet(envelope(), words=15),
            "raw_total": four + packet(envelope(), total=62),
            "raw_short_head": four + packet(envelope())[:19],
            "raw_few_words": four + b"\x44" + packet(envelope())[1:],
            "raw_many_words": four + b"\x4f" + packet(b"")[1:],
            "raw_six": six + envelope(),
        },
    )
    v6 = socket.inet_pton(socket.AF_INET6, "2001:db8::1")
    write(
        "tapi_address",
        {
            "v4": b"\x01\xc0\x00\x02\x01\x08\x26",
            "v4_raw": b"\x00\xc0\x00\x02\x01",
            "v6": b"\x01" + v6 + b"\x08\x26",
            "v6_raw": b"\x00" + v6,
            "scope": b"\x01\xfe\x80" + bytes(13) + b"\x01\x08\x26",
            "mapped": b"\x01" + bytes(10) + b"\xff\xff\xc0\x00\x02\x01\x08\x26",
            "no_port": b"\x01\xc0\x00\x02\x01\x00\x00",
            "text": b"\x03udp://192.0.2.1:2086",
            "text_v6": b"\x03udp://[2001:db8::1]:2086",
            "text_raw": b"\x02udp://192.0.2.1",
            "text_raw_v6": b"\x02udp://[fd00::7]",
            "text_scope": b"\x03udp://[fe80::1%eth0]:2086",
            "text_port": b"\x03udp://192.0.2.1:065535",
            "text_nul": b"\x03udp://192.0.2.1:20\x0086",
        },
    )


if __name__ == "__main__":
    main()
