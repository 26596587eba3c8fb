#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Servents of Gnutella 0.6, held to its specification (RFC draft 0.6, HUGE 0.94), and programs of FastTrack's transfers.

gnutella_peer.py serve ADDRESS PORT FOLDER                shares a folder: links (packed both ways), hits, HTTP, GIV where it is asked by PUSH
gnutella_peer.py take ADDRESS PORT FOLDER HOW NAME [OWN]  searches over a link, and takes the first hit: HOW is
    get     GET /get/INDEX/NAME            n2r     GET /uri-res/N2R?urn:sha1:...   parts   two of these, each half of the file
    push    by PUSH over the link, to OWN (ADDRESS:PORT), and GET behind GIV
gnutella_peer.py kazaa ADDRESS PORT FOLDER HASH NAME      GET /.hash=HASH
gnutella_peer.py give ADDRESS PORT FOLDER                 connects, says GIVE, and serves what it is asked for
gnutella_peer.py given ADDRESS PORT FOLDER NAME           waits for GIVE, and asks for the file

What takes a file ends with 0 if all of it came, with the SHA-1 that its hit has named."""
import base64
import hashlib
import os
import socket
import socketserver
import struct
import sys
import threading
import urllib.parse
import zlib

PATIENCE_S = 15
PUSH, QUERY, HIT = 0x40, 0x80, 0x81
GUID, SERVENT = bytes(range(100, 116)), bytes(range(200, 216))
CALL = b"GNUTELLA CONNECT/0.6\r\nUser-Agent: lab/1.0\r\nX-Ultrapeer: False\r\nAccept-Encoding: deflate\r\n\r\n"
AGREE = b"GNUTELLA/0.6 200 OK\r\nUser-Agent: lab/1.0\r\nAccept-Encoding: deflate\r\nContent-Encoding: deflate\r\n\r\n"


def sha1_of(octets):
    return base64.b32encode(hashlib.sha1(octets).digest()).decode()


def kzhash_of(octets):
    """MD5 of the first 300 KiB, then four bytes of a sum, which nobody here compares."""
    return hashlib.md5(octets[:307200]).hexdigest() + "%08x" % (zlib.crc32(octets) & 0xFFFFFFFF)


def shared(folder):
    """[(name, octets)], by index."""
    found = []
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            found.append((name, file.read()))
    return found


class Stream:
    """A connection: lines, octets, and descriptors, packed where the handshake says so."""

    def __init__(self, link, left=b""):
        self.link, self.left, self.packer, self.unpacker = link, left, None, None
        link.settimeout(PATIENCE_S)

    def more(self):
        octets = self.link.recv(65536)
        if not octets:
            raise OSError("closed")
        self.left += self.unpacker.decompress(octets) if self.unpacker else octets

    def take(self, count):
        while len(self.left) < count:
            self.more()
        octets, self.left = self.left[:count], self.left[count:]
        return octets

    def head(self):
        """Up to an empty line, whatever its lines end with."""
        while True:
            for end in (b"\r\n\r\n", b"\n\n"):
                at = self.left.find(end)
                if at >= 0:
                    return self.take(at + len(end)).decode("latin-1")
            self.more()

    def say(self, octets):
        if self.packer:
            octets = self.packer.compress(octets) + self.packer.flush(zlib.Z_SYNC_FLUSH)
        self.link.sendall(octets)

    def packs(self):
        self.packer, self.unpacker = zlib.compressobj(), zlib.decompressobj()
        left, self.left = self.left, b""
        self.left = self.unpacker.decompress(left)

    def descriptor(self):
        head = self.take(23)
        return head[16], self.take(struct.unpack("<I", head[19:])[0])

    def tell(self, kind, body):
        self.say(GUID + bytes((kind, 3, 0)) + struct.pack("<I", len(body)) + body)


def serve_http(stream, files):
    """Requests, until the other end has no more."""
    while True:
        lines = stream.head().split("\r\n")
        path = urllib.parse.unquote(lines[0].split(" ")[1])
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        octets = None
        for index, (name, content) in enumerate(files):
            if path in (f"/get/{index}/{name}", f"/uri-res/N2R?urn:sha1:{sha1_of(content)}", f"/{index}/{name}", f"/.hash={kzhash_of(content)}"):
                octets = content
        if octets is None:
            stream.say(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            continue
        first, last, status = 0, len(octets) - 1, "200 OK"
        if "range" in fields:
            first, _, end = fields["range"].removeprefix("bytes=").partition("-")
            first, last, status = int(first), int(end) if end else last, "206 Partial Content"
        body = octets[first:last + 1]
        answer = f"HTTP/1.1 {status}\r\nServer: lab/1.0\r\nContent-Type: application/binary\r\nContent-Length: {len(body)}\r\n"
        answer += f"X-Gnutella-Content-URN: urn:sha1:{sha1_of(octets)}\r\n"
        if status.startswith("206"):
            answer += f"Content-Range: bytes {first}-{last}/{len(octets)}\r\n"
        stream.say(answer.encode() + b"\r\n" + body)


def serve_all(stream, files):
    try:
        serve_http(stream, files)
    except OSError:  # it has all that it wants, or the gateway has reset it
        pass


def serve_link(stream, files):
    stream.say(AGREE)
    stream.head()
    stream.packs()
    while True:
        kind, body = stream.descriptor()
        if kind == QUERY:
            words = body[2:].split(b"\0")[0].decode()
            records = b"".join(struct.pack("<II", index, len(content)) + name.encode() + b"\0urn:sha1:" + sha1_of(content).encode() + b"\0"
                               for index, (name, content) in enumerate(files) if words in name)
            count = sum(words in name for name, _ in files)
            stream.tell(HIT, bytes((count,)) + struct.pack("<H4sI", 6346, bytes(4), 1000) + records + SERVENT)
        elif kind == PUSH:
            threading.Thread(target=give, args=(body, files), daemon=True).start()


def give(body, files):
    index, address, port = struct.unpack("<I4sH", body[16:26])
    stream = Stream(socket.create_connection((socket.inet_ntoa(address), port), PATIENCE_S))
    stream.say(f"GIV {index}:{SERVENT.hex().upper()}/{files[index][0]}\n\n".encode())
    serve_all(stream, files)


class Servent(socketserver.BaseRequestHandler):
    def handle(self):
        stream = Stream(self.request)
        try:
            while len(stream.left) < 4:
                stream.more()
            if stream.left.startswith(b"GNUT"):
                stream.head()
                serve_link(stream, self.server.files)
            else:
                serve_http(stream, self.server.files)
        except OSError:
            pass


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address, daemon_threads, files = True, True, ()


def ask(stream, path, part=""):
    """The body of the answer to a request."""
    stream.say(f"GET {path} HTTP/1.1\r\nUser-Agent: lab/1.0\r\nX-Queue: 0.1\r\nHost: lab\r\n{part}\r\n".encode())
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in stream.head().split("\r\n")[1:])}
    return stream.take(int(fields["content-length"]))


def search(stream, name):
    """(index, size, name, sha1) of the first hit."""
    stream.say(CALL)
    stream.head()
    stream.say(AGREE)
    stream.packs()
    stream.tell(QUERY, b"\0\0" + name.encode() + b"\0")
    while True:
        kind, body = stream.descriptor()
        if kind == HIT and body[0]:
            index, size = struct.unpack("<II", body[11:19])
            found, urn = body[19:].split(b"\0")[:2]
            return index, size, found.decode(), urn.decode().rpartition(":")[2]


def take(address, folder, how, name, own=None):
    stream = Stream(socket.create_connection(address, PATIENCE_S))
    index, size, found, sha1 = search(stream, name)
    if how == "push":
        host, _, port = own.partition(":")
        listener = socket.create_server((host, int(port)))
        listener.settimeout(PATIENCE_S)
        stream.tell(PUSH, SERVENT + struct.pack("<I4sH", index, socket.inet_aton(host), int(port)))
        other = Stream(listener.accept()[0])
        other.head()
    else:
        other = Stream(socket.create_connection(address, PATIENCE_S))
    by_sha1 = f"/uri-res/N2R?urn:sha1:{sha1}"
    if how == "parts":
        octets = ask(other, by_sha1, f"Range: bytes=0-{size // 2 - 1}\r\n")
        octets += ask(Stream(socket.create_connection(address, PATIENCE_S)), by_sha1, f"Range: bytes={size // 2}-{size - 1}\r\n")
    else:
        octets = ask(other, by_sha1 if how == "n2r" else f"/get/{index}/{urllib.parse.quote(found)}")
    keep(folder, name, octets, sha1_of(octets) == sha1 and len(octets) == size)


def keep(folder, name, octets, whole=True):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(octets)
    sys.exit(0 if whole else 1)


def kazaa(stream, folder, path, name):
    keep(folder, name, ask(stream, path, "X-Kazaa-Username: lab\r\nX-Kazaa-Network: KaZaA\r\nX-Kazaa-XferId: 1\r\n"))


def main():
    verb, address, folder, rest = sys.argv[1], (sys.argv[2], int(sys.argv[3])), sys.argv[4], sys.argv[5:]
    if verb == "serve":
        server = Server(address, Servent)
        server.files = shared(folder)
        server.serve_forever()
    elif verb == "take":
        take(address, folder, *rest)
    elif verb == "kazaa":
        kazaa(Stream(socket.create_connection(address, PATIENCE_S)), folder, f"/.hash={rest[0]}", rest[1])
    elif verb == "give":
        stream = Stream(socket.create_connection(address, PATIENCE_S))
        stream.say(b"GIVE 710878939\r\n\r\n")
        serve_all(stream, shared(folder))
    elif verb == "given":
        listener = socket.create_server(address)
        listener.settimeout(PATIENCE_S)
        stream = Stream(listener.accept()[0])
        stream.head()
        kazaa(stream, folder, f"/{rest[1]}/{urllib.parse.quote(rest[0])}", rest[0])


if __name__ == "__main__":
    main()
