# SPDX-License-Identifier: BSD-3-Clause
"""What the two ends of each TCP connection take from a capture of what left the gateway: an independent, plain
receiver (RFC 9293 section 3.10.7, RFC 7323 section 5), in which the first bytes win.

It takes an octet when it arrives, with a good checksum, inside the window, not older than the last timestamp,
above what its end has acknowledged, and not there yet. It believes no RST: an end may challenge it. It also tells
where an end could have taken either of two octets, depending on its kind: a gateway that keeps the law leaves none."""
import hashlib
import ipaddress
import struct

FIN, SYN, RST, ACK = 1, 2, 4, 16
WINDOW_MAX = 65535 << 14


def sum16(octets):
    if len(octets) & 1:
        octets += b"\0"
    total = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def signed(number):
    return (number & 0xFFFFFFFF) - (number & 0x80000000) * 2


class Segment:
    """A TCP segment; `good` is False where a checksum is wrong (what a snap length has cut is not summed up)."""

    def __init__(self, octets, pseudo, good):
        self.sport, self.dport, self.seq, self.ack, offset, self.flags, self.window = struct.unpack_from(
            ">HHIIBBH", octets)
        self.header = (offset >> 4) * 4
        self.payload = octets[self.header:] if self.header >= 20 else b""
        self.good = good and self.header >= 20 and (pseudo is None or sum16(pseudo + octets) == 0xFFFF)
        self.scale, self.stamp = None, None
        at = 20
        while at < min(self.header, len(octets)):
            kind = octets[at]
            if kind == 1:
                at += 1
                continue
            if kind == 0 or at + 1 >= len(octets) or octets[at + 1] < 2 or at + octets[at + 1] > self.header:
                break
            if kind == 3 and octets[at + 1] == 3:
                self.scale = min(octets[at + 2], 14)
            if kind == 8 and octets[at + 1] == 10:
                self.stamp = struct.unpack_from(">I", octets, at + 2)[0]
            at += octets[at + 1]


class Half:
    """One direction of a connection, as its receiver has it."""

    def __init__(self):
        self.start = None      # sequence number of octet 0
        self.midstream = False
        self.octets = {}       # offset -> octet
        self.next = 0          # up to here all is there, or is acknowledged
        self.acked = 0
        self.edge = None       # right edge of the window, once the receiver has said one
        self.sent = 0          # end of what was sent
        self.recent = None     # last timestamp taken
        self.differ = set()    # offsets that came with another octet before they were acknowledged

    def begin(self, number, midstream=False):
        self.__init__()
        self.start, self.midstream = number & 0xFFFFFFFF, midstream

    def offset(self, number):
        """Of a sequence number, near to what comes next."""
        return self.next + signed(number - self.start - self.next)

    def row(self):
        taken, gaps, at = bytearray(), [], 0
        for offset in sorted(self.octets):
            if offset != at:
                gaps.append(f"{at}+{offset - at}")
            taken.append(self.octets[offset])
            at = offset + 1
        return bytes(taken), ";".join(gaps)


class Connection:
    """Both halves; `first` is the sender of the first segment."""

    def __init__(self, first):
        self.first = first
        self.halves = {}
        self.pending = {}  # sender -> the SYN that no SYN-ACK has taken yet
        self.scales = {}   # sender -> shift of its windows; None: its SYN has no option
        self.stamps = {}   # sender -> its SYN has timestamps

    def half(self, sender):
        return self.halves.setdefault(sender, Half())

    def scale(self, sender, other):
        if sender in self.scales and other in self.scales:
            return self.scales[sender] if None not in (self.scales[sender], self.scales[other]) else 0
        return self.scales[sender] if self.scales.get(sender) is not None else 14

    def syn(self, sender, other, segment):
        """False: this segment opens another connection on the tuple."""
        half = self.half(sender)
        if not segment.flags & ACK:
            if half.start is not None and (half.octets or half.acked):
                self.pending[sender] = segment.seq
                return True
            half.begin(segment.seq + 1)
        else:
            peer = self.half(other)
            if other in self.pending and segment.ack == (self.pending[other] + 1) & 0xFFFFFFFF:
                return False
            if peer.start is not None and not peer.midstream and segment.ack == peer.start:
                peer.octets, peer.next = {}, 0  # payload of the SYN was not taken
            if half.start is None:
                half.begin(segment.seq + 1)
        self.scales.setdefault(sender, segment.scale)
        self.stamps.setdefault(sender, segment.stamp is not None)
        return True

    def take(self, sender, other, segment):
        half, back = self.half(sender), self.halves.get(other)
        seq = segment.seq + bool(segment.flags & SYN)
        if segment.flags & RST or not segment.flags & (ACK | SYN):
            return
        if half.start is None:
            if not segment.payload:
                return
            half.begin(seq, midstream=True)
        offset, end = half.offset(seq), half.offset(seq) + len(segment.payload)
        uses_stamps = self.stamps.get(sender, True) and self.stamps.get(other, True)
        if uses_stamps and segment.stamp is not None and half.recent is not None and \
                signed(segment.stamp - half.recent) < 0:
            return
        if half.edge is not None and (offset > half.edge or end < half.next - WINDOW_MAX):
            return
        if segment.flags & ACK and back is not None and back.start is not None:
            acked = back.offset(segment.ack)
            if acked <= max(back.sent, back.next):  # else of what did not pass here: not believed
                back.acked = max(back.acked, acked)
                back.next = max(back.next, acked)
                shift = 0 if segment.flags & SYN else self.scale(sender, other)
                back.edge = max(back.edge or 0, acked + (segment.window << shift))
        if segment.stamp is not None and offset <= half.next:
            half.recent = segment.stamp
        half.sent = max(half.sent, end)
        for at, octet in enumerate(segment.payload, offset):
            if at >= half.acked and half.octets.get(at, octet) != octet:
                half.differ.add(at)
            if at >= half.next and (half.edge is None or at < half.edge):
                half.octets.setdefault(at, octet)
        while half.next in half.octets:
            half.next += 1


