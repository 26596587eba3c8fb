# SPDX-License-Identifier: BSD-3-Clause
"""Attacks below TCP and UDP: ICMP errors, headers, link layers, realms, fragments."""
import json
import os
import struct

from craft import (
    ACK, ANY, CLIENT, CLIENT6, DROP, ETH_IPV4, ETH_IPV6, INSIDE, OUTSIDE, PASS, PSH, SERVER, SERVER6, SYN, Talk, add, link,
    packet, pair)
from packet.gencaps import bt_handshake, noise
from packet.packets import ETH_QINQ, ETH_VLAN, GRE, ICMP, ICMPV6, IPIP, TCP, UDP, addr, checksum, icmp, ip, ipv4, ipv6, pseudo, tcp, udp
from speech import (
    DEFAULT, DENY, DHT_PING, HTTP_GET, QUARANTINE, bt_refused, exchange, tls)

_ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BAD, BAD6 = "10.0.0.66", "2001:db8:1::66"

# 5. ICMP errors.


def quote(src, dst, proto, octets, length=28):
    return ip(src, dst, proto, octets)[:length + (20 if ":" in src else 0)]


def live(world, v6=False):
    """A connection and a datagram flow of an honest client, whose tuples errors may quote: a segment of each end is in
    flight, which nobody has acknowledged (RFC 5927 section 4)."""
    talk = Talk(world, *pair(v6))
    exchange(world, talk, "dns")
    session = tls(talk.session(40000, 443).open(), close=False)
    ack = list(session.next)
    session.segment(0, ACK | PSH, noise(300, 31))
    session.next[0], mine = ack[0], session.next[0]
    session.segment(1, ACK | PSH, noise(300, 32))
    session.next[0] = mine
    return session


def quoted(session, direction=0, seq=None, v6=False):
    """What an error quotes of a segment that one end of the session has sent."""
    ends = pair(v6) if direction == 0 else pair(v6)[::-1]
    ports = session.ports if direction == 0 else session.ports[::-1]
    number = session.next[direction] - 300 if seq is None else seq
    return quote(*ends, TCP, tcp(ends[0], ports[0], ends[1], ports[1], number, session.next[1 - direction], ACK))


def quarantined(kind, code, rest=0, body=None, v6=False, dst=None, zone=INSIDE):
    """An error from a quarantined host about a tuple that lives."""
    def build(world):
        session = live(world, v6)
        world.expect = DROP
        source = BAD6 if v6 else BAD
        target = dst or pair(v6)[1]
        about = quoted(session, 1, v6=v6) if body is None else body
        packet(world, zone, source, target, ICMPV6 if v6 else ICMP,
               icmp(kind, code, rest, about, v6=(source, target) if v6 else None))
    return build


for _name, _kind, _code, _rest in (("unreachable", 3, 1, 0), ("port", 3, 3, 0), ("too_big", 3, 4, 1400),
                                   ("time", 11, 0, 0), ("parameter", 12, 0, 0), ("redirect", 5, 1, 0), ("quench", 4, 0, 0)):
    add(f"icmp_quarantined_{_name}", "ICMP errors", 5, QUARANTINE, quarantined(_kind, _code, _rest), rule="quarantine",
        control="icmp_quarantined_echo")
for _name, _kind, _code, _rest in (("unreachable", 1, 0, 0), ("too_big", 2, 0, 1280), ("time", 3, 0, 0)):
    add(f"icmp6_quarantined_{_name}", "ICMP errors", 5, QUARANTINE, quarantined(_kind, _code, _rest, v6=True),
        rule="quarantine", control="icmp6_quarantined_echo")
add("icmp_quarantined_echo", "ICMP errors", 5, QUARANTINE, quarantined(8, 0, 1, noise(28, 1)), rule="quarantine")
add("icmp6_quarantined_echo", "ICMP errors", 5, QUARANTINE, quarantined(128, 0, 1, noise(28, 1), v6=True), rule="quarantine")


