# SPDX-License-Identifier: BSD-3-Clause
"""Other programs that measure the same, in the same run and environment: sockperf, qperf, iperf3. Each function gives a
number, or raises Absent with the reason that stands in the row."""
import contextlib
import itertools
import json
import re
import shutil
import signal
import statistics
import subprocess
import time

PORTS = itertools.count(5201)  # each server another one: a connection of the last may linger at its port
QPERF_PORT = 19765
SOCKPERF_LEAST = 14  # octets of its own header


class Absent(Exception):
    """Why a peer has no figure."""


def need(name):
    if not shutil.which(name):
        raise Absent(f"{name} is not installed")


@contextlib.contextmanager
def server(environment, port, *command):
    """A peer's server at its side; it is asked to end, then made to."""
    prefix = environment.prefix_of("server")
    with subprocess.Popen([*prefix, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        try:
            listening(environment, port, child)
            yield child
        finally:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(3)
            except subprocess.TimeoutExpired:
                child.kill()


def listening(environment, port, child):
    """Until somebody has a socket at the port."""
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline and child.poll() is None:
        done = subprocess.run([*environment.prefix_of("server"), "ss", "-Htuln"], capture_output=True, text=True, check=False)
        if re.search(rf":{port}\s", done.stdout):
            return
        time.sleep(0.02)
    raise Absent("its server does not start")


def output(environment, *command, seconds):
    try:
        done = subprocess.run(
            [*environment.prefix_of("client"), *command], capture_output=True, text=True, timeout=seconds + 15, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Absent(f"{command[0]} hangs") from error
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()[-1]
        raise Absent(f"{command[0]} ended with {done.returncode}: {last}")
    return done.stdout


def sockperf(environment, transport, size, seconds):
    """Median of half a round trip, microseconds."""
    need("sockperf")
    if size < SOCKPERF_LEAST:
        raise Absent(f"sockperf's least message has {SOCKPERF_LEAST} octets")
    port = next(PORTS)
    where = ["-i", environment.address, "-p", str(port), *(["--tcp"] if transport == "tcp" else [])]
    with server(environment, port, "sockperf", "server", *where):
        text = output(environment, "sockperf", "ping-pong", *where, "-m", str(size), "-t", str(seconds), seconds=seconds)
    found = re.search(r"percentile 50\.000\s*=\s*([\d.]+)", text)
    if not found:
        raise Absent("sockperf says nothing of its median")
    return float(found.group(1))


def qperf(environment, transport, size, seconds):
    """Mean of half a round trip, microseconds."""
    need("qperf")
    with server(environment, QPERF_PORT, "qperf"):
        text = output(environment, "qperf", environment.address, "-t", str(seconds), "-m", str(size), f"{transport}_lat", seconds=seconds)
    found = re.search(r"latency\s*=\s*([\d.]+)\s*(ns|us|ms)", text)
    if not found:
        raise Absent("qperf says nothing of latency")
    return float(found.group(1)) * {"ns": 0.001, "us": 1, "ms": 1000}[found.group(2)]


def iperf3(environment, transport, size, seconds):
    """(Mbit/s that the receiver got, share of datagrams lost). Of udp with the buffers that ours has by default."""
    need("iperf3")
    kind = ["-u", "-b", "0", "-w", "1M"] if transport == "udp" else []
    port = next(PORTS)
    with server(environment, port, "iperf3", "-s", "-1", "-p", str(port), "-B", environment.address):
        command = ["iperf3", "-c", environment.address, "-p", str(port), "-J", "-t", str(seconds), "-l", str(size), *kind]
        end = json.loads(output(environment, *command, seconds=seconds))["end"]
    if transport == "udp":
        total = end["sum"]
        got = total["packets"] - total["lost_packets"]
        return got * size * 8 / total["seconds"] / 1e6, total["lost_packets"] / max(total["packets"], 1)
    return end["sum_received"]["bits_per_second"] / 1e6, 0.0


def median_of(numbers):
    return statistics.median(numbers) if numbers else None
