#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every sample (rig/scan_samples.py) and its clean twin over each form of HTTP, between a server of sockets and curl, or a client of
sockets where curl has no such form. Both say how their connections ended.

scan_http.py make FOLDER                     samples as files (FORM.evil.NAME, FORM.good.NAME) in FOLDER/web, their database in FOLDER/db
scan_http.py serve FOLDER ADDRESS            the server, at port 80; a line of FOLDER/served for each connection
scan_http.py config FOLDER ADDRESS FORM      a configuration of curl for all files in one form
scan_http.py fetch FOLDER ADDRESS FORM       the same without curl; a line of FOLDER/FORM.told for each file, as curl's
scan_http.py judge FOLDER EVENTS FORM...     tells of each form, on a line, whether it held"""
import collections
import concurrent.futures
import gzip
import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
import zlib

import brotli

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from rig import scan_samples  # noqa: E402 pylint: disable=wrong-import-position

PATIENCE_S, AT_ONCE = 30, 20
BOUNDARY = b"between-parts"
BEHIND = b"words behind it. " * 20


def raw_deflate(octets):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(octets) + packer.flush()


def zstd(octets):
    return subprocess.run(["zstd", "-cq"], input=octets, stdout=subprocess.PIPE, check=True).stdout


# Codings: {form: (Content-Encoding, function)}
CODINGS = {"gzip": ("gzip", gzip.compress), "deflate": ("deflate", zlib.compress), "deflate-raw": ("deflate", raw_deflate),
           "br": ("br", lambda octets: brotli.compress(octets, quality=5)), "zstd": ("zstd", zstd), "gzip-chunked": ("gzip", gzip.compress)}
UPLOADS = ("put", "put-chunked", "post", "form")
# Those of sockets: without a head, behind another answer, in one of several ranges, and in two over two connections, where the
# gateway asks for the whole, lets parts pass, or resets them.
HALVES = ("halves", "halves-refused")
OWN = ("simple", "pipelined", "multipart-ranges", "two-parts", *HALVES)
FORMS = ("plain", "chunked", *CODINGS, "http10", "close", "range", *UPLOADS, *OWN)


def files_of(form):
    return scan_samples.Files(FORMS.index(form))


def make(folder):
    scan_samples.write_database(os.path.join(folder, "db"))
    scan_samples.write_all(os.path.join(folder, "web"))


def chunks(octets):
    step = 23 if len(octets) < 2000 else 10007
    pieces = [octets[at:at + step] for at in range(0, len(octets), step)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def part(octets, begin, end):
    return b"\r\n--%s\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes %d-%d/%d\r\n\r\n%s" % (
        BOUNDARY, begin, end - 1, len(octets), octets[begin:end])


def answer(form, octets, asked):
    """All of it, and whether the connection ends with it."""
    head = [b"HTTP/1.0 200 OK" if form == "http10" else b"HTTP/1.1 200 OK", b"Content-Type: application/octet-stream"]
    body, closes = octets, form in ("http10", "close", "simple")
    if form == "simple":
        return body, True
    if form in CODINGS:
        head.append(b"Content-Encoding: " + CODINGS[form][0].encode())
        body = CODINGS[form][1](octets)
    if form == "multipart-ranges":
        head[0:2] = [b"HTTP/1.1 206 Partial Content", b"Content-Type: multipart/byteranges; boundary=" + BOUNDARY]
        body = part(octets, 0, 5) + part(octets, 0, len(octets)) + b"\r\n--" + BOUNDARY + b"--\r\n"
    elif asked:
        begin, end = asked
        end = min(end, len(octets))
        head[0] = b"HTTP/1.1 206 Partial Content"
        head.append(b"Content-Range: bytes %d-%d/%d" % (begin, end - 1, len(octets)))
        body = octets[begin:end]
    if form.endswith("chunked"):
        head.append(b"Transfer-Encoding: chunked")
        body = chunks(body)
    elif not closes:
        head.append(b"Content-Length: %d" % len(body))
    if form not in OWN:  # else curl takes the connection for another file
        head.append(b"Connection: close")
    return b"\r\n".join(head) + b"\r\n\r\n" + body, closes


class Wire:
    """A connection that is read by lines and lengths."""

    def __init__(self, link):
        self.link, self.left = link, b""
        link.settimeout(PATIENCE_S)

    def more(self):
        octets = self.link.recv(65536)
        self.left += octets
        return octets

    def until(self, end):
        """What comes up to `end`, that included; None: the other end has closed."""
        while end not in self.left:
            if not self.more():
                return None
        taken, _, self.left = self.left.partition(end)
        return taken + end

    def take(self, length):
        """Of so many octets those that came."""
        while len(self.left) < length and self.more():
            pass
        taken, self.left = self.left[:length], self.left[length:]
        return taken


class Served:
    """A connection of the server: its requests are answered until its client closes, or it is reset."""

    def __init__(self, files, link):
        self.files, self.wire, self.body, self.path, self.paths = files, Wire(link), b"", None, []

    def answer_all(self):
        """How it ended."""
        try:
            while (line := self.wire.until(b"\r\n")) is not None:
                words = line.decode("latin-1").split()
                self.path = words[1].rsplit("/", 1)[-1]
                self.paths.append(self.path)
                head = self.wire.until(b"\r\n\r\n").lower() if len(words) > 2 else b""
                if words[0] in ("PUT", "POST"):
                    self.take_body(head)
                    self.wire.link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\ntaken")
                    continue
                asked = re.search(rb"\nrange: bytes=(\d+)-(\d*)", head)
                octets, closes = answer(*self.files.of(self.path), asked and (int(asked[1]), int(asked[2] or 1 << 40) + 1))
                self.wire.link.sendall(octets)
                if closes:
                    self.wire.link.shutdown(socket.SHUT_WR)
            return "closed"
        except OSError as error:
            return "reset" if isinstance(error, (ConnectionResetError, BrokenPipeError)) else str(error)

    def take_body(self, head):
        self.body = b""
        length = re.search(rb"\ncontent-length: *(\d+)", head)
        if b"\nexpect:" in head:
            self.wire.link.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if length:
            self.take_piece(int(length[1]))
            return
        while (line := self.wire.until(b"\r\n")) is not None:
            size = int(line, 16)
            self.take_piece(size)
            self.wire.until(b"\r\n")
            if not size:
                return

    def take_piece(self, size):
        try:
            while size:
                taken = self.wire.take(min(size, 4096))
                self.body, size = self.body + taken, size - len(taken)
                if not taken:
                    return
        finally:
            self.body, self.wire.left = self.body + self.wire.left[:size], self.wire.left[size:]


def unwrapped(path, body):
    """The file in what was uploaded, as far as it came."""
    if not path.startswith("form."):
        return body
    at = body.find(b"\r\n\r\n", body.find(b'filename="')) + 4
    end = body.find(b"\r\n--", at)
    return body[at:] if end < 0 else body[at:end]


def serve(folder, address):
    files, lock = scan_samples.Files(), threading.Lock()
    listener = socket.create_server((address, 80), backlog=200)

    def one(link, port):
        served = Served(files, link)
        ended = served.answer_all()
        link.close()
        with lock, open(os.path.join(folder, "served"), "a", encoding="utf-8") as file:
            for path in served.paths or [""]:  # nothing of a request that is in one segment may have come
                octets = unwrapped(path, served.body)
                print(json.dumps({"name": path or port, "ended": ended, "length": len(octets), "sha256": hashlib.sha256(octets).hexdigest()}), file=file)
    print("ready", flush=True)
    while True:
        link, (_, port) = listener.accept()  # of one that was reset meanwhile the address cannot be asked for
        threading.Thread(target=one, args=(link, port), daemon=True).start()


def config(folder, address, form):
    """Of each file a line is told: its name, curl's code, and what it says."""
    first = True
    for name in files_of(form).all:
        print("" if first else "next")
        first = False
        print(f'url = "http://{address}/{form}.{name}"\noutput = "{folder}/got/{form}.{name}"\nnoproxy = "*"\nsilent\nmax-time = {PATIENCE_S}\n'
              f'write-out = "{form}.{name} %{{exitcode}} %{{errormsg}}\\n"')
        path = f"{folder}/web/{name}"
        if form in CODINGS:
            print("compressed")
        elif form == "http10":
            print("http1.0")
        elif form == "range":
            print(f'range = "0-{os.path.getsize(path) - 1}"')
        elif form in ("put", "put-chunked"):
            print(f'upload-file = "{path}"')
            print('header = "Expect:"' + ('\nheader = "Transfer-Encoding: chunked"' if form == "put-chunked" else ""))
        elif form == "post":
            print(f'data-binary = "@{path}"\nheader = "Expect:"\nheader = "Content-Type: application/octet-stream"')
        elif form == "form":
            print(f'form = "note=words"\nform = "file=@{path};filename={form}.{name}"\nheader = "Expect:"')


