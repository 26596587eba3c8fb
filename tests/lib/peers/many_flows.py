#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Many small flows from known source ports, for tests that ask where each of them went.

many_flows.py serve                      echoes on TCP and UDP port 7000, IPv4 and IPv6
many_flows.py tcp HOST COUNT FIRST       connections from ports FIRST.., one echo each, kept open
                                         until standard input ends; prints "ready" before that
many_flows.py udp HOST COUNT FIRST BYTES datagrams of BYTES from ports FIRST.., each echoed
many_flows.py refused HOST COUNT FIRST   datagrams to a closed port: each must come back refused
The clients end with 0 if every flow did what it should; else they say which did not.
"""
import socket
import sys
import threading

ECHO, CLOSED = 7000, 7001


def serve_conn(conn):
    with conn:
        while chunk := conn.recv(65536):
            conn.sendall(chunk)


def serve_udp(sock):
    while True:
        packet, peer = sock.recvfrom(65536)
        sock.sendto(packet, peer)


def serve():
    datagrams = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    datagrams.bind(("::", ECHO))
    threading.Thread(target=serve_udp, args=(datagrams,), daemon=True).start()
    sock = socket.create_server(("::", ECHO), family=socket.AF_INET6, dualstack_ipv6=True, backlog=256)
    print("ready", flush=True)
    while True:
        threading.Thread(target=serve_conn, args=(sock.accept()[0],), daemon=True).start()


def client(kind, host, port):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, kind)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.settimeout(5)
    sock.bind(("::" if ":" in host else "0.0.0.0", port))
    return sock


def echoed(sock, content):
    sock.sendall(content)
    back = b""
    while len(back) < len(content):
        chunk = sock.recv(65536)
        if not chunk:
            return False
        back += chunk
    return back == content


def tcp(host, count, first):
    bad, open_socks = [], []
    for port in range(first, first + count):
        sock = client(socket.SOCK_STREAM, host, port)
        try:
            sock.connect((host, ECHO))
            if not echoed(sock, b"flow %d " % port * 400):
                bad.append(port)
        except OSError as error:
            bad.append("%d: %s" % (port, error))
        open_socks.append(sock)
    print("ready" if not bad else "failed: %s" % bad, flush=True)
    sys.stdin.read()
    return bad


def udp(host, count, first, size):
    bad = []
    for port in range(first, first + count):
        sock = client(socket.SOCK_DGRAM, host, port)
        sock.connect((host, ECHO))
        content = (b"%d " % port * size)[:size]
        sock.send(content)
        try:
            if sock.recv(65536) != content:
                bad.append(port)
        except OSError as error:
            bad.append("%d: %s" % (port, error))
    return bad


def refused(host, count, first):
    bad = []
    for port in range(first, first + count):
        sock = client(socket.SOCK_DGRAM, host, port)
        sock.connect((host, CLOSED))
        sock.send(b"anyone?")
        try:
            sock.recv(100)
            bad.append(port)
        except ConnectionRefusedError:
            pass
        except OSError as error:
            bad.append("%d: %s" % (port, error))
    return bad


if __name__ == "__main__":
    verb, args = sys.argv[1], sys.argv[2:]
    if verb == "serve":
        sys.exit(serve())
    failed = {"tcp": tcp, "udp": udp, "refused": refused}[verb](args[0], *map(int, args[1:]))
    if failed:
        print("not as it should be: %s" % failed)
    sys.exit(1 if failed else 0)
