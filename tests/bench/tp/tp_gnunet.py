# SPDX-License-Identifier: BSD-3-Clause
"""Two GNUnet peers (package gnunet) and their own benchmark, gnunet-transport: what the descendant of the papers' transports
carries today. Its services are started one by one, without the daemon that starts all of them; everything is in one folder."""
import contextlib
import glob
import os
import re
import signal
import subprocess
import time

import tp_peers

SERVICES = ("statistics", "resolver", "peerstore", "nat", "peerinfo", "ats", "transport")
PORTS = {"a": 20865, "b": 20866}
QUOTAS = "\n".join(f"{net}_QUOTA_{way} = 1 GiB" for net in ("LOOPBACK", "LAN", "WAN", "UNSPECIFIED") for way in ("IN", "OUT"))
CONFIGURATION = """[PATHS]
GNUNET_HOME = {home}
GNUNET_DATA_HOME = {home}/data
GNUNET_CONFIG_HOME = {home}/config
GNUNET_CACHE_HOME = {home}/cache
GNUNET_RUNTIME_DIR = {home}/run
GNUNET_USER_RUNTIME_DIR = {home}/user
GNUNET_TMP = {home}/run
[nat]
RETURN_LOCAL_ADDRESSES = YES
USE_LOCALADDR = YES
USE_HOSTNAME = NO
ENABLE_IPSCAN = YES
ENABLE_UPNP = NO
USE_STUN = NO
DISABLEV6 = YES
[peerinfo]
USE_INCLUDED_HELLOS = NO
[transport]
PLUGINS = tcp
[transport-tcp]
PORT = {port}
ADVERTISED_PORT = {port}
[ats]
{quotas}
"""


def libexec():
    found = glob.glob("/usr/lib/*/gnunet/libexec/gnunet-service-transport") + glob.glob("/usr/lib/gnunet/libexec/gnunet-service-transport")
    if not found:
        raise tp_peers.Absent("gnunet is not installed")
    return os.path.dirname(found[0])


class Peer:
    def __init__(self, name, folder, prefix):
        self.home, self.prefix = os.path.join(folder, f"gnunet-{name}"), prefix
        for part in ("", "run", "user", "data", "config", "cache"):
            os.makedirs(os.path.join(self.home, part), exist_ok=True)
        self.configuration = os.path.join(self.home, "conf")
        with open(self.configuration, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(home=self.home, port=PORTS[name], quotas=QUOTAS))

    def start(self, programs, stack):
        for name in SERVICES:
            command = [*self.prefix, os.path.join(programs, f"gnunet-service-{name}"), "-c", self.configuration]
            child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # pylint: disable=consider-using-with
            stack.callback(end, child)

    def call(self, *words, wait=10):
        command = [*self.prefix, words[0], "-c", self.configuration, *words[1:]]
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=wait, check=False).stdout.strip()
        except subprocess.TimeoutExpired as error:
            raise tp_peers.Absent(f"{words[0]} hangs") from error

    def hello(self):
        """Its HELLO, once it names an address."""
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            last = self.call("gnunet-peerinfo", "-s", "-g").splitlines()[-1:]
            if last and "+tcp." in last[0]:
                return last[0]
            time.sleep(0.3)
        raise tp_peers.Absent("a GNUnet peer finds no address of its own")


def end(child):
    child.terminate()
    try:
        child.wait(3)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def tcp(environment, folder, seconds):
    """Mbit/s that the second peer received over GNUnet's tcp plug-in; both live at one end: one namespace, loopback."""
    programs = libexec()
    with contextlib.ExitStack() as stack:
        a, b = (Peer(name, folder, environment.prefix_of("server")) for name in ("a", "b"))
        for peer in (a, b):
            peer.start(programs, stack)
        hello = b.hello()
        a.hello()
        a.call("gnunet-peerinfo", "-p", hello)
        identity = re.match(r"gnunet://hello/(\w+)", hello).group(1)
        command = ["gnunet-transport", "-c", b.configuration, "-b"]
        with subprocess.Popen([*b.prefix, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as listener:
            with subprocess.Popen([*a.prefix, "gnunet-transport", "-c", a.configuration, "-s", "-p", identity],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as sender:  # fmt: skip
                time.sleep(seconds + 1)  # a second until they have met
                listener.send_signal(signal.SIGINT)
                text = listener.communicate(timeout=10)[0]
                sender.send_signal(signal.SIGINT)
                end(sender)
    found = re.search(r"Received (\d+) bytes/s", text)
    if not found or found.group(1) == "0":
        raise tp_peers.Absent("nothing passes between two GNUnet peers")
    return int(found.group(1)) * 8 / 1e6
