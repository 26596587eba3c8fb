#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How long the control loop lets a client wait while a policy with many new patterns is compiled.

reload_pings.py SOCKET DIR: asks every 5 ms on a connection of its own while three reloads are at
work on another; says the longest wait in each and the time each took as JSON. Every reload has
patterns that no cache has seen."""
import json
import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from rig.reload_storm import Control  # noqa: E402

PATTERNS = 900
RELOADS = 3


def policy(path, salt):
    applications = [{"id": "own-%d" % n, "regex": [
        {"pattern": "^OWN%d[0-9a-f]{4,8} (GET|PUT) /%s-%d" % (i, salt, i), "protocol": "tcp"}
        for i in range(n * 100, n * 100 + 100)]} for n in range(PATTERNS // 100)]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schema_version": 1, "applications": applications}, file)


def longest_wait(control, until):
    longest = 0.0
    while not until():
        begin = time.monotonic()
        assert control.ask("version")["return"] == "OK"
        longest = max(longest, time.monotonic() - begin)
        time.sleep(0.005)
    return round(longest * 1000, 1)


def main(path, folder):
    control, other = Control(path), Control(path)
    busy, took, answers = [], [], []

    def reload(file):
        begin = time.monotonic()
        answers.append(other.ask("policy-reload", path=file)["return"])
        took.append(round((time.monotonic() - begin) * 1000))

    for i in range(RELOADS):
        file = os.path.join(folder, "own-%d.json" % i)
        policy(file, "%x-%d" % (time.time_ns(), i))
        thread = threading.Thread(target=reload, args=(file,))
        thread.start()
        busy.append(longest_wait(control, lambda: not thread.is_alive()))
        thread.join()
    print(json.dumps({"busy_ms": busy, "reload_ms": took, "answers": answers}))


if __name__ == "__main__":
    main(*sys.argv[1:])
