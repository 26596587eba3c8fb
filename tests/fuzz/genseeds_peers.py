#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes corpus/peers/: messages that name endpoints and addresses (fuzz_peers.c)."""
import os

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "peers")
DNS, UDP, SERVER, V6 = 1, 2, 4, 8
ID = b"abcdefghij0123456789"
PEER = b"\x0b\0\0\1\x1a\xe1"
PEER6 = bytes.fromhex("20010db8000000000000000000000009") + b"\x1a\xe1"
SHAKE = b"\x13BitTorrent protocol\0\0\0\0\0\x10\0\5" + ID + ID
QUESTION = b"\4chat\7example\0\0\1\0\1"


def extended(body, ident):
    return (len(body) + 2).to_bytes(4, "big") + b"\x14" + bytes([ident]) + body


def dns(answers, count):
    return b"\x12\x34\x81\x80\0\1" + count.to_bytes(2, "big") + b"\0\0\0\0" + QUESTION + answers


def main():
    a = b"\xc0\x0c\0\1\0\1\0\0\1\x2c\0\4\xc6\x33\x64\7"
    chain = (b"\xc0\x0c\0\5\0\1\0\0\0\x3c\0\6\3cdn\xc0\x11" b"\3cdn\xc0\x11\0\1\0\1\0\0\0\x3c\0\4\xc6\x33\x64\x08")
    message = dns(chain, 2)
    http = b"HTTP/1.1 200 OK\r\n%s\r\n"
    seeds = {
        "dht-nodes": (UDP | SERVER, b"d1:rd2:id20:" + ID + b"5:nodes52:" + (ID + PEER) * 2 + b"e1:t2:aa1:y1:re"),
        "dht-nodes6": (UDP | SERVER | V6, b"d1:rd2:id20:" + ID + b"6:nodes638:" + ID + PEER6 + b"e1:t2:aa1:y1:re"),
        "dht-values": (UDP | SERVER, b"d1:rd2:id20:" + ID + b"6:valuesl6:" + PEER + b"18:" + PEER6 + b"ee1:t2:aa1:y1:re"),
        "dht-announce": (UDP, b"d1:ad2:id20:" + ID + b"12:implied_porti1e9:info_hash20:" + ID +
                         b"4:porti6881e5:token1:xe1:q13:announce_peer1:t1:a1:y1:qe"),
        "dht-deep": (UDP | SERVER, b"d1:r" + b"l" * 12 + b"e" * 12 + b"1:y1:re"),
        "udp-tracker": (UDP | SERVER, b"\0\0\0\1abcd\0\0\7\x08\0\0\0\1\0\0\0\2" + PEER * 2),
        "udp-tracker6": (UDP | SERVER | V6, b"\0\0\0\1abcd\0\0\7\x08\0\0\0\1\0\0\0\2" + PEER6),
        "udp-announce": (UDP, b"connecti\0\0\0\1" + b"t" * 84 + b"\x1a\xe1"),
        "lsd": (UDP, b"BT-SEARCH * HTTP/1.1\r\nHost: x\r\nPort: 6881\r\nInfohash: 0\r\n\r\n\r\n"),
        "http-request": (0, b"GET /announce?info_hash=" + ID + b"&port=51413 HTTP/1.1\r\n\r\n"),
        "http-compact": (SERVER, http % b"" + b"d8:intervali1800e5:peers12:" + PEER * 2 + b"6:peers618:" + PEER6 + b"e"),
        "http-list": (SERVER, http % b"" + b"d5:peersld2:ip8:11.0.0.44:porti6889eeee"),
        "http-chunked": (SERVER, http % b"Transfer-Encoding: chunked\r\n" + b"12\r\nd5:peers6:" + PEER + b"e\r\n0\r\n\r\n"),
        "http-long": (SERVER, http % b"" + b"d5:peers3000:" + PEER * 400),
        "wire": (SERVER, SHAKE + b"\0\0\0\0" + extended(b"d1:md6:ut_pexi1ee1:pi6999ee", 0) +
                 b"\0\0\0\x09\7\0\0\0\1abcd" + extended(b"d5:added12:" + PEER * 2 + b"e", 1) +
                 extended(b"d6:added618:" + PEER6 + b"e", 1)),
        "dns-a": (DNS | UDP | SERVER, dns(a, 1)),
        "dns-chain": (DNS | UDP | SERVER, message),
        "dns-loop": (DNS | UDP | SERVER, dns(b"\xc0\x1e\0\1\0\1\0\0\1\x2c\0\4\xc6\x33\x64\7", 1)),
        "dns-aaaa": (DNS | UDP | SERVER, dns(b"\xc0\x0c\0\x1c\0\1\0\0\0\x3c\0\x10" + PEER6[:16], 1)),
        "dns-tcp": (DNS | SERVER, len(message).to_bytes(2, "big") + message + b"\0\x0c" + message[:12]),
    }
    os.makedirs(HERE, exist_ok=True)
    for name, (bits, payload) in seeds.items():
        with open(os.path.join(HERE, name), "wb") as out:
            out.write(bytes([bits, 40]) + payload)


main()
