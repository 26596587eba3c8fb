# SPDX-License-Identifier: BSD-3-Clause
"""The signatures that scenarios need, and every application: to compile all of them under valgrind takes minutes."""
import glob
import json
import os

NEEDED = ("ssh-version", "ntp-packet", "bittorrent-dht", "http-", "irc-")


def write(signatures, folder):
    """A folder of few signatures, made of that one, in `folder`; returns it."""
    few, chosen, applications = os.path.join(folder, "signatures"), [], []
    for path in sorted(glob.glob(os.path.join(signatures, "*.json"))):
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        chosen += [each for each in document["signatures"] if each["id"].startswith(NEEDED)]
        applications += document.get("applications", [])
    os.mkdir(few)
    with open(os.path.join(few, "few.json"), "w", encoding="utf-8") as file:
        json.dump({"schema_version": document["schema_version"], "signatures": chosen, "applications": applications}, file)
    return few
