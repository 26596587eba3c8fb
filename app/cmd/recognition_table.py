#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the table of `sluice apps --explain`: recognition_table.py recognition.json > recognition_table.c (meson does it).

What has not the form of config/schema/recognition.schema.json ends the build with its place.
"""
import json
import sys

CONFIDENCES = ("port", "ip", "cache", "partial", "dpi", "verified")
TEXTS = ("app", "how", "confidence", "client", "defeats")
LISTS = ("names", "apps", "by")


def text(value):
    return "NULL" if value is None else json.dumps(value)


def wrong_row(row):
    if set(row) - set(TEXTS) - {"packet", "capture", "flow", "made"}:
        return "unknown key"
    if not all(isinstance(row.get(key), str) and row[key] for key in TEXTS):
        return "a text is missing or empty"
    if type(row.get("packet")) is not int or not 0 <= row["packet"] <= 255:
        return "packet is none"
    if row["confidence"] not in CONFIDENCES:
        return "no such confidence"
    if "capture" not in row or (row["capture"] is None) != ("made" in row) or ("flow" in row) == ("made" in row):
        return "either capture and flow, or capture null and made"
    return None


def wrong_name(name):
    if set(name) != {"group", "unknown", *LISTS}:
        return "not its keys"
    if not name["names"] or bool(name["apps"]) != bool(name["by"]) or not (name["apps"] or name["unknown"]):
        return "known by nothing needs a reason, known by something an application"
    return None


def held(entries, wrong, where):
    for i, entry in enumerate(entries):
        if wrong(entry):
            sys.exit(f"recognition.json: {where}[{i}]: {wrong(entry)}: {entry}")
    return entries


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        table = json.load(file)
    rows, names = held(table["rows"], wrong_row, "rows"), held(table["names"], wrong_name, "names")
    print('#include <stddef.h>\n#include "cmd/recognition.h"\n\nconst struct recognition_row recognition_rows[] = {')
    for row in rows:
        fields = [text(row[key]) for key in ("app", "how")] + [str(row["packet"])] + [
            text(row.get(key)) for key in ("confidence", "client", "capture", "flow", "made", "defeats")]
        print("\t{" + ", ".join(fields) + "},")
    print("\t{NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL},\n};")
    for i, name in enumerate(names):
        for key in LISTS:
            print(f"static const char *const {key}_{i}[] = {{{', '.join([text(each) for each in name[key]] + ['NULL'])}}};")
    print("const struct recognition_name recognition_names[] = {")
    for i, name in enumerate(names):
        print(f"\t{{names_{i}, apps_{i}, by_{i}, {text(name['unknown'])}}},")
    print("\t{NULL, NULL, NULL, NULL},\n};")


main()
