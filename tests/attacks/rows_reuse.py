# SPDX-License-Identifier: BSD-3-Clause
"""Ports that are used again: the same initial number, handshakes that are completed late, and what honest ends do so."""
import struct

from craft import ACK, ANY, DROP, OUTSIDE, PASS, PSH, SYN, Talk, add
from packet.gencaps import bt_handshake
from packet.packets import FIN
from rows_names import hello
from speech import DEFAULT, HTTP_GET, HTTP_OK, NAMES, server_hello, tls

_OPTIONS = struct.pack(">BBH", 2, 4, 1460) + b"\1\3\3\7"
_CLIENT, _SERVER = 1000, 0xFFFFF000  # what sessions begin with
_OTHER = 0x23456789
_MIDSTREAM_DROPPED = NAMES + ",'tcp':{'midstream':'drop'}"
_LINUX_S = (1, 3, 7, 15, 31)  # when Linux sends a SYN-ACK again


def said(session, direction, flags, seq, ack=0, **more):
    """A segment with any numbers."""
    kept, session.next = session.next, [0, 0]
    session.next[1 - direction] = ack & 0xFFFFFFFF
    session.segment(direction, flags, seq=seq & 0xFFFFFFFF, advance=False, **more)
    session.next = kept


def again(wait=0, old="tls", close=True, isn=None, server=_OTHER, alive=True, retries=_LINUX_S, payload=None, port=443):
    """A connection that the policy lets pass, closed or not; then its ports again. isn: of the client, None: the next
    number. wait: seconds between the SYN and the last part of the handshake. alive: the old connection is meanwhile."""
    def build(world):
        talk = Talk(world)
        world.expect = ANY
        session = talk.session(40443, port).open()
        if old == "tls":
            tls(session, close=False, records=12)
        if close:
            session.close()
        end = session.next[0]
        anew = talk.session(40443, port, isn=((end - 1 if isn is None else isn) & 0xFFFFFFFF, server))
        anew.segment(0, SYN, options=_OPTIONS)
        anew.segment(1, SYN | ACK, options=_OPTIONS)
        for second in range(1, wait + 1):
            world.wait(1)
            if second in retries:
                anew.segment(1, SYN | ACK, options=_OPTIONS, seq=server, advance=False)
            if alive and second % 8 == 0:
                session.segment(0, ACK, seq=(end - 1) & 0xFFFFFFFF, advance=False)
        anew.segment(0, ACK)
        world.expect = DROP
        anew.segment(0, ACK | PSH, payload or hello())
        world.expect = ANY
        anew.segment(1, ACK | PSH, bt_handshake(2) if payload else server_hello())
    return build


_MORE = {"rule": "no-blocked", "control": "tls_plain"}
for _state, _close in (("closed", True), ("open", False)):
    for _isn, _name in ((_CLIENT, "same"), (None, "next"), (777777, "any")):
        add(f"again_{_name}_{_state}", "reused ports", 23, NAMES, again(close=_close, isn=_isn), **_MORE)
    for _at in (5, 12):
        add(f"again_same_{_state}_{_at}_s", "reused ports", 23, NAMES, again(_at, close=_close, isn=_CLIENT, retries=()), **_MORE)
    add(f"again_same_{_state}_rested", "reused ports", 23, NAMES, again(12, close=_close, isn=_CLIENT, retries=(), alive=False), **_MORE)
    add(f"again_same_both_{_state}", "reused ports", 23, NAMES, again(close=_close, isn=_CLIENT, server=_SERVER), **_MORE)
    for _at in (33, 61, 62, 63):
        add(f"again_{_state}_after_{_at}_s", "reused ports", 24, NAMES, again(_at, close=_close), **_MORE)
    add(f"again_{_state}_after_240_s", "reused ports", 24, NAMES,
        again(240, close=_close, retries=_LINUX_S + (63, 127)), **_MORE)
add("again_rested_after_62_s", "reused ports", 24, NAMES, again(62, alive=False), **_MORE)
add("again_empty_same", "reused ports", 23, NAMES, again(old="none", isn=_CLIENT), **_MORE)
add("again_peer_control", "reused ports", 23, DEFAULT, again(isn=777777, payload=bt_handshake(1), port=6881), rule="no-file-sharing")
add("again_peer_same", "reused ports", 23, DEFAULT, again(isn=_CLIENT, payload=bt_handshake(1), port=6881), rule="no-file-sharing",
    control="again_peer_control")
add("again_late_control", "reused ports", 24, _MIDSTREAM_DROPPED, again(isn=777777), rule="no-blocked")
for _state, _close in (("closed", True), ("open", False)):
    add(f"again_late_no_midstream_{_state}", "reused ports", 24, _MIDSTREAM_DROPPED, again(62, close=_close), rule="no-blocked",
        control="again_late_control")


