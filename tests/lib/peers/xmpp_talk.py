#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""xmpp_talk.py SERVER PORT (tls|starttls|plain) CERTIFICATE [proxy]: alice and bob of chat.example log in with the library
slixmpp, talk, and send each other a file: inside their streams (XEP-0047) and, if asked,
by the server's SOCKS5 proxy (XEP-0065).
Prints what arrived."""
import asyncio
import logging
import sys

import slixmpp

CHAT, SECRET, FILE = "chat.example", "pass", bytes(range(256)) * 200


class Talker(slixmpp.ClientXMPP):
    def __init__(self, who, mode, certificate):
        super().__init__(f"{who}@{CHAT}/lab", SECRET)
        self.ca_certs = certificate
        self.online, self.heard = asyncio.Event(), asyncio.Queue()
        if mode == "plain":
            self["feature_mechanisms"].unencrypted_plain = True
            self["feature_mechanisms"].unencrypted_scram = True
        for plugin in ("xep_0030", "xep_0047", "xep_0065", "xep_0092", "xep_0199"):
            self.register_plugin(plugin, {"auto_accept": True} if plugin in ("xep_0047", "xep_0065") else {})
        self.add_event_handler("session_start", self.started)
        self.add_event_handler("message", lambda message: self.heard.put_nowait(message["body"]))
        self.add_event_handler("ibb_stream_end", lambda stream: self.heard.put_nowait("in-band"))
        self.add_event_handler("socks5_closed", lambda stream: self.heard.put_nowait("socks5"))
        self.add_event_handler("socks5_data", lambda octets: None)

    async def started(self, _):
        self.send_presence()
        await self.get_roster()
        self.online.set()


async def talk(server, port, mode, certificate, *proxy):
    talkers = [Talker(who, mode, certificate) for who in ("alice", "bob")]
    for talker in talkers:
        talker.connect((server, port), use_ssl=mode == "tls", force_starttls=mode == "starttls",
                       disable_starttls=mode == "plain")
    alice, bob = talkers
    await asyncio.wait_for(asyncio.gather(*(talker.online.wait() for talker in talkers)), 40)
    alice.send_message(mto=bob.boundjid.full, mbody="hello bob", mtype="chat")
    print("message:", await asyncio.wait_for(bob.heard.get(), 30))
    stream = await alice["xep_0047"].open_stream(bob.boundjid.full)
    await stream.sendall(FILE[:8192])
    await stream.close()
    print("file:", await asyncio.wait_for(bob.heard.get(), 30))
    if proxy:
        socket = await alice["xep_0065"].handshake(bob.boundjid.full)
        await socket.write(FILE)
        socket.transport.close()
        print("file:", await asyncio.wait_for(bob.heard.get(), 30))
    for talker in talkers:
        await talker.disconnect()


def main():
    server, port = sys.argv[1], int(sys.argv[2])
    logging.basicConfig(level=logging.WARNING)
    asyncio.get_event_loop().run_until_complete(asyncio.wait_for(talk(server, port, *sys.argv[3:]), 90))


if __name__ == "__main__":
    main()
