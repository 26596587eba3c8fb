# SPDX-License-Identifier: BSD-3-Clause
"""Names that a client asks for, hidden: QUIC, TLS, HTTP."""
import struct

from craft import ACK, ANY, DROP, PASS, PSH, Talk, add, crypto_frame, quic_initial
from packet.gencaps import client_hello, noise
from speech import (
    ALLOWED, BLOCKED, HTTP_GET, HTTP_OK, NAMES, hello_of_quic, quic_client, quic_server, refused, server_hello, tls)

DCID, OTHER = b"\x83\x94\xc8\xf0\x3e\x51\x57\x08", b"\x01\x02\x03\x04\x05\x06\x07\x08"

# 10. QUIC.


def quic(before, hello=None):
    """Datagrams of the client ahead of its hello. What makes the hello whole does not leave, nor when it is sent again:
    a server that has not got it answers nothing."""
    def build(world):
        talk = Talk(world)
        world.expect = ANY
        for datagram in before:
            talk.datagram(0, 40443, 443, datagram)
        hellos = hello or (quic_client(BLOCKED),)
        for datagram in hellos[:-1]:
            talk.datagram(0, 40443, 443, datagram)
        world.expect = DROP
        for _ in range(3):
            talk.datagram(0, 40443, 443, hellos[-1])
            world.wait(1)
    return build


_PING = quic_initial(b"\1", DCID)
_SHORT = quic_client("www.allowed.example", size=600)
_TRICKS = {
    "junk": (noise(1200, 1),), "junk_short": (b"\xc3" + noise(40, 1),), "junk_ten": tuple(noise(1200, n) for n in range(10)),
    "one_byte": (b"x",), "small_initial_other_name": (_SHORT,), "ping": (_PING,),
    "ping_eight": tuple(quic_initial(b"\1", DCID, number=n) for n in range(8)),
    "other_keys": (quic_client("www.allowed.example", dcid=OTHER, size=1100),),
    "bad_tag": (quic_client("www.allowed.example")[:-1] + b"\0",),
    "version_0": (b"\xc0\0\0\0\0\x08" + DCID + b"\0\0\0\0\1",),
    "unknown_version": (b"\xc0\x0a\x0a\x0a\x0a\x08" + DCID + b"\0" + noise(1180, 5),),
    "short_dcid": (quic_initial(crypto_frame(hello_of_quic(ALLOWED)), b"\1\2\3\4"),),
    "handshake_first": (b"\xe3\0\0\0\1\x08" + DCID + b"\0" + noise(1180, 4),),
}
add("quic_plain", "QUIC names", 10, NAMES, quic(()), rule="no-blocked")
for _name, _before in _TRICKS.items():
    add(f"quic_behind_{_name}", "QUIC names", 10, NAMES, quic(_before), rule="no-blocked", control="quic_plain")
_HELLO = hello_of_quic(BLOCKED)
for _name, _hello in {
        "in_two_frames": (quic_initial(crypto_frame(_HELLO[:50]) + crypto_frame(_HELLO[50:], 50), DCID),),
        "backwards": (quic_initial(crypto_frame(_HELLO[50:], 50) + b"\1" + crypto_frame(_HELLO[:50]), DCID),),
        "in_two_datagrams": (quic_initial(crypto_frame(_HELLO[:50]), DCID), quic_initial(crypto_frame(_HELLO[50:], 50), DCID, 1)),
        "second_first": (quic_initial(crypto_frame(_HELLO[50:], 50), DCID, 1), quic_initial(crypto_frame(_HELLO[:50]), DCID)),
        }.items():
    add(f"quic_{_name}", "QUIC names", 10, NAMES, quic((), _hello), rule="no-blocked", control="quic_plain")


def quic_honest(before=(), name=ALLOWED):
    def build(world):
        talk = Talk(world)
        for datagram in before:
            talk.datagram(0, 40443, 443, datagram)
        talk.datagram(0, 40443, 443, quic_client(name))
        talk.datagram(1, 40443, 443, quic_server())
        for n in range(20):
            talk.datagram(n % 2, 40443, 443, b"\x43" + noise(300 + n, n))
    return build


add("quic_honest", "QUIC names", 10, NAMES, quic_honest())
add("quic_honest_again", "QUIC names", 10, NAMES, quic_honest((quic_client(ALLOWED),)))
add("quic_honest_ping", "QUIC names", 10, NAMES, quic_honest((_PING,)))


