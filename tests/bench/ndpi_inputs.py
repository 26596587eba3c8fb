# SPDX-License-Identifier: BSD-3-Clause
"""The captures of tools/bench ndpi: real downloads, recorded here, and the labelled captures as one.

Both programs key flows by VLAN, too: a copy of the mix bears the VLAN of its turn, so each of its
flows is a new one to either of them, however often the mix is repeated."""
import csv
import importlib.util
import os
import signal
import subprocess
import sys
import time

ETHERNET = 1
PAUSE_S = 1  # the longest between two packets of the mix: captures are years apart
GAP_S = 2  # between two captures of the mix
VLANS = 4094
DOWNLOAD_BYTES = 2 << 20
AT_ONCE = 8
SERVER, CLIENT = "10.99.0.2", "10.99.0.1"
NGINX = """daemon off; user root; worker_processes 1; pid {run}/pid; error_log {run}/error;
events {{}}
http {{
  access_log off; sendfile on;
  client_body_temp_path {run}/1; proxy_temp_path {run}/2; fastcgi_temp_path {run}/3;
  uwsgi_temp_path {run}/4; scgi_temp_path {run}/5;
  server {{
    listen {address}:80; listen {address}:443 ssl;
    ssl_certificate {run}/cert.pem; ssl_certificate_key {run}/key.pem; root {run}/web;
  }}
}}
"""


def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()[-500:] or done.stdout.strip()[-500:]}")
    return done.stdout