def error(kind, code, rest=0, change=None, expect=DROP, v6=False, source=None, spoil=False):
    """An error from outside about the client's connection, changed by `change(about)`."""
    def build(world):
        session = live(world, v6)
        client, server = pair(v6)
        about = quoted(session, 0, v6=v6)
        if change:
            about = change(session, about)
        source_ = source or server
        message = bytearray(icmp(kind, code, rest, about, v6=(source_, client) if v6 else None))
        if spoil:
            message[2] ^= 0x55
        world.expect = expect
        packet(world, OUTSIDE, source_, client, ICMPV6 if v6 else ICMP, bytes(message))
        world.expect = PASS
        session.say(0, noise(300, 5)).close()
    return build


def _other_source(_session, _about):
    return quote("10.0.0.77", SERVER, TCP, tcp("10.0.0.77", 40000, SERVER, 443, 1, 1, ACK))


add("icmp_too_big", "ICMP errors", 5, DEFAULT, error(3, 4, 1400, expect=PASS))
add("icmp_too_big_of_a_router", "ICMP errors", 5, DEFAULT, error(3, 4, 1400, expect=PASS, source="198.51.100.254"))
add("icmp6_too_big", "ICMP errors", 5, DEFAULT, error(2, 0, 1280, expect=PASS, v6=True))
add("icmp_time_exceeded", "ICMP errors", 5, DEFAULT, error(11, 0, expect=PASS, source="198.51.100.254"))
add("icmp_quoted_source_is_another", "ICMP errors", 5, DEFAULT, error(3, 1, change=_other_source, expect=ANY))
add("icmp_number_outside_window", "ICMP errors", 5, DEFAULT, error(
    3, 1, change=lambda s, about: quoted(s, 0, s.next[0] + (1 << 30)), expect=ANY))
add("icmp_bad_checksum", "ICMP errors", 5, DEFAULT, error(3, 1, spoil=True, expect=ANY))


def port_unreachable(world):
    """A server that does not listen says so: honest."""
    talk = Talk(world)
    talk.datagram(0, 40060, 9999, noise(60, 1))
    about = quote(CLIENT, SERVER, UDP, udp(CLIENT, 40060, SERVER, 9999, noise(60, 1)))
    packet(world, OUTSIDE, SERVER, CLIENT, ICMP, icmp(3, 3, 0, about))
    for hop in range(1, 6):  # traceroute
        talk.datagram(0, 40061, 33434 + hop, noise(32, hop))
        about = quote(CLIENT, SERVER, UDP, udp(CLIENT, 40061, SERVER, 33434 + hop, noise(32, hop)))
        packet(world, OUTSIDE, f"198.51.100.{hop}", CLIENT, ICMP, icmp(11, 0, 0, about))


add("icmp_port_unreachable", "ICMP errors", 5, DEFAULT, port_unreachable)


def ping(world):
    for n in range(4):
        packet(world, INSIDE, CLIENT, SERVER, ICMP, icmp(8, 0, 0x70000 + n, noise(56, n)))
        packet(world, OUTSIDE, SERVER, CLIENT, ICMP, icmp(0, 0, 0x70000 + n, noise(56, n)))


add("icmp_ping", "ICMP errors", 5, DEFAULT, ping)

# 7. Headers that hosts accept.

_DEST = (60, b"\0\1\4\0\0\0\0")
_HOP = (0, b"\0\1\4\0\0\0\0")


def v6_chain(*extensions, policy_deny=True):
    """A segment (deny policy: to a port that is not allowed; else a peer's handshake) behind headers."""
    def build(world):
        if policy_deny:
            world.expect = DROP
            Talk(world, CLIENT6, SERVER6, extensions=extensions).session(40000, 22).segment(0, SYN)
            return
        session = Talk(world, CLIENT6, SERVER6).session(40000, 6881).open()
        world.expect = DROP
        hidden = Talk(world, CLIENT6, SERVER6, extensions=extensions).session(40000, 6881)
        hidden.next = session.next
        hidden.segment(0, ACK | PSH, bt_handshake(1))
    return build


