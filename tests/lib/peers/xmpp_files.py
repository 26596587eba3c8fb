#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pairs of users of one XMPP server send each other files with the library slixmpp, from either side of the gateway: in band (XEP-0047),
over a SOCKS5 bytestream to the sender (direct), or by the server's proxy (XEP-0065), each offered first (XEP-0096). A pair has one way,
and sends one file after the other; who loses its connection logs in again.

Of KIND `scan` these are the samples (rig/scan_samples.py) and their clean twins; of `names` harmless files, one with a refused name.

xmpp_files.py users                                     the names of all users
xmpp_files.py make FOLDER                               the database of signatures, in FOLDER/db
xmpp_files.py near|far KIND SERVER ADDRESS OUT          the users of a side, who listen at ADDRESS; writes what became of each file
xmpp_files.py judge KIND FOLDER EVENTS                  tells of each way, on a line, whether it held: near.json, far.json, events"""
import asyncio
import collections
import logging
import os
import socket
import sys
import zlib

import slixmpp
from slixmpp.plugins.xep_0096 import File
from slixmpp.xmlstream.handler import CoroutineCallback
from slixmpp.xmlstream.matcher import StanzaPath

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from rig import scan_samples, scan_ways  # noqa: E402 pylint: disable=wrong-import-position

CHAT, SECRET, PORT, PATIENCE_S, TICK_S = "chat.example", "pass", 5222, 40, 0.2
IBB, S5B = "http://jabber.org/protocol/ibb", "http://jabber.org/protocol/bytestreams"
FILES = "http://jabber.org/protocol/si/profile/file-transfer"
# {way: who sends}
WAYS = {f"{verb}-{sender}": sender for verb in ("band", "direct", "proxy") for sender in "nf"}
TEXT = b"a harmless line of text\n" * 2000


def is_in_turn(name, turn):
    """Each way has EICAR and every fourth of the other samples, unless SLUICE_LONG is set, then all: who is reset logs in again."""
    return os.environ.get("SLUICE_LONG") or name.startswith("eicar") or zlib.crc32(name.encode()) % 4 == turn % 4


def files_of(kind, way):
    """{name: octets}, in the order in which they are sent."""
    if kind == "scan":
        turn = list(WAYS).index(way)
        return {name: octets for name, octets in scan_samples.Files(turn).all.items() if is_in_turn(name.split(".", 1)[1], turn)}
    return {"good.first.txt": TEXT, "evil.setup.exe": TEXT[1:], "good.l\u00e4st & <least>.txt": TEXT[2:]}


def user_of(way, side):
    return way.replace("-", "") + side


class Talk:
    """A login: what is heard, until the connection is lost."""

    def __init__(self, user, server):
        self.client = slixmpp.ClientXMPP(f"{user}@{CHAT}/lab", SECRET)
        self.client["feature_mechanisms"].unencrypted_plain = True
        self.client["feature_mechanisms"].unencrypted_scram = True
        for plugin in ("xep_0030", "xep_0047", "xep_0065", "xep_0095", "xep_0096"):
            self.client.register_plugin(plugin)
        # slixmpp 1.8.3 registers it as no coroutine, and never runs it
        self.client.remove_handler("SI Request")
        self.client.register_handler(CoroutineCallback(
            "SI Request", StanzaPath("iq@type=set/si"), self.client["xep_0095"]._handle_request))  # pylint: disable=protected-access
        self.server, self.online, self.lost = server, asyncio.Event(), asyncio.Event()
        self.client.add_event_handler("session_start", self.started)
        self.client.add_event_handler("disconnected", lambda _: self.lost.set())

    async def started(self, _):
        self.client.send_presence()
        self.online.set()

    async def log_in(self):
        self.client.connect((self.server, PORT), disable_starttls=True)
        await asyncio.wait_for(self.online.wait(), PATIENCE_S)
        return self

    def ask(self, whom, **more):
        return self.client.Iq(sto=whom, stype="set", **more)


class Handlers:
    """Of events, while a file is sent."""

    def __init__(self, client, **handlers):
        self.client, self.handlers = client, handlers

    def __enter__(self):
        for event, handler in self.handlers.items():
            self.client.add_event_handler(event, handler)

    def __exit__(self, *_):
        for event, handler in self.handlers.items():
            self.client.del_event_handler(event, handler)


class Host:
    """Who sends directly is the streamhost: the server's part of SOCKS5."""

    def __init__(self):
        self.taken = asyncio.get_running_loop().create_future()

    async def greet(self, reader, writer):
        _, methods = await reader.readexactly(2)
        await reader.readexactly(methods)
        writer.write(b"\5\0")
        request = await reader.readexactly(47)
        writer.write(b"\5\0" + request[2:])
        if not self.taken.done():
            self.taken.set_result((reader, writer))


