# SPDX-License-Identifier: BSD-3-Clause
"""Where the two ends of a measurement are (the paper on sizes, section 3): network namespaces and what lies between them.

lo    loopback, in a namespace of its own (without root: this one's)
veth  two namespaces on a veth pair, offloads as the kernel has them
1G    the same, offloads off (frames of 1,514 octets at most), tbf at 1 Gbit/s each way
100M  the same at 100 Mbit/s: the cross-over Fast Ethernet
man   the lab, the gateway's impairment stage between them: 1.5 ms round trip, 100 Mbit/s
wan   the same: 180 ms round trip with a jitter of 5 ms each way, 10 Mbit/s, 1 % of packets lost each way
ns=CLIENT:SERVER:ADDRESS   two namespaces that are there; ADDRESS is the server's. Nothing is made, nothing removed."""
import ipaddress
import json
import os
import re
import subprocess

import bench_fastpass
from tp_report import sysctls

NAMES = ("lo", "veth", "1G", "100M", "man", "wan")
SLOW = ("man", "wan")
GIVEN = re.compile(r"ns=([\w.-]+):([\w.-]+):([\d.]+)")
WORDS = {
    "lo": "loopback", "veth": "veth pair", "1G": "1 Gbit/s (tbf)", "100M": "100 Mbit/s (tbf)",
    "man": "MAN: 1.5 ms, 100 Mbit/s", "wan": "WAN: 180 ms, jitter 5 ms, 10 Mbit/s, 1 % loss",
}  # fmt: skip
# Bits a second, and how much may leave at once: a few frames, else short messages would not meet the line at all.
RATES = {"1G": ("1gbit", 15140), "100M": ("100mbit", 3028)}
IMPAIRMENTS = {
    "man": {"delay_ms": 0.75, "rate_mbit": 100, "queue_ms": 100},
    "wan": {"delay_ms": 90, "jitter_ms": 5, "rate_mbit": 10, "queue_ms": 400, "loss": {"p": 0.01}},
}
CLIENT, SERVER = "10.78.0.1", "10.78.0.2"


class Unavailable(Exception):
    """Why an environment cannot be made here."""


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


class Environment:
    """client and server are the names of namespaces ("" is this one), address is the server's."""

    def __init__(self, name, client="", server="", address="127.0.0.1", cpu=None):
        self.name, self.client, self.server, self.address = name, client, server, address
        self.client_address = address if client == server else CLIENT
        self.cpu = cpu  # where both ends have to stay
        self.usual_buffer = None
        self.about = {"what": WORDS.get(name, "namespaces that were there")}

    def prefix_of(self, side):
        """Words before a command of one side."""
        namespace = self.client if side == "client" else self.server
        return ["ip", "netns", "exec", namespace] if namespace else []

    def tcp_receive_buffer(self, octets):
        """Of sockets that the server's side makes from now on; 0: as it was. Only in a namespace of our own."""
        if not self.server or self.name not in NAMES:
            return
        prefix, key = self.prefix_of("server"), "net.ipv4.tcp_rmem"
        self.usual_buffer = self.usual_buffer or run(*prefix, "sysctl", "-n", key).split()
        least, usual, most = self.usual_buffer
        values = (least, octets, max(octets, int(most))) if octets else (least, usual, most)
        run(*prefix, "sysctl", "-qw", f"{key}={' '.join(map(str, values))}")

    def sysctls(self):
        return sysctls(self.client or None)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


class Loopback(Environment):
    def __init__(self, prefix):
        super().__init__("lo", *([f"{prefix}-lo"] * 2 if not os.geteuid() else []))

    def __enter__(self):
        if self.client:
            run("ip", "netns", "add", self.client)
            run("ip", "-n", self.client, "link", "set", "lo", "up")
        return self

    def __exit__(self, *error):
        if self.client:
            subprocess.run(["ip", "netns", "del", self.client], capture_output=True, check=False)