_CHAINS = {
    "nine_options": (_DEST,) * 9, "forty_options": (_DEST,) * 40, "long_options": ((60, bytes([75]) + b"\1\xff" + bytes(604)),),
    "sixteen_options": (_DEST,) * 16,
    "srv6": ((43, bytes([2, 4, 0, 0, 0, 0, 0]) + addr(SERVER6)),),
    "routing_0": ((43, bytes([2, 0, 0, 0, 0, 0, 0]) + addr(SERVER6)),),
    "hop_and_twelve_options": (_HOP,) + (_DEST,) * 12,
}
for _name, _chain in _CHAINS.items():
    add(f"v6_{_name}_denied", "IPv6 headers and nesting", 7, DENY, v6_chain(*_chain), control="v6_one_option_denied",
        rule="default")
    if _name != "routing_0":
        add(f"v6_{_name}_peer", "IPv6 headers and nesting", 7, DEFAULT, v6_chain(*_chain, policy_deny=False),
            control="v6_one_option_peer")
add("v6_one_option_denied", "IPv6 headers and nesting", 7, DENY, v6_chain(_DEST), rule="default")
add("v6_one_option_peer", "IPv6 headers and nesting", 7, DEFAULT, v6_chain(_DEST, policy_deny=False), rule="no-file-sharing")


def denied(build_frame, zone=INSIDE):
    def build(world):
        world.expect = DROP
        world.add(build_frame(zone))
    return build


def _syn(src=CLIENT, dst=SERVER, port=22):
    return ip(src, dst, TCP, tcp(src, 40000, dst, port, 1, 0, SYN))


def _zero_length(_zone):
    octets = bytearray(udp(CLIENT6, 4000, SERVER6, 9000, noise(64, 1)))
    octets[4:8] = bytes(4)
    octets[6:8] = struct.pack(">H", checksum(pseudo(CLIENT6, SERVER6, UDP, len(octets)) + bytes(octets)))
    return link(INSIDE, ETH_IPV6, ipv6(CLIENT6, SERVER6, UDP, bytes(octets)))


def _nested(depth, inner=None):
    octets = inner or _syn()
    for _ in range(depth):
        octets = ipv4(CLIENT, SERVER, IPIP, octets)
    return octets


_FRAMES = {
    "plain": lambda zone: link(zone, ETH_IPV4, _syn()),
    "plain_udp6": lambda zone: link(zone, ETH_IPV6, ipv6(CLIENT6, SERVER6, UDP, udp(CLIENT6, 4000, SERVER6, 9000, noise(64, 1)))),
    "udp_length_0": _zero_length,
    "seven_vlan_0": lambda zone: link(zone, ETH_IPV4, _syn(), ((ETH_VLAN, 0),) * 7),
    "two_vlan_0": lambda zone: link(zone, ETH_IPV4, _syn(), ((ETH_VLAN, 0),) * 2),
    "four_nested": lambda zone: link(zone, ETH_IPV4, _nested(4)),
    "five_nested": lambda zone: link(zone, ETH_IPV4, _nested(5)),
    "options_of_ipv4": lambda zone: link(zone, ETH_IPV4, ipv4(
        CLIENT, SERVER, TCP, tcp(CLIENT, 40000, SERVER, 22, 1, 0, SYN), options=b"\x94\4\0\0" + b"\1" * 36)),
    "nested_in_ipv6": lambda zone: link(zone, ETH_IPV6, ipv6(CLIENT6, SERVER6, 4, _syn(), extensions=(_DEST,) * 9)),
}
for _name, _frame in _FRAMES.items():
    _control = None if _name.startswith("plain") else "deny_plain_udp6" if _name == "udp_length_0" else "deny_plain"
    add(f"deny_{_name}", "IPv6 headers and nesting", 7, DENY, denied(_frame), rule="default", control=_control)


