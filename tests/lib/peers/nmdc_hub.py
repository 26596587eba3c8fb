#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""nmdc_hub.py ADDRESS PORT: a hub of the older Direct Connect protocol (NMDC), as small as its clients allow: names,
searches and requests to connect go from one to the other. Debian has clients of it, but no hub."""
import asyncio
import sys

LOCK = b"EXTENDEDPROTOCOLABCABCABCABCABCABC Pk=lab"


class Hub:
    def __init__(self):
        self.writers, self.info = {}, {}

    def say(self, nick, text):
        if nick in self.writers:
            self.writers[nick].write(text + b"|")

    def all(self, text):
        for nick in list(self.writers):
            self.say(nick, text)

    def command(self, nick, line, writer):
        """What one client said; its name, once it has one."""
        word, _, rest = line.partition(b" ")
        if word == b"$ValidateNick":
            nick = rest
            self.writers[nick] = writer
            self.say(nick, b"$HubName lab")
            self.all(b"$Hello " + nick)
        elif word == b"$Supports":
            writer.write(b"$Supports NoGetINFO NoHello UserIP2 TTHSearch|")
        elif word == b"$MyINFO":
            self.info[nick] = line
            self.all(line)
        elif word == b"$GetNickList":
            self.say(nick, b"$NickList " + b"$$".join(self.writers) + b"$$")
            for line in self.info.values():
                self.say(nick, line)
        elif word == b"$ConnectToMe":
            self.say(rest.split(b" ")[0], line)
        elif word == b"$RevConnectToMe":
            self.say(rest.split(b" ")[1], line)
        elif word in (b"$Search",) or line.startswith(b"<"):
            self.all(line)
        return nick

    async def client(self, reader, writer):
        nick = None
        writer.write(b"$Lock " + LOCK + b"|")
        try:
            while True:
                nick = self.command(nick, (await reader.readuntil(b"|"))[:-1], writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.writers.pop(nick, None)
            writer.close()


async def main():
    hub = Hub()
    server = await asyncio.start_server(hub.client, sys.argv[1], int(sys.argv[2]))
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
