#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Linux, as a receiver that is asked (receivers.test): frames go to a namespace of its own, whose sockets tell what they
get. linux_receiver.py --linux is the part in there."""
import os
import socket
import struct
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from peers import receiver_forms as forms  # noqa: E402 pylint: disable=wrong-import-position
from craft import ACK, CLIENT, CLIENT6, ETH_IPV4, INSIDE, PSH, SERVER, SERVER6, SYN, link  # noqa: E402 pylint: disable=wrong-import-position
from packet.packets import ICMP, TCP, UDP, addr, checksum, icmp, ipv4, pseudo  # noqa: E402 pylint: disable=wrong-import-position

IP_MTU_DISCOVER, IP_RECVERR, IP_MTU = 10, 11, 14


def run(*words, check=True):
    return subprocess.run(words, check=check, capture_output=True, text=True)


def wait_for(what, seconds=20):
    until = time.monotonic() + seconds
    while not what():
        if time.monotonic() > until:
            sys.exit(f"FAILED: {what.__name__} took longer than {seconds} s")
        time.sleep(0.1)


def linux_receiver():
    sys.stdin.readline()
    setup = ["link set dev far address 02:00:00:00:00:02 up", f"address add {SERVER}/24 dev far", f"-6 address add {SERVER6}/64 dev far nodad",
             "route add default dev far", "-6 route add default dev far", "link set lo up",
             f"neigh add {CLIENT} lladdr 02:00:00:00:00:01 dev far", f"-6 neigh add {CLIENT6} lladdr 02:00:00:00:00:01 dev far",
             f"link add name t4 type ipip local {SERVER} remote {CLIENT}", f"link add name t6 type sit local {SERVER} remote {CLIENT}",
             f"link add name tg type gre local {SERVER} remote {CLIENT}", f"link add name t66 type ip6tnl local {SERVER6} remote {CLIENT6}"]
    for words in setup:
        done = run("ip", *words.split(), check=False)
        if done.returncode:
            print(f"note ip {words.split(' local')[0]}: {done.stderr.strip()}", flush=True)
    for name in ("t4", "t6", "tg", "t66"):
        run("ip", "link", "set", name, "up", check=False)
    run("ethtool", "-K", "far", "tx", "off", "rx", "off", "tso", "off", "gso", "off", "gro", "off", check=False)
    for path in ("all", "far", "t4", "tg", "default"):
        try:
            with open(f"/proc/sys/net/ipv4/conf/{path}/rp_filter", "w", encoding="ascii") as file:
                file.write("0")
        except OSError:
            pass
    datagrams = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    datagrams.bind(("::", forms.PORT))
    listener = socket.create_server((SERVER, forms.PORT))

    def streams():
        while True:
            connection, peer = listener.accept()
            connection.settimeout(0.8)
            octets = b""
            try:
                while more := connection.recv(4096):
                    octets += more
            except OSError:
                pass
            print("tcp", peer[1], octets.hex(), flush=True)
            connection.close()

    def senders():
        for line in sys.stdin:
            kind, port = line.split()
            threading.Thread(target=tell_error, args=(kind, int(port)), daemon=True).start()
    threading.Thread(target=streams, daemon=True).start()
    threading.Thread(target=senders, daemon=True).start()
    print("ready", flush=True)
    while True:
        print("udp", datagrams.recv(65535).hex(), flush=True)


def tell_error(kind, port):
    """A socket that sends, and what it is told: an error, or a smaller MTU."""
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM)
    end.bind((SERVER, port))
    end.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, 2)
    if kind == "stream":
        end.setsockopt(socket.IPPROTO_IP, IP_RECVERR, 1)
    end.settimeout(0.7)
    word = "nothing"
    try:
        end.connect((CLIENT, forms.PORT))
        end.sendall(b"hello")
        end.recv(100)
    except TimeoutError:
        pass
    except OSError as error:
        word = os.strerror(error.errno).replace(" ", "_")
    try:
        mtu = end.getsockopt(socket.IPPROTO_IP, IP_MTU)
        word = f"MTU_{mtu}" if mtu < 1500 else word
    except OSError:
        pass
    run("ip", "route", "flush", "cache", check=False)
    print("error", port, word, flush=True)


class Linux:
    def __init__(self):
        self.lines, self.notes = [], []
        run("ip", "link", "add", "name", "near", "type", "veth", "peer", "name", "far")
        self.child = subprocess.Popen(["unshare", "-n", sys.executable, os.path.abspath(__file__), "--linux"],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        time.sleep(0.5)
        run("ip", "link", "set", "dev", "far", "netns", str(self.child.pid))
        run("ip", "link", "set", "dev", "near", "address", "02:00:00:00:00:01", "mtu", "1500", "up")
        run("ethtool", "-K", "near", "tx", "off", "rx", "off", "tso", "off", "gso", "off", "gro", "off", check=False)
        self.wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.wire.bind(("near", 0))
        self.wire.settimeout(0.5)
        threading.Thread(target=self.hear_lines, daemon=True).start()
        self.child.stdin.write("go\n")
        self.child.stdin.flush()

        def linux_is_ready():
            return "ready" in self.lines
        wait_for(linux_is_ready)
        time.sleep(0.5)
        self.ports = 42000

    def hear_lines(self):
        for line in self.child.stdout:
            (self.notes if line.startswith("note") else self.lines).append(line.strip())

    def frames(self, frames):
        self.lines.clear()
        for frame in frames:
            self.wire.send(frame.ljust(60, b"\0"))
        until = time.monotonic() + 0.4
        while time.monotonic() < until and not self.lines:
            time.sleep(0.02)
        got = [bytes.fromhex(line.split(" ")[1]) for line in self.lines if line.startswith("udp ") and line[4:]]
        return any(octets.startswith(forms.DHT_PING) for octets in got), [(frame, True) for frame in frames]

    def tcp(self, steps):
        """Whether the application reads the handshake, and every frame of both ends."""
        got, seen = self.read(steps, len(forms.BT))
        # an urgent octet is not read with the others
        return got[:67] == forms.BT[:67], seen

    def read(self, steps, ends):
        """What the application reads of a session of `ends` octets, and every frame of both ends."""
        self.ports += 1
        self.lines.clear()
        port, server, seen = self.ports, {"seq": 0, "time": 0}, []

        def say(seq, flags, octets=b"", stamp=1000, spoil=False, urgent=0):
            options = b"\1\1\x08\x0a" + struct.pack(">II", stamp, server["time"])
            head = bytearray(struct.pack(">HHIIBBHHH", port, forms.PORT, seq & 0xFFFFFFFF, server["seq"] if flags & ACK else 0,
                                         (20 + len(options)) << 2, flags, 64240, 0, urgent) + options + octets)
            head[16:18] = struct.pack(">H", checksum(pseudo(CLIENT, SERVER, TCP, len(head)) + bytes(head)) ^ (0x5555 if spoil else 0))
            frame = link(INSIDE, ETH_IPV4, ipv4(CLIENT, SERVER, TCP, bytes(head)))
            seen.append((frame, bool(octets) and octets in forms.BT))
            self.wire.send(frame.ljust(60, b"\0"))

        def hear(seconds):
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                self.wire.settimeout(max(0.01, until - time.monotonic()))
                try:
                    frame = self.wire.recv(2000)
                except TimeoutError:
                    return
                if frame[6:12] != b"\2\0\0\0\0\2" or frame[12:14] != b"\x08\0" or frame[23] != TCP or frame[36:38] != struct.pack(">H", port):
                    continue
                seen.append((frame[:14 + struct.unpack(">H", frame[16:18])[0]], False))
                header = frame[34:34 + (frame[46] >> 4) * 4]
                if header[13] & SYN:
                    server["seq"] = struct.unpack(">I", header[4:8])[0] + 1
                at = header.find(b"\x08\x0a", 20)
                if at > 0:
                    server["time"] = struct.unpack(">I", header[at + 2:at + 6])[0]
                if header[13] & SYN:
                    return

        first = steps[0] if steps[0][0] == -1 else None
        say(1000, SYN, first[2].get("octets", forms.BT) if first else b"")
        hear(1)
        say(1001, ACK)
        for at, length, more in steps[1:] if first else steps:
            octets = more.get("octets", forms.BT[max(at, 0):max(at, 0) + length])
            say(1001 + (at if at != -2 else -1), more.get("flags", ACK | PSH), octets, more.get("time", 1000), more.get("spoil", False),
                more.get("urgent", 0))
            hear(0.01)
        hear(0.2)
        say(1001 + ends, ACK | 4)

        def linux_has_read():
            return any(line.startswith(f"tcp {port}") for line in self.lines)
        wait_for(linux_has_read)
        words = next(line for line in self.lines if line.startswith(f"tcp {port}")).split(" ")
        return bytes.fromhex(words[2]) if len(words) > 2 else b"", seen

    def icmp(self, value):
        """One error about what a socket of Linux has sent; and every frame of both ends."""
        kind, more = value
        self.ports += 1
        port, seen, proto = self.ports, [], UDP if kind == "udp" else TCP
        self.lines.clear()
        self.child.stdin.write(f"{kind} {port}\n")
        self.child.stdin.flush()

        def sent(flags=0):
            """The next packet of that socket, with these flags."""
            until = time.monotonic() + 3
            while time.monotonic() < until:
                self.wire.settimeout(max(0.01, until - time.monotonic()))
                try:
                    frame = self.wire.recv(2000)
                except TimeoutError:
                    break
                if frame[6:12] == b"\2\0\0\0\0\2" and frame[12:14] == b"\x08\0" and frame[23] == proto and frame[34:36] == struct.pack(">H", port):
                    frame = frame[:14 + struct.unpack(">H", frame[16:18])[0]]
                    seen.append((frame, False))
                    if proto != TCP or frame[47] & flags == flags:
                        return frame[14:]
            sys.exit(f"FAILED: Linux sent nothing from a {kind} socket")

        packet = sent(SYN)
        if kind == "stream":
            number = struct.unpack(">I", packet[24:28])[0]
            head = bytearray(struct.pack(">HHIIBBHHH", forms.PORT, port, 5000, number + 1 & 0xFFFFFFFF, 5 << 4, SYN | ACK, 64240, 0, 0))
            head[16:18] = struct.pack(">H", checksum(pseudo(CLIENT, SERVER, TCP, 20) + bytes(head)))
            seen.append((link(INSIDE, ETH_IPV4, ipv4(CLIENT, SERVER, TCP, bytes(head))), False))
            self.wire.send(seen[-1][0].ljust(60, b"\0"))
            packet = sent(PSH)
        quote = bytearray(packet[:20] + packet[20:][:more.get("quote", 1000)])
        if "seq" in more:
            quote[24:28] = struct.pack(">I", struct.unpack(">I", quote[24:28])[0] + more["seq"] & 0xFFFFFFFF)
        for at, name in ((12, "from"), (16, "to")):
            if name in more:
                quote[at:at + 4] = addr(more[name])
        if "port" in more:
            quote[20:22] = struct.pack(">H", more["port"])
        quote[8], quote[9] = more.get("ttl", quote[8]), more.get("proto", quote[9])
        quote[10:12] = bytes(2)
        quote[10:12] = struct.pack(">H", checksum(bytes(quote[:20])) ^ (0x5555 if more.get("spoil_quote") else 0))
        message = bytearray(icmp(more.get("kind", 3), more.get("code", 3), more.get("rest", 0),
                                 bytes(quote).ljust(more.get("fill", 0), b"x")))
        message[2] ^= 0x55 if more.get("spoil") else 0
        error = link(INSIDE, ETH_IPV4, ipv4(more.get("source", CLIENT), SERVER, ICMP, bytes(message)))
        seen.append((error, True))
        self.wire.send(error.ljust(60, b"\0"))

        def linux_has_told():
            return any(line.startswith(f"error {port} ") for line in self.lines)
        wait_for(linux_has_told)
        word = next(line for line in self.lines if line.startswith(f"error {port} ")).split(" ")[2]
        return word != "nothing", seen


if __name__ == "__main__" and sys.argv[1:] == ["--linux"]:
    linux_receiver()
