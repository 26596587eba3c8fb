# SPDX-License-Identifier: BSD-3-Clause
"""Packets, sessions and capture files in plain Python: no clock, no randomness, no dependencies."""
import ipaddress
import struct

ETH_IPV4, ETH_IPV6, ETH_VLAN, ETH_QINQ = 0x0800, 0x86DD, 0x8100, 0x88A8
TCP, UDP, ICMP, ICMPV6, IPIP, IP6IN4, GRE = 6, 17, 1, 58, 4, 41, 47
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
START_US = 1_600_000_000_000_000


def checksum(octets):
    """The Internet checksum (RFC 1071)."""
    if len(octets) % 2:
        octets += b"\0"
    total = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def addr(text):
    return ipaddress.ip_address(text).packed


def mac(number):
    return struct.pack(">HI", 0x0200, number)


def eth(dst, src, ethertype, payload):
    return dst + src + struct.pack(">H", ethertype) + payload


def vlan(tci, ethertype, payload):
    """What follows the tag's own ethertype."""
    return struct.pack(">HH", tci, ethertype) + payload


def ipv4(src, dst, proto, payload, ident=0, frag=0, ttl=64, options=b"", length=None):
    """frag: the 16-bit flags and offset field, as it stands in the header."""
    words = 5 + len(options) // 4
    head = struct.pack(
        ">BBHHHBBH4s4s", 0x40 | words, 0, words * 4 + len(payload) if length is None else length,
        ident & 0xFFFF, frag, ttl, proto, 0, addr(src), addr(dst)) + options
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + payload


def ipv6(src, dst, proto, payload, hop_limit=64, extensions=()):
    """extensions: (type, octets without their next-header octet), outermost first."""
    for kind, octets in reversed(extensions):
        payload, proto = bytes([proto]) + octets + payload, kind
    return struct.pack(">IHBB", 6 << 28, len(payload), proto, hop_limit) + addr(src) + addr(dst) + payload


def pseudo(src, dst, proto, length):
    a, b = addr(src), addr(dst)
    return a + b + (struct.pack(">BBH", 0, proto, length) if len(a) == 4 else struct.pack(">II", length, proto))


