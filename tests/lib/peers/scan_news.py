#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Network news (RFC 3977) with files: a server that has them as articles, a reader, and one that posts.

scan_news.py make FOLDER              the database of the scanner, in FOLDER/db
scan_news.py serve ADDRESS OUT        the server; what is posted goes to OUT, a line of JSON each
scan_news.py talk SERVER OUT          reads and posts every sample and its clean twin in every form; writes what became of each
scan_news.py judge TOLD POSTED EVENTS tells of each form, on a line, whether it held"""
import binascii
import email
import json
import os
import socket
import socketserver
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from rig import scan_rig, scan_samples  # noqa: E402 pylint: disable=wrong-import-position

PORT, PATIENCE_S = 119, 30
SAMPLES = {"evil": scan_rig.EICAR, "good": scan_samples.changed(scan_rig.EICAR, *scan_samples.TWINS["eicar.com"])}


def yrows(octets):
    out = bytearray()
    for byte in octets:
        byte = (byte + 42) & 255
        out += bytes((61, (byte + 64) & 255)) if byte in b"\0\n\r=" else bytes((byte,))
    rows = []
    while out:
        cut = 129 if len(out) > 128 and out[127] == 61 else 128
        rows.append(bytes(out[:cut]))
        del out[:cut]
    return b"\r\n".join(rows)


def yencoded(name, octets):
    return b"=ybegin line=128 size=%d name=%s\r\n%s\r\n=yend size=%d\r\n" % (len(octets), name, yrows(octets), len(octets))


def ypart(name, octets, number):
    """One of two."""
    half = len(octets) // 2
    begin, end = ((0, half), (half, len(octets)))[number - 1]
    return b"=ybegin part=%d total=2 line=128 size=%d name=%s\r\n=ypart begin=%d end=%d\r\n%s\r\n=yend size=%d part=%d\r\n" % (
        number, len(octets), name, begin + 1, end, yrows(octets[begin:end]), end - begin, number)


def ydecoded(body):
    rows, out = body.split(b"\r\n"), bytearray()
    for row in rows[1:next(at for at, row in enumerate(rows) if row.startswith(b"=yend"))]:
        escaped = False
        if row.startswith(b"=ypart"):
            continue
        for byte in row:
            if byte == 61 and not escaped:
                escaped = True
                continue
            out.append((byte - (106 if escaped else 42)) & 255)
            escaped = False
    return bytes(out)


def uuencoded(name, octets):
    rows = [binascii.b2a_uu(octets[at:at + 45], backtick=True).rstrip(b"\n") for at in range(0, len(octets), 45)]
    return b"begin 644 " + name + b"\r\n" + b"\r\n".join(rows) + b"\r\n`\r\nend\r\n"


def uudecoded(body):
    rows = body.split(b"\r\n")
    begin = next(at for at, row in enumerate(rows) if row.startswith(b"begin "))
    return b"".join(binascii.a2b_uu(row) for row in rows[begin + 1:rows.index(b"end")])


def attached(name, octets):
    return b"Content-Transfer-Encoding: base64\r\nContent-Type: application/octet-stream; name=" + name + b"\r\n\r\n" + \
        binascii.b2a_base64(octets, newline=False) + b"\r\n"


# {form: (what follows Subject, by name and octets; what it decodes to)}
FORMS = {
    "yenc": (lambda name, octets: b"\r\n" + yencoded(name, octets), ydecoded),
    "uuencode": (lambda name, octets: b"\r\n" + uuencoded(name, octets), uudecoded),
    "base64": (attached, None),
}
WAYS = ("article", "body", "parts", "post", "ihave")


def names():
    return [f"{way}.{form}.{kind}" for way in WAYS for form in FORMS for kind in SAMPLES
            if not (way == "body" and form == "base64")  # a body alone does not say how it is encoded
            and not (way == "parts" and form != "yenc")]


def article(name):
    _, form, kind = name.split(".")
    return b"From: a@lab\r\nNewsgroups: lab.test\r\nSubject: " + name.encode() + b"\r\nMessage-ID: <" + name.encode() + b">\r\n" + \
        FORMS[form][0](name.encode(), SAMPLES[kind])


def octets_of(name, octets):
    decode = FORMS[name.split(".")[1]][1]
    return decode(octets.partition(b"\r\n\r\n")[2] if b"\r\n\r\n" in octets else octets) if decode else \
        email.message_from_bytes(octets).get_payload(decode=True)


def block(octets):
    return octets.replace(b"\r\n.", b"\r\n..") + b".\r\n"


def read_block(file):
    rows = []
    for row in file:
        if row == b".\r\n":
            return b"".join(rows)
        rows.append(row[1:] if row.startswith(b".") else row)
    raise OSError("no end")


class Server(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(b"200 news ready\r\n")
        try:
            for line in self.rfile:
                self.command(line.decode(errors="replace").split())
        except OSError:
            pass

    def take(self, code):
        octets = read_block(self.rfile)
        with open(self.server.out, "ab") as out:
            out.write(json.dumps(octets.decode("latin-1")).encode() + b"\n")
        self.wfile.write(code + b" taken\r\n")

    def command(self, words):
        verb = words[0].upper() if words else ""
        if verb == "BODY" and "/" in words[1]:
            name, _, number = words[1].strip("<>").partition("/")
            self.wfile.write(b"222 0 x\r\n" + block(ypart(name.encode(), SAMPLES[name.split(".")[2]], int(number))))
        elif verb in ("ARTICLE", "BODY"):
            octets = article(words[1].strip("<>"))
            octets = octets if verb == "ARTICLE" else octets.partition(b"\r\n\r\n")[2]
            self.wfile.write((b"220" if verb == "ARTICLE" else b"222") + b" 0 " + words[1].encode() + b"\r\n" + block(octets))
        elif verb == "POST":
            self.wfile.write(b"340 go\r\n")
            self.take(b"240")
        elif verb == "IHAVE":
            self.wfile.write(b"335 go\r\n")
            self.take(b"235")
        else:
            self.wfile.write(b"205 bye\r\n" if verb == "QUIT" else b"500 what\r\n")


def talk(server, name):
    """What came of it, and was read."""
    way = name.split(".")[0]
    try:
        with socket.create_connection((server, PORT), PATIENCE_S) as link, link.makefile("rb") as file:
            def say(octets):
                link.sendall(octets)
                line = file.readline()
                if not line:
                    raise ConnectionResetError
                return line[:3]
            file.readline()
            if way == "parts":
                read = b""
                for number in (b"1", b"2"):
                    say(b"BODY <" + name.encode() + b"/" + number + b">\r\n")
                    read += ydecoded(read_block(file))
                return "done", read.hex()
            if way in ("article", "body"):
                say(b"%s <%s>\r\n" % (way.upper().encode(), name.encode()))
                return "done", octets_of(name, read_block(file)).hex()
            say(b"POST\r\n" if way == "post" else b"IHAVE <" + name.encode() + b">\r\n")
            return ("done" if say(block(article(name))) in (b"240", b"235") else "refused"), ""
    except (ConnectionResetError, BrokenPipeError):
        return "lost", ""
    except OSError as error:
        return str(error), ""


def judge(told, posted, events):
    with open(told, encoding="utf-8") as file:
        told = json.load(file)
    with open(posted, encoding="utf-8") as file:
        taken = [json.loads(line).encode("latin-1") for line in file]
    taken = {email.message_from_bytes(octets)["Subject"]: octets for octets in taken}
    with open(events, encoding="utf-8") as file:
        scanned = [event["fileinfo"] for event in map(json.loads, file) if event["event_type"] == "fileinfo"]
    bad = {}
    for name in names():
        way, form, kind = name.split(".")
        outcome, octets = told[name]
        reads = way in ("article", "body", "parts")
        arrived = bool(octets) if reads else name in taken
        same = arrived and (bytes.fromhex(octets) if reads else octets_of(name, taken[name])) == SAMPLES[kind]
        av = str([info.get("av") for info in scanned if info.get("filename") == name])
        held = outcome == "done" and same if kind == "good" else outcome == "lost" and not arrived and "infected" in av
        bad.setdefault(f"{way}-{form}", [])
        if not held:
            bad[f"{way}-{form}"].append(f"  {name}: {outcome}, arrived {arrived}, the same {same}, {av}")
    for form, wrong in bad.items():
        print(f"{form} {'did not hold' if wrong else 'held'}", *wrong, sep="\n")
    return not any(bad.values())


def main(verb, *arguments):
    if verb == "make":
        scan_samples.write_database(os.path.join(arguments[0], "db"))
    elif verb == "serve":
        socketserver.ThreadingTCPServer.allow_reuse_address = True
        with socketserver.ThreadingTCPServer((arguments[0], PORT), Server) as server:
            server.out = arguments[1]
            print("ready", flush=True)
            server.serve_forever()
    elif verb == "talk":
        told = {name: talk(arguments[0], name) for name in names()}
        with open(arguments[1], "w", encoding="utf-8") as out:
            json.dump(told, out)
    elif verb == "judge":
        return 0 if judge(*arguments) else 1
    return 0


sys.exit(main(*sys.argv[1:]))
