# SPDX-License-Identifier: BSD-3-Clause
"""Attacks on datagrams: one-sided evidence, decoys, learned endpoints, DHT dictionaries."""
import struct

from craft import ANY, CLIENT, DROP, INSIDE, OUTSIDE, PASS, SERVER, Talk, add, crypto_frame, pair, quic_initial
from packet.gencaps import INFO_HASH, noise
from packet.packets import addr
from speech import (
    ALLOWED, DEFAULT, DHT_PING, DHT_PONG, DNS, DNS_NAMES, GET_PEERS, HONEST_UDP, LEARNED, STUN, SYSLOG, WIREGUARD, dht_values, exchange,
    hello_of_quic, tls)

# 2. A forged datagram between fixed ports.


def forged(name, zone, when="before", payload=DHT_PING, v6=False, times=20, pause=25.0):
    def build(world):
        _, cport, sport = HONEST_UDP[name]
        talk = Talk(world, *pair(v6))
        forger = Talk(world, *pair(v6), zone=zone)
        if when == "amid":
            exchange(world, talk, name, 2, 1)
        world.expect = ANY
        forger.datagram(0 if zone == INSIDE else 1, cport, sport, payload)
        world.wait(0.5)
        world.expect = PASS
        exchange(world, talk, name, times, pause)
    return build


for _name in HONEST_UDP:
    for _zone, _word in ((INSIDE, "inside"), (OUTSIDE, "outside")):
        add(f"forged_dht_{_name}_{_word}", "one-sided UDP", 2, DEFAULT,
            forged(_name, _zone, payload=DHT_PING if _zone == INSIDE else DHT_PONG))
for _name in ("wireguard", "sip", "ike"):
    add(f"forged_dht_amid_{_name}", "one-sided UDP", 2, DEFAULT, forged(_name, OUTSIDE, "amid", DHT_PONG))
    add(f"forged_dht_amid_{_name}_inside", "one-sided UDP", 2, DEFAULT, forged(_name, INSIDE, "amid"))
add("forged_dht_wireguard_v6", "one-sided UDP", 2, DEFAULT, forged("wireguard", INSIDE, v6=True))
add("forged_dht_seven_hours", "one-sided UDP", 2, DEFAULT, forged("wireguard", INSIDE, times=250, pause=100.0))


def dht_in_clear(v6):
    def build(world):
        talk = Talk(world, *pair(v6))
        world.expect = DROP
        talk.datagram(0, 51820, 51820, DHT_PING)
        world.expect = ANY
        talk.datagram(1, 51820, 51820, DHT_PONG)
        world.expect = DROP
        talk.datagram(0, 51820, 51820, GET_PEERS)
    return build


add("dht_in_clear", "one-sided UDP", 2, DEFAULT, dht_in_clear(False), rule="no-file-sharing")
add("dht_in_clear_v6", "one-sided UDP", 2, DEFAULT, dht_in_clear(True), rule="no-file-sharing")

# 9. Decoys.


def decoyed(decoys, answers=()):
    """Decoys of the client (and of the server), then a DHT exchange on the same ports."""
    def build(world):
        talk = Talk(world)
        world.expect = ANY
        for decoy in decoys:
            talk.datagram(0, 51413, 6881, decoy)
        for decoy in answers:
            talk.datagram(1, 51413, 6881, decoy)
        talk.datagram(0, 51413, 6881, DHT_PING)  # one of one side: the answer is what must not pass
        world.expect = DROP
        talk.datagram(1, 51413, 6881, DHT_PONG)
        world.expect = ANY
        for n in range(70):
            talk.datagram(0, 51413, 6881, GET_PEERS)
            talk.datagram(1, 51413, 6881, dht_values((bytes([203, 0, 113, 7]), 6881)))
        world.expect = DROP
        talk.datagram(0, 51413, 6881, DHT_PING.replace(b"1:t2:aa", b"1:t2:zz"))  # none of those before
        talk.datagram(1, 51413, 6881, DHT_PONG)
    return build


add("decoy_none", "UDP decoys", 9, DEFAULT, decoyed(()), rule="no-file-sharing")
for _name, _decoys in {
        "wireguard": WIREGUARD[:1], "wireguard_data": (b"\4\0\0\0" + noise(92, 1),), "syslog": SYSLOG, "dns": DNS[:1],
        "stun": STUN[:1], "ten_of_one_byte": (b"x",) * 10, "ten_of_noise": tuple(noise(60, n) for n in range(10)),
        "quic": (b"\xc3\0\0\0\1\x08" + noise(1194, 1),), "empty": (b"",) * 12}.items():
    add(f"decoy_{_name}", "UDP decoys", 9, DEFAULT, decoyed(_decoys), rule="no-file-sharing", control="decoy_none")


