# SPDX-License-Identifier: BSD-3-Clause
"""Forms that receivers are asked about (tests/netns/receivers.test): frames for a kernel, octets for programs.

A form is (group, name, value). `frames`: what a client sends to Linux, each carries DHT_PING to UDP port 6881, in one
frame or several. `tcp`: how a session of a client goes that says a BitTorrent handshake. `tls`, `http`, `python`,
`peer`, `dht`: what a client says to OpenSSL, nginx, Python's http.server and a BitTorrent client. `curl`: options of curl.
"""
import os
import struct
import sys

sys.dont_write_bytecode = True
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [_HERE, os.path.join(_HERE, "..", "attacks")]
from craft import CLIENT, CLIENT6, ETH_IPV4, ETH_IPV6, INSIDE, SERVER, SERVER6, link  # noqa: E402
from packet.gencaps import noise  # noqa: E402
from packet.packets import ETH_VLAN, UDP, eth, ip, ipv4, ipv6, udp  # noqa: E402
from speech import ALLOWED, BLOCKED, DHT_PING  # noqa: E402

PORT = 6881
FORMS = []


def form(group, name, value):
    FORMS.append((group, name, value))


# Linux, below UDP.

def _udp(v6=False, payload=DHT_PING):
    ends = (CLIENT6, SERVER6) if v6 else (CLIENT, SERVER)
    return udp(ends[0], 51413, ends[1], PORT, payload)


def _v4(octets=None, **more):
    return ipv4(CLIENT, SERVER, UDP, octets or _udp(), **more)


def _v6(*extensions, octets=None):
    """extensions: (number of the header, its octets behind the next header)."""
    body, following = octets or _udp(True), UDP
    for number, rest in reversed(extensions):
        body, following = bytes([following]) + rest + body, number
    return ipv6(CLIENT6, SERVER6, following, body)


def _frame(packet, tags=()):
    return link(INSIDE, ETH_IPV6 if packet[0] >> 4 == 6 else ETH_IPV4, packet, tags)


def _snap(oui, packet, tags=()):
    body = b"\xaa\xaa\x03" + oui + struct.pack(">H", ETH_IPV4) + packet
    return link(INSIDE, len(body), body, tags)


