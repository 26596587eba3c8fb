# SPDX-License-Identifier: BSD-3-Clause
"""Attacks on TCP: gaps, one-sided evidence, injected handshakes, resets, late first bytes, full pools."""
from craft import (
    ACK, ANY, CLIENT, DROP, INSIDE, OUTSIDE, PASS, PSH, SERVER, SYN, Talk, add, pair)
from packet.gencaps import bt_handshake, client_hello, noise
from packet.packets import FIN, RST, addr
from speech import (
    ALLOWED, BLOCKED, DEFAULT, DENY, HTTP_GET, HTTP_OK, LEARNED, MONITOR, NAMES, SHAPES, bt_refused, dht_values, refused,
    server_hello, tls)

# 1. A span that stands for missing bytes.


def gap(v6=False, hole=200, by="dht", place=0, answered=True):
    """An inside endpoint is named; then a connection to it with a hole and 65 KiB behind it."""
    def build(world):
        inside, outside = pair(v6) if v6 else ("100.128.7.2", "100.192.7.80")
        port = 51413
        world.expect = ANY
        teller = Talk(world, inside, outside)
        if by == "dht":
            teller.datagram(0, 6881, 6882, b"d1:ad2:id20:" + noise(20, 1) + b"e1:q4:ping1:t2:aa1:y1:qe")
            teller.datagram(1, 6881, 6882, dht_values((addr(inside), port)))
            Talk(world, inside, outside).datagram(1, 6883, 6884, dht_values((addr(inside), port)))
        else:
            teller.datagram(1, 6881, 6882, dht_values((addr(inside), port)))
        attack = Talk(world, outside, inside, client_zone=OUTSIDE).session(40000, port, isn=(1000, 5000)).open()
        for n in range(place):
            attack.say(0, noise(100, n))
        attack.next[0] += hole
        start = attack.next[0]
        for n in range(50):
            attack.segment(0, ACK | PSH, noise(1400, n))
            if answered and n == 20:
                attack.segment(1, ACK, advance=False)  # the receiver acknowledges the hole
        if answered:
            for n in range(4):
                attack.segment(1, ACK | PSH, noise(300, 90 + n))
        attack.segment(0, RST | ACK, seq=start, advance=False)
    return build


for _v6 in (False, True):
    for _name, _policy in (("default", DEFAULT), ("monitor", MONITOR), ("learned", LEARNED)):
        for _by in ("answer", "dht"):
            add(f"gap_{_name}_{_by}{'_v6' if _v6 else ''}", "gap", 1, _policy, gap(_v6, by=_by))
add("gap_one_way", "gap", 1, DEFAULT, gap(answered=False))
add("gap_in_the_middle", "gap", 1, DEFAULT, gap(place=2))
add("gap_of_one_octet", "gap", 1, DEFAULT, gap(hole=1))
add("gap_of_a_prefix", "gap", 1, DEFAULT, gap(hole=4000))


def first_segment_lost(world):
    """Monitor mode: an honest flow to a peer that was named; its first segment is lost before the gateway."""
    world.expect = ANY
    Talk(world).datagram(1, 6881, 6882, dht_values((addr(SERVER), 8443)))
    world.expect = PASS
    session = Talk(world).session(40001, 8443).open()
    hello = client_hello(ALLOWED)
    session.next[0] += len(hello)
    session.segment(1, ACK)
    session.say(0, noise(900, 3))
    session.say(1, noise(1200, 4))
    session.close()


add("gap_first_segment_lost", "gap", 1, MONITOR, first_segment_lost)

# 2. What one side says of a connection that is none.


def forged_segment(zone, flags, wait=1.0, same_port=True, v6=False, answers=False):
    """A forged segment with a peer's handshake, then the victim's own connection to that server."""
    def build(world):
        client, server = pair(v6)
        forger = Talk(world, client, server, zone=zone).session(40000, 443, isn=(7000, 9000))
        world.expect = ANY
        direction = 0 if zone == INSIDE else 1
        forger.segment(direction, flags, bt_handshake(1))
        if answers:
            forger.segment(direction, flags, noise(300, 1))
        world.wait(wait)
        world.expect = PASS
        tls(Talk(world, client, server).session(40000 if same_port else 40001, 443).open())
    return build


