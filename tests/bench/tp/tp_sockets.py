# SPDX-License-Identifier: BSD-3-Clause
"""tools/tpbench rtt, xfer1m and loopback4m: seeds 001 and 003 again, over plain sockets with the system's defaults."""
import os
import statistics

import tp_environment
import tp_numbers
from tp_report import Failure, Progress, run_rows, say

BASE = ("tcp", "udp", "sendfile")
EXTRAS = ("tcp-zerocopy", "tcp-uring", "udp-gso", "mptcp")
CONTROLS = ("tcp-cubic", "tcp-reno", "tcp-bbr")
TRANSPORTS = BASE + EXTRAS + CONTROLS
DATAGRAMS = ("udp", "udp-gso")
SIZES = (*range(64, 4097, 64), *range(4352, 16385, 256), *range(17408, 65537, 1024))
QUICK_SIZES = (
    64, 256, 512, 1024, 1280, 1408, 1472, 1536, 2048, 2816, 3072, 4096, 6144, 8192, 12288, 13312, 16384, 32768, 49152, 65536,
)  # fmt: skip
XFER_SIZES = (64, 128, 256, *range(512, 4097, 256), *range(5120, 16385, 1024), 32768, 65536)
XFER_QUICK = (512, 1024, 1500, 2560, 4096, 8192, 16384, 65536)
XFER_OCTETS = 1024 * 1000  # the papers' 1 MB
CHUNK = 16  # sizes that one transport runs before the next has its turn
BULK_WAYS = ("tcp", "udp", "raw-ip")
BULK_OCTETS = 4 << 20
BULK_BUFFERS = (65536, 262144, 1048576, 4194304)  # tried for TCP, "tuned precisely by changing socket buffer sizes"
MEASURED = ("asked", "count", "lost", "late", "wall_ns", "cpu_ns", "cpu_server_ns")


def program(build, name):
    path = os.path.join(build, "tests", "bench", "tp", name)
    if not os.access(path, os.X_OK):
        raise Failure(f"{path} is not there: build it, or name a build by --build")
    return path


def ends(environment, names, pin):
    """Options of a program for the two ends: namespaces and CPUs."""
    options = []
    cpus = pin or ((environment.cpu, environment.cpu) if environment.cpu is not None else (None, None))
    for side, namespace, cpu in zip(names, (environment.client, environment.server), cpus):
        if namespace:
            options += [f"--{side}-ns", namespace]
        if cpu is not None:
            options += [f"--{side}-cpu", str(cpu)]
    return [*options, "--address", environment.address]


class Stage:
    """One environment after the other; an environment that cannot be made is a row that says why."""

    def __init__(self, arguments, root, build, about):
        self.arguments, self.root, self.build, self.about = arguments, root, build, about
        self.rows, self.samples = [], []

    def each(self, names, measure):
        for name in names:
            try:
                with tp_environment.make(name, self.arguments.prefix, self.root, self.build) as environment:
                    self.about["environments"][name] = environment.about
                    self.about["sysctl"][name] = environment.sysctls()
                    measure(environment)
            except tp_environment.Unavailable as error:
                say(f"tpbench: {name}: n/a ({error})")
                self.rows.append(absent(name, None, str(error)))


def absent(environment, transport, reason):
    return {
        "env": environment, "transport": transport, "size": None, "asked": 0, "count": 0, "lost": 0, "incomplete": True,
        "able": False, "reason": f"n/a ({reason})",
    }  # fmt: skip


def chunks(sizes):
    return [sizes[at : at + CHUNK] for at in range(0, len(sizes), CHUNK)]


def in_turns(names, rounds):
    """ABBA: whatever drifts meets all alike."""
    return [name for turn in range(rounds) for name in (names if turn % 2 == 0 else reversed(names))]


def merged(parts, environment, rate):
    """The rows of one size in several rounds are one: samples side by side, counts added."""
    row = {"env": environment, "transport": parts[0]["transport"], "size": parts[0]["size"], "rounds": len(parts)}
    row.update({key: sum(part[key] for part in parts) for key in MEASURED})
    row["able"] = all(part["able"] for part in parts)
    row["incomplete"] = any(part["incomplete"] for part in parts)
    reasons = list(dict.fromkeys(part["reason"] for part in parts if part["reason"]))
    row["reason"] = None if not reasons else "; ".join(reasons) if row["able"] else f"n/a ({'; '.join(reasons)})"
    row["control"], row["rate"] = parts[0]["control"], rate
    octets = 2 * row["size"] * row["count"]
    row["cpu_ns_per_octet"] = round((row["cpu_ns"] + row["cpu_server_ns"]) / octets, 4) if octets else None
    samples = [sample for part in parts for sample in part.get("samples_ns", ())]
    row.update(tp_numbers.summary(samples))
    return row, samples


