#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Twenty transfers by DCC at once between twenty pairs of users of one IRC server, of which each second file has a refused name.

Of pair I, nI is on the client's side and fI on the server's; by turns one or the other sends: the sender listens (send), the
receiver does and answers an offer with port 0 and a token (passive), or an RSEND by RECV (reverse).

dcc_many.py make FOLDER                            the files (rig/marked_files.py)
dcc_many.py near|far SERVER ADDRESS FOLDER OUT     the users of a side, which listen at ADDRESS; writes what became of them. The far
                                                   ones print "joined" once they wait for the near ones
dcc_many.py judge FOLDER EVENTS                    tells, on a line each, whether it held: near.json, far.json, the events, and what
                                                   client.pcap and server.pcap say that arrived"""
import collections
import hashlib
import json
import os
import re
import select
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from packet import arrived  # noqa: E402 pylint: disable=wrong-import-position
from rig import marked_files  # noqa: E402 pylint: disable=wrong-import-position
from rig.marked_files import COUNT, passes  # noqa: E402 pylint: disable=wrong-import-position

PORT, PATIENCE_S, PIECES = 6667, 40, 10
CLIENT, SERVER = "10.77.0.1", "10.77.0.2"  # of tools/lab.sh
WAYS = [(verb, sender) for verb in ("send", "passive", "reverse") for sender in "nf"]


def name_of(i):
    return marked_files.file_of("setup" if i % 2 else "page", i)


def way_of(i):
    return WAYS[i // 2 % len(WAYS)]


class User(threading.Thread):
    """One of a pair, which is over when the server's connection is, or the file is there."""

    def __init__(self, side, i, server, address, folder, start):
        super().__init__(daemon=True)
        self.nick, self.peer, self.i, self.near = f"{side}{i}", f"{'f' if side == 'n' else 'n'}{i}", i, side == "n"
        self.verb, sender = way_of(i)
        self.sends, self.address, self.start_line, self.server = sender == side, address, start, server
        self.file = marked_files.read(folder, "files", name_of(i)) if self.sends else b""
        self.told = {"over": False, "got": None, "acked": False}
        self.end, self.done, self.mover, self.rest = time.monotonic() + PATIENCE_S, threading.Event(), None, b""
        self.sock, self.size, self.left = None, 0, False

    def say(self, line):
        self.sock.sendall(line.encode() + b"\r\n")

    def ask(self, text):
        self.say(f"PRIVMSG {self.peer} :\x01DCC {text}\x01")

    def place(self, listener):
        return f"{struct.unpack('>I', socket.inet_aton(self.address))[0]} {listener.getsockname()[1]}"

    def moves(self, listener=None, at=None):
        self.mover = threading.Thread(target=self.move, args=(listener, at), daemon=True)
        self.mover.start()

    def listener(self):
        listener = socket.create_server((self.address, 0))
        listener.settimeout(0.2)
        return listener

    def move(self, listener, at):
        link = None
        while not link and not self.told["over"] and not self.left and time.monotonic() < self.end:
            try:
                link = listener.accept()[0] if listener else socket.create_connection(at, 10)
            except TimeoutError:
                pass
        if link:
            link.settimeout(PATIENCE_S)
            try:
                (self.give if self.sends else self.take)(link)
            except OSError as error:
                print(self.nick, error, file=sys.stderr)
            link.close()
        self.done.set()

    def give(self, link):
        step = len(self.file) // PIECES + 1  # slowly, so that all twenty go on beside each other
        for at in range(0, len(self.file), step):
            link.sendall(self.file[at:at + step])
            time.sleep(0.1)
        acks = b""
        while acks[-4:] != struct.pack(">I", len(self.file)):
            octets = link.recv(4096)
            if not octets:
                return
            acks += octets
        self.told["acked"] = True

    def take(self, link):
        whole = b""
        while len(whole) < self.size and (octets := link.recv(65536)):
            whole += octets
            link.sendall(struct.pack(">I", len(whole)))
        self.told["got"] = hashlib.sha256(whole).hexdigest()
        while link.recv(4096):  # the sender closes
            pass

    def offers(self):
        name, size = name_of(self.i), len(self.file)
        if self.verb == "send":
            listener = self.listener()
            self.ask(f"SEND {name} {self.place(listener)} {size}")
            self.moves(listener)
        else:
            self.ask(f"SEND {name} {struct.unpack('>I', socket.inet_aton(self.address))[0]} 0 {size} {1000 + self.i}"
                     if self.verb == "passive" else f"RSEND {name} {size}")

    def requested(self, words):
        verb, name, *rest = words
        if self.sends:  # the answer to an offer
            self.moves(at=(socket.inet_ntoa(struct.pack(">I", int(rest[0]))), int(rest[1])))
            return
        self.size = int(rest[0] if verb == "RSEND" else rest[2])
        if self.verb == "send":
            self.moves(at=(socket.inet_ntoa(struct.pack(">I", int(rest[0]))), int(rest[1])))
            return
        listener = self.listener()
        if self.verb == "passive":
            self.ask(f"SEND {name} {self.place(listener)} {self.size} {rest[3]}")
        else:
            self.ask(f"RECV {name} {self.place(listener)} 0")
        self.moves(listener)

    def take_line(self, line):
        words = line.split(" ", 3)
        if words[0] == "PING":
            self.say("PONG " + line[5:])
        elif words[1:2] == ["001"]:
            self.say(f"JOIN #p{self.i}")
        elif words[1:2] == ["366"]:
            self.start_line.wait(PATIENCE_S)
            if self.near:
                self.say(f"PRIVMSG {self.peer} :go")
                if self.sends:
                    self.offers()
        elif words[1:2] == ["QUIT"] and words[0].startswith(f":{self.peer}!"):
            self.left = True  # nobody comes any more; who is there already goes on
            if not self.mover:
                self.done.set()
        elif words[1:2] == ["PRIVMSG"] and words[3] == ":go" and self.sends:
            self.offers()
        elif words[1:2] == ["PRIVMSG"] and words[3].startswith(":\x01DCC "):
            self.requested(words[3][6:].strip("\x01").split())

    def run(self):
        self.sock = socket.create_connection((self.server, PORT), PATIENCE_S)
        try:
            self.say(f"NICK {self.nick}\r\nUSER {self.nick} 0 * :{self.nick}")
            while not self.done.is_set() and time.monotonic() < self.end:
                if not select.select([self.sock], [], [], 0.1)[0]:
                    continue
                octets = self.sock.recv(65536)
                if not octets:
                    raise ConnectionError("closed")
                *lines, self.rest = (self.rest + octets).split(b"\n")
                for line in lines:
                    self.take_line(line.rstrip(b"\r").decode(errors="replace"))
            self.say("QUIT")
            while self.sock.recv(65536):
                pass
        except OSError:
            self.told["over"] = not self.done.is_set()
        if self.mover:
            self.mover.join(PATIENCE_S)
        self.sock.close()


