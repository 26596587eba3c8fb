# SPDX-License-Identifier: BSD-3-Clause
"""Conversations that carry files and messages, for tests of the documents' recipes. Each is played as what(session, marks);
the mark of a direction is in what is sent last in it, so that it is missing where the connection was refused before."""
from packet.packets import Path, Session, addr

PEER = "203.0.113.9"
STREAM = (b"<?xml version='1.0'?><stream:stream to='chat.example' version='1.0' xmlns='jabber:client' "
          b"xmlns:stream='http://etherx.jabber.org/streams'>")


def program(s, marks):
    """Its name is refused at the answer."""
    s.say(0, b"GET /setup.exe HTTP/1.1\r\nHost: www.example.org\r\nX-Mark: none\r\n\r\n")
    s.say(1, b"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n" + marks[1].ljust(200)).say(0, marks[0])


def by_type(s, marks):
    """A program under another name."""
    s.say(0, b"GET /picture.png HTTP/1.1\r\nHost: www.example.org\r\n\r\n")
    s.say(1, b"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n" + b"\x7fELF\2\1\1".ljust(64, b"\0") + marks[1].ljust(136))
    s.say(0, marks[0])


def fetches(path, body=b"text ", more=b""):
    """A download, whose marks are in the answer and in the next request."""
    def talks(s, marks):
        s.say(0, b"GET " + path + b" HTTP/1.1\r\nHost: www.example.org\r\n" + more + b"\r\n")
        s.say(1, b"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n" + (body + marks[1]).ljust(200))
        s.say(0, b"GET /" + marks[0] + b" HTTP/1.1\r\nHost: www.example.org\r\n\r\n")
    return talks


def stores(path):
    """An upload, whose marks are in the body and in the next answer."""
    def talks(s, marks):
        s.say(0, b"PUT " + path + b" HTTP/1.1\r\nHost: www.example.org\r\nContent-Length: 200\r\n\r\n" + (b"text " + marks[0]).ljust(200))
        s.say(1, b"HTTP/1.1 201 " + marks[1] + b"\r\nContent-Length: 0\r\n\r\n")
    return talks


def ftp(name):
    """FTP: the marks are in the commands and replies behind the one that names the file."""
    def talks(s, marks):
        s.say(1, b"220 hi\r\n").say(0, b"USER a\r\n").say(1, b"331 pw\r\n").say(0, b"PASS b\r\n").say(1, b"230 ok\r\n")
        s.say(0, b"RETR " + name + b"\r\n").say(1, b"550 " + marks[1] + b"\r\n").say(0, b"CWD " + marks[0] + b"\r\n")
    return talks


def ftp_data(s, marks):
    """FTP whose data connection has the marks: a program under another name."""
    port = 20000 + s.ports[0] % 1000
    s.say(1, b"220 hi\r\n").say(0, b"USER a\r\n").say(1, b"331 pw\r\n").say(0, b"PASS b\r\n").say(1, b"230 ok\r\n").say(0, b"PASV\r\n")
    named = [*addr(s.path.hosts[1]), port >> 8, port & 255]
    s.say(1, b"227 Entering Passive Mode (" + b",".join(b"%d" % octet for octet in named) + b").\r\n")
    s.say(0, b"RETR readme\r\n").say(1, b"150 go\r\n")
    Session(s.path, s.ports[0] + 1000, port).open().say(1, b"\x7fELF\2\1\1".ljust(64, b"\0") + marks[1]).say(0, marks[0])


def tftp(name):
    """TFTP: a request over UDP, and the answer from another port."""
    def talks(path, cport, marks):
        path.datagram(0, cport, 69, b"\0\1" + marks[0] + name + b"\0octet\0")
        path.datagram(1, cport, 50069, b"\0\3\0\1" + marks[1])
    talks.datagrams = True
    return talks


def irc_session(s):
    s.say(0, b"NICK heron\r\nUSER heron 0 * :A Bird\r\n")
    s.say(1, b":irc.example.net 001 heron :Welcome to the Example network heron!heron@client.example.org\r\n")


def chat(text):
    """IRC, whose marks stand in two messages of that text."""
    def talks(s, marks):
        s.say(0, b"NICK heron\r\nUSER heron 0 * :A Bird\r\n")
        s.say(1, b":irc.example.net 001 heron :Welcome to the Example network heron!heron@client.example.org\r\n")
        s.say(0, b"PRIVMSG #lake :" + text + marks[0] + b"\r\n").say(1, b":wren!w@h PRIVMSG #lake :" + text + marks[1] + b"\r\n")
    return talks


def dcc_send(name):
    """IRC, in which a file is offered before the marks."""
    def talks(s, marks):
        irc_session(s)
        s.say(1, b":wren!w@h PRIVMSG heron :\1DCC SEND " + name + b" 3405803781 5000 900\1\r\n")
        s.say(0, b"JOIN #" + marks[0] + b"\r\n").say(1, b":irc.example.net 332 heron #lake :" + marks[1] + b"\r\n")
    return talks


def dcc_chat(text):
    """Two clients of IRC that agree to chat directly, and do: the marks are behind the text."""
    def talks(s, marks):
        client, port = s.path.hosts[0], s.ports[0] - 20000
        irc_session(s)
        s.say(0, b"PRIVMSG wren :\1DCC CHAT chat %d %d\1\r\n" % (int.from_bytes(addr(client), "big"), port))
        turned = Path(s.path.cap, PEER, client, lambda direction, *more: s.path.wrap(1 - direction, *more))
        chats = Session(turned, s.ports[0] + 5000, port).open()
        chats.say(0, text + marks[1] + b"\n").say(1, text + marks[0] + b"\n")
    return talks


def xmpp(*stanzas):
    """XMPP: (direction, stanza) in turn; what follows them has the marks. A stanza may have %s for the mark of its direction."""
    def talks(s, marks):
        s.say(0, STREAM).say(1, STREAM)
        for direction, octets in stanzas:
            s.say(direction, octets)
        s.say(0, b"<presence id='" + marks[0] + b"'/>").say(1, b"<presence id='" + marks[1] + b"'/>")
    return talks


def xmpp_offer(name):
    return xmpp((0, b"<iq type='set' to='b@chat.example'><si xmlns='http://jabber.org/protocol/si' id='1' "
                    b"profile='http://jabber.org/protocol/si/profile/file-transfer'><file name='" + name + b"' size='9'/></si></iq>"))


def room(inside):
    """A message to a room, as its writer sends it, and as the others get it."""
    return ((0, b"<message to='" + inside + b"@rooms.example' type='groupchat'><body>bluebird of " + inside + b", out</body></message>"),
            (1, b"<message from='" + inside + b"@rooms.example/crane' to='heron@chat.example' type='groupchat'>"
                b"<body>bluebird of " + inside + b", in</body></message>"))


def torrent(info_hash):
    def talks(s, marks):
        head = b"\x13BitTorrent protocol" + bytes(8) + info_hash
        s.say(0, head + b"-SL0100-" + marks[0].ljust(12)).say(1, head + b"-SL0100-" + marks[1].ljust(12))
    return talks