def forged_segment_pairs():
    for v6 in (False, True):
        tail = "_v6" if v6 else ""
        for name, zone, flags in (
                ("data_of_client", INSIDE, ACK | PSH), ("data_of_server", OUTSIDE, ACK | PSH),
                ("syn_with_data", INSIDE, SYN), ("syn_ack_with_data", OUTSIDE, SYN | ACK),
                ("fin_with_data", INSIDE, FIN | ACK | PSH)):
            add(f"forged_{name}{tail}", "one-sided TCP", 2, DEFAULT, forged_segment(zone, flags, v6=v6))
        add(f"forged_data_other_port{tail}", "one-sided TCP", 2, DEFAULT,
            forged_segment(INSIDE, ACK | PSH, same_port=False, v6=v6))
    add("forged_data_later", "one-sided TCP", 2, DEFAULT, forged_segment(INSIDE, ACK | PSH, wait=100.0))
    add("forged_data_twice", "one-sided TCP", 2, DEFAULT, forged_segment(INSIDE, ACK | PSH, answers=True))


forged_segment_pairs()


def forged_from_the_other_zone(world):
    """An outside host speaks as the inside client of a server outside: all three segments of a handshake."""
    forger = Talk(world, zone=OUTSIDE).session(40000, 443, isn=(7000, 9000))
    world.expect = ANY
    forger.open()
    forger.segment(0, ACK | PSH, bt_handshake(1))
    forger.segment(1, ACK | PSH, bt_handshake(2))
    world.wait(1)
    world.expect = PASS
    tls(Talk(world).session(40001, 443).open())


add("forged_whole_connection", "one-sided TCP", 2, DEFAULT, forged_from_the_other_zone)


def forged_name(zone):
    """A hello with a refused name that only a forger sent; the victim asks that server for another name."""
    def build(world):
        forger = Talk(world, zone=zone).session(40000, 443, isn=(7000, 9000))
        world.expect = ANY
        forger.segment(0, ACK | PSH, client_hello(BLOCKED))
        world.wait(1)
        world.expect = PASS
        tls(Talk(world).session(40000, 443).open())
    return build


add("forged_hello_inside", "one-sided TCP", 2, NAMES, forged_name(INSIDE))
add("forged_hello_outside", "one-sided TCP", 2, NAMES, forged_name(OUTSIDE))


def answered_then_again(world):
    """The control: both ends speak, so the peer that comes back is dropped by its first packet."""
    bt_refused(world, Talk(world))
    world.wait(5)
    world.expect = DROP
    Talk(world).session(51414, 6881).segment(0, SYN)


def answered_then_again_v6(world):
    bt_refused(world, Talk(world, *pair(True)))
    world.wait(5)
    world.expect = DROP
    Talk(world, *pair(True)).session(51414, 6881).segment(0, SYN)


add("peer_comes_back", "one-sided TCP", 2, DEFAULT, answered_then_again, rule="no-file-sharing")
add("peer_comes_back_v6", "one-sided TCP", 2, DEFAULT, answered_then_again_v6, rule="no-file-sharing")


def tombstone_ends(world):
    """A blocked tuple is not blocked for longer by the packets that it drops: at most 120 s."""
    session = bt_refused(world, Talk(world), 51413, 6881)
    for _ in range(40):
        world.wait(5)
        world.expect = ANY
        session.segment(0, ACK | PSH, noise(50, 1), advance=False)
    world.expect = PASS
    tls(Talk(world).session(51413, 6881).open())


add("tombstone_ends", "one-sided TCP", 2, DEFAULT.replace("'cache':'tuple'", "'cache':'none'"), tombstone_ends,
    rule="no-file-sharing")

# 4. A handshake or its end that a third party injects into a living connection.


def injected(*steps, after=0, opaque=False):
    """steps: (direction, zone, flags, sequence number relative to the next). What the ends send passes."""
    def build(world):
        talk = Talk(world)
        session = talk.session(40000, 443).open()
        if opaque:  # not known yet, so that it is inspected still
            session.say(0, b"\0\1\2" + noise(40, 1)).say(1, b"\0\1\2" + noise(40, 2))
        else:
            tls(session, close=False)
        world.wait(after)
        world.expect = ANY
        believed = list(session.next)
        for direction, zone, flags, seq in steps:
            forger = Talk(world, zone=zone).session(40000, 443)
            forger.next = believed
            forger.segment(direction, flags, seq=(session.next[direction] + seq) & 0xFFFFFFFF, advance=bool(flags & SYN))
        world.expect = PASS
        for n in range(5):
            session.say(n % 2, b"\x17\3\3\1\xf4" + noise(500, 140 + n))
        session.close()
    return build