def rtt_plan(arguments, name):
    """(sizes, transports, count, rounds, warm-up, time-out in ms, seconds a row) of an environment."""
    slow = name == "wan"
    transports = arguments.transport or (BASE + CONTROLS[:1] if arguments.quick and name in tp_environment.SLOW else TRANSPORTS)
    sizes = arguments.sizes or (QUICK_SIZES if arguments.quick else SIZES)
    count = arguments.count or ((8 if slow else 40) if arguments.quick else 50 if slow else 200)
    rounds = 1 if slow or count < 8 else 2 if arguments.quick else 4
    warm_up = arguments.warm_up if arguments.warm_up is not None else 2 if slow else 10
    timeout = arguments.timeout_ms or {"wan": 1500, "man": 400}.get(name, 200)
    return sizes, transports, count, rounds, warm_up, timeout, arguments.row_seconds or (15 if arguments.quick else 120)


def rtt(arguments, root, build, about):
    stage = Stage(arguments, root, build, about)
    plans = {name: rtt_plan(arguments, name) for name in arguments.env}
    progress = Progress(sum(len(plan[0]) * len(plan[1]) * plan[3] for plan in plans.values()))

    def measure(environment):
        sizes, transports, count, rounds, warm_up, timeout, seconds = plans[environment.name]
        options = ends(environment, ("client", "server"), arguments.pin)
        options += ["--warm-up", str(warm_up), "--timeout-ms", str(timeout), "--row-seconds", str(seconds)]
        options += ["--rate", str(arguments.rate)] if arguments.rate else []
        parts = {}
        for chunk in chunks(sizes):
            for turn, transport in enumerate(in_turns(transports, rounds)):
                nth = turn // len(transports)
                share = count * (nth + 1) // rounds - count * nth // rounds
                command = [
                    program(build, "tp_rtt"), "--transport", transport, "--count", str(share),
                    "--sizes", ",".join(map(str, chunk)), *options,
                ]  # fmt: skip
                what = f"rtt {environment.name}"
                for row in run_rows(command, progress, lambda row, what=what: f"{what} {row['transport']} {row['size']} B"):
                    parts.setdefault((transport, row["size"]), []).append(row)
        for transport in transports:
            for size in sizes:
                row, samples = merged(parts[transport, size], environment.name, arguments.rate or None)
                stage.rows.append(row)
                stage.samples.append({"env": environment.name, "transport": transport, "size": size, "samples_ns": samples})

    stage.each(arguments.env, measure)
    progress.end()
    return stage.rows, stage.samples


def xfer1m(arguments, root, build, about):
    stage = Stage(arguments, root, build, about)
    sizes = arguments.sizes or (XFER_QUICK if arguments.quick else XFER_SIZES)
    transports = arguments.transport or BASE
    rounds = arguments.rounds or (3 if arguments.quick else 9)
    progress = Progress(len(arguments.env) * len(sizes) * len(transports) * rounds)

    def measure(environment):
        slow = environment.name == "wan"
        turns = min(rounds, 1 if arguments.quick else 3) if environment.name in tp_environment.SLOW else rounds
        # In lock-step each message is a round trip: a row of small messages over the WAN is minutes long.
        of = [size for size in sizes if not (slow and arguments.quick and size < 16384)]
        options = ends(environment, ("client", "server"), arguments.pin)
        options += ["--total", str(arguments.octets), "--warm-up", "0", "--no-samples"]
        options += ["--timeout-ms", "1500" if slow else "400", "--row-seconds", "600" if slow else "60", "--lost-most", "1"]
        parts = {}
        for transport in in_turns(transports, turns):
            command = [program(build, "tp_rtt"), "--transport", transport, "--sizes", ",".join(map(str, of)), *options]
            for row in run_rows(command, progress, lambda row: f"xfer1m {environment.name} {row['transport']} {row['size']} B"):
                parts.setdefault((transport, row["size"]), []).append(row)
        for (transport, size), of_size in sorted(parts.items(), key=lambda item: (transports.index(item[0][0]), item[0][1])):
            row, _ = merged(of_size, environment.name, None)
            times = sorted(part["wall_ns"] / 1e6 for part in of_size if not part["incomplete"])
            row["octets"] = arguments.octets
            if times and not row["incomplete"]:
                row.update(min_ms=round(times[0], 3), median_ms=round(statistics.median(times), 3), max_ms=round(times[-1], 3))
                # as the seed has it: the file's size by the time, though it went both ways
                row["mbit_s"] = round(arguments.octets * 8 / row["median_ms"] / 1000, 2)
            stage.rows.append(row)

    stage.each(arguments.env, measure)
    progress.end()
    return stage.rows