class Fetch:
    """One file, without curl: what arrived, and how it ended."""

    def __init__(self, address, form, name, size):
        self.address, self.form, self.name, self.size = address, form, name, size
        self.got = b""

    def ask(self, path, more=b""):
        return b"GET /%s HTTP/1.1\r\nHost: lab\r\n%s\r\n" % (path.encode(), more)

    def all_of(self):
        """(ended, octets of the file that are there)"""
        try:
            link = socket.create_connection((self.address, 80), PATIENCE_S)
            with link:
                getattr(self, self.form.replace("-", "_"))(Wire(link))
            return "0 ", self.got
        except ConnectionResetError as error:
            return f"56 {error}", self.got
        except OSError as error:
            return f"1 {error}", self.got

    def body(self, wire, length):
        """It is kept as it comes, so that it is there when the connection is reset."""
        end = len(self.got) + length
        while len(self.got) < end:
            if not wire.left and not wire.more():
                raise OSError("closed early")
            taken, wire.left = wire.left[:end - len(self.got)], wire.left[end - len(self.got):]
            self.got += taken

    @staticmethod
    def head(wire):
        head = wire.until(b"\r\n\r\n")
        if head is None:
            raise OSError("no answer")
        return int(re.search(rb"(?i)\ncontent-length: *(\d+)", head)[1])

    def simple(self, wire):
        wire.link.sendall(b"GET /%s\r\n" % self.path().encode())
        while wire.more():
            self.got, wire.left = self.got + wire.left, b""

    def path(self):
        return f"{self.form}.{self.name}"

    def pipelined(self, wire):
        """The second of three that are asked for in one go."""
        wire.link.sendall(self.ask("before.good.eicar.com") + self.ask(self.path()) + self.ask("behind.good.clam.zip"))
        first = wire.take(self.head(wire))
        if len(first) != 68:
            raise OSError(f"the first answer has {len(first)} octets")
        self.body(wire, self.head(wire))
        wire.take(self.head(wire))

    def multipart_ranges(self, wire):
        wire.link.sendall(self.ask(f"{self.form}.{self.name}", b"Range: bytes=0-4,0-%d\r\n" % (self.size - 1)))
        self.head(wire)
        for length in (5, self.size):
            wire.until(b"\r\n\r\n")
            self.got = b""
            self.body(wire, length)

    def two_parts(self, wire):
        """By halves, over two connections."""
        wire.link.sendall(self.ask(self.path(), b"Range: bytes=0-%d\r\n" % (self.size // 2 - 1)))
        length = self.head(wire)
        self.body(wire, length)
        if length < self.size:  # else the whole was sent
            self.rest()

    halves = two_parts

    def rest(self):
        """Of which nothing has come the second half."""
        begin = len(self.got) or self.size // 2
        with socket.create_connection((self.address, 80), PATIENCE_S) as link:
            wire = Wire(link)
            wire.link.sendall(self.ask(self.path(), b"Range: bytes=%d-\r\n" % begin))
            self.body(wire, self.head(wire))

    def halves_refused(self, wire):
        """Who is reset asks for the rest of what has come, again and again."""
        try:
            self.two_parts(wire)
        except ConnectionResetError:
            for _ in range(3):
                try:
                    self.rest()
                    return
                except ConnectionResetError:
                    pass
            raise


def fetch(folder, address, form):
    files = files_of(form)

    def one(name):
        ended, octets = Fetch(address, form, name, len(files.all[name])).all_of()
        with open(os.path.join(folder, "got", f"{form}.{name}"), "wb") as file:
            file.write(octets)
        return f"{form}.{name} {ended}"
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool, open(os.path.join(folder, f"{form}.told"), "w", encoding="utf-8") as told:
        for line in pool.map(one, files.all):
            print(line, file=told)


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Judge:
    def __init__(self, folder, events):
        self.folder = folder
        self.served, self.infos, self.alerts = collections.defaultdict(list), collections.defaultdict(list), collections.defaultdict(list)
        for record in lines(os.path.join(folder, "served")):
            self.served[record["name"]].append(record)
        for event in lines(events):
            if event["event_type"] == "fileinfo":
                self.infos[event["fileinfo"].get("filename")].append(event)
            elif event["event_type"] == "alert" and "scan" in event:
                self.alerts[event["item_id"]].append(event)

    def told(self, form):
        """{name: (curl's code, what it says)}"""
        with open(os.path.join(self.folder, f"{form}.told"), encoding="utf-8") as file:
            return {line.split(" ", 1)[0]: line.rstrip("\n").split(" ", 2)[1:] for line in file}

    def got(self, form, name):
        path = os.path.join(self.folder, "got", name)
        if not os.path.exists(path):
            return b""
        with open(path, "rb") as file:
            return file.read()

    def arrived(self, form, name):
        """(length, SHA-256) of what the receiver has of the file: of an upload as the server says."""
        if form in UPLOADS:
            return [(record["length"], record["sha256"]) for record in self.served[name]]
        octets = self.got(form, name)
        return [(len(octets), hashlib.sha256(octets).hexdigest())]

    def event_of(self, form, name):
        """Its only one; of several ranges that of the last, the others are parts."""
        infos = [info for info in self.infos[name] if form not in UPLOADS or info["fileinfo"]["direction"] == "to_server"]
        if form == "multipart-ranges":  # a file that is known already is told at once, ahead of a part that is scanned
            infos.sort(key=lambda info: info["fileinfo"]["av"].get("reason") != "protocol")
            if [info["fileinfo"]["av"].get("reason") for info in infos[:-1]] != ["protocol"]:
                return None
            infos = infos[-1:]
        return infos[0] if len(infos) == 1 else None

    def destroyed(self, form, name, sample, code, said):
        octets, info = sample.octets, self.event_of(form, name)
        if not info:
            return f"events: {[info['fileinfo']['av'] for info in self.infos[name]]}"
        for length, digest in self.arrived(form, name):
            if length >= len(octets) or digest != hashlib.sha256(octets[:length]).hexdigest():
                return f"{length} octets arrived, of {len(octets)}"
        if code not in ("55", "56") or "reset" not in said:
            return f"its client ended {code} {said}"
        served = self.served[name] or self.served[info["src_port"]]
        if [record["ended"] for record in served] != ["reset"]:
            return f"its server: {served}"
        av = info["fileinfo"]["av"]
        if (av["verdict"], av.get("signature", av.get("reason"))) != (sample.verdict, sample.what):
            return f"it was told as {av}"
        alerts = [(alert["scan"]["verdict"], alert["scan"].get("name", alert["scan"].get("reason")), alert["alert"]["signature"],
                   alert["alert"]["action"]) for alert in self.alerts[info["item_id"]]]
        if alerts != [(sample.verdict, sample.what, "viruses", "blocked")]:
            return f"its alerts: {alerts}"
        return None

    def whole(self, form, name, sample, code, said):
        digest = hashlib.sha256(sample.twin).hexdigest()
        if self.arrived(form, name) != [(len(sample.twin), digest)] or code != "0":
            return f"its client ended {code} {said}, {self.arrived(form, name)} arrived"
        info = self.event_of(form, name)
        if not info or info["fileinfo"]["av"]["verdict"] != "clean" or info["fileinfo"].get("sha256") != digest:
            return f"it was told as {self.infos[name]}"
        return None

    def parts(self, form, name, sample, code, said):
        """Nothing says that a part is clean; where parts are reset the file does not arrive. EICAR is cut in its midst."""
        length, _ = self.arrived(form, name)[0]
        verdicts = [(info["fileinfo"]["av"]["verdict"], info["fileinfo"]["av"].get("reason")) for info in self.infos[name]]
        if not verdicts or any(verdict == "clean" for verdict, _ in verdicts):
            return f"it was told as {verdicts}"
        if form == "halves-refused":
            return f"{length} octets arrived, it ended {code} {said}" if length >= len(sample.octets) or code != "56" else None
        alerts = [(alert["scan"].get("reason"), alert["alert"]["action"]) for info in self.infos[name] for alert in self.alerts[info["item_id"]]]
        if sample.name == "eicar.com" and (verdicts, alerts, code) != ([("unscanned", "protocol")] * 2, [("protocol", "allowed")] * 2, "0"):
            return f"it was told as {verdicts}, with {alerts}, and ended {code} {said}"
        return None

    def form(self, form):
        told, faults = self.told(form), []
        for sample in files_of(form).samples.values():
            for kind in scan_samples.kinds(sample):
                name = f"{form}.{kind}.{sample.name}"
                judge = self.parts if form in HALVES else self.destroyed if kind == "evil" else self.whole
                wrong = judge(form, name, sample, *told[name]) if name in told else "nobody asked for it"
                if wrong:
                    faults.append(f"{name}: {wrong}")
        return faults

    def tell(self, forms):
        for form in forms:
            faults = self.form(form)
            print(form, f"{len(faults)} of {len(files_of(form).all)} did not hold" if faults else "held")
            for fault in faults:
                print(f"  {fault[:400]}")


if __name__ == "__main__":
    what, folder_, *more = sys.argv[1:]
    if what == "judge":
        Judge(folder_, more[0]).tell(more[1:])
    else:
        {"make": make, "serve": serve, "config": config, "fetch": fetch}[what](folder_, *more)
