#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Twenty files of HTTP at once, of which some are refused: as connections (curl) and as requests on one (pipelined).

http_many.py make FOLDER                  the files (rig/marked_files.py)
http_many.py config SERVER FOLDER FORM    a configuration of curl that asks for twenty at once, or sends them (form)
http_many.py pipeline SERVER FOLDER       one connection for each of FORMS and CASES, all at once; twenty requests in one go on each
http_many.py judge FOLDER                 tells of each form and case, on a line, whether it held: what client.pcap and server.pcap
                                          say that arrived, and what curl has stored"""
import os
import re
import socket
import subprocess
import sys
import threading
import zlib

import brotli

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from packet import arrived  # noqa: E402 pylint: disable=wrong-import-position
from rig import marked_files  # noqa: E402 pylint: disable=wrong-import-position
from rig.marked_files import COUNT, passes, read  # noqa: E402 pylint: disable=wrong-import-position

FORMS = ("identity", "chunked", "gzip", "br", "zstd", "ranges", "form")
CODINGS = ("gzip", "br", "zstd")
CASES = {"all": None, "name": "setup", "type": "part"}  # what is the one in the midst
MIDST, FROM = 10, 1000
SEGMENT = 1460  # a segment in which a refused file begins does not arrive, also not what it has of the one before
BOUNDARY = "------------------------twenty"
PATIENCE_S = 30


def turn(case):
    """The files of twenty requests: at once each second one is refused, in turn one in the midst."""
    if case == "many":
        return marked_files.twenty()
    return [marked_files.file_of(CASES[case] if i == MIDST and CASES[case] else "page", i) for i in range(COUNT)]


def begins_at(form, name):
    """Of a part that begins at the first octet the type is known."""
    return FROM if form == "ranges" and not name.startswith("part") else 0


def make(folder):
    marked_files.make(os.path.join(folder, "web"), [marked_files.file_of(kind, i) for kind in marked_files.KINDS for i in range(COUNT)])


def config(server, folder, form):
    coding = form if form in CODINGS else ""
    for i, name in enumerate(turn("many")):
        if i:
            print("next")
        print(f'url = "http://{server}/{form}/{name}?many"\nnoproxy = "*"\nmax-time = {PATIENCE_S}\nfail\nsilent\nshow-error\n'
              f'output = "{folder}/got/{form}-{name}"')
        if coding:
            print(f'compressed\nheader = "Accept-Encoding: {coding}"')
        elif form == "form":
            print(f'form = "note=words"\nform = "file=@{folder}/web/{name}"')
        elif form == "ranges":
            print(f'range = "{begins_at(form, name)}-"')


def request(folder, form, case, name, last):
    head = ["Host: lab"]
    body = b""
    if form in CODINGS:
        head.append(f"Accept-Encoding: {form}")
    elif form == "ranges":
        head.append(f"Range: bytes={begins_at(form, name)}-")
    elif form == "form":
        body = (f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
                "Content-Type: application/octet-stream\r\n\r\n").encode() + read(folder, "web", name)
        body += f"\r\n--{BOUNDARY}--\r\n".encode()
        head += [f"Content-Type: multipart/form-data; boundary={BOUNDARY}", f"Content-Length: {len(body)}"]
    if last:
        head.append("Connection: close")
    method = "POST" if form == "form" else "GET"
    return (f"{method} /{form}/{name}?{case} HTTP/1.1\r\n" + "\r\n".join(head) + "\r\n\r\n").encode() + body


def ask(server, folder, form, case):
    names = turn(case)
    link = socket.create_connection((server, 80), PATIENCE_S)
    try:
        link.sendall(b"".join(request(folder, form, case, name, i == COUNT - 1) for i, name in enumerate(names)))
        while link.recv(65536):
            pass
    except ConnectionError:
        pass
    link.close()


def pipeline(server, folder):
    asks = [threading.Thread(target=ask, args=(server, folder, form, case)) for form in FORMS for case in CASES]
    for one in asks:
        one.start()
    for one in asks:
        one.join()


def framed(octets, at):
    """The body that begins there, raw and without its chunks, and where it ends; None: it is not whole."""
    head = octets[:at].rsplit(b"\r\n\r\n", 2)[-2]
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    if length:
        end = at + int(length[1])
        return (octets[at:end], end) if end <= len(octets) else None
    body = b""
    while True:
        line = octets.find(b"\r\n", at)
        if line < 0:
            return None
        size = int(octets[at:line], 16)
        if len(octets) < line + 2 + size + 2:
            return None
        body, at = body + octets[line + 2:line + 2 + size], line + 2 + size + 2
        if not size:
            return body, at


def unchunked(octets):
    """Of a body that is not whole."""
    body, at = b"", 0
    while (line := octets.find(b"\r\n", at)) >= 0:
        size = int(octets[at:line], 16)
        body, at = body + octets[line + 2:line + 2 + size], line + 2 + size + 2
    return body


def messages(octets):
    """[(where its head begins, its body, the next one, the body without chunks)] of those that are whole; of what follows the
    same, with None for what is not known."""
    found, at = [], 0
    while True:
        end = octets.find(b"\r\n\r\n", at)
        body = framed(octets, end + 4) if end >= 0 else None
        if body is None:
            return found, (at, end + 4 if end >= 0 else None, None, b"")
        found.append((at, end + 4, body[1], body[0]))
        at = body[1]


def zstd(octets):
    """What they decode to, as far as they go."""
    return subprocess.run(["zstd", "-dcq"], input=octets, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout


def plain(head, body):
    coding = re.search(rb"(?i)\r\ncontent-encoding: *(\w+)", head)
    if not coding:
        return "", body
    if coding[1] == b"gzip":
        return "gzip", zlib.decompress(body, 31)
    if coding[1] == b"br":
        return "br", brotli.decompress(body)
    return coding[1].decode(), zstd(body)


def file_in_form(body, name):
    """Where its first octet is; None: it is not there."""
    at = body.find(f'filename="{name}"'.encode())
    end = body.find(b"\r\n\r\n", at)
    return end + 4 if at >= 0 and end >= 0 else None


class Judge:
    """`served`: what arrived at the client, `asked`: at the server."""

    def __init__(self, folder):
        self.folder = folder
        self.files = marked_files.read_all(os.path.join(folder, "web"))
        client, self.server = (arrived.halves(os.path.join(folder, f"{side}.pcap")) for side in ("client", "server"))
        self.client = client
        # by what the first request says, as the client sent it
        self.talks = {}
        for ends, half in client.items():
            first = re.match(rb"(?:GET|POST) /(\w+)/(\S+)\?(\w+) ", half.octets)
            if ends[3] == 80 and first:
                form, name, case = (word.decode() for word in first.groups())
                self.talks.setdefault((form, case), []).append((name, ends))

    def halves_of(self, ends):
        """Of the answers, and of what was asked: what was sent and what arrived."""
        nothing = arrived.Half(ends)
        back = arrived.back(ends)
        return ((self.server.get(back, nothing), self.client.get(back, nothing)),
                (self.client.get(ends, nothing), self.server.get(ends, nothing)))

    def whole(self, form, name, head, body):
        """It is a message that has the file, in the form that was asked for."""
        if form == "form":
            at = file_in_form(body, name)
            return at is not None and body[at:body.rfind(b"\r\n--")] == self.files[name]
        coding, body = plain(head, body)
        chunked = b"transfer-encoding: chunked" in head.lower()
        return (coding == (form if form in CODINGS else "") and body == self.files[name][begins_at(form, name):] and
                (form != "chunked" or chunked) and (form != "ranges" or head.startswith(b"HTTP/1.1 206")))

    def refused(self, form, name, sent, got, message):
        """Why it is wrong what arrived of a refused file's message, and before it."""
        begin, body, end, _ = message
        if end and len(got) >= end:
            return f"all of {name}, and {len(got) - end} octets behind it"
        if len(got) < begin - SEGMENT:
            return f"{begin - len(got)} octets before {name} are missing"
        if body is not None and form == "form":
            at = file_in_form(sent[body:], name)
            body = None if at is None else body + at
        late = self.decoded(form, got[body:] if body is not None else b"")
        # what tells its type may have come in two segments, of which the first has left
        few = name.startswith("part") and len(late) < marked_files.TYPE and self.files[name].startswith(late)
        return f"{len(late)} octets of {name}" if late and not few else None

    @staticmethod
    def decoded(form, late):
        """What a receiver has of a body of which this arrived."""
        if form in ("chunked", "gzip", "br"):
            late = unchunked(late)
        if form == "gzip":
            return zlib.decompressobj(31).decompress(late)
        if form == "br":
            return brotli.Decompressor().process(late) if late else b""
        return zstd(late) if form == "zstd" and late else late


    def connection(self, form, names, ends):
        """Why what arrived of these files is not what should; None: it is."""
        (answers, answered), (asks, asked) = self.halves_of(ends)
        sent, receiver = (asks, asked) if form == "form" else (answers, answered)
        sent, got = sent.octets, receiver.octets
        found, rest = messages(sent)
        stop = next((i for i, name in enumerate(names) if not passes(name)), len(names))
        if not sent.startswith(got) or receiver.end != len(got):
            return "something else arrived than was sent, or behind a hole"
        if len(found) < stop:
            return f"{len(found)} whole messages were sent, not {stop}"
        for name, (head, body, end, plain_body) in zip(names[:stop], found):
            if end <= len(got) and not self.whole(form, name, sent[head:body], plain_body):
                return f"{name} is not as it was sent"
        if stop == len(names):
            return f"{len(sent) - len(got)} octets did not arrive, or it was reset" if got != sent or answered.resets else None
        wrong = self.refused(form, names[stop], sent, got, (*found, rest)[stop])
        if wrong or answered.resets and asked.resets:
            return wrong
        return f"resets: {answered.resets} at the client, {asked.resets} at the server"

    def many(self, form):
        talks = self.talks.get((form, "many"), [])
        if sorted(name for name, _ in talks) != sorted(turn("many")):
            return f"{len(talks)} connections"
        for name, ends in talks:
            wrong = self.connection(form, [name], ends)
            if not wrong and form != "form":
                path = os.path.join(self.folder, "got", f"{form}-{name}")
                stored = read(self.folder, "got", f"{form}-{name}") if os.path.exists(path) else b""
                if stored != (self.files[name][begins_at(form, name):] if passes(name) else b""):
                    wrong = f"curl stored {len(stored)} octets"
            if wrong:
                return f"{name}: {wrong}"
        return None

    def marks(self):
        """The marks that were seen at the receivers' wires, of forms that are sent as they are; {kind: how many}."""
        seen = {kind: 0 for kind in marked_files.KINDS}
        streams = [(half.octets, half.everything) for half in self.client.values() if half.ends[1] == 80]
        streams += [(half.octets, half.everything) for half in self.server.values() if half.ends[3] == 80]
        for name, octets in self.files.items():
            mark = marked_files.mark_of(octets)
            seen[re.match("[a-z]+", name)[0]] += any(mark in one for pair in streams for one in pair)
        return seen

    def tell(self):
        for form in FORMS:
            for case in ("many", *CASES):
                talks = self.talks.get((form, case), [])
                if case == "many":
                    wrong = self.many(form)
                else:
                    wrong = self.connection(form, turn(case), talks[0][1]) if len(talks) == 1 else f"{len(talks)} connections"
                print(form, case, wrong or "held")
        print("marks", *(f"{kind}={count}" for kind, count in self.marks().items()))


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    {"make": make, "config": config, "pipeline": pipeline, "judge": lambda folder: Judge(folder).tell()}[what](*arguments)
