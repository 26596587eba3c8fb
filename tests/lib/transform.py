#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A capture as who stands elsewhere, or sees less, would have taken it.

transform.py CAPTURE FOLDER [--seed N] [--only NAME]...    writes FOLDER/NAME.pcap for each of TRANSFORMS

Each packet stays as it was, but for what the transform says; nothing is invented. (tests/lib/packet/variants.py
writes what a capture said anew, whole; here packets are missing.) Who sent the SYN, else the first packet, is
the client. The same capture and seed give the same octets.
"""
import argparse
import copy
import ipaddress
import os
import random
import struct
import subprocess
import sys
import tempfile

SYN, ACK, FIN, RST, PSH = 2, 16, 1, 4, 8
TCP, UDP, GRE, FRAGMENT = 6, 17, 47, 44
IPV4, IPV6, VLAN, QINQ = 0x0800, 0x86DD, 0x8100, 0x88A8
SNAPLEN, SEGMENT, LOSS = 256, 64, 0.02
ETHERNET, RAW, COOKED, LOOPBACK, PPP, HDLC = 1, (12, 14, 101, 228, 229), 113, (0, 108), (9, 50), 104
MACS = bytes.fromhex("020000000002020000000001")
GATES = (b"\xc6\x33\x64\x01", b"\xc6\x33\x64\x02")  # RFC 5737: the ends of the tunnel


def read(path):
    """(link type, [(time in ns, octets, length)]) of a capture; what is no classic pcap goes through editcap."""
    with open(path, "rb") as file:
        raw = file.read()
    if raw[:4] not in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        with tempfile.NamedTemporaryFile(suffix=".pcap") as classic:
            # a capture whose end is cut is read as far as it goes
            subprocess.run(["editcap", "-F", "nsecpcap", path, classic.name], check=False, stderr=subprocess.DEVNULL)
            with open(classic.name, "rb") as file:
                raw = file.read()
    if len(raw) < 24:
        return ETHERNET, []
    unit, at, out = (1 if raw[:1] == b"\x4d" else 1000), 24, []
    while at + 16 <= len(raw):
        s, fraction, caplen, length = struct.unpack_from("<IIII", raw, at)
        out.append((s * 1_000_000_000 + fraction * unit, raw[at + 16:at + 16 + caplen], length))
        at += 16 + caplen
    return struct.unpack_from("<I", raw, 20)[0] & 0xFFFF, out


def network(link, octets):
    """(EtherType, where the first IP header begins), or None."""
    def word(at):
        return octets[at] << 8 | octets[at + 1]

    try:
        if link in RAW or link in LOOPBACK:
            at = 4 if link in LOOPBACK else 0
            return {4: IPV4, 6: IPV6}.get(octets[at] >> 4), at
        if link in PPP:
            at = 2 if octets[0] == 0xFF else 0
            return {0x21: IPV4, 0x57: IPV6}.get(word(at)), at + 2
        if link not in (ETHERNET, COOKED, HDLC):
            return None
        at = {ETHERNET: 12, COOKED: 14, HDLC: 2}[link]
        kind, at = word(at), at + 2
        while kind in (VLAN, QINQ, 0x9100):
            kind, at = word(at + 2), at + 4
        if kind == 0x8864:
            kind, at = {0x21: IPV4, 0x57: IPV6}.get(word(at + 6)), at + 8
        return kind, at
    except IndexError:
        return None


class Packet:
    """One record. `l4` None: neither TCP nor UDP, or a later fragment; such packets have no flow."""

    def __init__(self, link, time_ns, octets, length):
        self.link, self.time_ns, self.octets, self.length = link, time_ns, octets, length
        self.l4, self.version, self.flow, self.half, self.flags = None, 0, None, 0, 0
        place = network(link, octets)
        if place is None or place[0] not in (IPV4, IPV6):
            return
        self.at = place[1]  # of the IP header
        if place[0] == IPV4 and len(octets) >= self.at + 20 and octets[self.at] >> 4 == 4:
            self.ipv4()
        elif place[0] == IPV6 and len(octets) >= self.at + 40 and octets[self.at] >> 4 == 6:
            self.ipv6()

    def ipv4(self):
        at, octets = self.at, self.octets
        total, self.fragment = struct.unpack_from(">HxxH", octets, at + 2)
        self.version, self.proto = 4, octets[at + 9]
        self.hosts = (octets[at + 12:at + 16], octets[at + 16:at + 20])
        self.l4_at, self.end = at + (octets[at] & 15) * 4, at + total
        if self.l4_at < at + 20 or self.end < self.l4_at:  # malformed
            self.version = 0
        elif not self.fragment & 0x1FFF:
            self.transport()

    def ipv6(self):
        at, octets = self.at, self.octets
        self.version, self.proto, self.fragment = 6, octets[at + 6], 0
        self.hosts = (octets[at + 8:at + 24], octets[at + 24:at + 40])
        self.l4_at, self.end = at + 40, at + 40 + struct.unpack_from(">H", octets, at + 4)[0]
        self.transport()  # those with extension headers are left as they are

    def transport(self):
        at, octets = self.l4_at, self.octets
        if self.proto not in (TCP, UDP) or len(octets) < at + (20 if self.proto == TCP else 8):
            return
        self.l4 = "tcp" if self.proto == TCP else "udp"
        self.ports = struct.unpack_from(">HH", octets, at)
        self.payload_at = at + 8
        if self.proto == TCP:
            self.seq, self.ack, offset, self.flags = struct.unpack_from(">IIBB", octets, at + 4)
            self.payload_at = at + max(20, (offset >> 4) * 4)
            if offset >> 4 < 5:  # malformed: of no flow
                self.l4 = None
        self.n_payload = max(0, self.end - self.payload_at)

    def ends(self):
        """((address, port) of the sender, of the receiver)"""
        return tuple(zip(self.hosts, self.ports))

    def is_data(self):
        return self.l4 is not None and self.n_payload > 0

    def is_whole(self):
        return len(self.octets) >= self.end

    def ip(self):
        return self.octets[self.at:]

    def other(self, octets, length, link=None):
        """This packet with other octets; `length`: of them on the wire."""
        packet = Packet(self.link if link is None else link, self.time_ns, octets, length)
        packet.flow, packet.half = self.flow, self.half
        return packet

    def in_ethernet(self, ip, kind=None, tags=()):
        """`ip` in the place of this one's IP packet, in Ethernet, behind tags: (EtherType, TCI) ..."""
        head = MACS + b"".join(struct.pack(">HH", *tag) for tag in tags)
        head += struct.pack(">H", kind or {4: IPV4, 6: IPV6}[self.version])
        hidden = max(0, self.length - len(self.octets))  # what the capture has left out of it
        return self.other(head + ip, len(head) + len(ip) + hidden, ETHERNET)


