# SPDX-License-Identifier: BSD-3-Clause
"""What programs share that send files between a near and a far side of the gateway in several ways (peers/scan_dcc.py, scan_im.py,
xmpp_files.py): what became of each file is written by either side, and a judge holds it against the events."""
import json
import os
import sys

from rig import scan_samples


def write(out, told):
    """All at once: whoever waits for the file finds it whole."""
    with open(out + ".new", "w", encoding="utf-8") as file:
        json.dump(told, file)
    os.rename(out + ".new", out)


def run(users):
    """Threads of users, one a way, until the last one has ended."""
    for user in users:
        user.start()
    for user in users:
        user.join()


def told_by_sides(folder):
    """{"n" or "f": {file name: what became of it}}"""
    told = {}
    for side in ("near", "far"):
        with open(os.path.join(folder, f"{side}.json"), encoding="utf-8") as file:
            told[side[0]] = json.load(file)
    return told


def both_ends(told, name, sender):
    """What the sender's side and the other one say of a file."""
    return (told[side].get(name, {}) for side in (sender, "f" if sender == "n" else "n"))


def events_of(path):
    with open(path, encoding="utf-8") as file:
        yield from map(json.loads, file)


def verdict_of(event):
    scan = event["scan"]
    return scan["verdict"], scan.get("name", scan.get("reason"))


def wrong_of_samples(samples, judge):
    """What judge(name, sample, octets) finds wrong in each sample and its twin."""
    for sample in samples:
        for kind in scan_samples.kinds(sample):
            name = f"{kind}.{sample.name}"
            wrong = judge(name, sample, sample.octets if kind == "evil" else sample.twin)
            if wrong:
                yield f"{name}: {wrong}"


def tell(way, faults):
    print(way, f"{len(faults)} did not hold" if faults else "held")
    for fault in faults:
        print(f"  {fault[:500]}")


def main(play, judge):
    """make FOLDER | judge ARGUMENT... | near|far ARGUMENT..."""
    what, *arguments = sys.argv[1:]
    if what == "make":
        scan_samples.write_database(os.path.join(arguments[0], "db"))
    elif what == "judge":
        judge(*arguments).tell()
    else:
        play(what, *arguments)
