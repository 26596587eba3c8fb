# SPDX-License-Identifier: BSD-3-Clause
"""Forms that take a talk of both ends (receivers.test): ICMP errors about what Linux has sent, answers of a web server
to curl, encrypted handshakes with a BitTorrent client.

`icmp`: (socket, options of the error); socket: `udp`, connected; `syn`, that waits for its SYN-ACK; `stream`, with data
in flight. fits=False: the flow cannot have caused it. `answer`: what a server says to the first request of a connection;
the second one asks for the refused host. `mse`: options of mse_peer; shape=False: it has not the shape, which is all that the
gateway can go by (docs/evasions.md).
"""
from packet.gencaps import noise

TALKS = []


def talk(group, name, value):
    TALKS.append((group, name, value))


for _name, _value in {
        "port unreachable": ("udp", {}), "port unreachable, TCP that begins": ("syn", {}), "port unreachable, TCP": ("stream", {}),
        "of a router": ("udp", {"source": "10.0.0.99"}), "host unreachable": ("udp", {"code": 1}),
        "protocol unreachable": ("udp", {"code": 2}), "prohibited": ("udp", {"code": 13}), "prohibited, TCP that begins": ("syn", {"code": 13}),
        "fragmentation needed": ("udp", {"code": 4, "rest": 1400}), "fragmentation needed, TCP": ("stream", {"code": 4, "rest": 1400}),
        "time exceeded": ("udp", {"kind": 11, "code": 0}), "parameter problem": ("udp", {"kind": 12, "code": 0}),
        "source quench": ("udp", {"kind": 4, "code": 0}),
        "a wrong checksum": ("udp", {"spoil": True, "fits": False}), "a wrong checksum, TCP": ("stream", {"spoil": True, "fits": False}),
        "the header and 0 octets": ("udp", {"quote": 0, "fits": False}), "the header and 7 octets": ("udp", {"quote": 7, "fits": False}),
        "the header and 8 octets": ("udp", {"quote": 8}), "the header and 4 octets, TCP": ("stream", {"quote": 4, "fits": False}),
        "the header and 8 octets, TCP": ("stream", {"quote": 8}), "the header and 20 octets, TCP": ("stream", {"quote": 20}),
        "a quote of 700 octets": ("udp", {"fill": 700, "fits": False}), "octets behind the quote": ("udp", {"fill": 60}),
        "another source quoted": ("udp", {"from": "192.0.2.81", "fits": False}), "another destination quoted": ("udp", {"to": "10.0.0.77", "fits": False}),
        "another source quoted, TCP": ("stream", {"from": "192.0.2.81", "fits": False}),
        "another port quoted": ("udp", {"port": 9, "fits": False}), "another port quoted, TCP": ("stream", {"port": 9, "fits": False}),
        "another protocol quoted": ("udp", {"proto": 6, "fits": False}),
        "a wrong header checksum quoted": ("udp", {"spoil_quote": True}), "TTL 0 quoted": ("udp", {"ttl": 0}),
        "a number before, TCP that begins": ("syn", {"seq": -1, "fits": False}), "the number behind, TCP that begins": ("syn", {"seq": 1}),
        "a number beyond, TCP that begins": ("syn", {"seq": 2, "fits": False}),
        "a number before, TCP": ("stream", {"seq": -1, "fits": False}), "a number within, TCP": ("stream", {"seq": 3}),
        "the number behind, TCP": ("stream", {"seq": 5}), "a number beyond, TCP": ("stream", {"seq": 6, "fits": False}),
        "a number far off, TCP": ("stream", {"seq": 1 << 31, "fits": False}),
        "a number far off, fragmentation needed": ("stream", {"code": 4, "rest": 1400, "seq": 1 << 31, "fits": False}),
        }.items():
    talk("icmp", _name, _value)