def decoyed_utp(decoys):
    """The same with uTP, which carries a peer's handshake."""
    def build(world):
        talk = Talk(world)
        world.expect = ANY
        for decoy in decoys:
            talk.datagram(0, 51413, 6881, decoy)

        def utp(direction, kind, connection, seq, ack, payload=b""):
            talk.datagram(direction, 51413, 6881, struct.pack(
                ">BBHIIIHH", kind << 4 | 1, 0, connection, seq * 1000, 500, 0x40000, seq, ack) + payload)

        utp(0, 4, 700, 1, 0)
        utp(1, 2, 700, 9000, 1)
        world.expect = DROP
        utp(0, 0, 701, 2, 8999, b"\x13BitTorrent protocol" + bytes(8) + INFO_HASH + b"-SL0100-" + noise(12, 1))
        utp(1, 0, 700, 9000, 2, b"\x13BitTorrent protocol" + bytes(8) + INFO_HASH + b"-SL0100-" + noise(12, 2))
    return build


add("utp_plain", "UDP decoys", 9, DEFAULT, decoyed_utp(()), rule="no-file-sharing")
for _name, _decoys in {"wireguard": WIREGUARD[:1], "syslog": SYSLOG, "dns": DNS[:1], "ten_of_one_byte": (b"x",) * 10}.items():
    add(f"utp_behind_{_name}", "UDP decoys", 9, DEFAULT, decoyed_utp(_decoys), rule="no-file-sharing", control="utp_plain")


def one_way(payloads, port, times):
    def build(world):
        for n in range(times):
            Talk(world).datagram(0, port, port, payloads[n % len(payloads)])
            world.wait(1)
    return build


add("syslog_one_way", "UDP decoys", 9, DEFAULT, one_way(SYSLOG, 514, 300))
add("noise_one_way", "UDP decoys", 9, DEFAULT, one_way([noise(200, n) for n in range(50)], 5004, 300))
for _name in HONEST_UDP:
    add(f"honest_{_name}", "UDP decoys", 9, DEFAULT,
        lambda world, name=_name: exchange(world, Talk(world), name, 40, 30.0))

# 20. Endpoints and names that a forger tells.


def opaque(n):
    """Payload that is no known application: the client's looks like chance, as a peer's would that hides, the server's
    does not."""
    return b"measured value %d; " % n * 12 if n % 2 else b"\0\1\2" + noise(200, n)


def told(asked):
    """A DHT answer names the server; the client then speaks to it, without an application of its own."""
    def tell(world):
        node = Talk(world, CLIENT, "203.0.113.9")
        world.expect = ANY
        if asked:
            node.datagram(0, 51413, 6881, GET_PEERS)
        node.datagram(1, 51413, 6881, dht_values((addr(SERVER), 8443)))
        world.wait(1)
        world.expect = PASS
    return tell


def opaque_refused(world):
    """The label is the only thing that is known of this connection; its first payload does not leave."""
    world.expect = ANY
    session = Talk(world).session(40000, 8443).open()
    world.expect = DROP
    session.segment(0, 0x18, opaque(0))


def forged_answer_honest(world):
    told(False)(world)
    tls(Talk(world).session(40000, 8443).open())


def forged_answer_opaque(world):
    """What is said there is no known application: nothing but the forged answer speaks against it."""
    told(False)(world)
    session = Talk(world).session(40000, 8443).open()
    for n in range(8):
        session.say(n % 2, opaque(n))
    session.close()


def other_transaction(world):
    """Asked, but the answer carries another transaction."""
    node = Talk(world, CLIENT, "203.0.113.9")
    node.datagram(0, 51413, 6881, GET_PEERS)
    world.expect = ANY
    node.datagram(1, 51413, 6881, dht_values((addr(SERVER), 8443), transaction=b"zz"))
    world.expect = PASS
    session = Talk(world).session(40000, 8443).open()
    for n in range(8):
        session.say(n % 2, opaque(n))
    session.close()


def true_answer(world):
    told(True)(world)
    opaque_refused(world)


add("forged_answer_tls", "learned endpoints", 20, LEARNED, forged_answer_honest)
add("forged_answer_opaque", "learned endpoints", 20, LEARNED, forged_answer_opaque)
add("forged_answer_transaction", "learned endpoints", 20, LEARNED, other_transaction)
add("true_answer", "learned endpoints", 20, LEARNED, true_answer, rule="no-learned")


