#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The flows of a capture once more, as other networks would have carried them.

variants.py CAPTURE FOLDER [--seed N] [--only NAME]...    writes FOLDER/NAME.pcap for each of VARIANTS
variants.py CAPTURE --judge [--seed N] [--only NAME]...   replays them, and tells which flows changed

A capture is taken apart into what its TCP halves and datagrams said, and is written again with new
handshakes, numbers, acknowledgements and checksums; payload is never touched. Of each half of a TCP
flow the first LIMIT octets are written, in the order of its stream; what a hole in the capture hides
stays hidden. Flows without payload, fragments, other protocols and the insides of tunnels are left
out. The same capture and seed give the same octets.

A variant must be classified as its original is: differences() holds one run against another, and
says what may differ and why.
"""
import argparse
import collections
import ipaddress
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from classify import classify_harness  # noqa: E402 pylint: disable=wrong-import-position
from rig import golden  # noqa: E402 pylint: disable=wrong-import-position
from packet import packets  # noqa: E402 pylint: disable=wrong-import-position

LIMIT = 65536  # octets of a half that are written: classification ends long before
FINE = 1024    # octets of a half that `cut` cuts; what follows goes in whole segments
MSS = 1400     # leaves room for IPv6 and two tags
IDLE_US = 20_000_000  # the longest pause that is made: time-outs begin at 30 s
FLIGHT_US = 20_000

# What a variant does. cut: octets of a segment; stretch: pauses so many times as long, and lag: the
# server's segments behind all of the client's that did not wait for them; swap: segments of a flight
# in another order, with duplicates; ipv6, tags: where it goes; fine: octets of a half that are cut so
# (all: None); overlap: octets of the segment before that each one sends again.
Kind = collections.namedtuple("Kind", "cut stretch lag swap ipv6 tags fine overlap",
                              defaults=(0, 1, False, "", False, (), FINE, 0))
VLAN = ((packets.ETH_VLAN, 100),)
QINQ = ((packets.ETH_QINQ, 0x2000 | 200), (packets.ETH_VLAN, 100))
VARIANTS = {
    "again": Kind(),
    "cut1": Kind(cut=1),
    "cut2": Kind(cut=2),
    "cut7": Kind(cut=7),
    "cut100": Kind(cut=100),
    "delayed": Kind(stretch=5),
    "lagging": Kind(stretch=2, lag=True),
    "reversed": Kind(swap="reverse"),
    "shuffled": Kind(swap="shuffle", cut=100),
    "ipv6": Kind(ipv6=True),
    "vlan": Kind(tags=VLAN),
    "qinq": Kind(tags=QINQ),
    "ipv6-vlan-cut": Kind(ipv6=True, tags=VLAN, cut=7),
    "ipv6-qinq-shuffled": Kind(ipv6=True, tags=QINQ, swap="shuffle", cut=50, stretch=2),
}


class Talk:
    """One connection, or the datagrams between two ends. `ends`: (address as text, port), initiator first."""

    def __init__(self, l4, ends, opened):
        self.l4, self.ends, self.opened = l4, ends, opened
        self.halves = (classify_harness.Half(), classify_harness.Half())
        self.written = [0, 0]
        self.closed = set()


class Said:
    """Something that one end said: payload in order, a datagram, or that it ends ("fin", "rst").

    `heard`: octets of the other half that it had acknowledged by then (TCP)."""

    def __init__(self, time_us, talk, half, what, payload=b"", offset=0, heard=0):
        self.time_us, self.talk, self.half, self.what = time_us, talk, half, what
        self.payload, self.offset, self.heard = payload, offset, heard


def text_of(address):
    return str(ipaddress.ip_address(address))


def is_fragment(octets, at):
    """Of the IPv4 packet without options whose L4 begins `at`; with options, none is taken."""
    return octets[at - 20] == 0x45 and struct.unpack_from(">H", octets, at - 14)[0] & 0x3FFF


def dialogue(records, linktype=1, limit=LIMIT):
    """What is said in a capture, in its order: [Said]. `records`: (time in ns, octets, length); `limit`: octets of a half."""
    live, said = {}, []
    for time_ns, octets, length in records:
        network = golden.network_of(octets, linktype)
        if not network or network[0] not in (packets.TCP, packets.UDP) or len(octets) < length:
            continue
        proto, source, destination, at, end = network
        if len(octets) < at + (20 if proto == packets.TCP else 8) or end > len(octets):
            continue
        if len(source) == 4 and is_fragment(octets, at):
            continue
        time_us = time_ns // 1000
        sport, dport = struct.unpack_from(">HH", octets, at)
        ends = ((text_of(source), sport), (text_of(destination), dport))
        l4 = "tcp" if proto == packets.TCP else "udp"
        key = (l4, *sorted(ends))
        talk = live.get(key)
        if l4 == "udp":
            if talk is None:
                talk = live[key] = Talk(l4, ends, True)
            if end > at + 8:
                said.append(Said(time_us, talk, ends[0] != talk.ends[0], "datagram", octets[at + 8:end]))
            continue
        seq, ack, offset, flags = struct.unpack_from(">IIBB", octets, at + 4)
        payload = octets[at + (offset >> 4) * 4:end]
        if talk and flags & (packets.SYN | packets.ACK) == packets.SYN and (talk.closed or any(talk.written)):
            talk = None  # a new connection on an old tuple
        if talk is None:
            if flags & packets.SYN and flags & packets.ACK:
                ends = ends[::-1]
            talk = live[key] = Talk(l4, ends, bool(flags & packets.SYN))
        half = int((text_of(source), sport) != talk.ends[0])
        if flags & packets.SYN:
            talk.halves[half].next = talk.halves[half].base = (seq + 1) & 0xFFFFFFFF
            seq = (seq + 1) & 0xFFFFFFFF
        other = talk.halves[1 - half]
        heard = (ack - other.base) & 0xFFFFFFFF if flags & packets.ACK and other.next is not None else 0
        for at_offset, fresh in talk.halves[half].segment(seq, payload) if payload else ():
            fresh = fresh[:max(0, limit - at_offset)]
            if fresh:
                said.append(Said(time_us, talk, half, "data", fresh, at_offset, heard))
                talk.written[half] = at_offset + len(fresh)
        if flags & (packets.FIN | packets.RST) and half not in talk.closed:
            talk.closed.add(half)
            said.append(Said(time_us, talk, half, "rst" if flags & packets.RST else "fin"))
    spoken = {item.talk for item in said if item.payload}
    return [item for item in said if item.talk in spoken]


def lagging(said):
    """The server's segments behind those of the client that had not acknowledged them yet: to the client
    both orders are the same, to whoever stands between the two ends they are not."""
    said = list(said)
    last = {}  # per connection: place of what it said last
    for i, item in enumerate(said):
        j = last.get(item.talk)
        if j is not None and said[j].what == item.what == "data" and said[j].half == 1 and item.half == 0 \
                and item.heard <= said[j].offset:
            said[i], said[j] = said[j], item
            said[i].time_us, said[j].time_us = said[j].time_us, said[i].time_us
        last[item.talk] = i
    return said


def address_v6(text):
    """IPv4 as IPv6 of the same scope: a private one stays private, a group a group."""
    address = ipaddress.ip_address(text)
    if address.version == 6:
        return text
    if address.is_multicast or text == "255.255.255.255":
        prefix = b"\xff\x05"
    elif address.is_private:
        prefix = b"\xfd\x00"
    else:
        prefix = b"\x20\x01\x0d\xb8"
    return text_of(prefix + bytes(12 - len(prefix)) + address.packed)


class Clock(packets.Capture):
    """Packets stand at the times they are given, never before the one written last."""

    def add(self, frame, caplen=None, length=None):
        self.now_us += 1
        self.records.append((self.now_us, frame, len(frame)))

    def until(self, time_us):
        self.now_us = max(self.now_us, time_us)


class Writer:
    """Writes what was said, as one kind of network would."""

    def __init__(self, kind, seed):
        self.kind, self.cap, self.chance = kind, Clock(), random.Random(seed)
        self.sessions = {}

    def path(self, talk):
        hosts = [address_v6(address) if self.kind.ipv6 else address for address, _ in talk.ends]
        return packets.Path(self.cap, *hosts, wrap=packets.ethernet(self.kind.tags))

    def session(self, talk):
        """(the connection, the number of each half's first octet)"""
        if talk not in self.sessions:
            # the server's numbers wrap early
            isn = (self.chance.getrandbits(32), 0xFFFFFFFF - self.chance.randrange(600))
            session = packets.Session(self.path(talk), talk.ends[0][1], talk.ends[1][1], isn, MSS)
            if talk.opened:
                session.open()
            self.sessions[talk] = (session, tuple(session.next))
        return self.sessions[talk]

    def pieces(self, item):
        """(offset in the half, octets): the first are cut finely, the rest are whole segments."""
        at, end = item.offset, item.offset + len(item.payload)
        while at < end:
            fine = self.kind.cut and (self.kind.fine is None or at < self.kind.fine)
            size = min(self.kind.cut if fine else MSS, end - at)
            yield at, item.payload[at - item.offset:at - item.offset + size]
            at += size

    def swapped(self, window):
        if self.kind.swap == "reverse":
            return window[::-1]
        self.chance.shuffle(window)
        return window

    def data(self, items):
        """Octets of one half that follow each other: in windows of eight segments, each acknowledged."""
        talk, half = items[0].talk, items[0].half
        session, begin = self.session(talk)
        pieces = [piece for item in items for piece in self.pieces(item)]
        if self.kind.overlap:
            pieces = overlapping(pieces, self.kind.overlap)
        while pieces:
            # where nobody saw the beginning, the segment that is seen first is the beginning
            first = not talk.opened and not pieces[0][0]
            window, pieces = (pieces[:1], pieces[1:]) if first else (pieces[:8], pieces[8:])
            end = window[-1][0] + len(window[-1][1])
            if self.kind.swap:
                window = self.swapped(window)
                if len(window) > 1:
                    window.insert(self.chance.randrange(1, len(window) + 1), window[0])  # comes twice
            for at, octets in window:
                session.segment(half, packets.ACK | packets.PSH, octets, seq=begin[half] + at & 0xFFFFFFFF,
                                advance=False)
            session.next[half] = begin[half] + end & 0xFFFFFFFF
            session.segment(1 - half, packets.ACK)

    def datagrams(self, items):
        talk = items[0].talk
        ports = (talk.ends[0][1], talk.ends[1][1])
        path = self.path(talk)
        for item in self.swapped(items) if self.kind.swap else items:
            path.datagram(item.half, *ports, item.payload)

    def write(self, said):
        if self.kind.lag:
            said = lagging(said)
        clock = stretched(said, self.kind.stretch)
        for items in flights(said) if self.kind.swap else [[item] for item in said]:
            self.cap.until(clock(items[0].time_us))
            what = items[0].what
            if what == "datagram":
                self.datagrams(items)
            elif what == "data":
                self.data(items)
            else:
                session = self.session(items[0].talk)[0]
                session.segment(items[0].half, packets.ACK | (packets.FIN if what == "fin" else packets.RST))
        return self.cap


def overlapping(pieces, octets):
    """Each piece with the last `octets` of the one before it, where it follows it."""
    out = pieces[:1]
    for (at, before), (next_at, piece) in zip(pieces, pieces[1:]):
        again = before[-octets:] if at + len(before) == next_at else b""
        out.append((next_at - len(again), again + piece))
    return out


def flights(said):
    """What one half says without an answer between, at most FLIGHT_US apart: where the first of it stands."""
    out, open_flight = [], {}
    for item in said:
        flight = open_flight.get(item.talk)
        if flight and flight[0].half == item.half and flight[0].what == item.what in ("data", "datagram") \
                and item.time_us - flight[0].time_us <= FLIGHT_US:
            flight.append(item)
            continue
        open_flight[item.talk] = [item]
        out.append(open_flight[item.talk])
    return out


def stretched(said, factor):
    """The clock of a slower network: no flow's pause gets longer than IDLE_US by it."""
    last, longest = {}, 1
    for item in said:
        pause = item.time_us - last.get(item.talk, item.time_us)
        longest = max(longest, pause if pause < IDLE_US else 1)
        last[item.talk] = item.time_us
    factor = max(1, min(factor, IDLE_US / longest))
    begin = said[0].time_us if said else 0
    return lambda time_us: begin + int((time_us - begin) * factor)


def write(said, name, folder, seed=1):
    """Writes one variant; its path."""
    return write_kind(said, VARIANTS[name], name, folder, seed)


def write_kind(said, kind, name, folder, seed=1):
    path = os.path.join(folder, name + ".pcap")
    with open(path, "wb") as out:
        out.write(Writer(kind, f"{seed} {name}").write(said).octets())
    return path


# ---- what the classifier says of them ----

POLICY = {
    "schema_version": 1,
    "mode": "monitor",
    "rules": [{"id": "look", "match": {"category": ["p2p", "im"]}, "action": "drop"}],
    "default": "pass",
}
Verdict = collections.namedtuple("Verdict", "app confidence npkt learned signature")
KNOWN = ("dpi", "verified")  # payload has proved it
GUESS = ("", "none", "port")
CARRIERS = ("http", "http2", "tls")
BUDGET = 9 * 64  # octets of small segments that are looked at in any case


def verdicts(events):
    """{flow key: Verdict}; of a tuple that was used more than once, the first that is known."""
    out = {}
    for event in events:
        if event.get("event_type") != "flow" or "src_port" not in event:
            continue
        key = (event["proto"].lower(), *sorted([
            (ipaddress.ip_address(event[side + "_ip"]).packed, event[side + "_port"]) for side in ("src", "dest")]))
        app = event.get("app", {})
        said = Verdict(app.get("name", ""), app.get("confidence", ""), app.get("decided_pkts", 0),
                       app.get("learned_from", ""), app.get("signature", ""))
        if key not in out or (out[key].confidence in GUESS and said.confidence not in GUESS):
            out[key] = said
    return out


def replay(folder, capture, *options):
    """The verdicts of one capture, all signatures loaded, nothing blocked."""
    policy = os.path.join(folder, "look.json")
    with open(policy, "w", encoding="utf-8") as out:
        json.dump(POLICY, out)
    return verdicts(golden.Run(folder, [capture], policy, "--flows", "16384",
                               "--checksum", "auto", *options).events())


def key_in(name, talk):
    """A connection's key as verdicts() of a variant have it; name None: of the capture itself."""
    ends = [(address_v6(a) if name and VARIANTS[name].ipv6 else a, port) for a, port in talk.ends]
    return (talk.l4, *sorted([(ipaddress.ip_address(a).packed, port) for a, port in ends]))


def ends_before(talk, said, kind, npkt):
    """Small segments end the budget (docs: ten times 64 octets, or 255 segments) before what the original's first
    `npkt` data packets told is here."""
    if not kind.cut or talk.l4 != "tcp":
        return False
    sizes = [len(item.payload) for item in said if item.talk is talk and item.payload][:npkt]
    return sum(sizes) > BUDGET or sum(-(-size // kind.cut) for size in sizes) >= 255


def change(kind, was, now, short=False):
    """Why `now` is not what `was` should have become; None: it is. `short`: the budget ended before all was here."""
    if short and now.app in ("", *CARRIERS):
        return None
    if kind.cut and was.confidence in GUESS and now.confidence == "partial" and not now.signature:
        return None  # chance is judged by the octets that are here when a flight is long enough: fewer, when it is cut
    if was.confidence in GUESS:
        # nobody knew: a guess by port, or none, may differ, but nothing may be claimed now
        return "is claimed now" if now.confidence not in GUESS else None
    if kind.ipv6 and was.confidence in ("ip", "cache"):
        # addresses in tables, DNS answers, peer lists and announcements are those of IPv4: what was
        # known by them alone is not known there, and nothing else may be known
        return "is something else" if now.app not in ("", was.app) and now.confidence not in GUESS else None
    if 0 < kind.cut < 7 and was.confidence == "partial" and not was.signature and now.confidence in GUESS:
        return None  # a shape takes three flights in full, which 255 segments need not hold
    if kind.ipv6 and not was.signature and now.confidence == "partial":
        return None  # what its disguise is opened with was told of its IPv4 address alone; the rest is chance to look at
    if now.app != was.app:
        return "is something else"
    if kind.ipv6 and not was.signature and now.confidence == "cache":
        return None  # what its disguise is opened with was told of its IPv4 address alone
    if kind.cut and now.app == "http" and now.confidence == "partial":
        return None  # sure when its header is here in full, which ten small packets need not hold
    if now.confidence != was.confidence and not (now.confidence in KNOWN and was.confidence in KNOWN):
        # a verifier may be content with less, and be less sure, when less has come: proof stays proof
        return "is known by something else"
    if kind.cut and now.npkt < was.npkt and not kind.swap:
        return "is known earlier, by less"
    return None


def differences(said, name, was, now):
    """[(flow, Verdict before, Verdict after, why)]: what a variant has changed in the flows of a capture."""
    out = []
    for talk in dict.fromkeys(item.talk for item in said):
        before = was.get(key_in(None, talk))
        after = now.get(key_in(name, talk))
        if before is None or after is None:
            out.append((talk, before, after, "has no flow event"))
            continue
        short = ends_before(talk, said, VARIANTS[name], before.npkt)
        why = change(VARIANTS[name], before, after, short)
        if why:
            out.append((talk, before, after, why))
    return out


def judge(capture, said, folder, names=None, seed=1, limit=20):
    """Replays a capture and its variants; prints what changed, and returns how many flows did."""
    was = replay(folder, capture)
    wrong = 0
    for name in ["again", *[name for name in names or VARIANTS if name != "again"]]:
        path = write(said, name, folder, seed)
        now = replay(folder, path)
        found = differences(said, name, was, now)
        if name == "again":  # retransmissions are packets, too, and are in the capture alone
            was = {key: verdict._replace(npkt=now.get(key, verdict).npkt) for key, verdict in was.items()}
        os.unlink(path)
        wrong += len(found)
        for talk, before, after, why in found[:limit]:
            (src, sport), (dst, dport) = talk.ends
            print(f"{name}: {talk.l4} {src} {sport} > {dst} {dport} {why}: {before} -> {after}")
    return wrong


def read(path, limit=LIMIT):
    """What is said in a capture file: classic pcap, or what editcap makes one of."""
    with open(path, "rb") as file:
        head = file.read(24)
    if head[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        return dialogue(golden.records(path), struct.unpack_from("<I", head, 20)[0], limit)
    with tempfile.NamedTemporaryFile(suffix=".pcap") as classic:
        subprocess.run(["editcap", "-F", "nsecpcap", path, classic.name], check=True)
        return read(classic.name, limit)


class Captures:
    """Captures one behind the other in one, each with clients of its own."""

    def __init__(self, chosen):
        self.said, self.of_client, base = [], {}, packets.START_US
        for number, (capture, said) in enumerate(chosen.items()):
            talks = {}
            shift = base + 1_000_000 - (said[0].time_us if said else 0)
            for item in said:
                if item.talk not in talks:
                    client = f"10.{128 + number // 250}.{number % 250}.{1 + len(talks) % 250}"
                    if ":" in item.talk.ends[1][0]:
                        client = address_v6(client)
                    ends = ((client, item.talk.ends[0][1]), item.talk.ends[1])
                    talks[item.talk] = Talk(item.talk.l4, ends, item.talk.opened)
                    self.of_client[client] = capture
                self.said.append(Said(item.time_us + shift, talks[item.talk], item.half, item.what, item.payload,
                                               item.offset, item.heard))
                base = max(base, item.time_us + shift)

    def write(self, kind, name, folder):
        return write_kind(self.said, kind, name, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=VARIANTS, metavar="NAME")
    args = parser.parse_args()
    if bool(args.folder) == args.judge:
        parser.error("either a folder, or --judge")
    said = read(args.capture)
    if args.judge:
        with tempfile.TemporaryDirectory() as folder:
            wrong = judge(args.capture, said, folder, args.only, args.seed)
        print(f"{len({item.talk for item in said})} flows, {wrong} changed")
        return 1 if wrong else 0
    for name in args.only or VARIANTS:
        write(said, name, args.folder, args.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
