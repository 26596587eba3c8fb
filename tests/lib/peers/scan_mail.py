#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Mails with files, each in several forms, to a mail server, and what became of them in its mailbox.

scan_mail.py make FOLDER              the database of the scanner, in FOLDER/db
scan_mail.py send SERVER OUT          every sample and its clean twin in every form; writes what became of each connection
scan_mail.py judge OUT BOX EVENTS     tells of each form, on a line, whether it held
scan_mail.py one SERVER FORM NAME PATH [WORDS]   one file under that name, and a text; tells "sent" or "lost"
scan_mail.py box BOX SUBJECT          the files of the mail with this subject: NAME SHA256, and its text"""
import base64
import binascii
import email
import email.policy
import hashlib
import io
import json
import os
import quopri
import socket
import sys
import zipfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from rig import scan_rig, scan_samples  # noqa: E402 pylint: disable=wrong-import-position

PORT, PATIENCE_S = 25, 30


def nested(octets):
    """A ZIP archive in a ZIP archive, neither compressed, so that one changed byte needs no other sums."""
    for name in ("a.com", "a.zip"):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(zipfile.ZipInfo(name), octets)
        octets = out.getvalue()
    return octets


def samples():
    twin = scan_samples.changed(scan_rig.EICAR, *scan_samples.TWINS["eicar.com"])
    return {"evil.eicar.com": scan_rig.EICAR, "good.eicar.com": twin, "evil.nested.zip": nested(scan_rig.EICAR),
            "good.nested.zip": nested(twin)}


def lines(octets):
    return octets.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def uuencoded(name, octets):
    body = b"".join(binascii.b2a_uu(octets[at:at + 45], backtick=True) for at in range(0, len(octets), 45))
    return b"begin 644 " + name + b"\n" + body + b"`\nend\n"


def part(name, octets, encoding="base64"):
    coded = {"base64": base64.encodebytes, "quoted-printable": lambda octets: quopri.encodestring(octets, quotetabs=True),
             "x-uuencode": lambda octets: uuencoded(name, octets), "binary": lambda octets: octets}[encoding](octets)
    head = b"Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: " + encoding.encode()
    head += b"\r\nContent-Disposition: attachment; filename=\"" + name + b"\"\r\n\r\n"
    return head + (coded if encoding == "binary" else lines(coded))


def multipart(parts, boundary=b"=b="):
    head = b"Content-Type: multipart/mixed; boundary=\"" + boundary + b"\"\r\n\r\n"
    return head + b"".join(b"--" + boundary + b"\r\n" + one + b"\r\n" for one in parts) + b"--" + boundary + b"--\r\n"


def text_of(words):
    return b"Content-Type: text/plain\r\n\r\n" + words + b"\r\n"


# {form: (mail behind its subject, by name, octets and words; whether it goes in chunks, and its commands ahead of replies)}
FORMS = {
    "base64": (lambda name, octets, words: multipart([text_of(words), part(name, octets)]), False, False),
    "quoted": (lambda name, octets, words: multipart([text_of(words), part(name, octets, "quoted-printable")]), False, False),
    "uuencode": (lambda name, octets, words: multipart([text_of(words), part(name, octets, "x-uuencode")]), False, False),
    "inline": (lambda name, octets, words: text_of(words + b"\r\n" + lines(uuencoded(name, octets))), False, False),
    "alone": (lambda name, octets, words: part(name, octets), False, False),
    "within": (lambda name, octets, words: multipart([text_of(words), b"Content-Type: message/rfc822\r\n\r\nSubject: within\r\n" +
                                                      multipart([part(name, octets)], b"=c=")]), False, False),
    "pipelined": (lambda name, octets, words: multipart([text_of(words), part(name, octets)]), False, True),
    "chunks": (lambda name, octets, words: multipart([text_of(words), part(name, octets)]), True, False),
    "pipelined-chunks": (lambda name, octets, words: multipart([text_of(words), part(name, octets)]), True, True),
}


class Link:
    def __init__(self, server):
        self.socket = socket.create_connection((server, PORT), PATIENCE_S)
        self.file = self.socket.makefile("rb")
        self.reply(b"220")

    def reply(self, code):
        while True:
            line = self.file.readline()
            if not line:
                raise OSError("the server has closed")
            if line[3:4] != b"-":
                if not line.startswith(code):
                    raise OSError(line.decode(errors="replace"))
                return

    def say(self, octets, *codes):
        self.socket.sendall(octets)
        for code in codes:
            self.reply(code)


def send(server, mail, chunks, pipelined):
    link = Link(server)
    link.say(b"EHLO client\r\n", b"250")
    envelope = [b"MAIL FROM:<anna@lab.example>\r\n", b"RCPT TO:<box@lab.example>\r\n"]
    if chunks:
        half = len(mail) // 2
        body = [b"BDAT %d\r\n" % half + mail[:half], b"BDAT %d LAST\r\n" % (len(mail) - half) + mail[half:]]
        if pipelined:
            link.say(b"".join(envelope + body), *[b"250"] * 4)
        else:
            for octets in envelope + body:
                link.say(octets, b"250")
    else:
        stuffed = mail.replace(b"\r\n.", b"\r\n..") + b".\r\n"
        if pipelined:
            link.say(b"".join(envelope) + b"DATA\r\n", b"250", b"250", b"354")
            link.say(stuffed + b"RSET\r\n", b"250", b"250")
        else:
            for octets in envelope:
                link.say(octets, b"250")
            link.say(b"DATA\r\n", b"354")
            link.say(stuffed, b"250")
    link.say(b"QUIT\r\n", b"221")


def outcome(server, form, subject, name, octets, words):
    make, chunks, pipelined = FORMS[form]
    head = b"From: Anna <anna@lab.example>\r\nTo: box@lab.example\r\nSubject: " + subject.encode() + b"\r\nMIME-Version: 1.0\r\n"
    try:
        send(server, head + make(name.encode(), octets, words), chunks, pipelined)
        return "sent"
    except (ConnectionResetError, BrokenPipeError):
        return "lost"
    except OSError as error:
        return str(error).strip()


def mails(box):
    """{subject: mail}"""
    found = {}
    for folder in ("new", "cur"):
        path = os.path.join(box, folder)
        for name in os.listdir(path) if os.path.isdir(path) else ():
            with open(os.path.join(path, name), "rb") as file:
                mail = email.message_from_binary_file(file, policy=email.policy.default)
            found[mail["Subject"]] = mail
    return found


def texts(mail):
    return "\n".join(one.get_content() for one in mail.walk() if one.get_content_type() == "text/plain" and not one.get_filename())


def files(mail):
    """[(name, octets)]: of uuencode in a text, too."""
    found = [(one.get_filename(), one.get_payload(decode=True)) for one in mail.walk() if one.get_filename()]
    rows = texts(mail).split("\n")
    for at, row in enumerate(rows):
        if row.startswith("begin 644 "):
            end = rows.index("end", at)
            found.append((row[10:], b"".join(binascii.a2b_uu(line) for line in rows[at + 1:end])))
    return found


def judge(out, box, events):
    with open(out, encoding="utf-8") as file:
        told = json.load(file)
    with open(events, encoding="utf-8") as file:
        scanned = [event["fileinfo"] for event in map(json.loads, file) if event["event_type"] == "fileinfo"]
    arrived, all_held = mails(box), True
    for form in FORMS:
        wrong = []
        for name, octets in samples().items():
            subject = f"{form}.{name}"
            mail = arrived.get(subject)
            of = [info.get("av", {}).get("verdict", info.get("av")) for info in scanned if info.get("filename") == subject]
            if name.startswith("evil") and (mail or told[subject] != "lost" or "infected" not in str(of)):
                wrong.append(f"  {subject}: {told[subject]}, mail {'there' if mail else 'not there'}, {of}")
            elif name.startswith("good") and (not mail or told[subject] != "sent" or (subject, octets) not in files(mail)):
                wrong.append(f"  {subject}: {told[subject]}, {files(mail) if mail else 'no mail'}, {of}")
        print(f"{form} {'did not hold' if wrong else 'held'}", *wrong, sep="\n")
        all_held &= not wrong
    return all_held


def main(verb, *arguments):
    if verb == "make":
        scan_samples.write_database(os.path.join(arguments[0], "db"))
    elif verb == "send":
        told = {}
        for form in FORMS:
            for name, octets in samples().items():
                told[f"{form}.{name}"] = outcome(arguments[0], form, f"{form}.{name}", f"{form}.{name}", octets, b"see below")
        with open(arguments[1], "w", encoding="utf-8") as out:
            json.dump(told, out)
    elif verb == "judge":
        return 0 if judge(*arguments) else 1
    elif verb == "one":
        server, form, name, path, *words = arguments
        with open(path, "rb") as file:
            octets = file.read()
        print(outcome(server, form, f"{form} {name}", name, octets, " ".join(words).encode()))
    elif verb == "box":
        mail = mails(arguments[0])[arguments[1]]
        for name, octets in files(mail):
            print(name, hashlib.sha256(octets).hexdigest())
        print(texts(mail))
    return 0


sys.exit(main(*sys.argv[1:]))
