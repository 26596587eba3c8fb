# SPDX-License-Identifier: BSD-3-Clause
"""Whole programs on a wire: `sluice run` beside dpdk-testpmd (io, 5tswap), one data lcore each.

The wires: net_pcap, which delivers the frames of a capture for ever, to net_null, which throws them
away; and memif from a second process (testpmd on the other CPU). The programs take turns, forwards
and backwards (ABBA), in one run; cycles are those that the forwarding thread had a CPU for, by the
kernel's account, so that other programs of the machine disturb little."""
import json
import os
import shutil
import statistics
import struct
import subprocess
import time

LCORE_NAMES = ("rte-worker-1", "lcore-worker-1", "dpdk-worker1")  # by version of DPDK
CLIENTS, SERVERS = 0x0A000000, 0xC6120000
DNS = b"\x12\x34\1\0\0\1\0\0\0\0\0\0\3www\7example\3com\0\0\1\0\1"


def ones_sum(words):
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def write_capture(path, flows, frame):
    """One datagram of each of `flows` DNS flows: their first one decides them for good."""
    length = frame - 4
    payload = (DNS + bytes(length))[: length - 42]
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for i in range(flows):
            ip = [0x4500, length - 14, 0, 0, 63 << 8 | 17, 0, CLIENTS >> 16, i & 0xFFFF]
            ip += [SERVERS >> 16, i * 40503 & 0xFFFF]
            ip[5] = ones_sum(ip)
            udp = struct.pack("!HHHH", 20000 + (i >> 16), 53, length - 34, 0)
            packet = b"\2\0\0\0\0\2\2\0\0\0\0\1\x08\0" + struct.pack("!10H", *ip) + udp + payload
            file.write(struct.pack("<IIII", i // 1000000, i % 1000000, length, length) + packet)


def family(pid):
    """The process and those that it has made."""
    yield pid
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        for child in file.read().split():
            yield from family(int(child))


def lcore_cpu_s(pid):
    """Seconds that the data lcore (the second of EAL's threads) has had a CPU."""
    for member in family(pid):
        for task in os.listdir(f"/proc/{member}/task"):
            with open(f"/proc/{member}/task/{task}/comm", encoding="utf-8") as file:
                if file.read().strip() not in LCORE_NAMES:
                    continue
            with open(f"/proc/{member}/task/{task}/schedstat", encoding="utf-8") as file:
                return int(file.read().split()[0]) / 1e9
    raise RuntimeError(f"process {pid} has no thread {' or '.join(LCORE_NAMES)}")


class Testpmd:
    def __init__(self, vdevs, mode, cpus, mbufs, prefix, extra=()):
        command = ["stdbuf", "-oL", "dpdk-testpmd", "--no-huge", "-m", str(mbufs // 400 + 512), "--no-pci", "--no-shconf"]
        command += ["--no-telemetry", f"--file-prefix={prefix}", "--lcores", f"0@{cpus[0]},1@{cpus[1]}"]
        for vdev in vdevs:
            command += ["--vdev", vdev]
        command += ["--", "--interactive", f"--forward-mode={mode}", f"--total-num-mbufs={mbufs}", *extra]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self.process = subprocess.Popen(command, text=True, **pipes)
        self.ports = len(vdevs)
        self.until("testpmd>")
        self.tell("start")

    def until(self, text, times=1):
        got = ""
        while got.count(text) < times:
            byte = self.process.stdout.read(1)
            if not byte:
                raise RuntimeError("dpdk-testpmd: " + got[-500:])
            got += byte
        return got

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def sample(self):
        """(packets sent, seconds of the forwarding thread); the counters are all ports' TX."""
        self.tell("show port stats all")
        lines = self.until("Tx-bps", self.ports).splitlines()
        sent = sum(int(line.split("TX-packets:")[1].split()[0]) for line in lines if "TX-packets:" in line)
        return sent, lcore_cpu_s(self.process.pid)

    def end(self):
        self.tell("stop\nquit")
        try:
            self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()


class Sluice:
    def __init__(self, root, program, folder, ports, cpus, flows, mbufs):
        self.root = root
        self.socket = os.path.join(folder, "control.sock")
        gateway = {
            "schema_version": 1,
            "ports": [{"name": name, "device": device} for name, device in zip(("lan", "wan"), ports)],
            "pairs": [{"inside": "lan", "outside": "wan", "mode": "bridge"}],
            "lcores": {"control": cpus[0], "data": [cpus[1]]},
            "memory": {"hugepages": False, "mb": mbufs // 400 + 512 + flows // 500, "mbufs": mbufs},
            "limits": {"flows": 2 * flows, "embryos": 2 * flows},
            "paths": {
                "events": os.path.join(folder, "eve.json"),
                "control": self.socket,
                "signatures": os.path.join(root, "config", "signatures"),
                "cache": os.path.join(folder, "cache"),
                "state": os.path.join(folder, "state"),
            },
        }
        config = os.path.join(folder, "gateway.json")
        with open(config, "w", encoding="utf-8") as file:
            json.dump(gateway, file)
        self.log = os.path.join(folder, "sluice.log")
        with open(self.log, "w", encoding="utf-8") as log:
            command = [program, "run", "-c", config, "-p", os.path.join(root, "config", "policy.json")]
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.time() + 30
        while not self.stats():
            if time.time() > deadline or self.process.poll() is not None:
                with open(self.log, encoding="utf-8") as log:
                    raise RuntimeError("sluice run: " + log.read()[-1000:])
            time.sleep(0.1)

    def stats(self):
        command = [os.path.join(self.root, "tools", "sluicectl"), "--json", "--socket", self.socket, "stats"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def sample(self):
        for _ in range(5):  # its control core may have to wait for a CPU
            stats = self.stats()
            if stats:
                return stats["sent"], lcore_cpu_s(self.process.pid)
        with open(self.log, encoding="utf-8") as log:
            raise RuntimeError("sluice run does not answer: " + log.read()[-1000:])

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def run_once(program, warm_s, seconds):
    """Packets a second of wall and of CPU time."""
    try:
        time.sleep(warm_s)
        start, sent, cpu = time.monotonic(), *program.sample()
        time.sleep(seconds)
        elapsed = time.monotonic() - start
        sent_after, cpu_after = program.sample()
    finally:
        program.end()
    packets = sent_after - sent
    return {"pps": packets / elapsed, "cpu_ns": 1e9 * (cpu_after - cpu) / packets if packets else None}


def tsc_ghz():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("bogomips"):
                return float(line.split(":")[1]) / 2000
    return 0.0


def cpus():
    available = sorted(os.sched_getaffinity(0))
    return (available[0], available[-1])


class Pcap:
    """net_pcap -> net_null."""

    name = "net_pcap -> net_null"

    def __init__(self, root, program, folder, flows, frame):
        self.root, self.program, self.folder, self.flows, self.frame = root, program, folder, flows, frame
        self.capture = os.path.join(folder, f"{flows}x{frame}.pcap")
        self.mbufs = flows + 8192
        write_capture(self.capture, flows, frame)

    def start(self, what):
        source = f"rx_pcap={self.capture},infinite_rx=1"
        if what == "sluice":
            ports = (f"net_pcap0,{source}", "net_null0,no-rx=1")
            return Sluice(self.root, self.program, self.folder, ports, cpus(), self.flows, self.mbufs)
        vdevs = (f"net_pcap0,{source}", "net_null0,no-rx=1")
        return Testpmd(vdevs, what, cpus(), self.mbufs, f"bench{os.getpid()}")


class Memif(Pcap):
    """A second process replays the capture into a memif; the gateway's other end is net_null."""

    name = "memif -> net_null"

    def start(self, what):
        socket = os.path.join(self.folder, "memif.sock")
        if os.path.exists(socket):
            os.unlink(socket)
        memif = f"net_memif0,role=server,socket={socket},socket-abstract=no,rsize=11"
        if what == "sluice":
            ports = (memif, "net_null0,no-rx=1")
            gateway = Sluice(self.root, self.program, self.folder, ports, cpus(), self.flows, 32768)
        else:
            gateway = Testpmd((memif, "net_null0,no-rx=1"), what, cpus(), 32768, f"bench{os.getpid()}")
        try:
            source = (
                f"net_pcap0,rx_pcap={self.capture},infinite_rx=1",
                memif.replace("role=server", "role=client").replace("net_memif0", "net_memif1"),
            )
            first, second = cpus()
            generator = Testpmd(source, "io", (second, first), self.mbufs, f"benchgen{os.getpid()}")
        except BaseException:
            gateway.end()
            raise
        end = gateway.end
        gateway.end = lambda: (generator.end(), end())
        return gateway


def measure_wire(wire, rounds, warm_s, seconds, say):
    """Figures by program; None where twice a program did not start or moved nothing."""
    for last in (False, True):
        runs = {"io": [], "5tswap": [], "sluice": []}
        try:
            for turn in range(rounds):
                for what in sorted(runs, reverse=bool(turn % 2)):
                    runs[what].append(run_once(wire.start(what), warm_s, seconds))
            return runs
        except (RuntimeError, OSError) as error:
            say(f"{wire.name} {wire.frame} B: {'not measured' if last else 'once more'}: {error}")
    return None


def measure(root, program, folder, quick, say):
    if not shutil.which("dpdk-testpmd"):
        say("dpdk-testpmd is not installed (package dpdk-dev): no wire")
        return []
    sizes = [(Pcap, 4096, 64), (Memif, 4096, 64)]
    if not quick:
        sizes += [(Pcap, 4096, 1250), (Pcap, 65536, 64), (Memif, 4096, 1250)]
    rounds, warm_s, seconds = (1, 0.3, 0.5) if quick else (5, 0.3, 0.7)
    rows = []
    for kind, flows, frame in sizes:
        wire = kind(root, program, folder, flows, frame)
        try:
            runs = measure_wire(wire, rounds, warm_s, seconds, say)
        finally:
            os.unlink(wire.capture)
        if not runs:
            continue
        rows.append(summary(wire.name, flows, frame, runs))
        say(
            f"{wire.name} {frame} B, {flows} flows: sluice {rows[-1]['sluice']['mpps']:.2f} Mpps, "
            f"{rows[-1]['ratio_io']:.2f} of testpmd io, {rows[-1]['beyond_io']:.0f} cycles beyond it"
        )
    return rows


def summary(name, flows, frame, runs):
    row = {"wire": name, "flows": flows, "frame": frame}
    for what, samples in runs.items():
        cycles = [sample["cpu_ns"] * tsc_ghz() for sample in samples if sample["cpu_ns"]]
        rate = [1e3 / sample["cpu_ns"] for sample in samples if sample["cpu_ns"]]
        row[what] = {
            "mpps": statistics.median(rate),
            "mpps_wall": statistics.median(sample["pps"] / 1e6 for sample in samples),
            "cycles": statistics.median(cycles),
            "cycles_min": min(cycles),
            "cycles_max": max(cycles),
            "rounds": len(samples),
        }
    row["ratio_io"] = row["sluice"]["mpps"] / row["io"]["mpps"]
    row["ratio_5tswap"] = row["sluice"]["mpps"] / row["5tswap"]["mpps"]
    row["beyond_io"] = row["sluice"]["cycles_min"] - row["io"]["cycles_min"]
    return row


def table(rows):
    yield "| wire | frame | flows | testpmd io | 5tswap | sluice | of io | of 5tswap | cycles beyond io |"
    yield "|--|--|--|--|--|--|--|--|--|"
    for row in rows:
        figures = [
            f"{row[what]['mpps']:.2f} Mpps ({row[what]['cycles_min']:.0f} to {row[what]['cycles_max']:.0f} cycles)"
            for what in ("io", "5tswap", "sluice")
        ]
        yield (
            f"| {row['wire']} | {row['frame']:,} B | {row['flows']:,} | {' | '.join(figures)} "
            f"| {row['ratio_io']:.2f} | {row['ratio_5tswap']:.2f} | **{row['beyond_io']:.0f}** |"
        )