for _name, _steps in {
        "syn_and_syn_ack": ((0, OUTSIDE, SYN, 70000), (1, OUTSIDE, SYN | ACK, 90000)),
        "syn_in_window": ((0, OUTSIDE, SYN, 100), (1, OUTSIDE, SYN | ACK, 100)),
        "syn_alone": ((0, OUTSIDE, SYN, 70000),),
        "syn_of_the_inside": ((0, INSIDE, SYN, 70000),),
        "syn_ack_alone": ((1, OUTSIDE, SYN | ACK, 70000),),
        "syn_ack_of_the_inside": ((0, OUTSIDE, SYN, 70000), (1, INSIDE, SYN | ACK, 90000)),
        "syn_both_from_inside": ((0, INSIDE, SYN, 70000), (1, INSIDE, SYN | ACK, 90000)),
        "whole_handshake": ((0, OUTSIDE, SYN, 70000), (1, OUTSIDE, SYN | ACK, 90000), (0, OUTSIDE, ACK, 70001)),
        "four_handshakes": ((0, OUTSIDE, SYN, 70000), (1, OUTSIDE, SYN | ACK, 90000)) * 4,
        }.items():
    add(f"inject_{_name}", "SYN injection", 4, DEFAULT, injected(*_steps))
    add(f"inject_{_name}_undecided", "SYN injection", 4, DEFAULT, injected(*_steps, opaque=True))
for _name, _steps in {
        "rst_outside_window": ((1, OUTSIDE, RST, 1 << 30),),
        "rst_in_window": ((1, OUTSIDE, RST, 1000),),
        "rst_of_the_client_from_outside": ((0, OUTSIDE, RST, 0),),
        "fin_ahead": ((1, OUTSIDE, FIN | ACK, 3000),),
        "fin_of_the_client_from_outside": ((0, OUTSIDE, FIN | ACK, 0),),
        "keep_alive": ((0, OUTSIDE, ACK, -1), (1, OUTSIDE, ACK, -1)),
        }.items():
    add(f"inject_{_name}", "RST and FIN injection", 4, DEFAULT, injected(*_steps))
    add(f"inject_{_name}_undecided", "RST and FIN injection", 4, DEFAULT, injected(*_steps, opaque=True))
add("inject_after_ten_minutes", "SYN injection", 4, DEFAULT,
    injected((0, OUTSIDE, SYN, 70000), (1, OUTSIDE, SYN | ACK, 90000), after=600))


def tuple_reused(world):
    """Honest: a connection ends, and the same ports are used again."""
    talk = Talk(world)
    tls(talk.session(40000, 443).open())
    world.wait(70)
    tls(talk.session(40000, 443, isn=(500_000, 900_000)).open())


add("tuple_reused", "SYN injection", 4, DEFAULT, tuple_reused)


def refused_behind(*steps, rule, first):
    """The ends hide what is refused behind segments that only the gateway shall believe."""
    def build(world):
        talk = Talk(world)
        session = talk.session(40000, 6881 if rule == "no-file-sharing" else 443).open()
        world.expect = ANY
        before, believed = list(session.next), list(session.next)
        for direction, zone, flags, seq, ttl in steps:
            forger = Talk(world, zone=zone, ttl=ttl).session(*session.ports)
            forger.next = believed
            forger.segment(direction, flags, seq=(before[direction] + seq) & 0xFFFFFFFF, advance=bool(flags & SYN))
        refused(world, session, first)
    return build


def hidden_pairs():
    tricks = {
        "rst_low_ttl": ((0, INSIDE, RST, 0, 1),),
        "rst_of_server": ((1, OUTSIDE, RST, 0, 1),),
        "rst_both": ((0, INSIDE, RST | ACK, 0, 1), (1, OUTSIDE, RST | ACK, 0, 1)),
        "fin_low_ttl": ((0, INSIDE, FIN | ACK, 0, 1),),
        "fin_both": ((0, INSIDE, FIN | ACK, 0, 1), (1, OUTSIDE, FIN | ACK, 0, 1)),
        "syn_again": ((0, INSIDE, SYN, 5000, 1),),
        "syn_and_answer": ((0, INSIDE, SYN, 70000, 1), (1, OUTSIDE, SYN | ACK, 90000, 1)),
        "keep_alive": ((0, INSIDE, ACK, -1, 64),),
    }
    for policy, rule, first, word in ((NAMES, "no-blocked", client_hello(BLOCKED), "name"),
                                      (DEFAULT, "no-file-sharing", bt_handshake(1), "peer")):
        add(f"hidden_{word}_control", "RST and FIN injection", 4, policy, refused_behind(rule=rule, first=first), rule=rule)
        for name, steps in tricks.items():
            add(f"hidden_{word}_{name}", "RST and FIN injection", 4, policy, refused_behind(*steps, rule=rule, first=first),
                rule=rule, control=f"hidden_{word}_control")


hidden_pairs()

# 13. The first byte comes late.


def mse(idle, sport=51999):
    def build(world):
        session = Talk(world).session(40100, sport).open()
        world.wait(idle)
        session.say(0, noise(300, 201))
        session.say(1, noise(420, 202))
        world.expect = DROP
        session.segment(0, ACK | PSH, noise(124, 203))
        world.expect = PASS
    return build


