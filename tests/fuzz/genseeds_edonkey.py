#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the seeds of fuzz_content_edonkey_datagram.c: each kind of message that names files."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from content import ed2k  # noqa: E402 pylint: disable=wrong-import-position
import genseeds  # noqa: E402 pylint: disable=wrong-import-position

ONE, TWO = ed2k.md4(b"one"), ed2k.md4(b"two")
FOUND = ed2k.kad_found((ONE, b"a.exe", 9), (TWO, b"b.pdf", 1 << 31))


def main():
    genseeds.write("content_edonkey_datagram", {
        "found": FOUND, "found-compressed": ed2k.kad_packed(FOUND), "found-by-the-first": b"\xe4\x38" + FOUND[18:],
        "sources-wanted": ed2k.kad_wanted(ONE, 9), "published-words": b"\xe4\x43" + FOUND[18:],
        "published-source": b"\xe4\x44" + ed2k.kad(ONE) + TWO + b"\1\x89\xff\1",
        "published-note": b"\xe4\x45" + ed2k.kad(ONE) + TWO + b"\1\x95\1a.exe", "near": b"\xe4\x21\2" + ed2k.kad(ONE) + TWO,
        "called-back": b"\xe4\x52" + TWO + ed2k.kad(ONE) + b"\x36\x12", "server-asked": b"\xe3\x9a" + ONE + TWO,
        "server-asked-with-sizes": b"\xe3\x94" + ONE + b"\1\0\0\0" + TWO + bytes(12),
        "server-sources": b"\xe3\x9b" + ONE + b"\1\1\2\3\4\x36\x12\xe3\x9b" + TWO + b"\0",
        "server-results": b"\xe3\x99" + ed2k.entry(ONE, b"a.exe", 9) + b"\xe3\x99" + ed2k.entry(TWO, b"b", 9),
        "waiting": b"\xc5\x90" + ONE, "waiting-told": b"\xc5\x94" + TWO + ONE})


if __name__ == "__main__":
    main()