def play(side, server, address, folder, out):
    start = threading.Barrier(COUNT, action=lambda: print("joined", flush=True))
    users = [User(side[0], i, server, address, folder, start) for i in range(COUNT)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    with open(out, "w", encoding="utf-8") as file:
        json.dump({user.i: user.told for user in users}, file)


def make(folder):
    marked_files.make(os.path.join(folder, "files"), [name_of(i) for i in range(COUNT)])


class Judge:
    def __init__(self, folder, events):
        self.files = marked_files.read_all(os.path.join(folder, "files"))
        self.client, self.server = (arrived.halves(os.path.join(folder, f"{side}.pcap")) for side in ("client", "server"))
        self.told = {}
        for side in ("near", "far"):
            with open(os.path.join(folder, f"{side}.json"), encoding="utf-8") as file:
                self.told[side[0]] = {int(i): told for i, told in json.load(file).items()}
        with open(events, encoding="utf-8") as file:
            self.events = [json.loads(line) for line in file]

    def talks(self, side):
        """{number of the pair: the ends of that side's user, in the capture of its own side}"""
        nicks = ((re.match(rb"NICK n(\d+)\r\n", half.octets), ends) for ends, half in side.items() if ends[3] == PORT)
        return {int(nick[1]): ends for nick, ends in nicks if nick}

    def brought(self, receiver):
        """The halves that arrived there, or were sent from there, which are not of IRC."""
        halves, own = (self.client, CLIENT) if receiver == "n" else (self.server, SERVER)
        return [half for half in halves.values() if PORT not in (half.ends[1], half.ends[3]) and half.ends[2] == own and half.parts]

    def sessions(self):
        """Who names a refused file is reset at both ends, where it is the near one or hears of it; nobody else is."""
        near = self.talks(self.client)
        if sorted(near) != list(range(COUNT)):
            return f"{len(near)} near users logged in"
        for i, ends in near.items():
            nothing = arrived.Half(ends)
            resets = self.client.get(arrived.back(ends), nothing).resets, self.server.get(ends, nothing).resets
            refused = not passes(name_of(i))
            if refused and not all(resets) or not refused and resets[0]:
                return f"n{i}, {name_of(i)}: {resets} resets"
            if self.told["n"][i]["over"] != refused:
                return f"n{i}, {name_of(i)}: its session is {'over' if not refused else 'not over'}"
        return None

    def receivers(self):
        """Half of them have stored a file, by its digest; the others nothing."""
        for i in range(COUNT):
            sender = way_of(i)[1]
            receiver = "f" if sender == "n" else "n"
            name, told = name_of(i), self.told[receiver][i]
            if told["got"] != (hashlib.sha256(self.files[name]).hexdigest() if passes(name) else None):
                return f"{receiver}{i} stored {told['got']} for {name} ({way_of(i)[0]})"
            if self.told[sender][i]["acked"] != passes(name):
                return f"{sender}{i} was told that {name} arrived: {self.told[sender][i]['acked']} ({way_of(i)[0]})"
        return None

    def wire(self):
        """At the receivers': each that passes once, and whole, and nothing else but acknowledgements of it."""
        for receiver in "nf":
            wanted = collections.Counter(self.files[name_of(i)] for i in range(COUNT) if passes(name_of(i)) and way_of(i)[1] != receiver)
            acked = collections.Counter(len(self.files[name_of(i)]) for i in range(COUNT) if passes(name_of(i)) and way_of(i)[1] == receiver)
            for half in self.brought(receiver):
                for name, octets in self.files.items():
                    if not passes(name) and (marked_files.mark_of(octets) in half.everything or octets[:8] in half.octets):
                        return f"octets of {name} arrived"
                if half.end != len(half.octets):
                    return f"{half.ends}: a hole"
                if wanted[half.octets]:
                    wanted[half.octets] -= 1
                elif not self.is_acks(half.octets, acked):
                    return f"{half.ends}: {len(half.octets)} octets of nothing that passes"
            if +wanted or +acked:
                return f"{sum(wanted.values())} files did not arrive, and acknowledgements of {sum(acked.values())}"
        return None

    @staticmethod
    def is_acks(octets, acked):
        """Growing numbers up to the size of a file that is waited for, of which it takes one off."""
        if len(octets) % 4:
            return False
        numbers = struct.unpack(f">{len(octets) // 4}I", octets)
        if list(numbers) != sorted(set(numbers)) or not acked[numbers[-1]]:
            return False
        acked[numbers[-1]] -= 1
        return True

    def offers(self):
        """No offer of a refused file arrived; that each was made is looked at, too, where it is seen: at the near side's."""
        for i in range(COUNT):
            name, side = name_of(i).encode(), way_of(i)[1]
            sent, got = (self.client, self.server) if side == "n" else (self.server, self.client)
            for halves, must in ((sent, True), (got, passes(name_of(i)))):
                port = 3 if side == "n" else 1
                seen = any(b"SEND " + name + b" " in octets for half in halves.values() if half.ends[port] == PORT
                           for octets in (half.octets, half.everything))
                if seen != must:
                    return f"the offer of {name.decode()} was {'not ' if must else ''}seen at the {'sender' if halves is sent else 'receiver'}'s"
        return None

    def told_of(self):
        """fileinfo of each that passed, with its digest; transfer of each that did not."""
        digests = {event["fileinfo"].get("filename"): event["fileinfo"].get("sha256") for event in self.events
                   if event["event_type"] == "fileinfo" and event["fileinfo"].get("sha256")}
        refused = collections.Counter(os.path.basename(name) for event in self.events if event["event_type"] == "transfer"
                                      and event["transfer"].get("action") == "reset" for name in re.findall(r'"([^"]*\.exe)"', json.dumps(event)))
        for name, octets in self.files.items():
            if passes(name) and digests.get(name) != hashlib.sha256(octets).hexdigest():
                return f"{name} was told with {digests.get(name)}"
            if passes(name) == bool(refused[name]):
                return f"{name} was {'' if refused[name] else 'not '}told as refused"
        return None

    def tell(self):
        for name in ("sessions", "offers", "receivers", "wire", "told_of"):
            print(name, getattr(self, name)() or "held")


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    if what in ("near", "far"):
        play(what, *arguments)
    else:
        {"make": make, "judge": lambda folder, events: Judge(folder, events).tell()}[what](*arguments)
