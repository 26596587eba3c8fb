# SPDX-License-Identifier: BSD-3-Clause
"""What hosts say when they transfer a file, or write to each other, over each protocol of docs/table2.md: by the protocols' descriptions, written
apart from the decoders. file(talk, name, body) and chat(talk, text) play one such conversation each."""
import base64
import hashlib
import struct
import zlib

from content import chat_forms
from packet import gencaps
from packet.packets import Path, Session

INSIDE, OUTSIDE, SERVER = "10.0.0.2", "203.0.113.9", "192.0.2.80"


def le(form, *values):
    return struct.pack("<" + form, *values)


def be(form, *values):
    return struct.pack(">" + form, *values)


def chunks(body, size):
    return [(at, body[at:at + size]) for at in range(0, len(body), size)]


def md4(octets):
    """RFC 1320."""
    mask = 0xFFFFFFFF
    state = [0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476]
    rounds = (((3, 7, 11, 19), 0, range(16), lambda x, y, z: x & y | ~x & z),
              ((3, 5, 9, 13), 0x5A827999, [i // 4 + i % 4 * 4 for i in range(16)], lambda x, y, z: x & y | x & z | y & z),
              ((3, 9, 11, 15), 0x6ED9EBA1, (0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15), lambda x, y, z: x ^ y ^ z))
    padded = octets + b"\x80" + bytes((55 - len(octets)) % 64) + le("Q", 8 * len(octets))
    for _, block in chunks(padded, 64):
        words = struct.unpack("<16I", block)
        a, b, c, d = state
        for shifts, plus, order, mix in rounds:
            for i, word in enumerate(order):
                total = (a + mix(b, c, d) + words[word] + plus) & mask
                turned = total << shifts[i % 4] | total >> 32 - shifts[i % 4]
                a, b, c, d = d, turned & mask, b, c
        state = [(old + new) & mask for old, new in zip(state, (a, b, c, d))]
    return le("4I", *state)


def tcp(talk, server=OUTSIDE, service=80, client=INSIDE):
    talk.port += 1
    return Session(Path(talk.cap, client, server), talk.port, service).open()


def asked_for(talk, session, octets, then):
    """What is answered before the next comes: who reads it has it when the gateway has let go of its newest segment."""
    session.say(1, octets, answer=False)
    talk.cap.wait(0.3)
    session.say(0, then)


def says(talk, said, service, close=False):
    session = tcp(talk, service=service)
    for direction, octets in said:
        session.say(direction, octets)
    return session.close() if close else session


# ---- the paper's ----

def fasttrack_file(talk, name, body):
    says(talk, [(0, b"GET /48937/" + name + b" HTTP/1.1\r\nHost: 203.0.113.9:1214\r\nUserAgent: KazaaClient Nov  3 2002 20:29:03\r\n"
                    b"X-Kazaa-Username: heron\r\nX-Kazaa-Network: KaZaA\r\nX-Kazaa-IP: 10.0.0.2:1214\r\nConnection: close\r\n\r\n"),
                (1, b"HTTP/1.1 200 OK\r\nServer: KazaaClient Nov  3 2002 20:29:03\r\nConnection: close\r\nX-Kazaa-Username: crane\r\n"
                    b"X-Kazaa-Network: KaZaA\r\nX-Kazaa-IP: 203.0.113.9:1214\r\nContent-Length: %d\r\n\r\n" % len(body) + body)], 1214)


def ed2k(opcode, payload, kind=0xE3):
    return le("BIB", kind, 1 + len(payload), opcode) + payload


def ed2k_hello(opcode, user):
    tags = le("I", 2) + b"\x02\x01\0\1" + le("H", 5) + b"heron" + b"\x03\x01\0\x11" + le("I", 60)
    lead = b"\x10" if opcode == 1 else b""
    return ed2k(opcode, lead + user + bytes([10, 0, 0, 2]) + le("H", 4662) + tags + bytes(6))


def ed2k_begin(talk):
    users = [bytes([i]) * 5 + b"\x0e" + bytes([i]) * 8 + b"\x6f" + bytes([i]) for i in (1, 2)]
    return tcp(talk, service=4662).say(0, ed2k_hello(0x01, users[0])).say(1, ed2k_hello(0x4C, users[1]))


def edonkey_file(talk, name, body):
    file = md4(body)
    session = ed2k_begin(talk).say(0, ed2k(0x58, file)).say(1, ed2k(0x59, file + le("H", len(name)) + name))
    session.say(0, ed2k(0x4F, file)).say(1, ed2k(0x50, file + le("H", 0)))
    session.say(0, ed2k(0x54, file)).say(1, ed2k(0x55, b""))
    session.say(0, ed2k(0x47, file + le("IIIIII", 0, 0, 0, len(body), 0, 0)))
    for at, part in chunks(body, 10240):
        session.say(1, ed2k(0x46, file + le("II", at, at + len(part)) + part))
    session.say(0, ed2k(0x49, file))


def edonkey_chat(talk, text):
    ed2k_begin(talk).say(0, ed2k(0x4E, le("H", len(text)) + text))


def bencode(value):
    if isinstance(value, int):
        return b"i%de" % value
    if isinstance(value, bytes):
        return b"%d:" % len(value) + value
    if isinstance(value, list):
        return b"l" + b"".join(map(bencode, value)) + b"e"
    return b"d" + b"".join(bencode(k) + bencode(v) for k, v in sorted(value.items())) + b"e"


def bittorrent_file(talk, name, body):
    size = 16384
    info = bencode({b"name": name, b"length": len(body), b"piece length": size,
                    b"pieces": b"".join(hashlib.sha1(piece).digest() for _, piece in chunks(body, size))})
    digest = hashlib.sha1(info).digest()

    def message(kind, payload=b""):
        return be("IB", 1 + len(payload), kind) + payload

    def hello(peer):
        return b"\x13BitTorrent protocol\0\0\0\0\0\x10\0\0" + digest + b"-TR3000-" + peer * 12

    extended = {b"m": {b"ut_metadata": 3}, b"metadata_size": len(info), b"v": b"Transmission 3.00"}
    session = tcp(talk, service=6881).say(0, hello(b"a")).say(1, hello(b"b"))
    session.say(0, message(20, b"\0" + bencode(extended))).say(1, message(20, b"\0" + bencode(extended)))
    session.say(0, message(20, b"\3" + bencode({b"msg_type": 0, b"piece": 0})))
    session.say(1, message(20, b"\3" + bencode({b"msg_type": 1, b"piece": 0, b"total_size": len(info)}) + info))
    session.say(1, message(5, b"\xff" * ((len(body) + size * 8 - 1) // (size * 8)))).say(0, message(2)).say(1, message(1))
    for at, piece in chunks(body, size):
        session.say(0, message(6, be("III", at // size, 0, len(piece))))
        asked_for(talk, session, message(7, be("II", at // size, 0) + piece), message(4, be("I", at // size)))


def gnutella_file(talk, name, body):
    says(talk, [(0, b"GET /get/7/" + name + b" HTTP/1.1\r\nHost: 203.0.113.9:6346\r\nUser-Agent: LimeWire/4.18.8\r\nX-Queue: 0.1\r\n"
                    b"X-Gnutella-Content-URN: urn:sha1:" + base64.b32encode(hashlib.sha1(body).digest()) + b"\r\nRange: bytes=0-\r\n\r\n"),
                (1, b"HTTP/1.1 200 OK\r\nServer: LimeWire/4.18.8\r\nContent-Type: application/binary\r\n"
                    b"X-Gnutella-Content-URN: urn:sha1:" + base64.b32encode(hashlib.sha1(body).digest()) + b"\r\n"
                    b"Content-Length: %d\r\n\r\n" % len(body) + body)], 6346)


def msn_begin(talk):
    return tcp(talk, SERVER, 1863).say(0, b"USR 1 anna@example.org 17262740.1050826919.32307\r\n").say(
        1, b"USR 1 OK anna@example.org Anna\r\n").say(0, b"CAL 2 bert@example.org\r\n").say(
        1, b"CAL 2 RINGING 11752013\r\nJOI bert@example.org Bert 1073741824\r\n")


def msn_said(trid, kind, text, more=b""):
    body = b"MIME-Version: 1.0\r\nContent-Type: " + kind + b"; charset=UTF-8\r\n" + more + b"\r\n" + text
    return (b"MSG %d N %d\r\n" % (trid, len(body)) if trid else b"MSG bert@example.org Bert %d\r\n" % len(body)) + body


def msn_chat(talk, text):
    msn_begin(talk).say(0, msn_said(3, b"text/plain", text, b"X-MMS-IM-Format: FN=MS%20Sans%20Serif; EF=; CO=0; CS=0; PF=0\r\n"))


def msn_file(talk, name, body):
    session = msn_begin(talk)
    session.say(1, msn_said(0, b"text/x-msmsgsinvite", b"Application-Name: File Transfer\r\nApplication-GUID: {5D3E02AB-6190-11d3-BBBB-00C04F795683}\r\n"
                            b"Invitation-Command: INVITE\r\nInvitation-Cookie: 33267\r\nApplication-File: " + name +
                            b"\r\nApplication-FileSize: %d\r\nConnectivity: N\r\n\r\n" % len(body)))
    session.say(0, msn_said(4, b"text/x-msmsgsinvite", b"Invitation-Command: ACCEPT\r\nInvitation-Cookie: 33267\r\nLaunch-Application: FALSE\r\n"
                            b"Request-Data: IP-Address:\r\n\r\n"))
    session.say(1, msn_said(0, b"text/x-msmsgsinvite", b"Invitation-Command: ACCEPT\r\nInvitation-Cookie: 33267\r\nIP-Address: 203.0.113.9\r\n"
                            b"Port: 6891\r\nAuthCookie: 93301\r\nLaunch-Application: FALSE\r\nRequest-Data: IP-Address:\r\n\r\n"))
    file = tcp(talk, service=6891).say(0, b"VER MSNFTP\r\n").say(1, b"VER MSNFTP\r\n").say(0, b"USR anna@example.org 93301\r\n")
    file.say(1, b"FIL %d\r\n" % len(body)).say(0, b"TFR\r\n")
    for _, part in chunks(body, 2045):
        file.say(1, b"\0" + le("H", len(part)) + part)
    file.say(1, b"\1\0\0").say(0, b"BYE 16777989\r\n")


def skype_begin(talk):
    """A first probe, and the answer that its checksum was wrong (Biondi and Desclaux, 2006)."""
    path = Path(talk.cap, INSIDE, OUTSIDE)
    talk.port += 1
    path.datagram(0, talk.port, 33033, b"\x12\x34\2" + gencaps.noise(20, 5))
    path.datagram(1, talk.port, 33033, b"\x12\x34\7" + bytes([198, 51, 100, 2]) + gencaps.noise(4, 6))


# ---- others ----

def directconnect_begin(talk):
    return tcp(talk, service=1412).say(0, b"$MyNick heron|$Lock EXTENDEDPROTOCOLABCABCABCABCABCABC Pk=DCPLUSPLUS0.777|").say(
        1, b"$MyNick crane|$Lock EXTENDEDPROTOCOLABCABCABCABCABCABC Pk=DCPLUSPLUS0.777|").say(
        1, b"$Supports MiniSlots XmlBZList ADCGet TTHL TTHF |$Direction Upload 999|$Key abcdef|").say(
        0, b"$Supports MiniSlots XmlBZList ADCGet TTHL TTHF |$Direction Download 1000|$Key abcdef|")


def directconnect_file(talk, name, body):
    session = directconnect_begin(talk).say(0, b"$ADCGET file share/" + name + b" 0 -1|")
    session.say(1, b"$ADCSND file share/" + name + b" 0 %d|" % len(body) + body)


def directconnect_chat(talk, text):
    tcp(talk, SERVER, 411).say(1, b"$Lock EXTENDEDPROTOCOLABCABCABCABCABCABC Pk=YnHub|").say(
        0, b"$Supports NoGetINFO NoHello UserIP2 |$Key abcdef|$ValidateNick heron|").say(1, b"$HubName Lake|$Hello heron|").say(
        0, b"$Version 1,0091|$GetNickList|$MyINFO $ALL heron <++ V:0.777,M:A,H:1/0/0,S:3>$ $0.005\x01$$1234$|").say(0, b"<heron> " + text + b"|")


def slsk_text(octets):
    return le("I", len(octets)) + octets


def slsk(code, payload):
    return le("II", 4 + len(payload), code) + payload


def soulseek_file(talk, name, body):
    peer = slsk_text(b"heron") + slsk_text(b"P") + le("I", 0)
    session = tcp(talk, service=2234).say(0, le("IB", 1 + len(peer), 1) + peer)
    session.say(1, slsk(40, le("II", 1, 77) + slsk_text(b"@@music\\" + name) + le("Q", len(body)))).say(0, slsk(41, le("IB", 77, 1)))
    peer = slsk_text(b"crane") + slsk_text(b"F") + le("I", 0)
    talk.port += 1
    # who sends connects
    file = Session(Path(talk.cap, OUTSIDE, INSIDE), talk.port, 2234).open().say(0, le("IB", 1 + len(peer), 1) + peer)
    file.say(0, le("I", 77)).say(1, le("Q", 0)).say(0, body).close()


def soulseek_chat(talk, text):
    login = slsk_text(b"heron") + slsk_text(b"secret") + le("I", 160) + slsk_text(b"0" * 32) + le("I", 1)
    tcp(talk, SERVER, 2242).say(0, slsk(1, login)).say(1, slsk(1, b"\1" + slsk_text(b"hello") + bytes([2, 0, 0, 10]) + slsk_text(b"0" * 32) + b"\0")).say(
        0, slsk(13, slsk_text(b"lake") + slsk_text(text)))


def irc_begin(talk):
    return tcp(talk, SERVER, 6667).say(0, b"NICK anna\r\nUSER anna 0 * :Anna\r\n").say(
        1, b":irc.example 001 anna :Welcome anna!a@h\r\n:irc.example 376 anna :End of MOTD\r\n").say(0, b"JOIN #c\r\n").say(
        1, b":anna!a@h JOIN #c\r\n")


def irc_chat(talk, text):
    irc_begin(talk).say(0, b"PRIVMSG #c :" + text + b"\r\n")


def irc_file(talk, name, body):
    irc_begin(talk).say(1, b":bert!b@h PRIVMSG anna :\x01DCC SEND " + name + b" %d 5000 %d\x01\r\n" % (
        int.from_bytes(bytes([203, 0, 113, 9]), "big"), len(body)))
    tcp(talk, service=5000).say(1, body).say(0, be("I", len(body))).close()


STREAM = b"<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' version='1.0' "


def xmpp_begin(talk):
    return tcp(talk, SERVER, 5222).say(0, b"<?xml version='1.0'?>" + STREAM + b"to='example.org'>").say(
        1, b"<?xml version='1.0'?>" + STREAM + b"from='example.org' id='1'><stream:features/>")


def xmpp_chat(talk, text):
    xmpp_begin(talk).say(0, b"<message from='anna@example.org/a' to='bert@example.org' type='chat'><body>" + text + b"</body></message>")


def xmpp_file(talk, name, body):
    session = xmpp_begin(talk)
    ends = b"from='bert@example.org/b' to='anna@example.org/a'"
    session.say(1, b"<iq " + ends + b" type='set' id='o1'><si xmlns='http://jabber.org/protocol/si' id='s1' "
                b"profile='http://jabber.org/protocol/si/profile/file-transfer'><file xmlns='http://jabber.org/protocol/si/profile/file-transfer' "
                b"name='" + name + b"' size='%d'/><feature xmlns='http://jabber.org/protocol/feature-neg'><x xmlns='jabber:x:data' type='form'>"
                b"<field var='stream-method' type='list-single'><option><value>http://jabber.org/protocol/ibb</value></option></field></x></feature>"
                b"</si></iq>" % len(body))
    session.say(0, b"<iq to='bert@example.org/b' type='result' id='o1'><si xmlns='http://jabber.org/protocol/si'>"
                b"<feature xmlns='http://jabber.org/protocol/feature-neg'><x xmlns='jabber:x:data' type='submit'><field var='stream-method'>"
                b"<value>http://jabber.org/protocol/ibb</value></field></x></feature></si></iq>")
    session.say(1, b"<iq " + ends + b" type='set' id='i1'><open xmlns='http://jabber.org/protocol/ibb' block-size='4096' sid='s1' stanza='iq'/></iq>")
    session.say(0, b"<iq to='bert@example.org/b' type='result' id='i1'/>")
    for at, part in chunks(body, 4096):
        asked_for(talk, session, b"<iq " + ends + b" type='set' id='d%d'><data xmlns='http://jabber.org/protocol/ibb' seq='%d' sid='s1'>" % (
            at, at // 4096) + base64.b64encode(part) + b"</data></iq>", b"<iq to='bert@example.org/b' type='result' id='d%d'/>" % at)
    session.say(1, b"<iq " + ends + b" type='set' id='c1'><close xmlns='http://jabber.org/protocol/ibb' sid='s1'/></iq>")


def ymsg(service, session, *pairs):
    payload = b"".join(key + b"\xc0\x80" + value + b"\xc0\x80" for key, value in pairs)
    return b"YMSG" + be("HHHHII", 16, 0, len(payload), service, 0, session) + payload


def yahoo_begin(talk):
    return tcp(talk, SERVER, 5050).say(0, ymsg(0x57, 0, (b"1", b"anna"))).say(1, ymsg(0x57, 9, (b"1", b"anna"), (b"94", b"abc"), (b"13", b"2")))


def yahoo_chat(talk, text):
    yahoo_begin(talk).say(0, ymsg(0x06, 9, (b"1", b"anna"), (b"5", b"bert"), (b"97", b"1"), (b"14", text)))


def flap(channel, number, payload):
    return b"*" + be("BHH", channel, number, len(payload)) + payload


def tlv(kind, value):
    return be("HH", kind, len(value)) + value


def snac(family, subtype, payload):
    return be("HHHI", family, subtype, 0, 1) + payload


def oscar_begin(talk):
    return tcp(talk, SERVER, 5190).say(1, flap(1, 1, be("I", 1))).say(0, flap(1, 1, be("I", 1) + tlv(6, b"c" * 256)))


def oscar_chat(talk, text):
    block = tlv(0x0501, b"\1") + tlv(0x0101, be("HH", 0, 0) + text)
    oscar_begin(talk).say(0, flap(2, 2, snac(4, 6, b"cookie12" + be("H", 1) + b"\4bert" + tlv(2, block) + tlv(6, b""))))


FILE_TRANSFER = bytes.fromhex("094613434c7f11d18222444553540000")


def oscar_file(talk, name, body):
    service = be("HHHI", 1, 1, 1, len(body)) + name + b"\0"
    rendezvous = be("H", 0) + b"cookie99" + FILE_TRANSFER + tlv(10, be("H", 1)) + tlv(3, bytes([203, 0, 113, 9])) + tlv(
        5, be("H", 5191)) + tlv(15, b"") + tlv(0x2711, service)
    session = oscar_begin(talk)
    session.say(1, flap(2, 2, snac(4, 7, b"cookie99" + be("H", 2) + b"\4bert" + be("HH", 0, 0) + tlv(5, rendezvous))))
    accept = be("H", 2) + b"cookie99" + FILE_TRANSFER
    session.say(0, flap(2, 3, snac(4, 6, b"cookie99" + be("H", 2) + b"\4bert" + tlv(5, accept))))

    def oft(kind, received=0):
        fixed = be("HHHHHIIIIIII", 0, 0, 1, 1, 1, 1, len(body), len(body), 0, 0, 0, 0) + be("IIII", 0xFFFF0000, 0, 0xFFFF0000, received)
        fixed = (fixed + bytes(200))[:68]
        head = be("H", kind) + b"cookie99" + be("HHHHHH", 0, 0, 1, 1, 1, 1) + be("IIIIII", len(body), len(body), 0, 0xFFFF0000, 0xFFFF0000, 0)
        head += be("IIII", 0, 0xFFFF0000, received, 0xFFFF0000) + b"Cool FileXfer".ljust(32, b"\0") + bytes([0x20, 0x1C, 0x11]) + bytes(69 + 16)
        head += be("HH", 0, 0) + name.ljust(64, b"\0")
        return b"OFT2" + be("H", 6 + len(head)) + head
    file = tcp(talk, service=5191).say(1, oft(0x0101)).say(0, oft(0x0202)).say(1, body).say(0, oft(0x0204, len(body)))
    file.close()


def teamspeak_chat(talk, text):
    """Both ends are heard before it."""
    path = Path(talk.cap, INSIDE, SERVER)
    talk.port += 1
    for number, (direction, what) in enumerate(((0, b"hello"), (1, b"hello"), (0, text))):
        path.datagram(direction, talk.port, 8767, chat_forms.teamspeak(direction, number, what))


# ---- servers ----

def http_file(talk, name, body):
    says(talk, [(0, b"GET /" + name + b" HTTP/1.1\r\nHost: www.example.org\r\n\r\n"),
                (1, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)], 80)


def ftp_file(talk, name, body):
    session = tcp(talk, service=21)
    for question, answer in ((b"", b"220 hi"), (b"USER a", b"331 pw"), (b"PASS b", b"230 ok"), (b"TYPE I", b"200 ok"), (b"EPSV", b"229 ok (|||20001|)")):
        if question:
            session.say(0, question + b"\r\n")
        session.say(1, answer + b"\r\n")
    session.say(0, b"RETR " + name + b"\r\n")
    file = tcp(talk, service=20001)
    session.say(1, b"150 go\r\n")
    file.say(1, body).close()
    session.say(1, b"226 done\r\n")


def tftp_file(talk, name, body):
    path = Path(talk.cap, INSIDE, SERVER)
    talk.port += 1
    path.datagram(0, talk.port, 69, b"\0\1" + name + b"\0octet\0")
    for at, part in chunks(body + (b"" if len(body) % 512 else b""), 512):
        path.datagram(1, talk.port, 3000, be("HH", 3, at // 512 + 1) + part)
        path.datagram(0, talk.port, 3000, be("HH", 4, at // 512 + 1))


def mail(name, body, text=b"see the file"):
    encoded = b"".join(line + b"\r\n" for _, line in chunks(base64.b64encode(body), 76))
    return (b"From: Anna <anna@example.org>\r\nTo: bert@example.org\r\nSubject: a file\r\nMIME-Version: 1.0\r\n"
            b"Content-Type: multipart/mixed; boundary=\"lake\"\r\n\r\n--lake\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n" + text +
            b"\r\n--lake\r\nContent-Type: application/octet-stream; name=\"" + name + b"\"\r\nContent-Transfer-Encoding: base64\r\n"
            b"Content-Disposition: attachment; filename=\"" + name + b"\"\r\n\r\n" + encoded + b"--lake--\r\n")


def letter(text):
    return (b"From: Anna <anna@example.org>\r\nTo: bert@example.org\r\nSubject: a letter\r\nMIME-Version: 1.0\r\n"
            b"Content-Type: text/plain; charset=utf-8\r\n\r\n" + text + b"\r\n")


def smtp(talk, octets):
    session = tcp(talk, service=25).say(1, b"220 mail.example ESMTP Postfix\r\n")
    for question, answer in ((b"EHLO host.example", b"250-mail.example\r\n250 PIPELINING"), (b"MAIL FROM:<anna@example.org>", b"250 ok"),
                             (b"RCPT TO:<bert@example.org>", b"250 ok"), (b"DATA", b"354 go")):
        session.say(0, question + b"\r\n").say(1, answer + b"\r\n")
    session.say(0, octets + b".\r\n").say(1, b"250 queued\r\n").say(0, b"QUIT\r\n").say(1, b"221 bye\r\n")


def pop3(talk, octets):
    session = tcp(talk, service=110).say(1, b"+OK POP3 ready\r\n")
    for question, answer in ((b"USER bert", b"+OK"), (b"PASS secret", b"+OK"), (b"STAT", b"+OK 1 %d" % len(octets))):
        session.say(0, question + b"\r\n").say(1, answer + b"\r\n")
    session.say(0, b"RETR 1\r\n").say(1, b"+OK %d octets\r\n" % len(octets) + octets + b".\r\n").say(0, b"QUIT\r\n").say(1, b"+OK bye\r\n")


def imap(talk, octets):
    session = tcp(talk, service=143).say(1, b"* OK [CAPABILITY IMAP4rev1] ready\r\n").say(0, b"a LOGIN bert secret\r\n").say(1, b"a OK in\r\n")
    session.say(0, b"b SELECT INBOX\r\n").say(1, b"* 1 EXISTS\r\n* FLAGS (\\Seen)\r\nb OK [READ-WRITE] done\r\n")
    session.say(0, b"c FETCH 1 BODY[]\r\n").say(1, b"* 1 FETCH (BODY[] {%d}\r\n" % len(octets) + octets + b")\r\nc OK done\r\n")


def nntp(talk, octets):
    session = tcp(talk, service=119).say(1, b"200 news.example InterNetNews server INN 2.7 ready\r\n").say(0, b"MODE READER\r\n").say(
        1, b"200 news.example InterNetNews NNRP server ready\r\n").say(0, b"GROUP alt.test\r\n").say(1, b"211 1 1 1 alt.test\r\n")
    session.say(0, b"ARTICLE 1\r\n").say(1, b"220 1 <1@example.org> article\r\n" + octets + b".\r\n").say(0, b"QUIT\r\n").say(1, b"205 bye\r\n")


def carried(carrier):
    return (lambda talk, name, body: carrier(talk, mail(name, body))), (lambda talk, text: carrier(talk, letter(text)))


def nntp_file(talk, name, body):
    octets = b"".join(b"=" + bytes([(byte + 106) % 256]) if (byte + 42) % 256 in (0, 10, 13, 61) else bytes([(byte + 42) % 256]) for byte in body)
    lines = b"".join((b"." if line[:1] == b"." else b"") + line + b"\r\n" for line in cut_yenc(octets))
    nntp(talk, b"From: anna@example.org\r\nNewsgroups: alt.test\r\nSubject: a file yEnc (1/1)\r\nMessage-ID: <1@example.org>\r\n\r\n"
         b"=ybegin line=128 size=%d name=" % len(body) + name + b"\r\n" + lines +
         b"=yend size=%d crc32=%08x\r\n" % (len(body), zlib.crc32(body)))


def cut_yenc(octets):
    """Lines of 128, none of which ends in the escape alone."""
    while octets:
        n = 129 if octets[127:128] == b"=" else 128
        yield octets[:n]
        octets = octets[n:]


def smb2(command, message, payload, response=False, tree=1, session=1):
    head = b"\xfeSMB" + le("HHIHHIIQIIQ", 64, 1, 0, command, 1, 1 if response else 0, 0, message, 0xFEFF, tree, session) + bytes(16)
    return be("I", len(head) + len(payload)) + head + payload


def smb_file(talk, name, body):
    text = name.decode().encode("utf-16le")
    ident = b"\1" + bytes(7) + b"\2" + bytes(7)
    session = tcp(talk, service=445)
    session.say(0, smb2(0, 0, le("HHHHI", 36, 2, 1, 0, 0) + bytes(16) + bytes(8) + le("HH", 0x0202, 0x0210), tree=0, session=0))
    session.say(1, smb2(0, 0, le("HHHH", 65, 1, 0x0210, 0) + bytes(16) + le("IIII", 0, 1 << 20, 1 << 20, 1 << 20) + bytes(16) + le("HHI", 128, 0, 0),
                        True, 0, 0))
    session.say(0, smb2(1, 1, le("HBBIIHHQ", 25, 0, 1, 0, 0, 88, 4, 0) + b"NTLM", tree=0, session=0))
    session.say(1, smb2(1, 1, le("HHHH", 9, 1, 72, 0), True, 0))
    share = "\\\\files\\share".encode("utf-16le")
    session.say(0, smb2(3, 2, le("HHHH", 9, 0, 72, len(share)) + share, tree=0))
    session.say(1, smb2(3, 2, le("HBBIII", 16, 1, 0, 0, 0, 0x1F01FF), True))
    session.say(0, smb2(5, 3, le("HBBIQQIIIIIHHII", 57, 0, 0, 2, 0, 0, 0x120089, 0x80, 7, 1, 0x40, 120, len(text), 0, 0) + text))
    session.say(1, smb2(5, 3, le("HBBI", 89, 0, 0, 1) + bytes(32) + le("QQII", (len(body) + 4095) & ~4095, len(body), 0x20, 0) + ident + le("II", 0, 0), True))
    for i, (at, part) in enumerate(chunks(body, 65536)):
        session.say(0, smb2(8, 4 + i, le("HBBIQ", 49, 0x50, 0, len(part), at) + ident + le("IIIHH", 0, 0, 0, 0, 0) + b"\0"))
        session.say(1, smb2(8, 4 + i, le("HBBIII", 17, 80, 0, len(part), 0, 0) + part, True))
    last = 4 + (len(body) + 65535) // 65536
    session.say(0, smb2(6, last, le("HHI", 24, 0, 0) + ident)).say(1, smb2(6, last, le("HHI", 60, 0, 0) + bytes(48), True))


def xdr(octets):
    return be("I", len(octets)) + octets + bytes(-len(octets) % 4)


def rpc(payload):
    return be("I", 0x80000000 | len(payload)) + payload


def nfs_call(xid, procedure, arguments):
    return rpc(be("IIIIII", xid, 0, 2, 100003, 3, procedure) + be("II", 1, 20) + be("I", 0) + xdr(b"") + be("III", 0, 0, 0) + be("II", 0, 0) + arguments)


def nfs_reply(xid, results):
    return rpc(be("IIIIII", xid, 1, 0, 0, 0, 0) + results)


def nfs_file(talk, name, body):
    folder, handle = b"folder-handle-01", b"file-handle-0002"
    attributes = be("I", 1) + be("IIIII", 1, 0o100644, 1, 0, 0) + be("QQ", len(body), len(body)) + be("IIQQ", 0, 0, 1, 2) + bytes(24)
    session = tcp(talk, service=2049)
    session.say(0, nfs_call(1, 3, xdr(folder) + xdr(name))).say(1, nfs_reply(1, be("I", 0) + xdr(handle) + attributes + be("I", 0)))
    for i, (at, part) in enumerate(chunks(body, 32768)):
        session.say(0, nfs_call(2 + i, 6, xdr(handle) + be("QI", at, 32768)))
        session.say(1, nfs_reply(2 + i, be("I", 0) + attributes + be("II", len(part), at + len(part) == len(body)) + xdr(part)))


smtp_file, smtp_chat = carried(smtp)
pop3_file, pop3_chat = carried(pop3)
imap_file, imap_chat = carried(imap)
nntp_chat = carried(nntp)[1]
