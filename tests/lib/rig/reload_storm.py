#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reloads policies over the control socket, evenly spread, and says what it saw as JSON.

reload_storm.py SOCKET PID COUNT SECONDS POLICY...
"""
import json
import socket
import sys
import time


class Control:
    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(30)
        self.sock.connect(path)
        self.rest = self.sock.makefile("rb")

    def ask(self, command, **arguments):
        self.sock.sendall(json.dumps({"command": command, "arguments": arguments}).encode() + b"\n")
        return json.loads(self.rest.readline())


def rss_kb(pid):
    for line in open("/proc/%d/status" % pid):
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise SystemExit("no VmRSS of %d" % pid)


def main(path, pid, count, seconds, policies):
    control = Control(path)
    took, rss, failed = [], {}, []
    begin = time.monotonic()
    for i in range(1, count + 1):
        time.sleep(max(0, begin + (i - 1) * seconds / count - time.monotonic()))
        before = time.monotonic()
        reply = control.ask("policy-reload", path=policies[i % len(policies)])
        took.append((time.monotonic() - before) * 1000)
        if reply["return"] != "OK":
            failed.append(reply["message"])
        if i in (20, count):
            rss[i] = rss_kb(pid)
    state = control.ask("policy-show")["message"]
    print(json.dumps({
        "reloads": count, "seconds": round(time.monotonic() - begin, 1), "failed": failed,
        "took_ms": {"min": min(took), "median": sorted(took)[len(took) // 2], "max": max(took)},
        "rss_kb": {"20": rss.get(20), "last": rss[count]},
        "generation": state["generation"], "freed": state["freed"], "failures": state["failures"],
    }))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), sys.argv[5:])
