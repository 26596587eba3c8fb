#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Torrents of several files for tests/netns/content_bittorrent.test and what came of them.

torrents.py make FOLDER NAME TRACKER [FILE=BYTES|FILE@PATH]...
    FOLDER/seeded/NAME/FILE: random octets, or those of PATH; FOLDER/for_seed/NAME.torrent without a tracker that
    answers; FOLDER/torrents/NAME.magnet, which asks TRACKER; prints the info hash. The files lie in the torrent in that order.
torrents.py arrived FOLDER PATH     exit 0 when a file of FOLDER (or with .part behind its name) has all octets of PATH
torrents.py none FOLDER PATH        exit 0 when no block of PATH stands in any file of FOLDER
torrents.py events EVE NAME=WORD... exit 0 when a transfer event has the file name, and in its record the word: a hash,
                                    closed, reset
"""
import json
import os
import random
import sys
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from content.torrent_talk import Torrent  # noqa: E402 pylint: disable=wrong-import-position

BLOCK = 16384


def octets_of(path):
    with open(path, "rb") as file:
        return file.read()


def content(folder, name, word):
    file, at, size = word.partition("@")
    if at:
        return file.encode(), octets_of(size)
    file, _, size = word.partition("=")
    return file.encode(), random.Random(f"{folder} {name} {file}").randbytes(int(size))


def make(folder, name, tracker, words):
    files = [content(folder, name, word) for word in words]
    torrent = Torrent(name.encode(), files)
    seeded = os.path.join(folder, "seeded", name)
    for path in (seeded, os.path.join(folder, "for_seed"), os.path.join(folder, "torrents")):
        os.makedirs(path, exist_ok=True)
    for file, octets in files:
        with open(os.path.join(seeded, file.decode()), "wb") as out:
            out.write(octets)
    with open(os.path.join(folder, "for_seed", f"{name}.torrent"), "wb") as out:
        out.write(b"d8:announce20:http://127.0.0.1:9/a4:info%se" % torrent.info)
    with open(os.path.join(folder, "torrents", f"{name}.magnet"), "w", encoding="ascii") as out:
        out.write(f"magnet:?xt=urn:btih:{torrent.hash.hex()}&dn={name}&tr={urllib.parse.quote(tracker, safe='')}")
    print(torrent.hash.hex())
    return 0


def files_in(folder):
    for root, _, names in os.walk(folder):
        for name in names:
            yield octets_of(os.path.join(root, name))


def arrived(folder, path):
    wanted = octets_of(path)
    return 0 if any(octets == wanted for octets in files_in(folder)) else 1


def none(folder, path):
    """Of a file within a piece of another's that other's octets are its neighbours'; blocks begin where they do."""
    wanted, found = octets_of(path), b"".join(files_in(folder))
    blocks = [wanted[at:at + 64] for at in range(0, len(wanted), 1024)]
    here = sum(block in found for block in blocks if len(block) == 64)
    print(f"{here} of {len(blocks)} places of it are there")
    return 0 if not here and wanted not in found else 1


def events(eve, words):
    with open(eve, encoding="utf-8") as lines:
        told = [json.loads(line) for line in lines]
    texts = [json.dumps(event).lower() for event in told if event["event_type"] in ("transfer", "fileinfo")]
    for word in words:
        name, _, what = word.partition("=")
        if not any(f'"filename": "{name.lower()}"' in text and what.lower() in text for text in texts):
            print(f"no event of {name} with {what}")
            return 1
    return 0


def main():
    verb, words = sys.argv[1], sys.argv[2:]
    if verb == "make":
        return make(*words[:3], words[3:])
    if verb in ("arrived", "none"):
        return (arrived if verb == "arrived" else none)(*words)
    return events(words[0], words[1:])


if __name__ == "__main__":
    sys.exit(main())
