# SPDX-License-Identifier: BSD-3-Clause
"""Names that a client asks for, hidden from the second reader: bodies that end within a line, agreements that are none,
hellos in many segments, a port behind the name; and heads that cost much to look at."""
import struct

from craft import ACK, ANY, DROP, PASS, PSH, SYN, Talk, add, crypto_frame, quic_initial
from packet.gencaps import client_hello, noise
from rows_names import hello, quic, tls_refused
from speech import ALLOWED, BLOCKED, HTTP_GET, HTTP_OK, NAMES, hello_of_quic, quic_client, server_hello

_ASK = b"GET / HTTP/1.1\r\nHost: www.blocked.example\r\n\r\n"
_HOST = b"Host: www.allowed.example\r\n"


def http_steps(*steps):
    """Each a direction and its payload; the last one is refused."""
    def build(world):
        session = Talk(world).session(40080, 80).open()
        for n, (direction, payload) in enumerate(steps):
            world.expect = DROP if n == len(steps) - 1 else ANY
            session.segment(direction, ACK | PSH, payload)
    return build


def hidden(name, *steps):
    add(f"http_{name}", "HTTP forms", 19, NAMES, http_steps(*steps), rule="no-blocked", control="http_plain")


# A body that not all servers take for one ends within a line, and the next request begins there.
_SHORT_BODY = b"GET / HTTP/1.1\r\n" + _HOST + b"Content-Length: 2\r\n\r\n"
_TARGET = b"GET http://www.blocked.example/ HTTP/1.1\r\n" + _HOST + b"\r\n"
for _name, _body in {"brackets": b"((", "field": b"x:", "words": b"a b", "method": b"x ", "letters": b"GE", "cr": b"(\r"}.items():
    hidden(f"target_behind_{_name}", (0, _SHORT_BODY), (0, _body + _TARGET))
    hidden(f"target_behind_{_name}_cut", (0, _SHORT_BODY), *((0, bytes([octet])) for octet in _body + _TARGET[:40]), (0, _TARGET[40:]))
hidden("target_behind_body_at_once", (0, _SHORT_BODY + b"((" + _TARGET))
hidden("target_of_connect_behind_body", (0, _SHORT_BODY), (0, b"((CONNECT www.blocked.example:443 HTTP/1.0\r\n\r\n"))
hidden("target_of_0_9_behind_body", (0, _SHORT_BODY), (0, b"((GET http://www.blocked.example/\r\n"))

# What looks like an agreement to leave HTTP.
_CONNECT = b"CONNECT %s HTTP/1.1\r\n" + _HOST + b"\r\n"
_UPGRADE = HTTP_GET[:-2] + b"Upgrade: x\r\nConnection: Upgrade\r\n\r\n"
_SWITCH = b"HTTP/1.1 101 Switching Protocols\r\n\r\n"
hidden("connect_of_a_path", (0, _CONNECT % b"/"), (1, HTTP_OK), (0, _ASK))
hidden("connect_of_a_name", (0, _CONNECT % b"www.allowed.example:80"), (1, HTTP_OK), (0, _ASK))
hidden("upgrade_answered_by_a_body", (0, HTTP_GET + _UPGRADE), (1, b"HTTP/1.1 200 OK\r\nContent-Length: 36\r\n\r\n"),
       (1, _SWITCH), (1, HTTP_OK), (0, _ASK))
hidden("upgrade_answered_by_a_longer_body", (0, HTTP_GET), (1, b"HTTP/1.1 200 OK\r\nContent-Length: 136\r\n\r\n" + noise(100, 5)),
       (0, _UPGRADE), (1, _SWITCH), (1, HTTP_OK), (0, _ASK))
