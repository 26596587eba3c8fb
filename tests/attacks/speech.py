# SPDX-License-Identifier: BSD-3-Clause
"""Payloads of attack captures, policies, and conversations that many rows share."""
import struct

from craft import (
    ACK, ANY, DROP, INSIDE, OUTSIDE, PASS, PSH, SERVER, Talk, crypto_frame, quic_initial)
from packet.gencaps import INFO_HASH, bt_handshake, client_hello, noise

BLOCKED, ALLOWED = "www.blocked.example", "www.allowed.example"

# Members of policy.json, with ' for ".
DEFAULT = ("'rules':[{'id':'no-file-sharing','match':{'category':['p2p'],'min_confidence':'dpi'},"
           "'action':'reset','cache':'tuple'}],'invalid':{'malformed':'observe'}")
MONITOR = DEFAULT + ",'mode':'monitor'"
NAMES = ("'applications':[{'id':'blocked','category':'web','sni':['blocked.example'],"
         "'regex':[{'pattern':'^OWN/[0-9]','protocol':'tcp','direction':'to_server','min_length':5}]}],"
         "'rules':[{'id':'no-blocked','match':{'app':['blocked']},'action':'reset','cache':'none'}]")
DENY = ("'default':'drop','rules':[{'id':'web','match':{'protocol':'tcp','ports':[443]},'action':'pass'},"
        "{'id':'dns','match':{'protocol':'udp','ports':[53]},'action':'pass'}]")
QUARANTINE = ("'rules':[{'id':'quarantine','match':{'source':['10.0.0.66','2001:db8:1::66']},'action':'drop',"
              "'cache':'none'}]")
SHAPES = ("'rules':[{'id':'no-shapes','match':{'app':['bittorrent'],'min_confidence':'partial'},"
          "'action':'reset','cache':'none'}]")
LEARNED = ("'rules':[{'id':'no-learned','match':{'category':['p2p'],'min_confidence':'cache','protocol':'tcp'},"
           "'action':'drop','cache':'none'}]")
DNS_NAMES = ("'applications':[{'id':'blocked','category':'web','sni':['blocked.example']}],"
             "'rules':[{'id':'no-blocked','match':{'app':['blocked'],'min_confidence':'cache'},"
             "'action':'drop','cache':'none'}]")

DHT_PING = b"d1:ad2:id20:" + noise(20, 11) + b"e1:q4:ping1:t2:aa1:y1:qe"
DHT_PONG = b"d1:rd2:id20:" + noise(20, 12) + b"e1:t2:aa1:y1:re"
GET_PEERS = (b"d1:ad2:id20:" + noise(20, 11) + b"9:info_hash20:" + INFO_HASH
             + b"e1:q9:get_peers1:t2:ab1:y1:qe")
HTTP_GET = b"GET / HTTP/1.1\r\nHost: www.allowed.example\r\n\r\n"
HTTP_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


def dht_values(*peers, transaction=b"ab"):
    """An answer to get_peers that names peers, each its octets and port."""
    values = b"".join(b"%d:" % (len(address) + 2) + address + struct.pack(">H", port) for address, port in peers)
    return (b"d1:rd2:id20:" + noise(20, 12) + b"5:token4:zyxw6:valuesl" + values + b"ee1:t2:" + transaction
            + b"1:y1:re")


def server_hello():
    body = b"\3\3" + noise(32, 6) + b"\0" + b"\x13\1\0\0\0"
    return b"\x16\3\3" + struct.pack(">H", len(body) + 4) + b"\2" + struct.pack(">I", len(body))[1:] + body


def tls(session, name=ALLOWED, close=True, records=3):
    """A TLS session that is open already."""
    session.say(0, client_hello(name))
    session.say(1, server_hello())
    for n in range(records):
        session.say(n % 2, b"\x17\3\3\1\xf4" + noise(500, 40 + n))
    return session.close() if close else session


