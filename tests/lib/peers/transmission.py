#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Asks and commands a transmission-daemon over its RPC, with exact byte counts.

transmission.py settings DIR PORT RPC_PORT [KEY=JSON...]   write DIR/settings.json
transmission.py torrent FILE TRACKER OUT.torrent           make a torrent, print its info hash
transmission.py RPC_PORT add TORRENT|MAGNET_FILE DOWNLOAD_DIR
transmission.py RPC_PORT bytes                             payload bytes had and received, all torrents
transmission.py RPC_PORT done                              exit 0 when every torrent is complete
transmission.py RPC_PORT want FILE...                      by number, and no others (none: nothing); exit 1 while its files are not known
transmission.py RPC_PORT limit KB_PER_S                    of upload, 0: none
"""
import base64
import hashlib
import json
import os
import sys
import urllib.error
import urllib.request


def rpc(port, method, arguments):
    url = f"http://127.0.0.1:{port}/transmission/rpc"
    body = json.dumps({"method": method, "arguments": arguments}).encode()
    session = ""
    for _ in range(2):
        request = urllib.request.Request(url, body, {"X-Transmission-Session-Id": session})
        try:
            with urllib.request.urlopen(request, timeout=10) as reply:
                answer = json.load(reply)
                break
        except urllib.error.HTTPError as error:
            if error.code != 409:  # 409 carries the session id that it wants
                raise
            session = error.headers["X-Transmission-Session-Id"]
    if answer["result"] != "success":
        raise SystemExit(f"{method}: {answer['result']}")
    return answer["arguments"]


def settings(folder, port, rpc_port, extra):
    # Clear TCP to peers named by the tracker, and nothing else: no encryption, no uTP, no
    # discovery beside the tracker.
    chosen = {
        "encryption": 0,
        "utp-enabled": False,
        "dht-enabled": False,
        "pex-enabled": False,
        "lpd-enabled": False,
        "port-forwarding-enabled": False,
        "peer-port": port,
        "peer-port-random-on-start": False,
        "rpc-port": rpc_port,
        "rpc-bind-address": "127.0.0.1",
        "rpc-authentication-required": False,
        "download-dir": folder,
        "incomplete-dir-enabled": False,
        "cache-size-mb": 1,
        "scrape-paused-torrents-enabled": False,
        "message-level": 2,
    }
    for word in extra:
        key, value = word.split("=", 1)
        chosen[key] = json.loads(value)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "settings.json"), "w", encoding="ascii") as out:
        json.dump(chosen, out, indent=1)


def torrent(path, tracker, out_path, piece=262144, private=True, node=None):
    """Writes a single-file torrent and returns its info hash. A private one is not for DHT, PEX and LSD; node: where
    the DHT begins (BEP 5), HOST:PORT."""
    pieces = b""
    size = os.path.getsize(path)
    with open(path, "rb") as content:
        while chunk := content.read(piece):
            pieces += hashlib.sha1(chunk).digest()
    name = os.path.basename(path).encode()
    info = b"d6:lengthi%de4:name%d:%s12:piece lengthi%de6:pieces%d:%s%se" % (
        size,
        len(name),
        name,
        piece,
        len(pieces),
        pieces,
        b"7:privatei1e" if private else b"",
    )
    announce = tracker.encode()
    with open(out_path, "wb") as out:
        out.write(b"d8:announce%d:%s4:info%s" % (len(announce), announce, info))
        if node:
            host, port = node.rsplit(":", 1)
            out.write(b"5:nodesll%d:%si%dee" % (len(host), host.encode(), int(port)) + b"e")
        out.write(b"e")
    return hashlib.sha1(info).hexdigest()


def main():
    words = sys.argv[1:]
    if words[:1] == ["settings"]:
        settings(words[1], int(words[2]), int(words[3]), words[4:])
        return 0
    if words[:1] == ["torrent"]:
        print(torrent(*words[1:4]))
        return 0
    port, verb = int(words[0]), words[1]
    fields = ["haveValid", "haveUnchecked", "downloadedEver", "corruptEver", "leftUntilDone", "percentDone", "status"]
    if verb == "add":
        with open(words[2], "rb") as file:
            octets = file.read()
        source = ({"filename": octets.decode()} if octets.startswith(b"magnet:") else
                  {"metainfo": base64.b64encode(octets).decode()})
        rpc(port, "torrent-add", source | {"download-dir": words[3]})
    elif verb == "want":
        torrents = rpc(port, "torrent-get", {"fields": ["id", "files"]})["torrents"]
        wanted = [int(word) for word in words[2:]]
        if not torrents or not all(found["files"] for found in torrents):
            return 1
        for found in torrents:
            others = [n for n in range(len(found["files"])) if n not in wanted]
            lists = {"files-wanted": wanted, "files-unwanted": others}  # an empty list means all files
            chosen = {"ids": [found["id"]]} | {key: files for key, files in lists.items() if files}
            rpc(port, "torrent-set", chosen)
    elif verb == "limit":
        rpc(port, "session-set", {"speed-limit-up": int(words[2]), "speed-limit-up-enabled": words[2] != "0"})
    elif verb in ("bytes", "done"):
        torrents = rpc(port, "torrent-get", {"fields": fields})["torrents"]
        had = sum(t["haveValid"] + t["haveUnchecked"] for t in torrents)
        received = sum(t["downloadedEver"] + t["corruptEver"] for t in torrents)
        if verb == "bytes":
            print(had, received)
        elif not torrents or any(t["percentDone"] < 1 or t["status"] in (1, 2) for t in torrents):
            return 1
    else:
        raise SystemExit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