def _fragments(n, order=1, overlap=None):
    octets = _udp(payload=DHT_PING + bytes(max(0, 8 * n - len(DHT_PING) - 8)))
    size = max(8, (len(octets) // n + 7) // 8 * 8)
    parts = [(at, octets[at:at + size]) for at in range(0, len(octets), size)]
    if overlap == "same":
        parts.insert(1, parts[0])
    elif overlap:
        parts.insert(1, (parts[0][0], noise(size, 3)))
    return [_frame(_v4(part, ident=77, frag=at // 8 | (0 if at + size >= len(octets) else 0x2000)))
            for at, part in parts][::order]


def _udp_length(packet, length, at):
    changed = bytearray(packet)
    changed[at + 4:at + 6] = struct.pack(">H", length)
    return bytes(changed)


def _zero_length(v6):
    """UDP with length 0: the checksum is of the whole payload (RFC 2675 4)."""
    plain = _v6() if v6 else _v4()
    at = 40 if v6 else 20
    octets = bytearray(plain[at:])
    octets[4:8] = bytes(4)
    total = sum(struct.unpack(f">{len(octets + bytes(len(octets) % 2)) // 2}H", octets + bytes(len(octets) % 2)))
    ends = plain[8:40] if v6 else plain[12:20]
    total += sum(struct.unpack(f">{len(ends) // 2}H", ends)) + UDP + len(octets)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    octets[6:8] = struct.pack(">H", ~total & 0xFFFF or 0xFFFF)
    return plain[:at] + bytes(octets)


_PAD = (60, b"\0" + b"\1\4" + bytes(4))
for _name, _value in {
        "IPv4": [_frame(_v4())], "IPv6": [_frame(_v6())],
        "a tag of VLAN 0": [_frame(_v4(), [(ETH_VLAN, 0)])],
        "two tags of VLAN 0": [_frame(_v4(), [(ETH_VLAN, 0)] * 2)],
        "7 tags of VLAN 0": [_frame(_v4(), [(ETH_VLAN, 0)] * 7)],
        "a tag of VLAN 0, 88a8": [_frame(_v4(), [(0x88A8, 0)])],
        "a tag of VLAN 0 with a priority": [_frame(_v4(), [(ETH_VLAN, 0xE000)])],
        "LLC/SNAP, OUI 000000": [_snap(b"\0\0\0", _v4())],
        "LLC/SNAP, OUI 0000F8": [_snap(b"\0\0\xf8", _v4())],
        "LLC/SNAP behind VLAN 0": [_snap(b"\0\0\0", _v4(), [(ETH_VLAN, 0)])],
        "8 destination options headers": [_frame(_v6(*[_PAD] * 8))],
        "9 destination options headers": [_frame(_v6(*[_PAD] * 9))],
        "40 destination options headers": [_frame(_v6(*[_PAD] * 40))],
        "600 octets of options": [_frame(_v6((60, bytes([74]) + b"\1\xfe" + bytes(254) + b"\1\xfe" + bytes(254) + b"\1\x54"
                                                  + bytes(84))))],
        "hop-by-hop options": [_frame(_v6((0, _PAD[1])))],
        "hop-by-hop behind destination options": [_frame(_v6(_PAD, (0, _PAD[1])))],
        "routing header 0, no segments left": [_frame(_v6((43, b"\0\0\0" + bytes(4))))],
        "segment routing, no segments left": [_frame(_v6((43, b"\2\4\0\0\0\0\0" + bytes(16))))],
        "an atomic fragment": [_frame(_v6((44, b"\0\0\0\0\0\0\7")))],
        "two atomic fragments": [_frame(_v6((44, b"\0\0\0\0\0\0\7"), (44, b"\0\0\0\0\0\0\7")))],
        "UDP length 0, IPv4": [_frame(_zero_length(False))], "UDP length 0, IPv6": [_frame(_zero_length(True))],
        "UDP shorter than its packet": [_frame(_v4(_udp() + bytes(10)))],
        "UDP longer than its packet": [_frame(_udp_length(_v4(), 400, 20))],
        "40 octets of IPv4 options": [_frame(_v4(options=b"\1" * 40))],
        "an option that ends the list": [_frame(_v4(options=b"\0" * 4))],
        "a frame longer than its packet": [_frame(_v4()) + bytes(30)],
        "TTL 1": [_frame(_v4(ttl=1))], "the evil bit": [_frame(_v4(frag=0x8000))], "DF": [_frame(_v4(frag=0x4000))],
        "UDP without checksum, IPv4": [_frame(_v4(udp(CLIENT, 51413, SERVER, PORT, DHT_PING, zero=True)))],
        "UDP without checksum, IPv6": [_frame(_v6(octets=udp(CLIENT6, 51413, SERVER6, PORT, DHT_PING, zero=True)))],
        "a wrong UDP checksum": [_frame(_v4(udp(CLIENT, 51413, SERVER, PORT, DHT_PING, spoil=True)))],
        "2 fragments": _fragments(2), "8 fragments backwards": _fragments(8, -1), "119 fragments": _fragments(119),
        "a fragment twice": _fragments(4, overlap="same"), "a fragment over another": _fragments(4, overlap="other"),
        "IPv4 in IPv4": [_frame(ipv4(CLIENT, SERVER, 4, _v4()))],
        "4 IPv4 headers": [_frame(ipv4(CLIENT, SERVER, 4, ipv4(CLIENT, SERVER, 4, ipv4(CLIENT, SERVER, 4, _v4()))))],
        "IPv6 in IPv4": [_frame(ipv4(CLIENT, SERVER, 41, _v6()))],
        "IPv4 in GRE": [_frame(ipv4(CLIENT, SERVER, 47, struct.pack(">HH", 0, ETH_IPV4) + _v4()))],
        "IPv6 in IPv6": [_frame(ipv6(CLIENT6, SERVER6, 41, _v6()))],
        "PPPoE with a compressed protocol": [eth(b"\2\0\0\0\0\2", b"\2\0\0\0\0\1", 0x8864, b"\x11\0\0\1" + struct.pack(
            ">H", 1 + len(_v4())) + b"\x21" + _v4())],
        }.items():
    form("frames", _name, _value)

# Linux, TCP: steps of (offset in the handshake, octets or None for those there, options), after a handshake.
BT = b"\x13BitTorrent protocol" + bytes(5) + b"\x10\0\5" + noise(20, 5) + b"-TR3000-" + noise(12, 6)
for _name, _value in {
        "one segment": [(0, 68, {})], "octet by octet": [(n, 1, {}) for n in range(68)],
        "backwards": [(34, 34, {}), (0, 34, {})], "sent twice": [(0, 40, {}), (0, 68, {})],
        "other octets over those before": [(0, 40, {}), (0, 68, {"octets": noise(40, 2) + BT[40:]})],
        "noise ahead with a wrong checksum": [(0, 68, {"octets": noise(68, 2), "spoil": True}), (0, 68, {})],
        "noise outside the window": [(2_000_000, 68, {"octets": noise(68, 2)}), (0, 68, {})],
        "noise without ACK": [(0, 68, {"octets": noise(68, 2), "flags": 0x08}), (0, 68, {})],
        "an urgent octet": [(0, 68, {"flags": 0x38, "urgent": 68})],
        "with FIN": [(0, 68, {"flags": 0x19})],
        "noise with an old timestamp": [(0, 68, {"octets": noise(68, 2), "time": 1}), (0, 68, {})],
        "noise on the SYN": [(-1, 68, {"octets": noise(68, 2)}), (0, 68, {})],
        "on the SYN and again": [(-1, 68, {}), (0, 68, {})],
        "a keep-alive before": [(-2, 1, {"octets": b"x"}), (0, 68, {})],
        }.items():
    form("tcp", _name, _value)


# TLS.

def records(message, size=0, version=0x0301, before=b""):
    size = size or len(message)
    return b"".join(before + b"\x16" + struct.pack(">HH", version, len(message[at:at + size])) + message[at:at + size]
                    for at in range(0, len(message), size))


def _hello(version=0x0303):
    """A ClientHello that servers of TLS 1.2 and 1.3 answer."""
    name = BLOCKED.encode()
    extensions = b"".join(struct.pack(">HH", kind, len(body)) + body for kind, body in (
        (0, struct.pack(">HBH", len(name) + 3, 0, len(name)) + name), (10, struct.pack(">HHH", 4, 0x1D, 0x17)), (11, b"\1\0"),
        (13, struct.pack(">HHHHH", 8, 0x0403, 0x0804, 0x0401, 0x0503)), (43, b"\4\3\4\3\3"),
        (51, struct.pack(">HHH", 36, 0x1D, 32) + noise(32, 9))))
    body = (struct.pack(">H", version) + noise(32, 8) + b"\0" + struct.pack(">H5H", 10, 0x1301, 0x1302, 0xC02B, 0xC02F, 0xC009)
            + b"\1\0" + struct.pack(">H", len(extensions)) + extensions)
    return b"\1" + struct.pack(">I", len(body))[1:] + body


_EMPTY, _CCS, _WARNING = b"\x16\3\1\0\0", b"\x14\3\1\0\1\1", b"\x15\3\1\0\2\1\x64"
form("tls", "as specified", records(_hello()))
for _version in (0x0000, 0x0200, 0x0300, 0x0303, 0x0305, 0x0309, 0x03FF, 0x0400, 0x1000):
    form("tls", f"record version {_version >> 8}.{_version & 255}", records(_hello(), version=_version))
for _version in (0x0002, 0x0200, 0x0301, 0x0304, 0x0305, 0x03FF, 0x0400, 0x7F00, 0xFFFF):
    form("tls", f"hello version {_version >> 8}.{_version & 255}", records(_hello(_version)))
for _name, _value in {
        "records of 1 octet": records(_hello(), 1), "records of 3 octets": records(_hello(), 3),
        "record version 3.9 and hello version 3.255": records(_hello(0x03FF), version=0x0309),
        "1 empty record first": _EMPTY + records(_hello()), "32 empty records first": _EMPTY * 32 + records(_hello()),
        "33 empty records first": _EMPTY * 33 + records(_hello()), "an empty record before each": records(_hello(), 40, before=_EMPTY),
        "an empty ChangeCipherSpec first": b"\x14\3\1\0\0" + records(_hello()), "ChangeCipherSpec first": _CCS + records(_hello()),
        "a warning first": _WARNING + records(_hello()), "a warning between": records(_hello(), 60, before=_WARNING),
        "an empty record of data first": b"\x17\3\1\0\0" + records(_hello()),
        "octets behind it": records(_hello()) + b"garbage",
        }.items():
    form("tls", _name, _value)

# HTTP: accepted when nginx answers for the refused host.
_ASK = b"GET / HTTP/1.1\r\nHost: " + BLOCKED.encode() + b"\r\nConnection: close\r\n\r\n"
_OTHER = b"GET / HTTP/1.1\r\nHost: " + ALLOWED.encode() + b"\r\n\r\n"
_HOST = BLOCKED.encode()
for _name, _value in {
        "as specified": _ASK, "10 empty lines first": b"\r\n" * 10 + _ASK, "1,050 empty lines first": b"\r\n" * 1050 + _ASK,
        "line feeds alone": _ASK.replace(b"\r\n", b"\n"), "line feeds first": b"\n" * 100 + _ASK,
        "HTTP/1.0": _ASK.replace(b"1.1", b"1.0"), "upper case": _ASK.replace(b"Host: www", b"HOST: WWW"),
        "no space behind the colon": _ASK.replace(b": www", b":www"), "spaces behind the colon": _ASK.replace(b": www", b":   www"),
        "spaces behind the name": _ASK.replace(b"example\r", b"example   \r"), "a dot at its end": _ASK.replace(b"example\r", b"example.\r"),
        "with a port": _ASK.replace(b"example\r", b"example:80\r"), "a space before the colon": _ASK.replace(b"Host:", b"Host :"),
        "on a continued line": _ASK.replace(b"Host: ", b"Host:\r\n "), "a tab behind the colon": _ASK.replace(b"Host: ", b"Host:\t"),
        "an absolute target": b"GET http://" + _HOST + b"/ HTTP/1.1\r\nHost: " + ALLOWED.encode() + b"\r\nConnection: close\r\n\r\n",
        "an absolute target, upper case": b"GET HTTP://" + _HOST + b"/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "an absolute target, https": b"GET https://" + _HOST + b"/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "a second request": _OTHER + _ASK, "a fifth request": _OTHER * 4 + _ASK, "a thirtieth request": _OTHER * 29 + _ASK,
        "behind a body": b"POST / HTTP/1.1\r\nHost: " + ALLOWED.encode() + b"\r\nContent-Length: 5\r\n\r\nhello" + _ASK,
        "behind a body in chunks": b"POST / HTTP/1.1\r\nHost: " + ALLOWED.encode()
                                   + b"\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + _ASK,
        "behind 900 octets of a field": _ASK.replace(b"Host", b"X: " + b"a" * 900 + b"\r\nHost"),
        "behind 6,000 octets of fields": _ASK.replace(b"Host", (b"X: " + b"a" * 595 + b"\r\n") * 10 + b"Host"),
        "behind 3,000 octets of a target": _ASK.replace(b"GET /", b"GET /" + b"a" * 3000),
        "two fields": _ASK.replace(b"Host", b"Host: " + ALLOWED.encode() + b"\r\nHost"), "version 0.9": b"GET /\r\n",
        "version 1.9": _ASK.replace(b"1.1", b"1.9"), "two spaces": _ASK.replace(b"GET /", b"GET  /"),
        "a tab in the line": _ASK.replace(b"GET /", b"GET\t/"), "a small method": _ASK.replace(b"GET", b"get"),
        "a method of its own": _ASK.replace(b"GET", b"PURGE_IT"), "a NUL in a field": _ASK.replace(b"Host", b"X: \0\r\nHost"),
        }.items():
    form("http", _name, _value)
    form("python", _name, _value)

# Forms that few servers take, and bodies that some of them do not read.
_POST = b"POST / HTTP/1.1\r\nHost: " + ALLOWED.encode() + b"\r\n"
_CHUNKS = _POST + b"Transfer-Encoding: chunked\r\n\r\n"
_GET_BODY = _OTHER[:-2] + b"Content-Length: " + str(len(_ASK)).encode() + b"\r\n\r\n"
_FILL = (b"X: " + b"a" * 7000 + b"\r\n") * 3
for _name, _value in {
        "a method with _": _ASK.replace(b"GET", b"_GET"), "a method with -": _ASK.replace(b"GET", b"VERSION-CONTROL"),
        "a later method with _": _OTHER + _ASK.replace(b"GET", b"GE_T"), "a method of 200 letters": _ASK.replace(b"GET", b"A" * 200),
        "a method with digits": _ASK.replace(b"GET", b"GET1"), "version 2.0": _ASK.replace(b"1.1", b"2.0"),
        "a later version 2.0": _OTHER + _ASK.replace(b"1.1", b"2.0"), "version 1.12": _ASK.replace(b"1.1", b"1.12"),
        "version 01.1": _ASK.replace(b"1.1", b"01.1"), "version 0.9, a name": b"GET http://" + _HOST + b"/\r\n",
        "version 0.9, a later name": _OTHER + b"GET http://" + _HOST + b"/\n",
        "version 0.9, another scheme": b"GET a+b://" + _HOST + b"/\r\n", "version 0.9 and fields": _ASK.replace(b" HTTP/1.1", b""),
        "words behind the version": _ASK.replace(b"1.1\r\n", b"1.1 x\r\n", 1), "a space in the target": _ASK.replace(b"GET /", b"GET /a b"),
        "spaces behind the version": _ASK.replace(b"1.1\r\n", b"1.1   \r\n", 1), "a space first": b" " + _ASK,
        "tabs in the line": _ASK.replace(b"GET / H", b"GET\t/\tH"), "form feeds in the line": _ASK.replace(b"GET / H", b"GET\f/\vH"),
        "CR in the line": _ASK.replace(b"GET / H", b"GET\r/\rH"), "CR CR LF": _ASK.replace(b"\r\n", b"\r\r\n"),
        "CR CR LF at the end": _ASK[:-2] + b"\r\r\n", "a space at the end": _ASK[:-2] + b" \r\n",
        "two fields, the other behind": _ASK.replace(b"\r\nConn", b"\r\nHost: " + ALLOWED.encode() + b"\r\nConn"),
        "an absolute target and another field": b"GET http://" + ALLOWED.encode() + b"/ HTTP/1.1\r\nHost: " + _HOST + b"\r\nConnection: close\r\n\r\n",
        "a bare CR before the field": _ASK.replace(b"Host", b"X: y\rHost"), "a space before the field": _ASK.replace(b"Host", b" Host"),
        "a NUL behind the name": _ASK.replace(b"example\r", b"example\0\r"), "a port and a user": _ASK.replace(b"example\r", b"example:80@x\r"),
        "a path behind the name": _ASK.replace(b"example\r", b"example/x\r"), "a line without a colon": _ASK.replace(b"Host", b"foo\r\nHost"),
        "behind 7,900 octets of a target": _ASK.replace(b"GET /", b"GET /" + b"a" * 7900),
        "behind 9,000 octets of a target": _ASK.replace(b"GET /", b"GET /" + b"a" * 9000),
        "behind 7,900 octets of a method": _ASK.replace(b"GET", b"A" * 7900),
        "behind 21,000 octets of fields": _ASK.replace(b"Host", _FILL + b"Host"),
        "7,900 spaces before the name": _ASK.replace(b"Host: ", b"Host:" + b" " * 7900),
        "9,000 spaces before the name": _ASK.replace(b"Host: ", b"Host:" + b" " * 9000),
        "9,000 spaces before a target": b"GET" + b" " * 9000 + b"http://" + _HOST + b"/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "in the body of GET": _GET_BODY + _ASK, "in the body of HEAD": _GET_BODY.replace(b"GET", b"HEAD") + _ASK,
        "in a chunk of GET": _CHUNKS.replace(b"POST", b"GET") + b"%x\r\n" % len(_ASK) + _ASK,
        "behind the body of GET": _OTHER[:-2] + b"Content-Length: 5\r\n\r\nhello" + _ASK,
        "behind the body of an own method": b"PURGE_IT" + _OTHER[3:-2] + b"Content-Length: 5\r\n\r\nhello" + _ASK,
        "in a body that is expected": _GET_BODY.replace(b"GET", b"POST").replace(b"Cont", b"Expect: 100-continue\r\nCont") + _ASK,
        "behind a body that is expected": _POST + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello" + _ASK,
        "a length and chunks": _POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + _ASK,
        "two lengths, the first": _POST + b"Content-Length: 0\r\nContent-Length: 900\r\n\r\n" + _ASK,
        "two lengths, the last": _POST + b"Content-Length: 900\r\nContent-Length: 0\r\n\r\n" + _ASK,
        "a length with a sign": _POST + b"Content-Length: +0\r\n\r\n" + _ASK, "an octal length": _POST + b"Content-Length: 005\r\n\r\nhello" + _ASK,
        "a length before a tab": _POST + b"Content-Length: 5\t\r\n\r\nhello" + _ASK,
        "chunks in HTTP/1.0": _CHUNKS.replace(b"1.1\r\n", b"1.0\r\nConnection: keep-alive\r\n", 1) + b"5\r\nhello\r\n0\r\n\r\n" + _ASK,
        "a chunk's line of LF": _CHUNKS + b"5\nhello\r\n0\r\n\r\n" + _ASK, "a chunk that LF ends": _CHUNKS + b"5\r\nhello\n0\r\n\r\n" + _ASK,
        "lines of chunks of LF": _CHUNKS + b"5\nhello\n0\n\n" + _ASK, "a chunk's extension": _CHUNKS + b"5;a=\"b\"\r\nhello\r\n0\r\n\r\n" + _ASK,
        "a chunk's extension with CR": _CHUNKS + b"5;a\rb\r\nhello\r\n0\r\n\r\n" + _ASK,
        "spaces behind a chunk's size": _CHUNKS + b"5  \r\nhello\r\n0\r\n\r\n" + _ASK,
        "a chunk's size of another base": _CHUNKS + b"0x5\r\nhello\r\n0\r\n\r\n" + _ASK,
        "300 octets of a chunk's extension": _CHUNKS + b"5;" + b"a" * 300 + b"\r\nhello\r\n0\r\n\r\n" + _ASK,
        "a trailer": _CHUNKS + b"5\r\nhello\r\n0\r\nX: y\r\nZ: a\r\n\r\n" + _ASK,
        "a request in a trailer": _CHUNKS + b"0\r\n" + _ASK, "a name in a trailer": _CHUNKS + b"0\r\nHost: " + _HOST + b"\r\n\r\n",
        "an Upgrade with a body": _POST + b"Connection: upgrade\r\nUpgrade: x\r\nContent-Length: 5\r\n\r\nhello" + _ASK,
        "a line that is none between": _OTHER + b"garbage\r\n" + _ASK,
        }.items():
    form("http", _name, _value)
    form("python", _name, _value)

# What curl makes of its options; nginx answers it.
for _name, _value in {
        "HTTP": (f"http://{BLOCKED}/",), "HTTP/1.0": ("-0", f"http://{BLOCKED}/"), "a dot at its end": (f"http://{BLOCKED}./",),
        "through a proxy": ("-x", "http://{server}:80", f"http://{BLOCKED}/"),
        "a field of its own": ("-H", f"Host: {BLOCKED}", f"http://{ALLOWED}/"), "HTTP/2 by upgrade": ("--http2", f"http://{BLOCKED}/"),
        "TLS 1.2": ("-k", "--tls-max", "1.2", f"https://{BLOCKED}/"), "TLS 1.3": ("-k", "--tlsv1.3", f"https://{BLOCKED}/"),
        "TLS, upper case": ("-k", f"https://{BLOCKED.upper()}/"), "TLS, a dot at its end": ("-k", f"https://{BLOCKED}./"),
        "TLS without ALPN": ("-k", "--no-alpn", f"https://{BLOCKED}/"), "a large field": ("-H", "X: " + "a" * 3000, f"http://{BLOCKED}/"),
        "two transfers": (f"http://{ALLOWED}/", f"http://{BLOCKED}/"),
        }.items():
    form("curl", _name, _value)

# A BitTorrent client: handshakes of the torrent that it has ({hash}), messages of the DHT.
for _name, _value in {
        "as specified": (BT,), "octet by octet": tuple(BT[n:n + 1] for n in range(len(BT))),
        "other reserved bits": (BT[:20] + b"\xff" * 8 + BT[28:],), "in two pieces": (BT[:20], BT[20:]),
        "no peer id yet": (BT[:48],), "upper case": (BT.replace(b"BitTorrent", b"BITTORRENT"),),
        "a length of 18": (b"\x12" + BT[1:],), "another protocol": (BT.replace(b"protocol", b"protocoL"),),
        }.items():
    form("peer", _name, _value)
_ID = b"2:id20:" + noise(20, 11)
_DEEP = b"1:Z" + b"l" * 9 + b"e" * 9
for _name, _value in {
        "as specified": DHT_PING, "an unknown first key": b"d1:0i1e" + DHT_PING[1:],
        "a long unknown first key": b"d30:" + b"0" * 30 + b"i1e" + DHT_PING[1:], "nested nine deep": b"d" + _DEEP.replace(b"Z", b"0") + DHT_PING[1:],
        "nested forty deep": b"d1:0" + b"l" * 40 + b"e" * 40 + DHT_PING[1:], "an unknown last key": DHT_PING[:-1] + b"1:zi1ee",
        "keys out of order": b"d1:y1:q1:t2:aa1:q4:ping1:ad" + _ID + b"ee", "a version": DHT_PING[:-len("1:y1:qe")] + b"1:v4:TR30" + b"1:y1:qe",
        "octets behind it": DHT_PING + b"garbage", "a list around it": b"l" + DHT_PING + b"e", "no end": DHT_PING[:-1],
        "find_node": b"d1:ad" + _ID + b"6:target20:" + noise(20, 7) + b"e1:q9:find_node1:t2:aa1:y1:qe",
        "a long transaction": DHT_PING.replace(b"1:t2:aa", b"1:t16:" + b"a" * 16), "a read-only node": b"d2:roi1e" + DHT_PING[1:],
        }.items():
    form("dht", _name, _value)