def again_inspected(requests):
    """The old connection is still under inspection."""
    def build(world):
        talk = Talk(world)
        world.expect = ANY
        session = talk.session(40080, 80).open()
        for _ in range(requests):
            session.say(0, HTTP_GET).say(1, HTTP_OK)
        session.close()
        anew = talk.session(40080, 80, isn=(_CLIENT, _OTHER)).open()
        world.expect = DROP
        anew.segment(0, ACK | PSH, HTTP_GET.replace(b"allowed", b"blocked"))
    return build


for _n in (1, 30):
    add(f"again_same_behind_{_n}_requests", "reused ports", 23, NAMES, again_inspected(_n), rule="no-blocked", control="http_plain")

# What honest ends do: all of it passes, and the connection that lives stays what it is.


def copies(*parts, times=3):
    """Copies of a connection's own handshake come late; who gets one answers with a challenge (RFC 5961 section 4)."""
    def build(world):
        session = tls(Talk(world).session(40443, 443).open(), close=False, records=12)
        for _ in range(times):
            for part in parts:
                if part == "syn":
                    said(session, 0, SYN, _CLIENT)
                    session.segment(1, ACK)
                else:
                    said(session, 1, SYN | ACK, _SERVER, _CLIENT + 1)
                    session.segment(0, ACK)
            world.wait(1)
        for n in range(6):
            session.say(n % 2, b"\x17\3\3\1\xf4" + bytes([n]) * 500)
        session.close()
    return build


add("copy_of_syn", "reused ports", 23, _MIDSTREAM_DROPPED, copies("syn"))
add("copy_of_syn_ack", "reused ports", 23, _MIDSTREAM_DROPPED, copies("syn_ack"))
add("copies_of_handshake", "reused ports", 23, _MIDSTREAM_DROPPED, copies("syn", "syn_ack"))


def honest_again(close=True, isn=(900_000, 700_000), lost=0, both=False, cookie=False):
    """The ports again, for what passes: in TIME-WAIT (RFC 6191), with segments that are lost, opened from both ends, with
    a server that begins with the number that it had."""
    def build(world):
        talk = Talk(world)
        session = talk.session(40443, 443, isn=(_CLIENT, 700_000 if cookie else _SERVER)).open()
        tls(session, close=close, records=12)
        world.wait(2)
        anew = talk.session(40443, 443, isn=isn)
        for _ in range(lost + 1):
            said(anew, 0, SYN, isn[0], options=_OPTIONS)
            world.wait(1)
        anew.next[0] = isn[0] + 1
        if both:
            said(anew, 1, SYN, isn[1], options=_OPTIONS)
            said(anew, 0, SYN | ACK, isn[0], isn[1] + 1, options=_OPTIONS)
        for _ in range(lost + 1):
            said(anew, 1, SYN | ACK, isn[1], isn[0] + 1, options=_OPTIONS)
            world.wait(1)
        anew.next[1] = isn[1] + 1
        anew.segment(0, ACK)
        tls(anew, records=6)
    return build


for _name, _more in {"next": {}, "same_number": {"isn": (_CLIENT, 700_000)}, "cookie": {"isn": (_CLIENT, 700_000), "cookie": True},
                     "lost": {"lost": 2}, "same_number_lost": {"isn": (_CLIENT, 700_000), "lost": 2}, "both_begin": {"both": True},
                     "reset_before": {"close": False}}.items():
    add(f"honest_again_{_name}", "reused ports", 23, _MIDSTREAM_DROPPED, honest_again(**_more))


def forged_again(flags, numbers):
    """One outside forges SYN-ACKs, or SYNs and SYN-ACKs, in a server's name, while an honest connection goes on."""
    def build(world):
        session = tls(Talk(world).session(40443, 443).open(), close=False, records=12)
        for n in range(8):
            world.expect = ANY
            for flag in flags:
                forger = Talk(world, zone=OUTSIDE).session(40443, 443)
                said(forger, 1, flag, numbers[0] + n, numbers[1])
            world.expect = PASS
            session.say(n % 2, b"\x17\3\3\1\xf4" + bytes([n]) * 500)
            world.wait(40)
        session.close()
    return build


for _name, _flags in {"syn_acks": (SYN | ACK,), "both": (SYN, SYN | ACK), "resets_too": (SYN, SYN | ACK, FIN | ACK)}.items():
    add(f"forged_again_{_name}", "reused ports", 24, _MIDSTREAM_DROPPED, forged_again(_flags, (_SERVER, _CLIENT + 1)))