def refused(world, session, first, answer=None):
    """A conversation that the policy must end at its first payload; later packets may be anything."""
    world.expect = DROP
    session.segment(0, ACK | PSH, first)
    world.expect = ANY
    session.segment(1, ACK | PSH, answer or noise(400, 9))
    world.expect = DROP
    session.segment(0, ACK | PSH, noise(500, 8))
    world.expect = PASS


def bt_refused(world, talk, cport=51413, sport=6881):
    session = talk.session(cport, sport).open()
    refused(world, session, bt_handshake(1), bt_handshake(2))
    return session


def dht_refused(world, talk, cport=51413, sport=6881):
    world.expect = DROP
    talk.datagram(0, cport, sport, DHT_PING)
    world.expect = PASS


# Honest datagrams, client first.

WIREGUARD = (b"\1\0\0\0" + noise(144, 61), b"\2\0\0\0" + noise(88, 62), b"\4\0\0\0" + noise(92, 63),
             b"\4\0\0\0" + noise(124, 64))
_IKE = noise(8, 65)
IKE = tuple(_IKE + (bytes(8) if n == 0 else noise(8, 66)) + bytes([0x21, 0x20, 0x22, 0x08 if n % 2 == 0 else 0x20])
            + struct.pack(">II", 0, 128) + b"\x22\0\0\x64" + noise(96, 67 + n) for n in range(2))
_SIP = ("{0} SIP/2.0\r\nVia: SIP/2.0/UDP 10.0.0.2:5060;branch=z9hG4bK77\r\nFrom: <sip:a@example.org>;tag=1\r\n"
        "To: <sip:example.org>\r\nCall-ID: 9@10.0.0.2\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n")
SIP = (_SIP.format("OPTIONS sip:example.org").encode(),
       _SIP.replace("{0} SIP/2.0", "SIP/2.0 200 OK").encode())
NTP = (b"\x23" + bytes(39) + noise(8, 70), b"\x24\1\0\xe8" + bytes(8) + noise(36, 71))
_QUESTION = b"\3www\7example\3org\0\0\1\0\1"
DNS = (struct.pack(">HHHHHH", 0x1234, 0x0100, 1, 0, 0, 0) + _QUESTION,
       struct.pack(">HHHHHH", 0x1234, 0x8180, 1, 1, 0, 0) + _QUESTION
       + struct.pack(">HHHIH4s", 0xC00C, 1, 1, 300, 4, bytes([192, 0, 2, 80])))
SYSLOG = (b"<34>Oct 11 22:14:15 host su: 'su root' failed for user on /dev/pts/8",)
STUN = (b"\0\1\0\0\x21\x12\xa4\x42" + noise(12, 72),
        b"\1\1\0\x0c\x21\x12\xa4\x42" + noise(12, 72) + b"\0\x20\0\x08\0\1\x11\x22\x2b\x12\xa4\x40")
# (payloads by turns, ports of the client and the server)
HONEST_UDP = {
    "wireguard": (WIREGUARD, 51820, 51820), "ike": (IKE, 500, 500), "sip": (SIP, 5060, 5060),
    "ntp": (NTP, 123, 123), "dns": (DNS, 40053, 53), "stun": (STUN, 40078, 3478)}


def exchange(world, talk, name, times=1, pause=0.0):
    payloads, cport, sport = HONEST_UDP[name]
    for _ in range(times):
        for i, payload in enumerate(payloads):
            talk.datagram(i % 2, cport, sport, payload)
        world.wait(pause)


def hello_of_quic(name):
    """The handshake message of a ClientHello, without its record."""
    return client_hello(name)[5:]


def quic_client(name, dcid=b"\x83\x94\xc8\xf0\x3e\x51\x57\x08", **more):
    return quic_initial(crypto_frame(hello_of_quic(name)), dcid, **more)


def quic_server(dcid=b"\x83\x94\xc8\xf0\x3e\x51\x57\x08"):
    answer = b"\2" + server_hello()[6:]
    return quic_initial(b"\2\0\0\0\0" + crypto_frame(answer), b"\x11" * 8, server=True, keyed_by=dcid,
                        scid=b"\x77" * 8)


__all__ = [name for name in dir() if not name.startswith("_")]
