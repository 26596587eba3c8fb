# SPDX-License-Identifier: BSD-3-Clause
"""How each protocol carries what people write: a row of FORMS for each kind of message that rules of chat are held against
(tests/golden/keywords_chat.test). A row is a class: how a session begins, how a message is sent, and what of it is blanked."""
import html
import struct
import zlib

STREAM = (b"<?xml version='1.0'?><stream:stream to='chat.example' version='1.0' xmlns='jabber:client' "
          b"xmlns:stream='http://etherx.jabber.org/streams'>")


class Form:
    """A row. `begins`: (direction, octets) of a login; in `directions` messages are sent."""
    name, port, begins, directions = "", 0, (), (0, 1)
    blank = b" "
    greets = 0          # messages in the login
    unfit = ""          # characters that no message has
    codec = "utf-8"
    # A frame is read when it is whole: of one that is cut the keyword may leave, but never the end, without which nobody shows it.
    told_whole = False

    def raw(self, text):
        """The octets of a text, as they are sent."""
        return text.encode(self.codec)

    def frame(self, direction, raw):
        """What stands before and behind these octets."""
        raise NotImplementedError

    def dropped(self, direction, raw):
        """(from, to) in a message that is sent: what `drop-message` blanks. The text, if a length counts it."""
        head = len(self.frame(direction, raw)[0])
        return head, head + len(raw)

    def sent(self, direction, text):
        head, tail = self.frame(direction, self.raw(text))
        return head + self.raw(text) + tail

    def is_verbatim(self, text):
        """Its octets are those of the text in UTF-8: places in one are places in the other."""
        return self.raw(text) == text.encode()

    def after_drop(self, direction, text):
        octets = bytearray(self.sent(direction, text))
        begin, end = self.dropped(direction, self.raw(text))
        octets[begin:end] = self.blank * (end - begin)
        return bytes(octets)

    def after_mask(self, direction, text, masked):
        """`masked`: the text's octets with the places of keywords blanked."""
        head, tail = self.frame(direction, self.raw(text))
        return head + (masked if self.is_verbatim(text) and self.blank == b" " else self.blank * len(self.raw(text))) + tail


class Irc(Form):
    name, port = "irc", 6667
    begins = ((0, b"NICK anna\r\nUSER anna 0 * :Anna\r\n"),
              (1, b":irc.example 001 anna :Welcome anna!a@h\r\n:irc.example 376 anna :End of MOTD\r\n"))

    def frame(self, direction, raw):
        return (b":bob!b@h PRIVMSG anna :" if direction else b"PRIVMSG bob :"), b"\r\n"

    def dropped(self, direction, raw):
        return 0, len(self.frame(direction, raw)[0]) + len(raw)


class IrcTopic(Irc):
    name, directions = "irc topic", (0,)
    begins = Irc.begins + ((0, b"JOIN #c\r\n"), (1, b":anna!a@h JOIN #c\r\n"))

    def frame(self, direction, raw):
        return b"TOPIC #c :", b"\r\n"


class Xmpp(Form):
    name, port = "xmpp", 5222
    begins = ((0, STREAM), (1, STREAM))

    def raw(self, text):
        return html.escape(text, quote=False).encode()

    def frame(self, direction, raw):
        ends = (b"from='bob@x/y' to='anna@x'" if direction else b"to='bob@x/y'")
        return b"<message type='chat' " + ends + b"><body>", b"</body></message>"

    def dropped(self, direction, raw):
        head, tail = self.frame(direction, raw)
        return 0, len(head) + len(raw) + len(tail)


class XmppRoom(Xmpp):
    name = "xmpp room"

    def frame(self, direction, raw):
        ends = (b"from='lake@rooms.x/bob' to='anna@x/y'" if direction else b"to='lake@rooms.x'")
        return b"<message type='groupchat' " + ends + b"><body>", b"</body></message>"


class XmppCarbon(Xmpp):
    name, directions = "xmpp carbon", (1,)

    def frame(self, direction, raw):
        return (b"<message from='anna@x' to='anna@x/y'><sent xmlns='urn:xmpp:carbons:2'><forwarded xmlns='urn:xmpp:forward:0'>"
                b"<message to='bob@x' from='anna@x/z'><body>", b"</body></message></forwarded></sent></message>")


class Msn(Form):
    name, port = "msn", 1863
    begins = ((0, b"USR 1 anna@a.example 12345.67890.111\r\n"), (1, b"USR 1 OK anna@a.example Anna\r\n"),
              (0, b"CAL 2 bob@b.example\r\n"), (1, b"CAL 2 RINGING 12345\r\nJOI bob@b.example Bob 1073741824\r\n"))

    def frame(self, direction, raw):
        head = b"MIME-Version: 1.0\r\nContent-Type: text/plain; charset=UTF-8\r\n\r\n"
        size = len(head) + len(raw)
        return (b"MSG bob@b.example Bob %d\r\n" % size if direction else b"MSG 3 N %d\r\n" % size) + head, b""


