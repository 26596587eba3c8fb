#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every sample (rig/scan_samples.py) and its clean twin over DCC, between pairs of users of one IRC server, from either side of the
gateway: the sender listens (send), the receiver does and answers an offer with port 0 and a token (passive), or an RSEND by RECV
(reverse), or it asks for the rest alone (resume). A pair has one way, and sends one file after the other.

scan_dcc.py make FOLDER                            the database, in FOLDER/db
scan_dcc.py near|far SERVER ADDRESS OUT            the users of a side, which listen at ADDRESS; writes what became of each file
scan_dcc.py judge FOLDER EVENTS                    tells of each way, on a line, whether it held: near.json, far.json, events"""
import collections
import functools
import os
import socket
import struct
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from rig import scan_samples, scan_ways  # noqa: E402 pylint: disable=wrong-import-position

PORT, PATIENCE_S = 6667, 60
# {way: who sends}
WAYS = {f"{verb}-{sender}": sender for verb in ("send", "passive", "reverse", "resume") for sender in "nf"}


def files_of(way):
    return scan_samples.Files(list(WAYS).index(way))


def begin_of(way, octets):
    return len(octets) // 2 if way.startswith("resume") else 0


class User(threading.Thread):
    def __init__(self, way, side, server, address, told):
        super().__init__(daemon=True)
        self.way, self.verb, self.side, self.server, self.address, self.told = way, way.split("-")[0], side, server, address, told
        self.nick, self.peer = way.replace("-", "") + side, way.replace("-", "") + ("f" if side == "n" else "n")
        self.files, self.left, self.link = files_of(way), b"", None

    def say(self, line):
        self.link.sendall(line.encode() + b"\r\n")

    def line(self):
        """The next one that is no ping."""
        while True:
            while b"\n" not in self.left:
                octets = self.link.recv(65536)
                if not octets:
                    raise OSError("the server has closed")
                self.left += octets
            line, _, self.left = self.left.partition(b"\n")
            line = line.decode(errors="replace").rstrip("\r")
            if not line.startswith("PING"):
                return line
            self.say("PONG " + line[5:])

    def said(self):
        """What the other one says next."""
        while True:
            words = self.line().split(" ", 3)
            if words[0].startswith(f":{self.peer}!") and words[1] == "PRIVMSG":
                return words[3][1:].strip("\x01").split()

    def ask(self, text):
        self.say(f"PRIVMSG {self.peer} :\x01DCC {text}\x01")

    def place(self, listener):
        return f"{struct.unpack('>I', socket.inet_aton(self.address))[0]} {listener.getsockname()[1]}"

    def listener(self):
        listener = socket.create_server((self.address, 0))
        listener.settimeout(PATIENCE_S)
        return listener

    @staticmethod
    def connect(address, port):
        return socket.create_connection((socket.inet_ntoa(struct.pack(">I", int(address))), int(port)), PATIENCE_S)

    def offer(self, name, size, begin):
        """A connection to its receiver."""
        if self.verb in ("send", "resume"):
            with self.listener() as listener:
                self.ask(f"SEND {name} {self.place(listener)} {size}")
                if begin or self.verb == "resume":
                    _, verb, _, port, at = self.said()
                    if (verb, int(at)) != ("RESUME", begin):
                        raise OSError(f"{verb} {at}")
                    self.ask(f"ACCEPT {name} {port} {at}")
                return listener.accept()[0]
        if self.verb == "passive":
            self.ask(f"SEND {name} {struct.unpack('>I', socket.inet_aton(self.address))[0]} 0 {size} 77")
        else:
            self.ask(f"RSEND {name} {size}")
        _, _, _, address, port, *_ = self.said()
        return self.connect(address, port)

    def taken(self, name, size, begin):
        """A connection to its sender."""
        _, _, _, *rest = self.said()
        if self.verb == "send":
            return self.connect(*rest[:2])
        if self.verb == "resume":
            self.ask(f"RESUME {name} {rest[1]} {begin}")
            self.said()
            return self.connect(*rest[:2])
        with self.listener() as listener:
            self.ask(f"SEND {name} {self.place(listener)} {size} 77" if self.verb == "passive" else f"RECV {name} {self.place(listener)} 0")
            return listener.accept()[0]

    @staticmethod
    def give(link, octets, told):
        link.sendall(octets)
        told["ended"] = "closed"
        while link.recv(4096):  # numbers of octets that have come; the receiver closes
            pass

    @staticmethod
    def take(link, octets, told):
        got = b""
        while len(got) < len(octets) and (more := link.recv(65536)):
            got += more
            told.update(length=len(got), begins=octets.startswith(got), sha256=scan_samples.sha256(got))
            link.sendall(struct.pack(">I", len(got)))
        told["ended"] = "closed"

    def one(self, name, octets):
        told = self.told[f"{self.way}.{name}"] = {"length": 0, "begins": True, "ended": None}
        begin, full = begin_of(self.way, octets), f"{self.way}.{name}"
        sends = WAYS[self.way] == self.side
        link = (self.offer if sends else self.taken)(full, len(octets), begin)
        with link:
            link.settimeout(PATIENCE_S)
            try:
                (self.give if sends else self.take)(link, octets[begin:], told)
            except (ConnectionResetError, BrokenPipeError):
                told["ended"] = "reset"

    def meet(self):
        self.say(f"NICK {self.nick}\r\nUSER {self.nick} 0 * :{self.nick}")
        while " 001 " not in self.line():
            pass
        self.say(f"JOIN #{self.way}")
        if self.side == "f":
            while not f":{self.nick}!" in (line := self.line()) or " JOIN " not in line:
                pass
            print("joined", flush=True)
            self.said()
        else:
            self.say(f"PRIVMSG {self.peer} :go")

    def run(self):
        try:
            self.link = socket.create_connection((self.server, PORT), PATIENCE_S)
            self.link.settimeout(PATIENCE_S)
            self.meet()
            for name, octets in self.files.all.items():
                self.one(name, octets)
                if WAYS[self.way] == self.side:
                    self.said()
                else:
                    self.say(f"PRIVMSG {self.peer} :next")
            self.say("QUIT")
        except (OSError, ValueError) as error:
            print(self.way, self.side, repr(error), flush=True)


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
                self.alerts[event["item_id"]].append(scan_ways.verdict_of(event) + (event["alert"]["signature"], event["alert"]["action"]))

    def file(self, way, name, sample, octets):
        full, sender = f"{way}.{name}", WAYS[way]
        given, taken = scan_ways.both_ends(self.told, full, sender)
        ends = (given.get("ended"), taken.get("ended"))
        if len(self.infos[full]) != 1:
            return f"{len(self.infos[full])} events; {given} {taken}"
        info = self.infos[full][0]
        av, alerts = info["fileinfo"]["av"], self.alerts[info["item_id"]]
        verdict = (av["verdict"], av.get("signature", av.get("reason")))
        if way.startswith("resume"):
            if av["verdict"] == "clean":
                return "the rest of a file was told as clean"
            if sample.name == "eicar.com" and (verdict, alerts, ends) != (
                    ("unscanned", "protocol"), [("unscanned", "protocol", "viruses", "allowed")], ("closed", "closed")):
                return f"it was told as {verdict}, {alerts}, and ended {ends}"
        elif name.startswith("good"):
            if ends != ("closed", "closed") or taken.get("sha256") != scan_samples.sha256(octets):
                return f"it ended {ends}: {taken}"
            if av["verdict"] != "clean" or info["fileinfo"].get("sha256") != scan_samples.sha256(octets):
                return f"it was told as {info}"
        else:
            if ends != ("reset", "reset") or not taken["begins"] or taken["length"] >= len(octets):
                return f"it ended {ends}: {taken}"
            if (verdict, alerts) != ((sample.verdict, sample.what), [(sample.verdict, sample.what, "viruses", "blocked")]):
                return f"it was told as {verdict}, {alerts}"
        return None

    def tell(self):
        for way in WAYS:
            judge = functools.partial(self.file, way)
            scan_ways.tell(way, list(scan_ways.wrong_of_samples(files_of(way).samples.values(), judge)))


if __name__ == "__main__":
    scan_ways.main(play, Judge)
