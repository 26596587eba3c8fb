# SPDX-License-Identifier: BSD-3-Clause
"""What the golden tests share: running `sluice replay`, and its outputs as text."""
import hashlib
import json
import os
import struct
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("SLUICE_BUILD", os.path.join(ROOT, "build"))
CORPORA = os.environ.get("SLUICE_CORPORA", os.path.join(ROOT, "..", "shared", "corpora"))
SLUICE = os.path.join(BUILD, "app", "sluice")
GOLDEN = os.path.join(ROOT, "tests", "golden")
CAPTURES = os.path.join(GOLDEN, "captures")
POLICIES = os.path.join(GOLDEN, "policies")
SIGNATURES = os.path.join(ROOT, "config", "signatures")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def capture_path(name):
    return os.path.join(CAPTURES, name + ".pcap")


def policy_path(name):
    return os.path.join(POLICIES, name + ".json")


class Run:
    """One run of replay with every output; fails loudly on any exit code but 0."""

    def __init__(self, folder, inputs, policy, *options, expect=0):
        self.out, self.events_file, self.stats_file = (
            os.path.join(folder, name) for name in ("out.pcap", "events.json", "stats.json"))
        self.command = [SLUICE, "replay", *inputs, "-p", policy, "-g", SIGNATURES, "--cache", folder,
                        "-w", self.out, "-e", self.events_file, "--stats", self.stats_file, *options]
        run = subprocess.run(self.command, capture_output=True, text=True, check=False)
        self.stderr = run.stderr
        if run.returncode != expect:
            raise SystemExit(f"{' '.join(self.command)}\nended {run.returncode}, not {expect}:\n"
                             + "\n".join(run.stderr.splitlines()[:60]))

    def files(self):
        """The octets of all three outputs."""
        octets = []
        for path in (self.out, self.events_file, self.stats_file):
            with open(path, "rb") as file:
                octets.append(file.read())
        return octets

    def events(self):
        with open(self.events_file, encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    def stats(self):
        with open(self.stats_file, encoding="utf-8") as file:
            return json.load(file)

    def packets(self):
        return list(records(self.out))


def records(path):
    """(time in ns, octets, length) of a little-endian classic pcap: what our generator and writer make."""
    with open(path, "rb") as file:
        raw = file.read()
    magic, = struct.unpack_from("<I", raw)
    unit, at = (1 if magic == 0xA1B23C4D else 1000), 24
    while at < len(raw):
        s, fraction, caplen, length = struct.unpack_from("<IIII", raw, at)
        at += 16
        yield s * 1_000_000_000 + fraction * unit, raw[at:at + caplen], length
        at += caplen


def tcp_of(octets, linktype=1):
    """(source, destination, sport, dport, seq, ack, flags) of an untunnelled TCP packet, or None."""
    at = {1: 12, 113: 14}.get(linktype)
    if at is None:
        kind, at = (0x0800 if octets[:1] and octets[0] >> 4 == 4 else 0x86DD), 0
    else:
        kind, at = struct.unpack_from(">H", octets, at)[0], at + 2
        while kind in (0x8100, 0x88A8):
            kind, at = struct.unpack_from(">H", octets, at + 2)[0], at + 4
        if kind == 0x8864:
            kind, at = {0x21: 0x0800, 0x57: 0x86DD}.get(struct.unpack_from(">H", octets, at + 6)[0], 0), at + 8
    if kind == 0x0800 and len(octets) >= at + 40 and octets[at + 9] == 6:
        source, destination, at = octets[at + 12:at + 16], octets[at + 16:at + 20], at + (octets[at] & 15) * 4
    elif kind == 0x86DD and len(octets) >= at + 60 and octets[at + 6] == 6:
        source, destination, at = octets[at + 8:at + 24], octets[at + 24:at + 40], at + 40
    else:
        return None
    sport, dport, seq, ack, _, flags = struct.unpack_from(">HHIIBB", octets, at)
    return source, destination, sport, dport, seq, ack, flags


def address_text(octets):
    if len(octets) == 4:
        return ".".join(map(str, octets))
    return "[" + ":".join(f"{word:x}" for word in struct.unpack(">8H", octets)) + "]"


def packet_line(time_ns, octets, length, linktype=1):
    """One packet as a line that a person can review: time, length, what it is, hash of its octets."""
    tcp = tcp_of(octets, linktype)
    what = ""
    if tcp:
        source, destination, sport, dport, seq, ack, flags = tcp
        names = "".join(name for bit, name in enumerate("FSRPAUEC") if flags >> bit & 1)
        what = f" {address_text(source)}:{sport} > {address_text(destination)}:{dport} {names} {seq}/{ack}"
    return f"{time_ns} {length}{what} {hashlib.sha256(octets).hexdigest()[:12]}"


def stats_lines(stats):
    """The ledger, what is not 0 among the counters, and replay's own figures."""
    for key in ("received", "injected", "sent", "dropped", "held", "consumed", "unaccounted"):
        value = stats[key]
        yield f"{key} {json.dumps({k: v for k, v in value.items() if v}, sort_keys=True) if isinstance(value, dict) else value}"
    for key, value in sorted(stats["counters"].items()):
        if value:
            yield f"counters.{key} {value}"
    for key, value in sorted(stats["replay"].items()):
        if value:
            yield f"replay.{key} {value}"