def quic_forged_name(world):
    """A datagram below 1,200 bytes with a refused name, which a server must discard, does no harm."""
    talk = Talk(world)
    world.expect = ANY
    talk.datagram(0, 40443, 443, quic_client(BLOCKED, size=500))
    world.expect = PASS
    quic_honest()(world)


add("quic_small_forged_name", "QUIC names", 10, NAMES, quic_forged_name)

def quic_forged_whole(world):
    """A whole hello with a refused name that somebody else has sent; the client's own asks for another one."""
    talk = Talk(world)
    world.expect = ANY
    talk.datagram(0, 40443, 443, quic_client(BLOCKED, dcid=OTHER))
    world.wait(1)
    world.expect = PASS
    quic_honest()(world)


add("quic_forged_whole_hello", "QUIC names", 2, NAMES, quic_forged_whole)


def quic_beside(forged, at, *datagrams, last=PASS):
    """Forged hellos in the server's name ahead of one of the ends' datagrams, pairs (direction, payload)."""
    def build(world):
        talk = Talk(world)
        for n, (direction, payload) in enumerate(datagrams):
            if n == at:
                world.expect = ANY
                for hello in forged:
                    talk.datagram(1, 40443, 443, hello)
            world.expect = last if n == len(datagrams) - 1 else PASS
            talk.datagram(direction, 40443, 443, payload)
    return build


def _halves(name, dcid=DCID):
    hello = hello_of_quic(name)
    return quic_initial(crypto_frame(hello[:50]), dcid), quic_initial(crypto_frame(hello[50:], 50), dcid, 1)


_IN_TWO = tuple((0, datagram) for datagram in _halves(BLOCKED))
_HONEST = tuple((0, datagram) for datagram in _halves(ALLOWED)) + ((1, quic_server()),) * 4 + tuple(
    (n % 2, b"\x43" + noise(300 + n, n)) for n in range(20))
add("quic_in_two", "QUIC names", 10, NAMES, quic_beside((), 0, *_IN_TWO, last=DROP), rule="no-blocked")
for _name, _forged in {
        "whole": (quic_client("www.other.example", dcid=OTHER),), "beginning": _halves("www.other.example", OTHER)[:1],
        "refused": (quic_client(BLOCKED, dcid=OTHER),),
        "beginnings": tuple(_halves("www.other.example", bytes([n]) * 8)[0] for n in range(1, 9))}.items():
    for _at, _place in enumerate(("first", "between", "behind", "late")):
        add(f"quic_as_server_{_name}_{_place}", "QUIC names", 10, NAMES, quic_beside(_forged, _at, *_HONEST))
    for _at, _place in enumerate(("first", "between")):
        add(f"quic_hidden_as_server_{_name}_{_place}", "QUIC names", 10, NAMES, quic_beside(_forged, _at, *_IN_TWO, last=DROP),
            rule="no-blocked", control="quic_in_two")

# 11. TLS.


def hello(records=((3, 1),), version=(3, 3), empty=0, name=BLOCKED, cut=0):
    """A ClientHello; empty: handshake records without octets ahead of it; cut: octets of the first record."""
    message = bytearray(client_hello(name)[5:])
    message[4:6] = bytes(version)
    message = bytes(message)
    parts = [message[:cut], message[cut:]] if cut else [message]
    out = b""
    for _ in range(empty):
        out += bytes([22, *records[0], 0, 0])
    for i, part in enumerate(parts):
        out += bytes([22, *records[min(i, len(records) - 1)]]) + struct.pack(">H", len(part)) + part
    return out


def tls_refused(*flight):
    def build(world):
        session = Talk(world).session(40443, 443).open()
        world.expect = ANY
        for piece in flight[:-1]:
            session.segment(0, ACK | PSH, piece)
        world.expect = DROP
        session.segment(0, ACK | PSH, flight[-1])
        world.expect = ANY
        session.segment(1, ACK | PSH, server_hello())
        world.expect = DROP
        session.segment(0, ACK | PSH, b"\x17\3\3\1\xf4" + noise(500, 3))
    return build


