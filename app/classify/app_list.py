#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the table of applications: app_list.py TABLE.c DEPFILE SIGNATURES NAME...

NAME are those with code of their own (proto/NAME.c). The others are entries with "built_in" in the files of the folder
SIGNATURES, each of which becomes a struct app_proto. All are in the table by alphabet: the order of the ids.
Hosts and networks without a source and a date end the build.
"""
import glob
import json
import os
import sys

sys.dont_write_bytecode = True
import host_origin  # noqa: E402 pylint: disable=wrong-import-position

TEXTS = {"title", "group", "category"}
FLAGS = {"carrier", "speaks_http"}
LISTS = {"alpns": str, "tcp_ports": int, "udp_ports": int}


def text(value):
    return json.dumps(value) if isinstance(value, str) else str(value).lower()


def rows(files):
    """name of an application -> its members"""
    found = {}
    for path in files:
        with open(path, encoding="utf-8") as file:
            entries = json.load(file).get("applications", [])
        unknown_origin = "\n".join(host_origin.faults(path, entries))
        if unknown_origin:
            sys.exit(unknown_origin)
        for entry in entries:
            own = entry.get("built_in")
            if own is None:
                continue
            wrong = [key for key, value in own.items() if not (
                key in TEXTS and type(value) is str or key in FLAGS and value is True
                or key in LISTS and value and all(type(item) is LISTS[key] for item in value))]
            if wrong or {"title", "category"} - set(own) or entry["app"] in found:
                sys.exit(f"{path}: {entry['app']}: built_in takes title, category, group, carrier, speaks_http, alpns, "
                         f"tcp_ports and udp_ports, and stands once: {wrong}")
            found[entry["app"]] = own
    return found


def definition(name, own):
    yield f"static const struct app_proto app_proto_{name.replace('-', '_')} = {{"
    yield f"\t.name = {text(name)},"
    yield f"\t.category = APP_CATEGORY_{own['category'].upper()},"
    for key, value in own.items():
        if key in LISTS:
            yield f"\t.{key} = {{{', '.join(map(text, value))}}},"
        elif key != "category":
            yield f"\t.{key} = {text(value)},"
    yield "};"


def main():
    table_c, depfile, folder, *coded = sys.argv[1:]
    files = sorted(glob.glob(os.path.join(folder, "*.json")))
    data = rows(files)
    names = sorted(coded + [name.replace("-", "_") for name in data])
    if len(names) != len(set(names)):
        sys.exit(f"{folder}: an application has code of its own (proto/) and \"built_in\"")
    with open(table_c, "w", encoding="utf-8") as out:
        print('#include "classify/app_proto_table.h"', file=out)
        for name in coded:
            print(f"extern const struct app_proto app_proto_{name};", file=out)
        for name in sorted(data):
            print("\n".join(definition(name, data[name])), file=out)
        print("const struct app_proto *const app_proto_table[] = {0,", file=out)
        print("".join(f"\t&app_proto_{name},\n" for name in names) + "};", file=out)
        print(f"const uint16_t app_proto_count = {len(names)};", file=out)
        print(f'static_assert({len(names)} < APPS_MAX, "user-defined applications need ids, too");', file=out)
    with open(depfile, "w", encoding="utf-8") as out:
        print(f"{table_c}:", " ".join([folder, *files]), file=out)  # the folder: a file may be added


main()
