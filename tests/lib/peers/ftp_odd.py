# SPDX-License-Identifier: BSD-3-Clause
"""An FTP server that says in its own way where its data connections are: ftp_odd.py ADDRESS PORT FILE NAMED

Of a client that retrieves the path FORM/WORD the answer to EPSV and PASV is that form of REPLIES, with NAMED for {named}.
It listens on all addresses of its machine. FILE is what it sends, whatever is asked for."""
import socket
import sys
import threading

REPLIES = {  # to EPSV, to PASV
    "named": ("500 No", "227 Entering Passive Mode ({named},{p1},{p2})"),
    "words": ("500 No", "227 Mode2 v1.0 ({own},{p1},{p2})"),
    "lines": ("500 No", "227-Look:\r\n227 {own},{p1},{p2}"),
    "first": ("500 No", "227-({own},{p1},{p2})\r\n227 ok"),
    "long": ("229 ok (|1|{dotted}|{port}|)", "227 ({own},{p1},{p2})"),
    "two": ("500 No", "227 ({own},{p1},{p2}) ({own},1,1)"),
}


class Session(threading.Thread):
    def __init__(self, control, octets, named):
        super().__init__(daemon=True)
        self.control, self.octets, self.named = control, octets, named
        self.form, self.listener = "named", None

    def say(self, line):
        self.control.sendall(line.encode() + b"\r\n")

    def listens(self, extended):
        self.listener = socket.create_server(("", 0), backlog=4)
        port = self.listener.getsockname()[1]
        own = self.control.getsockname()[0]
        self.say(REPLIES[self.form][not extended].format(
            own=own.replace(".", ","), dotted=own, named=self.named.replace(".", ","), port=port, p1=port >> 8, p2=port & 255))

    def sends(self):
        self.say("150 Here it comes")
        self.listener.settimeout(5)
        data, _ = self.listener.accept()
        data.sendall(self.octets)
        data.close()
        self.say("226 Done")

    def take(self, verb, rest):
        if verb in ("EPSV", "PASV"):
            self.listens(verb == "EPSV")
        elif verb == "RETR":
            self.sends()
        elif verb == "CWD":
            self.form = rest.strip("/") if rest.strip("/") in REPLIES else self.form
            self.say("250 ok")
        else:
            self.say({"USER": "331 password", "PASS": "230 in", "PWD": '257 "/"', "TYPE": "200 ok", "QUIT": "221 bye"}.get(verb, "500 No"))

    def run(self):
        try:
            self.say("220 Hello")
            for line in self.control.makefile("r", encoding="latin-1"):
                verb, _, rest = line.strip().partition(" ")
                self.take(verb.upper(), rest)
        except OSError:
            pass
        self.control.close()


def main():
    address, port, path, named = sys.argv[1:]
    with open(path, "rb") as source:
        octets = source.read()
    server = socket.create_server((address, int(port)), backlog=16)
    while True:
        Session(server.accept()[0], octets, named).start()


main()
