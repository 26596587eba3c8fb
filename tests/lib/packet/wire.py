#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whether a capture has what it must, and nothing of what it must not (packet/arrived.py: a text that is cut over packets is found, too).

wire.py octets CAPTURE to|from ADDRESS [has|has-hex|none|none-hex TEXT]... all that goes there, or comes from there, over TCP and UDP: each TEXT
        after `has` stands in it, none after `none`; after the word `fold` case does not matter. It holds only with a `has` that holds
wire.py answers CLIENT SERVER PATH [CODING]   the requests for PATH that the captures of both sides have, and asked for CODING: of each the
        server sent a response with a body, of which not an octet arrived, coded or not, and the client was reset"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from packet import arrived  # noqa: E402 pylint: disable=wrong-import-position


def runs(half):
    """Its octets, from hole to hole."""
    found, end = [], None
    for at, payload in sorted(half.parts, key=lambda part: part[0]):
        if end is None or at > end:
            found.append(bytearray())
            end = at
        found[-1] += payload[end - at:]
        end = max(end, at + len(payload))
    return found


def streams(path, way, address):
    """Of each half: its octets, and each segment as it came; of datagrams those of the same ends."""
    at = 2 if way == "to" else 0
    found = [run for half in arrived.halves(path).values() if half.ends[at] == address for run in (*runs(half), half.everything)]
    datagrams = {}
    for *ends, payload in arrived.datagrams(path):
        if ends[at] == address:
            datagrams.setdefault(tuple(ends), []).append(payload)
    found += [payload for payloads in datagrams.values() for payload in payloads]
    # a file of TFTP is cut into blocks, each behind a head of four octets
    return found + [b"".join(payload[4:] for payload in payloads) for payloads in datagrams.values()]


def octets(path, way, address, *wanted):
    found, controls, fold, faults = streams(path, way, address), 0, False, []
    words = iter(wanted)
    for verb in words:
        if verb == "fold":
            fold = True
            continue
        verb, _, form = verb.partition("-")
        text = bytes.fromhex(next(words)) if form == "hex" else next(words).encode()
        where = [one.lower() for one in found] if fold else found
        seen = any((text.lower() if fold else text) in one for one in where)
        controls += verb == "has"
        if seen != (verb == "has"):
            name = text.hex() if form == "hex" else repr(text.decode())
            faults.append(f"{name} is {'' if seen else 'not '}there")
    if not controls:
        faults.append("nothing that must be there was named")
    return faults


def answers(client, server, path, coding=""):
    client, server = arrived.halves(client), arrived.halves(server)
    asked = [ends for ends, half in client.items() if re.match(rb"GET /" + re.escape(path.encode()) + rb" HTTP/1", half.octets) and
             re.search(rb"\r\nAccept-Encoding: " + coding.encode() + rb"\r" if coding else b"", half.octets)]
    faults = [] if asked else [f"nobody asked for {path}"]
    for ends in asked:
        back = arrived.back(ends)
        sent, got = (side.get(back, arrived.Half(back)) for side in (server, client))
        head, _, body = sent.octets.partition(b"\r\n\r\n")
        if not body or coding and b"content-encoding: " + coding.encode() not in head.lower():
            faults.append(f"the server sent {len(body)} octets of {path}")
        begin = len(head) + 4
        if got.end > begin or not head.startswith(got.octets[:len(head)]):
            faults.append(f"{got.end - begin} octets of {path} arrived")
        if not got.resets:
            faults.append(f"who asked for {path} was not reset")
    return faults


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    told = {"octets": octets, "answers": answers}[what](*arguments)
    print(*told, sep="\n")
    sys.exit(bool(told))
