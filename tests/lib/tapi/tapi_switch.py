#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Drives the peers of tests/netns/transport_switch.test.

tapi_switch.py NODE RUN NS-A NS-B NS-NAT      RUN has pass.json, no-udp.json and set-policy

Each line of its output: "ok" or "no", what was to be, what was seen, with tabs between.
"""
import json
import os
import queue
import subprocess
import sys
import threading
import time

NODE, RUN, NS_A, NS_B, NS_NAT = sys.argv[1:6]
A_ADDRESS, THIRD, PORT = "10.77.0.2", "10.77.0.3", 2086
EVERY_MS = 100
TYPE_PING = 2
ENVELOPE, WELCOME, FRAME = 40, 48, 12

# PINGs to one address come every 60 s at most; here time is dearer.
CORE = {"ping_address_s": 2, "ping_prefix_per_min": 1000, "retry_max_s": 4, "helo_repeat_s": 2}
CONF_A = {"transports": ["udp", "tcp"], "core": CORE, "udp": {"port": PORT, "bind": [A_ADDRESS], "ipv6": False},
          "tcp": {"port": PORT, "bind": [A_ADDRESS], "ipv6": False}}
CONF_B = {"transports": ["udp", "tcp"], "core": CORE, "udp": {"port": 0, "nat": True, "ipv6": False},
          "tcp": {"port": 0, "nat": True, "ipv6": False}}

FAULTS = []


def row(held, what, why):
    print("ok" if held else "no", what, str(why).replace("'", "").replace("\t", " "), sep="\t", flush=True)
    if not held:
        FAULTS.append(what)


class Node:
    """One tapi_talker; what it says is kept, and can be waited for."""

    def __init__(self, name, namespace, conf, seed):
        path = os.path.join(RUN, f"{name}.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(conf, out)
        self.log = open(os.path.join(RUN, "log", name), "w", encoding="utf-8")
        self.process = subprocess.Popen(["ip", "netns", "exec", namespace, NODE, path, str(seed)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
        self.lines, self.said = queue.Queue(), []
        threading.Thread(target=self.read, daemon=True).start()
        hello = self.wait(30, lambda line: line["say"] == "helo")
        if not hello:
            sys.exit(f"{name} does not start: {RUN}/log/{name}")
        self.id, self.helo = hello["id"], hello["text"]

    def read(self):
        for line in self.process.stdout:
            self.log.write(line)
            self.log.flush()
            self.lines.put(json.loads(line))

    def tell(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def hear(self):
        while not self.lines.empty():
            self.said.append(self.lines.get())
        return self.said

    def wait(self, seconds, test):
        """The first line, from now on or unread, that `test` takes; None after `seconds`."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                line = self.lines.get(timeout=left)
            except queue.Empty:
                return None
            self.said.append(line)
            if test(line):
                return line
        return None

    def stats(self):
        self.hear()
        self.tell("stats")
        line = self.wait(30, lambda said: said["say"] == "stats")
        return line["stats"] if line else None

    def end(self):
        if self.process.poll() is None:
            self.tell("quit")
        try:
            return self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return None


def now_us():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


def got_by(transport):
    return lambda line: line["say"] == "got" and line["transport"] == transport


def both_by(transport, seconds, since):
    """Seconds from `since` until each of the two gets messages by `transport`; None where it never does."""
    after = []
    for node in (a, b):
        line = node.wait(max(0.1, seconds - (now_us() - since) / 1e6),
                         lambda said: got_by(transport)(said) and said["t"] - said["age_us"] >= since)
        after.append(round((line["t"] - since) / 1e6, 2) if line else None)
    return after


def steady(transport, seconds):
    """Of what came to either within `seconds`: how much came by `transport`, of how much."""
    for node in (a, b):
        node.hear()
        node.said.clear()
    time.sleep(seconds)
    got = [line for node in (a, b) for line in node.hear() if line["say"] == "got"]
    return sum(got_by(transport)(line) for line in got), len(got)


def longest_gap(node, since):
    """The longest time in which nothing came to `node`, and in it: seconds."""
    times = [line["t"] for line in node.hear() if line["say"] == "got" and line["t"] >= since]
    return round(max((y - x for x, y in zip([since] + times, times)), default=now_us() - since) / 1e6, 2)


