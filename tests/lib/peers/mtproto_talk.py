#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mtproto_talk.py server ADDRESS PORT | client ADDRESS PORT WAY...: Telegram's MTProto between Telethon, a client of it,
and a server of our own, which is held to core.telegram.org/mtproto/mtproto-transports and .../auth_key: of each
connection it reads the transport, then req_pq_multi, and answers with resPQ. The client says "WAY: answered" for each.

WAY: full, abridged, intermediate (in clear); telethon (obfuscated, as Telethon does it: no data centre), and obfuscated
with a data centre: obfuscated-abridged, obfuscated-intermediate, obfuscated-padded; proxied: with a secret of an MTProxy.
"""
import asyncio
import hashlib
import logging
import os
import struct
import sys
import zlib

from telethon.crypto import AESModeCTR
from telethon.network import connection as ways
from telethon.network.connection import tcpabridged, tcpintermediate, tcpobfuscated
from telethon.network.mtprotoplainsender import MTProtoPlainSender
from telethon.tl.functions import ReqPqMultiRequest

CENTRE = 2
SECRET = bytes(range(16))
REQ_PQ_MULTI, RES_PQ, VECTOR = 0xbe7e8ef1, 0x05162463, 0x1cb5c415
TAGS = {b"\xef" * 4: "abridged", b"\xee" * 4: "intermediate", b"\xdd" * 4: "padded"}


class CentreIO(tcpobfuscated.ObfuscatedIO):
    """Telethon's, with the number of a data centre, as Telegram's own clients send it."""

    @staticmethod
    def init_header(packet_codec):
        header, _, decrypt = tcpobfuscated.ObfuscatedIO.init_header(packet_codec)
        encrypt = AESModeCTR(bytes(header[8:40]), bytes(header[40:56]))
        clear = header[:56] + packet_codec.obfuscate_tag + struct.pack("<h", CENTRE) + os.urandom(2)
        header[56:] = encrypt.encrypt(bytes(clear))[56:]
        return header, encrypt, decrypt


def obfuscated(codec):
    return type("Centre", (ways.ConnectionTcpObfuscated,), {"obfuscated_io": CentreIO, "packet_codec": codec})


WAYS = {
    "full": ways.ConnectionTcpFull,
    "abridged": ways.ConnectionTcpAbridged,
    "intermediate": ways.ConnectionTcpIntermediate,
    "telethon": ways.ConnectionTcpObfuscated,
    "obfuscated-abridged": obfuscated(tcpabridged.AbridgedPacketCodec),
    "obfuscated-intermediate": obfuscated(tcpintermediate.IntermediatePacketCodec),
    "obfuscated-padded": obfuscated(tcpintermediate.RandomizedIntermediatePacketCodec),
    "proxied": ways.ConnectionTcpMTProxyRandomizedIntermediate,
}


class Loggers(dict):
    def __missing__(self, name):
        return logging.getLogger(name)


async def ask(address, port, way):
    more = {"proxy": (address, port, SECRET.hex())} if way == "proxied" else {}
    link = WAYS[way](address, port, CENTRE, loggers=Loggers(), **more)
    await link.connect(timeout=10)
    nonce = int.from_bytes(os.urandom(16), "little", signed=True)
    answer = await MTProtoPlainSender(link, loggers=Loggers()).send(ReqPqMultiRequest(nonce))
    assert answer.nonce == nonce and answer.pq == b"\x17\xed\x48\x94\x1a\x08\xf9\x81"
    print(f"{way}: answered", flush=True)
    await asyncio.sleep(0.3)
    await link.disconnect()


class Ends:
    """What a client sends and hears, behind its obfuscation if there is one."""

    def __init__(self, reader, writer):
        self.reader, self.writer, self.opens, self.seals, self.ahead = reader, writer, None, None, b""

    async def read(self, n):
        while len(self.ahead) < n:
            more = await self.reader.read(65536)
            if not more:
                raise EOFError
            self.ahead += self.opens.encrypt(more) if self.opens else more
        found, self.ahead = self.ahead[:n], self.ahead[n:]
        return found

    def write(self, octets):
        self.writer.write(self.seals.encrypt(octets) if self.seals else octets)

    async def transport(self):
        """Which one the client begins with."""
        first = await self.read(4)
        if first[0] == 0xef:
            self.ahead = first[1:] + self.ahead
            return "abridged"
        if first == b"\xee" * 4:
            return "intermediate"
        self.ahead = first + self.ahead
        if struct.unpack("<I", first)[0] < 4096:
            return "full"
        head = await self.read(64)
        for secret in (b"", SECRET):
            found = self.obfuscated(head, secret)
            if found:
                return found
        raise ValueError("no transport")

    def obfuscated(self, head, secret):
        def cipher(seed):
            key = seed[:32]
            if secret:
                key = hashlib.sha256(key + secret).digest()
            return AESModeCTR(key, seed[32:48])
        opens, seals = cipher(head[8:56]), cipher(head[55:7:-1])
        found = TAGS.get(opens.encrypt(head)[56:60])
        if found:
            self.ahead = opens.encrypt(self.ahead)
            self.opens, self.seals = opens, seals
        return found

    async def message(self, transport):
        if transport == "abridged":
            words = (await self.read(1))[0]
            if words == 0x7f:
                words = int.from_bytes(await self.read(3), "little")
            return await self.read(4 * words)
        length = struct.unpack("<I", await self.read(4))[0]
        if transport != "full":
            return await self.read(length)
        return (await self.read(length - 4))[4:-4]

    def answer(self, transport, message):
        if transport == "abridged":
            assert len(message) < 0x7f * 4
            self.write(bytes((len(message) // 4,)) + message)
        elif transport == "full":
            packet = struct.pack("<II", len(message) + 12, 0) + message
            self.write(packet + struct.pack("<I", zlib.crc32(packet)))
        else:
            padding = os.urandom(3) if transport == "padded" else b""
            self.write(struct.pack("<I", len(message) + len(padding)) + message + padding)


async def serve(reader, writer):
    ends = Ends(reader, writer)
    try:
        transport = await ends.transport()
        key, _, length, kind = struct.unpack("<qqII", (message := await ends.message(transport))[:24])
        assert not key and kind == REQ_PQ_MULTI and length == 20, (key, kind, length)
        body = struct.pack("<I", RES_PQ) + message[24:40] + os.urandom(16) + b"\x08\x17\xed\x48\x94\x1a\x08\xf9\x81" + \
            bytes(3) + struct.pack("<IIq", VECTOR, 1, -4344800451088585951)
        ends.answer(transport, struct.pack("<qqI", 0, int(asyncio.get_running_loop().time()) << 32 | 1, len(body)) + body)
        print(f"{transport}: asked", flush=True)
        await ends.read(1)
    except EOFError:
        pass
    writer.close()


async def main():
    what, address, port, *names = sys.argv[1:]
    if what == "server":
        async with await asyncio.start_server(serve, address, int(port)) as server:
            await server.serve_forever()
    for name in names:
        await ask(address, int(port), name)


asyncio.run(main())
