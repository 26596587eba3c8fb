#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""xmpp_typist.py SERVER PORT USER KEYS [ROOM...]: USER of chat.example logs in with the library slixmpp, in clear, and joins the
rooms of rooms.chat.example. Lines of the file KEYS, as they come, are what it does: "chat USER TEXT", "room ROOM TEXT", "many N chat|room
WHOM" (N messages, numbered), "end". Prints what it hears: "chat USER: TEXT", "ROOM NICK: TEXT", "joined ROOM", "lost"."""
import asyncio
import logging
import os
import sys

import slixmpp

CHAT, SECRET, POLL_S = "chat.example", "pass", 0.1


def out(words):
    print(words, flush=True)


class Typist(slixmpp.ClientXMPP):
    def __init__(self, user, rooms):
        super().__init__(f"{user}@{CHAT}/lab", SECRET)
        self.user, self.rooms, self.ended = user, rooms, asyncio.Event()
        self["feature_mechanisms"].unencrypted_plain = True
        self["feature_mechanisms"].unencrypted_scram = True
        self.register_plugin("xep_0045")
        self.add_event_handler("session_start", self.started)
        self.add_event_handler("message", self.heard)
        self.add_event_handler("disconnected", self.lost)

    def lost(self, _):
        out("lost")
        self.ended.set()

    async def started(self, _):
        self.send_presence()
        await self.get_roster()
        for room in self.rooms:
            self.add_event_handler(f"muc::{room}@rooms.{CHAT}::got_online", self.seen)
            self["xep_0045"].join_muc(f"{room}@rooms.{CHAT}", self.user)

    def seen(self, presence):
        if presence["muc"]["nick"] == self.user:
            out(f"joined {presence['from'].local}")

    def heard(self, message):
        sender = message["from"]
        if not message["body"] or sender.resource == self.user:
            return
        if message["type"] == "groupchat":
            out(f"{sender.local} {sender.resource}: {message['body']}")
        else:
            out(f"chat {sender.local}: {message['body']}")

    def say(self, how, whom, text):
        place = f"{whom}@rooms.{CHAT}" if how == "room" else f"{whom}@{CHAT}"
        self.send_message(mto=place, mbody=text, mtype="groupchat" if how == "room" else "chat")

    def do(self, line):
        verb, _, rest = line.partition(" ")
        if verb == "many":
            count, how, whom = rest.split()
            for i in range(int(count)):
                self.say(how, whom, f"number {i + 1}")
        elif verb == "end":
            self.disconnect()
        else:
            whom, _, text = rest.partition(" ")
            self.say(verb, whom, text)


async def play(typist, keys):
    with open(keys, "a+", encoding="utf-8") as lines:
        lines.seek(0)
        while not typist.ended.is_set():
            line = lines.readline()
            if line.endswith("\n"):
                typist.do(line.strip())
            else:
                lines.seek(lines.tell() - len(line.encode()), os.SEEK_SET)
                await asyncio.sleep(POLL_S)


def main():
    server, port, user, keys, *rooms = sys.argv[1:]
    logging.basicConfig(level=logging.WARNING)
    typist = Typist(user, rooms)
    typist.connect((server, int(port)), use_ssl=False, disable_starttls=True)
    asyncio.get_event_loop().run_until_complete(asyncio.wait_for(play(typist, keys), 300))


if __name__ == "__main__":
    main()
