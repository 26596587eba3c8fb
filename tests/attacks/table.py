#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""table.py FOLDER [NAME...]: writes the attack captures and the table that attack_run reads."""
import os
import sys

from craft import ROWS
import rows_asks
import rows_decoys
import rows_heads
import rows_names
import rows_reuse
import rows_tcp
import rows_udp
import rows_wire

assert rows_asks and rows_decoys and rows_heads and rows_names and rows_reuse and rows_tcp and rows_udp and rows_wire


FIRST = "'rules':["


def chosen(names):
    return [ROWS[name] for name in names] if names else list(ROWS.values())


def write(folder, rows, table="table.tsv", rule=""):
    """Returns {row name: World}; the table's path is FOLDER/table.tsv. `rule` goes ahead of each policy's rules."""
    worlds = {}
    with open(os.path.join(folder, table), "w", encoding="utf-8") as out:
        for row in rows:
            worlds[row.name] = world = row.make()
            path = os.path.join(folder, row.name + ".pcap")
            with open(path, "wb") as file:
                file.write(world.octets())
            out.write(f"{row.name}\t{path}\t{row.limits}\t{row.policy.replace(FIRST, FIRST + rule, 1)}\n")
    return worlds


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: table.py FOLDER [NAME...]")
    os.makedirs(sys.argv[1], exist_ok=True)
    write(sys.argv[1], chosen(sys.argv[2:]))
