#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A BitTorrent HTTP tracker that knows its one answer: tracker.py LISTEN:PORT INFOHASH=PEER:PORT...

Answers each announce with the compact peer list of that info hash (hex). It serves the lab: the
client's own namespace asks it, so that only the peer protocol itself crosses the gateway.
"""
import http.server
import socket
import struct
import sys
import urllib.parse


def bencode(value):
    if isinstance(value, int):
        return b"i%de" % value
    if isinstance(value, bytes):
        return b"%d:%s" % (len(value), value)
    return b"d" + b"".join(bencode(k) + bencode(value[k]) for k in sorted(value)) + b"e"


def endpoint(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


class Tracker(http.server.BaseHTTPRequestHandler):
    peers = {}

    def do_GET(self):  # pylint: disable=invalid-name
        query = urllib.parse.urlsplit(self.path).query
        fields = dict(f.split("=", 1) for f in query.split("&") if "=" in f)
        wanted = urllib.parse.unquote_to_bytes(fields.get("info_hash", "")).hex()
        compact = b"".join(self.peers.get(wanted, []))
        body = bencode({b"interval": 1800, b"peers": compact, b"complete": len(compact) // 6, b"incomplete": 1})
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main():
    for word in sys.argv[2:]:
        info_hash, peer = word.split("=", 1)
        host, port = endpoint(peer)
        Tracker.peers.setdefault(info_hash.lower(), []).append(socket.inet_aton(host) + struct.pack(">H", port))
    http.server.ThreadingHTTPServer(endpoint(sys.argv[1]), Tracker).serve_forever()


if __name__ == "__main__":
    main()
