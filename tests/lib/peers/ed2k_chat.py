#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""ed2k_chat.py listen|connect ADDRESS PORT NICK TEXT...: a client of eDonkey that says hello, then TEXT after TEXT, each when
the other's text has come, and shows what it hears. Ends with 1 unless it hears as many texts as it says."""
import os
import socket
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from content import ed2k  # noqa: E402 pylint: disable=wrong-import-position


def exactly(stream, n):
    octets = stream.read(n)
    if len(octets) < n:
        raise SystemExit("the connection ended")
    return octets


def hear(stream):
    """(opcode, payload) of the next frame."""
    _, length, opcode = struct.unpack("<BIB", exactly(stream, 6))
    return opcode, exactly(stream, length - 1)


def main():
    how, address, port, nick, texts = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4].encode(), sys.argv[5:]
    if how == "listen":
        with socket.create_server((address, port)) as server:
            connection, _ = server.accept()
    else:
        connection = socket.create_connection((address, port), timeout=10)
    connection.settimeout(10)
    with connection, connection.makefile("rb") as stream:
        connection.sendall(ed2k.hello(nick) if how == "connect" else b"")
        hear(stream)
        if how == "listen":
            connection.sendall(ed2k.hello_answer(nick))
        for text in texts:
            if how == "listen":
                print(hear(stream)[1][2:].decode(errors="replace"), flush=True)
            connection.sendall(ed2k.chat(text.encode()))
            if how == "connect":
                print(hear(stream)[1][2:].decode(errors="replace"), flush=True)


main()