hidden("upgrade_answered_in_chunks", (0, HTTP_GET + _UPGRADE), (1, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n24\r\n"),
       (1, _SWITCH), (1, b"\r\n0\r\n\r\n" + HTTP_OK), (0, _ASK))
_AFTER_HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 41\r\n\r\n12345"
hidden("upgrade_behind_head", (0, HTTP_GET.replace(b"GET", b"HEAD")), (1, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(_AFTER_HEAD)),
       (0, _UPGRADE), (1, _AFTER_HEAD + _SWITCH), (0, _ASK))
_LINE = b"a" * 1300
for _name, _length in {"in_a_name": 8160, "behind_it": 8142, "in_a_method": 8187}.items():
    _fill = (b"GET " + _LINE * 7)[:_length]
    hidden(f"target_cut_{_name}", (0, _SHORT_BODY), *((0, _fill[n:n + 1400]) for n in range(0, _length, 1400)), (0, _TARGET))
    hidden(f"host_behind_cr_cut_{_name}", (0, b"GET / HTTP/1.1\r\nX: "), *((0, _fill[n:n + 1400]) for n in range(0, _length, 1400)),
           (0, b"\rHost: www.blocked.example\r\n\r\n"))
hidden("folded_over_blanks", (0, b"GET / HTTP/1.1\r\nHost:\r\n \r\n www.blocked.example\r\n\r\n"))
hidden("folded_over_blanks_later", (0, HTTP_GET), (1, HTTP_OK), (0, b"GET / HTTP/1.1\r\nHost:\r\n \r\n\t\r\n www.blocked.example\r\n\r\n"))
hidden("lines_of_cr", (0, b"GET / HTTP/1.1\rHost: www.blocked.example\r\r"))
hidden("lines_of_cr_later", (0, HTTP_GET), (1, HTTP_OK), (0, b"GET / HTTP/1.1\rHost: www.blocked.exam"), (0, b"ple\r\r"))


def tunnel(name, what):
    """A hello in a tunnel that a proxy has agreed to."""
    def build(world):
        session = Talk(world).session(40080, 80).open()
        world.expect = ANY
        session.say(0, _CONNECT % b"www.allowed.example:443").say(1, b"HTTP/1.1 200 OK\r\n\r\n")
        world.expect = what
        session.segment(0, ACK | PSH, hello(name=name))
        session.segment(1, ACK | PSH, server_hello())
        session.segment(0, ACK | PSH, b"\x17\3\3\1\xf4" + noise(500, 3))
    return build


def tunnel_refused(world):
    """The server says nothing to what did not leave."""
    session = Talk(world).session(40080, 80).open()
    world.expect = ANY
    session.say(0, _CONNECT % b"www.allowed.example:443").say(1, b"HTTP/1.1 200 OK\r\n\r\n")
    world.expect = DROP
    session.segment(0, ACK | PSH, hello())


add("http_tunnel_to_a_name", "HTTP forms", 19, NAMES, tunnel_refused, rule="no-blocked", control="http_plain")
add("http_tunnel_honest", "HTTP forms", 19, NAMES, tunnel(ALLOWED, PASS))


def http_honest_steps(*steps):
    def build(world):
        session = Talk(world).session(40080, 80).open()
        for direction, payload in steps:
            session.say(direction, payload)
        session.close()
    return build


_SEARCH = HTTP_GET[:-2] + b"Content-Length: %d\r\n\r\n"
_TEXT = (b"{\"text\": \"see http://www.blocked.example/ and GET it, or CONNECT\"}\r\nReferer: http://www.blocked.example/\r\n"
         b"<a href=\"http://www.blocked.example/\">a link</a>\r\n")
for _name, _steps in {
        "links_in_a_body": ((0, _SEARCH % len(_TEXT)), (0, _TEXT), (1, HTTP_OK), (0, HTTP_GET), (1, HTTP_OK)),
        "links_in_a_body_cut": ((0, _SEARCH % len(_TEXT)), *((0, _TEXT[n:n + 5]) for n in range(0, len(_TEXT), 5)), (1, HTTP_OK),
                                (0, HTTP_GET), (1, HTTP_OK)),
        "websocket": ((0, _UPGRADE), (1, _SWITCH), *((n % 2, noise(200, n)) for n in range(10))),
        "websocket_later": ((0, HTTP_GET), (1, HTTP_OK), (0, _UPGRADE), (1, _SWITCH), *((n % 2, noise(200, n)) for n in range(10))),
        "ssh_in_a_tunnel": ((0, _CONNECT % b"www.allowed.example:22"), (1, b"HTTP/1.1 200 OK\r\n\r\n"), (0, b"SSH-2.0-a\r\n"),
                            *((n % 2, noise(200, n)) for n in range(10))),
        }.items():
    add(f"http_honest_{_name}", "HTTP forms", 19, NAMES, http_honest_steps(*_steps))

# Hellos in more segments than classification waits for; a name behind ALPN; a port behind the name.


def tls_form(name, *pieces):
    add(f"tls_{name}", "TLS names", 11, NAMES, tls_refused(*pieces), rule="no-blocked", control="tls_plain")


def with_extension(name, extension):
    """A hello with this in front of its other extensions; and where in it the name's begins."""
    base = client_hello(name)[9:]
    at = 2 + 32 + 1 + 2 + 4 + 2
    body = base[:at] + struct.pack(">H", len(extension) + len(base) - at - 2) + extension + base[at + 2:]
    message = b"\1" + struct.pack(">I", len(body))[1:] + body
    return b"\x16\3\1" + struct.pack(">H", len(message)) + message, 9 + at + 2 + len(extension)


def ones(octets, first, to):
    return (octets[:first], *(octets[n:n + 1] for n in range(first, to)), octets[to:])


for _pad in (300, 1400):
    _hello, _at = with_extension(BLOCKED, struct.pack(">HH", 21, _pad) + bytes(_pad))
    tls_form(f"in_{_pad - 30}_octets", *ones(_hello, 10, _pad - 20))
    add(f"tls_allowed_in_{_pad - 30}_octets", "TLS names", 11, NAMES, lambda world, pad=_pad: allowed_in_octets(world, pad))


def allowed_in_octets(world, pad):
    octets, _ = with_extension(ALLOWED, struct.pack(">HH", 21, pad) + bytes(pad))
    session = Talk(world).session(40443, 443).open()
    for piece in ones(octets, 10, pad - 20):
        session.say(0, piece)
    session.say(1, server_hello())
    for n in range(6):
        session.say(n % 2, b"\x17\3\3\1\xf4" + noise(500, n))
    session.close()


for _protocol in (b"bep/1.0", b"xmpp-client", b"irc", b"imap", b"stun.turn", b"mqtt"):
    _list = bytes([len(_protocol)]) + _protocol
    _hello, _at = with_extension(BLOCKED, struct.pack(">HHH", 16, len(_list) + 2, len(_list)) + _list)
    _word = _protocol.decode().replace("/", "_")
    tls_form(f"name_behind_alpn_{_word}", _hello[:_at], _hello[_at:])
    tls_form(f"name_behind_alpn_{_word}_in_it", _hello[:_at + 2], _hello[_at + 2:])
tls_form("name_with_port", hello(name="www.blocked.example:443"))
tls_form("name_with_ports", hello(name="www.blocked.example.:443:1"))

for _name, _datagrams in {"name_with_port": (quic_client("www.blocked.example:443"),),
                          "dcid_of_7": (quic_client(BLOCKED, dcid=b"1234567"),), "dcid_of_0": (quic_client(BLOCKED, dcid=b""),),
                          "dcid_of_7_in_two": (quic_initial(crypto_frame(hello_of_quic(BLOCKED)[:50]), b"1234567"),
                                               quic_initial(crypto_frame(hello_of_quic(BLOCKED)[50:], 50), b"1234567", 1)),
                          }.items():
    add(f"quic_{_name}", "QUIC names", 10, NAMES, quic((), _datagrams), rule="no-blocked", control="quic_plain")


# Heads that are looked at again for each octet: each row ends in time (ROW_SECONDS of attack_run; test_work has the bounds).


def costly(begin, *segments, times):
    """Spoofed from outside: no answer ever comes."""
    def build(world):
        world.expect = ANY
        for n in range(times):
            session = Talk(world, client=f"203.0.113.{n % 250 + 1}", server="10.0.0.7", client_zone=2).session(40000 + n, 80)
            session.segment(0, SYN)
            for payload in (begin, *segments):
                session.segment(0, ACK | PSH, payload)
    return build


add("cost_blanks_and_cr", "cost of heads", 19, NAMES, costly(_SHORT_BODY, *(b"\v\r" * 680,) * 6, b":", times=200),
    limits="flows=1024,embryos=1024")
add("cost_blanks_behind_a_line", "cost of heads", 19, NAMES, costly(
    b"GET / HTTP/1.1\r\n", *(b"X:" + b"a" * 1398,), *(b"a" * 1400,) * 4, b"a" * 1190 + b" ", *(b" " * 1400,) * 20, times=200),
    limits="flows=1024,embryos=1024")
