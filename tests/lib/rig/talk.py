# SPDX-License-Identifier: BSD-3-Clause
"""Captures of IRC that are replayed under rules, for tests of chat: what was said, and what left."""
import json
import os

from packet import packets
from rig import golden

RST = 4
ANNA, SERVER = "10.0.0.2", "192.0.2.67"
LOGIN = [(0, b"NICK anna\r\nUSER anna 0 * :Anna\r\n"),
         (1, b":irc.example 001 anna :Welcome anna!a@h\r\n:irc.example 376 anna :End of MOTD\r\n")]
JOIN = [(0, b"JOIN #c\r\n"), (1, b":anna!a@h JOIN #c\r\n")]


class Talk:
    """A capture of TCP connections: begin() one, say() in any of them, then run()."""

    def __init__(self, folder):
        self.folder, self.cap, self.replayed, self.port = folder, packets.Capture(), None, 40000

    def begin(self, client=ANNA, server=SERVER, ports=(40001, 6667), piece=1460):
        return packets.Session(packets.Path(self.cap, client, server), *ports, mss=piece).open()

    def session(self, piece=1460):
        """Another client of the server, logged in."""
        self.port += 1
        session = self.begin(piece=piece, ports=(self.port, 6667))
        for direction, octets in LOGIN + JOIN:
            session.say(direction, octets)
        return session

    def irc(self, said, piece=1460):
        """The same, and what is said then; its port."""
        session = self.session(piece)
        for direction, octets in said:
            session.say(direction, octets)
        return self.port

    def run(self, *options, **document):
        path, policy = (os.path.join(self.folder, name) for name in ("in.pcap", "policy.json"))
        with open(path, "wb") as out:
            out.write(self.cap.octets())
        with open(policy, "w", encoding="utf-8") as out:
            json.dump({"schema_version": 1, "default": "pass", **document}, out)
        self.replayed = golden.Run(self.folder, [path], policy, *options)
        return self

    def left(self, direction=0, port=40001):
        """The octets that left of one half of a connection, by the client's port."""
        parts = {}
        for _, octets, _ in self.replayed.packets():
            tcp = golden.Tcp.of(octets)
            if not tcp or (tcp.dport if direction else tcp.sport) != port:
                continue
            at = golden.network_of(octets)[3]
            at += (octets[at + 12] >> 4) * 4
            if tcp.length and not tcp.flags & RST:
                parts[tcp.seq] = octets[at:at + tcp.length]
        first = 0xFFFFF000 if direction else 1000
        return b"".join(parts[seq] for seq in sorted(parts, key=lambda seq: (seq - first) & 0xFFFFFFFF))

    def resets(self, port=40001):
        return sum(1 for _, octets, _ in self.replayed.packets()
                   if (tcp := golden.Tcp.of(octets)) and tcp.flags & RST and port in (tcp.sport, tcp.dport))

    def told(self, kind):
        return [event[kind] for event in self.replayed.events() if event["event_type"] == kind]