class Flow:
    """Connections of one tuple: `begun` counts them; `client`: (address, port) of who began."""

    def __init__(self, key, client):
        self.key, self.client, self.begun, self.spoken, self.is_open = key, client, 0, [0, 0], False
        self.data = [0, 0]  # data packets of each half, of all its connections
        self.syn = False


def packets(path):
    """The packets of a capture, with their flows: [Packet], {key: Flow}. A key is (l4, end, end), sorted."""
    link, records = read(path)
    out, flows = [], {}
    for record in records:
        packet = Packet(link, *record)
        out.append(packet)
        if packet.l4 is None:
            continue
        ends = packet.ends()
        key = (packet.l4, *sorted(ends))
        opens = packet.flags & (SYN | ACK) == SYN
        flow = flows.get(key)
        if flow is None:
            flow = flows[key] = Flow(key, ends[packet.flags & (SYN | ACK) == SYN | ACK])
        elif opens and any(flow.spoken):
            flow.begun, flow.spoken, flow.client = flow.begun + 1, [0, 0], ends[0]
        flow.syn |= bool(packet.flags & SYN)
        packet.flow, packet.half = flow, int(ends[0] != flow.client)
        packet.number = (flow.begun, flow.spoken[packet.half])  # which connection, which of its half's data packets
        packet.early = not any(flow.spoken)  # nobody has said anything yet
        if packet.is_data():
            flow.spoken[packet.half] += 1
            flow.data[packet.half] += 1
    return out, flows


# ---- what is missing ----

def kept(wanted):
    return lambda taken, chance: [packet for packet in taken if packet.l4 is None or wanted(packet)]


def is_handshake(packet):
    """A SYN, or what acknowledges before anybody has said anything."""
    return packet.l4 == "tcp" and (packet.flags & SYN or (packet.early and not packet.is_data()))


def is_first(packet, half):
    return packet.half == half and packet.is_data() and packet.number[1] == 0


def lossy(taken, chance):
    return [packet for packet in taken if chance.random() >= LOSS]


def cut_short(taken, chance):
    return [packet.other(packet.octets[:SNAPLEN], packet.length) for packet in taken]


# ---- another order, other pieces ----

def reordered(taken, chance):
    """Each two data packets that one end sends before anybody else of the flow says something change places."""
    out, waits = list(taken), {}
    for place, packet in enumerate(taken):
        if packet.l4 is None:
            continue
        before = waits.pop(packet.flow, None)
        if not packet.is_data():
            continue
        if before is not None and taken[before].half == packet.half:
            first, second = out[before], packet
            out[before], out[place] = second, first
            out[before].time_ns, out[place].time_ns = first.time_ns, second.time_ns
        else:
            waits[packet.flow] = place
    return out