def v6_honest(world):
    """What honest hosts send: one header of each kind, MLD, an atomic fragment."""
    for n, extensions in enumerate(((_HOP,), (_DEST,), (_HOP, _DEST), (_DEST,) * 2)):
        tls(Talk(world, CLIENT6, SERVER6, extensions=extensions).session(40000 + n, 443).open())
    packet(world, INSIDE, "fe80::2", "ff02::16", ICMPV6, icmp(131, 0, 0, addr("ff02::16"), v6=("fe80::2", "ff02::16")),
           extensions=((0, b"\0\5\2\0\0\1\0"),))
    Talk(world, CLIENT6, SERVER6, extensions=((44, b"\0\0\0\0\0\0\1"),)).datagram(0, 4000, 9000, noise(80, 1))


add("v6_honest_headers", "IPv6 headers and nesting", 7, DEFAULT, v6_honest)


def tunnels_honest(world):
    for n, proto in enumerate((IPIP, 41)):
        def around(direction, _ethertype, octets, proto=proto):
            ends = ("10.0.0.1", "198.51.100.1") if direction == 0 else ("198.51.100.1", "10.0.0.1")
            return ETH_IPV4, ipv4(*ends, proto, octets)
        tls(Talk(world, *pair(proto == 41), around=around).session(40010 + n, 443).open())


add("tunnels_honest", "IPv6 headers and nesting", 7, DEFAULT, tunnels_honest)

# 16. The outer addresses of a tunnel.


def outer(source, policy_rule=True):
    def build(world):
        def around(direction, _ethertype, octets):
            ends = (source, "198.51.100.1") if direction == 0 else ("198.51.100.1", source)
            return ETH_IPV4, ipv4(*ends, IPIP, octets)
        world.expect = DROP if policy_rule else PASS
        Talk(world, "172.16.0.2", around=around).session(40020, 443).segment(0, SYN)
    return build


def outer_control(world):
    world.expect = DROP
    Talk(world, BAD, "198.51.100.1").session(40020, 443).segment(0, SYN)


add("outer_address_quarantined", "IPv6 headers and nesting", 16, QUARANTINE, outer(BAD), rule="quarantine", control="outer_control")
add("outer_control", "IPv6 headers and nesting", 16, QUARANTINE, outer_control, rule="quarantine")
add("outer_address_honest", "IPv6 headers and nesting", 16, QUARANTINE, outer("10.0.0.1", False))

# 8. IP that is not in Ethernet II.


def llc(zone, packet_, oui=b"\0\0\0", ethertype=ETH_IPV4, tags=()):
    """IP in LLC/SNAP, with or without tags ahead of the length."""
    body = b"\xaa\xaa\3" + oui + struct.pack(">H", ethertype) + packet_
    head = bytes([2, 0, 0, 0, 0, 3 - zone, 2, 0, 0, 0, 0, zone])
    for kind, tci in tags:
        head += struct.pack(">HH", kind, tci)
    return head + struct.pack(">H", len(body)) + body


def pppoe(zone, packet_, proto=b"\0\x21", session=0x1234):
    head = struct.pack(">BBHH", 0x11, 0, session, len(packet_) + len(proto))
    return link(zone, 0x8864, head + proto + packet_)


_SYN6 = ip(CLIENT6, SERVER6, TCP, tcp(CLIENT6, 40000, SERVER6, 22, 1, 0, SYN))
_LINKS = {
    "snap": lambda zone: llc(zone, _syn()), "snap_v6": lambda zone: llc(zone, _SYN6, ethertype=ETH_IPV6),
    "snap_0000f8": lambda zone: llc(zone, _syn(), oui=b"\0\0\xf8"),
    "snap_behind_vlan_0": lambda zone: llc(zone, _syn(), tags=((ETH_VLAN, 0),)),
    "snap_behind_vlan_5": lambda zone: llc(zone, _syn(), tags=((ETH_VLAN, 5),)),
    "snap_0000f8_behind_vlan_0": lambda zone: llc(zone, _syn(), oui=b"\0\0\xf8", tags=((ETH_VLAN, 0),)),
    "snap_behind_two_tags": lambda zone: llc(zone, _syn(), tags=((ETH_QINQ, 0), (ETH_VLAN, 0))),
    "snap_vlan_inside": lambda zone: llc(zone, b"\0\0" + struct.pack(">H", ETH_IPV4) + _syn(), ethertype=ETH_VLAN),
    "snap_v6_behind_vlan_0": lambda zone: llc(zone, _SYN6, ethertype=ETH_IPV6, tags=((ETH_VLAN, 0),)),
    "pppoe_compressed": lambda zone: pppoe(zone, _syn(), b"\x21"),
    "pppoe_compressed_v6": lambda zone: pppoe(zone, _SYN6, b"\x57"),
    "vlan_0": lambda zone: link(zone, ETH_IPV4, _syn(), ((ETH_VLAN, 0),)),
}
for _name, _frame in _LINKS.items():
    add(f"link_{_name}", "link layers", 8, DENY, denied(_frame), rule="default",
        control="link_plain_pppoe" if "pppoe" in _name else "link_plain_v6" if "v6" in _name else "link_plain")
    add(f"link_{_name}_outside", "link layers", 8, DENY, denied(_frame, OUTSIDE), rule="default",
        control="link_plain_pppoe" if "pppoe" in _name else "link_plain_v6" if "v6" in _name else "link_plain")
