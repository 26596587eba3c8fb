#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A small DHT (BEP 5) that knows its one answer: dht_nodes.py HOST:PORT COUNT INFOHASH=PEER:PORT...

COUNT nodes on ports from PORT on, each of which knows all others, and who has the torrents. Enough nodes for clients
that trust only a network of some size."""
import hashlib
import selectors
import socket
import struct
import sys


def encode(value):
    if isinstance(value, int):
        return b"i%de" % value
    if isinstance(value, bytes):
        return b"%d:%s" % (len(value), value)
    if isinstance(value, list):
        return b"l" + b"".join(map(encode, value)) + b"e"
    return b"d" + b"".join(encode(key) + encode(value[key]) for key in sorted(value)) + b"e"


def decode(octets, at=0):
    """(value, where it ends)"""
    kind = octets[at:at + 1]
    if kind == b"i":
        end = octets.index(b"e", at)
        return int(octets[at + 1:end]), end + 1
    if kind in (b"l", b"d"):
        items, at = [], at + 1
        while octets[at:at + 1] != b"e":
            item, at = decode(octets, at)
            items.append(item)
        return (items if kind == b"l" else dict(zip(items[::2], items[1::2]))), at + 1
    colon = octets.index(b":", at)
    end = colon + 1 + int(octets[at:colon])
    return octets[colon + 1:end], end


def compact(host, port):
    return socket.inet_aton(host) + struct.pack(">H", port)


def reply_of(query, own, nodes, peers):
    answer = {b"id": own}
    what, about = query[b"q"], query.get(b"a", {})
    if what == b"find_node":
        answer[b"nodes"] = nodes
    elif what == b"get_peers":
        answer[b"token"] = b"sluice"
        answer[b"nodes"] = nodes
        found = peers.get(about.get(b"info_hash", b"").hex())
        if found:
            answer[b"values"] = found
    return {b"t": query[b"t"], b"y": b"r", b"r": answer}


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    peers = {}
    for word in sys.argv[3:]:
        info_hash, peer = word.split("=", 1)
        at, its_port = peer.rsplit(":", 1)
        peers.setdefault(info_hash.lower(), []).append(compact(at, int(its_port)))
    ports = range(int(port), int(port) + int(sys.argv[2]))
    names = {number: hashlib.sha1(f"{host}:{number}".encode()).digest() for number in ports}
    nodes = b"".join(names[number] + compact(host, number) for number in ports)[:26 * 16]
    waiting = selectors.DefaultSelector()
    for number in ports:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind((host, number))
        waiting.register(sock, selectors.EVENT_READ, names[number])
    while True:
        for key, _ in waiting.select():
            octets, peer = key.fileobj.recvfrom(4096)
            try:
                query, _ = decode(octets)
                if query.get(b"y") == b"q":
                    key.fileobj.sendto(encode(reply_of(query, key.data, nodes, peers)), peer)
            except (ValueError, KeyError, AttributeError, IndexError):
                continue


if __name__ == "__main__":
    main()
