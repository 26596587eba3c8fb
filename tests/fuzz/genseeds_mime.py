#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the seeds of fuzz_content_mime into fuzz/corpus/content_mime."""
import base64
import os

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "content_mime")
FED = b"\7\3"
MIXED = b"Content-Type: multipart/mixed; boundary=\"b b\"\r\n\r\n"
ATTACHED = b"Content-Disposition: attachment; filename"
ENCODED = b"Content-Transfer-Encoding: "
YENC = bytes((byte + 42) & 255 for byte in b"hello")
SEEDS = {
    "parts": b"From: A <a@x>\r\nTo: b@y, <c@y>;\r\nSubject: =?utf-8?q?h=C3=A9?=\r\n" + MIXED + b"pre\r\n--b b\r\n\r\nhello\r\n--b b \r\n" +
             ATTACHED + b"=a.bin\r\n" + ENCODED + b"base64\r\n\r\n" + base64.b64encode(b"hello, world") + b"\r\n--b b--\r\nepilogue",
    "nested": MIXED + b"--b b\r\nContent-Type: multipart/digest; boundary=b\r\n\r\n--b\r\n\r\nSubject: x\r\n\r\ny\r\n--b--\r\n--b b\r\n"
              b"Content-Type: message/rfc822; name=m.eml\r\n\r\n" + MIXED.replace(b"b b", b"c") + b"--c\r\n\r\nz\r\n--b b--",
    "names": ATTACHED + b"*0*=utf-8'en'%61; filename*1=b; filename*2*=%2eexe; filename=\"a\\\"b\"; filename=c(d)\r\n"
             b"Content-Type: a/b; name=\"=?iso-8859-1?q?=E9?=\"\r\n\r\nx",
    "quoted": ENCODED + b"quoted-printable\r\nContent-Type: text/html; charset=iso-8859-1\r\n\r\n<p a=3D'>'>blue=\r\nb&shy;ird =\t \r\n=E9=zz <!-- x -->\r\n",
    "uuencode": b"\r\nlook\r\nbegin 644 a b\r\n%:&5L;&\\\r\n`\r\nend\r\nend\r\n",
    "yenc": b"\r\n=ybegin part=2 total=3 line=128 size=9 name=a.bin\r\n=ypart begin=4 end=8\r\n" + YENC + b"=}\r\n..\r\n=yend size=5\r\n"
            b"=ybegin line=1 size=1 name=b\r\n" + YENC[:1],
    "odd": b"Content-Type : text/plain\r\nContent-Type: multipart/mixed; boundary=b; boundary=c\r\n\r\n--b\r\nno field\r\n--b--x\r\n--b\rx\0",
    "utf16": ENCODED + b"base64\r\nContent-Type: text/plain; charset=utf-16\r\n\r\n" + base64.b64encode("h\u00e9\U0001f600".encode("utf-16")),
}

os.makedirs(HERE, exist_ok=True)
for name, octets in SEEDS.items():
    with open(os.path.join(HERE, name), "wb") as out:
        out.write(FED + octets)
