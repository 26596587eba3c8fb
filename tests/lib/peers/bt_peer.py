#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Scripted BitTorrent peers, for what a real client does too slowly or too kindly.

bt_peer.py listen HOST:PORT            answers handshakes over TCP, and uTP on the same UDP port
bt_peer.py again HOST:PORT SECONDS     reconnects for ever: connect, send the handshake, repeat
bt_peer.py utp HOST:PORT SECONDS       a uTP exchange: SYN, then DATA until the time is over
Each client prints one JSON line of what it saw. Wire formats: BEP 3 (handshake), BEP 29 (uTP).
"""
import json
import os
import select
import socket
import struct
import sys
import threading
import time

ST_DATA, ST_FIN, ST_STATE, ST_RESET, ST_SYN = range(5)
UTP = struct.Struct(">BBHIIIHH")


def handshake():
    reserved = bytes([0, 0, 0, 0, 0, 0x10, 0, 0x05])
    return b"\x13BitTorrent protocol" + reserved + b"sluice lab torrent 1" + b"-TR3000-" + os.urandom(12)


def endpoint(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


def utp_packet(kind, conn_id, seq, ack, payload=b""):
    stamp = int(time.time() * 1e6) & 0xFFFFFFFF
    return UTP.pack(kind << 4 | 1, 0, conn_id, stamp, 0, 1 << 20, seq & 0xFFFF, ack & 0xFFFF) + payload


def utp_serve(address):
    """Acknowledges every uTP packet; the first data is answered with a handshake."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(address)
    seqs = {}
    while True:
        packet, peer = sock.recvfrom(4096)
        if len(packet) < UTP.size:
            continue
        first, _, conn_id, _, _, _, seq, _ = UTP.unpack_from(packet)
        kind = first >> 4
        if kind == ST_SYN:
            seqs[peer] = 1
            sock.sendto(utp_packet(ST_STATE, conn_id, 1, seq), peer)
        elif kind == ST_DATA and peer in seqs:
            seqs[peer] += 1
            reply = handshake() if seqs[peer] == 2 else os.urandom(64)
            sock.sendto(utp_packet(ST_DATA, (conn_id - 1) & 0xFFFF, seqs[peer], seq, reply), peer)


def tcp_serve_one(conn):
    with conn:
        conn.settimeout(10)
        try:
            if conn.recv(68):
                conn.sendall(handshake())
            while conn.recv(4096):
                pass
        except OSError:
            pass


def listen(address):
    threading.Thread(target=utp_serve, args=(address,), daemon=True).start()
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(address)
    sock.listen(64)
    while True:
        threading.Thread(target=tcp_serve_one, args=(sock.accept()[0],), daemon=True).start()


def again(address, seconds):
    end = time.monotonic() + seconds
    seen = {"tries": 0, "connected": 0, "answered": 0, "reset": 0, "no_answer": 0}
    while time.monotonic() < end:
        seen["tries"] += 1
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.settimeout(0.5)
        try:
            sock.connect(address)
            seen["connected"] += 1
            sock.sendall(handshake())
            if len(sock.recv(68)) > 0:
                seen["answered"] += 1
        except socket.timeout:
            seen["no_answer"] += 1
        except OSError:
            seen["reset"] += 1
        finally:
            sock.close()
        time.sleep(0.1)
    return seen


def utp(address, seconds):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(address)
    conn_id = struct.unpack(">H", os.urandom(2))[0] | 1
    seen = {"sent": 0, "syn_answered": 0, "replies": 0, "reply_bytes": 0, "rejected": 0, "last_reply_s": None}
    start = time.monotonic()

    def send(packet):
        try:
            sock.send(packet)
            seen["sent"] += 1
        except ConnectionRefusedError:  # an ICMP unreachable came back
            seen["rejected"] += 1

    def receive(seconds):
        if not select.select([sock], [], [], seconds)[0]:
            return None
        try:
            return sock.recv(4096)
        except ConnectionRefusedError:
            seen["rejected"] += 1
            return None

    send(utp_packet(ST_SYN, conn_id, 1, 0))
    if receive(1.0):
        seen["syn_answered"] = 1
    seq = 2
    while time.monotonic() - start < seconds:
        send(utp_packet(ST_DATA, conn_id + 1, seq, 1, handshake() if seq == 2 else os.urandom(400)))
        seq += 1
        answer = receive(0.1)
        if answer:
            seen["replies"] += 1
            seen["reply_bytes"] += max(0, len(answer) - UTP.size)
            seen["last_reply_s"] = round(time.monotonic() - start, 2)
            time.sleep(0.05)
    return seen


def main():
    verb, address = sys.argv[1], endpoint(sys.argv[2])
    if verb == "listen":
        listen(address)
    elif verb == "again":
        print(json.dumps(again(address, float(sys.argv[3]))))
    elif verb == "utp":
        print(json.dumps(utp(address, float(sys.argv[3]))))


if __name__ == "__main__":
    main()
