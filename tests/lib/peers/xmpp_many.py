#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Twenty users of XMPP (slixmpp) who talk at once in a room and each to another, some of whom say words that a rule refuses.

xmpp_many.py accounts FOLDER    the accounts of all, as prosody keeps them
xmpp_many.py crowd SERVER OUT   the twenty, u0 to u19, in rounds; writes what each has heard
xmpp_many.py ear SERVER OUT     one more, who listens in the room, and says the word to those of VICTIMS once they have said half of their
                                lines; writes what it has heard when u0 has said its last line
xmpp_many.py judge FOLDER       tells, on a line each, whether it held: crowd.json and ear.json, and what client.pcap and
                                server.pcap say that arrived"""
import asyncio
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from packet import arrived  # noqa: E402 pylint: disable=wrong-import-position
from peers import xmpp_typist  # noqa: E402 pylint: disable=wrong-import-position

COUNT, LINES, MIDST, PORT = 20, 20, 10, 5222
WORDS = {1: "forbidden", 2: "secret", 3: "hidden"}  # reset, drop-message, mask: what each fifth says in the midst
VICTIMS = (4, 9)
PLACES = ("room", "chat")
PATIENCE_S, RESET_S = 40, 8
LOGIN_S, TALK_S = 150, 300  # on a machine that is busy with something else


def place_of_word(i):
    return PLACES[i // 10]


def friend(i):
    """To whom it says what it does not say in the room."""
    return (i + 7) % COUNT


def says(i, k, place):
    """None: nothing, as it says a word elsewhere by which it is cut off."""
    word = WORDS.get(i % 5) if k == MIDST else None
    if word and place != place_of_word(i):
        return None if i % 5 == 1 else f"{k} words of u{i}"
    return f"{k} {word or 'words'} of u{i}"


def heard(i, place):
    """What others hear of it, as far as it goes."""
    lines = [says(i, k, place) for k in range(MIDST if i % 5 == 1 else LINES)]
    if place == place_of_word(i):
        if i % 5 == 2:
            del lines[MIDST]
        elif i % 5 == 3:
            lines[MIDST] = lines[MIDST].replace("hidden", " " * 6)
    return lines


def is_cut(i):
    return i % 5 == 1 or i in VICTIMS


class User(xmpp_typist.Typist):
    def __init__(self, server, nick):
        super().__init__(nick, ["lab"])
        self.joined, self.over, self.got = False, False, {place: {} for place in PLACES}
        self.connect((server, PORT), use_ssl=False, disable_starttls=True)

    def lost(self, _):
        self.over = True

    def seen(self, presence):
        self.joined |= presence["muc"]["nick"] == self.user

    def heard(self, message):
        sender, in_room = message["from"], message["type"] == "groupchat"
        nick = sender.resource if in_room else sender.local
        if message["body"] and nick != self.user:
            self.got["room" if in_room else "chat"].setdefault(nick, []).append(message["body"])

    def says(self, how, whom, text):
        if not self.over:
            self.say(how, whom, text)


async def until(holds, seconds=PATIENCE_S):
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        await asyncio.sleep(0.05)
    return holds()


def write(path, users):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({user.user: {"over": user.over, "got": user.got} for user in users}, file)


async def crowd(server, path):
    users = [User(server, f"u{i}") for i in range(COUNT)]
    if not await until(lambda: all(user.joined for user in users), LOGIN_S):
        raise SystemExit("not in the room: " + " ".join(user.user for user in users if not user.joined))
    stays = [i for i in range(COUNT) if not is_cut(i)]

    def come(i, j, place, lines):
        wanted = heard(j, place)[:lines]
        return len(users[i].got[place].get(f"u{j}", ())) >= len(wanted) - (j % 5 == 2)

    def all_heard(lines):
        return all(come(i, j, "room", lines) for i in stays for j in stays if i != j) and \
            all(come(friend(j), j, "chat", lines) for j in stays if friend(j) in stays)

    for k in range(LINES):
        for i, user in enumerate(users):
            for how, whom in (("room", "lab"), ("chat", f"u{friend(i)}")):
                text = says(i, k, how)
                if text:
                    user.says(how, whom, text)
        await until(lambda at=k + 1: all_heard(at))
    await until(lambda: all(users[i].over for i in range(COUNT) if is_cut(i)), RESET_S)
    users[0].says("room", "lab", "end")
    await asyncio.sleep(1)
    write(path, users)


async def ear(server, path):
    user = User(server, "ear")
    await until(lambda: user.joined, LOGIN_S)
    print("joined", flush=True)
    room = user.got["room"]
    await until(lambda: all(len(room.get(f"u{i}", ())) >= MIDST for i in VICTIMS), TALK_S)
    for i in VICTIMS:
        user.says("chat", f"u{i}", "a forbidden one")
    await until(lambda: "end" in room.get("u0", ()), TALK_S)
    write(path, [user])


def accounts(folder):
    folder = os.path.join(folder, "chat%2eexample", "accounts")
    os.makedirs(folder)
    for name in ["ear"] + [f"u{i}" for i in range(COUNT)]:
        with open(os.path.join(folder, f"{name}.dat"), "w", encoding="ascii") as file:
            file.write(f'return {{ ["password"] = "{xmpp_typist.SECRET}"; }};\n')


class Judge:
    def __init__(self, folder):
        self.folder = folder
        self.client, self.server = (arrived.halves(os.path.join(folder, f"{side}.pcap")) for side in ("client", "server"))
        self.ends = {}
        for ends, half in self.client.items():
            bound = re.search(rb"<jid>u(\d+)@", half.octets) if ends[1] == PORT else None
            if bound:
                self.ends[int(bound[1])] = arrived.back(ends)

    @staticmethod
    def said(octets):
        """{place: its messages}"""
        found = {place: [] for place in PLACES}
        for kind, body in re.findall(rb"<message [^>]*?type=['\"](\w+)['\"].*?<body>(.*?)</body>", octets, re.DOTALL):
            if body != b"end":
                found["room" if kind == b"groupchat" else "chat"].append(body.decode())
        return found

    def wire(self):
        """At the server's, and resets at both."""
        if sorted(self.ends) != list(range(COUNT)):
            return f"{len(self.ends)} users logged in"
        for i, ends in self.ends.items():
            nothing = arrived.Half(ends)
            half, back = self.server.get(ends, nothing), self.client.get(arrived.back(ends), nothing)
            if half.end != len(half.octets):
                return f"u{i}: a hole"
            for place, said in self.said(half.octets).items():
                wanted = heard(i, place)
                if said != wanted[:len(said)] or len(said) < (MIDST if is_cut(i) else len(wanted)):
                    return f"of u{i} came {len(said)} messages of the {place}"
            resets = back.resets, half.resets
            if is_cut(i) and not all(resets) or not is_cut(i) and resets[0]:
                return f"u{i}: {resets} resets"
        return None

    def users(self):
        """What each one has heard of each one."""
        told = {}
        for name in ("crowd", "ear"):
            with open(os.path.join(self.folder, f"{name}.json"), encoding="utf-8") as file:
                told.update(json.load(file))
        for who, one in told.items():
            number = None if who == "ear" else int(who[1:])
            cut = number is not None and is_cut(number)
            if one["over"] != cut:
                return f"{who} is {'' if one['over'] else 'not '}cut off"
            for j in range(COUNT):
                for place in PLACES:
                    got = [line for line in one["got"][place].get(f"u{j}", ()) if line != "end"]
                    hears = j != number and (place == "room" or number is not None and number == friend(j))
                    wanted = heard(j, place) if hears else []
                    if got != wanted[:len(got)] or len(got) < (0 if cut or is_cut(j) else len(wanted)):
                        return f"{who} heard {len(got)} messages of u{j} in the {place}"
        return None

    def words(self):
        """Where a word arrived whole; that it was sent is looked at, too: by each that says it, and by the server to each victim."""
        for number, word in WORDS.items():
            word = word.encode()
            senders = sum(word in self.client[ends].octets for i, ends in self.ends.items() if i % 5 == number)
            if senders != COUNT // 5:
                return f"{word} was sent by {senders}"
            for halves, port, where in ((self.server, 3, "the server"), (self.client, 1, "a client")):
                if any(word in octets for half in halves.values() if half.ends[port] == PORT for octets in (half.octets, half.everything)):
                    return f"{word} arrived at {where}"
        said = sum(b"a forbidden one" in half.octets for half in self.server.values() if half.ends[1] == PORT)
        return None if said == len(VICTIMS) else f"the server sent the word to {said}"

    def tell(self):
        for name in ("wire", "users", "words"):
            print(name, getattr(self, name)() or "held")


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    if what in ("crowd", "ear"):
        asyncio.get_event_loop().run_until_complete({"crowd": crowd, "ear": ear}[what](*arguments))
    else:
        {"accounts": accounts, "judge": lambda folder: Judge(folder).tell()}[what](*arguments)
