#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes corpus/classify/: one small flow per protocol and form, written here by hand.

The form of an input is that of fuzz_classify.c: bits, then per packet its half, length and bytes.
"""
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
UDP, MIDSTREAM, PORT_53, USERS = 1, 2, 4, 8
HASH = b"\xabbcdefghijklmnop"
TAGS = b"\2\0\0\0\2\1\0\1\4\0name\3\1\0\x11\x3c\0\0\0"
RANDOM = bytes.fromhex("9b12e0475da831fc660db3942a7ec158")
RANDOM8 = b"\xa1" + RANDOM[1:8]
GUID = bytes.fromhex("a7453102 89213ee4 7e649bba c302eb3a")


def flow(bits, *packets):
    """packets: (half, bytes)"""
    return bytes([bits]) + b"".join(struct.pack(">BH", half, len(body)) + body for half, body in packets)


def ed2k(opcode, payload, proto=0xE3):
    return struct.pack("<BIB", proto, len(payload) + 1, opcode) + payload


def utp(kind, conn, stamp, delay, seq, ack, payload=b""):
    return struct.pack(">BBHIIIHH", kind << 4 | 1, 0, conn, stamp, delay, 1 << 20, seq, ack) + payload


def gnutella(kind, payload):
    return GUID + bytes([kind, 1, 0]) + struct.pack("<I", len(payload)) + payload


def slsk(payload):
    return struct.pack("<I", len(payload)) + payload


def text(octets):
    return struct.pack("<I", len(octets)) + octets


def hello(name, records=16384):
    """A ClientHello with this server name, in records of at most that many bytes."""
    sni = struct.pack(">HHHBH", 0, len(name) + 5, len(name) + 3, 0, len(name)) + name
    extensions = b"\x0a\x0a\0\0" + sni + b"\0\x10\0\5\0\3\2h2"
    body = b"\3\3" + HASH * 2 + b"\0\0\2\x13\1\1\0" + struct.pack(">H", len(extensions)) + extensions
    message = b"\1" + struct.pack(">I", len(body))[1:] + body
    pieces = [message[i:i + records] for i in range(0, len(message), records)]
    return b"".join(b"\x16\3\1" + struct.pack(">H", len(piece)) + piece for piece in pieces)


HANDSHAKE = b"\x13BitTorrent protocol\0\0\0\0\0\x10\0\5abcdefghij0123456789-LT2080-abcdefghijkl"
PING = b"d1:ad2:id20:abcdefghij0123456789e1:q4:ping1:t2:aa1:y1:qe"
REQUEST = struct.pack(">IBIII", 13, 6, 1, 16384, 16384)
ANNOUNCE = b"connecti\0\0\0\1wxyzabcdefghij0123456789-TR3000-abcdefghijkl" + bytes(36) + b"\xff" * 4 + b"\1\1"

FLOWS = {
    "bittorrent-handshake": flow(0, (0, HANDSHAKE), (1, HANDSHAKE)),
    "bittorrent-midstream": flow(MIDSTREAM, (0, b"rest" + REQUEST * 3), (1, struct.pack(">IBII", 16393, 7, 1, 0))),
    "bittorrent-tracker": flow(0, (0, b"GET /announce?info_hash=%C2abcdefghij012345678&peer_id="), (
        0, b"-TR3000-abcdefghijkl&port=6881 HTTP/1.1\r\nHost: t.example\r\n\r\n"), (1, b"HTTP/1.1 200 OK\r\n\r\n")),
    "bittorrent-dht": flow(UDP, (0, PING), (1, b"d2:ip6:abcdef1:rd2:id20:mnopqrstuvwxyz1234565:nodes0:e1:t2:aa1:y1:re")),
    "bittorrent-dht-error": flow(UDP, (1, b"d1:eli201e5:errore1:t2:aa1:y1:ee")),
    "bittorrent-udp-tracker": flow(UDP, (0, struct.pack(">QI4s", 0x41727101980, 0, b"ABCD"))),
    "bittorrent-udp-announce": flow(UDP, (0, ANNOUNCE)),
    "bittorrent-lsd": flow(UDP, (0, b"BT-SEARCH * HTTP/1.1\r\nPort: 61197\r\nInfohash: ED4F1085E885F98F9A69B70EE\r\n\r\n")),
    "bittorrent-utp": flow(UDP, (0, utp(4, 9, 1000, 0, 5, 0)), (1, utp(2, 9, 2000, 9, 7, 5))),
    "bittorrent-utp-content": flow(UDP, *((0, utp(0, 9, 1000 * i, 9, i, 7, b"content")) for i in range(1, 5)),
                                   (1, utp(2, 8, 9, 9, 8, 4))),
    "bittorrent-utp-sack": flow(UDP, (0, utp(0, 9, 1, 9, 5, 7)[:1] + b"\1" + utp(0, 9, 1, 9, 5, 7)[2:] + b"\0\4abcdx")),
    "edonkey-hello": flow(0, (0, ed2k(1, b"\x10" + HASH + b"\1\0\0\0\x46\x39" + TAGS + bytes(6))),
                          (1, ed2k(0x4C, HASH + b"\1\0\0\0\x46\x39" + TAGS + bytes(6)))),
    "edonkey-login": flow(0, (0, ed2k(1, HASH + bytes(4) + b"\x46\x39" + TAGS)), (1, ed2k(0x38, b"\5\0hello"))),
    "edonkey-frames": flow(MIDSTREAM, (0, ed2k(0x58, HASH) + ed2k(0x4F, HASH) + ed2k(0x87, b"12345", 0xC5))),
    "edonkey-part": flow(MIDSTREAM, (1, ed2k(0x46, HASH + struct.pack("<II", 0, 4) + b"abcd"))),
    "kad-ping": flow(UDP, (0, b"\xe4\x60"), (1, b"\xe4\x61\x40\x9c")),
    "kad-route": flow(UDP, (0, b"\xe4\x21\x0b" + HASH * 2), (1, b"\xe4\x29" + HASH + b"\1" + HASH + b"\1\2\3\4\x40\x12\x36\x12\x08")),
    "kad-hello": flow(UDP, (0, b"\xe4\x11" + HASH + b"\x36\x12\x08\1\x89\xfc\x40")),
    "kad-search": flow(UDP, (0, b"\xe4\x34" + HASH + bytes(10)), (1, b"\xe4\x3b" + HASH * 2 + b"\1\0ab")),
    "kad-packed": flow(UDP, (1, b"\xe5\x29\x78\xdaabcdefghijklmnop")),
    "edonkey-server": flow(UDP, (0, b"\xe3\x96\x12\x34\x56\x78"), (1, b"\xe3\x97\x12\x34\x56\x78" + bytes(8))),
    "emule-reask": flow(UDP, (0, b"\xc5\x90" + HASH), (1, b"\xc5\x93")),
    "gnutella-connect": flow(0, (0, b"GNUTELLA CONNECT/0.6\r\nUser-Agent: x\r\n\r\n"), (1, b"GNUTELLA/0.6 200 OK\r\n\r\n")),
    "gnutella-get": flow(0, (0, b"GET /get/24/Some "), (0, b"Name HTTP/1.0\r\nUser-Agent: BearShare\r\n\r\n")),
    "gnutella-dht": flow(UDP, (0, gnutella(0x44, b"\5GTKG\0\0!"))),
    "gnutella-ping": flow(UDP, (0, gnutella(0, b"\xc3\x82SCPA\1\0\0")), (1, gnutella(1, b"abcdefghijklmn"))),
    "gnutella-vendor": flow(UDP, (0, gnutella(0x31, b"GTKG\7\0\1\0"))),
    "gnutella2": flow(UDP, (0, b"GND\x10\x3e\x92\1\1T\x0bQKRP\6RNA]/\xe2\x35\tp"), (1, b"GND\0\x3e\x92\1\0")),
    "fasttrack-get": flow(0, (0, b"GET /.hash=11ebbd69ec5fd57fab6dfd6fdd1e6df36f551763 HTTP/1.1\r\n\r\n")),
    "fasttrack-give": flow(0, (0, b"GIVE 710878939\r\n\r\n"), (1, b"GET /1/a HTTP/1.1\r\nX-Kazaa-Username: a\r\n\r\n")),
    "fasttrack-ping": flow(UDP, (0, b"\x27\0\0\0\x29\x80KaZaA\0")),
    "soulseek-login": flow(0, (0, slsk(struct.pack("<I", 1) + text(b"alice") + text(b"secret") + struct.pack("<I", 160) +
                                       text(b"9e8d841b85194ee7f744743a8f23d4a8") + struct.pack("<I", 1)))),
    "soulseek-peer": flow(0, (0, slsk(b"\1" + text(b"alice") + text(b"F") + b"1234"))),
    "soulseek-pierce": flow(0, (0, slsk(b"\0" + b"1234")), (0, slsk(struct.pack("<I", 4)))),
    "nmdc-hub": flow(0, (1, b"$Lock EXTENDEDPROTOCOLABC Pk=DC|"), (0, b"$Supports NoHello |$Key abc|$ValidateNick a|")),
    "nmdc-client": flow(0, (0, b"$MyNick alice|$Lock EXTENDEDPROTOCOL Pk=x|")),
    "nmdc-result": flow(UDP, (0, b"$SR alice dir\\file\x05437 3/4\x05Hub (1.2.3.4:411)|")),
    "adc": flow(0, (0, b"HSUP ADBASE ADTIGR\n"), (1, b"ISUP ADBASE ADTIGR\nISID AAAB\n")),
    "syncthing": flow(UDP, (0, b"\x2e\xa7\xd9\x0b\x0a\x20" + HASH * 2)),
    "skype": flow(UDP, (0, b"\x7c\x21\x02" + HASH[:15]), (1, b"\x7c\x21\x47" + HASH[:8])),
    "irc-starttls": flow(0, (0, b"STARTTLS\r\n"), (1, b"670 :STARTTLS successful\r\n")),
    "oscar-icq6": flow(0, (0, b"*\1\0\1\0\x0c\0\0\0\1\x80\3\0\4\0\x10\0\0")),
    "skype-login": flow(0, (0, b"\x16\3\1\0\0"), (1, b"\x17\3\1\0\0"), (0, b"\x16\3\1\0\x24" + HASH)),
    "qq": flow(UDP, (0, b"\x02\x3b\x0b\0\1\0\x23\x56\x1f\x0c\x7b" + HASH[:16] + b"\x03")),
    "qq-tcp": flow(0, (0, b"\0\x1e\x02\x3b\x0b\0\1\0\x23\x56\x1f\x0c\x7b" + HASH[:16] + b"\x03")),
    "discord": flow(UDP, (0, b"\0\1\0\x46" + HASH[:4] + bytes(66)), (1, b"\0\2\0\x46" + HASH[:4] + b"192.0.2.1" + bytes(57))),
    "line": flow(UDP, (0, b"\xdb\x51\3\x7f\6\2" + HASH * 8), (1, b"\xd9\x83\1\3\6\2" + HASH * 8)),
    "viber-udp": flow(UDP, (0, b"\xed\xf6\1\0\5\0" + HASH), (1, b"\xed\xf6\x0c\0\1\0" + HASH)),
    "viber-tcp": flow(0, (0, b"\x20\0\1\2\3\4\xfc\xff\3\x80" + HASH * 2), (1, b"\x16\0\1\2\3\x80\1\2\3\4" + HASH)),
    "viber-frames": flow(0, (0, b"\x18\0\7\0\0\0" + (HASH * 2)[:18]), (0, b"\x18\0\x08\0\0\0" + (HASH * 2)[:18])),
    "telegram-abridged": flow(0, (0, b"\xef\x0a" + HASH * 2), (1, b"\x05" + HASH)),
    "telegram-clear": flow(0, (0, b"\xef\x0a" + bytes(8) + HASH[:8] + b"\x14\0\0\0\xf1\x8e\x7e\xbe" + HASH[:16])),
    "telegram-full": flow(0, (0, b"\x34\0\0\0" + bytes(12) + HASH[:8] + b"\x14\0\0\0\x78\x97\x46\x60" + HASH)),
    "whatsapp": flow(0, (0, b"ED\0\1\0\0\4\1\2\3\4WA\6\3\0\0\x24\x12\x22\x0a\x20" + HASH)),
    "wechat": flow(0, (0, b"\x16\xf1\4\1\x6e\0\0\1\x6a\1\3\xf1\2\xc0\x2b" + HASH)),
    "wechat-long": flow(0, (0, b"\0\0\0\x10\0\x10\0\1\0\0\0\6\xff\xff\xff\xff")),
    "threema": flow(0, (0, (HASH * 3)[:48]), (1, (HASH * 4)[:80]), (0, (HASH * 8)[:144]), (1, HASH + bytes(12)), (1, b"\x10\0" + HASH[:16])),
    "zoom-hello": flow(UDP, (0, b"\1\0\2" + HASH * 2), (1, b"\2\0\1" + HASH * 2)),
    "zoom-peer": flow(UDP, (0, b"\x1f\2\1\0" + (HASH * 2)[:20] + b"\0\0\0\x0b192.0.2.141\0\0\0\x24"
                               b"0A1B2C3D-4e5f-6071-8293-a4b5c6d7e8f9" + bytes(4))),
    "zoom-media": flow(UDP, *((0, b"\5\0\1\0\0\0\0\0\x0f" + bytes(18) + b"\x90\x70\0" + bytes([n]) + HASH) for n in (1, 2))),
    "mumble": flow(UDP, (0, bytes(4) + HASH[:8]), (1, b"\0\1\3\4" + HASH[:8] + bytes(12))),
    "teamspeak": flow(UDP, (0, b"\1\x80\x84\1"), (1, b"\1\x80\x84\1abcd"), (0, b"\1\x81\x84\2abcd\3")),
    "tox": flow(UDP, *((0, b"\0" + (HASH * 5)[:81]) for _ in range(2))),
    "openvpn-clear": flow(UDP, (0, b"\x38ClientNo" + bytes(5)), (1, b"\x40ServerNo\1\0\0\0\0ClientNo" + bytes(4))),
    "openvpn-hmac": flow(UDP, (0, b"\x38ClientNo" + (HASH * 2)[:20] + b"\0\0\0\1\x65\0\0\0" + bytes(5)),
                         (1, b"\x40ServerNo" + (HASH * 2)[:20] + b"\0\0\0\1\x65\0\0\0\1\0\0\0\0ClientNo" + bytes(4))),
    "openvpn-sealed": flow(0, (0, b"\0\x36\x38ClientNo\0\0\0\1\x65\0\0\0" + (HASH * 4)[:37]),
                           (1, b"\0\x42\x40ServerNo\0\0\0\1\x65\0\0\0" + (HASH * 4)[:49])),
    "zerotier": flow(UDP, (0, b"PacketNo\1Rece\2Send\0checksum\1\x0b\1\x0e\0\2\0\0\1\x9a\1\2\3\4\2Send\0" + HASH * 6)),
    "imo": flow(UDP, (0, b"\x09\2\xdc\x9a\2\0\0\0\0\0")),
    "ppstream": flow(UDP, (0, b"\x21\0\x44\xb1\x71" + HASH[:8] + b"\0\0\1\0\3\0\0\0" + HASH[:12])),
    "bittorrent-azureus": flow(UDP, (0, RANDOM8 + b"\0\0\4\6wxyz\x33\0\0\0\0\0\x33\4\xc0\0\2\7\x1a\xe1" + RANDOM[:28]),
                               (1, b"\0\0\4\7wxyz" + RANDOM8 + b"\x33\0\0\0\0\1" + RANDOM[:8])),
    "bittorrent-bsync": flow(UDP, (0, b"BSYNC\0d2:la6:abcdef1:m4:pinge")),
    "bittorrent-udp-answer": flow(UDP, (1, struct.pack(">I4sIII", 1, b"wxyz", 1800, 1, 1) + b"\xc0\0\2\7\x1a\xe1" * 2)),
    "bittorrent-tracker-answer": flow(MIDSTREAM, (1, b"HTTP/1.0 200 OK\r\n\r\nd8:intervali1800e5:peers0:e")),
    "bittorrent-keepalive": flow(MIDSTREAM, (0, REQUEST + bytes(4) + REQUEST), (1, REQUEST + bytes(4))),
    "kad-first": flow(UDP, *((0, b"\xe4" + op + RANDOM + b"\7\2\0\xc0\x40\x12\x36\x12\2") for op in (b"\0", b"\x10"))),
    "kad-packed-twice": flow(UDP, *((n, b"\xe5\x29\x78\xda\x65" + RANDOM) for n in (0, 1))),
    "kad-publish": flow(UDP, (0, b"\xe4\x40" + RANDOM + b"\1\0" + RANDOM + b"\1\0"), (1, b"\xe4\x48" + RANDOM + b"\1")),
    "edonkey-server-alone": flow(UDP, (1, b"\xe3\xa3\6\0server\5\0words"), (1, b"\xe3\x99" + RANDOM + bytes(6) + TAGS)),
    "edonkey-packed-part": flow(MIDSTREAM, (1, struct.pack("<BIB", 0xC5, 45, 0x40) + RANDOM + b"\0\0\1\0\0\x20\0\0" + RANDOM)),
    "edonkey-wants": flow(MIDSTREAM, (0, ed2k(0xA3, RANDOM + bytes(24) + struct.pack("<QQQ", 4096, 0, 0), 0xC5))),
    "edonkey-name": flow(MIDSTREAM, (1, ed2k(0x59, RANDOM + b"\x08\0song.mp3"))),
    "emule-connect": flow(UDP, (0, b"\xc5\x95\x36\x12" + RANDOM[:5] + b"\x0e" + RANDOM[6:14] + b"\x6f" + RANDOM[15:] + b"\7")),
    "gnutella-middle": flow(MIDSTREAM, (0, RANDOM + b"\0\3\4\0\0\0\0" + RANDOM + b"\x80\3\4\x08\0\0\0\0\0a song")),
    "gnutella-reliable": flow(UDP, (0, b"\7\x32\0\1" + RANDOM[:12] + b"\x41\1\0\4\0\0\0data")),
    "gnutella2-middle": flow(MIDSTREAM, (0, b"\x50\7LNI\x42NA\7\2\0\xc0\x08PI\x08PI")),
    "soulseek-answer": flow(0, (1, slsk(struct.pack("<IB", 1, 1) + text(b"hi") + b"\7\2\0\xc0" + text(b"9e8d841b85194ee7f744743a8f23d4a8")))),
    "soulseek-branch": flow(MIDSTREAM, (0, slsk(b"\4\2\0\0\0") + slsk(b"\5" + text(b"alice")))),
    "soulseek-search": flow(MIDSTREAM, (0, slsk(b"\x5d\0\0\0\3\x31\0\0\0" + text(b"alice") + b"wxyz" + text(b"a song")))),
    "soulseek-connect": flow(MIDSTREAM, (1, slsk(b"\x12\0\0\0" + text(b"alice") + text(b"P") + bytes(13)))),
    "soulseek-file": flow(MIDSTREAM, (0, slsk(struct.pack("<III", 40, 1, 42) + text(b"@@a\\b.mp3") + bytes(8)))),
    "soulseek-packed": flow(MIDSTREAM, (1, slsk(b"\x09\0\0\0\x78\x9c\x65" + RANDOM))),
    "discord-old": flow(UDP, (0, b"\0\2\x4b\x18" + bytes(66)), (1, b"\0\2\x4b\x18192.0.2.17" + bytes(54) + b"\x5c\1")),
    "line-long": flow(UDP, (0, b"\xb6\x13\0\6" + RANDOM * 2 + RANDOM[:10])),
    "ppstream-old": flow(UDP, (0, b"\x15\x80\x51\x10" + RANDOM + b"abcd"), (1, b"\x1b\x80\1\2" + RANDOM)),
    "teamspeak2-voice": flow(UDP, *((0, b"\xf2\xbe\0\x0c" + RANDOM8 + bytes([n]) + RANDOM) for n in (1, 2))),
    "teamspeak2-command": flow(UDP, (1, b"\xf0\xbe\x2c\1\x44\x33\x22\x11\7\0\0\0\1" + bytes(7) + b"\xc5\xc2\x2d\x46ab")),
    "teamspeak3-ping": flow(UDP, (0, RANDOM8 + b"\x10\x92\0\5\x84"), (1, RANDOM8 + b"\x0f\x3f\x85\x10\x92")),
    "kakaotalk-call": flow(UDP, *((0, b"\x80\x61\0" + bytes([n]) + b"\0\0\x10\0\x5a\1\2\3" + RANDOM) for n in (1, 2))),
    "websocket-middle": flow(MIDSTREAM, (0, b"\x81\x90\0\0\0\0gr\xc3\xbc\xe2\x82\xac likes it"),
                             (1, b"\x81\x14{\"op\":\"pong\",\"id\":1}")),
    "websocket-control": flow(MIDSTREAM, (0, b"\x89\x84wxyzabcd"), (1, b"\x8a\4abcd\xc2\x7e\0\x80" + RANDOM * 8)),
    "smb-session": flow(0, (0, b"\x81\0\0\x44\x20" + b"CA" * 16 + b"\0\x20" + b"CA" * 16 + b"\0\0\0\0\x54\xffSMB\x72" + bytes(79))),
    "nntp-middle": flow(MIDSTREAM, (0, b"GROUP misc.test\r\n"), (1, b"211 1 2 3 misc.test\r\n")),
    "git-references": flow(0, (1, b"0055" + b"7217a7c7" * 5 + b" HEAD\0multi_ack thin-pack\n")),
    "adc-middle": flow(MIDSTREAM, (1, b"DSTA ABCD EFGH 153 none\n")),
    "nmdc-middle": flow(MIDSTREAM, (0, b"$To: bob From: alice $<alice> hello|")),
    "user-sni": flow(USERS, (0, hello(b"b.wiki.example")), (1, b"\x16\3\3\0\4\2\0\0\0")),
    "user-sni-cut": flow(USERS, (0, hello(b"a.wiki.example", 40)[:70]), (0, hello(b"a.wiki.example", 40)[70:])),
    "user-sni-none": flow(USERS, (0, hello(b"wiki.example.org"))),
    "user-host": flow(USERS, (0, b"GET / HTTP/1.1\r\nAccept: */*\r\nHo"), (0, b"st: x.wiki.example:80\r\n\r\n")),
    "user-connect": flow(USERS, (0, b"CONNECT wiki.example:443 HTTP/1.1\r\n\r\n"), (1, b"HTTP/1.1 200 OK\r\n\r\n")),
    "user-absolute": flow(USERS, (0, b"GET http://u@WIKI.example./?q HTTP/1.1\r\nHost: other\r\n\r\n")),
    "user-midstream": flow(USERS | MIDSTREAM, (1, b"GET / HTTP/1.1\r\nHost: wiki.example\r\n\r\n")),
    "user-pattern": flow(USERS, (0, b"OWN\n\0"), (0, b"\r\nx")),
    "user-port": flow(USERS | UDP, *((i & 1, b"something else") for i in range(12))),
    "unknown": flow(0, *((i & 1, b"something else") for i in range(12))),
    "unknown-udp": flow(UDP | PORT_53, *((i & 1, b"something else") for i in range(12))),
}


def main():
    folder = os.path.join(HERE, "corpus", "classify")
    os.makedirs(folder, exist_ok=True)
    for name, octets in FLOWS.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(octets)


if __name__ == "__main__":
    main()