def command(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def set_policy(name):
    command(os.path.join(RUN, "set-policy"), os.path.join(RUN, name))


def in_nat(*words):
    command("ip", "netns", "exec", NS_NAT, *words)


# What comes to the third party: a child in A's namespace that listens and tells.
LISTENER = f"""
import selectors, socket, sys
chosen = selectors.DefaultSelector()
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); udp.bind(("{THIRD}", {PORT}))
tcp = socket.socket(); tcp.bind(("{THIRD}", {PORT})); tcp.listen(64)
chosen.register(udp, selectors.EVENT_READ); chosen.register(tcp, selectors.EVENT_READ)
print("ready", flush=True)
while True:
    for key, _ in chosen.select():
        if key.fileobj is udp:
            print("udp", udp.recv(65536).hex(), flush=True)
        elif key.fileobj is tcp:
            child = tcp.accept()[0]
            chosen.register(child, selectors.EVENT_READ, str(child.fileno()))
            print("accepted", flush=True)
        else:
            octets = key.fileobj.recv(65536)
            if not octets:
                chosen.unregister(key.fileobj)
            else:
                print("tcp" + key.data, octets.hex(), flush=True)
"""


def messages(payload):
    """Types of the messages in a payload."""
    out = []
    while payload:
        size = int.from_bytes(payload[:2], "big")
        out.append(int.from_bytes(payload[2:4], "big"))
        if size < 4 or size > len(payload):
            return out + ["cut"]
        payload = payload[size:]
    return out


def third_party():
    """M is a peer that says of itself that it lives at the third party's address; A has messages for it."""
    child = subprocess.Popen(["ip", "netns", "exec", NS_A, "/usr/bin/python3", "-c", LISTENER], text=True,
                             stdout=subprocess.PIPE)
    child.stdout.readline()
    heard = []
    threading.Thread(target=lambda: heard.extend(child.stdout), daemon=True).start()
    before = helos_taken()
    liar = {"advertise": [f"{THIRD}:{PORT}"], "port": 2099, "ipv6": False}
    m = Node("M", NS_B, {"transports": ["udp", "tcp"], "core": CORE, "udp": liar, "tcp": liar}, 3)
    m.tell("helo", a.helo)
    m.tell("stream", a.id, 200, 50)
    row(a.wait(20, lambda line: line["say"] == "reachable" and line["peer"] == m.id), "a liar is reached where it is", "")
    a.tell("stream", m.id, 50, 200)
    served = m.wait(30, lambda line: line["say"] == "got")
    row(served, "and gets its messages there", served)
    time.sleep(12)
    child.terminate()
    helos = helos_taken() - before
    m.end()
    udp = [kind for line in heard if line.startswith("udp") for kind in messages(bytes.fromhex(line.split()[1])[ENVELOPE:])]
    streams = {}
    for line in heard:
        if line.startswith("tcp"):
            name, octets = line.split()
            streams[name] = streams.get(name, b"") + bytes.fromhex(octets)
    tcp = []
    for octets in streams.values():
        octets = octets[WELCOME:]
        while octets:
            size = int.from_bytes(octets[:4], "big")
            tcp += messages(octets[FRAME:FRAME + size])
            octets = octets[FRAME + size:]
    row(helos > 2, "it told A of the address again and again", f"{helos} HELOs")
    return udp, tcp, helos


def helos_taken():
    return a.stats()["core"]["helo_received"]


a = Node("A", NS_A, CONF_A, 1)
b = Node("B", NS_B, CONF_B, 2)
b.tell("helo", a.helo)
start = now_us()
b.tell("stream", a.id, EVERY_MS, 200)
reached = a.wait(20, lambda line: line["say"] == "reachable" and line["peer"] == b.id)
row(reached and reached["transport"] == "tcp" and reached["inbound"], "B behind NAT calls A by TCP, A answers on that session",
    reached)
a.tell("stream", b.id, EVERY_MS, 200)
after = both_by("tcp", 20, start)
row(None not in after, "messages go both ways by TCP", f"{after} s after B was told of A")
row(steady("udp", 2)[0] == 0, "none by UDP while it is blocked", "")

start = now_us()
in_nat("nft", "delete", "table", "ip", "wall")
after = both_by("udp", 40, start)
row(None not in after, "UDP becomes reachable and is chosen", f"{after} s after the wall fell")
by, of = steady("udp", 2)
row(of > 20 and by == of, "and kept", f"{by} of {of} messages by UDP")

start = now_us()
set_policy("no-udp.json")
after = both_by("tcp", 15, start)
row(None not in after and max(after) <= 10, "the gateway blocks UDP: TCP takes over within 10 s", f"{after} s")
gaps = [longest_gap(node, start) for node in (a, b)]
row(max(gaps) <= 10, "neither waits longer than 10 s for a message", f"gaps {gaps} s")
by, of = steady("tcp", 2)
row(of > 20 and by == of, "all of them by TCP then", f"{by} of {of}")

start = now_us()
set_policy("pass.json")
after = both_by("udp", 60, start)
row(None not in after, "the gateway passes UDP again: it is chosen again", f"{after} s")
by, of = steady("udp", 2)
row(of > 20 and by == of, "and kept again", f"{by} of {of}")

stats, ends = {"B": b.stats()}, [b.end()]  # what A hears of HELOs from now on is the liar's
to_udp, to_tcp, told = third_party()
row(to_udp and set(to_udp) == {TYPE_PING}, "to the third party: PINGs alone by UDP", f"types {to_udp}")
row(to_tcp and set(to_tcp) == {TYPE_PING}, "and by TCP", f"types {to_tcp}")
row(max(len(to_udp), len(to_tcp)) <= told / 2, "at most one for each HELO",
    f"{len(to_udp)} PINGs by UDP, {len(to_tcp)} by TCP, of {told} HELOs, half of them for each")
with open(os.path.join(RUN, "stats.json"), "w", encoding="utf-8") as file:
    json.dump(stats | {"A": a.stats()}, file, indent=1)
ends.append(a.end())
row(ends == [0, 0], "both end by themselves", ends)
sys.exit(1 if FAULTS else 0)