class Pair(Environment):
    def __init__(self, name, prefix):
        super().__init__(name, f"{prefix}-a", f"{prefix}-b", SERVER)

    def __enter__(self):
        if os.geteuid():
            raise Unavailable("namespaces need root")
        try:
            self.make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def make(self):
        for namespace in (self.client, self.server):
            run("ip", "netns", "add", namespace)
            run("ip", "-n", namespace, "link", "set", "lo", "up")
        run("ip", "link", "add", "e0", "netns", self.client, "type", "veth", "peer", "name", "e0", "netns", self.server)
        for namespace, own in ((self.client, CLIENT), (self.server, SERVER)):
            run("ip", "-n", namespace, "addr", "add", f"{own}/24", "dev", "e0")
            if self.name in RATES:
                rate, burst = RATES[self.name]
                off = [word for key in ("tx", "rx", "tso", "gso", "gro") for word in (key, "off")]
                run("ip", "netns", "exec", namespace, "ethtool", "-K", "e0", *off)
                limits = ["rate", rate, "burst", str(burst), "latency", "100ms"]
                run("ip", "netns", "exec", namespace, "tc", "qdisc", "add", "dev", "e0", "root", "tbf", *limits)
            run("ip", "-n", namespace, "link", "set", "e0", "up")
        if self.name in RATES:
            self.about["tbf"] = dict(zip(("rate", "burst"), RATES[self.name]))
        run("ip", "netns", "exec", self.client, "ping", "-q", "-c", "1", "-w", "5", SERVER)  # up, and neighbours known

    def __exit__(self, *error):
        for namespace in (self.client, self.server):
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True, check=False)


class Gateway(Environment):
    """Through `sluice run` in the lab, a bridge that passes everything, with a bad link before it."""

    def __init__(self, name, prefix, root, build):
        super().__init__(name, f"{prefix}-c", f"{prefix}-s", "10.77.0.2", cpu=0 if os.cpu_count() > 1 else None)
        self.client_address = "10.77.0.1"
        self.lab = bench_fastpass.Lab(root, build, prefix, None)
        self.about["impairment"] = {"at": "rx", "to_inside": IMPAIRMENTS[name], "to_outside": IMPAIRMENTS[name]}

    def __enter__(self):
        if os.geteuid():
            raise Unavailable("the lab needs root")
        if not os.access(self.lab.environment["SLUICE"], os.X_OK):
            raise Unavailable(f"no gateway: build {self.lab.environment['SLUICE']}")
        text = json.dumps({**self.about["impairment"], "flow_key": "tuple", "limit": 65536}, separators=(",", ":"))
        try:
            self.lab.__enter__()
            self.lab.call("gateway", "start", options=f"--set impairment={text}")
            self.wait()
        except (RuntimeError, OSError) as error:
            self.lab.__exit__()
            raise Unavailable(str(error)) from error
        except BaseException:
            self.lab.__exit__()
            raise
        return self

    def wait(self):
        """Until it forwards."""
        done = subprocess.run(
            [*self.prefix_of("client"), "ping", "-q", "-c", "3", "-w", "10", self.address], capture_output=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"nothing passes the gateway: {done.stdout.decode().strip()}")

    def __exit__(self, *error):
        self.lab.__exit__()


class Given(Environment):
    def __init__(self, name):
        client, server, address = GIVEN.fullmatch(name).groups()
        super().__init__(name, client, server, str(ipaddress.IPv4Address(address)))

    def __enter__(self):
        for namespace in (self.client, self.server):
            if not os.path.exists(f"/run/netns/{namespace}"):
                raise Unavailable(f"there is no namespace {namespace}")
        return self


def known(name):
    """Whether it is a word for --env."""
    match = GIVEN.fullmatch(name)
    try:
        return name in NAMES or bool(match and ipaddress.IPv4Address(match.group(3)))
    except ValueError:
        return False


def make(name, prefix, root, build):
    if name == "lo":
        return Loopback(prefix)
    if name in ("veth", *RATES):
        return Pair(name, prefix)
    if name in SLOW:
        return Gateway(name, prefix, root, build)
    return Given(name)
