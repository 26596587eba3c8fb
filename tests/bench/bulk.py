#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""One bulk transfer over TCP, for tools/bench fastpass.

  bulk.py send ADDRESS PORT CONGESTION MBIT bytes|seconds N    waits for one client, prints JSON at the end
  bulk.py receive ADDRESS PORT bytes|seconds N CAP        prints JSON at the end

The sender's figures are its kernel's own (TCP_INFO), taken when all that it sent is acknowledged: each
loss has been made good by then. The receiver has the clock: from before its SYN to the last byte, or
how much came in N seconds. After CAP seconds it ends the transfer whatever came."""
import json
import socket
import struct
import sys
import time

SO_MAX_PACING_RATE = 47  # TCP paces by itself, without a queueing discipline
NOTSENT_LOWAT = 25  # TCP_NOTSENT_LOWAT: what waits in the sender must not outlive the measurement
DRAIN_S = 8
BLOCK = bytes(range(256)) * 1024
SLICE = BLOCK[:16384]  # by the clock: a slow path must not be given much at once
U32, U64 = "<I", "<Q"
INFO = {  # offsets in struct tcp_info, linux/tcp.h
    "rtt_us": (U32, 68),
    "cwnd": (U32, 80),
    "retrans": (U32, 100),
    "segs_out": (U32, 136),
    "min_rtt_us": (U32, 148),
    "bytes_sent": (U64, 200),
    "bytes_retrans": (U64, 208),
    "dsacks": (U32, 216),
}


def tcp_info(connection):
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 512)
    return {name: struct.unpack_from(kind, raw, at)[0] for name, (kind, at) in INFO.items()}


def send(address, port, congestion, mbit, unit, amount):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
    listener.bind((address, int(port)))
    listener.listen(1)
    print("ready", flush=True)
    connection = listener.accept()[0]
    connection.setsockopt(socket.IPPROTO_TCP, NOTSENT_LOWAT, 65536)
    if float(mbit):
        connection.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, int(float(mbit) * 125000))
    info = {}
    try:
        if unit == "bytes":
            for at in range(0, int(amount), len(BLOCK)):
                connection.sendall(BLOCK[: int(amount) - at])
        else:
            send_until(connection, time.monotonic() + float(amount))
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(DRAIN_S)
        connection.recv(1)  # the receiver has all
        info = tcp_info(connection)
        info["drained"] = True
    except (ConnectionError, TimeoutError):
        info = tcp_info(connection)
        info["drained"] = False
    chosen = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    info["congestion"] = chosen.rstrip(b"\0").decode()
    print(json.dumps(info), flush=True)


def send_until(connection, end):
    """Whole slices while there is time; a path that stands still does not keep us longer."""
    while (left := end - time.monotonic()) > 0:
        connection.settimeout(left)
        try:
            connection.sendall(SLICE)
        except TimeoutError:
            return


def receive(address, port, unit, amount, cap):
    wanted = int(amount) if unit == "bytes" else None
    buffer = bytearray(1 << 20)
    began = time.monotonic()
    end = began + (float(amount) if wanted is None else float(cap))
    last = end if wanted is not None else end + DRAIN_S + 5  # the sender gives up first
    connection = socket.create_connection((address, int(port)), timeout=float(cap))
    received, at, given_up = 0, began, False
    while True:
        now = time.monotonic()
        if now >= last:
            given_up = True
            break
        connection.settimeout(max(last - now, 0.01))
        try:
            n = connection.recv_into(buffer)
        except TimeoutError:
            continue
        except ConnectionError:
            break
        now = time.monotonic()
        if not n:
            break
        if wanted is None and now > end:  # past the measurement: only so that the sender ends in order
            continue
        received, at = received + n, now
    if given_up:  # or megabytes more would come
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    capped = wanted is not None and received < wanted
    seconds = float(amount) if wanted is None else float(cap) if capped else at - began
    print(json.dumps({"bytes": received, "seconds": seconds, "capped": capped}), flush=True)


if __name__ == "__main__":
    {"send": send, "receive": receive}[sys.argv[1]](*sys.argv[2:])
