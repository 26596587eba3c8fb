#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the repository's own captures: gencaps.py DIRECTORY. The same files on every run.

Addresses are from the documentation ranges; nothing here was recorded anywhere."""
import hashlib
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from packet.packets import (  # noqa: E402 pylint: disable=wrong-import-position
    ACK, ETH_IPV4, ETH_IPV6, ETH_QINQ, ETH_VLAN, FIN, GRE, ICMP, ICMPV6, IP6IN4, IPIP, PSH, RST, SYN, TCP, UDP,
    Capture, Path, Session, checksum, eth, ethernet, icmp, ip, ipv4, ipv6, mac, tcp, udp)

CAPTURES = {}
INFO_HASH = hashlib.sha1(b"sluice test torrent").digest()
V6 = ("2001:db8::2", "2001:db8:1::80")


def capture(builder):
    CAPTURES[builder.__name__] = builder
    return builder


def noise(length, seed):
    """Octets that no signature knows, the same on every run."""
    out = b""
    while len(out) < length:
        out += hashlib.sha256(struct.pack(">II", seed, len(out))).digest()
    return out[:length]


# What the hosts say.

def bt_handshake(peer):
    return b"\x13BitTorrent protocol" + bytes(5) + b"\x10\x00\x05" + INFO_HASH + b"-SL0100-" + noise(12, peer)


def bt_message(kind, body=b""):
    return struct.pack(">IB", 1 + len(body), kind) + body


def bittorrent(path, cport=51413, sport=6881, pieces=2):
    s = Session(path, cport, sport).open()
    s.say(0, bt_handshake(1))
    s.say(1, bt_handshake(2) + bt_message(5, b"\xff\xe0"))
    s.say(0, bt_message(2))
    s.say(1, bt_message(1))
    for n in range(pieces):
        s.say(0, bt_message(6, struct.pack(">III", 0, n * 4096, 4096)))
        s.say(1, bt_message(7, struct.pack(">II", 0, n * 4096) + noise(4096, n)))
    return s.close()


def http(path, cport=40000, sport=80, size=3000, seed=99):
    s = Session(path, cport, sport).open()
    s.say(0, b"GET /index.html HTTP/1.1\r\nHost: www.example.org\r\nUser-Agent: test/1.0\r\nAccept: */*\r\n\r\n")
    s.say(1, b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n" % size
          + noise(size, seed))
    return s.close()


def irc(path, cport=40001, sport=6667):
    s = Session(path, cport, sport).open()
    s.say(0, b"NICK heron\r\nUSER heron 0 * :A Bird\r\n")
    s.say(1, b":irc.example.net 001 heron :Welcome to the Example network heron!heron@client.example.org\r\n")
    s.say(0, b"JOIN #lake\r\n")
    s.say(1, b":heron!heron@client.example.org JOIN #lake\r\n")
    s.say(0, b"PRIVMSG #lake :is anybody here?\r\n")
    s.say(1, b":crane!crane@client.example.org PRIVMSG #lake :no\r\n")
    s.say(0, b"QUIT :gone\r\n")
    return s.close()


def dns(path, cport=40053, name=b"\x03www\x07example\x03org\x00", ident=0x1234):
    question = name + struct.pack(">HH", 1, 1)
    path.datagram(0, cport, 53, struct.pack(">HHHHHH", ident, 0x0100, 1, 0, 0, 0) + question)
    path.datagram(1, cport, 53, struct.pack(">HHHHHH", ident, 0x8180, 1, 1, 0, 0) + question
                  + struct.pack(">HHHIH4s", 0xC00C, 1, 1, 300, 4, bytes([192, 0, 2, 80])))


def ssh(path, cport=40022):
    s = Session(path, cport, 22).open()
    s.say(1, b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")
    s.say(0, b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")
    s.say(0, struct.pack(">IBB", 28, 6, 20) + noise(26, 22))
    return s.close()


def tracker(path, cport=51413, sport=6969):
    connection = noise(8, 7)
    path.datagram(0, cport, sport, struct.pack(">QII", 0x41727101980, 0, 0x11223344))
    path.datagram(1, cport, sport, struct.pack(">II", 0, 0x11223344) + connection)
    path.datagram(0, cport, sport, connection + struct.pack(">II", 1, 0x11223345) + INFO_HASH + b"-SL0100-"
                  + noise(12, 1) + struct.pack(">QQQIIIiH", 0, 4096, 0, 2, 0, 0xCAFE, -1, cport))
    path.datagram(1, cport, sport, struct.pack(">IIIII4sH", 1, 0x11223345, 1800, 1, 1, bytes([192, 0, 2, 9]), 6881))


def dht(path, cport=51413, sport=6881):
    a, b = noise(20, 11), noise(20, 12)
    path.datagram(0, cport, sport, b"d1:ad2:id20:" + a + b"e1:q4:ping1:t2:aa1:y1:qe")
    path.datagram(1, cport, sport, b"d1:rd2:id20:" + b + b"e1:t2:aa1:y1:re")
    path.datagram(0, cport, sport, b"d1:ad2:id20:" + a + b"9:info_hash20:" + INFO_HASH
                  + b"e1:q9:get_peers1:t2:ab1:y1:qe")
    path.datagram(1, cport, sport, b"d1:rd2:id20:" + b + b"5:nodes26:" + noise(26, 13) + b"5:token4:zyxwe1:t2:ab1:y1:re")


def utp(path, cport=51413, sport=6881):
    def packet(direction, kind, connection, seq, ack, payload=b""):
        path.datagram(direction, cport, sport, struct.pack(
            ">BBHIIIHH", kind << 4 | 1, 0, connection, seq * 1000, 500, 0x40000, seq, ack) + payload)

    packet(0, 4, 700, 1, 0)  # SYN
    packet(1, 2, 700, 9000, 1)  # STATE
    packet(0, 0, 701, 2, 8999, bt_handshake(1))  # DATA
    packet(1, 0, 700, 9000, 2, bt_handshake(2))
    packet(0, 2, 701, 3, 9000)
    for n in range(3):
        packet(1, 0, 700, 9001 + n, 2, noise(1200, 30 + n))
        packet(0, 2, 701, 3, 9001 + n)
    packet(0, 1, 701, 3, 9003)  # FIN
    packet(1, 2, 700, 9004, 3)


# One application each.

@capture
def app_http(cap):
    http(Path(cap))


def client_hello(name):
    """A ClientHello that asks for this server name, in one record."""
    host = name.encode()
    sni = struct.pack(">HHHBH", 0, len(host) + 5, len(host) + 3, 0, len(host)) + host
    extensions = struct.pack(">HHHH", 0x0A0A, 0, 43, 3) + b"\2\3\4" + sni + struct.pack(">HH", 16, 5) + b"\0\3\2h2"
    body = b"\3\3" + noise(32, 5) + b"\0" + struct.pack(">HHH", 4, 0x1301, 0x1302) + b"\1\0"
    body += struct.pack(">H", len(extensions)) + extensions
    message = b"\1" + struct.pack(">I", len(body))[1:] + body
    return b"\x16\3\1" + struct.pack(">H", len(message)) + message


def tls(path, name, cport, sport=443, cut=0):
    """A TLS session; its hello in two segments, if `cut` says where."""
    session, hello = Session(path, cport, sport).open(), client_hello(name)
    for piece in ([hello[:cut], hello[cut:]] if cut else [hello]):
        session.say(0, piece)
    body = b"\3\3" + noise(32, 6) + b"\0" + b"\x13\1\0\0\0"
    session.say(1, b"\x16\3\3" + struct.pack(">H", len(body) + 4) + b"\2" + struct.pack(">I", len(body))[1:] + body)
    session.say(1, b"\x17\3\3\3\xe8" + noise(1000, 7))
    session.close()


@capture
def app_own(cap):
    """What policies/own.json defines, each of its ways, and beside each what it must leave alone."""
    path = Path(cap)
    tls(path, "www.wiki.example", 40100)
    tls(path, "wiki.example", 40111, cut=60)  # within the name's extension
    tls(path, "badwiki.example", 40102)
    for cport, target, host in ((40103, "/", "WIKI.example:80"), (40104, "/", "other.example"),
                                (40105, "http://a.wiki.example/x", "other.example")):
        session = Session(path, cport, 80).open()
        session.say(0, f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        session.say(1, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        session.close()
    crm = Session(path, 40106, 7777).open()
    crm.say(0, b"CRM/2 hello\r\n").say(1, b"200 welcome\r\n").close()
    path.datagram(0, 40107, 7777, b"\x01crm?")
    path.datagram(1, 40107, 7777, b"\x02crm!")
    tls(Path(cap, server="198.51.100.20"), "other.example", 40108)  # its network, and TLS
    path6 = Path(cap, client="2001:db8::2", server="2001:db8:77::1")
    path6.send(0, ICMPV6, icmp(128, 0, 0x10001, b"ping", v6=path6.hosts))
    unknown = Session(path, 40109, 6010).open()  # by its port, when all else has failed
    for i in range(12):
        unknown.say(i % 2, noise(40, 100 + i))
    unknown.close()


@capture
def app_bittorrent(cap):
    bittorrent(Path(cap))


@capture
def app_irc(cap):
    irc(Path(cap))


@capture
def app_content(cap):
    """What rules on files and messages are for: a program under its name, one under another name, a document, and talk."""
    client, web = "10.0.0.2", "192.0.2.80"
    program = b"MZ\x90\0" + bytes(56) + struct.pack("<I", 128) + bytes(64) + b"PE\0\0" + noise(3000, 5)
    for cport, path, octets in ((40000, b"/files/setup.exe", program), (40001, b"/holiday.png", program),
                                (40002, b"/report.pdf", b"%PDF-1.7\n" + noise(3000, 6))):
        s = Session(Path(cap, client, web), cport, 80).open()
        s.say(0, b"GET " + path + b" HTTP/1.1\r\nHost: files.example.org\r\nUser-Agent: test/1.0\r\nAccept: */*\r\n\r\n")
        s.say(1, b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n" % len(octets) + octets)
        s.close()
    s = Session(Path(cap, client, "192.0.2.67"), 40003, 6667).open()
    s.say(0, b"NICK heron\r\nUSER heron 0 * :A Bird\r\n")
    s.say(1, b":irc.example.net 001 heron :Welcome to the Example network heron!heron@client.example.org\r\n")
    s.say(0, b"JOIN #lake\r\n").say(1, b":heron!heron@client.example.org JOIN #lake\r\n")
    s.say(1, b":crane!crane@client.example.org PRIVMSG #lake :the bluebird lands at nine\r\n")
    s.say(0, b"PRIVMSG #lake :thanks\r\nQUIT :gone\r\n")
    s.close()


@capture
def app_udp_tracker(cap):
    tracker(Path(cap))


@capture
def app_dht(cap):
    dht(Path(cap))


@capture
def app_utp(cap):
    utp(Path(cap))


@capture
def app_mix(cap):
    """What an operator sees: wanted and unwanted traffic beside each other, IPv4 and IPv6."""
    client, peer, web = "10.0.0.2", "203.0.113.7", "192.0.2.80"
    dns(Path(cap, client, "192.0.2.53"))
    http(Path(cap, client, web))
    bittorrent(Path(cap, client, peer))
    ssh(Path(cap, client, "192.0.2.22"))
    utp(Path(cap, client, "203.0.113.8"))
    irc(Path(cap, client, "192.0.2.67"))
    tracker(Path(cap, client, "203.0.113.9"))
    http(Path(cap, *V6), cport=40002)
    bittorrent(Path(cap, V6[0], "2001:db8:2::7"))
    http(Path(cap, client, web), cport=40003, size=20000)


@capture
def app_reconnect(cap):
    """A blocked peer that comes back: at once, from another port, and after the cache's time."""
    for wait, cport in ((0, 50001), (1, 50002), (5, 50003), (2000, 50004)):
        cap.wait(wait)
        bittorrent(Path(cap, "10.0.0.2", "203.0.113.7"), cport=cport, pieces=1)
    http(Path(cap, "10.0.0.2", "203.0.113.7"), cport=50005)  # another port of the same host