class Wire:
    """Two namespaces and the veth between them, without offloads: each packet is one of the wire's."""

    def __init__(self):
        name = f"nb{os.getpid()}"
        self.client, self.server = f"{name}-c", f"{name}-s"
        self.children = []

    def __enter__(self):
        try:
            for side in (self.client, self.server):
                run("ip", "netns", "add", side)
            run("ip", "link", "add", "w0", "netns", self.client, "type", "veth", "peer", "name", "w1", "netns", self.server)
            for side, device, address in ((self.client, "w0", CLIENT), (self.server, "w1", SERVER)):
                run("ip", "-n", side, "address", "add", f"{address}/24", "dev", device)
                run("ip", "-n", side, "link", "set", device, "up")
                off = ("tx", "off", "rx", "off", "tso", "off", "gso", "off", "gro", "off")
                run("ip", "netns", "exec", side, "ethtool", "-K", device, *off)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for child in self.children:
            child.terminate()
            try:
                child.wait(timeout=10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        for side in (self.client, self.server):
            subprocess.run(["ip", "netns", "delete", side], capture_output=True, check=False)

    def start(self, side, *words):
        child = subprocess.Popen(  # pylint: disable=consider-using-with
            ["ip", "netns", "exec", side, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self.children.append(child)
        return child


def server_start(wire, folder):
    for name in ("web", "1", "2", "3", "4", "5"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    with open(os.path.join(folder, "web", "file"), "wb") as file:
        file.write(os.urandom(DOWNLOAD_BYTES))
    key = ("-keyout", os.path.join(folder, "key.pem"), "-out", os.path.join(folder, "cert.pem"))
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=files.example", *key)
    with open(os.path.join(folder, "nginx.conf"), "w", encoding="utf-8") as file:
        file.write(NGINX.format(run=folder, address=SERVER))
    wire.start(wire.server, "nginx", "-c", os.path.join(folder, "nginx.conf"), "-p", folder)
    for _ in range(100):
        if ":443" in run("ip", "netns", "exec", wire.server, "ss", "-ltn"):
            return
        time.sleep(0.1)
    raise RuntimeError("nginx does not listen")


def download(wire, scheme, files):
    """`files` downloads, AT_ONCE of them at a time, each a connection of its own."""
    config = "".join(f'url = "{scheme}://files.example/file?{n}"\noutput = "/dev/null"\n' for n in range(files))
    words = ["--silent", "--show-error", "--fail", "--insecure", "--noproxy", "*", "--http1.1", "--header", "Connection: close"]
    words += ["--connect-to", f"::{SERVER}:", "--parallel", "--parallel-immediate", "--parallel-max", str(AT_ONCE)]
    run("ip", "netns", "exec", wire.client, "curl", *words, "--config", "-", input=config)


def settled(path):
    last, still = -1, 0
    for _ in range(100):
        size = os.path.getsize(path)
        still = still + 1 if size == last else 0
        if still == 5:
            return
        last = size
        time.sleep(0.2)
    raise RuntimeError("tcpdump does not come to an end")


def bulk(path, folder, megabytes):
    """Downloads by curl from nginx, half of them over TLS, as they pass an Ethernet wire."""
    files = max(2, megabytes * 1_000_000 // DOWNLOAD_BYTES)
    with Wire() as wire:
        server_start(wire, folder)
        sniffer = wire.start(wire.client, "tcpdump", "-i", "w0", "-s", "0", "-B", "262144", "-w", path, "tcp")
        while "listening on" not in (line := sniffer.stderr.readline()):
            if not line:
                raise RuntimeError("tcpdump did not start")
        download(wire, "http", files // 2)
        download(wire, "https", files - files // 2)
        settled(path)  # what the ring holds when it is told to end is not written
        sniffer.send_signal(signal.SIGINT)
        told = sniffer.communicate(timeout=30)[1]
    lost = [line.split()[0] for line in told.splitlines() if "dropped by kernel" in line]
    return {"connections": files, "not_recorded": int(lost[0]) if lost else None}


def load_pktlib(corpora):
    spec = importlib.util.spec_from_file_location("pktlib", os.path.join(corpora, "pktlib.py"))
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


def ethernet(pktlib, link, octets):
    """(frame, where a VLAN tag goes in), or None: nothing that both programs know as IP over Ethernet."""
    if link == ETHERNET:
        return octets if len(octets) >= 14 else None
    found = pktlib.l3(link, octets)
    if not found or found[0] not in (0x800, 0x86DD):
        return None
    return b"\2\0\0\0\0\2\2\0\0\0\0\1" + found[0].to_bytes(2, "big") + octets[found[1] :]


def frames(pktlib, folder, names):
    """The captures one after the other: [microseconds since the last, frame, length on the wire]."""
    out, left_out = [], 0
    for name in names:
        last = None
        for ts, link, octets, length in pktlib.records(os.path.join(folder, name)):
            frame = ethernet(pktlib, link, octets)
            if frame is None:
                left_out += 1
                continue
            since = GAP_S if last is None else min(max(ts - last, 0), PAUSE_S)
            last = ts
            out.append((round(since * 1e6), frame, max(len(frame), length + len(frame) - len(octets))))
    return out, left_out


def write_frames(path, packets, turns):
    """A capture of `turns` copies of the packets, each under a VLAN of its own."""
    now_us = 1_500_000_000_000_000
    with open(path, "wb") as file:
        file.write(b"\xd4\xc3\xb2\xa1\2\0\4\0" + bytes(8) + (262144).to_bytes(4, "little") + b"\1\0\0\0")
        for turn in range(turns):
            tag = b"\x81\0" + (1 + turn % VLANS).to_bytes(2, "big")
            for since_us, frame, length in packets:
                now_us += since_us
                head = (now_us // 1_000_000, now_us % 1_000_000, len(frame) + 4, length + 4)
                file.write(b"".join(word.to_bytes(4, "little") for word in head) + frame[:12] + tag + frame[12:])


def mixed(path, corpora, robust, packets):
    """The labelled captures (robust: those for reassembly, too), repeated until there are `packets`."""
    folder = os.path.join(corpora, "dev")
    with open(os.path.join(folder, "labels.csv"), encoding="utf-8", newline="") as file:
        names = sorted({row["pcap"] for row in csv.DictReader(file)})
    names = [name for name in names if robust or not name.startswith("robust/")]
    once, left_out = frames(load_pktlib(corpora), folder, names)
    turns = max(1, round(packets / len(once)))
    write_frames(path, once, turns)
    return {"captures": len(names), "packets_once": len(once), "turns": turns, "other_links": left_out}


def ones_sum(octets):
    total = sum(int.from_bytes(octets[i : i + 2], "big") for i in range(0, len(octets), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def datagram(source, sport, destination, dport, payload):
    """UDP without a checksum, which IPv4 allows."""
    udp = b"".join(word.to_bytes(2, "big") for word in (sport, dport, 8 + len(payload), 0)) + payload
    ip = bytes([0x45, 0]) + (20 + len(udp)).to_bytes(2, "big") + bytes([0, 0, 0x40, 0, 64, 17, 0, 0]) + source + destination
    ip = ip[:10] + ones_sum(ip).to_bytes(2, "big") + ip[12:]
    return b"\2\0\0\0\0\2\2\0\0\0\0\1\x08\0" + ip + udp


def dns_pair(number):
    """A question for an A record, and its answer."""
    label = f"host-{number % 5000}".encode()
    name = bytes([len(label)]) + label + b"\7example\3net\0"
    question = name + b"\0\1\0\1"
    ident = (number & 0xFFFF).to_bytes(2, "big")
    address = bytes([198, 18, number >> 8 & 255, number & 255])
    answer = b"\xc0\x0c\0\1\0\1\0\0\1\x2c\0\4" + address
    return ident + b"\1\0\0\1\0\0\0\0\0\0" + question, ident + b"\x81\x80\0\1\0\1\0\0\0\0" + question + answer


def dht_pair(number):
    """BEP 5: get_peers, and an answer with eight nodes and two peers."""
    ident, ends = os.urandom(20), os.urandom(12)
    tid = (number & 0xFFFF).to_bytes(2, "big")
    asked = b"d1:ad2:id20:" + ident + b"9:info_hash20:" + os.urandom(20) + b"e1:q9:get_peers1:t2:" + tid + b"1:y1:qe"
    told = b"d1:rd2:id20:" + ident + b"5:nodes208:" + os.urandom(208) + b"5:token4:abcd6:valuesl6:" + ends[:6] + b"6:" + ends[6:]
    return asked, told + b"ee1:t2:" + tid + b"1:y1:re"


def followed(path, pair, port, packets, flows=64):
    """Flows that are known with their first datagram, and whose decoder goes on learning from them."""
    server = bytes([192, 0, 2, 53])
    frames_of = []
    for number in range(packets // 2):
        client = bytes([10, 1, 0, 1 + number % flows])
        asked, told = pair(number)
        frames_of.append((500, datagram(client, 40000, server, port, asked)))
        frames_of.append((500, datagram(server, port, client, 40000, told)))
    write_frames(path, [(since, frame, len(frame)) for since, frame in frames_of], 1)
    return {"flows": flows}
