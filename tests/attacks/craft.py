# SPDX-License-Identifier: BSD-3-Clause
"""What attack captures are made of: a world with two zones, hosts, forgers, and QUIC's Initial packets."""
import hashlib
import hmac
import os
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from packet.packets import (  # noqa: E402 pylint: disable=wrong-import-position
    ACK, ETH_IPV4, ETH_IPV6, PSH, SYN, Capture, Path, Session, eth, ip, vlan)

INSIDE, OUTSIDE = 1, 2  # the last octet of the source MAC: attack_run takes the zone from it
PASS, DROP, ANY = "pass", "drop", "any"
CLIENT, SERVER = "10.0.0.2", "192.0.2.80"
CLIENT6, SERVER6 = "2001:db8:1::2", "2001:db8:2::80"
START_US = 1_800_000_000_000_000

ROWS = {}


class Row:
    """A capture and what is expected of it."""

    def __init__(self, name, kind, finding, policy, rule, control, limits, build):
        self.name, self.kind, self.finding, self.policy, self.rule = name, kind, finding, policy, rule
        self.control, self.limits, self.build = control, limits, build

    def make(self):
        world = World()
        self.build(world)
        return world


def add(name, kind, finding, policy, build, rule=None, control=None, limits="-"):
    """kind: the class. rule: whose id an alert must have. control: the row that differs by the trick alone."""
    if name in ROWS:
        raise ValueError(f"two rows are called {name}")
    ROWS[name] = Row(name, kind, finding, policy, rule, control, limits, build)


def row(kind, finding, policy, **more):
    def take(build):
        add(build.__name__, kind, finding, policy, build, **more)
        return build
    return take


class World(Capture):
    """A capture of which each packet says what shall become of it: world.expect at that moment."""

    def __init__(self):
        super().__init__()
        self.now_us, self.expect, self.expected = START_US, PASS, []

    def add(self, frame, caplen=None, length=None):
        super().add(frame, caplen, length)
        self.expected.append(self.expect)


def link(zone, ethertype, packet, tags=()):
    """An Ethernet II frame that comes from a zone; tags: (ethertype of the tag, tci), outermost first."""
    for kind, tci in reversed(tags):
        packet, ethertype = vlan(tci, ethertype, packet), kind
    return eth(bytes([2, 0, 0, 0, 0, 3 - zone]), bytes([2, 0, 0, 0, 0, zone]), ethertype, packet)


def ether(client_zone=INSIDE, tags=(), around=None):
    """A wrap for Path. around(direction, ethertype, packet) -> (ethertype, packet) is put below the tags."""
    def wrap(direction, ethertype, packet):
        zone = client_zone if direction == 0 else 3 - client_zone
        if around:
            ethertype, packet = around(direction, ethertype, packet)
        return link(zone, ethertype, packet, tags)
    return wrap


class Talk(Path):
    """Two hosts. zone: all their packets come from there (a forger's); else the client is inside, or outside."""

    def __init__(self, world, client=CLIENT, server=SERVER, client_zone=INSIDE, zone=None, tags=(), around=None, **more):
        wrap = ether(client_zone, tags, around)
        if zone:
            both = (ether(zone, tags, around), ether(3 - zone, tags, around))

            def wrap(direction, ethertype, packet):
                return both[direction](direction, ethertype, packet)
        super().__init__(world, client, server, wrap)
        self.more = more

    def send(self, direction, proto, payload, **more):
        super().send(direction, proto, payload, **{**self.more, **more})

    def session(self, cport=40000, sport=443, **more):
        return Session(self, cport, sport, **more)


def pair(v6):
    return (CLIENT6, SERVER6) if v6 else (CLIENT, SERVER)


def packet(world, zone, src, dst, proto, payload, tags=(), **more):
    """One IP packet from a zone."""
    world.add(link(zone, ETH_IPV6 if ":" in src else ETH_IPV4, ip(src, dst, proto, payload, **more), tags))


# QUIC version 1 (RFC 9001): what a client's first datagram is.

def _aes_tables():
    box, p, q = [0] * 256, 1, 1
    while True:
        p = p ^ (p << 1) & 0xFF ^ (0x1B if p & 0x80 else 0)
        for shift in (1, 2, 4):
            q ^= q << shift & 0xFF
        q ^= 9 if q & 0x80 else 0
        x = q
        for shift in (1, 2, 3, 4):
            x ^= (q << shift | q >> (8 - shift)) & 0xFF
        box[p] = x ^ 0x63
        if p == 1:
            break
    box[0] = 0x63
    return box


