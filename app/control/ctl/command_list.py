#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the list of the socket's commands: command_list.py LIST.c FILE... It has each COMMAND() of the files."""
import re
import sys

list_c, *files = sys.argv[1:]
names = []
for path in files:
    with open(path, encoding="utf-8") as file:
        names += re.findall(r"^COMMAND\((\w+),", file.read(), re.M)
with open(list_c, "w", encoding="utf-8") as out:
    print('#include "control/ctl/command.h"', file=out)
    for name in names:
        print(f"extern const struct command command_{name};", file=out)
    print("const struct command *const command_list[] = {", file=out)
    print("".join(f"\t&command_{name},\n" for name in sorted(names)) + "\t0};", file=out)
