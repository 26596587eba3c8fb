#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""bt_flows.py EVE PCAP PORT[,PORT] L4 CONFIDENCE SHARE LEAST [LEARNED]

The flows to PORT in which both ends said more than 96 octets, as the capture has them; what the gateway's events
say of each. Exit 0 when there are LEAST, and of them SHARE are bittorrent with CONFIDENCE (words joined by a comma),
and none is another application (of shapes, which are partial by their nature: few are; a key of MSE's that comes in
pieces, after the first of which the other end speaks, has eMule's too). LEARNED: what each app.learned_from must be, one of the words."""
import collections
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from packet import variants  # noqa: E402 pylint: disable=wrong-import-position


def main():
    eve, capture, ports, l4, confidence, share, least = sys.argv[1:8]
    learned = sys.argv[8].split(",") if len(sys.argv) > 8 else []
    with open(eve, encoding="utf-8") as lines:
        known = variants.verdicts(json.loads(line) for line in lines)
    lengths = collections.defaultdict(lambda: [0, 0])
    for item in variants.read(capture):
        if item.talk.l4 == l4 and str(item.talk.ends[1][1]) in ports.split(","):
            lengths[item.talk][item.half] += len(item.payload)
    found = collections.Counter()
    for talk, (ours, theirs) in lengths.items():
        if ours > 96 and theirs > 96:
            verdict = known.get(variants.key_in(None, talk), variants.Verdict("no event", "", 0, "", ""))
            found[verdict.app, verdict.confidence, verdict.learned] += 1
    total = sum(found.values())
    good = sum(n for (app, sure, source), n in found.items() if app == "bittorrent"
               and sure in confidence.split(",") and (not learned or source in learned))
    other = [key for key in found if key[0] not in ("bittorrent", "") and not key[1] == confidence == "partial"]
    print(f"{good} of {total}:", dict(found))
    return 0 if total >= int(least) and good >= float(share) * total and not other else 1


if __name__ == "__main__":
    sys.exit(main())
