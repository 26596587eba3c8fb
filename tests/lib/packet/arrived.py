# SPDX-License-Identifier: BSD-3-Clause
"""What arrived at a host's wire: the halves of TCP connections and the datagrams of a capture of Ethernet and IPv4, octet by
octet, also behind a hole and what was sent twice, so that nothing can be there unseen."""
import struct

FIN, SYN, RST = 1, 2, 4


class Half:
    """What one end of a connection sent. `ends`: the key of `halves`; `resets`: segments with RST."""

    def __init__(self, ends):
        self.ends, self.resets, self.base, self.parts = ends, 0, None, []

    def take(self, seq, flags, payload):
        if flags & RST:
            self.resets += 1
            return  # an RST may carry a text, which no program is given
        if flags & SYN:
            self.base, seq = seq + 1, seq + 1
        if payload:
            base = seq if self.base is None else self.base
            self.parts.append(((seq - base) & 0xFFFFFFFF, payload))

    @property
    def octets(self):
        """From the first on, up to a hole."""
        whole = bytearray()
        for at, payload in sorted(self.parts, key=lambda part: part[0]):
            if at > len(whole):
                break
            whole += payload[len(whole) - at:]
        return bytes(whole)

    @property
    def everything(self):
        """Also what is behind a hole, and each time that it came; a marker that is cut in two is whole in `octets`."""
        return b"".join(payload for _, payload in self.parts)

    @property
    def end(self):
        """Where the last octet that arrived ends, holes counted."""
        return max((at + len(payload) for at, payload in self.parts), default=0)


def packets(path):
    """(protocol, source, destination, what it carries) of each IPv4 packet."""
    with open(path, "rb") as file:
        raw = file.read()
    order = "<" if raw[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    if struct.unpack_from(order + "I", raw, 20)[0] != 1:
        raise ValueError(f"{path}: not a capture of Ethernet")
    at = 24
    while at + 16 <= len(raw):
        length, sent = struct.unpack_from(order + "II", raw, at + 8)
        frame, at = raw[at + 16:at + 16 + length], at + 16 + length
        if frame[12:14] != b"\x08\x00":
            continue
        if length < sent or struct.unpack_from(">H", frame, 20)[0] & 0x3FFF:
            raise ValueError(f"{path}: a packet that was cut, or a fragment")
        ip = frame[14:14 + struct.unpack_from(">H", frame, 16)[0]]
        yield ip[9], ip[12:16], ip[16:20], ip[(ip[0] & 15) * 4:]


def address(octets):
    return ".".join(str(octet) for octet in octets)


def back(ends):
    """Those of the other half."""
    return ends[2:4] + ends[:2] + ends[4:]


def halves(path):
    """{(source, its port, destination, its port, how many connections had these ports before): Half}."""
    found, newest = {}, {}
    for protocol, source, destination, rest in packets(path):
        if protocol != 6:
            continue
        sport, dport, seq, _, offset, flags = struct.unpack_from(">HHIIBB", rest)
        ports = (address(source), sport, address(destination), dport)
        half = newest.get(ports)
        if not half or flags & SYN and half.base not in (None, seq + 1):
            ends = (*ports, half.ends[4] + 1 if half else 0)
            half = found[ends] = newest[ports] = Half(ends)
        half.take(seq, flags, rest[(offset >> 4) * 4:])
    return found


def datagrams(path):
    """[(source, its port, destination, its port, payload)] of UDP, as they came."""
    return [(address(source), *struct.unpack_from(">H", rest), address(destination), *struct.unpack_from(">H", rest, 2), rest[8:])
            for protocol, source, destination, rest in packets(path) if protocol == 17]
