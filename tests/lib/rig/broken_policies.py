#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Policies that no gateway takes: by hand, and a good one with random faults.

broken_policies.py make DIR SLUICE GOOD.json      writes 75 of them, and says of how many kinds
broken_policies.py reload DIR SOCKET SECONDS      reloads each, evenly spread, and says how it went
"""
import concurrent.futures
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from rig.reload_storm import Control  # noqa: E402

COUNT = 75
SEED = 20261121
# A few signatures: `sluice check` compiles what it is given each time, and of all that takes a second. Without any,
# everything is refused.
FEW = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "config", "signatures", "media.json")


USERS = {  # files of users that a policy may name, and all that names them is refused
    "clash": b'{"alice": ["10.0.0.0/8"], "bob": ["10.9.9.9"]}',
    "cut": b'{"alice": ["10.0.0.1"',
    "list": b'["alice"]',
    "not-utf8": b'{"\xff": ["10.0.0.1"]}',
}


def by_hand(good):
    """Bytes of files, each wrong in its own way."""
    base = json.loads(good)
    rule = base["rules"][0]

    def having(**keys):
        return json.dumps(dict(base, **keys)).encode()

    def rules(**keys):
        return having(rules=[dict(rule, **keys)])

    timed = dict(rule, match={"time": ["office"]})
    office = {"office": {"days": ["mon"], "from": "08:00", "to": "18:00"}}
    return [
        having(applications=[{"id": "http", "ports": {"tcp": [80]}}]), having(applications=[{"id": "a"}]),
        having(applications=[{"id": "a", "regex": [{"protocol": "tcp", "pattern": "(("}]}]), having(applications={}),
        having(time_windows={"office": {"from": "25:00"}}), having(time_zone="Europe/Belrin"),
        having(time_windows=office, rules=[dict(rule, match={"time": ["offcie"]})]), having(rules=[timed]),
        having(users={"a": ["10.0.0.1"], "b": ["10.0.0.0/24"]}), having(users={"a": ["10.0.0.256"]}),
        having(users={"a": []}, rules=[dict(rule, match={"user": ["b"]})]),
        having(users="users/clash"), having(users="users/cut"), having(users="users/list"),
        having(users="users/not-utf8"), having(users="users/not-there"), having(users="users"),
        b"", b"\n", b"null", b"[]", b"{", good.encode()[:-2], good.encode() + b"}",
        b"\xef\xbb\xbf" + good.encode(), b"\xff\xfe{\x00}\x00", b"{}", b"\0" * 4096,
        good.encode().replace(b"no-http", b"no-\xc3\x28"),
        b"[" * 100000, b'{"rules":' * 3000, b" " * (17 << 20),
        having(schema_version=2), having(schema_version="1"), having(mode="enforced"),
        having(rulez=[]), having(rules={}), having(default="scan"), having(reevaluate="some"),
        having(rules=[rule, rule]), rules(action="rest"), rules(action=None), rules(cache="tuqle"),
        rules(match={"app": ["no-such-app"]}), rules(match={"app": []}), rules(match={"ports": ["9-1"]}),
        rules(match={"source": ["10.0.0.1/8"]}), rules(match={"source": ["nobody"]}),
        having(conn_cache={"ttl_s": 10, "max_lifetime_s": 5}), having(conn_cache={"ttl_s": -1}),
        having(address_sets={"a": ["300.1.1.1"]}),
        having(tcp={"midstream": "refuse"}), having(tcp={"mptcp": None}), having(tcp={"overlap": "drop"}), having(tcp=[]),
        having(rules=[dict(rule, id="r%d" % i) for i in range(5000)]),
    ]


def mutated(good, rng):
    """One random fault of the kind that editors and disks make."""
    text = bytearray(good.encode())
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text))
        fault = rng.randrange(4)
        if fault == 0:
            text[at] ^= 1 << rng.randrange(8)
        elif fault == 1:
            del text[at:at + rng.randint(1, 40)]
        elif fault == 2:
            text[at:at] = bytes(rng.choices(b'{}[]",:0e-\\\n', k=rng.randint(1, 6)))
        else:
            del text[at:]
        if not text:
            break
    return bytes(text)


def is_refused(sluice, signatures, path):
    return subprocess.run([sluice, "check", "-g", signatures, "-p", path], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 78


def all_refused(sluice, paths, texts):
    """Writes the texts there; of each, whether it is refused."""
    for path, text in zip(paths, texts):
        open(path, "wb").write(text)
    with tempfile.TemporaryDirectory() as few, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        shutil.copy(FEW, few)
        return list(pool.map(lambda path: is_refused(sluice, few, path), paths))


def make(folder, sluice, good_path):
    good = open(good_path, encoding="utf-8").read()
    rng = random.Random(SEED)
    os.makedirs(os.path.join(folder, "users"))  # as a policy, a folder is none
    for name, users in USERS.items():
        open(os.path.join(folder, "users", name), "wb").write(users)
    unbroken = os.path.join(folder, "unbroken.json")
    if all_refused(sluice, [unbroken], [good.encode()])[0]:
        raise SystemExit("the good policy is refused, too")
    os.unlink(unbroken)
    texts = by_hand(good)
    hand = len(texts)
    paths = [os.path.join(folder, "hand-%02d.json" % i) for i in range(hand)]
    for path, text, refused in zip(paths, texts, all_refused(sluice, paths, texts)):
        if not refused:
            raise SystemExit("%s is not broken: %r" % (path, text[:200]))
    os.mkdir(os.path.join(folder, "hand-folder.json"))
    hand += 1
    n = hand
    while n < COUNT:
        paths = [os.path.join(folder, "random-%02d.json" % i) for i in range(n, min(n + 8, COUNT))]
        texts = [mutated(good, rng) for _ in paths]
        refused = all_refused(sluice, paths, texts)
        for path in paths:
            os.unlink(path)
        for text in (text for text, broken in zip(texts, refused) if broken):
            open(os.path.join(folder, "random-%02d.json" % n), "wb").write(text)
            n += 1
    print(json.dumps({"by_hand": hand, "random": COUNT - hand}))


def reload(folder, path, seconds):
    control = Control(path)
    before = control.ask("policy-show")["message"]
    wrong, n = [], 0
    names = sorted(os.listdir(folder)) + ["not-there.json"]
    begin = time.monotonic()
    for i, name in enumerate(names):
        time.sleep(max(0, begin + i * seconds / len(names) - time.monotonic()))
        reply = control.ask("policy-reload", path=os.path.join(folder, name))
        n += 1
        message = reply["message"]
        if reply["return"] != "NOK" or not message.get("errors") or "old policy" not in message["text"]:
            wrong.append([name, reply])
    after = control.ask("policy-show")["message"]
    print(json.dumps({
        "reloads": n, "wrong": wrong, "generation": [before["generation"], after["generation"]],
        "same_policy": before["policy"] == after["policy"] and before["path"] == after["path"],
        "failures": after["failures"] - before["failures"],
    }))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(*sys.argv[2:])
    else:
        reload(sys.argv[2], sys.argv[3], float(sys.argv[4]))
