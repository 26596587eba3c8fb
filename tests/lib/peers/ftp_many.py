#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Twenty sessions of FTP, or TFTP, at once, of which some carry refused files.

ftp_many.py make FOLDER SERVER...           files of their own (rig/marked_files.py) for each server and way in FOLDER/pub
ftp_many.py config FOLDER SERVER AT WAY     a configuration of curl for twenty sessions at once with SERVER, which is AT an address and port
ftp_many.py judge FOLDER SERVER=PORT...     tells of each server and way, on a line, and of TFTP, whether it held: what client.pcap
                                            and server.pcap say that arrived"""
import collections
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from packet import arrived  # noqa: E402 pylint: disable=wrong-import-position
from rig import marked_files  # noqa: E402 pylint: disable=wrong-import-position
from rig.marked_files import COUNT, passes  # noqa: E402 pylint: disable=wrong-import-position

WAYS = {"epsv": "", "pasv": "disable-epsv", "eprt": 'ftp-port = "-"', "port": 'ftp-port = "-"\ndisable-eprt',
        "rest": "", "put": "", "put-eprt": 'ftp-port = "-"'}
FROM = 1000
TFTP, TFTP_DATA = "tftp", 3
CLIENT, SERVER = "10.77.0.1", "10.77.0.2"  # of tools/lab.sh


def make(folder, *servers):
    for place in [f"{server}-{way}" for server in servers for way in WAYS] + [TFTP]:
        marked_files.make(os.path.join(folder, "pub", place), marked_files.twenty())


def config(folder, server, at, way):
    place = f"{server}-{way}"
    for i, name in enumerate(marked_files.twenty()):
        print("next" if i else "")
        print(f'noproxy = "*"\nmax-time = 20\nsilent\n{WAYS[way]}')
        if way.startswith("put"):
            print(f'url = "ftp://{at}/in/{place}-{name}"\nupload-file = "{folder}/pub/{place}/{name}"')
        else:
            print(f'url = "ftp://{at}/{place}/{name}"\noutput = "{folder}/got/{place}-{name}"')
        if way == "rest":
            print(f'range = "{FROM}-"')


class Judge:
    """Of each server and way: what its data connections brought, and what became of its control connections."""

    def __init__(self, folder, servers):
        self.folder, self.servers = folder, servers
        self.ports = {int(server.partition("=")[2]) for server in servers}
        self.client, self.server = (arrived.halves(os.path.join(folder, f"{side}.pcap")) for side in ("client", "server"))
        self.brought = self.data_of(self.client) + self.data_of(self.server)

    def is_control(self, ends):
        return ends[1] in self.ports or ends[3] in self.ports

    def data_of(self, halves):
        """What arrived on that side in data connections."""
        ours = CLIENT if halves is self.client else SERVER
        return [half for half in halves.values() if half.ends[2] == ours and half.parts and not self.is_control(half.ends)]

    def files(self, place, way):
        """{name: what is to arrive}"""
        return {name: octets[FROM if way == "rest" else 0:]
                for name, octets in marked_files.read_all(os.path.join(self.folder, "pub", place)).items()}

    def sessions(self, place, name):
        """The control connections in which the command named that file, as its client sent it."""
        word = f"{place}-{name}\r\n".encode()
        plain, folder = f" {name}\r\n".encode(), f"CWD {place}\r\n".encode()
        return [ends for ends, half in self.client.items() if ends[3] in self.ports and
                (word in half.octets or plain in half.octets and folder in half.octets)]

    def resets(self, ends):
        """How many arrived at the client, and at the server."""
        nothing = arrived.Half(ends)
        return self.client.get(arrived.back(ends), nothing).resets, self.server.get(ends, nothing).resets

    def data_resets(self):
        """How many data connections were reset at both ends."""
        return sum(all(self.resets(ends)) for ends in self.server if not self.is_control(ends) and ends[0] == CLIENT)

    def way(self, server, way):
        place = f"{server}-{way}"
        came = collections.Counter(half.octets for half in self.brought if half.end == len(half.octets))
        for name, octets in self.files(place, way).items():
            mark = marked_files.mark_of(octets) if way != "rest" else octets[-1000:]
            if passes(name) and came[octets] != 1:
                return f"{name} arrived whole {came[octets]} times"
            if not passes(name) and any(mark in half.everything or octets[:8] in half.everything for half in self.brought):
                return f"octets of {name} arrived"
            talks = self.sessions(place, name)
            if len(talks) != 1:
                return f"{len(talks)} sessions for {name}"
            client, server = self.resets(talks[0])
            if passes(name) and client:
                return f"the session of {name} was reset"
            if (name.startswith("setup") or way == "rest" and not passes(name)) and not (client and server):
                return f"the session of {name} was not reset at both ends"
        return None

    def strangers(self):
        """Data connections that brought anything but a file that passes."""
        fine = {octets for server in self.servers for way in WAYS
                for name, octets in self.files(f"{server.partition('=')[0]}-{way}", way).items() if passes(name)}
        return sum(half.octets not in fine or half.end != len(half.octets) for half in self.brought)

    def tftp(self):
        """{client's port: its blocks in order}"""
        blocks = collections.defaultdict(dict)
        for _, _, destination, port, payload in arrived.datagrams(os.path.join(self.folder, "client.pcap")):
            if destination == CLIENT and payload[:2] == struct.pack(">H", TFTP_DATA):
                blocks[port][struct.unpack_from(">H", payload, 2)[0]] = payload[4:]
        came = collections.Counter(b"".join(parts[number] for number in sorted(parts)) for parts in blocks.values())
        wanted = collections.Counter(octets for name, octets in self.files(TFTP, TFTP).items() if passes(name))
        return None if came == wanted else f"{sum((came & wanted).values())} came as they should, {sum((came - wanted).values())} others"

    def tell(self):
        for server in (server.partition("=")[0] for server in self.servers):
            for way in WAYS:
                print(server, way, self.way(server, way) or "held")
        print("tftp", "all", self.tftp() or "held")
        print("strangers", self.strangers())
        print("data-resets", self.data_resets())


if __name__ == "__main__":
    what, folder_, *more = sys.argv[1:]
    if what == "judge":
        Judge(folder_, more).tell()
    else:
        {"make": make, "config": config}[what](folder_, *more)
