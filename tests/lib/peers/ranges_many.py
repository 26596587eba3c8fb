#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files that are fetched in ranges over several connections, one of which lies across the middle of what a signature is for.

ranges_many.py make FOLDER                  FOLDER/web/{evil,late,good,alone}.bin, and the database that finds the first two, FOLDER/db
ranges_many.py serve FOLDER ADDRESS         a server at port 80 that knows ranges and says a strong ETag; a line for each request
ranges_many.py ranges SIZE N                the N ranges of a file of that length, as curl takes them"""
import http.server
import os
import random
import re
import sys

SIZE, MARK = 600_000, b"this stands across two ranges of the file"


def make(folder):
    os.makedirs(os.path.join(folder, "web"), exist_ok=True)
    os.makedirs(os.path.join(folder, "db"), exist_ok=True)
    for name in ("evil", "late", "good", "alone"):
        octets = bytearray(random.Random(name).randbytes(SIZE))
        at = SIZE // 2 - len(MARK) // 2  # the third range begins in it
        octets[at:at + len(MARK)] = MARK
        if name in ("good", "alone"):
            octets[at + 5] ^= 1
        with open(os.path.join(folder, "web", name + ".bin"), "wb") as out:
            out.write(octets)
    with open(os.path.join(folder, "db", "parts.ndb"), "w", encoding="ascii") as out:
        out.write(f"Parts.Test:0:*:{MARK.hex()}\n")


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder = ""

    def do_GET(self):  # pylint: disable=invalid-name
        name = os.path.basename(self.path)
        with open(os.path.join(self.folder, "web", name), "rb") as file:
            octets = file.read()
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        first, last = (int(asked[1]), int(asked[2])) if asked else (0, len(octets) - 1)
        self.send_response(206 if asked else 200)
        self.send_header("ETag", f'"{name}-1"')
        self.send_header("Content-Length", str(last - first + 1))
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(octets)}")
        self.end_headers()
        self.wfile.write(octets[first:last + 1])

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        print(self.path, self.headers.get("Range", "whole"), flush=True)

    def handle(self):
        try:
            super().handle()
        except OSError as error:
            print("lost", type(error).__name__, flush=True)


def main():
    verb, words = sys.argv[1], sys.argv[2:]
    if verb == "make":
        make(words[0])
    elif verb == "serve":
        Server.folder = words[0]
        server = http.server.ThreadingHTTPServer((words[1], 80), Server)
        print("ready", flush=True)
        server.serve_forever()
    elif verb == "ranges":
        size, n = int(words[0]), int(words[1])
        for i in range(n):
            print(f"{size * i // n}-{size * (i + 1) // n - 1}")
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
