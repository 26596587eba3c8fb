#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the classifier still knows of the labelled captures when packets are missing, or come another way.

tests/lib/classify/transform_score.py [--every N] [--only TEXT] [--targets] [--transform NAME]... [--errors N]

Each capture of $SLUICE_CORPORA/dev is replayed as it is and once for each transform of tests/lib/transform.py.
Recall is relative: of the flows that are known right in the capture as it is, and of which what the transform
takes away existed and something is left, so many are known right still. `micro`: of all these flows; `macro`:
mean over their applications. `other`: flows with a claim that differs from the one on the unchanged flow, and
is not the label's; `false`: claims that the labels call false, in the capture as it is and transformed; `block`:
those of either kind that a rule would act on without asking for less than `dpi`, of P2P or messengers.
"""
import argparse
import collections
import concurrent.futures
import csv
import importlib.util
import ipaddress
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import transform  # noqa: E402 pylint: disable=wrong-import-position
from rig import golden, replays  # noqa: E402 pylint: disable=wrong-import-position

POLICY = {"schema_version": 1, "mode": "monitor", "default": "pass",
          "rules": [{"id": "score", "match": {"category": ["p2p", "im"]}, "action": "drop"}]}
KINDS = ("target", "carrier")
Claim = collections.namedtuple("Claim", "app confidence signature")
NOTHING = Claim("", "none", "")
UNSURE = ("none", "port", "ip")  # shown to operators, not claimed
PROOF = ("dpi", "verified")


def key_of(l4, src, sport, dst, dport):
    return (l4, *sorted([(ipaddress.ip_address(src).packed, int(sport)), (ipaddress.ip_address(dst).packed, int(dport))]))


class Labels:
    """What the corpora say of the flows of one capture, as their score.py reads it."""

    def __init__(self, score, rows):
        self.score, self.flows, self.whole_file = score, {}, False
        for row in rows:
            if row["l4"] == "*":
                self.whole_file = True
                continue
            address = [row[side].strip("[]").split("%")[0] for side in ("src", "dst")]
            self.flows[key_of(row["l4"].lower(), address[0], row["sport"] or 0, address[1], row["dport"] or 0)] = row

    def is_target(self, app):
        return app in self.score.P2P | self.score.IM

    def kind(self, key):
        """target or carrier: a flow of which it is known what it is; else None."""
        row = self.flows.get(key)
        if not row or row["pc"] != "1" or row["class"] not in ("p2p", "im", "carrier"):
            return None
        return "carrier" if row["class"] == "carrier" else "target"

    def right(self, key, app):
        row = self.flows[key]
        return app != "" and app in {row["app"]} | {self.score.fold(word) for word in row["alt"].split(";") if word}

    def false(self, key, app):
        row = self.flows.get(key)
        if not app or not row or row["pc"] != "1":
            return self.is_target(app) and self.whole_file and (not row or row["pc"] != "1")
        base = self.score.fold(row["base"])
        known = self.is_target(app) or app in self.score.CAR
        return known and app != base and not self.right(key, app) and base not in ("dns", "mdns", "llmnr")


def claims(fold, events):
    """{key: Claim}: of a tuple the first connection that got an application."""
    out = {}
    for line in events:
        event = json.loads(line)
        if event.get("event_type") != "flow" or "src_port" not in event or event.get("proto") not in ("TCP", "UDP"):
            continue
        app = event.get("app", {})
        confidence = app.get("confidence", "none")
        claim = NOTHING if confidence in UNSURE else Claim(fold(app.get("name", "")), confidence, app.get("signature", ""))
        key = key_of(event["proto"].lower(), event["src_ip"], event["src_port"], event["dest_ip"], event["dest_port"])
        if key not in out or (claim.app and not out[key].app):
            out[key] = claim
    return out


class Count:
    """What one transform has done to the flows of one kind."""

    def __init__(self):
        self.had, self.kept = collections.Counter(), collections.Counter()  # by application

    def add(self, app, right):
        self.had[app] += 1
        self.kept[app] += right

    def micro(self):
        return sum(self.kept.values()) / max(1, sum(self.had.values()))

    def macro(self):
        return sum(self.kept[app] / n for app, n in self.had.items()) / max(1, len(self.had))

    def lost(self):
        """Applications of which nothing is known any more."""
        return sorted(app for app, n in self.had.items() if n >= 5 and not self.kept[app])


class Score:
    """The figures of one transform."""

    def __init__(self):
        self.kinds = {kind: Count() for kind in KINDS}
        self.other = self.was_false = self.false = self.block = 0
        self.errors = []

    def take(self, labels, key, was, now, concerned):
        differs = now.app and now.app != was.app and not self.is_less(labels, key, was, now) and not self.agrees(labels, key, now)
        false = labels.false(key, now.app) and not self.is_less(labels, key, was, now)
        self.was_false += labels.false(key, was.app)
        self.false += false
        self.other += bool(differs)
        if (differs or (false and now.app != was.app)) and labels.is_target(now.app) and now.confidence in PROOF:
            self.block += 1
        kind = labels.kind(key)
        if kind and concerned and labels.right(key, was.app):
            right = labels.right(key, now.app)
            self.kinds[kind].add(labels.flows[key]["app"], right)
            if not right:
                self.errors.append((labels.flows[key]["app"], now, key))
        if differs:
            self.errors.append((f"other than {was.app or 'unknown'}", now, key))

    @staticmethod
    def is_less(labels, key, was, now):
        """The carrier alone is known, of what was known with what it carries."""
        row = labels.flows.get(key)
        by_port = was.signature.endswith("-tls")  # TLS to a port that one protocol has
        return bool(was.app) and ((bool(row) and now.app == labels.score.fold(row["base"])) or (by_port and now.app == "tls"))

    @staticmethod
    def agrees(labels, key, now):
        row = labels.flows.get(key)
        return bool(row) and row["pc"] == "1" and labels.right(key, now.app)


def replay(scratch, path, score):
    events, errors = (os.path.join(scratch, f"{name}.{os.getpid()}") for name in ("events", "errors"))
    code = replays.replay(golden.SLUICE, [
        path, "-p", os.path.join(scratch, "policy.json"), "-g", golden.SIGNATURES, "--cache", golden.CACHE,
        "--checksum", "ignore", "--flows", "16384", "-e", events], errors)
    if code:
        with open(errors, encoding="utf-8", errors="replace") as file:
            sys.exit(f"{path}: exit {code}: {file.read().strip()[-500:]}")
    with open(events, encoding="utf-8") as lines:
        return claims(score.fold, lines)


def load_score():
    spec = importlib.util.spec_from_file_location("score", os.path.join(golden.CORPORA, "score.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def one(job):
    """Worker: {transform: Score} of one capture."""
    args, scratch, name, rows = job
    score = load_score()
    labels = Labels(score, rows)
    taken, flows = transform.packets(os.path.join(args.dir, name))
    path, was, out = os.path.join(scratch, f"{os.getpid()}.pcap"), {}, {}
    for kind in ["whole", *args.transform]:
        left = transform.transform(taken, kind, f"{args.seed} {name}")
        data, names = transform.left_of(left)
        transform.write(left, path)
        now = {}
        for key, claim in replay(scratch, path, score).items():
            flow = names.get(key)
            if flow and (flow.key not in now or not now[flow.key].app):
                now[flow.key] = claim
        if kind == "whole":
            was = now
        figures = out[kind] = Score()
        for key, flow in flows.items():
            figures.take(labels, key, was.get(key, NOTHING), now.get(key, NOTHING),
                         flow in data and transform.concerned(kind, flow, data[flow]))
    os.unlink(path)
    return name, out


def added(total, part, name):
    for kind in KINDS:
        total.kinds[kind].had.update(part.kinds[kind].had)
        total.kinds[kind].kept.update(part.kinds[kind].kept)
    for field in ("other", "was_false", "false", "block"):
        setattr(total, field, getattr(total, field) + getattr(part, field))
    total.errors += [(name, *error) for error in part.errors]


def end_text(end):
    return f"{ipaddress.ip_address(end[0])} {end[1]}"


def table(scores, n_errors):
    print(f"{'':16} {'target flows':>14} {'micro':>6} {'macro':>6} {'carrier flows':>16} {'micro':>6} {'macro':>6} "
          f"{'other':>6} {'false':>9} {'block':>6}  fallen to 0")
    for name, score in scores.items():
        cells = []
        for kind in KINDS:
            count = score.kinds[kind]
            flows = f"{sum(count.kept.values())} of {sum(count.had.values())}"
            cells.append(f"{flows:>{14 if kind == 'target' else 16}} {count.micro():6.3f} {count.macro():6.3f}")
        lost = [app for kind in KINDS for app in score.kinds[kind].lost()]
        print(f"{name:16} {' '.join(cells)} {score.other:6} {score.was_false:4}>{score.false:4} {score.block:6}  {' '.join(lost)}")
    for name, score in scores.items():
        for capture, what, now, key in score.errors[:n_errors]:
            print(f"{name}: {what}: {now.app or '-'} ({now.confidence}) {capture} {key[0]} {end_text(key[1])} {end_text(key[2])}")


def arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", default=os.path.join(golden.CORPORA, "dev"))
    parser.add_argument("--only", default="", help="captures whose name holds this")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each Nth capture")
    parser.add_argument("--targets", action="store_true", help="captures with P2P or messengers alone")
    parser.add_argument("--transform", action="append", choices=[*transform.TRANSFORMS][1:], metavar="NAME")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--errors", type=int, default=0, metavar="N", help="show N flows of each transform")
    parser.add_argument("--jobs", type=int, default=2 * os.cpu_count(), metavar="N")
    args = parser.parse_args(words)
    args.transform = args.transform or [*transform.TRANSFORMS][1:]
    return args


def scores_of(args):
    """{transform: Score} of the captures that are asked for."""
    rows = collections.defaultdict(list)
    with open(os.path.join(args.dir, "labels.csv"), encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if args.only in row["pcap"]:
                rows[row["pcap"]].append(row)
    names = sorted(name for name in rows if not args.targets or any(row["class"] in ("p2p", "im") for row in rows[name]))
    names = names[::args.every]
    out = {name: Score() for name in ["whole", *args.transform]}
    with tempfile.TemporaryDirectory() as scratch:
        with open(os.path.join(scratch, "policy.json"), "w", encoding="utf-8") as file:
            json.dump(POLICY, file)
        jobs = [(args, scratch, name, rows[name]) for name in names]
        with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
            for name, scores in pool.map(one, jobs):
                for kind, score in scores.items():
                    added(out[kind], score, name)
    print(f"{len(names)} captures, seed {args.seed}")
    return out


def main():
    if not os.path.isfile(os.path.join(golden.CORPORA, "score.py")):
        print("skipped: no corpora (SLUICE_CORPORA)")
        return 77
    args = arguments()
    table(scores_of(args), args.errors)
    return 0


if __name__ == "__main__":
    sys.exit(main())