_BODY = b"the first body"
_LENGTH = b"Content-Length: 14\r\n"
_OK = b"HTTP/1.1 200 OK\r\n"
_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n"
for _name, _value in {
        "as specified": _OK + _LENGTH + b"\r\n" + _BODY, "line feeds alone": (_OK + _LENGTH + b"\r\n").replace(b"\r\n", b"\n") + _BODY,
        "a line feed behind the status alone": _OK.replace(b"\r", b"") + _LENGTH + b"\r\n" + _BODY,
        "no reason": b"HTTP/1.1 200\r\n" + _LENGTH + b"\r\n" + _BODY, "no reason, a space": b"HTTP/1.1 200 \r\n" + _LENGTH + b"\r\n" + _BODY,
        "HTTP/1.0": b"HTTP/1.0 200 OK\r\n" + _LENGTH + b"\r\n" + _BODY,
        "HTTP/1.0, kept alive": b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" + _LENGTH + b"\r\n" + _BODY,
        "version 1.2": b"HTTP/1.2 200 OK\r\n" + _LENGTH + b"\r\n" + _BODY, "version 2": b"HTTP/2 200\r\n" + _LENGTH + b"\r\n" + _BODY,
        "version 3.0": b"HTTP/3.0 200 OK\r\n" + _LENGTH + b"\r\n" + _BODY, "small letters": b"http/1.1 200 OK\r\n" + _LENGTH + b"\r\n" + _BODY,
        "two spaces": b"HTTP/1.1  200 OK\r\n" + _LENGTH + b"\r\n" + _BODY, "status 0200": b"HTTP/1.1 0200 OK\r\n" + _LENGTH + b"\r\n" + _BODY,
        "status 99": b"HTTP/1.1 99 OK\r\n" + _LENGTH + b"\r\n" + _BODY, "status 999": b"HTTP/1.1 999 OK\r\n" + _LENGTH + b"\r\n" + _BODY,
        "an empty line first": b"\r\n" + _OK + _LENGTH + b"\r\n" + _BODY, "no header": _BODY, "ICY": b"ICY 200 OK\r\n" + _LENGTH + b"\r\n" + _BODY,
        "100 first": b"HTTP/1.1 100 Continue\r\n\r\n" + _OK + _LENGTH + b"\r\n" + _BODY,
        "103 first": b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + _OK + _LENGTH + b"\r\n" + _BODY,
        "101 that nobody asked for": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" + _OK + _LENGTH + b"\r\n" + _BODY,
        "a folded field": _OK + b"X: a\r\n b\r\n" + _LENGTH + b"\r\n" + _BODY, "a folded length": _OK + b"Content-Length:\r\n 14\r\n\r\n" + _BODY,
        "a field without colon": _OK + b"nothing\r\n" + _LENGTH + b"\r\n" + _BODY,
        "a space before the colon": _OK + b"Content-Length : 14\r\n\r\n" + _BODY,
        "a NUL in a field": _OK + b"X: a\0b\r\n" + _LENGTH + b"\r\n" + _BODY,
        "the length twice": _OK + _LENGTH * 2 + b"\r\n" + _BODY, "two lengths": _OK + _LENGTH + b"Content-Length: 5\r\n\r\n" + _BODY,
        "a list of lengths": _OK + b"Content-Length: 14, 14\r\n\r\n" + _BODY, "a length with a sign": _OK + b"Content-Length: +14\r\n\r\n" + _BODY,
        "a length that is none": _OK + b"Content-Length: 14x\r\n\r\n" + _BODY, "a negative length": _OK + b"Content-Length: -1\r\n\r\n" + _BODY,
        "no length, it closes": _OK + b"\r\n" + _BODY, "chunks": _CHUNKED + b"e\r\n" + _BODY + b"\r\n0\r\n\r\n",
        "chunks with an extension": _CHUNKED + b"e;a=b\r\n" + _BODY + b"\r\n0;x\r\n\r\n",
        "chunks with a long extension": _CHUNKED + b"e;" + b"a" * 5000 + b"\r\n" + _BODY + b"\r\n0\r\n\r\n",
        "chunks with spaces": _CHUNKED + b"e  \r\n" + _BODY + b"\r\n0\r\n\r\n", "chunks with zeros": _CHUNKED + b"000000e\r\n" + _BODY + b"\r\n0\r\n\r\n",
        "chunks with 0x": _CHUNKED + b"0xe\r\n" + _BODY + b"\r\n0\r\n\r\n", "chunks with line feeds": _CHUNKED + b"e\n" + _BODY + b"\n0\n\n",
        "chunks and a trailer": _CHUNKED + b"e\r\n" + _BODY + b"\r\n0\r\nX: y\r\n\r\n",
        "chunks and a length": _OK + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\ne\r\n" + _BODY + b"\r\n0\r\n\r\n",
        "a length and chunks": _OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\ne\r\n" + _BODY + b"\r\n0\r\n\r\n",
        "chunks twice": _OK + b"Transfer-Encoding: chunked, chunked\r\n\r\ne\r\n" + _BODY + b"\r\n0\r\n\r\n",
        "identity": _OK + b"Transfer-Encoding: identity\r\n" + _LENGTH + b"\r\n" + _BODY,
        "octets behind the body": _OK + _LENGTH + b"\r\n" + _BODY + b"more",
        "a second answer behind it": (_OK + _LENGTH + b"\r\n" + _BODY) * 2,
        }.items():
    talk("answer", _name, _value)

for _name, _value in {
        "as specified": {"pad_a": noise(100, 21)}, "no padding": {}, "an octet of padding": {"pad_a": noise(1, 21)},
        "511 octets of padding": {"pad_a": noise(511, 21)}, "512 octets of padding": {"pad_a": noise(512, 21)},
        "513 octets of padding": {"pad_a": noise(513, 21), "shape": False}, "600 octets of padding": {"pad_a": noise(600, 21), "shape": False},
        "1,000 octets of padding": {"pad_a": noise(1000, 21), "shape": False}, "5,000 octets of padding": {"pad_a": noise(5000, 21), "shape": False}, "33 octets of padding": {"pad_a": noise(33, 22)},
        "padding behind the method": {"pad_a": noise(40, 21), "pad_c": bytes(200)}, "512 octets of it": {"pad_a": noise(40, 21), "pad_c": bytes(512)},
        "clear text offered": {"pad_a": noise(70, 21), "provide": 1}, "both offered": {"pad_a": noise(70, 21), "provide": 3},
        "another method offered, too": {"pad_a": noise(70, 21), "provide": 0x102}, "no method": {"pad_a": noise(70, 21), "provide": 0},
        "no first payload": {"pad_a": noise(70, 21), "early": False}, "no first payload, clear text": {"pad_a": noise(70, 21), "provide": 1, "early": False},
        "the key in two": {"pad_a": noise(70, 21), "size": 90}, "the key octet by octet": {"pad_a": noise(20, 21), "size": 1},
        "the key in sevens": {"pad_a": noise(70, 21), "size": 7}, "the hashes in two": {"pad_a": noise(70, 21), "third_size": 20},
        "the hashes octet by octet": {"pad_a": noise(70, 21), "third_size": 1}, "all octet by octet": {"pad_a": noise(10, 21), "size": 1, "third_size": 1},
        "padding of one octet's value": {"pad_a": b"a" * 300, "shape": False},
        "padding that looks like a request": {"pad_a": b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 10, "shape": False},
        }.items():
    talk("mse", _name, _value)
