#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Scores app/classify alone, without the gateway, on labelled captures.

tests/lib/classify/classify_harness.py [-b BUILD] [--only TEXT] [--errors N] [--cut] [--claims]

Reads the captures with the corpora's own pktlib.py, puts TCP payload in order in a simple way
(retransmitted bytes skipped, a segment ahead is a gap if nothing fills it), feeds classify_tool
and hands the verdicts to score.py. --cut feeds each target flow again, cut after npkt data
packets: the application must stay. --claims lists target claims on flows that are not scored.
"""
import argparse
import collections
import csv
import importlib.util
import ipaddress
import json
import os
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.append(os.path.join(ROOT, "tests", "lib"))
from rig import labels as label_table  # noqa: E402

CORPORA = os.environ.get("SLUICE_CORPORA", os.path.join(ROOT, "..", "shared", "corpora"))
HALVES = {"any": 3, "c2s": 1, "s2c": 2}
CONFIDENCE = {"partial": 4, "dpi": 5}
L4 = {"tcp": 6, "udp": 17}
BUDGET = 10
SYN, FIN, RST, ACK = 2, 1, 4, 16


def load(path, name):
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def signatures(folder):
    """The records of config/signatures/*.json, in name order, as classify_tool reads them."""
    out = b""
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".json"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            document = json.load(file)
        for item in document.get("applications", []):
            for kind, key in ((b"H", "hosts"), (b"h", "shared_hosts")):
                for host in item.get(key, []):
                    out += kind
                    for word in (item["app"].encode(), host.lower().encode()):
                        out += struct.pack("<H", len(word)) + word
        for item in document.get("signatures", []):
            flags = item.get("flags", "")
            bits = item.get("verify", False) | item.get("midstream", False) << 1 | ("i" in flags) << 2
            bits |= ("s" in flags) << 3
            out += b"S" + struct.pack("<BBBBBH", L4[item["l4"]], HALVES[item.get("direction", "any")],
                                      CONFIDENCE[item.get("confidence", "dpi")], bits, item.get("bits", 0),
                                      item.get("min_length", 0))
            for key in ("id", "app", "pattern"):
                word = item[key].encode()
                out += struct.pack("<H", len(word)) + word
    return out + b"G"


class Half:
    """One direction of a TCP flow, put in order as an observer with little memory would."""

    def __init__(self):
        self.next = None
        self.base = 0
        self.ahead = []

    def segment(self, seq, payload):
        """Yields (offset, bytes) that are new, in order."""
        if self.next is None:
            self.next = self.base = seq
        self.ahead.append((seq, payload))
        if len(self.ahead) > 16:  # nobody fills the hole: what is behind it stays unseen
            self.ahead.pop(0)
        moved = True
        while moved:
            moved = False
            for item in list(self.ahead):
                known = (self.next - item[0]) & 0xFFFFFFFF
                if known >= 0x80000000:
                    continue
                self.ahead.remove(item)
                fresh = item[1][known:]
                if fresh:
                    yield (self.next - self.base) & 0xFFFFFFFF, fresh
                    self.next = (self.next + len(fresh)) & 0xFFFFFFFF
                    moved = True


def mapped(address):
    """16 bytes: IPv6, or IPv4 as it is mapped there."""
    address = ipaddress.ip_address(address)
    return (bytes(10) + b"\xff\xff" if address.version == 4 else b"") + address.packed


class Flow:
    """A connection: the sender of the SYN, else of the first packet, is the initiator."""

    def __init__(self, number, l4, ends, midstream):
        self.number, self.l4, self.ends = number, l4, ends
        self.midstream, self.packets, self.halves = midstream, 0, (Half(), Half())
        self.records = [b"F" + struct.pack("<IBBHH", number, L4[l4], midstream | 2, ends[0][1], ends[1][1])
                        + mapped(ends[0][0]) + mapped(ends[1][0])]

    def payload(self, half, offset, octets, counts):
        self.records.append(b"P" + struct.pack("<IBBQI", self.number, half, counts, offset, len(octets)) + octets)


def flows_of(pktlib, path, first, cut):
    """Flows of one capture. `cut` maps a flow's key to the number of data packets to keep."""
    live, done = {}, []
    for _, l4, src, sport, dst, dport, flags, seq, _, payload, _ in pktlib.packets(path):
        if l4 not in L4:
            continue
        key = pktlib.key(l4, src, sport, dst, dport)
        flow = live.get(key)
        if flow and l4 == "tcp" and flags & (SYN | ACK) == SYN and flow.packets:
            flow = None  # a new connection on an old tuple
        if flow is None:
            ends = ((src, sport), (dst, dport))
            if flags & SYN and flags & ACK:
                ends = ends[::-1]
            flow = live[key] = Flow(first + len(done), l4, ends, l4 == "tcp" and not flags & SYN)
            flow.key = key
            done.append(flow)
        half = 0 if (src, sport) == flow.ends[0] else 1
        if l4 == "tcp" and flags & SYN:
            flow.halves[half].next = flow.halves[half].base = (seq + 1) & 0xFFFFFFFF
            seq += 1
        if not payload or (cut is not None and flow.packets >= cut.get((key, flow.ends), 0)):
            continue
        flow.packets += 1
        if flow.packets > BUDGET:
            continue
        if l4 == "udp":
            flow.payload(half, 0, payload, 1)
            continue
        counts = 1
        for offset, fresh in flow.halves[half].segment(seq & 0xFFFFFFFF, payload):
            flow.payload(half, offset, fresh, counts)
            counts = 0
        if counts and flow.packets:  # an old or early segment is a data packet, too
            flow.payload(half, 0, b"", 1)
    return done


def classify(tool, cache, head, flows):
    """Runs the tool; {flow number: (app, confidence, npkt, signature, how)}."""
    stream = head + b"".join(b"".join(f.records) + b"E" + struct.pack("<I", f.number) for f in flows)
    run = subprocess.run([tool, cache], input=stream, stdout=subprocess.PIPE, check=False)
    if run.returncode:
        sys.exit(f"classify_tool: exit {run.returncode}")
    verdicts = {}
    for line in run.stdout.decode().splitlines():
        number, app, confidence, npkt, signature, how = line.split(" ")
        claimed = app if confidence not in ("none", "port", "ip") else "-"
        verdicts[int(number)] = (claimed, confidence, int(npkt), signature, how)
    return verdicts


def best(flows, verdicts):
    """One verdict for each tuple: the first connection on it that is known."""
    chosen = {}
    for flow in flows:
        verdict = verdicts[flow.number]
        if flow.key not in chosen or (chosen[flow.key][1][0] == "-" and verdict[0] != "-"):
            chosen[flow.key] = (flow, verdict)
    return list(chosen.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-b", "--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--dir", default=os.path.join(CORPORA, "dev"))
    parser.add_argument("--only", default="", help="captures whose name holds this")
    parser.add_argument("--errors", type=int, default=0)
    parser.add_argument("--cut", action="store_true")
    parser.add_argument("--claims", action="store_true")
    parser.add_argument("--rows", help="keep the result rows here")
    args = parser.parse_args()
    if not os.path.isfile(os.path.join(CORPORA, "score.py")):
        print("skipped: no corpora (SLUICE_CORPORA)")
        return 77
    pktlib = load(os.path.join(CORPORA, "pktlib.py"), "pktlib")
    score = load(os.path.join(CORPORA, "score.py"), "score")
    targets = score.P2P | score.IM
    tool = os.path.join(args.build, "tests", "classify_tool")
    head = signatures(os.path.join(ROOT, "config", "signatures"))
    with open(os.path.join(args.dir, "labels.csv"), encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        labels, _ = label_table.corrected(r for r in reader if args.only in r["pcap"])
        columns = reader.fieldnames
    names = sorted({r["pcap"] for r in labels})
    gold = {(r["pcap"], score.key([r[c] for c in columns])): r for r in labels if r["l4"] != "*"}
    cache = tempfile.TemporaryDirectory()
    rows, lies, how, claims = [], [], collections.Counter(), []
    for name in names:
        path = os.path.join(args.dir, name)
        flows = flows_of(pktlib, path, 0, None)
        verdicts = classify(tool, cache.name, head, flows)
        kept = best(flows, verdicts)
        limits = {}
        for flow, (app, confidence, npkt, signature, end) in kept:
            (src, sport), (dst, dport) = flow.ends
            row = [name, flow.l4, src, sport, dst, dport, app if app != "-" else "", npkt]
            rows.append(row)
            how[confidence, end] += 1
            if score.fold(app) in targets:
                limits[flow.key, flow.ends] = npkt
                label = gold.get((name, score.key([str(c) for c in row])))
                if not label or label["pc"] != "1":
                    claims.append((*row, signature, label["app"] + " " + label["raw"] if label else "no label"))
        if args.cut and limits:
            short = flows_of(pktlib, path, 0, limits)
            after = {f.key: v for f, v in best(short, classify(tool, cache.name, head, short))}
            lies += [(name, f.key, v[0], after[f.key][0]) for f, v in kept
                     if (f.key, f.ends) in limits and after[f.key][0] != v[0]]
    with tempfile.TemporaryDirectory() as scratch:
        labels_path, rows_path = os.path.join(scratch, "labels.csv"), args.rows or os.path.join(scratch, "rows.csv")
        with open(labels_path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(labels)
        with open(rows_path, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
        subprocess.run([sys.executable, os.path.join(CORPORA, "score.py"), labels_path, rows_path,
                        "--errors", str(args.errors)], check=True)
    print("how flows ended:", dict(how))
    for claim in claims if args.claims else []:
        print("CLAIM", *claim)
    for lie in lies:
        print("npkt is not true:", *lie)
    if args.cut:
        print(f"cut after npkt: {len(lies)} flows change")
    return 1 if lies else 0


if __name__ == "__main__":
    sys.exit(main())