SBOX = _aes_tables()


class Aes:
    """AES-128, one block at a time: slow and short."""

    def __init__(self, key):
        words, rcon = [list(key[i:i + 4]) for i in range(0, 16, 4)], 1
        for i in range(4, 44):
            word = list(words[-1])
            if i % 4 == 0:
                word = [SBOX[b] for b in word[1:] + word[:1]]
                word[0] ^= rcon
                rcon = (rcon << 1) ^ (0x11B if rcon & 0x80 else 0)
            words.append([a ^ b for a, b in zip(words[i - 4], word)])
        self.keys = [sum(words[i:i + 4], []) for i in range(0, 44, 4)]

    def block(self, octets):
        state = [a ^ b for a, b in zip(octets, self.keys[0])]
        for n in range(1, 11):
            state = [SBOX[state[(i + 4 * (i % 4)) % 16]] for i in range(16)]
            if n < 10:
                mixed = []
                for c in range(0, 16, 4):
                    col = state[c:c + 4]
                    total = col[0] ^ col[1] ^ col[2] ^ col[3]
                    for i in range(4):
                        t = col[i] ^ col[(i + 1) % 4]
                        mixed.append(col[i] ^ total ^ (t << 1 ^ (0x1B if t & 0x80 else 0)) & 0xFF)
                state = mixed
            state = [a ^ b for a, b in zip(state, self.keys[n])]
        return bytes(state)


def _gcm(key, nonce, plain, aad):
    aes, out = Aes(key), b""
    for i in range(0, len(plain), 16):
        stream = aes.block(nonce + struct.pack(">I", 2 + i // 16))
        out += bytes(a ^ b for a, b in zip(plain[i:i + 16], stream))
    h = int.from_bytes(aes.block(bytes(16)), "big")

    def times(x):
        z, v = 0, h
        for bit in range(127, -1, -1):
            if x >> bit & 1:
                z ^= v
            v = v >> 1 ^ (0xE1 << 120 if v & 1 else 0)
        return z

    tag, data = 0, aad + bytes(-len(aad) % 16) + out + bytes(-len(out) % 16)
    data += struct.pack(">QQ", 8 * len(aad), 8 * len(out))
    for i in range(0, len(data), 16):
        tag = times(tag ^ int.from_bytes(data[i:i + 16], "big"))
    return out + bytes(a ^ b for a, b in zip(tag.to_bytes(16, "big"), aes.block(nonce + b"\0\0\0\1")))


def _expand(secret, label, length):
    info = struct.pack(">HB", length, len(label) + 6) + b"tls13 " + label + b"\0\1"
    return hmac.new(secret, info, hashlib.sha256).digest()[:length]


def varint(n):
    return bytes([n]) if n < 64 else struct.pack(">H", n | 0x4000)


def quic_initial(frames, dcid, number=0, size=1200, server=False, keyed_by=None, scid=b"\x11" * 8, token=b""):
    """A datagram of one Initial packet, padded to `size`; keyed_by: the DCID that made the keys."""
    salt = bytes.fromhex("38762cf7f55934b34d179ae6a4c80cadccbb7f0a")
    initial = hmac.new(salt, keyed_by or dcid, hashlib.sha256).digest()
    secret = _expand(initial, b"server in" if server else b"client in", 32)
    head = b"\xc3\0\0\0\1" + bytes([len(dcid)]) + dcid + bytes([len(scid)]) + scid + varint(len(token)) + token
    frames += bytes(max(0, size - len(head) - 2 - 4 - 16 - len(frames)))
    head += struct.pack(">H", 0x4000 | 4 + len(frames) + 16) + struct.pack(">I", number)
    iv = bytearray(_expand(secret, b"quic iv", 12))
    for i, octet in enumerate(struct.pack(">I", number)):
        iv[8 + i] ^= octet
    sealed = _gcm(_expand(secret, b"quic key", 16), bytes(iv), frames, head)
    mask = Aes(_expand(secret, b"quic hp", 16)).block(sealed[:16])
    masked = bytearray(head)
    masked[0] ^= mask[0] & 0x0F
    for i in range(4):
        masked[len(head) - 4 + i] ^= mask[1 + i]
    return bytes(masked) + sealed


def crypto_frame(octets, offset=0):
    return b"\x06" + varint(offset) + varint(len(octets)) + octets


__all__ = [name for name in dir() if not name.startswith("_")]