@capture
def app_split_handshake(cap):
    """The first payload in pieces, one of them sent twice and two out of order."""
    s = Session(Path(cap), 51000, 6881).open()
    first = bt_handshake(1)
    s.segment(0, ACK | PSH, first[:11])
    s.segment(1, ACK)
    start = s.next[0]
    s.segment(0, ACK | PSH, first[30:], seq=start + 19, advance=False)
    s.segment(0, ACK | PSH, first[11:30])
    s.segment(0, ACK | PSH, first[11:30], seq=start, advance=False)
    s.next[0] = start + len(first) - 11
    s.segment(1, ACK)
    s.say(1, bt_handshake(2))
    s.say(0, bt_message(2))
    s.close()


# What is around the packets.

@capture
def link_vlan(cap):
    path = Path(cap, wrap=ethernet([(ETH_VLAN, 100)]))
    bittorrent(path)
    http(path)


@capture
def link_qinq(cap):
    path = Path(cap, wrap=ethernet([(ETH_QINQ, 0x6064), (ETH_VLAN, 200)]))
    bittorrent(path)
    http(path)


@capture
def link_other(cap):
    """ARP, STP, LLDP, LACP, EAPOL, LLC, an unknown ethertype, and IP behind them."""
    a, b = mac(0x0A000002), mac(0xC0000250)
    arp = struct.pack(">HHBBH", 1, ETH_IPV4, 6, 4, 1) + a + bytes([10, 0, 0, 2]) + bytes(6) + bytes([10, 0, 0, 1])
    cap.add(eth(b"\xff" * 6, a, 0x0806, arp + bytes(18)))
    stp = b"\x42\x42\x03" + bytes(35)
    cap.add(bytes.fromhex("0180c2000000") + a + struct.pack(">H", len(stp)) + stp + bytes(8))
    cap.add(eth(bytes.fromhex("0180c200000e"), a, 0x88CC, bytes.fromhex("0207040200000a00020403053130060200780000") + bytes(26)))
    cap.add(eth(bytes.fromhex("0180c2000002"), a, 0x8809, b"\x01\x01\x01\x14" + bytes(106)))
    cap.add(eth(bytes.fromhex("0180c2000003"), a, 0x888E, b"\x02\x01\x00\x00" + bytes(42)))
    snap = b"\xaa\xaa\x03\x00\x00\x0c\x20\x00" + b"\x02\xb4" + bytes(30)
    cap.add(bytes.fromhex("01000ccccccc") + a + struct.pack(">H", len(snap)) + snap)
    cap.add(eth(b, a, 0x88B5, noise(60, 5)))
    dns(Path(cap))