add("tls_plain", "TLS names", 11, NAMES, tls_refused(hello()), rule="no-blocked")
for _name, _flight in {
        "record_3_9": (hello(((3, 9),)),), "record_3_0": (hello(((3, 0),)),), "record_3_255": (hello(((3, 255),)),),
        "hello_3_255": (hello(version=(3, 255)),), "hello_3_9": (hello(version=(3, 9)),), "hello_3_0": (hello(version=(3, 0)),),
        "both_odd": (hello(((3, 9),), (3, 255)),), "empty_record": (hello(empty=1),), "empty_records": (hello(empty=5),),
        "empty_record_alone": (hello(empty=1)[:5], hello()), "cut_record": (hello(cut=30),),
        "cut_record_versions": (hello(((3, 1), (3, 9)), cut=30),), "one_octet_record": (hello(cut=1),),
        "cut_segment": (hello()[:40], hello()[40:]), "first_octet": (hello()[:1], hello()[1:]),
        }.items():
    add(f"tls_{_name}", "TLS names", 11, NAMES, tls_refused(*_flight), rule="no-blocked", control="tls_plain")


def tls_allowed(flight):
    def build(world):
        session = Talk(world).session(40443, 443).open()
        for piece in flight:
            session.say(0, piece)
        session.say(1, server_hello())
        for n in range(6):
            session.say(n % 2, b"\x17\3\3\1\xf4" + noise(500, n))
        session.close()
    return build


for _name, _flight in {
        "record_3_9": (hello(((3, 9),), name=ALLOWED),), "hello_3_255": (hello(version=(3, 255), name=ALLOWED),),
        "empty_records": (hello(empty=3, name=ALLOWED),), "cut": (hello(name=ALLOWED)[:50], hello(name=ALLOWED)[50:])}.items():
    add(f"tls_allowed_{_name}", "TLS names", 11, NAMES, tls_allowed(_flight))


def post_quantum(name):
    """A hello whose key share is as long as those of ML-KEM, ahead of the name: in two segments."""
    base = client_hello(name)[9:]
    body = base[:2 + 32 + 1 + 2 + 4 + 2]
    extensions = base[len(body) + 2:]
    share = struct.pack(">HHHHH", 51, 1700 + 6, 1700 + 4, 0x11EC, 1700) + noise(1700, 8)
    pad = struct.pack(">HH", 21, 600) + bytes(600)
    extensions = share + pad + extensions
    body += struct.pack(">H", len(extensions)) + extensions
    message = b"\1" + struct.pack(">I", len(body))[1:] + body
    octets = b"\x16\3\1" + struct.pack(">H", len(message)) + message
    return octets[:1400], octets[1400:]


add("tls_post_quantum", "TLS names", 19, NAMES, tls_refused(*post_quantum(BLOCKED)), rule="no-blocked", control="tls_plain")
add("tls_allowed_post_quantum", "TLS names", 19, NAMES, tls_allowed(post_quantum(ALLOWED)))

# 19. HTTP.

_ASK = b"GET / HTTP/1.1\r\nHost: www.blocked.example\r\n\r\n"


def http(pieces, before=0):
    """before: requests for another name on the same connection, each with its answer."""
    def build(world):
        session = Talk(world).session(40080, 80).open()
        for _ in range(before):
            session.say(0, HTTP_GET).say(1, HTTP_OK)
        world.expect = ANY
        for piece in pieces[:-1]:
            session.segment(0, ACK | PSH, piece)
        refused(world, session, pieces[-1], HTTP_OK)
    return build


add("http_plain", "HTTP names", 19, NAMES, http((_ASK,)), rule="no-blocked")
_LONG = b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"a" * 200) for n in range(25))
for _name, (_pieces, _before) in {
        "second_request": ((_ASK,), 1), "fifth_request": ((_ASK,), 4), "thirtieth_request": ((_ASK,), 29),
        "empty_lines": ((b"\r\n" * 700, b"\r\n" * 350 + _ASK), 0), "few_empty_lines": ((b"\r\n\r\n" + _ASK,), 0),
        "long_header": ((_LONG[:1400], _LONG[1400:2800], _LONG[2800:4200], _LONG[4200:] + b"Host: www.blocked.example\r\n\r\n"), 0),
        "long_target": ((b"GET /" + b"a" * 1300, b"a" * 1300, b" HTTP/1.1\r\nHost: www.blocked.example\r\n\r\n"), 0),
        "cut_in_the_name": ((_ASK[:30], _ASK[30:]), 0),
        "upper_case": ((_ASK.replace(b"Host: www.blocked", b"HOST: WWW.Blocked"),), 0),
        "absolute_target": ((b"GET http://www.blocked.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",), 0),
        "second_after_empty_lines": ((b"\r\n" * 20 + _ASK,), 1),
        }.items():
    add(f"http_{_name}", "HTTP names", 19, NAMES, http(_pieces, _before), rule="no-blocked", control="http_plain")


