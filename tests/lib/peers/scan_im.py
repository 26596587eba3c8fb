#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Samples (rig/scan_samples.py) and their clean twins as messengers send them, between two users of which the near one is the server's
client, and the far one speaks for the server and the other user: over MSNFTP, as frames over a switchboard (p2p) or over a connection
between the two (direct), and by OFT. A way has a conversation, and a connection if it needs one, for each file; the names are those
of scan_dcc.py's samples. Without SLUICE_LONG three samples.

scan_im.py make FOLDER                             the database, in FOLDER/db
scan_im.py near|far SERVER ADDRESS OUT             the users of a side, which listen at ADDRESS; writes what became of each file
scan_im.py judge FOLDER EVENTS                     tells of each way, on a line, whether it held: near.json, far.json, events"""
import base64
import collections
import functools
import os
import socket
import struct
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from rig import scan_samples, scan_ways  # noqa: E402 pylint: disable=wrong-import-position

PATIENCE_S, FIRST_PORT, FEW = 60, 1863, ("eicar.com", "clam.zip", "clam.exe")
WAYS = {f"{verb}-{sender}": sender for verb in ("msnftp", "p2p", "direct", "oft") for sender in "nf"}
FILE_GUID, FILE_FLAGS = "{5D3E02AB-6190-11D3-BBBB-00C04F795683}", 0x01000030
SENDFILE = bytes.fromhex("094613434c7f11d18222444553540000")


def files_of(way):
    files = scan_samples.Files(list(WAYS).index(way))
    if not os.environ.get("SLUICE_LONG"):
        files.samples = {name: sample for name, sample in files.samples.items() if name in FEW}
        files.all = {name: octets for name, octets in files.all.items() if name.split(".", 1)[1] in FEW}
    return files


def slp(line, body):
    return f"{line}\r\nCall-ID: {{1-2-3}}\r\nContent-Length: {len(body) + 1}\r\n\r\n{body}\0".encode()


def frame(session, identifier, at, total, octets, flags=0):
    return struct.pack("<IIQQIIIIQ", session, identifier, at, total, len(octets), flags, 9, 0, 0) + octets


def tlv(kind, octets):
    return struct.pack(">HH", kind, len(octets)) + octets


class User(threading.Thread):
    def __init__(self, way, side, server, address, told):
        super().__init__(daemon=True)
        self.way, self.verb, self.side, self.server, self.address, self.told = way, way.split("-")[0], side, server, address, told
        self.port, self.sends = FIRST_PORT + list(WAYS).index(way), WAYS[way] == side
        self.files, self.left, self.link, self.listener = files_of(way), b"", None, None

    # the conversation

    def take(self, length):
        while len(self.left) < length:
            octets = self.link.recv(65536)
            if not octets:
                raise ConnectionResetError("the other end has closed")
            self.left += octets
        taken, self.left = self.left[:length], self.left[length:]
        return taken

    def line(self):
        taken = b""
        while not taken.endswith(b"\r\n"):
            taken += self.take(1)
        return taken[:-2].decode()

    def message(self, head, body):
        """MSN's MSG, as this side's server or client has it."""
        payload = f"MIME-Version: 1.0\r\n{head}\r\n\r\n".encode() + body
        begin = "MSG 5 N" if self.side == "n" else "MSG bob@lab.example Bob"
        self.link.sendall(f"{begin} {len(payload)}\r\n".encode() + payload)

    def body(self):
        while not (line := self.line()).startswith("MSG"):
            pass
        return self.take(int(line.split()[-1])).split(b"\r\n\r\n", 1)[1]

    def put_frame(self, *what, **more):
        self.message("Content-Type: application/x-msnmsgrp2p\r\nP2P-Dest: bob@lab.example", frame(*what, **more) + struct.pack(">I", 2))

    def put_slp(self, identifier, text):
        """In two frames, the later one first."""
        for at, end in ((len(text) // 2, len(text)), (0, len(text) // 2)):
            self.put_frame(0, identifier, at, len(text), text[at:end])

    def invite(self, name, size):
        context = struct.pack("<IIQI", 574, 2, size, 1) + name.encode("utf-16-le").ljust(520, b"\0")
        self.put_slp(1, slp("INVITE MSNMSGR:bob@lab.example MSNSLP/1.0",
                            f"EUF-GUID: {FILE_GUID}\r\nSessionID: 4711\r\nAppID: 2\r\nContext: {base64.b64encode(context).decode()}\r\n\r\n"))

    def greet(self):
        if self.verb == "oft":
            self.link.sendall(struct.pack(">BBHHI", 0x2A, 1, 1, 4, 1))
            if self.side == "n":
                self.snac(0x17, 2, tlv(1, b"anna"))
            else:
                self.flap()
        elif self.side == "n":
            self.link.sendall(b"USR 1 anna@lab.example 1.2.3\r\n")
            self.line()
        else:
            self.line()
            self.link.sendall(b"USR 1 OK anna@lab.example Anna\r\nJOI bob@lab.example Bob 0\r\n")

    def flap(self):
        return self.take(struct.unpack(">H", self.take(6)[4:])[0])

    def snac(self, family, subtype, body):
        self.link.sendall(struct.pack(">BBHHHHHI", 0x2A, 2, 3, 10 + len(body), family, subtype, 0, 0) + body)

    # connections beside it

    def listen(self):
        self.listener = socket.create_server((self.address, 0))
        self.listener.settimeout(PATIENCE_S)
        return self.listener.getsockname()[1]

    def accepted(self):
        with self.listener:
            return self.listener.accept()[0]

    @staticmethod
    def exactly(link, length):
        octets = b""
        while len(octets) < length:
            more = link.recv(length - len(octets))
            if not more:
                raise ConnectionResetError("it has ended")
            octets += more
        return octets

    @staticmethod
    def note(told, got, octets):
        told.update(length=len(got), begins=octets.startswith(got), sha256=scan_samples.sha256(got))

    # the ways: the sender's, then the receiver's

    def msnftp_give(self, name, octets, told):
        kind = "Content-Type: text/x-msmsgsinvite; charset=UTF-8"
        self.message(kind, b"Application-Name: File Transfer\r\nInvitation-Command: INVITE\r\nInvitation-Cookie: 33\r\n"
                     + f"Application-File: {name}\r\nApplication-FileSize: {len(octets)}\r\n\r\n".encode())
        self.body()
        port = self.listen()
        self.message(kind, f"Invitation-Command: ACCEPT\r\nInvitation-Cookie: 33\r\nIP-Address: {self.address}\r\n"
                     f"Port: {port}\r\nAuthCookie: 5\r\n\r\n".encode())
        with self.accepted() as link:
            link.settimeout(PATIENCE_S)
            self.exactly(link, len("VER MSNFTP\r\nUSR a@b.c 5\r\n"))
            link.sendall(f"VER MSNFTP\r\nFIL {len(octets)}\r\n".encode())
            self.exactly(link, len("TFR\r\n"))
            for at in range(0, len(octets), 2045):
                piece = octets[at:at + 2045]
                link.sendall(struct.pack("<BH", 0, len(piece)) + piece)
            link.sendall(b"\1\0\0")
            self.exactly(link, len("BYE 16777989\r\n"))
        told["ended"] = "closed"

    def msnftp_take(self, octets, told):
        kind, got = "Content-Type: text/x-msmsgsinvite; charset=UTF-8", b""
        self.body()
        self.message(kind, b"Invitation-Command: ACCEPT\r\nInvitation-Cookie: 33\r\nRequest-Data: IP-Address:\r\n\r\n")
        place = dict(line.split(": ", 1) for line in self.body().decode().split("\r\n") if ": " in line)
        with socket.create_connection((place["IP-Address"], int(place["Port"])), PATIENCE_S) as link:
            link.sendall(b"VER MSNFTP\r\nUSR a@b.c 5\r\n")
            self.exactly(link, len(f"VER MSNFTP\r\nFIL {len(octets)}\r\n"))
            link.sendall(b"TFR\r\n")
            while True:
                last, length = struct.unpack("<BH", self.exactly(link, 3))
                if last:
                    break
                for _ in range(length):
                    got += self.exactly(link, 1)
                    self.note(told, got, octets)
            link.sendall(b"BYE 16777989\r\n")
        told["ended"] = "closed"

    def p2p_give(self, name, octets, told):
        self.invite(name, len(octets))
        self.body()
        self.body()
        for at in range(0, len(octets), 1202):
            self.put_frame(4711, 7, at, len(octets), octets[at:at + 1202], flags=FILE_FLAGS)
        self.body()
        told["ended"] = "closed"

    def p2p_take(self, octets, told):
        got = b""
        self.body()
        self.body()
        self.put_slp(2, slp("MSNSLP/1.0 200 OK", "SessionID: 4711\r\n\r\n"))
        while len(got) < len(octets):
            body = self.body()
            if struct.unpack("<I", body[:4])[0] == 4711:
                got += body[48:-4]
                self.note(told, got, octets)
        self.put_frame(0, 3, 0, 0, b"", flags=2)
        told["ended"] = "closed"

    def direct_give(self, name, octets, told):
        self.invite(name, len(octets))
        self.body()
        self.body()
        answer = self.body() + self.body()  # where the other one listens
        place = dict(line.split(": ", 1) for line in answer.decode(errors="replace").split("\r\n") if ": " in line)
        with socket.create_connection((place["IPv4Internal-Addrs"], int(place["IPv4Internal-Port"])), PATIENCE_S) as link:
            def put(what):
                link.sendall(struct.pack("<I", len(what)) + what)
            put(b"foo\0")
            put(frame(0, 8, 0, 0, b"", 0x100))
            self.exactly(link, 52)
            for at in range(0, len(octets), 1352):
                put(frame(4711, 7, at, len(octets), octets[at:at + 1352], FILE_FLAGS))
            self.exactly(link, 52)
        told["ended"] = "closed"

    def direct_take(self, octets, told):
        got = b""
        self.body()
        self.body()
        self.put_slp(2, slp("MSNSLP/1.0 200 OK", "SessionID: 4711\r\n\r\n"))
        port = self.listen()
        # whole, so that its fields stand in the first of the two that the other one reads
        text = slp("MSNSLP/1.0 200 OK", f"Bridge: TCPv1\r\nListening: true\r\nIPv4Internal-Addrs: {self.address}\r\n"
                   f"IPv4Internal-Port: {port}\r\n\r\n")
        self.put_frame(0, 3, 0, len(text), text)
        self.put_frame(0, 4, 0, 0, b"", flags=2)
        with self.accepted() as link:
            link.settimeout(PATIENCE_S)
            self.exactly(link, 8 + 52)
            link.sendall(struct.pack("<I", 48) + frame(0, 9, 0, 0, b"", 0x100))
            while len(got) < len(octets):
                length = struct.unpack("<I", self.exactly(link, 4))[0]
                self.exactly(link, 48)
                for _ in range(length - 48):
                    got += self.exactly(link, 1)
                    self.note(told, got, octets)
            link.sendall(struct.pack("<I", 48) + frame(0, 9, 0, 0, b"", 2))
        told["ended"] = "closed"

    @staticmethod
    def oft(kind, name, octets):
        head = bytearray(256)
        struct.pack_into(">4sHH8sHHHHHHII", head, 0, b"OFT2", 256, kind, b"cookie.1", 0, 0, 1, 1, 1, 1, len(octets), len(octets))
        head[192:192 + len(name)] = name.encode()
        return bytes(head)

    def oft_give(self, name, octets, told):
        port = self.listen()
        inside = (struct.pack(">H", 0) + b"cookie.1" + SENDFILE + tlv(0x0A, b"\0\1") + tlv(3, socket.inet_aton(self.address))
                  + tlv(5, struct.pack(">H", port)) + tlv(0x2711, struct.pack(">HHI", 1, 1, len(octets)) + name.encode() + b"\0"))
        head = b"cookie.1" + struct.pack(">HB", 2, 3) + b"bob"
        self.snac(4, 6 if self.side == "n" else 7, head + (b"" if self.side == "n" else bytes(4)) + tlv(5, inside))
        with self.accepted() as link:
            link.settimeout(PATIENCE_S)
            link.sendall(self.oft(0x0101, name, octets))
            self.exactly(link, 256)
            link.sendall(octets)
            self.exactly(link, 256)
        told["ended"] = "closed"

    def oft_take(self, octets, told):
        got = b""
        while SENDFILE not in (body := self.flap()):
            pass
        at = body.index(tlv(0x0A, b"\0\1")) + 6
        address, port = socket.inet_ntoa(body[at + 4:at + 8]), struct.unpack(">H", body[at + 12:at + 14])[0]
        with socket.create_connection((address, port), PATIENCE_S) as link:
            prompt = self.exactly(link, 256)
            link.sendall(prompt[:6] + b"\2\2" + prompt[8:])
            while len(got) < len(octets):
                more = link.recv(65536)
                if not more:
                    raise ConnectionResetError("it has ended")
                got += more
                self.note(told, got, octets)
            link.sendall(prompt[:6] + b"\2\4" + prompt[8:])
        told["ended"] = "closed"

    def one(self, name, octets):
        told = self.told[f"{self.way}.{name}"] = {"length": 0, "begins": True, "ended": None}
        self.left = b""
        try:
            self.link.settimeout(PATIENCE_S)
            self.greet()
            if self.sends:
                getattr(self, f"{self.verb}_give")(f"{self.way}.{name}", octets, told)
            else:
                getattr(self, f"{self.verb}_take")(octets, told)
        except (ConnectionResetError, BrokenPipeError):
            told["ended"] = "reset"
        except (OSError, ValueError, LookupError) as error:
            print(self.way, self.side, name, repr(error), flush=True)

    def run(self):
        if self.side == "n":
            for name, octets in self.files.all.items():
                with socket.create_connection((self.server, self.port), PATIENCE_S) as self.link:
                    self.one(name, octets)
            return
        with socket.create_server((self.address, self.port)) as server:
            server.settimeout(PATIENCE_S)
            print("joined", flush=True)
            for name, octets in self.files.all.items():
                self.link = server.accept()[0]
                with self.link:
                    self.one(name, octets)


def play(side, server, address, out):
    told = {}
    users = [User(way, side[0], server, address, told) for way in WAYS]
    scan_ways.run(users)
    scan_ways.write(out, told)


class Judge:
    def __init__(self, folder, events):
        self.told, self.infos, self.alerts = scan_ways.told_by_sides(folder), collections.defaultdict(list), collections.defaultdict(list)
        for event in scan_ways.events_of(events):
            if event["event_type"] == "fileinfo":
                self.infos[event["fileinfo"].get("filename")].append(event)
            elif event["event_type"] == "alert" and "scan" in event:
                self.alerts[event["item_id"]].append(scan_ways.verdict_of(event) + (event["alert"]["action"],))

    def file(self, way, name, sample, octets):
        full, sender = f"{way}.{name}", WAYS[way]
        given, taken = scan_ways.both_ends(self.told, full, sender)
        ends, infos = (given.get("ended"), taken.get("ended")), self.infos[full]
        if len(infos) != 1:
            return f"{len(infos)} events; {given} {taken}"
        info = infos[0]
        alerts, av = self.alerts[info["item_id"]], info["fileinfo"]["av"]
        if name.startswith("good"):
            sha256 = scan_samples.sha256(octets)
            held = ends == ("closed", "closed") and taken.get("sha256") == sha256
            held = held and av["verdict"] == "clean" and info["fileinfo"].get("sha256") == sha256
        else:
            held = ends == ("reset", "reset") and taken["begins"] and taken["length"] < len(octets)
            held = held and (av["verdict"], alerts) == (sample.verdict, [(sample.verdict, sample.what, "blocked")])
        return None if held else f"it ended {ends}: {taken}; {av}, {alerts}"

    def tell(self):
        for way in WAYS:
            judge = functools.partial(self.file, way)
            scan_ways.tell(way, list(scan_ways.wrong_of_samples(files_of(way).samples.values(), judge)))


if __name__ == "__main__":
    scan_ways.main(play, Judge)