def bulk_rows(command, progress, environment):
    rows = run_rows(command, progress, lambda row: f"loopback4m {row['transport']} {row['size']} B")
    for row in rows:
        row["env"] = environment
        row["mbit_s"] = round(row["bytes"] * 8 / row["wall_ns"] * 1000, 1) if row["wall_ns"] else None
    return rows


def tune(command, size, progress, environment):
    """The buffer with which TCP is the fastest, 5 runs each: (octets, {octets: Mbit/s})."""
    speeds = {}
    for buffer in BULK_BUFFERS:
        rows = bulk_rows([*command, "--buffer", str(buffer), "--sizes", str(size), "--runs", "5"], progress, environment)
        speeds[buffer] = statistics.median(row["mbit_s"] or 0 for row in rows)
    return max(speeds, key=speeds.get), speeds


def loopback4m(arguments, root, build, about):
    stage = Stage(arguments, root, build, about)
    sizes = arguments.sizes or ([1472, 8192, 32768] if arguments.quick else [512, 1024, 1472, 4096, 8192, 16384, 32768, 61440])
    runs = arguments.runs or (10 if arguments.quick else 50)
    progress = Progress(2 * len(BULK_WAYS) * len(sizes) * runs - len(sizes) * runs + len(BULK_BUFFERS) * 5)
    raw = []

    def measure(environment):
        options = [*ends(environment, ("sender", "receiver"), arguments.pin), "--bytes", str(arguments.octets)]
        best, speeds = tune([program(build, "tp_bulk"), "--way", "tcp", *options], max(sizes), progress, environment.name)
        about["tcp_buffer"], about["tcp_buffers_tried_mbit_s"] = best, speeds
        for way, buffer in [("tcp", best), *((way, buffer) for way in BULK_WAYS[1:] for buffer in (0, 2 * arguments.octets))]:
            command = [program(build, "tp_bulk"), "--way", way, "--sizes", ",".join(map(str, sizes)), "--runs", str(runs)]
            rows = bulk_rows([*command, "--buffer", str(buffer), *options], progress, environment.name)
            raw.extend(rows)
            stage.rows.extend(bulk_summary([row for row in rows if row["size"] == size]) for size in sizes)

    stage.each(["lo"], measure)
    progress.end()
    return stage.rows, raw


def bulk_summary(rows):
    """The runs of one size: delivered bits a second, and what was lost on the way."""
    first = rows[0]
    row = {key: first[key] for key in ("env", "transport", "size", "buffer", "rcvbuf", "asked_bytes", "messages")}
    good = [r for r in rows if not r["reason"]]
    row.update(runs=len(rows), lost=sum(r["lost"] for r in good), refused=sum(r["refused"] for r in good))
    row["loss"] = round(row["lost"] / (first["messages"] * len(good)), 4) if good else None
    row["able"], row["incomplete"] = bool(good), bool(row["lost"] or len(good) < len(rows))
    row["reason"] = next((f"n/a ({r['reason']})" for r in rows if r["reason"]), "messages were lost" if row["lost"] else None)
    speeds = sorted(r["mbit_s"] for r in good if r["mbit_s"] is not None)
    if speeds:
        for name, share in (("min", 0), ("q1", 0.25), ("median", 0.5), ("q3", 0.75), ("max", 1)):
            row[f"{name}_mbit_s"] = round(tp_numbers.quantile(speeds, share), 1)
    octets = sum(r["bytes"] for r in good)
    row["cpu_ns_per_octet"] = round(sum(r["cpu_ns"] for r in good) / octets, 4) if octets else None
    return row
