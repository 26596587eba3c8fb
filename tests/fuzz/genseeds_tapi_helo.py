#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes corpus/tapi_helo/ and corpus/tapi_pong/ from what was signed (tests/lib/tapi/tapi_vectors.h)."""
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
VECTORS = os.path.join(HERE, "..", "lib", "tapi", "tapi_vectors.h")


def constant(text, name):
    """The octets of #define NAME "hex" "hex" OTHER."""
    lines = re.search(r"#define " + name + r"\b((?:[^\n]*\\\n)*[^\n]*)", text).group(1)
    out = b""
    for hexadecimal, other in re.findall(r'"([0-9a-f]*)"|([A-Z_]+)', lines.split("//")[0]):
        out += constant(text, other) if other else bytes.fromhex(hexadecimal)
    return out


def helo(protocol, address, signed):
    head = (128 + len(address)).to_bytes(2, "big") + signed[2:6] + protocol.to_bytes(2, "big") + signed[8:124]
    return head + len(address).to_bytes(2, "big") + bytes(2) + address


def ping(first, helos):
    body = first[4:70] + len(helos).to_bytes(2, "big") + first[72:88] + b"".join(helos)
    body += bytes(max(0, 160 - 4 - len(body)))
    return (4 + len(body)).to_bytes(2, "big") + b"\0\2" + body


def main():
    with open(VECTORS, encoding="utf-8") as file:
        text = file.read()
    signed, asked, answered = (constant(text, name) for name in ("HELO_HEX", "PING_HEX", "PONG_HEX"))
    assert (len(signed), len(asked), len(answered)) == (134, 222, 160)
    nat, six = helo(1, b"", signed), helo(6, bytes(range(16)) + b"\x08\x26", signed)
    long = helo(90, b"a" * 192, signed)
    seeds = {
        "tapi_helo": {
            "signed": signed, "nat": nat, "ipv6": six, "longest": long, "several": signed + nat + six + signed,
            "too_long": helo(90, b"a" * 193, signed), "nat_with_address": helo(1, b"a", signed),
            "no_protocol": helo(0, b"", signed), "cut": signed[:-1], "version": signed[:4] + b"\2" + signed[5:],
            "size": b"\0\x85" + signed[2:], "reserved": signed[:126] + b"\0\1" + signed[128:],
        },
        "tapi_pong": {
            "ping": asked, "ping_without_helos": ping(asked, []), "ping_of_four": ping(asked, [signed, nat, six, signed]),
            "ping_of_five": ping(asked, [signed] * 5), "ping_of_session": ping(asked[:68] + bytes(20), [nat]),
            "ping_longest": ping(asked, [long] * 4), "ping_padding": ping(asked, [])[:-1] + b"\1",
            "ping_longer": b"\0\xdf" + asked[2:] + b"\0", "ping_one_more": asked[:70] + b"\0\2" + asked[72:],
            "pong": answered, "pong_ipv6": answered[:68] + b"\6" + answered[69:72] + bytes(range(16)) + answered[88:],
            "pong_nowhere": answered[:68] + bytes(20) + answered[88:], "pong_family": answered[:68] + b"\5" + answered[69:],
            "pong_behind_ipv4": answered[:87] + b"\1" + answered[88:], "pong_cut": answered[:-1],
        },
    }  # fmt: skip
    for folder, files in seeds.items():
        os.makedirs(os.path.join(HERE, "corpus", folder), exist_ok=True)
        for name, octets in files.items():
            with open(os.path.join(HERE, "corpus", folder, name), "wb") as out:
                out.write(octets)


main()
