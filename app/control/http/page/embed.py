#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""embed.py OUT FILE...: the files as arrays of a C header, page_NAME[] with . and - as _."""
import os
import re
import sys


def main():
    out = ["// Made by embed.py from the files of this folder.\n"]
    for path in sys.argv[2:]:
        name = re.sub(r"[^a-z0-9]", "_", os.path.basename(path))
        with open(path, "rb") as file:
            octets = file.read()
        rows = (octets[i : i + 20] for i in range(0, len(octets), 20))
        body = "\n".join("\t" + ", ".join(str(b) for b in row) + "," for row in rows)
        out.append(f"static const unsigned char page_{name}[] = {{\n{body}\n}};\n")
    with open(sys.argv[1], "w", encoding="ascii") as file:
        file.write("".join(out))


main()