add("link_plain", "link layers", 8, DENY, denied(lambda zone: link(zone, ETH_IPV4, _syn())), rule="default")
add("link_plain_v6", "link layers", 8, DENY, denied(lambda zone: link(zone, ETH_IPV6, _SYN6)), rule="default")
add("link_plain_pppoe", "link layers", 8, DENY, denied(lambda zone: pppoe(zone, _syn())), rule="default")


def link_honest(world):
    """BPDUs and other frames without IP."""
    a = bytes([2, 0, 0, 0, 0, INSIDE])
    stp = b"\x42\x42\3" + bytes(35)
    for dst, body in ((b"\1\x80\xc2\0\0\0", stp), (b"\1\0\x0c\xcc\xcc\xcd", b"\xaa\xaa\3\0\0\x0c\1\x0b" + bytes(40)),
                      (b"\1\0\x0c\xcc\xcc\xcc", b"\xaa\xaa\3\0\0\x0c\x20\0" + bytes(40)),
                      (b"\1\x80\xc2\0\0\x14", b"\xfe\xfe\3" + bytes(60))):
        world.add(dst + a + struct.pack(">H", len(body)) + body + bytes(max(0, 46 - len(body))))
    arp = struct.pack(">HHBBH", 1, ETH_IPV4, 6, 4, 1) + a + addr(CLIENT) + bytes(6) + addr("10.0.0.1")
    world.add(b"\xff" * 6 + a + b"\x08\x06" + arp + bytes(18))
    world.add(b"\1\x80\xc2\0\0\x0e" + a + b"\x88\xcc" + bytes.fromhex("0207040200000a00020403053130060200780000") + bytes(26))
    world.add(b"\1\x80\xc2\0\0\2" + a + b"\x88\x09" + b"\1\1\1\x14" + bytes(106))
    world.add(link(INSIDE, 0x8863, bytes.fromhex("11090000000401010000") + bytes(36)))
    world.add(link(INSIDE, 0x8864, struct.pack(">BBHHH", 0x11, 0, 0x1234, 10, 0xC021) + b"\x09\1\0\x08" + bytes(34)))


add("link_honest", "link layers", 8, DEFAULT, link_honest)
add("link_honest_denied", "link layers", 8, DENY, link_honest)

# 14. Networks that use the same addresses.


def tags(*ids):
    return tuple((ETH_QINQ if i == 0 and len(ids) > 1 else ETH_VLAN, tag) for i, tag in enumerate(ids))


def gre(key, ends=("10.0.0.1", "198.51.100.1")):
    def around(direction, ethertype, octets):
        here = ends if direction == 0 else ends[::-1]
        return ETH_IPV4, ipv4(*here, GRE, struct.pack(">HHI", 0x2000, ethertype, key) + octets)
    return around


def pppoe_session(session):
    def around(_direction, ethertype, octets):
        proto = 0x57 if ethertype == ETH_IPV6 else 0x21
        return 0x8864, struct.pack(">BBHHH", 0x11, 0, session, len(octets) + 2, proto) + octets
    return around


