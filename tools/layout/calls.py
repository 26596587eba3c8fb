# SPDX-License-Identifier: BSD-3-Clause
"""Which source of app/pipeline needs which other one, by the symbols of a build's objects.

An edge is a symbol that one object leaves undefined and another defines. It is a call, or a table's entry where the
address stands in data (a relocation there); what an inline function of a header needs counts for the file it is
inlined into.
"""
import collections
import json
import os
import re
import subprocess

import tree

FOLDER = "app/pipeline/"
DATA = (".data", ".data.rel", ".data.rel.local", ".data.rel.ro", ".data.rel.ro.local", ".rodata")


def build_folder():
    return os.environ.get("SLUICE_BUILD") or os.path.join(tree.ROOT, "build")


def objects(build):
    """{source: its object}, of those that exist."""
    found = {}
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        for entry in json.load(file):
            name = os.path.relpath(os.path.join(entry["directory"], entry["file"]), tree.ROOT)
            path = os.path.join(build, entry["output"])
            if name.startswith(FOLDER) and os.path.exists(path):
                found.setdefault(name, path)
    return found


def stale(found):
    """Sources whose object is absent or older than they are."""
    for name in tree.FILES:
        if name.startswith(FOLDER) and name.endswith(".c"):
            path = os.path.join(tree.ROOT, name)
            if name not in found or os.path.getmtime(found[name]) < os.path.getmtime(path):
                yield name


def printed(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")


def symbols(found):
    """({symbol: the source that defines it}, {source: symbols it leaves undefined})"""
    names = {path: name for name, path in found.items()}
    defined, wanted = {}, collections.defaultdict(set)
    for line in printed("nm", "-A", "-P", *names):
        if match := re.match(r"(.+): (\S+) (\w)", line):
            path, symbol, kind = match.groups()
            if kind in "Uvw":
                wanted[names[path]].add(symbol)
            elif kind.isupper():
                defined[symbol] = names[path]
    return defined, wanted


def tabled(found):
    """(source, symbol) where data holds the symbol's address."""
    names, entries, name = {path: name for name, path in found.items()}, set(), None
    options = [word for section in DATA for word in ("-j", section)]
    for line in printed("objdump", "-r", *options, *names):
        words = line.split()
        if line.endswith(" file format " + words[-1] if words else "\0"):
            name = names[line.rpartition(":")[0]]
        elif len(words) == 3 and words[1].startswith("R_"):
            entries.add((name, re.split(r"[+-]0x", words[2])[0]))
    return entries


def edges(found):
    """{(source, source it needs): {symbol: "calls" or "holds"}}"""
    if not found:
        return {}
    (defined, wanted), entries = symbols(found), tabled(found)
    needs = collections.defaultdict(dict)
    for name in sorted(wanted):
        for symbol in sorted(wanted[name] & set(defined)):
            needs[name, defined[symbol]][symbol] = "holds" if (name, symbol) in entries else "calls"
    return needs


def cycles(pairs):
    """Strongly connected components of more than one file (Tarjan), the largest first."""
    after = collections.defaultdict(list)
    for name, other in pairs:
        after[name].append(other)
    number, low, stack, found = {}, {}, [], []

    def visit(name):
        number[name] = low[name] = len(number)
        stack.append(name)
        for other in after[name]:
            if other not in number:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], number[other])
        if low[name] == number[name]:
            at = stack.index(name)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for name in sorted(after):
        if name not in number:
            visit(name)
    return sorted(found, key=lambda part: (-len(part), part))