def pipelined(world):
    """The refused request behind an allowed one in the same segment."""
    session = Talk(world).session(40080, 80).open()
    refused(world, session, HTTP_GET + _ASK, HTTP_OK)


add("http_pipelined", "HTTP names", 19, NAMES, pipelined, rule="no-blocked", control="http_plain")


# Requests in forms that one server or another takes; bodies that one reads and another does not.
_NAMED = b"Host: www.blocked.example\r\n\r\n"
_POST = b"POST / HTTP/1.1\r\nHost: www.allowed.example\r\n"
_CHUNKS = _POST + b"Transfer-Encoding: chunked\r\n\r\n"
_SIZE = b"Content-Length: %d\r\n\r\n" % len(_ASK)
for _name, (_pieces, _before) in {
        "method_underscore": ((b"_GET / HTTP/1.1\r\n" + _NAMED,), 0), "method_hyphen": ((b"VERSION-CONTROL / HTTP/1.1\r\n" + _NAMED,), 1),
        "method_digits": ((b"X1 / HTTP/1.1\r\n" + _NAMED,), 0), "method_marks": ((b"!#$ / HTTP/1.1\r\n" + _NAMED,), 1),
        "method_long": ((b"A" * 1200 + b" / HTTP/1.1\r\n" + _NAMED,), 0),
        "version_2": ((b"GET / HTTP/2.0\r\n" + _NAMED,), 0), "version_2_later": ((b"GET / HTTP/2.0\r\n" + _NAMED,), 1),
        "version_1_12": ((b"GET / HTTP/1.12\r\n" + _NAMED,), 0), "version_01_1": ((b"GET / HTTP/01.1\r\n" + _NAMED,), 0),
        "version_0_9_name": ((b"GET http://www.blocked.example/\r\n",), 0), "version_0_9_name_later": ((b"GET http://www.blocked.example/\n",), 1),
        "version_0_9_fields": ((b"GET /\r\n" + _NAMED,), 0),
        "line_tabs": ((b"GET\t/\tHTTP/1.1\r\n" + _NAMED,), 0), "line_blanks": ((b" GET   /  HTTP/1.1  \r\n" + _NAMED,), 0),
        "line_form_feeds": ((b"GET\f/\vHTTP/1.1\r\n" + _NAMED,), 0), "line_cr": ((b"GET\r/\rHTTP/1.1\r\n" + _NAMED,), 1),
        "target_with_blank": ((b"GET /a b HTTP/1.1\r\n" + _NAMED,), 0),
        "line_of_9000": ((b"GET /" + b"a" * 1300,) + (b"a" * 1300,) * 6 + (b" HTTP/1.1\r\n" + _NAMED,), 0),
        "blanks_of_9000": ((b"GET / HTTP/1.1\r\nHost:" + b" " * 1300,) + (b" " * 1300,) * 6 + (b"www.blocked.example\r\n\r\n",), 0),
        "fields_of_20000": ((b"GET / HTTP/1.1\r\n",) + (b"X: %s\r\n" % (b"a" * 1300),) * 15 + (_NAMED,), 0),
        "lines_of_lf": ((_ASK.replace(b"\r\n", b"\n"),), 1), "no_end": ((_ASK[:-2],), 0),
        "two_hosts": ((b"GET / HTTP/1.1\r\nHost: www.allowed.example\r\n" + _NAMED,), 0),
        "two_hosts_other_last": ((_ASK[:-2] + b"Host: www.allowed.example\r\n\r\n",), 0),
        "target_and_host": ((b"GET http://www.allowed.example/ HTTP/1.1\r\n" + _NAMED,), 0),
        "blank_before_colon": ((_ASK.replace(b"Host:", b"Host :"),), 0), "folded_host": ((_ASK.replace(b"Host: ", b"Host:\r\n "),), 0),
        "blank_before_host": ((_ASK.replace(b"Host", b" Host"),), 0), "host_behind_cr": ((_ASK.replace(b"Host", b"X: y\rHost"),), 0),
        "nul_behind_name": ((_ASK.replace(b"example\r", b"example\0\r"),), 0), "nul_before_host": ((_ASK.replace(b"Host", b"X: \0\r\nHost"),), 0),
        "user_behind_port": ((_ASK.replace(b"example\r", b"example:80@x\r"),), 0),
        "body_of_get": ((HTTP_GET[:-2] + _SIZE, _ASK), 0), "body_of_head": ((HTTP_GET.replace(b"GET", b"HEAD")[:-2] + _SIZE, _ASK), 0),
        "chunk_of_get": ((_CHUNKS.replace(b"POST", b"GET") + b"%x\r\n" % len(_ASK), _ASK), 0),
        "body_expected": ((_POST + b"Expect: 100-continue\r\n" + _SIZE, _ASK), 0),
        "length_and_chunks": ((_POST + b"Transfer-Encoding: chunked\r\n" + _SIZE, _ASK), 0),
        "two_lengths": ((_POST + b"Content-Length: 0\r\n" + _SIZE, _ASK), 0),
        "length_octal": ((_POST + b"Content-Length: 0%o\r\n\r\n" % len(_ASK), _ASK), 0),
        "unclear_and_length": ((_POST + b"Content-Length: 0\r\nContent-Length: 1\r\n\r\n" + _POST + b"Content-Length: 9999\r\n\r\n", _ASK), 0),
        "upgrade_with_body": ((_POST + b"Upgrade: x\r\nContent-Length: 41\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: 9999\r\n\r\n", _ASK), 0),
        "chunk_of_lf": ((_CHUNKS + b"%x\n" % len(_ASK), _ASK), 0), "chunk_extension_of_lf": ((_CHUNKS + b"%x;a\n" % len(_ASK), _ASK), 0),
        "chunk_extension_with_cr": ((_CHUNKS + b"%x;a\rb\r\n" % len(_ASK), _ASK), 0),
        "chunk_of_1_0": ((_CHUNKS.replace(b"1.1", b"1.0") + b"%x\r\n" % len(_ASK), _ASK), 0),
        "trailer_request": ((_CHUNKS + b"0\r\n", _ASK), 0), "trailer_host": ((_CHUNKS + b"0\r\n", _NAMED), 0),
        "trailer_then": ((_CHUNKS + b"0\r\nX: y\r\n\r\n", _ASK), 0),
        }.items():
    add(f"http_{_name}", "HTTP forms", 19, NAMES, http(_pieces, _before), rule="no-blocked", control="http_plain")


