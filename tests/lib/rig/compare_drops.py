#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""compare_drops.py OLD_BUILD NEW_BUILD [CAPTURE...]: dropped packets before and after, for each capture of the
repository and of SLUICE_CORPORA, under a default, a names and a deny policy. OLD_BUILD may be a file that
compare_drops.py --save FILE BUILD has written: the results of one build.

Prints a row for each capture and policy in which they differ, by reason of the drop, with the applications of the flows
that an event says were blocked in one build alone; then the sums. Both builds need tests/replay_many."""
import collections
import concurrent.futures
import glob
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from rig import replays  # noqa: E402 pylint: disable=wrong-import-position

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
CORPORA = os.environ.get("SLUICE_CORPORA", os.path.join(ROOT, "..", "shared", "corpora"))
POLICIES = {
    "default": None,  # the build's own config/policy.json
    "names": {"applications": [{"id": "asked", "category": "web", "sni": [
        "facebook.com", "fbcdn.net", "google.com", "googlevideo.com", "whatsapp.net", "example.org", "microsoft.com"]}],
              "rules": [{"id": "no-asked", "match": {"app": ["asked"]}, "action": "reset"}]},
    "deny": {"default": "drop", "rules": [
        {"id": "web", "match": {"protocol": "tcp", "ports": [80, 443]}, "action": "pass"},
        {"id": "dns", "match": {"protocol": "udp", "ports": [53]}, "action": "pass"},
        {"id": "icmp", "match": {"protocol": "icmp"}, "action": "pass"}]},
}


def captures():
    found = sorted(glob.glob(os.path.join(ROOT, "tests", "golden", "captures", "*.pcap")))
    return found + sorted(path for path in glob.glob(os.path.join(CORPORA, "dev", "**", "*"), recursive=True)
                          if path.endswith((".pcap", ".pcapng", ".cap")))


def blocked(path):
    """{flow: (application, rule)} of the alerts that blocked."""
    found = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            if event["event_type"] == "alert" and event["alert"]["action"] == "blocked":
                ends = tuple(sorted(((event["src_ip"], event.get("src_port", 0)), (event["dest_ip"], event.get("dest_port", 0)))))
                found[ends] = (event.get("app_proto", "-"), event["alert"]["signature"])
    return found


def replay(runs, build, folder, capture, policy):
    """What one capture makes a build drop and block."""
    stats, events = (os.path.join(folder, name) for name in ("stats.json", "events.json"))
    config = os.path.join(os.path.dirname(os.path.abspath(build)), "config")
    code = runs.run([capture, "-p", policy or os.path.join(config, "policy.json"), "-g",
                        os.path.join(config, "signatures"), "--cache", os.path.join(build, "signature-cache"),
                        "--stats", stats, "-e", events, "--checksum", "auto", "--flows", "8192"])
    if code < 0:
        return {f"ended {code}": 1}, []
    with open(stats, encoding="utf-8") as file:
        sums = json.load(file)
    return {reason: n for reason, n in sums["dropped"].items() if n}, list(blocked(events).items())


def side(build, jobs):
    os.makedirs(os.path.join(build, "signature-cache"), exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        runs = replays.Replays(build)
        try:
            return [replay(runs, build, folder, *job) for job in jobs]
        finally:
            runs.close()


def paths_of(folder):
    paths = {}
    for name, policy in POLICIES.items():
        paths[name] = os.path.join(folder, name + ".json") if policy else None
        if policy:
            with open(paths[name], "w", encoding="utf-8") as out:
                json.dump({"schema_version": 1, **policy}, out)
    return paths


def results(build, jobs):
    """Of a build, or as a file has them."""
    if os.path.isfile(build):
        with open(build, encoding="utf-8") as file:
            saved = {tuple(key): value for key, value in json.load(file)}
        return [saved[job] for job in jobs]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        paths = paths_of(folder)
        runs = [(capture, paths[name]) for capture, name in jobs]
        halves = list(pool.map(lambda part: side(build, part), (runs[0::2], runs[1::2])))
    return [halves[i % 2][i // 2] for i in range(len(jobs))]


def flows_of(alerts):
    return {tuple(map(tuple, ends)): tuple(what) for ends, what in alerts}


def compare(jobs, old, new, n_captures):
    sums = {name: [collections.Counter(), collections.Counter()] for name in POLICIES}
    rows = 0
    for (capture, name), (was, was_alerts), (now, now_alerts) in zip(jobs, old, new):
        was_blocked, now_blocked = flows_of(was_alerts), flows_of(now_alerts)
        sums[name][0].update(was)
        sums[name][1].update(now)
        if was == now and was_blocked.keys() == now_blocked.keys():
            continue
        rows += 1
        reasons = ", ".join(f"{reason} {was.get(reason, 0)} -> {now.get(reason, 0)}"
                            for reason in sorted({*was, *now}) if was.get(reason, 0) != now.get(reason, 0))
        print(f"{name} {os.path.relpath(capture, CORPORA) if capture.startswith(CORPORA) else os.path.basename(capture)}: "
              f"{sum(was.values())} -> {sum(now.values())} dropped ({reasons})")
        for word, these, those in (("no longer blocked", was_blocked, now_blocked), ("newly blocked", now_blocked, was_blocked)):
            flows = [(ends, what) for ends, what in these.items() if ends not in those]
            kinds = collections.Counter(what for _, what in flows)
            if kinds:
                print(f"    {word}: " + ", ".join(f"{n} {app} by {rule}" for (app, rule), n in kinds.most_common(6))
                      + f"; e.g. {flows[0][0]}")
    for name, (was, now) in sums.items():
        print(f"{name}: {n_captures} captures, {sum(was.values())} -> {sum(now.values())} dropped; "
              + ", ".join(f"{reason} {was[reason]} -> {now[reason]}" for reason in sorted({*was, *now}) if was[reason] != now[reason]))
    print(f"{rows} rows differ")


def main():
    words = sys.argv[1:]
    if len(words) < 2:
        sys.exit(__doc__)
    save = words[1] if words[0] == "--save" else None
    chosen = words[3 if save else 2:] or captures()
    jobs = [(capture, name) for capture in chosen for name in POLICIES]
    if save:
        with open(save, "w", encoding="utf-8") as out:
            json.dump(list(zip(jobs, results(words[2], jobs))), out)
        return
    compare(jobs, results(words[0], jobs), results(words[1], jobs), len(chosen))


main()
