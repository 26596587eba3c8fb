#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Frames that kernels do not make or do not forward, compared whole at the other end.

raw_peer.py listen IFACE        returns every frame with our mark to its sender's MAC, as it came
raw_peer.py send IFACE KIND     sends one of KINDS, three tries; 0 when it comes back unchanged

The packet socket hands a VLAN tag over beside the frame (PACKET_AUXDATA); it is put back here.
"""
import os
import select
import socket
import struct
import sys
import time

ETH_ALL, SOL_PACKET, PACKET_AUXDATA = 0x0003, 263, 8
TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID = 0x10, 0x40
MARK = b"sluice-lab-frame"
STP, LLDP = b"\x01\x80\xc2\x00\x00\x00", b"\x01\x80\xc2\x00\x00\x0e"
SLOW = b"\x01\x80\xc2\x00\x00\x02"


def checksum(raw):
    total = sum(struct.unpack(f">{len(raw) // 2}H", raw))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def udp4(ttl, payload):
    udp = struct.pack(">HHHH", 40000, 40001, 8 + len(payload), 0) + payload  # 0: no checksum
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0xB8, 20 + len(udp), 0x1234, 0x4000, ttl, 17, 0,
                       socket.inet_aton("10.77.0.1"), socket.inet_aton("10.77.0.2"))
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + udp


def frame(kind, source, nonce):
    payload = MARK + nonce
    peer = b"\x02\x00\x00\x00\x77\x02"
    if kind == "vlan":
        return peer + source + b"\x81\x00\x60\x0a\x08\x00" + udp4(64, payload)
    if kind == "qinq":
        return peer + source + b"\x88\xa8\x00\x64\x81\x00\x00\x0a\x08\x00" + udp4(64, payload)
    if kind == "ttl1":
        return peer + source + b"\x08\x00" + udp4(1, payload)
    if kind == "stp":  # 802.3 length and LLC
        return STP + source + struct.pack(">H", 3 + 35 + len(payload)) + b"\x42\x42\x03" + bytes(35) + payload
    if kind == "lldp":
        return LLDP + source + b"\x88\xcc" + bytes([0xFE, len(payload)]) + payload + b"\0\0"
    if kind == "lacp":
        return SLOW + source + b"\x88\x09\x01\x01" + payload + bytes(60)
    raise SystemExit(f"unknown kind {kind}")


def open_socket(iface):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_ALL))
    sock.bind((iface, ETH_ALL))
    sock.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    # Promiscuous: the frames are for a made-up address.
    index = socket.if_nametoindex(iface)
    sock.setsockopt(SOL_PACKET, 1, struct.pack("iHH8s", index, 1, 0, b""))
    return sock, sock.getsockname()[4]


def receive(sock):
    """The next frame as it was on the wire, or None if it is one that we sent."""
    raw, control, _, address = sock.recvmsg(65536, 256)
    if address[2] == 4:  # PACKET_OUTGOING
        return None
    for level, kind, value in control:
        if level == SOL_PACKET and kind == PACKET_AUXDATA and len(value) >= 20:
            status, _, _, _, _, tci, tpid = struct.unpack("=IIIHHHH", value[:20])
            if status & TP_STATUS_VLAN_VALID:
                tpid = tpid if status & TP_STATUS_VLAN_TPID_VALID else 0x8100
                raw = raw[:12] + struct.pack(">HH", tpid, tci) + raw[12:]
    return raw


def listen(iface):
    sock, own = open_socket(iface)
    print("ready", flush=True)
    while True:
        raw = receive(sock)
        if raw and MARK in raw:
            # The addresses change hands, so that it is a new frame; the rest is an echo.
            sock.send(raw[6:12] + own + raw[12:])


def send(iface, kind):
    sock, own = open_socket(iface)
    for _ in range(3):
        sent = frame(kind, own, os.urandom(8))
        sock.send(sent)
        end = time.monotonic() + 1
        while (left := end - time.monotonic()) > 0 and select.select([sock], [], [], left)[0]:
            raw = receive(sock)
            if raw and sent[-90:][-24:] in raw and raw[:6] == own:
                if raw[12:] == sent[12:]:
                    return 0
                print(f"sent {sent[12:].hex()}\ncame {raw[12:].hex()}")
                return 1
    print("did not come back")
    return 1


if __name__ == "__main__":
    sys.exit(listen(sys.argv[2]) if sys.argv[1] == "listen" else send(sys.argv[2], sys.argv[3]))