def ones(octets):
    """The sum of RFC 1071, folded."""
    total = sum(struct.unpack(f">{(len(octets) + 1) // 2}H", octets + b"\0" * (len(octets) & 1)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def corrected(check, before, after):
    """A checksum that covers other octets now (RFC 1624): right if it was right, wrong if it was wrong."""
    total = (~check & 0xFFFF) + (~ones(before) & 0xFFFF) + ones(after)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def check_at(packet):
    return packet.l4_at + (16 if packet.proto == TCP else 6)


def check_of(packet):
    """The L4 checksum; None: it has none, or it is not captured."""
    at = check_at(packet)
    value = struct.unpack_from(">H", packet.octets, at)[0] if len(packet.octets) >= at + 2 else 0
    return value if value or packet.proto == TCP else None


def in_segments(taken, chance):
    """TCP payload in segments of 64 octets."""
    out = []
    for packet in taken:
        if packet.l4 != "tcp" or packet.n_payload <= SEGMENT or not packet.is_whole() or packet.flags & SYN:
            out.append(packet)
            continue
        for at in range(0, packet.n_payload, SEGMENT):
            out.append(segment(packet, at, min(SEGMENT, packet.n_payload - at)))
    return out


def l4_sum(octets):
    """What a TCP checksum covers of a segment, but for the addresses: its octets and their number."""
    return octets + b"\0" * (len(octets) & 1) + struct.pack(">H", len(octets))


def segment(packet, at, size):
    begin, octets = packet.payload_at + at, packet.octets
    head, length = bytearray(octets[:packet.payload_at]), packet.payload_at + size
    struct.pack_into(">I", head, packet.l4_at + 4, packet.seq + at & 0xFFFFFFFF)
    if at + size < packet.n_payload:
        head[packet.l4_at + 13] &= ~(FIN | PSH) & 0xFF
    if packet.version == 4:
        struct.pack_into(">H", head, packet.at + 2, length - packet.at)
        struct.pack_into(">H", head, packet.at + 10, 0)
        struct.pack_into(">H", head, packet.at + 10, ~ones(bytes(head[packet.at:packet.l4_at])) & 0xFFFF)
    else:
        struct.pack_into(">H", head, packet.at + 4, length - packet.l4_at)
    piece = octets[begin:begin + size]
    before, after = l4_sum(octets[packet.l4_at:packet.end]), l4_sum(bytes(head[packet.l4_at:]) + piece)
    struct.pack_into(">H", head, check_at(packet), corrected(check_of(packet), before, after))
    return packet.other(bytes(head) + piece, length)


# ---- other places ----

def elsewhere(taken, chance):
    """Each end has another port, the same in all its flows."""
    ports, used = {}, set()
    for packet in taken:
        for end in packet.ends() if packet.l4 else ():
            while (packet.l4, *end) not in ports:
                port = chance.randrange(1024, 65536)
                if (end[0], port) not in used:
                    used.add((end[0], port))
                    ports[packet.l4, *end] = port
    return [packet if packet.l4 is None else at_ports(packet, [ports[packet.l4, *end] for end in packet.ends()])
            for packet in taken]


def at_ports(packet, ports):
    octets, check = bytearray(packet.octets), check_of(packet)
    struct.pack_into(">HH", octets, packet.l4_at, *ports)
    if check is not None:
        value = corrected(check, *(struct.pack(">HH", *pair) for pair in (packet.ports, ports)))
        struct.pack_into(">H", octets, check_at(packet), value or 0xFFFF)
    return packet.other(bytes(octets), packet.length)


def host_v6(host):
    """IPv4 as IPv6 of the same scope: a private one stays private, a group a group."""
    address = ipaddress.ip_address(host)
    if address.version == 6:
        return host
    if address.is_multicast or host == b"\xff" * 4:
        prefix = b"\xff\x05"
    else:
        prefix = b"\xfd\x00" if address.is_private else b"\x20\x01\x0d\xb8"
    return prefix + bytes(12 - len(prefix)) + host


def over_ipv6(taken, chance):
    """IPv4 as IPv6, fragments, too (RFC 7915); of ICMP and tunnels over IPv4 nothing is left."""
    return [in_ipv6(packet) if packet.version == 4 else packet for packet in taken
            if packet.version != 4 or packet.proto in (TCP, UDP)]


def in_ipv6(packet):
    hosts = b"".join(host_v6(host) for host in packet.hosts)
    body, proto, more = packet.octets[packet.l4_at:packet.end], packet.proto, b""
    if packet.fragment & 0x3FFF:
        place = (packet.fragment & 0x1FFF) << 3 | (packet.fragment >> 13 & 1)
        more = struct.pack(">BxHI", proto, place, struct.unpack_from(">H", packet.octets, packet.at + 4)[0])
        proto = FRAGMENT
    if packet.l4:
        value, at = check_of(packet), check_at(packet) - packet.l4_at
        if value is not None:
            value = corrected(value, b"".join(packet.hosts), hosts)
        elif packet.is_whole() and not more:  # IPv6 has no datagrams without one
            value = ~ones(hosts + struct.pack(">IxxxB", len(body), UDP) + body) & 0xFFFF
        body = body if value is None else body[:at] + struct.pack(">H", value or 0xFFFF) + body[at + 2:]
    length = max(0, packet.end - packet.l4_at) + len(more)
    head = struct.pack(">IHBB", 6 << 28, length, proto, packet.octets[packet.at + 8])
    return packet.in_ethernet(head + hosts + more + body, IPV6)


def tagged(*tags):
    return lambda taken, chance: [packet.in_ethernet(packet.ip(), None, tags) if packet.version else packet
                                  for packet in taken]


def tunnelled(taken, chance):
    """IP in GRE (RFC 2784) in IPv4; what would be too long stays as it is."""
    return [in_gre(packet) if packet.version and packet.end - packet.at + 24 < 1 << 16 else packet for packet in taken]


def in_gre(packet):
    head = bytearray(struct.pack(">BxHIBBH4s4s", 0x45, 24 + packet.end - packet.at, 0, 64, GRE, 0, *GATES))
    struct.pack_into(">H", head, 10, ~ones(bytes(head)) & 0xFFFF)
    inner = packet.octets[packet.at:packet.end]
    return packet.in_ethernet(bytes(head) + struct.pack(">HH", 0, {4: IPV4, 6: IPV6}[packet.version]) + inner, IPV4)


TRANSFORMS = {
    "whole": lambda taken, chance: taken,
    "no-handshake": kept(lambda packet: not is_handshake(packet)),
    "client": kept(lambda packet: packet.half == 0),
    "server": kept(lambda packet: packet.half == 1),
    "loss": lossy,
    "no-first-client": kept(lambda packet: not is_first(packet, 0)),
    "no-first-server": kept(lambda packet: not is_first(packet, 1)),
    "snaplen": cut_short,
    "reorder": reordered,
    "segments": in_segments,
    "ports": elsewhere,
    "ipv6": over_ipv6,
    "vlan": tagged((VLAN, 100)),
    "qinq": tagged((QINQ, 0x2000 | 200), (VLAN, 100)),
    "gre": tunnelled,
}


def transform(taken, name, seed):
    """What is left of packets() by that name. `taken` is not changed."""
    return TRANSFORMS[name]([copy.copy(packet) for packet in taken], random.Random(f"{seed} {name}"))


def write(left, path):
    """A classic pcap in ns. Of packets on several links those on Ethernet, where all IP is then."""
    link = ETHERNET if any(packet.link == ETHERNET for packet in left) else left[0].link if left else ETHERNET
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, link))
        for packet in left:
            if packet.link == link:
                out.write(struct.pack("<IIII", packet.time_ns // 10**9, packet.time_ns % 10**9, len(packet.octets),
                                      max(packet.length, len(packet.octets))) + packet.octets)


