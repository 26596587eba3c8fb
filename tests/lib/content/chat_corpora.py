# SPDX-License-Identifier: BSD-3-Clause
"""What people write in the labelled captures, read a second time and as simply as can be: halves are put in order by their numbers,
and a function for each protocol takes the texts out of them. Shares nothing with the gateway."""
import collections
import glob
import html
import os
import re
import struct
import subprocess
import tempfile

from rig import golden

IRC_TRAILING = re.compile(rb"^(?:@\S+ +)?(?::\S+ +)?(PRIVMSG|NOTICE|TOPIC|332|301|AWAY|PART|QUIT|KICK) ?(.*)$", re.I | re.S)
COLOURS = re.compile(rb"\x03(\d{1,2}(,\d{1,2})?)?|\x04[0-9A-Fa-f]{0,6}|[\x02\x0f\x11\x16\x1d\x1e\x1f]")


def irc(octets):
    """The last parameter of what is said, without colours; CTCP without its marks, but what is no text (ACTION is)."""
    for line in re.split(rb"[\r\n]+", octets):
        match = IRC_TRAILING.match(line)
        if not match:
            continue
        command, rest = match[1].upper(), match[2]
        last = rest[1:] if rest.startswith(b":") else rest.split(b" :", 1)[1] if b" :" in rest else None
        if last is None and command in (b"PRIVMSG", b"NOTICE", b"TOPIC", b"QUIT"):
            last = rest.split(b" ")[-1]
        if last and not re.fullmatch(rb"\x01(?!ACTION).*\x01", last):
            yield COLOURS.sub(b"", last)


def xmpp(octets):
    for body in re.findall(rb"<message\b.*?</message>", octets, re.S):
        texts = [html.unescape(re.sub("<[^>]*>", "", text.decode(errors="replace")))
                 for text in re.findall(rb"<(?:body|subject)\b[^>/]*>(.*?)</(?:body|subject)>", body, re.S)]
        if any(texts):
            yield "\n".join(filter(None, texts)).encode()


def msn(octets):
    at = 0
    for match in re.finditer(rb"(?:^|(?<=\n)|(?<=.))MSG [^\r\n]* (\d+)\r\n", octets):
        if match.start() < at:
            continue
        payload = octets[match.end():match.end() + int(match[1])]
        at = match.end() + len(payload)
        head, _, body = payload.partition(b"\r\n\r\n")
        if re.search(rb"content-type: *text/plain", head, re.I) and body:
            yield body


def yahoo(octets):
    """Field 14 of messages."""
    at = 0
    while octets[at:at + 4] == b"YMSG" and len(octets) >= at + 20:
        length, service = struct.unpack(">HH", octets[at + 8:at + 12])
        fields = octets[at + 20:at + 20 + length].split(b"\xc0\x80")
        if service in (6, 0x17, 0x18, 0x20, 0xA8):
            yield from (value for key, value in zip(fields[::2], fields[1::2]) if key in (b"14", b"117") and value)
        at += 20 + length


def edonkey(octets):
    at = 0
    while octets[at:at + 1] in (b"\xe3", b"\xc5") and len(octets) >= at + 6:
        length, kind = struct.unpack("<IB", octets[at + 1:at + 6])
        if octets[at] == 0xE3 and kind in (0x38, 0x4E):
            yield octets[at + 8:at + 5 + length]
        at += 5 + length


READERS = {"irc": irc, "xmpp": xmpp, "msn": msn, "yahoo": yahoo, "edonkey": edonkey}


def halves(path):
    """{(source, port, destination, port): [octets without a hole]}, put in order by their numbers alone."""
    with open(path, "rb") as file:
        head = file.read(24)
    if head[:4] not in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        with tempfile.NamedTemporaryFile(suffix=".pcap") as classic:
            subprocess.run(["editcap", "-F", "nsecpcap", path, classic.name], check=True)
            return halves(classic.name)
    linktype, found = struct.unpack_from("<I", head, 20)[0], collections.defaultdict(list)
    for _, octets, _ in golden.records(path):
        tcp = golden.Tcp.of(octets, linktype)
        if tcp and tcp.length:
            at = golden.network_of(octets, linktype)[3]
            at += (octets[at + 12] >> 4) * 4
            found[tcp.key].append((tcp.seq, octets[at:at + tcp.length]))
    return {key: list(joined(segments)) for key, segments in found.items()}


def joined(segments):
    first, run, end = segments[0][0], b"", None
    for offset, octets in sorted((((seq - first + 0x80000000) & 0xFFFFFFFF) - 0x80000000, octets) for seq, octets in segments):
        if end is None or offset > end:
            if run:
                yield run
            run, end = b"", offset
        run += octets[end - offset:]
        end = max(end, offset + len(octets))
    yield run


def texts(corpora):
    """{capture: [octets of a text]} of the folders that somebody reads here."""
    found = collections.defaultdict(list)
    for folder, reader in READERS.items():
        for path in sorted(glob.glob(os.path.join(corpora, "dev", folder, "*.pcap*"))):
            runs = halves(path)
            chats = {int(port) for parts in runs.values() for octets in parts for port in re.findall(rb"DCC CHAT \S+ \d+ (\d+)\x01", octets)}
            for key, parts in runs.items():
                for octets in parts:
                    if chats & {key[1], key[3]}:  # lines between two clients
                        found[path] += filter(None, re.split(rb"[\r\n]+", octets))
                    else:
                        found[path] += reader(octets)
    return found