@capture
def link_pppoe(cap):
    inner = ethernet()

    def wrap(direction, ethertype, packet):
        proto = 0x57 if ethertype == ETH_IPV6 else 0x21
        head = struct.pack(">BBHHH", 0x11, 0, 0x1234, len(packet) + 2, proto)
        return inner(direction, 0x8864, head + packet)

    bittorrent(Path(cap, wrap=wrap), pieces=1)
    http(Path(cap, *V6, wrap=wrap), size=500)
    lcp = b"\x09\x01\x00\x08" + bytes(4)
    cap.add(inner(0, 0x8864, struct.pack(">BBHHH", 0x11, 0, 0x1234, len(lcp) + 2, 0xC021) + lcp + bytes(30)))
    cap.add(inner(0, 0x8863, bytes.fromhex("11090000000401010000") + bytes(36)))  # discovery


@capture
def link_mpls(cap):
    inner = ethernet()

    def wrap(direction, _ethertype, packet):
        return inner(direction, 0x8847, struct.pack(">II", 16 << 12 | 64, 17 << 12 | 1 << 8 | 64) + packet)

    bittorrent(Path(cap, wrap=wrap), pieces=1)
    http(Path(cap, *V6, wrap=wrap), size=500)
    cap.add(inner(0, 0x8847, struct.pack(">I", 16 << 12 | 64) * 20))  # labels without an end


