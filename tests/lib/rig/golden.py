# SPDX-License-Identifier: BSD-3-Clause
"""What the golden tests share: running `sluice replay`, and its outputs as text."""
import hashlib
import json
import os
import struct
import subprocess
import sys
import threading

from rig import replays

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.environ.get("SLUICE_BUILD", os.path.join(ROOT, "build"))
CORPORA = os.environ.get("SLUICE_CORPORA", os.path.join(ROOT, "..", "shared", "corpora"))
SLUICE = os.environ.get("SLUICE", os.path.join(BUILD, "app", "sluice"))
GOLDEN = os.path.join(ROOT, "tests", "golden")
CAPTURES = os.path.join(GOLDEN, "captures")
POLICIES = os.path.join(GOLDEN, "policies")
SIGNATURES = os.path.join(ROOT, "config", "signatures")
# Compiling takes a second, a run a tenth of one: the tests of a build share what was compiled.
CACHE = os.path.join(BUILD, "signature-cache")
os.makedirs(CACHE, exist_ok=True)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def capture_path(name):
    return os.path.join(CAPTURES, name + ".pcap")


def policy_path(name):
    return os.path.join(POLICIES, name + ".json")


KEPT = threading.local()  # of each thread: the process that replays, where EAL starts once
SHARED = os.path.dirname(os.path.abspath(SLUICE)) == os.path.join(os.path.abspath(BUILD), "app") and replays.current(BUILD)


def replay(folder, words, fresh=False):
    """Replays, and returns (exit code, what it said on standard error). A run that fails beside others is run alone."""
    errors, code = os.path.join(folder, "errors.txt"), None
    if SHARED and not fresh:
        KEPT.runs = getattr(KEPT, "runs", None) or replays.Replays(BUILD)
        code = KEPT.runs.run(words, errors)
    if code != 0:
        run = subprocess.run([SLUICE, "replay", *words], capture_output=True, text=True, check=False)
        if code is None or run.returncode == code:
            return run.returncode, run.stderr
    with open(errors, encoding="utf-8", errors="replace") as file:
        alone = "" if code == 0 else f"(ends {run.returncode} when run alone)\n"
        return code, alone + file.read()


class Run:
    """One run of replay with every output; fails loudly on any exit code but 0."""

    def __init__(self, folder, inputs, policy, *options, expect=0, fresh=False):
        self.out, self.events_file, self.stats_file = (
            os.path.join(folder, name) for name in ("out.pcap", "events.json", "stats.json"))
        words = [*inputs, "-p", policy, "-g", SIGNATURES, "--cache", CACHE,
                 "-w", self.out, "-e", self.events_file, "--stats", self.stats_file, *options]
        self.command = [SLUICE, "replay", *words]
        code, self.stderr = replay(folder, words, fresh)
        if code != expect:
            raise SystemExit(f"{' '.join(self.command)}\nended {code}, not {expect}:\n"
                             + "\n".join(self.stderr.splitlines()[:60]))

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


def network_of(octets, linktype=1):
    """(protocol, source, destination, L4 offset, end of the packet) of the outer IP packet, or None.

    Knows what our own captures hold: Ethernet, Linux cooked, raw; VLAN tags, PPPoE; no extension headers."""
    at = {1: 12, 113: 14}.get(linktype)
    if at is None:
        kind, at = (0x0800 if octets[:1] and octets[0] >> 4 == 4 else 0x86DD), 0
    elif len(octets) < at + 2:
        return None
    else:
        kind, at = struct.unpack_from(">H", octets, at)[0], at + 2
        while kind in (0x8100, 0x88A8) and len(octets) >= at + 4:
            kind, at = struct.unpack_from(">H", octets, at + 2)[0], at + 4
        if kind == 0x8864 and len(octets) >= at + 8:
            kind, at = {0x21: 0x0800, 0x57: 0x86DD}.get(struct.unpack_from(">H", octets, at + 6)[0], 0), at + 8
    if kind == 0x0800 and len(octets) >= at + 20:
        end = at + struct.unpack_from(">H", octets, at + 2)[0]
        return octets[at + 9], octets[at + 12:at + 16], octets[at + 16:at + 20], at + (octets[at] & 15) * 4, end
    if kind == 0x86DD and len(octets) >= at + 40:
        end = at + 40 + struct.unpack_from(">H", octets, at + 4)[0]
        return octets[at + 6], octets[at + 8:at + 24], octets[at + 24:at + 40], at + 40, end
    return None


class Tcp:
    """An untunnelled TCP segment; Tcp.of() gives None for anything else."""

    def __init__(self, network, octets):
        _, self.source, self.destination, at, end = network
        self.sport, self.dport, self.seq, self.ack, offset, self.flags = struct.unpack_from(">HHIIBB", octets, at)
        self.length = max(0, end - at - (offset >> 4) * 4)
        self.key = (self.source, self.sport, self.destination, self.dport)

    @staticmethod
    def of(octets, linktype=1):
        network = network_of(octets, linktype)
        if not network or network[0] != 6 or len(octets) < network[3] + 20:
            return None
        return Tcp(network, octets)


def address_text(octets):
    if len(octets) == 4:
        return ".".join(map(str, octets))
    return "[" + ":".join(f"{word:x}" for word in struct.unpack(">8H", octets)) + "]"


def packet_line(time_ns, octets, length, linktype=1):
    """One packet as a line that a person can review: time, length, what it is, hash of its octets."""
    tcp = Tcp.of(octets, linktype)
    what = ""
    if tcp:
        names = "".join(name for bit, name in enumerate("FSRPAUEC") if tcp.flags >> bit & 1)
        what = (f" {address_text(tcp.source)}:{tcp.sport} > {address_text(tcp.destination)}:{tcp.dport}"
                f" {names} {tcp.seq}/{tcp.ack}")
    return f"{time_ns} {length}{what} {hashlib.sha256(octets).hexdigest()[:12]}"


# How much work it was is no behaviour: another signature or a cheaper path changes it.
EFFORT = ("decisions", "classify_scans", "classify_hits", "classify_refused", "classify_pkts",
          "checksum_verified_pkts")
# What there is room for: of the gateway, and not of the capture.
ROOM = ("slab_blocks", "tracked_limit", "tcp_held_limit")
# How a hash happens to deal what is there.
CHAINS = ("chain_flows", "chain_conn_cache", "chain_endpoints", "chain_names", "chain_expectations", "chain_fragments")


def stats_lines(stats):
    """The ledger, what is not 0 among the counters, and replay's own figures."""
    for key in ("received", "injected", "sent", "dropped", "held", "consumed", "unaccounted"):
        value = stats[key]
        yield f"{key} {json.dumps({k: v for k, v in value.items() if v}, sort_keys=True) if isinstance(value, dict) else value}"
    for key, value in sorted(stats["counters"].items()):
        if value and key not in EFFORT + ROOM + CHAINS:
            yield f"counters.{key} {value}"
    for key, value in sorted(stats["replay"].items()):
        if value:
            yield f"replay.{key} {value}"
