#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes corpus/offers/: conversations that announce other flows (fuzz_offers.c)."""
import os

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "offers")
FTP, IRC, TFTP, XMPP, MSN, GNUTELLA, EDONKEY = range(7)
UDP, V6 = 8, 16
TURN = b"\xff"
PUSH = b"g" * 16 + b"\x40\5\1\x1a\0\0\0" + b"0123456789abcdef" + b"\1\0\0\0\x0a\0\0\x63\xca\x18"


def main():
    seeds = {
        "ftp": (FTP, b"USER alice\r\nSIZE f\r\nEPSV\r\n" + TURN + b"213 77\r\n229 Ext (|||40001|)\r\n" + TURN +
                b"RETR f.iso\r\n" + TURN + b"150 Opening (1048576 bytes)\r\n226 Done\r\n"),
        "ftp-active": (FTP, b"PORT 10,0,0,7,4,1\r\nSTOR x\r\nEPRT |1|10.0.0.7|6275|\r\nLIST\r\n"),
        "ftp6": (FTP | V6, b"EPRT |2|2020:2020:2020:2020:2020:2020:0a00:0007|6275|\r\nRETR y\r\n"),
        "irc": (IRC, b"NICK bob\r\n" + TURN + b":s 001 bob_ :hi\r\n:al!a@h PRIVMSG bob :\1DCC SEND f 167772259 5000 9\1\r\n" +
                TURN + b'PRIVMSG al :\1DCC SEND "my f" 167772167 43614 77\1\r\n'),
        "irc6": (IRC, TURN + b":al!a@h PRIVMSG bob :\1DCC CHAT chat 2001:db8::9 5000\1\r\n:b!x@y NICK :c\r\n"),
        "tftp": (TFTP | UDP, b"\0\1file.bin\0octet\0blksize\x001428\0"),
        "xmpp-si": (XMPP, b"<iq><si id='s'><file name='a' size='7'/></si></iq><iq><query xmlns='http://jabber.org/protocol/"
                    b"bytestreams' sid='s'><streamhost host='10.0.0.7' port='8010'/></query></iq>" + TURN +
                    b"<iq from='a@b/c' to='d@e/f'><query xmlns='http://jabber.org/protocol/bytestreams' sid='s'>"
                    b"<streamhost host=\"2001:db8::9\" port=\"5000\"/>"),
        "xmpp-jingle": (XMPP, TURN + b"<iq from='a@b' to='c@d'><jingle action='session-initiate' sid='j'><file><name>f</name>"
                        b"<size>12</size></file><candidate host='10.0.0.99' port='5086'/></jingle></iq><proceed/>x"),
        "xmpp-long": (XMPP, b"<a b='" + b">" * 3000 + b"'/>text<streamhost host='10.0.0.7' port='8010'/>"),
        "msnftp": (MSN, b"USR 1 me@a.b\r\nMSG 1 N 9\r\n\r\nApplication-File: f\r\nApplication-FileSize: 9\r\nIP-Address: 10.0.0.7\r\n"
                   b"Port: 6891\r\n"),
        "msn-direct": (MSN, TURN + b"MSG a@b.c A 9\r\n\r\nContext: fgIAAAIAAAAVAAAAAAAAAAEAAABOAGUAdwAuAHQAeAB0AAAA\r\n"
                       b"IPv4Internal-Addrs: 10.0.0.99 10.1.1.1\r\nIPv4Internal-Port: 4321\r\n"
                       b"IPv4External-AddrsAndPorts: 10.0.0.98:5000 x:1\r\n"),
        "gnutella": (GNUTELLA, b"GNUTELLA CONNECT/0.6\r\nA: b\r\n\r\n" + TURN + b"GNUTELLA/0.6 200 OK\r\n\r\n" + PUSH +
                     b"h" * 16 + b"\x80\1\1\5\0\0\0hello" + PUSH),
        "gnutella-giv": (GNUTELLA, b"GIV 1:0123456789ABCDEF0123456789ABCDEF/song.mp3\n\n"),
        "gnutella-udp": (GNUTELLA | UDP, PUSH),
        "emule-tcp": (EDONKEY, b"\x99\1\2\3\4\xd7\x7d\xa4\xef\xc3\xfc\x54\x03\x4f\xdc"),
        "emule-udp": (EDONKEY | UDP, b"\x55\x37\x9a\x74\xde\xe6\x33\x4f\x5b\x5d\x36\x09\xc7\x45\x7a"),
        "emule-kad": (EDONKEY | UDP, b"\x54\x37\x9a\x2e\x84\xce\x41\x2f\x0f\x7b\xb4\x20\x48\xe5\x66\x6b\x94\x0e\xa6"),
    }
    os.makedirs(HERE, exist_ok=True)
    for name, (bits, payload) in seeds.items():
        with open(os.path.join(HERE, name), "wb") as out:
            out.write(bytes([bits, 40]) + payload)


main()
