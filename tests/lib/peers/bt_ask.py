#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Asks a BitTorrent client that bt_clients.py has started with the word rpc, where it runs: bt_ask.py KIND PORT HASH VERB

known           exit 0 when it knows the files of that torrent (a magnet link has none)
only FILE       of these, by number, it wants this one alone
meet HOST:PORT TRACKER   it meets that peer: at once, or by that tracker, where a client takes no peers by name (transmission)
done            exit 0 when it has all that it wants of it

KIND: transmission, qbittorrent, rtorrent.
"""
import json
import os
import socket
import sys
import urllib.parse
import urllib.request
import xmlrpc.client

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from peers import transmission as rpc  # noqa: E402 pylint: disable=wrong-import-position


class Transmission:
    def __init__(self, port, info_hash):
        self.port, self.hash = port, info_hash

    def get(self, *fields):
        return rpc.rpc(self.port, "torrent-get", {"ids": [self.hash], "fields": list(fields)})["torrents"][0]

    def set(self, **values):
        rpc.rpc(self.port, "torrent-set", {"ids": [self.hash], **values})

    def known(self):
        return len(self.get("files")["files"])

    def only(self, wanted):
        others = [n for n in range(self.known()) if n != wanted]
        self.set(**{"files-wanted": [wanted]}, **({"files-unwanted": others} if others else {}))

    def meet(self, _, tracker):
        if not any(known["announce"] == tracker for known in self.get("trackers")["trackers"]):
            self.set(trackerAdd=[tracker])

    def done(self):
        return self.get("percentDone")["percentDone"] == 1


class Qbittorrent:
    def __init__(self, port, info_hash):
        self.url, self.hash = f"http://127.0.0.1:{port}/api/v2/torrents/", info_hash

    def get(self, what, name="hash"):
        with urllib.request.urlopen(f"{self.url}{what}?{name}={self.hash}", timeout=10) as answer:
            return json.load(answer)

    def post(self, what, **values):
        with urllib.request.urlopen(self.url + what, urllib.parse.urlencode(values).encode(), timeout=10) as answer:
            answer.read()

    def known(self):
        return len(self.get("files"))

    def only(self, wanted):
        others = [n for n in range(self.known()) if n != wanted]
        self.post("filePrio", hash=self.hash, id="|".join(map(str, others)), priority=0)
        if any(self.get("files")[n]["priority"] for n in others):
            raise SystemExit("not yet")

    def meet(self, peer, _):
        self.post("addPeers", hashes=self.hash, peers=peer)

    def done(self):
        return self.get("info", "hashes")[0]["progress"] == 1


class Rtorrent:
    def __init__(self, port, info_hash):
        self.port, self.hash = port, info_hash.upper()

    def call(self, method, *words):
        """XML-RPC in SCGI."""
        body = xmlrpc.client.dumps(words, method).encode()
        head = b"CONTENT_LENGTH\0%d\0SCGI\0" % len(body) + b"1\0"
        with socket.create_connection(("127.0.0.1", self.port), 10) as end:
            end.sendall(b"%d:%s,%s" % (len(head), head, body))
            answer = b"".join(iter(lambda: end.recv(65536), b""))
        return xmlrpc.client.loads(answer.split(b"\r\n\r\n", 1)[1])[0][0]

    def known(self):
        return not self.call("d.is_meta", self.hash) and self.call("d.size_files", self.hash)

    def only(self, wanted):
        for n in range(self.known()):
            self.call("f.priority.set", f"{self.hash}:f{n}", int(n == wanted))
        self.call("d.update_priorities", self.hash)

    def meet(self, peer, _):
        self.call("add_peer", self.hash, peer)

    def done(self):
        return self.call("d.complete", self.hash)


def main():
    kind, port, info_hash, verb, *words = sys.argv[1:]
    client = {"transmission": Transmission, "qbittorrent": Qbittorrent, "rtorrent": Rtorrent}[kind](int(port) + 1000, info_hash)
    if verb in ("known", "done"):
        return 0 if getattr(client, verb)() else 1
    getattr(client, verb)(*(int(word) if verb == "only" else word for word in words))
    return 0


if __name__ == "__main__":
    sys.exit(main())
