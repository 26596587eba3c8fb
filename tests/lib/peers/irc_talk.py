#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A client of IRC that talks with another one in #c, in turns, and tells what it got.

irc_talk.py SERVER NICK PEER N EVERY: says N lines "NICK I words", each EVERY-th of them with the word "secret" in it and each
other EVERY-th with "hidden". It goes on when the peer is as far, so that neither falls behind, and prints as JSON the
numbers of the peer's lines that came, in order, with their texts where a word was blanked, and how often it was disconnected."""
import json
import select
import socket
import sys
import time

# Lines that are said before those of the peer are waited for: what the server has to send then is less than a segment, so
# that no line is cut in two (of which the first half would have left).
AHEAD = 4
PATIENCE_S = 60


class Client:
    def __init__(self, server, nick, peer):
        self.nick, self.peer, self.rest, self.got, self.joined, self.over = nick, peer, b"", [], set(), 0
        self.sock = socket.create_connection((server, 6667), 20)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.say(f"NICK {nick}", f"USER {nick} 0 * :{nick}")

    def say(self, *lines):
        for line in lines:
            self.sock.sendall(line.encode() + b"\r\n")

    def take(self, line):
        words = line.split(" ", 3)
        if words[0] == "PING":
            self.say("PONG " + line[5:])
        elif len(words) > 1 and words[1] == "001":
            self.say("JOIN #c")
        elif len(words) > 1 and words[1] == "JOIN":
            self.joined.add(words[0][1:].split("!")[0])
        elif len(words) > 1 and words[1] == "353":
            self.joined.update(line.rsplit(":", 1)[1].replace("@", "").split())
        elif len(words) == 4 and words[1] == "PRIVMSG" and words[0].startswith(f":{self.peer}!"):
            self.got.append(words[3][1:])

    def listen(self, seconds):
        """False: nothing came."""
        if not select.select([self.sock], [], [], seconds)[0]:
            return False
        octets = self.sock.recv(65536)
        if not octets:
            self.over += 1
            raise ConnectionError("closed")
        *lines, self.rest = (self.rest + octets).split(b"\n")
        for line in lines:
            self.take(line.rstrip(b"\r").decode(errors="replace"))
        return True

    def until(self, holds):
        end = time.monotonic() + PATIENCE_S
        while not holds() and time.monotonic() < end:
            self.listen(0.2)
        return holds()

    def far(self):
        """The number of the peer's newest line."""
        numbers = [int(words[1]) for words in map(str.split, self.got) if len(words) > 1 and words[1].isdigit()]
        return numbers[-1] if numbers else -1


def main():
    server, nick, peer, n, every = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
    client, said = Client(server, nick, peer), 0
    try:
        client.until(lambda: {nick, peer} <= client.joined)
        for i in range(n):
            word = "secret" if i % every == 1 else "hidden" if i % every == 3 else "words"
            client.say(f"PRIVMSG #c :{nick} {i} {word} end")
            said += 1
            if i % AHEAD == 0 and not client.until(lambda at=i: client.far() >= at - AHEAD):
                break
        client.until(lambda: client.far() >= n - 1)
        client.listen(1)
    except OSError as error:
        print(error, file=sys.stderr)
    print(json.dumps({"said": said, "got": client.got, "over": client.over}))


main()
