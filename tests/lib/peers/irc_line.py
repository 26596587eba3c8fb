#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The least of IRC, for the quickstart: a server that welcomes whoever comes and prints what is said, and who says it.

irc_line.py listen ADDRESS:PORT          prints each line that a client sends, as it came
irc_line.py say ADDRESS:PORT TEXT...     logs in, says each TEXT in #lab, and waits for the answer to a last PING: prints
                                         "alive" if the connection lived to its end
"""
import socket
import sys
import time


def lines(connection):
    rest = b""
    while True:
        octets = connection.recv(65536)
        if not octets:
            return
        *whole, rest = (rest + octets).split(b"\n")
        for line in whole:
            yield line.rstrip(b"\r").decode(errors="replace")


def serve(connection):
    nick = "?"
    for line in lines(connection):
        print(line, flush=True)
        word, _, more = line.partition(" ")
        if word == "NICK":
            nick = more
        elif word == "USER":
            connection.sendall(f":irc.lab 001 {nick} :Welcome to the lab, {nick}\r\n".encode())
        elif word == "PING":
            connection.sendall(f":irc.lab PONG irc.lab {more}\r\n".encode())


def listen(address):
    server = socket.create_server(address)
    while True:
        connection, _ = server.accept()
        with connection:
            try:
                serve(connection)
            except OSError as error:
                print(f"ended: {error}", flush=True)


def say(address, texts):
    with socket.create_connection(address, 10) as connection:
        connection.settimeout(10)
        heard = lines(connection)
        connection.sendall(b"NICK anna\r\nUSER anna 0 * :Anna\r\n")
        next(heard)
        for text in texts:
            connection.sendall(f"PRIVMSG #lab :{text}\r\n".encode())
            time.sleep(0.1)  # a line is a packet
        connection.sendall(b"PING :end\r\n")
        next(heard)
        print("alive", flush=True)


def main():
    host, port = sys.argv[2].rsplit(":", 1)
    if sys.argv[1] == "listen":
        listen((host, int(port)))
    else:
        say((host, int(port)), sys.argv[3:])


main()