def unlearned(trick):
    """A peer was named by a true answer; a forged segment shall not make the gateway forget it."""
    def build(world):
        told(True)(world)
        if trick:
            world.expect = ANY
            forger = Talk(world, "10.0.0.7", SERVER, zone=INSIDE).session(40050, 8443, isn=(5, 6))
            forger.segment(0, 0x18, b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
            forger = Talk(world, "10.0.0.7", SERVER, zone=OUTSIDE).session(40051, 8443, isn=(5, 6))
            forger.segment(1, 0x18, b"SSH-2.0-OpenSSH_9.2p1\r\n")
        opaque_refused(world)
    return build


add("unlearned_by_a_forger", "learned endpoints", 2, LEARNED, unlearned(True), rule="no-learned", control="unlearned_control")
add("unlearned_control", "learned endpoints", 2, LEARNED, unlearned(False), rule="no-learned")


def dns_answer(name, address):
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"
    question = labels + struct.pack(">HH", 1, 1)
    return (struct.pack(">HHHHHH", 0x1234, 0x0100, 1, 0, 0, 0) + question,
            struct.pack(">HHHHHH", 0x1234, 0x8180, 1, 1, 0, 0) + question
            + struct.pack(">HHHIH4s", 0xC00C, 1, 1, 300, 4, addr(address)))


def dns_told(asked, ident=0x1234):
    def build(world):
        query, answer = dns_answer("www.blocked.example", SERVER)
        talk = Talk(world, CLIENT, "192.0.2.53")
        if asked:
            talk.datagram(0, 40053, 53, query)
        world.expect = PASS if asked and ident == 0x1234 else ANY
        talk.datagram(1, 40053, 53, struct.pack(">H", ident) + answer[2:])
        world.wait(1)
        real = asked and ident == 0x1234
        world.expect = PASS
        session = Talk(world).session(40000, 8443)
        if real:
            opaque_refused(world)
            return
        session.open()
        for n in range(8):
            session.say(n % 2, opaque(n))
        session.close()
    return build


add("forged_name_unasked", "learned endpoints", 20, DNS_NAMES, dns_told(False))
add("forged_name_other_id", "learned endpoints", 20, DNS_NAMES, dns_told(True, 0x4321))
add("true_name", "learned endpoints", 20, DNS_NAMES, dns_told(True), rule="no-blocked")

# 17. DHT dictionaries.


def _bencode(value):
    if isinstance(value, int):
        return b"i%de" % value
    if isinstance(value, bytes):
        return b"%d:" % len(value) + value
    if isinstance(value, list):
        return b"l" + b"".join(map(_bencode, value)) + b"e"
    return b"d" + b"".join(_bencode(key) + _bencode(item) for key, item in sorted(value.items())) + b"e"


def _nested(depth, kind=list):
    value = 1
    for _ in range(depth):
        value = [value] if kind is list else {b"a": value}
    return value


def dictionary(message):
    def build(world):
        world.expect = DROP
        Talk(world).datagram(0, 51413, 6881, message)
        Talk(world).datagram(0, 51413, 6881, message)
    return build


_QUERY = {b"a": {b"id": noise(20, 11), b"info_hash": INFO_HASH}, b"q": b"get_peers", b"t": b"ab", b"y": b"q"}
add("dht_plain", "DHT dictionaries", 17, DEFAULT, dictionary(_bencode(_QUERY)), rule="no-file-sharing")
for _name, _more in {
        "unknown_first_key": {b"0": b"x"}, "unknown_first_list": {b"0": [1, 2]}, "unknown_first_empty": {b"": 1},
        "nested_nine": {b"0": _nested(9)}, "nested_nine_dictionaries": {b"0": _nested(9, dict)},
        "nested_hundred": {b"0": _nested(100)}, "nested_in_the_end": {b"z": _nested(40)},
        "version_first": {b"A": b"LT", b"ip": noise(6, 1)}, "long_first_value": {b"0": noise(600, 1)}}.items():
    add(f"dht_{_name}", "DHT dictionaries", 17, DEFAULT, dictionary(_bencode({**_QUERY, **_more})),
        rule="no-file-sharing", control="dht_plain")


def bencode_of_others(world):
    """Dictionaries that are no DHT messages pass."""
    talk = Talk(world)
    for n, message in enumerate(({b"hello": b"world", b"list": [1, 2, 3]}, {b"a": 1, b"b": 2}, {b"type": b"ping", b"zz": 1})):
        for direction in (0, 1):
            talk.datagram(direction, 40600 + n, 9000, _bencode(message))


add("bencode_of_others", "DHT dictionaries", 17, DEFAULT, bencode_of_others)


# What is no application by itself beside a forged datagram: parts of a hello, noise.
for _name, _payloads in {
        "quic_in_parts": (quic_initial(crypto_frame(hello_of_quic(ALLOWED)[:50]), b"12345678"), quic_initial(b"\2\0\0\0\0", b"\x11" * 8, server=True, keyed_by=b"12345678"), quic_initial(crypto_frame(hello_of_quic(ALLOWED)[50:], 50), b"12345678", 1)),
        "noise": tuple(noise(300, 500 + n) for n in range(4)), "text": tuple(b"measured value %d" % n * 9 for n in range(4))}.items():
    HONEST_UDP[_name] = (_payloads, 40090, 4433)
    for _zone, _word in ((INSIDE, "inside"), (OUTSIDE, "outside")):
        add(f"forged_dht_{_name}_{_word}", "one-sided UDP", 2, DEFAULT,
            forged(_name, _zone, payload=DHT_PING if _zone == INSIDE else DHT_PONG, times=6))
