#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Torrents of several files for tests/netns/content_bittorrent.test, and what came of them.

torrents.py make FOLDER NAME TRACKERS [FILE=BYTES|FILE@PATH]...
    FOLDER/seeded/NAME/FILE: random octets, or those of PATH; FOLDER/for_seed/NAME.torrent without a tracker that
    answers; for each WORD=URL of TRACKERS (joined by commas) FOLDER/WORD/NAME/NAME.magnet, which asks it; prints the
    info hash. The files lie in the torrent in that order.
torrents.py arrived FOLDER PATH     exit 0 when a file of FOLDER (or with .part behind its name) has all octets of PATH
torrents.py none FOLDER PATH        exit 0 when no block of PATH stands in any file of FOLDER
torrents.py wire CAPTURE ADDRESS [all|none PATH]...     exit 0 when all blocks of that PATH went there over TCP, or none of them
torrents.py told EVE WORD...        exit 0 when one event of a file has all these words
torrents.py flow EVE ADDRESS WORD BYTES     exit 0 when a flow of that host's that was found to be BitTorrent, with so many octets to it, has the
                                    word in its record's notes, or with `clear` for WORD: when none of its flows is opaque
"""
import json
import os
import random
import sys
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from content.torrent_talk import Torrent  # noqa: E402 pylint: disable=wrong-import-position
from packet import arrived as arrived_at  # noqa: E402 pylint: disable=wrong-import-position


def octets_of(path):
    with open(path, "rb") as file:
        return file.read()


def content(folder, name, word):
    file, at, size = word.partition("@")
    if at:
        return file.encode(), octets_of(size)
    file, _, size = word.partition("=")
    return file.encode(), random.Random(f"{folder} {name} {file}").randbytes(int(size))


def write(path, octets):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as out:
        out.write(octets)


def make(folder, name, trackers, words):
    files = [content(folder, name, word) for word in words]
    torrent = Torrent(name.encode(), files)
    for file, octets in files:
        write(os.path.join(folder, "seeded", name, file.decode()), octets)
    write(os.path.join(folder, "for_seed", f"{name}.torrent"), b"d8:announce20:http://127.0.0.1:9/a4:info%se" % torrent.info)
    for tracker in trackers.split(","):
        word, _, url = tracker.partition("=")
        link = f"magnet:?xt=urn:btih:{torrent.hash.hex()}&dn={name}&tr={urllib.parse.quote(url, safe='')}"
        write(os.path.join(folder, word, name, f"{name}.magnet"), link.encode())
    print(torrent.hash.hex())
    return 0


def files_in(folder):
    for root, _, names in os.walk(folder):
        for name in names:
            yield octets_of(os.path.join(root, name))


def arrived(folder, path):
    wanted = octets_of(path)
    return 0 if any(octets == wanted for octets in files_in(folder)) else 1


def blocks_of(path):
    octets = octets_of(path)
    return [octets[at:at + 64] for at in range(0, max(1, len(octets) - 63), 1024)]


def none(folder, path):
    """Of a file within a piece of another's that other's octets are its neighbours'; blocks begin where they do."""
    found = b"".join(files_in(folder))
    here, blocks = sum(block in found for block in blocks_of(path)), len(blocks_of(path))
    print(f"{here} of {blocks} places of it are there")
    return 0 if not here else 1


def wire(capture, address, words):
    found = b"".join(half.octets + half.everything for half in arrived_at.halves(capture).values() if half.ends[2] == address)
    faults = 0
    for word, path in zip(words[::2], words[1::2]):
        here, blocks = sum(block in found for block in blocks_of(path)), len(blocks_of(path))
        print(f"{here} of {blocks} places of {os.path.basename(path)} went to {address}")
        faults += here != (blocks if word == "all" else 0)
    return 1 if faults or not found else 0


def events_of(eve):
    with open(eve, encoding="utf-8") as lines:
        for line in lines:
            if '"event_type":"stats"' not in line and line.endswith("\n"):
                yield json.loads(line)


def told(eve, words):
    for event in events_of(eve):
        text = json.dumps(event).lower()
        if event["event_type"] in ("transfer", "fileinfo") and all(f'"{word.lower()}"' in text for word in words):
            return 0
    print(f"no event of a file has {' '.join(words)}")
    return 1


def flow(eve, address, word, least):
    flows = [event for event in events_of(eve) if event["event_type"] == "flow" and address in (event["src_ip"], event["dest_ip"])
             and event.get("app_proto") == "bittorrent"]
    notes = [(event["flow"]["bytes_toclient"], sorted(map(str, event.get("content", {}).values()))) for event in flows]
    for length, values in notes:
        print(length, *values)
    if word == "clear":
        return 0 if notes and not any("opaque" in text for _, values in notes for text in values) else 1
    return 0 if any(length >= least and word in values and any("opaque" in text for text in values) for length, values in notes) else 1


def main():
    verb, words = sys.argv[1], sys.argv[2:]
    if verb == "make":
        return make(*words[:3], words[3:])
    if verb == "wire":
        return wire(*words[:2], words[2:])
    if verb == "told":
        return told(words[0], words[1:])
    if verb == "flow":
        return flow(*words[:3], int(words[3]))
    return (arrived if verb == "arrived" else none)(*words)


if __name__ == "__main__":
    sys.exit(main())
