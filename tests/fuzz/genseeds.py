#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the seeds of the fuzz targets, corpus/TARGET/: one small valid input per format and form."""
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))


def block(order, kind, body):
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + length + body + length


def pcapng(order):
    """Two sections, every kind of packet block, if_tsresol in both forms and if_tsoffset."""
    section = block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    decimal, binary = (struct.pack(order + "HHB3x", 9, 1, value) for value in (9, 0x8A))
    offset, end = struct.pack(order + "HHq", 14, 8, 5), struct.pack(order + "HH", 0, 0)
    return b"".join([
        section,
        block(order, 1, struct.pack(order + "HHI", 1, 0, 0) + decimal + offset + end),
        block(order, 6, struct.pack(order + "IIIII", 0, 1, 2, 6, 60) + b"packet"),
        block(order, 2, struct.pack(order + "HHIIII", 0, 3, 1, 2, 6, 60) + b"packet"),
        block(order, 3, struct.pack(order + "I", 6) + b"simple"),
        section,
        block(order, 1, struct.pack(order + "HHI", 101, 0, 4) + binary),
        block(order, 6, struct.pack(order + "IIIII", 0, 1, 2, 4, 60) + b"abcd"),
    ])


def pcap(order, magic):
    extra = bytes(8) if magic == 0xA1B2CD34 else b""
    record = struct.pack(order + "IIII", 1, 2, 5, 5) + extra + b"hello"
    return struct.pack(order + "IHHIIII", magic, 2, 4, 0, 0, 65535, 1) + 2 * record


def fragment(ident, offset, length, more=True, v6=False, seconds=0, fill=0, mbufs=0):
    """A record of fuzz_frag.c."""
    flags = (0x80 if more else 0) | (0x40 if v6 else 0) | ident
    return struct.pack(">BHHBBB", flags, offset, length, 14 << 4 | mbufs, seconds * 8 | 1, fill)