def left_of(left):
    """{flow: [data packets of each half]} of what is left, and {key that it has now: flow}."""
    data, names = {}, {}
    for packet in left:
        if packet.flow is None:
            continue
        counts = data.setdefault(packet.flow, [0, 0])
        if packet.l4 is None:  # in a tunnel: the inner packet is what it was
            names[packet.flow.key] = packet.flow
            counts[packet.half] += 1
            continue
        names[(packet.l4, *sorted(packet.ends()))] = packet.flow
        counts[packet.half] += packet.is_data()
    return data, names


def concerned(name, flow, data):
    """Whether a flow, of which `data` is left, had what the transform takes away, and still has something to say."""
    if not sum(data):
        return False
    return {"no-handshake": flow.syn, "no-first-client": flow.data[0] > 0,
            "no-first-server": flow.data[1] > 0}.get(name, True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture")
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=TRANSFORMS, metavar="NAME")
    args = parser.parse_args()
    print(f"seed {args.seed}")
    taken, flows = packets(args.capture)
    for name in args.only or TRANSFORMS:
        left = transform(taken, name, args.seed)
        write(left, os.path.join(args.folder, name + ".pcap"))
        print(f"{name}: {len(left)} packets of {len(taken)}, {len(left_of(left)[0])} flows of {len(flows)}")


if __name__ == "__main__":
    main()