class Receiver:
    """All connections of a capture; add() its packets, then rows()."""

    def __init__(self, pktlib, ignore_checksums=False):
        self.pktlib = pktlib
        self.ignore = ignore_checksums
        self.connections = []
        self.open = {}       # frozenset of ends -> connection
        self.fragments = {}  # datagram -> {offset: (octets, more)}
        self.flags = 0       # all that were set

    def datagram(self, link, octets, length):
        """(ip, L4 octets, complete) of a packet, or None; fragments give theirs with the last one."""
        layer = self.pktlib.l3(link, octets)
        ip = layer and self.pktlib.ip_layer(octets, *layer)
        if not ip or ip["proto"] != 6:
            return None
        body = bytes(octets[ip["off"]:ip["end"]])
        header = bytes(octets[ip["start"]:ip["off"]])
        whole = len(octets) >= length
        if ip["v"] == 4 and whole and not self.ignore and sum16(header) != 0xFFFF:
            return None
        if not ip["frag"] and not ip["mf"]:
            return ip, body, whole
        number = header[4:6] if ip["v"] == 4 else header[-4:]
        parts = self.fragments.setdefault((ip["src"], ip["dst"], number), {})
        parts[ip["frag"] * 8] = (body, ip["mf"])
        at, joined = 0, b""
        while at in parts:
            joined += parts[at][0]
            if not parts[at][1]:
                del self.fragments[ip["src"], ip["dst"], number]
                return ip, joined, whole
            if not parts[at][0]:
                break
            at = len(joined)
        return None

    def add(self, link, octets, length):
        found = self.datagram(link, octets, length)
        if not found or len(found[1]) < 20:
            return
        ip, body, whole = found
        pseudo = None
        if whole and not self.ignore:
            pseudo = ip["src"] + ip["dst"] + struct.pack(">II", len(body), 6)
        segment = Segment(body, pseudo, True)
        if not segment.good:
            return
        self.flags |= segment.flags
        sender, other = (ip["src"], segment.sport), (ip["dst"], segment.dport)
        key = frozenset((sender, other))
        connection = self.open.get(key)
        if connection is None:
            connection = self.begin(key, sender)
        if segment.flags & SYN and not segment.flags & RST and not connection.syn(sender, other, segment):
            taken = connection.pending[other]
            connection = self.begin(key, sender)
            connection.half(other).begin(taken + 1)
            connection.syn(sender, other, segment)
        connection.take(sender, other, segment)

    def begin(self, key, sender):
        self.open[key] = Connection(sender)
        self.connections.append((key, self.open[key]))
        return self.open[key]

    def doubtful(self):
        """Of each half that could be taken in two ways: (flow, where)."""
        for key, connection in self.connections:
            for sender, half in connection.halves.items():
                if half.differ:
                    other = next((end for end in key if end != sender), sender)
                    yield f"{text(sender)}>{text(other)}", sorted(half.differ)

    def rows(self):
        """{flow: [(octets, gaps)]}, connection after connection; halves without octets have none."""
        out = {}
        for key, connection in self.connections:
            for sender in connection.halves:
                other = next((end for end in key if end != sender), sender)
                octets, gaps = connection.halves[sender].row()
                if octets:
                    out.setdefault(f"{text(sender)}>{text(other)}", []).append((octets, gaps))
        return out


def text(end):
    return f"{ipaddress.ip_address(end[0])}:{end[1]}"


def deliver(pktlib, path, ignore_checksums):
    ends = Receiver(pktlib, ignore_checksums)
    for _, link, octets, length in pktlib.records(path):
        ends.add(link, octets, length)
    return ends


def faults(pktlib, path, rows, ignore_checksums):
    """How the rows of --streams (streams.rows) break the law on what has left."""
    ends = deliver(pktlib, path, ignore_checksums)
    got = ends.rows()
    inspected, captures = {}, {}
    for capture, flows in rows.items():
        for flow, found in flows.items():
            inspected[flow], captures[flow] = found, capture
    for flow in sorted(set(inspected) | set(got)):
        ours = [(int(row[1]), row[4], row[5]) for row in inspected.get(flow, [])]
        theirs = [(len(octets), gaps, hashlib.sha256(octets).hexdigest()) for octets, gaps in got.get(flow, [])]
        # forgotten between a segment and its retransmission (limits.tcp_unheard_s): inspected twice
        once = [row for i, row in enumerate(ours) if not i or row != ours[i - 1]]
        if theirs not in (ours, once):
            yield f"{captures.get(flow, '?')} {flow}:\n  inspected {ours}\n  delivered {theirs}"
    for flow, where in ends.doubtful():
        yield f"{captures.get(flow, '?')} {flow}: left in two ways at {where[:20]}"