def fragments():
    """Name -> records: what is whole, in every order, and each way not to be."""
    whole = [fragment(1, 0, 24), fragment(1, 24, 8, mbufs=2), fragment(1, 32, 100, more=False)]
    seeds = {"whole": whole, "reversed": whole[::-1], "again": whole * 3, "twice": whole[:2] * 2 + whole[2:]}
    seeds["v6"] = [bytes([r[0] | 0x40]) + r[1:] for r in whole]
    seeds["conflict"] = whole[:2] + [fragment(1, 24, 8, fill=1)] + whole[2:]
    seeds["teardrop"] = [fragment(2, 0, 48), fragment(2, 24, 4, more=False)]
    seeds["contained"] = [fragment(2, 16, 8), fragment(2, 0, 64), fragment(2, 64, 8, more=False)]
    seeds["uneven"] = [fragment(3, 8, 8), fragment(3, 0, 7), fragment(3, 0, 0)]
    seeds["two_ends"] = [fragment(4, 16, 8, more=False), fragment(4, 24, 8, more=False), fragment(4, 0, 16)]
    seeds["longest"] = [fragment(5, at, 8192) for at in range(0, 57344, 8192)] + [fragment(5, 57344, 8191, more=False)]
    seeds["beyond"] = [fragment(5, 65528, 8, more=False), fragment(6, 65528, 7, more=False)]
    seeds["late"] = whole[:1] + [fragment(1, 24, 8, seconds=31)] + whole[2:]
    seeds["flood"] = [fragment(i % 16, 8 * (i // 16), 8, v6=i % 3 == 0) for i in range(60)]
    seeds["many"] = [fragment(7, 8 * i, 8) for i in range(12)]
    return seeds


def segment(half, distance, length, kind=0, variant=0, ack=0, how=255):
    """A step of fuzz_tcp_track.c; where it begins is told from what comes next."""
    flags = half | kind << 1 | variant << 4
    return struct.pack("<BBhBbBBB", 7, flags, distance * 4, length, ack, 255, 0, how)


def tcp_track():
    resume, turn, wait = bytes([0]) + bytes(8), bytes([1]) + bytes(8), bytes([3, 0, 200]) + bytes(6)
    swapped = [segment(0, 100, 100), segment(0, 0, 100), segment(1, 0, 0, ack=8), segment(0, -100, 100, variant=1)]
    # first byte: 128 the consumer takes everything, 4 rewrites, 2 observes, 1 no fast pass, 64 no SYN
    return {
        "in-order": b"\x84" + b"".join(segment(i & 1, 0, 120, ack=5) for i in range(20)),
        "hole": b"\x84" + b"".join(swapped),
        "full": b"\x84" + b"".join(segment(0, 150 * i, 255) for i in range(30, 0, -1)) + segment(0, 0, 200),
        "no-fast-pass": b"\x85" + b"".join(swapped) + turn * 4,
        "observed": b"\x82" + b"".join(swapped),
        "midstream": b"\xc4" + b"".join(swapped),
        "held": b"\x04" + segment(0, 0, 100, how=0xC8) + segment(0, 0, 100) * 3 + resume + turn * 3,
        "held-too-long": b"\x04" + segment(0, 0, 200, how=0xC8) * 4 + wait + turn + segment(0, -50, 60, variant=1),
        "fin": b"\x84" + segment(0, 0, 10) + segment(0, 0, 10, kind=7) + segment(0, 0, 10) + segment(0, 0, 0, kind=6),
    }


def stream():
    """Steps of fuzz_stream.c: those of the tracker without their last byte."""
    names = ("in-order", "hole", "full", "held", "held-too-long", "fin")
    tracker = tcp_track()
    seeds = {}
    for name in names:
        steps = [tracker[name][at:at + 8] for at in range(1, len(tracker[name]), 9)]
        for settings in (0x00, 0x02, 0x31, 0x3F):
            seeds[f"{name}-{settings:02x}"] = bytes([settings]) + b"".join(steps)
    return seeds


def vector(width, octets):
    return len(octets).to_bytes(width, "big") + octets


def tls_hello():
    """Inputs of fuzz_tls_hello.c: what carries it, then a hello or a server's flight."""
    name = vector(2, b"\0" + vector(2, b"www.chat.example"))
    lists = ((0x0A0A, b""), (0, name), (16, vector(2, b"\x02h2\x08http/1.1")), (10, vector(2, b"\0\x1d\0\x17")),
             (11, b"\x01\0"), (13, vector(2, b"\4\3\x08\4")), (43, b"\x04\x03\x04\x03\x03"), (41, bytes(300)))
    extensions = vector(2, b"".join(struct.pack(">H", kind) + vector(2, body) for kind, body in lists))

    def hello(version, cookie, rest=extensions):
        body = version + bytes(32) + b"\0" + cookie + vector(2, b"\x13\x01\xc0\x2f\x1a\x1a") + b"\1\0" + rest
        return b"\x01" + vector(3, body)

    def records(message, most):
        pieces = [message[at:at + most] for at in range(0, len(message), most)]
        return b"".join(b"\x16\x03\x01" + vector(2, piece) for piece in pieces)

    def der(tag, octets):
        return bytes([tag]) + (bytes([len(octets)]) if len(octets) < 128 else b"\x82" + len(octets).to_bytes(2, "big")) + octets

    tcp = hello(b"\3\3", b"")
    seeds = {"record": b"\0" + records(tcp, 9999), "records": b"\0" + records(tcp, 40), "message": b"\1" + tcp,
             "quic": b"\2" + tcp, "dtls": b"\3" + hello(b"\xfe\xfd", b"\4abcd"), "old": b"\1" + hello(b"\3\1", b"", b"")}
    for name, common in (("subject", b"*.chat.example"), ("alternative", b"Chat")):
        subject = der(0x30, der(0x31, der(0x30, der(6, b"\x55\4\3") + der(12, common))))
        names = der(0x30, der(6, b"\x55\x1d\x11") + der(4, der(0x30, der(0x82, b"*.chat.example"))))
        tbs = der(0xA0, der(2, b"\2")) + der(2, b"\1") + 3 * der(0x30, b"") + subject + der(0x30, bytes(200))
        certificate = der(0x30, der(0x30, tbs + der(0xA3, der(0x30, names))) + der(0x30, b"") + der(3, b"\0"))
        flight = b"\2" + vector(3, b"\3\3" + bytes(36)) + b"\x0b" + vector(3, vector(3, vector(3, certificate))) + b"\x0e\0\0\0"
        seeds[name] = b"\4" + records(flight, 9999)
        seeds[name + "-cut"] = seeds[name][:-30]
    return seeds


def write(target, seeds):
    folder = os.path.join(HERE, "corpus", target)
    os.makedirs(folder, exist_ok=True)
    for name, octets in seeds.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(octets)


def main():
    seeds = {}
    for order, name in (("<", "le"), (">", "be")):
        seeds[name + ".pcapng"] = pcapng(order)
        for magic in (0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34):
            seeds[f"{name}-{magic:x}.pcap"] = pcap(order, magic)
    write("capture", seeds)
    write("frag", {name: b"".join(records) for name, records in fragments().items()})
    write("tcp_track", tcp_track())
    write("stream", stream())
    write("tls_hello", tls_hello())


if __name__ == "__main__":
    main()
