#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""watchdog_ear.py SOCKET: hears what a service tells its manager, and prints "SECONDS" for each time that
it feeds its watchdog (monotonic clock), until it is killed."""
import socket
import sys
import time

with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
    ear.bind(sys.argv[1])
    while True:
        if b"WATCHDOG=1" in ear.recv(4096).split(b"\n"):
            print(f"{time.monotonic():.3f}", flush=True)