@capture
def link_gre(cap):
    outer = ethernet()

    def wrap(direction, ethertype, packet):
        ends = ("10.0.0.1", "198.51.100.1")
        head = struct.pack(">HHII", 0x3000, ethertype, 0xFEED, 7)  # with key and sequence number
        return outer(direction, ETH_IPV4, ipv4(ends[direction], ends[1 - direction], GRE, head + packet))

    bittorrent(Path(cap, "172.16.0.2", wrap=wrap), pieces=1)
    http(Path(cap, *V6, wrap=wrap), size=500)


@capture
def link_ipip(cap):
    outer = ethernet()

    def wrap(direction, ethertype, packet):
        ends = ("10.0.0.1", "198.51.100.1")
        proto = IP6IN4 if ethertype == ETH_IPV6 else IPIP
        return outer(direction, ETH_IPV4, ipv4(ends[direction], ends[1 - direction], proto, packet))

    bittorrent(Path(cap, "172.16.0.2", wrap=wrap), pieces=1)  # IPIP
    bittorrent(Path(cap, *V6, wrap=wrap), pieces=1)  # 6in4
    http(Path(cap, "172.16.0.2", wrap=wrap), size=500)


@capture
def link_raw(cap):
    cap.linktype = 101
    bittorrent(Path(cap, wrap=lambda _direction, _ethertype, packet: packet), pieces=1)
    http(Path(cap, *V6, wrap=lambda _direction, _ethertype, packet: packet), size=500)


