#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the seeds of fuzz_torrent.c: info dictionaries of each version and form, and what is odd in one."""
import genseeds

TREE = b"d9:file treed%se12:meta versioni2e4:name1:n12:piece lengthi16384ee"


def listed(files):
    return b"d5:filesl%se4:name1:n12:piece lengthi16384e6:pieces20:aaaaaaaaaaaaaaaaaaaae" % b"".join(files)


def main():
    file = b"d6:lengthi9e4:pathl3:abc5:d.txtee"
    padding = b"d4:attr1:p6:lengthi16375e4:pathl4:.pad5:16375ee"
    leaf = b"d0:d6:lengthi1e11:pieces root32:rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrree"
    genseeds.write("torrent", {
        "one": b"d6:lengthi9e4:name5:a.txt10:name.utf-85:b.txt12:piece lengthi16e6:pieces20:aaaaaaaaaaaaaaaaaaaae",
        "many": listed([file] * 100),
        "padding": listed([file, padding]),
        "two-codings": listed([b"d6:lengthi9e4:pathl1:ae10:path.utf-8l1:bee"]),
        "climbs": listed([b"d6:lengthi9e4:pathl2:..1:/1:.0:4:\\\0/\xffee"]),
        "link": listed([file, b"d4:attr1:l4:pathl1:ae12:symlink pathl1:bee"]),
        "tree": TREE % (b"1:a" + leaf + b"1:bd1:c" + leaf + b"e"),
        "deep": TREE % (b"1:ad" * 99 + b"0:d6:lengthi1ee" + b"e" * 99),
        "deeper": TREE % (b"1:ad" * 200 + b"e" * 200),
        "hybrid": b"d9:file treed3:abcd5:d.txtd0:d6:lengthi9eeeee5:filesl%se12:meta versioni2e4:name1:n12:piece "
                  b"lengthi16384e6:pieces20:aaaaaaaaaaaaaaaaaaaae" % file,
        "huge": b"d6:lengthi9223372036854775807e4:name1:b12:piece lengthi2147483648e6:pieces0:e",
        "twice": b"d6:lengthi9e6:lengthi8e4:name1:b4:name1:c12:piece lengthi16e6:pieces20:aaaaaaaaaaaaaaaaaaaae",
    })


if __name__ == "__main__":
    main()
