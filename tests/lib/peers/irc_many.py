#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Twenty users of IRC who talk at once in #c, some of whom say words that a rule refuses.

irc_many.py crowd SERVER OUT   the twenty, u0 to u19, in rounds; writes what each has heard
irc_many.py ear SERVER OUT     one more, who listens, and says the word to those of VICTIMS once they have said half of their lines; writes
                               what it has heard when u0 has said its last line
irc_many.py judge FOLDER       whether it held: crowd.json and ear.json, and what client.pcap and server.pcap say that arrived"""
import json
import os
import re
import select
import socket
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from packet import arrived  # noqa: E402 pylint: disable=wrong-import-position

COUNT, LINES, MIDST = 20, 40, 20
WORDS = {1: "forbidden", 2: "secret", 3: "hidden"}  # reset, drop-message, mask: what each fifth says in the midst
VICTIMS = (4, 9)
PATIENCE_S = 30


def says(i, k):
    word = WORDS.get(i % 5) if k == MIDST else None
    return f"{k} {word or 'words'} of u{i}"


def heard(i):
    """What others hear of it, as far as it goes."""
    lines = [says(i, k) for k in range(MIDST if i % 5 == 1 else LINES)]
    if i % 5 == 2:
        del lines[MIDST]
    if i % 5 == 3:
        lines[MIDST] = lines[MIDST].replace("hidden", " " * 6)
    return lines


def is_cut(i):
    return i % 5 == 1 or i in VICTIMS


class User:
    def __init__(self, server, nick):
        self.nick, self.rest, self.got, self.joined, self.over = nick, b"", {}, False, False
        self.sock = socket.create_connection((server, 6667), PATIENCE_S)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.say(f"NICK {nick}", f"USER {nick} 0 * :{nick}")

    def say(self, *lines):
        try:
            for line in lines:
                if not self.over:
                    self.sock.sendall(line.encode() + b"\r\n")
        except OSError:
            self.over = True

    def take(self, line):
        words = line.split(" ", 3)
        if words[0] == "PING":
            self.say("PONG " + line[5:])
        elif words[1:2] == ["001"]:
            self.say("JOIN #c")
        elif words[1:2] == ["366"]:
            self.joined = True
        elif words[1:2] == ["PRIVMSG"]:
            self.got.setdefault(words[0][1:].split("!")[0], []).append(words[3][1:])

    def listen(self):
        try:
            octets = self.sock.recv(65536)
        except OSError:
            octets = b""
        self.over = self.over or not octets
        *lines, self.rest = (self.rest + octets).split(b"\n")
        for line in lines:
            self.take(line.rstrip(b"\r").decode(errors="replace"))


def until(users, holds):
    end = time.monotonic() + PATIENCE_S
    while not holds() and time.monotonic() < end:
        live = {user.sock: user for user in users if not user.over}
        for sock in select.select(list(live), [], [], 0.1)[0]:
            live[sock].listen()


def write(path, users):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({user.nick: {"over": user.over, "got": user.got} for user in users}, file)


def crowd(server, path):
    users = [User(server, f"u{i}") for i in range(COUNT)]
    until(users, lambda: all(user.joined for user in users))
    stays = [i for i in range(COUNT) if not is_cut(i)]

    def all_heard(lines):
        return all(len(users[i].got.get(f"u{j}", ())) >= min(lines, len(heard(j))) - (j % 5 == 2) for i in stays for j in stays if i != j)

    for k in range(LINES):
        for i, user in enumerate(users):
            user.say(f"PRIVMSG #c :{says(i, k)}")
        if k % 4 == 3:
            until(users, lambda at=k + 1: all_heard(at))
    until(users, lambda: all_heard(LINES) and all(users[i].over for i in range(COUNT) if is_cut(i)))
    users[0].say("PRIVMSG #c :end")
    write(path, users)


def ear(server, path):
    user = User(server, "ear")
    until([user], lambda: user.joined)
    print("joined", flush=True)
    until([user], lambda: all(len(user.got.get(f"u{i}", ())) >= MIDST for i in VICTIMS))
    user.say(*(f"PRIVMSG u{i} :a forbidden one" for i in VICTIMS))
    until([user], lambda: "end" in user.got.get("u0", ()))
    write(path, [user])


class Judge:
    def __init__(self, folder):
        self.folder = folder
        self.client, self.server = (arrived.halves(os.path.join(folder, f"{side}.pcap")) for side in ("client", "server"))
        self.ends = {}
        for ends, half in self.client.items():
            nick = re.match(rb"NICK u(\d+)\r\n", half.octets)
            if nick:
                self.ends[int(nick[1])] = ends

    def wire(self):
        """At the server's, and resets at both."""
        for i in range(COUNT):
            ends = self.ends[i]
            octets = self.server[ends].octets.decode()
            said = re.findall(r"^PRIVMSG #c :(.*)\r$", octets, re.MULTILINE)
            said = [line for line in said if line != "end"]
            if said != heard(i)[:len(said)] or len(said) < (MIDST if is_cut(i) else len(heard(i))):
                return f"of u{i} came {len(said)} lines"
            resets = self.client[arrived.back(ends)].resets, self.server[ends].resets
            if is_cut(i) and not all(resets) or not is_cut(i) and resets[0]:  # one that leaves unread lines resets the server itself
                return f"u{i}: {resets} resets"
        return None

    def users(self):
        """What each one has heard of each one."""
        told = {}
        for name in ("crowd", "ear"):
            with open(os.path.join(self.folder, f"{name}.json"), encoding="utf-8") as file:
                told.update(json.load(file))
        for who, one in told.items():
            cut = who != "ear" and is_cut(int(who[1:]))
            if one["over"] != cut:
                return f"{who} is {'' if one['over'] else 'not '}cut off"
            for j in range(COUNT):
                got = [line for line in one["got"].get(f"u{j}", ()) if line != "end"]
                least = 0 if cut or is_cut(j) else len(heard(j))
                if who != f"u{j}" and (got != heard(j)[:len(got)] or len(got) < least):
                    return f"{who} heard {len(got)} lines of u{j}"
        return None

    def words(self):
        """Where a word arrived whole; that it was sent is looked at, too."""
        for word in (word.encode() for word in WORDS.values()):
            if not any(word in half.octets for half in self.client.values() if half.ends[3] == 6667):
                return f"{word} was not sent"
            if any(word in octets for half in self.server.values() if half.ends[3] == 6667 for octets in (half.octets, half.everything)):
                return f"{word} arrived at the server"
            if any(word in octets for half in self.client.values() if half.ends[1] == 6667 for octets in (half.octets, half.everything)):
                return f"{word} arrived at a client"
        said = sum(b"a forbidden one" in half.octets for half in self.server.values() if half.ends[1] == 6667)
        return None if said == len(VICTIMS) else f"the server sent the word to {said}"

    def tell(self):
        for name in ("wire", "users", "words"):
            print(name, getattr(self, name)() or "held")


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    {"crowd": crowd, "ear": ear, "judge": lambda folder: Judge(folder).tell()}[what](*arguments)
