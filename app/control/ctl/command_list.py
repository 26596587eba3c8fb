#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the list of the socket's commands: command_list.py LIST.h FILE... It has each COMMAND() of the files."""
import re
import sys

list_h, *files = sys.argv[1:]
names = []
for path in files:
    with open(path, encoding="utf-8") as file:
        names += re.findall(r"^COMMAND\((\w+),", file.read(), re.M)
with open(list_h, "w", encoding="utf-8") as out:
    print("#define COMMAND_LIST(X)", " ".join(f"X({name})" for name in sorted(names)), file=out)
