#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Many downloads at once, each on a connection of its own, for tests/netns/scan_stalled.test and scan_many.test.

many_files.py make FOLDER COUNT BYTES            files named 0 to COUNT-1 of random bytes
many_files.py fetch HOST PORT FOLDER COUNT LIMIT each file of FOLDER, all connections open before the first request; one line
                                                 that says what came of them within LIMIT seconds:
                                                 whole=N reset=N cut=N late=N differ=N median=MS p99=MS longest=MS
many_files.py held EVE PORT                      of the flow events to that port: flows=N held=N, packets that were held
many_files.py calls TRACE                        system calls of a strace -c, as name=count
"""
import collections
import hashlib
import json
import os
import random
import re
import resource
import selectors
import socket
import sys
import time

OUTCOMES = ("whole", "reset", "cut", "late", "differ")


def make(folder, count, size):
    draw = random.Random(int(count))
    os.makedirs(folder, exist_ok=True)
    for i in range(int(count)):
        with open(os.path.join(folder, str(i)), "wb") as file:
            file.write(draw.randbytes(int(size)))


class Download:
    def __init__(self, host, port, name):
        self.name, self.got, self.begun = name, b"", 0.0
        self.sock = socket.create_connection((host, port), timeout=30)

    def ask(self):
        self.begun = time.monotonic()
        self.sock.sendall(f"GET /{self.name} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n".encode())
        self.sock.setblocking(False)

    def read(self):
        """What came of it; None: nothing yet."""
        try:
            piece = self.sock.recv(65536)
        except BlockingIOError:
            return None
        except ConnectionError:
            return "reset"
        self.got += piece
        return None if piece else "closed"

    def outcome(self, how, folder):
        if how != "closed":
            return how
        head, _, body = self.got.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        if not length or len(body) < int(length[1]):
            return "cut"
        with open(os.path.join(folder, self.name), "rb") as file:
            same = hashlib.sha256(file.read()).digest() == hashlib.sha256(body).digest()
        return "whole" if same else "differ"


def fetch(host, port, folder, count, limit):
    wanted = int(count) + 64
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    downloads = [Download(host, int(port), str(i)) for i in range(int(count))]
    selector, open_ones, outcomes, times = selectors.DefaultSelector(), len(downloads), collections.Counter(), []
    for one in downloads:
        one.ask()
        selector.register(one.sock, selectors.EVENT_READ, one)
    print(f"asked {len(downloads)}", flush=True)
    end = time.monotonic() + float(limit)
    while open_ones and time.monotonic() < end:
        for key, _ in selector.select(0.1):
            one = key.data
            how = one.read()
            if not how:
                continue
            times.append(1000 * (time.monotonic() - one.begun))
            selector.unregister(one.sock)
            one.sock.close()
            outcomes[one.outcome(how, folder)] += 1
            open_ones -= 1
    outcomes["late"] += open_ones
    times = sorted(times) or [0.0]
    part = {name: times[int(share * (len(times) - 1))] for name, share in (("median", 0.5), ("p99", 0.99), ("longest", 1))}
    print(*(f"{name}={outcomes[name]}" for name in OUTCOMES), *(f"{name}={ms:.0f}" for name, ms in part.items()), flush=True)


def packets_held(event):
    if isinstance(event, dict):
        return event.get("held_pkts", 0) + sum(packets_held(value) for value in event.values())
    return 0


def held(eve, port):
    flows = packets = 0
    with open(eve, encoding="utf-8") as lines:
        for line in lines:
            if not line.endswith("\n") or '"event_type":"flow"' not in line:
                continue
            event = json.loads(line)
            if event.get("dest_port") == int(port):
                flows += 1
                packets += packets_held(event)
    print(f"flows={flows} held={packets}")


def calls(trace):
    with open(trace, encoding="utf-8") as lines:
        rows = [line.split() for line in lines]
    print(*(f"{row[-1]}={row[3]}" for row in rows if len(row) >= 5 and row[3].isdigit() and row[-1] != "total"))


if __name__ == "__main__":
    {"make": make, "fetch": fetch, "held": held, "calls": calls}[sys.argv[1]](*sys.argv[2:])