class Oscar(Form):
    name, port, unfit, told_whole = "oscar", 5190, "<>&", True
    begins = ((0, b"*\1\0\0\0\4\0\0\0\1"), (1, b"*\1\0\0\0\4\0\0\0\1"))

    def raw(self, text):
        return text.encode() if text.isascii() else text.encode("utf-16-be")

    def frame(self, direction, raw):
        charset = 0 if raw.isascii() and 0 not in raw else 2
        fragment = struct.pack(">BBHHH", 1, 1, 4 + len(raw), charset, 0)
        body = b"cookie..\0\1\3bob" + (bytes(4) if direction else b"") + struct.pack(">HH", 2, len(fragment) + len(raw)) + fragment
        size = 10 + len(body) + len(raw)
        return struct.pack(">BBHHHHHI", 0x2A, 2, 1, size, 4, 7 if direction else 6, 0, 1) + body, b""


class Yahoo(Form):
    name, port, unfit, told_whole, greets = "yahoo", 5050, "<>&", True, 1

    @property
    def begins(self):
        return ((0, self.sent(0, "0")),)

    def frame(self, direction, raw):
        pairs = ((b"5", b"anna"), (b"4", b"bob")) if direction else ((b"1", b"anna"), (b"5", b"bob"))
        body = b"".join(b"%s\xc0\x80%s\xc0\x80" % pair for pair in pairs) + b"14\xc0\x80"
        return struct.pack(">4sHHHHII", b"YMSG", 16, 0, len(body) + len(raw) + 2, 6, 1, 7) + body, b"\xc0\x80"


class Edonkey(Form):
    name, port = "edonkey", 4662

    @staticmethod
    def packet(kind, body):
        return b"\xe3" + struct.pack("<IB", 1 + len(body), kind) + body

    @staticmethod
    def hello(seed, first):
        """Hash, id, port, tags (name and version), server."""
        tags = struct.pack("<I", 2) + b"\x02\x01\0\x01\x04\0wren" + b"\x03\x01\0\x11" + struct.pack("<I", 0x3C)
        return first + bytes((seed * i + 5) & 0xFF for i in range(16)) + struct.pack("<IH", 0x0100007F, 4662) + tags + struct.pack("<IH", 0, 0)

    @property
    def begins(self):
        return (0, self.packet(1, self.hello(3, b"\x10"))), (1, self.packet(0x4C, self.hello(7, b"")))

    def frame(self, direction, raw):
        return b"\xe3" + struct.pack("<IBH", 3 + len(raw), 0x4E, len(raw)), b""


class EdonkeyServer(Edonkey):
    name, port, directions = "edonkey server", 4661, (1,)

    @property
    def begins(self):
        return (0, self.packet(1, self.hello(3, b""))), (1, self.packet(0x40, struct.pack("<I", 0x0100007F)))

    def frame(self, direction, raw):
        return b"\xe3" + struct.pack("<IBH", 3 + len(raw), 0x38, len(raw)), b""


class Nmdc(Form):
    name, port, unfit = "nmdc", 411, "|$&"
    begins = ((1, b"$Lock EXTENDEDPROTOCOLABCABCABCABCABCABC Pk=DCPLUSPLUS0.674|$HubName lab|"), (0, b"$Key x|$ValidateNick anna|"),
              (1, b"$Hello anna|"), (0, b"$Version 1,0091|$MyINFO $ALL anna <++ V:0.674>$ $DSL\1$$0$|"))

    def frame(self, direction, raw):
        return (b"<bob> " if direction else b"<anna> "), b"|"

    def dropped(self, direction, raw):
        return 0, len(self.frame(direction, raw)[0]) + len(raw)


class NmdcPrivate(Nmdc):
    name = "nmdc, to one"

    def frame(self, direction, raw):
        return (b"$To: anna From: bob $<bob> " if direction else b"$To: bob From: anna $<anna> "), b"|"


class Adc(Form):
    name, port, unfit, blank = "adc", 2780, "\\", b"\n"
    begins = ((0, b"HSUP ADBASE ADTIGR\n"), (1, b"ISUP ADBASE ADTIGR\nISID AAAX\n"),
              (0, b"BINF AAAX IDLWPNACQDBZRYXW3VHJVCJ64QBZNGHOHHHZWCLNQ PDLWPNACQDBZRYXW3VHJVCJ64QBZNGHOHHHZWCLNQ NIanna I40.0.0.0\n"),
              (1, b"IINF NIhub CT32\nBINF AAAB NIbob\n"))

    def raw(self, text):
        return text.replace("\\", "\\\\").replace(" ", "\\s").replace("\n", "\\n").encode()

    def frame(self, direction, raw):
        return (b"BMSG AAAB " if direction else b"BMSG AAAX "), b"\n"

    def dropped(self, direction, raw):
        return 0, len(self.frame(direction, raw)[0]) + len(raw)


FORMS = (Irc(), IrcTopic(), Xmpp(), XmppRoom(), XmppCarbon(), Msn(), Oscar(), Yahoo(), Edonkey(), EdonkeyServer(), Nmdc(), NmdcPrivate(), Adc())


def teamspeak(direction, number, text):
    """A datagram of TeamSpeak 2 with a text: to a channel, or from the server. No row, as it is no stream."""
    body = (struct.pack("<IBB", 0x030201, 1, 3) + b"bob".ljust(29, b"x") if direction else struct.pack("<IBI", 0x030201, 1, 7)) + text + b"\0"
    head = struct.pack("<HHIIIHH", 0xBEF0, 0x82 if direction else 0x1AE, 0x1234, 0x5678, number + 1, 0, 0)
    return head + struct.pack("<I", zlib.crc32(head + bytes(4) + body)) + body
