# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of streams share: the labelled captures' reference rows, batches of captures that one run of
`sluice replay --streams` can take, and its rows."""
import csv
import os
import sys

from rig import golden

DEV = os.path.join(golden.CORPORA, "dev")
REFERENCE = os.path.join(DEV, "robust_streams.csv")
COLUMNS = ["isn", "bytes", "dup", "conflict", "gaps", "sha256"]


def need_corpora():
    """The captures' reader; a named skip where there are no captures."""
    if not os.path.isfile(REFERENCE):
        golden.skip("no corpora (SLUICE_CORPORA)")
    if not os.path.isfile(golden.SLUICE):
        golden.skip(f"{golden.SLUICE} is not built")
    sys.path.insert(0, golden.CORPORA)
    import pktlib  # pylint: disable=import-error,import-outside-toplevel
    return pktlib


def reference():
    """{capture: {flow: [columns of its row]}}"""
    out = {}
    with open(REFERENCE, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            row["sha256"] = row["sha_first"]
            out.setdefault(row["pcap"], {})[row["flow"]] = [[row[name] for name in COLUMNS]]
    return out


def rows(path):
    """The rows of a run, as reference() has them; a tuple that is used again has several."""
    out = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            capture = os.path.relpath(row["pcap"], DEV)
            out.setdefault(capture, {}).setdefault(row["flow"], []).append([row[name] for name in COLUMNS])
    return out


def batches(pktlib, captures):
    """Lists of captures, each in the order of their clocks: one link type, and no tuple in two captures."""
    found = []
    for capture in captures:
        start, link, ends = None, None, set()
        for stamp, kind, octets, _ in pktlib.records(os.path.join(DEV, capture)):
            start = stamp if start is None else start
            link = kind if link is None else link
            layer = pktlib.l3(kind, octets)
            ip = layer and pktlib.ip_layer(octets, *layer)
            if ip and ip["proto"] == 6 and not ip["frag"] and ip["end"] - ip["off"] >= 4:
                ports = octets[ip["off"]:ip["off"] + 4]
                ends.add(frozenset(((ip["src"], ports[:2]), (ip["dst"], ports[2:]))))
        for batch in found:
            if batch["link"] == link and not batch["ends"] & ends:
                break
        else:
            batch = {"link": link, "ends": set(), "captures": []}
            found.append(batch)
        batch["ends"] |= ends
        batch["captures"].append((start, capture))
    return [[os.path.join(DEV, capture) for _, capture in sorted(batch["captures"])] for batch in found]


def run(folder, paths, policy, *options):
    """(golden.Run, its rows)"""
    table = os.path.join(folder, "streams.csv")
    done = golden.Run(folder, paths, policy, "--streams", table, *options)
    return done, rows(table)


def faults_of(done, what):
    """A run must close its ledger and have everything back, and no sanitizer may have spoken."""
    stats = done.stats()
    if stats["unaccounted"]:
        yield f"{what}: {stats['unaccounted']} packets unaccounted for"
    for name, pool in stats["pools"].items():
        if pool["free"] != pool["size"]:
            yield f"{what}: pool {name}: {pool['free']} of {pool['size']} free"
    if "runtime error" in done.stderr or "Sanitizer" in done.stderr:
        yield f"{what}: a sanitizer reports:\n{done.stderr[:4000]}"
