# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench ndpi: CPU time of `sluice replay` beside ndpiReader, on the same captures.

Whole processes, user and system time as the kernel counts it for them (wait4), start-up included
and told apart; in turns (ABBA), on one CPU. Both see every packet of a capture, or it is an error.
"quiet": flows are classified, nothing is written. "written": a record of each flow to a file, EVE
JSON here, CSV there."""
import json
import os
import re
import shutil
import statistics
import subprocess

import ndpi_inputs

# Looks at every flow until its application is final, and changes nothing.
POLICY = {
    "schema_version": 1,
    "mode": "monitor",
    "rules": [{"id": "look", "match": {"category": ["p2p", "im"]}, "action": "drop"}],
    "default": "pass",
}
PROGRAMS = ("sluice", "ndpi")
TARGETS = {"bulk": 1.2, "mixed": 2.0}
FOLLOWED = {"dns": (ndpi_inputs.dns_pair, 53), "dht": (ndpi_inputs.dht_pair, 6881)}


def cpu_of(command, cpu, folder):
    """(seconds of user and system time, standard output)."""
    out = os.path.join(folder, "output")
    with open(out, "w+", encoding="utf-8", errors="replace") as file:
        words = ["taskset", "-c", str(cpu), *command]
        with subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        file.seek(0)
        text = file.read()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {text[-800:]}")
    return usage.ru_utime + usage.ru_stime, text


class Bench:
    def __init__(self, root, sluice, folder, cpu):
        self.root, self.sluice, self.folder, self.cpu = root, sluice, folder, cpu
        self.policy = os.path.join(folder, "policy.json")
        with open(self.policy, "w", encoding="utf-8") as file:
            json.dump(POLICY, file)

    def command(self, program, path, written, cache="cache"):
        output = os.path.join(self.folder, f"flows.{program}")
        if program == "ndpi":
            return ["ndpiReader", "-q", "-i", path, *(["-C", output] if written else [])]
        words = [self.sluice, "replay", path, "-p", self.policy, "-g", os.path.join(self.root, "config", "signatures")]
        words += ["--cache", os.path.join(self.folder, cache)]
        return [*words, "--stats", os.path.join(self.folder, "stats.json"), *(["-e", output] if written else [])]

    def seen_by_sluice(self):
        with open(os.path.join(self.folder, "stats.json"), encoding="utf-8") as file:
            stats = json.load(file)
        counters = stats["counters"]
        if counters["flow_table_full"] or counters["flows_evicted"]:
            raise RuntimeError("sluice's flow table was full: its figures would be of less work")
        return stats["received"], stats["replay"]["records"], counters["flows_embryonic"]

    def counted(self, path):
        """Packets of the capture, as both programs count them."""
        cpu_of(self.command("sluice", path, False), self.cpu, self.folder)  # the first compiles signatures
        received, records, seen_flows = self.seen_by_sluice()
        text = cpu_of(["ndpiReader", "-i", path], self.cpu, self.folder)[1]
        found = re.search(r"IP packets:\s+(\d+)\s+of (\d+) packets total", text)
        flows = re.search(r"Unique flows:\s+(\d+)", text)
        if not found or not received == records == int(found[2]):
            raise RuntimeError(f"{path}: {records} records, sluice saw {received}, nDPI {found[2] if found else 'nothing'}")
        return {
            "packets": records,
            "flows_sluice": seen_flows,
            "ip_packets_ndpi": int(found[1]),
            "flows_ndpi": int(flows[1]),
        }

    def rounds(self, path, rounds, written):
        times = {program: [] for program in PROGRAMS}
        for turn in range(rounds):
            for program in PROGRAMS if turn % 2 == 0 else reversed(PROGRAMS):
                times[program].append(cpu_of(self.command(program, path, written), self.cpu, self.folder)[0])
        return times

    def compared(self, path, rounds, packets, written):
        times = self.rounds(path, rounds, written)
        ratios = [theirs / ours for ours, theirs in zip(times["sluice"], times["ndpi"])]
        median = {program: statistics.median(times[program]) for program in PROGRAMS}
        return {
            "cpu_s": times,
            "cpu_s_median": median,
            "packets_per_cpu_s": {program: packets / median[program] for program in PROGRAMS},
            "ratio": median["ndpi"] / median["sluice"],
            "ratio_least": min(ratios),
            "ratio_most": max(ratios),
        }

    def startup(self, path, rounds):
        """Of a capture with one packet: nothing but start and end. Cold: signatures are compiled."""
        times = self.rounds(path, rounds, False)
        cold = cpu_of(self.command("sluice", path, False, cache="cold"), self.cpu, self.folder)[0]
        return {"cold_sluice": cold, **{program: statistics.median(times[program]) for program in PROGRAMS}}

    def followed(self, name, packets, rounds, startup):
        """Nanoseconds of CPU for a packet of flows whose decoder never ends."""
        path = os.path.join(self.folder, f"{name}.pcap")
        ndpi_inputs.followed(path, *FOLLOWED[name], packets)
        counted = self.counted(path)["packets"]
        times = self.rounds(path, rounds, False)
        os.unlink(path)
        cost = {p: 1e9 * max(statistics.median(times[p]) - startup[p], 0) / counted for p in PROGRAMS}
        return {"packets": counted, "ns_per_packet": cost}


def inputs(bench, arguments, corpora):
    """(name, path, what it is), made when it is asked for."""
    if not arguments.no_bulk:
        path, scratch = os.path.join(bench.folder, "bulk.pcap"), os.path.join(bench.folder, "nginx")
        os.makedirs(scratch)
        yield "bulk", path, ndpi_inputs.bulk(path, scratch, arguments.megabytes)
    if corpora:
        for name, robust in (("mixed", False), ("mixed, with torture", True)):
            path = os.path.join(bench.folder, "mixed.pcap")
            yield name, path, ndpi_inputs.mixed(path, corpora, robust, arguments.packets)


def lacking(arguments):
    tools = ["ndpiReader", "taskset"]
    if not arguments.no_bulk:
        tools += ["nginx", "curl", "tcpdump", "openssl", "ethtool", "ip"]
    return [tool for tool in tools if not shutil.which(tool)]


def run(arguments, root, sluice, folder, corpora, say):
    bench = Bench(root, sluice, folder, max(os.sched_getaffinity(0)))
    one = os.path.join(folder, "one.pcap")
    ndpi_inputs.followed(one, ndpi_inputs.dns_pair, 53, 2, 1)
    bench.counted(one)
    report = {"kind": "ndpi", "rounds": arguments.rounds, "startup_s": bench.startup(one, arguments.rounds), "results": []}
    start = report["startup_s"]
    say(f"start-up: sluice {start['sluice']:.3f} s of CPU ({start['cold_sluice']:.2f} s cold), nDPI {start['ndpi']:.3f} s")
    for name, path, about in inputs(bench, arguments, corpora):
        row = {"input": name, "bytes": os.path.getsize(path), **about, **bench.counted(path), "target": TARGETS.get(name)}
        for way, written in (("quiet", False), ("written", True)):
            row[way] = bench.compared(path, arguments.rounds, row["packets"], written)
            got = row[way]
            say(
                f"{name}, {way}: {row['packets']} packets, sluice {got['cpu_s_median']['sluice']:.3f} s, nDPI "
                f"{got['cpu_s_median']['ndpi']:.3f} s: {got['ratio']:.2f} x its packets per CPU second "
                f"({got['ratio_least']:.2f} to {got['ratio_most']:.2f}; asked {row['target'] or 'nothing'})"
            )
        report["results"].append(row)
        os.unlink(path)
    report["followed"] = {name: bench.followed(name, arguments.packets // 4, arguments.rounds, start) for name in FOLLOWED}
    for name, got in report["followed"].items():
        cost = got["ns_per_packet"]
        say(f"followed {name}: {cost['sluice']:.0f} ns a packet, nDPI {cost['ndpi']:.0f} ns")
    return report


def table(report):
    yield "| capture | packets | flows, by nDPI | MB | | CPU s | nDPI | packets a CPU s | nDPI | **ratio** (rounds) | asked |"
    yield "|--|--|--|--|--|--|--|--|--|--|--|"
    for row in report["results"]:
        for way in ("quiet", "written"):
            got = row[way]
            cpu, rate = got["cpu_s_median"], got["packets_per_cpu_s"]
            yield (
                f"| {row['input']} | {row['packets']:,} | {row['flows_sluice']:,}, {row['flows_ndpi']:,} | {row['bytes'] / 1e6:,.0f} | {way} | {cpu['sluice']:.3f} "
                f"| {cpu['ndpi']:.3f} | {rate['sluice'] / 1e6:.2f} M | {rate['ndpi'] / 1e6:.2f} M | **{got['ratio']:.2f}** "
                f"({got['ratio_least']:.2f} to {got['ratio_most']:.2f}) | {row['target'] or ''} |"
            )
    start = report["startup_s"]
    yield ""
    yield "| | sluice | nDPI |"
    yield "|--|--|--|"
    yield f"| start-up, in all of the above | {start['sluice']:.3f} s | {start['ndpi']:.3f} s |"
    yield f"| the same, signatures compiled | {start['cold_sluice']:.2f} s | |"
    for name, got in report["followed"].items():
        cost = got["ns_per_packet"]
        yield f"| a packet of a followed flow ({name}) | {cost['sluice']:.0f} ns | {cost['ndpi']:.0f} ns |"