@capture
def link_sll_nano(cap):
    """Linux cooked capture, nanoseconds."""
    cap.linktype, cap.nano = 113, True

    def wrap(direction, ethertype, packet):
        return struct.pack(">HHH8sH", 4 * direction, 1, 6, mac(0x0A000002) + b"\0\0", ethertype) + packet

    bittorrent(Path(cap, wrap=wrap), pieces=1)
    http(Path(cap, wrap=wrap), size=500)


@capture
def link_unknown(cap):
    """IEEE 802.11 without radio header: no link type of ours."""
    cap.linktype = 105
    for n in range(3):
        cap.add(b"\x80\x00" + noise(60, n))


@capture
def link_jumbo(cap):
    """9000-byte packets, and one that no mbuf of a usual pool holds in one piece."""
    s = Session(Path(cap), 40100, 80, mss=8948).open()
    s.say(0, b"GET /big HTTP/1.1\r\nHost: www.example.org\r\n\r\n")
    s.say(1, b"HTTP/1.1 200 OK\r\nContent-Length: 30000\r\n\r\n" + noise(30000, 40))
    s.close()
    s = Session(Path(cap), 40101, 6881, mss=60000).open()
    s.say(0, bt_handshake(1))
    s.say(1, bt_handshake(2) + noise(59000, 41))
    s.close()


# Network layer.

@capture
def net_ipv6_extensions(cap):
    hop = (0, b"\x00\x05\x02\x00\x00\x01\x00")
    dest = (60, b"\x01" + b"\x01\x0c" + bytes(12))
    routing = (43, b"\x02\x00\x00" + bytes(4) + bytes(16))

    class Extended(Path):
        def send(self, direction, proto, payload, **more):
            super().send(direction, proto, payload, extensions=(hop, dest, routing), **more)

    bittorrent(Extended(cap, *V6), pieces=1)
    http(Extended(cap, *V6), size=500)
    wrap = ethernet()
    many = tuple((60, b"\x00\x01\x04\x00\x00\x00\x00") for _ in range(40))
    cap.add(wrap(0, ETH_IPV6, ipv6(*V6, UDP, udp(V6[0], 1, V6[1], 2, b"deep"), extensions=many)))
    cap.add(wrap(0, ETH_IPV6, ipv6(*V6, 59, b"nothing")))  # no next header
    cap.add(wrap(0, ETH_IPV6, ipv6(*V6, 51, struct.pack(">BBHII", TCP, 4, 0, 1, 1) + bytes(12)
                                   + tcp(V6[0], 5, V6[1], 6, 1, 0, SYN))))  # authentication header