class Transfer:
    """A file between two users."""

    def __init__(self, talk, peer, verb, told):
        self.talk, self.client, self.peer, self.verb, self.told = talk, talk.client, peer, verb, told

    async def give(self, name, octets, sid, address):
        described = File()
        described["name"], described["size"] = name, str(len(octets))
        await self.client["xep_0095"].offer(self.peer, sid=sid, profile=FILES, methods=[{"value": IBB if self.verb == "band" else S5B}],
                                            payload=described, timeout=PATIENCE_S)
        await {"band": self.give_band, "direct": self.give_direct, "proxy": self.give_proxy}[self.verb](octets, sid, address)
        self.told["ended"] = "closed"

    async def give_band(self, octets, sid, _):
        stream = await self.client["xep_0047"].open_stream(self.peer, sid=sid, block_size=4096)
        await stream.sendall(octets)
        await stream.close()

    async def give_direct(self, octets, sid, address):
        host = Host()
        server = await asyncio.start_server(host.greet, address, 0, family=socket.AF_INET)
        request = self.talk.ask(self.peer)
        request["socks"]["sid"] = sid
        request["socks"].add_streamhost(self.client.boundjid.full, address, str(server.sockets[0].getsockname()[1]))
        await request.send(timeout=PATIENCE_S)
        reader, writer = await host.taken
        server.close()
        writer.write(octets)
        await writer.drain()
        writer.write_eof()
        await reader.read()  # its end, or a reset
        writer.close()

    async def give_proxy(self, octets, sid, _):
        ended = asyncio.get_running_loop().create_future()
        with Handlers(self.client, socks5_closed=lambda error: ended.done() or ended.set_result(error)):
            link = await self.client["xep_0065"].handshake(self.peer, sid=sid)
            await link.write(octets)
            link.transport.write_eof()
            error = await ended
        if error:
            raise error

    async def take(self, request, octets):
        got, ended = bytearray(), asyncio.get_running_loop().create_future()

        def more(piece):
            got.extend(piece)
            self.told.update(length=len(got), begins=octets.startswith(bytes(got)), sha256=scan_samples.sha256(bytes(got)))

        def end(error):
            if not ended.done():
                ended.set_result(error if isinstance(error, OSError) else None)

        with Handlers(self.client, ibb_stream_data=lambda stream: more(stream.read()), ibb_stream_end=end, socks5_data=more, socks5_closed=end):
            await self.client["xep_0095"].accept(request["from"], request["si"]["id"])
            error = await ended
        if error:
            raise error
        self.told["ended"] = "closed"


class User:
    def __init__(self, kind, way, side, server, address, told):
        self.way, self.side, self.server, self.address, self.told = way, side, server, address, told
        self.user, self.peer = user_of(way, side), f"{user_of(way, 'f' if side == 'n' else 'n')}@{CHAT}/lab"
        self.files, self.sends, self.talk = files_of(kind, way), WAYS[way] == side, None
        self.peer_at, self.offers = -1, asyncio.Queue()

    def heard(self, message):
        words = message["body"].split()
        if words[:1] == ["at"] and message["type"] == "headline":
            self.peer_at = max(self.peer_at, int(words[1]))

    async def be_online(self):
        while not self.talk or self.talk.lost.is_set():
            self.talk = await Talk(self.user, self.server).log_in()
            self.talk.client.add_event_handler("message", self.heard)
            self.talk.client.add_event_handler("si_request", self.offers.put_nowait)

    async def say_where(self, at):
        """The other one waits for that, until it hears it."""
        while True:
            if not self.talk.lost.is_set():
                self.talk.client.send_message(mto=self.peer, mbody=f"at {at}", mtype="headline")
            await asyncio.sleep(TICK_S)

    async def work(self, at, name, octets, told):
        transfer = Transfer(self.talk, self.peer, self.way.split("-")[0], told)
        while self.peer_at < at:
            await asyncio.sleep(TICK_S)
        if self.sends:
            await transfer.give(f"{self.way}.{name}", octets, f"{self.way}{at}", self.address)
            return
        request = await self.offers.get()
        while request["si"]["id"] != f"{self.way}{at}":  # of one that was given up
            request = await self.offers.get()
        await transfer.take(request, octets)

    async def one(self, at, name, octets):
        """It ends when both are done with it, or the other one is, or the login is lost."""
        told = self.told[f"{self.way}.{name}"] = {"length": 0, "begins": True, "ended": "lost"}
        await self.be_online()
        tells = asyncio.ensure_future(self.say_where(at))
        work = asyncio.ensure_future(self.work(at, name, octets, told))
        for _ in range(int(PATIENCE_S / TICK_S)):
            if work.done() or self.talk.lost.is_set() or self.peer_at > at:
                break
            await asyncio.wait([work], timeout=TICK_S)
        if not work.done():
            await asyncio.wait([work], timeout=2 * TICK_S)
        tells.cancel()
        work.cancel()
        try:
            await work
        except asyncio.CancelledError:
            pass
        except OSError as error:
            told.update(ended="reset", error=repr(error))
        except Exception as error:  # pylint: disable=broad-except
            told.update(error=repr(error)[:200])

    async def run(self):
        for at, (name, octets) in enumerate(self.files.items()):
            await self.one(at, name, octets)
        await self.be_online()
        tells = asyncio.ensure_future(self.say_where(len(self.files)))
        for _ in range(int(PATIENCE_S / TICK_S)):
            if self.peer_at >= len(self.files):
                break
            await asyncio.sleep(TICK_S)
        await asyncio.sleep(5 * TICK_S)  # the other one hears it, too
        tells.cancel()


