#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""EICAR, or its twin, in an answer of HTTP whose segments are made by hand: each octet in one of its own, in any order, sent again, the
last one with FIN. The server has an address that its kernel does not know.

scan_segments.py serve IFACE ADDRESS OUT    answers GET /FORM.KIND; a line of OUT says how a connection ended
scan_segments.py forms                      lists the forms"""
import random
import socket
import struct
import sys
import time

sys.path.insert(0, __file__.rsplit("/", 2)[0])
from packet.packets import addr, eth, ipv4, tcp  # noqa: E402 pylint: disable=wrong-import-position
from rig import scan_samples  # noqa: E402 pylint: disable=wrong-import-position

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
ETH_ALL, ARP, IPV4, OUTGOING = 3, 0x0806, 0x0800, 4
PORT = 80


def octets_each(begin, end):
    return [(at, at + 1) for at in range(begin, end)]


def shuffled(begin, end):
    pieces = octets_each(begin, end)
    random.Random(4).shuffle(pieces)
    return pieces


# {form: (says its length, segments as (from, to) of the answer, of which the body begins at `at`, and ends at `end`)}. A segment that
# ends at `end` has FIN where the answer says no length.
FORMS = {
    "one": (True, lambda at, end: [(0, end)]),
    "head-and-body": (True, lambda at, end: [(0, at), (at, end)]),
    "octets": (True, lambda at, end: [(0, at), *octets_each(at, end)]),
    "backwards": (True, lambda at, end: [(0, at), *octets_each(at, end)[::-1]]),
    "shuffled": (True, lambda at, end: [(0, at), *shuffled(at, end)]),
    "body-first": (True, lambda at, end: [(at, end), (0, at)]),
    "again": (True, lambda at, end: [(0, at + 20), (at + 40, end), (0, at + 20), (at + 20, at + 40), (at + 20, end), (at + 40, end)]),
    "end-again": (True, lambda at, end: [(0, end - 1), (end - 1, end), (end - 1, end), (at, end), (0, end)]),
    "fin": (False, lambda at, end: [(0, end)]),
    "fin-in-last": (False, lambda at, end: [(0, end - 5), (end - 5, end)]),
    "fin-with-an-octet": (False, lambda at, end: [(0, at), *octets_each(at, end)]),
    "fin-first": (False, lambda at, end: [(end - 5, end), (0, end - 5)]),
}


class Server:
    def __init__(self, iface, address, out):
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_ALL))
        self.sock.bind((iface, ETH_ALL))
        self.mac, self.address, self.out = self.sock.getsockname()[4], address, out
        self.flows = {}
        sample = scan_samples.Sample("eicar.com", scan_samples.EICAR, None, "", "")
        self.files = {"evil": sample.octets, "good": scan_samples.changed(sample.octets, *scan_samples.TWINS["eicar.com"])}

    def send(self, flow, begin, octets, flags):
        segment = tcp(self.address, PORT, flow["from"], flow["port"], (flow["base"] + begin) & 0xFFFFFFFF, flow["ack"], flags, octets)
        self.sock.send(eth(flow["mac"], self.mac, IPV4, ipv4(self.address, flow["from"], 6, segment)))

    def answer(self, flow):
        form, kind = flow["path"].split(".")
        says, segments = FORMS[form]
        body = self.files[kind]
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nConnection: close\r\n"
        head += (b"Content-Length: %d\r\n" % len(body) if says else b"") + b"\r\n"
        whole = head + body
        flow["end"] = len(whole)
        flow["said"] = time.monotonic()
        for begin, end in segments(len(head), len(whole)):
            self.send(flow, 1 + begin, whole[begin:end], ACK | PSH | (FIN if end == len(whole) and not says else 0))
            time.sleep(0.001)

    def over(self, flow, how):
        if not flow.get("over") and "path" in flow:
            flow["over"] = how
            with open(self.out, "a", encoding="utf-8") as file:
                print(flow["path"], how, file=file)

    def take(self, source_mac, source, segment):
        port, to, seq, _, offset, flags = struct.unpack_from(">HHIIBB", segment)
        if to != PORT:
            return
        payload = segment[(offset >> 4) * 4:]
        if flags & SYN:
            flow = self.flows[port] = {"from": source, "port": port, "mac": source_mac, "base": 7000, "ack": (seq + 1) & 0xFFFFFFFF, "asked": b""}
            self.send(flow, 0, b"", SYN | ACK)
            return
        flow = self.flows.get(port)
        if not flow:
            return
        if flags & RST:
            self.over(flow, "reset")
            return
        if seq != flow["ack"]:
            return
        flow["ack"] = (seq + len(payload) + (1 if flags & FIN else 0)) & 0xFFFFFFFF
        if payload:
            flow["asked"] += payload
            self.send(flow, 1, b"", ACK)
            if flow["asked"].endswith(b"\r\n\r\n"):
                flow["path"] = flow["asked"].split()[1].decode().rsplit("/", 1)[-1]
                self.answer(flow)
        elif flags & FIN:
            self.send(flow, 1 + flow["end"], b"", FIN | ACK)
            self.over(flow, "closed")

    def serve(self):
        print("ready", flush=True)
        self.sock.settimeout(0.1)
        while True:
            for flow in self.flows.values():  # as TCP does, all of it
                if "said" in flow and "over" not in flow and time.monotonic() > flow["said"] + 0.5:
                    self.answer(flow)
            try:
                frame, (_, kind, packet_type, *_) = self.sock.recvfrom(65536)
            except TimeoutError:
                continue
            if packet_type == OUTGOING:
                continue
            if kind == ARP and frame[38:42] == addr(self.address):
                self.sock.send(eth(frame[6:12], self.mac, ARP, frame[14:20] + b"\0\2" + self.mac + addr(self.address) + frame[22:32]))
            elif kind == IPV4 and frame[23] == 6 and frame[30:34] == addr(self.address):
                length = struct.unpack_from(">H", frame, 16)[0]
                self.take(frame[6:12], socket.inet_ntoa(frame[26:30]), frame[34:14 + length])


if __name__ == "__main__":
    if sys.argv[1] == "forms":
        print(*FORMS)
    else:
        Server(*sys.argv[2:]).serve()