_REALMS = {
    "vlan": (dict(tags=tags(5)), dict(tags=tags(6))), "qinq_inner": (dict(tags=tags(5, 10)), dict(tags=tags(5, 20))),
    "qinq_outer": (dict(tags=tags(5, 10)), dict(tags=tags(6, 10))),
    "vlan_and_none": (dict(tags=tags(5)), {}),
    "gre_key": (dict(around=gre(1)), dict(around=gre(2))),
    "gre_ends": (dict(around=gre(1)), dict(around=gre(1, ("10.0.0.3", "198.51.100.3")))),
    "gre_and_none": (dict(around=gre(1)), {}),
    "pppoe": (dict(around=pppoe_session(1)), dict(around=pppoe_session(2))),
}


def realms(one, other, same_port):
    """A peer is blocked in one network; in the other an honest connection uses the same addresses."""
    def build(world):
        bt_refused(world, Talk(world, **one), 40000, 8443)
        world.wait(2)
        tls(Talk(world, **other).session(40000 if same_port else 40001, 8443).open())
    return build


def beside(one, other):
    """Two living connections with the same addresses, ports and other numbers, one in each network."""
    def build(world):
        first = Talk(world, **one).session(40000, 8443, isn=(1000, 2000)).open()
        second = Talk(world, **other).session(40000, 8443, isn=(900_000_000, 800_000_000)).open()
        tls(first, close=False)
        tls(second, close=False)
        first.say(0, noise(300, 1)).close()
        second.say(0, noise(300, 2)).close()
    return build


for _name, (_one, _other) in _REALMS.items():
    add(f"realm_{_name}_same_tuple", "realms", 14, DEFAULT, realms(_one, _other, True), rule="no-file-sharing")
    add(f"realm_{_name}_other_port", "realms", 14, DEFAULT, realms(_one, _other, False), rule="no-file-sharing")
    add(f"realm_{_name}_beside", "realms", 14, DEFAULT, beside(_one, _other))


def same_realm(more):
    """The control: in its own network the peer that comes back is dropped."""
    def build(world):
        bt_refused(world, Talk(world, **more[0]), 40000, 8443)
        world.wait(2)
        world.expect = DROP
        Talk(world, **more[1]).session(40001, 8443).segment(0, SYN)
    return build


add("realm_same_none", "realms", 14, DEFAULT, same_realm(({}, {})), rule="no-file-sharing")
add("realm_same_tags", "realms", 14, DEFAULT, same_realm((dict(tags=tags(5)), dict(tags=tags(5)))), rule="no-file-sharing")
add("realm_vlan_0_is_none", "realms", 14, DEFAULT, same_realm(({}, dict(tags=tags(0)))), rule="no-file-sharing",
    control="realm_same_none")
add("realm_vlan_0_before_5", "realms", 14, DEFAULT, same_realm((dict(tags=tags(5)), dict(tags=((ETH_VLAN, 0), (ETH_VLAN, 5))))),
    rule="no-file-sharing", control="realm_same_tags")
add("realm_priority_is_none", "realms", 14, DEFAULT, same_realm((dict(tags=tags(5)), dict(tags=tags(5 | 5 << 13)))),
    rule="no-file-sharing", control="realm_same_tags")

# 21. Fragments.