def play(side, kind, server, address, out):
    async def one_by_one(ways):
        for way in ways:
            await User(kind, way, side[0], server, address, told).run()

    # which of two transfers of one host by one proxy, at once, has which name is not known
    async def all_of_them():
        await asyncio.gather(one_by_one([way for way in WAYS if way.startswith("proxy")]),
                             *(one_by_one([way]) for way in WAYS if not way.startswith("proxy")))

    told = {}
    logging.basicConfig(level=logging.ERROR)
    asyncio.get_event_loop().run_until_complete(all_of_them())
    scan_ways.write(out, told)


class Judge:
    def __init__(self, kind, folder, events):
        self.kind, self.told, self.events = kind, scan_ways.told_by_sides(folder), collections.defaultdict(list)
        for event in scan_ways.events_of(events):
            kind_of = event["event_type"]
            if kind_of in ("transfer", "fileinfo"):
                self.events[kind_of, event[kind_of].get("filename")].append(event)
            elif kind_of == "alert":
                self.events[kind_of, event.get("item_id")].append(event)

    def alerts(self, item):
        return [scan_ways.verdict_of(event) + (event["alert"]["action"],) for event in self.events["alert", item] if "scan" in event]

    def good(self, full, octets):
        digest, infos = scan_samples.sha256(octets), self.events["fileinfo", full]
        if len(infos) != 1 or infos[0]["fileinfo"].get("sha256") != digest or infos[0]["fileinfo"]["state"] != "CLOSED":
            return f"it was told as {infos}"
        if self.kind == "scan" and infos[0]["fileinfo"]["av"]["verdict"] != "clean":
            return f"it was scanned as {infos}"
        return None

    def evil(self, full, sample):
        if self.kind == "names":
            refused = [event["transfer"].get("action") for event in self.events["transfer", full]]
            begun = self.events["fileinfo", full]
            return None if refused == ["reset"] and not begun else f"it was told as {refused} {begun}"
        infos = self.events["fileinfo", full]
        if len(infos) != 1:
            return f"{len(infos)} events"
        av = infos[0]["fileinfo"]["av"]
        verdict = (av["verdict"], av.get("signature", av.get("reason")))
        alerts = self.alerts(infos[0]["item_id"])
        if (verdict, alerts) != ((sample.verdict, sample.what), [(sample.verdict, sample.what, "blocked")]):
            return f"it was told as {verdict}, {alerts}"
        return None

    def file(self, way, name, octets, sample):
        full, sender = f"{way}.{name}", WAYS[way]
        given, taken = scan_ways.both_ends(self.told, full, sender)
        if name.startswith("good"):
            if given.get("ended") != "closed" or taken.get("sha256") != scan_samples.sha256(octets):
                return f"it did not arrive: {given} {taken}"
            return self.good(full, octets)
        # the proxy takes all that its neighbour sends
        ended = given.get("ended") == "closed" and way != "proxy-f"
        if taken.get("length", 1) >= (len(octets) if self.kind == "scan" else 1) or not taken["begins"] or ended:
            return f"it arrived: {given} {taken}"
        return self.evil(full, sample)

    def tell(self):
        samples = scan_samples.samples() if self.kind == "scan" else {}
        for way in WAYS:
            faults = [f"{name}: {wrong}" for name, octets in files_of(self.kind, way).items()
                      if (wrong := self.file(way, name, octets, samples.get(name.split(".", 1)[1])))]
            scan_ways.tell(way, faults)


if __name__ == "__main__":
    if sys.argv[1:] == ["users"]:
        print(*(user_of(way, side) for way in WAYS for side in "nf"))
    else:
        scan_ways.main(play, Judge)
