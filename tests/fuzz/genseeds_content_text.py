#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the seeds of fuzz_content_text.c: a charset, the room there is, then a name, a text or a file's beginning."""
import io
import os
import struct
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
GUESS, UTF8, LATIN1, UTF16LE, UTF16BE = range(5)


def archive(*names):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name in names:
            file.writestr(zipfile.ZipInfo(name), b"application/epub+zip" if name == "mimetype" else b"ab")
    return out.getvalue()


def seeds():
    yield "name-windows", UTF8, 9, b"C:\\Dir. /%73etup.EXE::$DATA. "
    yield "name-bidi", GUESS, 20, "invoice\u202efdp.\uff25\uff38\uff25".encode()
    yield "text-marks", UTF8, 40, ("e" + "\u0301\u0327" * 20 + "\u0345\u1fb4x").encode()
    yield "text-hangul", UTF8, 12, "\u1100\u1161\u11a8\uac00 \u0bc6\u0bbe \uff76\uff9e".encode()
    yield "text-fold", UTF8, 30, "Stra\u00dfe \u0130 \u03a3\u03c2 \ufdfa \u3000\u00a0 \u00a8".encode()
    yield "text-invalid", GUESS, 50, b"a\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xe1\x80\xe2\xf0\x91\x92\xf1\xbf"
    yield "text-latin", LATIN1, 7, b"caf\xe9 \x80\xbc"
    yield "text-utf16", UTF16LE, 30, "A\U0001f600\u200b".encode("utf-16-le") + b"\x3d\xd8A"
    yield "text-utf16be", UTF16BE, 30, "A\U0001f600\u200b".encode("utf-16-be") + b"\xd8"
    yield "words", GUESS, 12, b"a =?utf-8?q?=C3?= \r\n =?utf-8?B?qQ==?= =?utf-16?b?//5hAA==?= =?iso-8859-15*de?Q?_=A4?="
    yield "extended", GUESS, 9, b"UTF-8'en'%e2%82%ac%20rates"
    yield "entities", GUESS, 9, b"&lt;&amp;amp; &#x1F600;&#65;&nbsp;&#99999999999;&#"
    yield "file-pe", GUESS, 0, b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0"
    yield "file-docx", GUESS, 0, archive("[Content_Types].xml", "_rels/.rels", "word/document.xml")
    yield "file-epub", GUESS, 0, archive("mimetype")
    yield "file-jar", GUESS, 0, archive("META-INF/MANIFEST.MF")
    yield "file-webm", GUESS, 0, bytes.fromhex("1a45dfa39f4286810142f7810142f2810442f381084282847765626d42878104")
    yield "file-avif", GUESS, 0, b"\0\0\0\x1cftypmif1\0\0\0\0mif1avifmiaf"
    yield "file-torrent", GUESS, 0, b"d7:comment3:a b13:creation datei17e5:nodesll1:ai1eee4:infod6:lengthi1eee"
    yield "file-svg", GUESS, 0, b"<?xml version='1.0'?>\n<!-- a > b --><!DOCTYPE svg><s:svg >"
    yield "file-script", GUESS, 0, b"#!/usr/bin/env -S A=1 node20 -u\n"
    yield "file-mail", GUESS, 0, b"Received: from a\n by b\nX-Note: 1\nFrom: a@a.example\n"
    yield "file-mbox", GUESS, 0, b"From a@b.example Thu Jan  1 00:00:00 2026\r\n"
    yield "file-mp3", GUESS, 0, b"\xff\xfb\x90\x64" + bytes(413) + b"\xff\xfb\x92\x64"
    yield "file-tar", GUESS, 0, b"a.txt" + bytes(252) + b"ustar\x0000"


def main():
    folder = os.path.join(HERE, "corpus", "content_text")
    os.makedirs(folder, exist_ok=True)
    for name, charset, size, octets in seeds():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(bytes([charset, size]) + octets)


if __name__ == "__main__":
    main()
