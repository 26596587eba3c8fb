#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What two captures, one on each side of the gateway, say about it.

story_pcap.py resets CLIENT.pcap SERVER.pcap CLIENT_IP PORT...
    RST packets that arrived at one end and that the other end never sent: the gateway's own.
    Prints "client N server N". A reset of a kernel is seen leaving at one end and is not counted.
story_pcap.py payload CAPTURE tcp|udp SOURCE_IP PORT FROM TO
    Payload bytes that SOURCE_IP sent, PORT at either end, between two times (epoch seconds).
"""
import socket
import struct
import sys


def packets(path):
    """(time, protocol, source, sport, destination, dport, tcp sequence, flags, payload bytes)."""
    with open(path, "rb") as file:
        head = file.read(24)
        if len(head) < 24:
            return
        unit = {0xA1B2C3D4: 1e-6, 0xA1B23C4D: 1e-9}[struct.unpack("<I", head[:4])[0]]
        while len(record := file.read(16)) == 16:
            sec, frac, caplen, _ = struct.unpack("<IIII", record)
            frame = file.read(caplen)
            if len(frame) < 42 or frame[12:14] != b"\x08\x00":
                continue
            proto, ip_len, total = frame[23], (frame[14] & 15) * 4, struct.unpack(">H", frame[16:18])[0]
            at = 14 + ip_len
            if proto not in (6, 17) or len(frame) < at + 8:
                continue
            source, destination = socket.inet_ntoa(frame[26:30]), socket.inet_ntoa(frame[30:34])
            sport, dport = struct.unpack(">HH", frame[at : at + 4])
            seq = flags = 0
            l4_len = 8
            if proto == 6:
                if len(frame) < at + 14:
                    continue
                seq, flags, l4_len = struct.unpack(">I", frame[at + 4 : at + 8])[0], frame[at + 13], (frame[at + 12] >> 4) * 4
            yield sec + frac * unit, proto, source, sport, destination, dport, seq, flags, total - ip_len - l4_len


def resets(client_pcap, server_pcap, client, ports):
    def rst(path):
        return [p[2:7] for p in packets(path) if p[1] == 6 and p[7] & 4 and (p[3] in ports or p[5] in ports)]

    at_client, at_server = rst(client_pcap), rst(server_pcap)
    to_client = [p for p in at_client if p[2] == client and p not in at_server]
    to_server = [p for p in at_server if p[0] == client and p not in at_client]
    print(f"client {len(to_client)} server {len(to_server)}")


def payload(path, proto, source, port, begin, end):
    chosen = (p for p in packets(path) if p[1] == proto and p[2] == source and port in (p[3], p[5]))
    print(sum(p[8] for p in chosen if begin <= p[0] <= end))


def main():
    words = sys.argv[1:]
    if words[0] == "resets":
        resets(words[1], words[2], words[3], {int(w) for w in words[4:]})
    elif words[0] == "payload":
        proto = {"tcp": 6, "udp": 17}[words[2]]
        payload(words[1], proto, words[3], int(words[4]), float(words[5]), float(words[6]))


if __name__ == "__main__":
    main()
