#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flows_seen.py CAPTURE EVE < ROWS: every flow of the capture that carried payload has a flow event, and that event
says what a row asks. A row:

    L4 PORT APP[|APP] GROUP[|GROUP] CONFIDENCE[,CONFIDENCE] COUNT [PACKET]

PORT is the responder's, else the initiator's, or `*`; the first row that fits a flow counts. COUNT flows at least
have to fit a row. PACKET: known with that data packet (both directions counted) or before. GROUP `-`: none; APP `none`: it must not be known (the confidence is then `-`).
"""
import collections
import ipaddress
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from packet import variants  # noqa: E402 pylint: disable=wrong-import-position

Row = collections.namedtuple("Row", "l4 port apps group confidences count packet text")


def rows_of(lines):
    for line in lines:
        words = line.split("#")[0].split()
        if words:
            l4, port, apps, group, confidences, count, *packet = words
            yield Row(l4, port, apps.split("|"), group, confidences.split(","), int(count),
                      int(packet[0]) if packet else None, " ".join(words))


def row_for(rows, l4, ends):
    for side in (1, 0):
        for row in rows:
            if row.l4 == l4 and row.port == str(ends[side][1]):
                return row
    return next((row for row in rows if row.l4 == l4 and row.port == "*"), None)


def key_of(l4, ends):
    return (l4, *sorted((ipaddress.ip_address(address).packed, port) for address, port in ends))


def groups_of(events):
    return {event["app"]["name"]: event["app"].get("group", "-") for event in events if "app" in event}


def judge(row, verdict, groups):
    """What is wrong with it; None: nothing."""
    if row is None:
        return "is none that was expected"
    if verdict is None:
        return "has no flow event"
    app = verdict.app or "none"
    if app not in row.apps:
        return f"is {app} ({verdict.confidence or '-'}), not {'|'.join(row.apps)}"
    if app != "none" and verdict.confidence not in row.confidences:
        return f"is {app} by {verdict.confidence}, not {','.join(row.confidences)}"
    if app != "none" and groups[app] not in row.group.split("|"):
        return f"is of group {groups[app]}, not {row.group}"
    if row.packet is not None and verdict.npkt > row.packet:
        return f"is {app} with data packet {verdict.npkt}, not with {row.packet}"
    return None


def main():
    capture, eve = sys.argv[1:3]
    with open(eve, encoding="utf-8") as lines:
        events = [json.loads(line) for line in lines]
    rows, verdicts, groups = list(rows_of(sys.stdin)), variants.verdicts(events), groups_of(events)
    seen, wrong = collections.Counter(), 0
    known = collections.defaultdict(collections.Counter)
    for talk in dict.fromkeys(item.talk for item in variants.read(capture)):
        row, verdict = row_for(rows, talk.l4, talk.ends), verdicts.get(key_of(talk.l4, talk.ends))
        why = judge(row, verdict, groups)
        if why:
            wrong += 1
            print(f"{talk.l4} {talk.ends[0]} > {talk.ends[1]} {why}")
            continue
        seen[row.text] += 1
        known[row.text][f"{verdict.app or 'none'}/{verdict.confidence or '-'}"] += 1
    for row in rows:
        print(f"{seen[row.text]:5} {row.text}: " + ", ".join(f"{n} {what}" for what, n in known[row.text].items()))
        if seen[row.text] < row.count:
            wrong += 1
            print(f"      ... of which {row.count} were expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