def tcp(src, sport, dst, dport, seq, ack, flags, payload=b"", window=64240, options=b"", spoil=False):
    head = struct.pack(
        ">HHIIBBHHH", sport, dport, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF,
        (5 + len(options) // 4) << 4, flags, window, 0, 0) + options
    total = checksum(pseudo(src, dst, TCP, len(head) + len(payload)) + head + payload)
    return head[:16] + struct.pack(">H", total ^ (0x5555 if spoil else 0)) + head[18:] + payload


def udp(src, sport, dst, dport, payload, spoil=False, zero=False):
    head = struct.pack(">HHHH", sport, dport, 8 + len(payload), 0)
    total = checksum(pseudo(src, dst, UDP, len(head) + len(payload)) + head + payload) or 0xFFFF
    return head[:6] + struct.pack(">H", 0 if zero else total ^ (0x5555 if spoil else 0)) + payload


def ip(src, dst, proto, payload, **more):
    return (ipv6 if ":" in src else ipv4)(src, dst, proto, payload, **more)


def icmp(kind, code, rest, payload, v6=None):
    """v6: the (source, destination) of the packet, for ICMPv6's pseudo header."""
    body = struct.pack(">BBHI", kind, code, 0, rest) + payload
    total = checksum((pseudo(v6[0], v6[1], ICMPV6, len(body)) if v6 else b"") + body)
    return body[:2] + struct.pack(">H", total) + body[4:]


class Capture:
    """A capture file. Every packet is a millisecond after the one before, unless told otherwise."""

    def __init__(self, linktype=1, nano=False):
        self.linktype, self.nano = linktype, nano
        self.now_us = START_US
        self.records = []

    def wait(self, seconds):
        self.now_us += int(seconds * 1_000_000)

    def add(self, frame, caplen=None, length=None):
        self.now_us += 1000
        length = len(frame) if length is None else length
        self.records.append((self.now_us, frame if caplen is None else frame[:caplen], length))

    def octets(self):
        out = [struct.pack("<IHHiIII", 0xA1B23C4D if self.nano else 0xA1B2C3D4, 2, 4, 0, 0, 262144, self.linktype)]
        for ts_us, frame, length in self.records:
            fraction = ts_us % 1_000_000 * (1000 if self.nano else 1)
            out.append(struct.pack("<IIII", ts_us // 1_000_000, fraction, len(frame), length) + frame)
        return b"".join(out)


class Path:
    """Two hosts and what is around their IP packets.

    wrap(direction, ethertype, packet) -> frame; direction 0 is client to server. The default is
    Ethernet II with fixed addresses."""

    def __init__(self, cap, client="10.0.0.2", server="192.0.2.80", wrap=None):
        self.cap, self.hosts = cap, (client, server)
        self.wrap = wrap or ethernet()

    def send(self, direction, proto, payload, **more):
        packet = ip(self.hosts[direction], self.hosts[1 - direction], proto, payload, **more)
        self.cap.add(self.wrap(direction, ETH_IPV6 if ":" in self.hosts[0] else ETH_IPV4, packet))

    def datagram(self, direction, cport, sport, payload, **more):
        ports = (cport, sport)
        self.send(direction, UDP, udp(
            self.hosts[direction], ports[direction], self.hosts[1 - direction], ports[1 - direction],
            payload, **more))


def ethernet(tags=()):
    """tags: (ethertype of the tag, tci), outermost first."""
    macs = (mac(0x0A000002), mac(0xC0000250))

    def wrap(direction, ethertype, packet):
        for kind, tci in reversed(tags):
            packet, ethertype = vlan(tci, ethertype, packet), kind
        return eth(macs[1 - direction], macs[direction], ethertype, packet)

    return wrap


class Session:
    """A TCP connection over a Path: keeps both sequence numbers."""

    def __init__(self, path, cport, sport, isn=(1000, 0xFFFFF000), mss=1460):
        self.path, self.ports, self.next, self.mss = path, (cport, sport), list(isn), mss
        self.ipid = [1, 1]

    def segment(self, direction, flags, payload=b"", seq=None, options=b"", advance=True, **more):
        seq = self.next[direction] if seq is None else seq
        hosts = self.path.hosts
        ack = self.next[1 - direction] if flags & ACK else 0
        octets = tcp(hosts[direction], self.ports[direction], hosts[1 - direction], self.ports[1 - direction],
                     seq, ack, flags, payload, options=options, **more)
        ident = {} if ":" in hosts[0] else {"ident": self.ipid[direction]}
        self.ipid[direction] += 1
        self.path.send(direction, TCP, octets, **ident)
        if advance:
            self.next[direction] = (seq + len(payload) + bool(flags & SYN) + bool(flags & FIN)) & 0xFFFFFFFF

    def open(self):
        options = struct.pack(">BBH", 2, 4, self.mss) + b"\x01\x03\x03\x07"
        self.segment(0, SYN, options=options)
        self.segment(1, SYN | ACK, options=options)
        self.segment(0, ACK)
        return self

    def say(self, direction, payload, answer=True):
        """Sends payload in segments of the MSS; the other side acknowledges each second one."""
        pieces = [payload[i:i + self.mss] for i in range(0, len(payload), self.mss)]
        for i, piece in enumerate(pieces):
            self.segment(direction, ACK | PSH, piece)
            if answer and (i % 2 or i == len(pieces) - 1):
                self.segment(1 - direction, ACK)
        return self

    def close(self):
        self.segment(0, FIN | ACK)
        self.segment(1, FIN | ACK)
        self.segment(0, ACK)
        return self