def own_pattern(idle):
    def build(world):
        session = Talk(world).session(40101, 7777).open()
        world.wait(idle)
        refused(world, session, b"OWN/2 hello\r\n")
    return build


add("mse_at_once", "late first byte", 13, SHAPES, mse(0), rule="no-shapes")
add("own_pattern_at_once", "late first byte", 13, NAMES, own_pattern(0), rule="no-blocked")
for _idle in (35, 61, 300):
    add(f"mse_after_{_idle}_s", "late first byte", 13, SHAPES, mse(_idle), rule="no-shapes", control="mse_at_once")
    add(f"own_pattern_after_{_idle}_s", "late first byte", 13, NAMES, own_pattern(_idle), rule="no-blocked",
        control="own_pattern_at_once")


def late_honest():
    def build(world):
        session = Talk(world).session(40102, 443).open()
        world.wait(45)
        tls(session)
        ssh = Talk(world).session(40103, 22).open()
        ssh.say(1, b"SSH-2.0-OpenSSH_9.2p1\r\n").say(0, b"SSH-2.0-OpenSSH_9.2p1\r\n")
        world.wait(600)
        ssh.say(0, noise(64, 5)).say(1, noise(64, 6)).close()
    return build


add("late_honest_default", "late first byte", 13, DEFAULT, late_honest())
add("late_honest_shapes", "late first byte", 13, SHAPES, late_honest())

# 3. Small pools that one sender fills.


def flood(count, zone, payload=b"x", victim=None, v6=False):
    """One-byte segments of connections that do not exist."""
    def fill(world):
        world.expect = ANY
        for n in range(count):
            client = (f"2001:db8:9::{n + 1:x}" if v6 else f"198.18.{n // 250}.{n % 250 + 1}") if not victim else victim
            server = pair(v6)[1] if zone == INSIDE else pair(v6)[0]
            forger = Talk(world, client, server, zone=zone).session(20000 + n, 9999, isn=(n * 7919, 1))
            forger.segment(0, ACK | PSH, payload)
        world.expect = PASS
    return fill


def flood_then(fill, then, wait=0):
    def build(world):
        fill(world)
        world.wait(wait)
        then(world)
    return build


def _honest(world):
    """Hellos in two segments: a flow that its first payload does not decide takes a state."""
    for n in range(3):
        session = Talk(world).session(40200 + n, 443).open()
        session.say(0, client_hello(ALLOWED)[:60]).say(0, client_hello(ALLOWED)[60:]).say(1, server_hello())
        session.close()
    session = Talk(world).session(40300, 80).open()
    session.say(0, HTTP_GET).say(1, HTTP_OK).close()


def _peer(world):
    session = Talk(world).session(51500, 6881).open()
    world.expect = ANY
    session.segment(0, ACK | PSH, bt_handshake(1)[:12])
    refused(world, session, bt_handshake(1)[12:])


_SMALL = "classifying=16,flows=64,tracks=64"
for _name, _fill in {
        "inside": flood(48, INSIDE), "outside": flood(48, OUTSIDE), "slash64": flood(48, OUTSIDE, v6=True),
        "victim": flood(48, INSIDE, victim=CLIENT), "outside_200": flood(200, OUTSIDE)}.items():
    add(f"flood_{_name}_honest", "floods", 3, DEFAULT, flood_then(_fill, _honest), limits=_SMALL)
    add(f"flood_{_name}_peer", "floods", 3, DEFAULT, flood_then(_fill, _peer), rule="no-file-sharing",
        control="flood_none_peer", limits=_SMALL)
add("flood_none_peer", "floods", 3, DEFAULT, _peer, rule="no-file-sharing", limits=_SMALL)
add("flood_a_minute_ago", "floods", 3, DEFAULT, flood_then(flood(200, OUTSIDE), _honest, 60), limits=_SMALL)


def flood_beside(world):
    """An established connection outlives a flood."""
    session = tls(Talk(world).session(40400, 443).open(), close=False)
    flood(200, OUTSIDE)(world)
    world.expect = PASS
    for n in range(4):
        session.say(n % 2, noise(500, 300 + n))
    session.close()


add("flood_beside_a_connection", "floods", 3, DEFAULT, flood_beside, limits=_SMALL)


def deny_one_way(world):
    """A deny policy: what is not allowed does not leave, whatever its flags."""
    world.expect = DROP
    for n, flags in enumerate((ACK | PSH, SYN, SYN | ACK, FIN | ACK, RST, RST | ACK)):
        Talk(world).session(40500 + n, 8080).segment(0, flags)


add("deny_any_flags", "one-sided TCP", 2, DENY, deny_one_way, rule="default")
