# SPDX-License-Identifier: BSD-3-Clause
"""Files of three kinds with marks of their own, for tests that ask for twenty at a time: pageN.html passes, setupN.exe is refused
by its name, partN.bin by its type."""
import os
import secrets

COUNT = 20
KINDS = {"page": (".html", b"<html>"), "setup": (".exe", b"words "), "part": (".bin", b"MZREFU")}
TYPE = 64  # octets by which the type is known that is refused
MARK = 32  # octets, of which the first is behind them


def file_of(kind, i):
    return f"{kind}{i}{KINDS[kind][0]}"


def twenty():
    """Each second one is refused."""
    return [file_of(("page", "setup", "page", "part")[i % 4], i) for i in range(COUNT)]


def passes(name):
    return name.startswith("page")


def make(folder, names):
    os.makedirs(folder, exist_ok=True)
    for name in names:
        kind = next(kind for kind in KINDS if name.startswith(kind))
        mark = secrets.token_hex(MARK // 2).encode()
        with open(os.path.join(folder, name), "wb") as file:
            file.write(KINDS[kind][1] + secrets.token_hex((TYPE - 6) // 2).encode() + mark)
            # no two have a size in common: nginx, which makes its ETags of times and sizes, would take them for one
            file.write(b" " * tuple(KINDS).index(kind))
            for _ in range(50 + 3 * int(name[len(kind):].split(".")[0])):
                file.write(b"<p>" + secrets.token_hex(200).encode() + mark + b"</p>\n")


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def read_all(folder):
    return {name: read(folder, name) for name in sorted(os.listdir(folder))}


def mark_of(octets):
    return octets[TYPE:TYPE + MARK]
