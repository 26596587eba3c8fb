#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Real BitTorrent clients of four kinds, set up for one run each, without a home or a terminal.

bt_clients.py content FOLDER COUNT BYTES SEED_TRACKER TRACKER [public [node=HOST:PORT]]
    COUNT files FOLDER/seeded/NN.bin, and their torrents twice: FOLDER/for_seed/NN.torrent asks the one tracker,
    FOLDER/torrents/NN.torrent the other; prints their hashes
bt_clients.py start KIND FOLDER ADDRESS PORT TORRENTS CONTENT [WORD]...
    becomes a client that loads TORRENTS/*.torrent and keeps their content in CONTENT. WORDs: required (encryption in
    and out, nothing else), plain (none), utp or tcp (only that), dht, open (DHT, PEX and
    local discovery), magnet (loads TORRENTS/*.magnet), rpc (transmission, rtorrent: it can be asked, as
    qbittorrent always can: bt_ask.py)
bt_clients.py seeded TRACKER HASHES                         exit 0 when the tracker knows a seed of each hash in the file
bt_clients.py same FOLDER FOLDER                            exit 0 when each *.bin of the first is in the second

KIND: transmission, rtorrent (libTorrent), qbittorrent and deluge (libtorrent-rasterbar).
"""
import glob
import hashlib
import json
import os
import random
import subprocess
import sys
import time
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from peers import transmission as rpc  # noqa: E402 pylint: disable=wrong-import-position


def content(folder, count, length, trackers, words):
    for name in ("seeded", "for_seed", "torrents"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    for n in range(count):
        path = os.path.join(folder, "seeded", f"{n:02}.bin")
        with open(path, "wb") as out:
            out.write(random.Random(f"{folder} {n}").randbytes(length))
        for name, tracker in zip(("for_seed", "torrents"), trackers):
            found = rpc.torrent(path, tracker, os.path.join(folder, name, f"{n:02}.torrent"), 32768,
                                "public" not in words, words.get("node"))
        with open(os.path.join(folder, "torrents", f"{n:02}.magnet"), "w", encoding="ascii") as out:
            out.write(f"magnet:?xt=urn:btih:{found}&tr={urllib.parse.quote(trackers[1], safe='')}")
        print(found)


def sources(torrents, words):
    """What a client is told to load."""
    if "magnet" not in words:
        return sorted(glob.glob(os.path.join(torrents, "*.torrent")))
    found = []
    for path in sorted(glob.glob(os.path.join(torrents, "*.magnet"))):
        with open(path, encoding="ascii") as file:
            found.append(file.read())
    return found


def seeded(tracker, hashes):
    """Whether a tracker that can be scraped knows a seed of each."""
    with open(hashes, encoding="ascii") as file:
        for line in file:
            wanted = "".join(f"%{octet:02x}" for octet in bytes.fromhex(line.strip()))
            with urllib.request.urlopen(f"{tracker}/scrape?info_hash={wanted}", timeout=5) as answer:
                if b"8:completei0e" in answer.read(4096):
                    return 1
    return 0


def add_magnets(port, magnets, place):
    """Of a transmission that is about to start."""
    for _ in range(120):
        time.sleep(0.5)
        try:
            for magnet in magnets:
                rpc.rpc(port, "torrent-add", {"filename": magnet, "download-dir": place})
            return 0
        except OSError:
            continue
    return 1


def transmission(folder, address, port, torrents, place, words):
    rpc.settings(folder, port, 0, [])
    with open(os.path.join(folder, "settings.json"), encoding="ascii") as file:
        chosen = json.load(file)
    chosen.update({
        "rpc-enabled": "rpc" in words or "magnet" in words,
        "rpc-port": port + 1000,
        "encryption": 2 if "required" in words else 0,
        "utp-enabled": "utp" in words,
        "dht-enabled": "dht" in words or "open" in words,
        "pex-enabled": "open" in words,
        "lpd-enabled": "open" in words,
        "bind-address-ipv4": address,
        "watch-dir": torrents,
        "watch-dir-enabled": True,
        "download-dir": place,
        "peer-limit-global": 400,
        "download-queue-enabled": False,
        "seed-queue-enabled": False,
    })
    with open(os.path.join(folder, "settings.json"), "w", encoding="ascii") as out:
        json.dump(chosen, out)
    os.environ["TRANSMISSION_HOME"] = folder
    if "magnet" in words and os.fork() == 0:
        os._exit(add_magnets(port + 1000, sources(torrents, words), place))
    return ["transmission-daemon", "-f", "-g", folder]


def rtorrent(folder, address, port, torrents, place, words):
    policy = "require,require_RC4,allow_incoming,try_outgoing" if "required" in words else "none"
    lines = [
        "system.daemon.set = true", f"session.path.set = {folder}", f"directory.default.set = {place}",
        f"network.bind_address.set = {address}", f"network.local_address.set = {address}",
        f"network.port_range.set = {port}-{port}", "network.port_random.set = no",
        f"protocol.encryption.set = {policy}", f"protocol.pex.set = {'yes' if 'open' in words else 'no'}",
        "trackers.use_udp.set = yes", "pieces.hash.on_completion.set = no", "throttle.max_peers.normal.set = 400",
        "throttle.max_uploads.global.set = 400", "throttle.max_downloads.global.set = 400",
        "throttle.max_uploads.set = 400", "network.max_open_sockets.set = 600",
    ]
    if "rpc" in words:
        lines.append(f"network.scgi.open_port = 127.0.0.1:{port + 1000}")
    if "dht" in words or "open" in words:
        lines += [f"dht.port.set = {port}", "dht.mode.set = on"]
    lines += [f"load.start = {path}" for path in sources(torrents, words)]
    with open(os.path.join(folder, "rc"), "w", encoding="ascii") as out:
        out.write("\n".join(lines) + "\n")
    return ["rtorrent", "-n", "-o", f"import={folder}/rc"]


def qbittorrent(folder, address, port, torrents, place, words):
    # BTProtocol: 0 both, 1 TCP, 2 uTP; Encryption: 0 prefers it, 1 requires it, 2 refuses it
    chosen = {
        "Session\\Port": port, "Session\\InterfaceAddress": address, "Session\\DefaultSavePath": place,
        "Session\\Encryption": 1 if "required" in words else 2,
        "Session\\BTProtocol": "UTP" if "utp" in words else "TCP",
        "Session\\DHTEnabled": str("dht" in words or "open" in words).lower(),
        "Session\\PeXEnabled": str("open" in words).lower(), "Session\\LSDEnabled": str("open" in words).lower(),
        "Session\\QueueingSystemEnabled": "false", "Session\\MaxConnections": 400,
        "Session\\MaxConnectionsPerTorrent": 100, "Session\\MaxUploads": 400, "Session\\AddTorrentPaused": "false",
        "Session\\MultiConnectionsPerIp": "true", "Session\\SSRFMitigation": "false",
    }
    where = os.path.join(folder, "qBittorrent", "config")
    os.makedirs(where, exist_ok=True)
    with open(os.path.join(where, "qBittorrent.conf"), "w", encoding="ascii") as out:
        out.write("[BitTorrent]\n" + "".join(f"{key}={value}\n" for key, value in chosen.items()))
        out.write("[LegalNotice]\nAccepted=true\n[Preferences]\nWebUI\\Enabled=true\n"
                  f"WebUI\\Address=127.0.0.1\nWebUI\\Port={port + 1000}\nWebUI\\LocalHostAuth=false\nConnection\\UPnP=false\n"
                  "[Network]\nPortForwardingEnabled=false\n")
    return ["qbittorrent-nox", f"--profile={folder}", "--skip-dialog=true", "--add-paused=false", *sources(torrents, words)]


def deluge(folder, address, port, torrents, place, words):
    level = 0 if "required" in words else 2  # forced, disabled
    chosen = {
        "listen_interface": address, "listen_ports": [port, port], "random_port": False, "listen_random_port": None,
        "outgoing_interface": address, "daemon_port": port + 1000, "allow_remote": False,
        "download_location": place, "enc_in_policy": level, "enc_out_policy": level, "enc_level": 1,
        "dht": "dht" in words or "open" in words, "utpex": "open" in words, "lsd": "open" in words,
        "upnp": False, "natpmp": False, "new_release_check": False, "add_paused": False,
        "max_active_limit": -1, "max_active_downloading": -1, "max_active_seeding": -1, "send_info": False,
    }
    with open(os.path.join(folder, "core.conf"), "w", encoding="ascii") as out:
        json.dump({"file": 1, "format": 1}, out)
        json.dump(chosen, out)
    if os.fork() == 0:
        for _ in range(60):
            time.sleep(0.5)
            commands = "; ".join(["connect 127.0.0.1:%d" % (port + 1000)] + [
                f"add -p {place} {path}" for path in sources(torrents, words)])
            done = subprocess.run(["deluge-console", "-c", folder, commands], capture_output=True, text=True,
                                  check=False)
            if "added" in done.stdout.lower():
                os._exit(0)
        os._exit(1)
    return ["deluged", "-d", "-c", folder, "-p", str(port + 1000), "-L", "warning"]


KINDS = {"transmission": transmission, "rtorrent": rtorrent, "qbittorrent": qbittorrent, "deluge": deluge}


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha1(file.read()).digest()


def same(a, b):
    names = [os.path.basename(path) for path in glob.glob(os.path.join(a, "*.bin"))]
    missing = [name for name in names if not os.path.isfile(os.path.join(b, name))
               or digest(os.path.join(a, name)) != digest(os.path.join(b, name))]
    print(f"{len(names) - len(missing)} of {len(names)}")
    return 0 if names and not missing else 1


def main():
    verb, words = sys.argv[1], sys.argv[2:]
    if verb == "content":
        content(words[0], int(words[1]), int(words[2]), words[3:5],
                dict(word.split("=", 1) if "=" in word else (word, True) for word in words[5:]))
        return 0
    if verb == "seeded":
        return seeded(*words[:2])
    if verb == "same":
        return same(*words[:2])
    kind, folder, address, port, torrents, place = words[:6]
    for path in (folder, place):
        os.makedirs(path, exist_ok=True)
    chosen = dict(word.split("=", 1) if "=" in word else (word, True) for word in words[6:])
    os.environ["HOME"] = folder
    command = KINDS[kind](folder, address, int(port), torrents, place, chosen)
    os.execvp(command[0], command)
    return 1


if __name__ == "__main__":
    sys.exit(main())