def http_says(*pieces):
    """What honest clients say, with names in bodies that all servers read as bodies."""
    def build(world):
        session = Talk(world).session(40080, 80).open()
        for piece in pieces:
            session.say(0, piece)
            session.say(1, HTTP_OK)
            session.say(0, HTTP_GET)
            session.say(1, HTTP_OK)
        session.close()
    return build


for _name, _pieces in {
        "post_body": (_POST + _SIZE + _ASK,), "put_body": (_POST.replace(b"POST", b"PUT") + _SIZE + _ASK, _POST + _SIZE + _ASK),
        "chunks": (_CHUNKS + b"%x\r\n" % len(_ASK) + _ASK + b"\r\n%x;a=b\r\n" % len(_ASK) + _ASK + b"\r\n0\r\n\r\n",),
        "trailer": (_CHUNKS + b"0\r\nx-amz-checksum-crc32: AAAA==\r\n\r\n", _POST + _SIZE + _ASK),
        "upload_expected": (_POST + b"Expect: 100-continue\r\nContent-Length: 3000\r\n\r\n", noise(1400, 1) + noise(1400, 2) + noise(200, 3)),
        "search_with_body": (HTTP_GET[:-2] + b"Content-Length: 13\r\n\r\n{\"query\": {}}",),
        "cookie_of_9000": (HTTP_GET[:-2] + b"Cookie: a=" + b"b" * 9000 + b"\r\n\r\n", HTTP_GET),
        "referer": (HTTP_GET[:-2] + b"Referer: http://www.blocked.example/\r\n\r\n",)}.items():
    add(f"http_honest_{_name}", "HTTP forms", 19, NAMES, http_says(*_pieces))


def http_honest(requests, empty=0):
    def build(world):
        session = Talk(world).session(40080, 80).open()
        for n in range(requests):
            session.say(0, b"\r\n" * empty + HTTP_GET)
            session.say(1, b"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n" + noise(3000, n))
        session.close()
    return build


add("http_honest_kept", "HTTP names", 19, NAMES, http_honest(40))
add("http_honest_empty_lines", "HTTP names", 19, NAMES, http_honest(2, 1050))
add("tls_honest", "TLS names", 11, NAMES, lambda world: tls(Talk(world).session(40444, 443).open()))
