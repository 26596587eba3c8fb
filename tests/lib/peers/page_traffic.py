#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Traffic of several applications at once, for the live page to show.

page_traffic.py serve HOST                     answers on the applications' ports
page_traffic.py talk HOSTS SECONDS [SOURCES]   a day in fast motion: web, mail, chat, file sharing
page_traffic.py once HOST APP                  one conversation (a key of APPS)
HOSTS and SOURCES are lists with commas; each conversation takes the next of each.
"""
import itertools
import math
import os
import socket
import struct
import sys
import threading
import time

BT = b"\x13BitTorrent protocol" + bytes([0, 0, 0, 0, 0, 0x10, 0, 5])
IP_PKTINFO = 8
DNS_QUERY = struct.pack(">HHHHHH", 0x1234, 0x0100, 1, 0, 0, 0) + b"\x03www\x07example\x03net\0\0\x01\0\x01"

# port, what the client says, what the server answers (None: a body of the length asked for)
APPS = {
    "http": (80, b"GET /film HTTP/1.1\r\nHost: media.example\r\nUser-Agent: a/1\r\n\r\n", None),
    "bittorrent": (6881, BT + b"sluice page torrent " + b"-TR3000-" + b"0123456789ab", BT + b"x" * 40),
    "gnutella": (6346, b"GNUTELLA CONNECT/0.6\r\nUser-Agent: LimeWire/4.18\r\nX-Ultrapeer: False\r\n\r\n",
                 b"GNUTELLA/0.6 200 OK\r\nUser-Agent: gtk-gnutella\r\n\r\n"),
    "irc": (6667, b"NICK anna\r\nUSER anna 0 * :Anna\r\n", b":irc.example 001 anna :Welcome\r\n"),
    "xmpp": (5222, b"<?xml version='1.0'?><stream:stream to='chat.example' xmlns='jabber:client' "
                   b"xmlns:stream='http://etherx.jabber.org/streams' version='1.0'>",
             b"<?xml version='1.0'?><stream:stream from='chat.example' id='a' xmlns='jabber:client' "
             b"xmlns:stream='http://etherx.jabber.org/streams' version='1.0'>"),
    "ssh": (22, b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"),
    "smtp": (25, b"EHLO client.example\r\n", b"220 mail.example ESMTP\r\n250-mail.example\r\n250 PIPELINING\r\n"),
}


def serve_one(sock, answer):
    with sock:
        sock.settimeout(60)
        try:
            asked = sock.recv(4096)
            if answer is not None:
                sock.sendall(answer)
                while sock.recv(4096):
                    pass
            elif asked:
                sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 99999999\r\n\r\n")
                while True:  # each octet of what comes then asks for 4 kB
                    wanted = sock.recv(4096)
                    if not wanted:
                        return
                    sock.sendall(os.urandom(4096) * len(wanted))
        except OSError:
            pass


def listen(host, port, answer):
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((host, port))
    sock.listen(64)
    while True:
        threading.Thread(target=serve_one, args=(sock.accept()[0], answer), daemon=True).start()


def serve(host):
    for port, _, answer in APPS.values():
        threading.Thread(target=listen, args=(host, port, answer), daemon=True).start()
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)
    sock.bind((host, 53))
    print("ready", flush=True)
    while True:
        query, about, _, peer = sock.recvmsg(512, 128)
        asked = struct.unpack("i4s4s", about[0][2])[2]  # it answers from the address that was asked
        sock.sendmsg([query[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + query[12:] + b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\1"],
                     [(socket.IPPROTO_IP, IP_PKTINFO, struct.pack("i4s4s", 0, asked, asked))], 0, peer)


def converse(host, app, hold=0.0, source="", say=False):
    port, asks, _ = APPS[app]
    with socket.socket() as sock:
        sock.settimeout(1)
        try:
            sock.bind((source, 0))
            sock.connect((host, port))
            if say:
                print(time.time(), flush=True)
            sock.sendall(asks)
            sock.recv(4096)
            time.sleep(hold)
        except OSError:
            pass


def resolve(host, source=""):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(1)
        sock.bind((source, 0))
        sock.connect((host, 53))
        try:
            sock.send(DNS_QUERY)
            sock.recv(512)
        except OSError:
            pass


def download(host, end, mbit_s, period_s, source=""):
    """A stream that swells and ebbs around mbit_s."""
    with socket.socket() as sock:
        sock.bind((source, 0))
        sock.connect((host, APPS["http"][0]))
        sock.sendall(APPS["http"][1])
        threading.Thread(target=drain, args=(sock,), daemon=True).start()
        begin = time.monotonic()
        while time.monotonic() < end:
            now = time.monotonic() - begin
            share = 0.6 + 0.35 * math.sin(now * 2 * math.pi / period_s) + 0.04 * math.sin(now * 1.7)
            wanted = mbit_s * 1e6 / 8 / 20 / 4096 * share
            sock.sendall(b"x" * max(1, int(wanted)))
            time.sleep(0.05 if wanted >= 1 else 0.05 / wanted)


def drain(sock):
    try:
        while sock.recv(1 << 18):
            pass
    except OSError:
        pass


def talk(hosts, seconds, sources):
    host, peers, clients = hosts[0], itertools.cycle(hosts), itertools.cycle(sources)
    sharers = itertools.cycle(sources[1:4:2] or sources)  # who shares files does it again and again
    end = time.monotonic() + seconds
    for i, (mbit_s, period_s) in enumerate(((24, 67), (9, 23), (4, 41), (1.6, 31), (0.6, 19), (0.2, 53))):
        source = sources[i % len(sources)]
        threading.Thread(target=download, args=(hosts[i % len(hosts)], end, mbit_s, period_s, source), daemon=True).start()
    turn = 0
    while time.monotonic() < end:
        resolve(host, next(clients))
        if turn % 3 == 0:
            threading.Thread(target=converse, args=(next(peers), "ssh", 8, next(clients)), daemon=True).start()
        if turn % 4 == 1:
            threading.Thread(target=converse, args=(next(peers), "smtp", 2, next(clients)), daemon=True).start()
        if turn % 9 == 4:
            converse(next(peers), "bittorrent", 0, next(sharers))
        if turn % 17 == 6:
            converse(next(peers), "irc", 1, next(clients))
        if turn % 23 == 11:
            converse(next(peers), "gnutella", 0, next(clients))
        if turn % 29 == 13:
            converse(next(peers), "xmpp", 1, next(clients))
        turn += 1
        time.sleep(0.6)


def main():
    verb, host = sys.argv[1], sys.argv[2]
    if verb == "serve":
        serve(host)
    elif verb == "talk":
        talk(host.split(","), float(sys.argv[3]), sys.argv[4].split(",") if len(sys.argv) > 4 else [""])
    elif verb == "once":
        converse(host, sys.argv[3], say=True)


main()
