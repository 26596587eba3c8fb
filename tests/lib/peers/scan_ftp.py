#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every sample (rig/scan_samples.py) and its clean twin over FTP, in each way that data connections are made, both directions, and the
rest of a file (REST).

scan_ftp.py make FOLDER                       samples in FOLDER/pub/WAY/KIND.NAME, their database in FOLDER/db
scan_ftp.py config FOLDER SERVER WAY          a configuration of curl for all files in one way; it tells a line of each
scan_ftp.py judge FOLDER EVENTS               tells of each way, on a line, whether it held: what events and curl say, what is stored, and
                                              what client.pcap and server.pcap say that arrived"""
import collections
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from packet import arrived  # noqa: E402 pylint: disable=wrong-import-position
from rig import scan_samples  # noqa: E402 pylint: disable=wrong-import-position

WAYS = {"epsv": "", "pasv": "disable-epsv", "eprt": 'ftp-port = "-"', "port": 'ftp-port = "-"\ndisable-eprt', "put": "",
        "put-eprt": 'ftp-port = "-"', "rest": "", "rest-refused": ""}


def files_of(way):
    return scan_samples.Files(list(WAYS).index(way))


def is_rest(way):
    return way.startswith("rest")


def make(folder):
    scan_samples.write_database(os.path.join(folder, "db"))
    scan_samples.write_all(os.path.join(folder, "files"))
    os.makedirs(os.path.join(folder, "pub"))
    for way in WAYS:
        for name, octets in files_of(way).all.items():
            with open(os.path.join(folder, "pub", f"{way}.{name}"), "wb") as file:
                file.write(octets)


def config(folder, server, way):
    for i, (name, octets) in enumerate(files_of(way).all.items()):
        print("next" if i else "")
        print(f'noproxy = "*"\nmax-time = 20\nsilent\n{WAYS[way]}\nwrite-out = "{way}.{name} %{{exitcode}} %{{errormsg}}\\n"')
        if way.startswith("put"):
            print(f'url = "ftp://{server}/in/{way}.{name}"\nupload-file = "{folder}/files/{name}"')
        else:
            print(f'url = "ftp://{server}/{way}.{name}"\noutput = "{folder}/got/{way}.{name}"')
        if is_rest(way):
            print(f'range = "{len(octets) // 2}-"')


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def ports_of(event):
    return event["src_ip"], event["src_port"], event["dest_ip"], event["dest_port"]


class Judge:
    def __init__(self, folder, events):
        self.folder = folder
        self.client, self.server = (arrived.halves(os.path.join(folder, f"{side}.pcap")) for side in ("client", "server"))
        self.infos, self.alerts = collections.defaultdict(list), collections.defaultdict(list)
        self.by_ports = collections.defaultdict(list)  # items: a client's port may be taken again for port 20 of the server
        for event in sorted(lines(events), key=lambda event: event["timestamp"]):
            if event["event_type"] == "fileinfo":
                self.infos[event["fileinfo"].get("filename")].append(event)
                self.by_ports[ports_of(event)].append(event["item_id"])
            elif event["event_type"] == "alert" and "scan" in event:
                self.alerts[event["item_id"]].append((event["scan"]["verdict"], event["scan"].get("name", event["scan"].get("reason")),
                                                      event["alert"]["signature"], event["alert"]["action"]))
        self.told = {}
        for way in WAYS:
            with open(os.path.join(folder, f"{way}.told"), encoding="utf-8") as file:
                self.told.update({line.split(" ", 1)[0]: line.rstrip("\n").split(" ", 2)[1:] for line in file})

    def stored(self, way, name):
        path = os.path.join(self.folder, "pub/in" if way.startswith("put") else "got", f"{way}.{name}")
        if not os.path.exists(path):
            return b""
        with open(path, "rb") as file:
            return file.read()

    def data(self, way, info):
        """What arrived in the event's connection, and whether a reset did at each end. Who opens a data connection may send in it."""
        ends = (*ports_of(info), self.by_ports[ports_of(info)].index(info["item_id"]))
        receiver, sender = (self.server, self.client) if way.startswith("put") else (self.client, self.server)
        nothing = arrived.Half(ends)
        sent = ends if sender.get(ends, nothing).octets else arrived.back(ends)
        return receiver.get(sent, nothing), bool(receiver.get(sent, nothing).resets), bool(sender.get(arrived.back(sent), nothing).resets)

    def destroyed(self, way, name, sample, octets):
        info = self.infos[f"{way}.{name}"][0]
        half, at_receiver, at_sender = self.data(way, info)
        stored = self.stored(way, name)
        for what, came in (("arrived", half.octets), ("are stored", stored)):
            if len(came) >= len(octets) or not octets.startswith(came):
                return f"{len(came)} octets {what}, of {len(octets)}"
        if not half.octets.startswith(stored):
            return "something else is stored than arrived"
        if not at_receiver or not at_sender:
            return f"resets: {at_receiver} at the receiver, {at_sender} at the sender"
        av = info["fileinfo"]["av"]
        if (av["verdict"], av.get("signature", av.get("reason"))) != (sample.verdict, sample.what):
            return f"it was told as {av}"
        if self.alerts[info["item_id"]] != [(sample.verdict, sample.what, "viruses", "blocked")]:
            return f"its alerts: {self.alerts[info['item_id']]}"
        return None

    def whole(self, way, name, _, octets):
        info = self.infos[f"{way}.{name}"][0]
        if self.stored(way, name) != octets or self.told[f"{way}.{name}"][0] != "0":
            return f"{len(self.stored(way, name))} octets are stored, curl ended {self.told[f'{way}.{name}']}"
        if info["fileinfo"]["av"]["verdict"] != "clean" or info["fileinfo"].get("sha256") != scan_samples.sha256(octets):
            return f"it was told as {info}"
        return None

    def rest(self, way, name, sample, octets):
        """The rest of a file is never clean. Where it passes EICAR, cut in its midst, does; where it does not none is all there."""
        rest, stored = octets[len(octets) // 2:], self.stored(way, name)
        info = self.infos[f"{way}.{name}"][0]
        av = info["fileinfo"]["av"]
        if av["verdict"] == "clean":
            return f"it was told as {av}"
        if way == "rest-refused":
            return f"{len(stored)} octets arrived" if len(stored) >= len(rest) or not rest.startswith(stored) else None
        if sample.name == "eicar.com" and (stored != rest or av.get("reason") != "protocol" or
                                           self.alerts[info["item_id"]] != [("unscanned", "protocol", "viruses", "allowed")]):
            return f"{len(stored)} octets arrived, it was told as {av}, its alerts: {self.alerts[info['item_id']]}"
        return None

    def way(self, way):
        for sample in files_of(way).samples.values():
            for kind in scan_samples.kinds(sample):
                name = f"{kind}.{sample.name}"
                if len(self.infos[f"{way}.{name}"]) != 1 or f"{way}.{name}" not in self.told:
                    yield f"{name}: {len(self.infos[f'{way}.{name}'])} events; curl: {self.told.get(f'{way}.{name}')}"
                    continue
                judge = self.rest if is_rest(way) else self.destroyed if kind == "evil" else self.whole
                wrong = judge(way, name, sample, sample.octets if kind == "evil" else sample.twin)
                if wrong:
                    yield f"{name}: {wrong}"

    def tell(self):
        for way in WAYS:
            faults = list(self.way(way))
            print(way, f"{len(faults)} did not hold" if faults else "held")
            for fault in faults:
                print(f"  {fault[:400]}")


if __name__ == "__main__":
    what, folder_, *more = sys.argv[1:]
    if what == "judge":
        Judge(folder_, *more).tell()
    else:
        {"make": make, "config": config}[what](folder_, *more)
