#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the seeds of fuzz_names.c: how it is cut, then a form that receivers are asked for (lib/peers/receiver_forms.py)."""
import os
import re
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from peers.receiver_forms import FORMS  # noqa: E402 pylint: disable=wrong-import-position


def main():
    folder = os.path.join(HERE, "corpus", "names")
    os.makedirs(folder, exist_ok=True)
    for n, (group, name, octets) in enumerate(FORMS):
        if group not in ("http", "tls") or len(octets) > 700:
            continue
        with open(os.path.join(folder, f"{group}-" + re.sub("[^a-z0-9]+", "-", name.lower())), "wb") as file:
            file.write(bytes([n % 64]) + octets)


if __name__ == "__main__":
    main()