def fragments4(path, direction, proto, payload, sizes, ident, order=None):
    at, pieces = 0, []
    for i, size in enumerate(sizes):
        more = 0x2000 if i < len(sizes) - 1 else 0
        pieces.append((payload[at:at + size], more | at // 8))
        at += size
    for i in order or range(len(pieces)):
        path.send(direction, proto, pieces[i][0], ident=ident, frag=pieces[i][1])


def fragments6(path, direction, proto, payload, sizes, ident, order=None):
    at, pieces = 0, []
    for i, size in enumerate(sizes):
        more = 1 if i < len(sizes) - 1 else 0
        pieces.append((payload[at:at + size], (44, struct.pack(">BHI", 0, at | more, ident))))
        at += size
    for i in order or range(len(pieces)):
        path.send(direction, proto, pieces[i][0], extensions=(pieces[i][1],))


@capture
def net_fragments(cap):
    path, path6 = Path(cap), Path(cap, *V6)
    big = udp(*_udp_ends(path), noise(2992, 50))
    fragments4(path, 0, UDP, big, (1480, 1480, 40), 7)
    fragments4(path, 0, UDP, big, (1480, 1480, 40), 8, order=(2, 0, 1))
    big6 = udp(*_udp_ends(path6), noise(2992, 51))
    fragments6(path6, 0, UDP, big6, (1440, 1440, 120), 9, order=(1, 0, 2))
    fragments6(path6, 0, UDP, udp(*_udp_ends(path6), b"atomic"), (14,), 10)
    fragments4(path, 0, UDP, big, (8, 1480), 11)  # tiny first fragment, the end is missing
    segment = tcp("10.0.0.2", 50100, "192.0.2.80", 6881, 1, 1, ACK | PSH, bt_handshake(1))
    fragments4(path, 0, TCP, segment, (24, 64), 12)
    path.send(0, UDP, big[:1480], ident=13, frag=0x2000)
    path.send(0, UDP, big[1000:2000], ident=13, frag=0x2000 | 125)  # overlap
    path.send(0, UDP, big[2000:], ident=13, frag=250)
    http(path, size=200)


def _udp_ends(path):
    return path.hosts[0], 50000, path.hosts[1], 50001


@capture
def net_icmp(cap):
    """Echo, and errors about a flow seen before, one never seen, and a refused one."""
    path, path6 = Path(cap), Path(cap, *V6)
    for n in range(3):
        path.send(0, ICMP, icmp(8, 0, 0x00070000 | n, noise(56, 60)))
        path.send(1, ICMP, icmp(0, 0, 0x00070000 | n, noise(56, 60)))
    path6.send(0, ICMPV6, icmp(128, 0, 0x00070001, noise(56, 61), v6=V6))
    path6.send(1, ICMPV6, icmp(129, 0, 0x00070001, noise(56, 61), v6=V6[::-1]))
    tracker(path)
    about = ip(*path.hosts, UDP, udp(path.hosts[0], 51413, path.hosts[1], 6969, b"x" * 40))
    path.send(1, ICMP, icmp(3, 3, 0, about[:28]))
    router = Path(cap, "10.0.0.2", "198.51.100.254")
    router.send(1, ICMP, icmp(3, 4, 1400, about))  # fragmentation needed, from a router
    router.send(1, ICMP, icmp(11, 0, 0, about[:20]))  # no ports inside
    dns(path6)
    about6 = ip(*V6, UDP, udp(V6[0], 40053, V6[1], 53, b"y" * 40))
    path6.send(1, ICMPV6, icmp(2, 0, 1280, about6, v6=V6[::-1]))
    strange = ip("10.0.0.2", "203.0.113.200", TCP, tcp("10.0.0.2", 1, "203.0.113.200", 2, 3, 0, SYN))
    router.send(1, ICMP, icmp(3, 1, 0, strange[:28]))


# Packets that are wrong.

@capture
def bad_checksums(cap):
    """A forged first segment must not be inspected; the true one behind it must."""
    path = Path(cap)
    s = Session(path, 51500, 6881).open()
    s.segment(0, ACK | PSH, b"GET / HTTP/1.0\r\n\r\n" + bytes(50), advance=False, spoil=True)
    s.say(0, bt_handshake(1))
    s.say(1, bt_handshake(2))
    s.close()
    h = Session(path, 51501, 80).open()
    h.segment(0, ACK | PSH, bt_handshake(1), advance=False, spoil=True)
    h.say(0, b"GET / HTTP/1.1\r\nHost: www.example.org\r\n\r\n")
    h.say(1, b"HTTP/1.1 204 No Content\r\n\r\n")
    h.close()
    path.datagram(0, 51413, 6969, struct.pack(">QII", 0x41727101980, 0, 1), spoil=True)
    path.datagram(0, 51502, 53, b"\x12\x34\x01\x00\x00\x01" + bytes(6) + b"\x01a\x00\x00\x01\x00\x01", zero=True)
    header = bytearray(ipv4("10.0.0.2", "192.0.2.80", UDP, udp("10.0.0.2", 9, "192.0.2.80", 9, b"bad header")))
    header[10] ^= 0x55
    cap.add(ethernet()(0, ETH_IPV4, bytes(header)))


@capture
def bad_truncated(cap):
    """A snap length at every place of a TCP packet with VLAN tag and options."""
    frame = ethernet([(ETH_VLAN, 5)])(0, ETH_IPV4, ipv4("10.0.0.2", "192.0.2.80", TCP, tcp(
        "10.0.0.2", 1, "192.0.2.80", 2, 3, 4, ACK, b"payload", options=b"\x01" * 12)))
    for caplen in range(len(frame)):
        cap.add(frame, caplen=caplen)
    frame = ethernet()(0, ETH_IPV6, ipv6(*V6, UDP, udp(V6[0], 1, V6[1], 2, b"payload"),
                                         extensions=((0, b"\x00\x05\x02\x00\x00\x01\x00"),)))
    for caplen in range(14, len(frame)):
        cap.add(frame, caplen=caplen)


@capture
def bad_headers(cap):
    wrap = ethernet()
    ends = ("10.0.0.2", "192.0.2.80")
    good = ipv4(*ends, UDP, udp(ends[0], 1, ends[1], 2, b"twelve bytes"))

    def broken(at, value):
        octets = bytearray(good)
        octets[at:at + len(value)] = value
        octets[10:12] = bytes(2)
        octets[10:12] = struct.pack(">H", checksum(bytes(octets[:20])))
        cap.add(wrap(0, ETH_IPV4, bytes(octets)))

    broken(0, b"\x44")  # header of 16 octets
    broken(0, b"\x4f")  # header of 60 octets, longer than the packet
    broken(0, b"\x65")  # version 6 under ethertype IPv4
    broken(2, b"\x00\x13")  # total length below the header
    broken(2, b"\xff\xff")  # total length beyond the frame
    broken(24, b"\x00\x07")  # UDP length below its header
    broken(24, b"\xff\x00")  # UDP length beyond the packet
    broken(20, bytes(4))  # ports 0
    cap.add(wrap(0, ETH_IPV4, ipv4(ends[0], ends[0], TCP, tcp(ends[0], 7, ends[0], 7, 1, 0, SYN))))  # land
    for flags in (0, FIN | SYN | RST | PSH | ACK, SYN | FIN, SYN | RST):
        cap.add(wrap(0, ETH_IPV4, ipv4(*ends, TCP, tcp(ends[0], 8, ends[1], 9, 1, 1, flags))))
    segment = bytearray(tcp(ends[0], 8, ends[1], 9, 1, 1, ACK, b"abcdef"))
    for offset in (0, 4, 15):
        segment[12] = offset << 4
        cap.add(wrap(0, ETH_IPV4, ipv4(*ends, TCP, bytes(segment))))
    for options in (b"\x02\x00\x00\x00", b"\x02\xff\x05\xb4", b"\x03\x03\x0f\x08", b"\x08\x0a\x00\x00"):
        cap.add(wrap(0, ETH_IPV4, ipv4(*ends, TCP, tcp(ends[0], 10, ends[1], 11, 1, 0, SYN, options=options))))
    cap.add(wrap(0, ETH_IPV4, ipv4(*ends, UDP, udp(ends[0], 1, ends[1], 2, b"option"), options=b"\x44\x04\x05\x00")))
    nested = udp(ends[0], 1, ends[1], 2, b"russian doll")
    proto = UDP
    for _ in range(12):
        nested, proto = ipv4(*ends, proto, nested), IPIP
    cap.add(wrap(0, ETH_IPV4, nested))
    cap.add(wrap(0, ETH_IPV4, ipv4(*ends, 253, b"experimental")))
    cap.add(wrap(0, ETH_IPV4, good) + bytes(30))  # a trailer that is not payload
    http(Path(cap), size=100)


@capture
def bad_clock(cap):
    """Time stamps that go back by a minute and by years."""
    path = Path(cap)
    dns(path, cport=40060)
    cap.wait(-60)
    dns(path, cport=40061)
    cap.now_us = 5_000_000
    http(path, size=100)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: gencaps.py DIRECTORY")
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, builder in CAPTURES.items():
        cap = Capture()
        builder(cap)
        with open(os.path.join(sys.argv[1], name + ".pcap"), "wb") as out:
            out.write(cap.octets())


if __name__ == "__main__":
    main()
