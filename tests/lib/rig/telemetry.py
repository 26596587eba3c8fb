#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's telemetry socket: telemetry.py SOCKET COMMAND... prints each reply as a line of JSON."""
import json
import socket
import sys


class Telemetry:
    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.settimeout(10)
        self.sock.connect(path)
        self.hello = json.loads(self.sock.recv(1024))

    def ask(self, command):
        self.sock.send(command.encode())
        text = self.sock.recv(self.hello["max_output_len"])
        return json.loads(text)[command.split(",")[0]]


if __name__ == "__main__":
    TELEMETRY = Telemetry(sys.argv[1])
    for COMMAND in sys.argv[2:]:
        print(json.dumps(TELEMETRY.ask(COMMAND)))