def pieces(world, zone, src, dst, proto, payload, size, ident, order=None):
    parts = [(payload[at:at + size], at) for at in range(0, len(payload), size)]
    for i in order or range(len(parts)):
        part, at = parts[i]
        more = at + size < len(payload)
        if ":" in src:
            packet(world, zone, src, dst, proto, part, extensions=((44, struct.pack(">BHI", 0, at | more, ident)),))
        else:
            packet(world, zone, src, dst, proto, part, ident=ident, frag=at // 8 | (0x2000 if more else 0))


def _default_of(name):
    with open(os.path.join(_ROOT, "config", "schema", "gateway.schema.json"), encoding="utf-8") as file:
        found = json.load(file)
    return found["properties"]["fragments"]["properties"][name]["default"]


def fragments_honest(count, v6=False, order=None):
    def build(world):
        a, b = pair(v6)
        for n in range(2):
            payload = udp(a, 4000, b, 9000, noise(count * 512 - 8, n))
            pieces(world, INSIDE, a, b, UDP, payload, 512, 700 + n, order)
    return build


_LIMITS = f"fragments=900,per_datagram={_default_of('per_datagram')}"
for _count in (2, 3, 20, 64, 100, 119):
    add(f"fragments_{_count}", "fragments", 21, DEFAULT, fragments_honest(_count), limits=_LIMITS)
add("fragments_119_v6", "fragments", 21, DEFAULT, fragments_honest(119, True), limits=_LIMITS)
add("fragments_backwards", "fragments", 21, DEFAULT, fragments_honest(20, order=range(19, -1, -1)), limits=_LIMITS)


def fragmented(datagram, size, v6=False):
    """A DHT query in fragments."""
    def build(world):
        a, b = pair(v6)
        world.expect = DROP
        pieces(world, INSIDE, a, b, UDP, udp(a, 51413, b, 6881, datagram), size or 2000, 900)
    return build


add("fragments_none_dht", "fragments", 21, DEFAULT, fragmented(DHT_PING, 0), rule="no-file-sharing")
add("fragments_none_dht_v6", "fragments", 21, DEFAULT, fragmented(DHT_PING, 0, v6=True), rule="no-file-sharing")
for _size in (8, 16, 40):
    add(f"fragments_of_{_size}_dht", "fragments", 21, DEFAULT, fragmented(DHT_PING, _size), rule="no-file-sharing",
        control="fragments_none_dht")
add("fragments_of_8_dht_v6", "fragments", 21, DEFAULT, fragmented(DHT_PING, 8, v6=True), rule="no-file-sharing",
    control="fragments_none_dht_v6")


def gre_fragmented(inner_too, expect=PASS):
    """A datagram in GRE, of which the GRE packet is fragmented; or its inside is, too."""
    def build(world):
        world.expect = expect
        ends = ("10.0.0.1", "198.51.100.1")
        inner = ipv4(CLIENT, SERVER, UDP, udp(CLIENT, 4000, SERVER, 9000, noise(1600, 1)))
        inners = [inner]
        if inner_too:
            datagram = udp(CLIENT, 4000, SERVER, 9000, noise(2400, 1))
            inners = [ipv4(CLIENT, SERVER, UDP, datagram[:1200], ident=5, frag=0x2000),
                      ipv4(CLIENT, SERVER, UDP, datagram[1200:], ident=5, frag=150)]
        for n, octets in enumerate(inners):
            pieces(world, INSIDE, *ends, GRE, struct.pack(">HH", 0, ETH_IPV4) + octets, 800, 40 + n)
    return build


add("fragments_of_gre", "fragments", 21, DEFAULT, gre_fragmented(False))
add("fragments_in_fragments_of_gre", "fragments", 21, DEFAULT, gre_fragmented(True))


def last_octet(world):
    """A tail that brings nothing new, at the very end of a chain."""
    payload = udp(CLIENT, 4000, SERVER, 9000, noise(1592, 3))
    pieces(world, INSIDE, CLIENT, SERVER, UDP, payload, 800, 77)
    world.expect = ANY
    packet(world, INSIDE, CLIENT, SERVER, UDP, b"", ident=78, frag=0x2000)
    packet(world, INSIDE, CLIENT, SERVER, UDP, payload[:800], ident=78, frag=0x2000)
    packet(world, INSIDE, CLIENT, SERVER, UDP, b"", ident=78, frag=100)
    world.expect = PASS
    exchange(world, Talk(world), "dns")


add("fragments_empty_tail", "fragments", 22, DEFAULT, last_octet)
add("http_in_fragments", "fragments", 21, DEFAULT, lambda world: pieces(
    world, INSIDE, CLIENT, SERVER, TCP, tcp(CLIENT, 40000, SERVER, 80, 1, 1, ACK | PSH, HTTP_GET), 24, 99))
