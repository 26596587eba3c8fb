# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench bulk: downloads through `sluice run` and through dpdk-testpmd (io), in the lab.

Both forward between the same two veth interfaces by af_xdp, with one data lcore on the same CPU, in turns (ABBA).
A frame that the RX ring had no room for is counted by the kernel (rx_dropped of the gateway's interface), for both
alike."""
import json
import os
import statistics
import subprocess
import threading

from bench_fastpass import Lab, policies

CONNECTIONS = (1, 8, 100)
PROGRAMS = ("testpmd", "sluice")
ASKED = 0.90
PORT = 5201


def counter(lab, side, interface, name):
    path = f"/sys/class/net/{interface}/statistics/{name}"
    return int(lab.ip("netns", "exec", f"{lab.prefix}-{side}", "cat", path))


def counters(lab):
    """Frames that reached the gateway's interfaces, and those of them that it had no room for."""
    frames = counter(lab, "c", "c0", "tx_packets") + counter(lab, "s", "s0", "tx_packets")
    missed = sum(counter(lab, "g", name, "rx_dropped") for name in ("gA", "gB"))
    return frames, missed


def download(lab, connections, seconds):
    """Mbit/s that arrived."""
    drain = None
    server = subprocess.Popen(  # pylint: disable=consider-using-with
        lab.inside("s", "iperf3", "-s", "-1", "-p", str(PORT), "--forceflush"), stdout=subprocess.PIPE, text=True)
    try:
        for line in server.stdout:
            if "listening" in line:
                break
        # It reports each connection every second, and waits for ever if nobody reads that.
        drain = threading.Thread(target=server.stdout.read)
        drain.start()
        command = lab.inside("c", "iperf3", "-c", "10.77.0.2", "-p", str(PORT), "-R", "-J", "-P", str(connections),
                             "-O", "1", "-t", str(seconds))
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=5 * seconds + 120, check=False)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"iperf3 with {connections} connections does not end") from None
        report = json.loads(done.stdout)
        if "error" in report:
            raise RuntimeError(f"iperf3: {report['error']}")
        return report["end"]["sum_received"]["bits_per_second"] / 1e6
    finally:
        server.kill()
        server.wait()
        if drain:
            drain.join()
        server.stdout.close()


def measure(lab, connections, arguments, policy):
    lab.call("gateway", "start", policy, options=f"--set idle_sleep=false {arguments.options}")
    try:
        before = counters(lab)
        rate = download(lab, connections, arguments.seconds)
        after = counters(lab)
    finally:
        lab.call("gateway", "stop")
    return {"mbit_s": round(rate, 1), "frames": after[0] - before[0], "missed": after[1] - before[1]}


def row_of(connections, runs):
    """The median ratio of neighbours in time; sums of the frames."""
    row = {"connections": connections, "rounds": len(runs["sluice"])}
    for program, got in runs.items():
        row[program] = {
            "mbit_s": round(statistics.median(run["mbit_s"] for run in got), 1),
            "frames": sum(run["frames"] for run in got),
            "missed": sum(run["missed"] for run in got),
        }
    ratios = [ours["mbit_s"] / theirs["mbit_s"] for ours, theirs in zip(runs["sluice"], runs["testpmd"])]
    row.update(ratio=round(statistics.median(ratios), 3), ratio_least=round(min(ratios), 3), ratio_most=round(max(ratios), 3))
    return row


def run(arguments, root, build, folder, say):
    policy, prefix, results = policies(folder)["none"], arguments.prefix or f"bb{os.getpid()}", []
    labs = {program: Lab(root, build, prefix + program[0], folder) for program in PROGRAMS}
    labs["testpmd"].environment["LAB_STANDIN"] = "1"
    with labs["testpmd"], labs["sluice"]:
        if "wire af_xdp" not in labs["sluice"].call("status"):
            raise RuntimeError("the lab's wire is not af_xdp: the kernel or the driver lacks it")
        for connections in arguments.connections or CONNECTIONS:
            runs = {program: [] for program in PROGRAMS}
            for turn in range(arguments.rounds):
                for program in PROGRAMS if turn % 2 == 0 else PROGRAMS[::-1]:
                    runs[program].append(measure(labs[program], connections, arguments, policy))
            results.append(row_of(connections, runs))
            say(line_of(results[-1]))
    return {"kind": "bulk", "seconds": arguments.seconds, "results": results}


def percent(got):
    return f"{100 * got['missed'] / got['frames']:.2f} %" if got["frames"] else "-"


def line_of(row):
    ours, theirs = row["sluice"], row["testpmd"]
    return (
        f"{row['connections']:3} connections: sluice {ours['mbit_s']:,.0f} Mbit/s, testpmd {theirs['mbit_s']:,.0f}: "
        f"{row['ratio']:.2f} x ({row['ratio_least']:.2f} to {row['ratio_most']:.2f}; asked {ASKED}); missed "
        f"{ours['missed']:,} of {ours['frames']:,} frames ({percent(ours)}), testpmd {theirs['missed']:,} of "
        f"{theirs['frames']:,} ({percent(theirs)})"
    )


def table(report):
    yield "| connections | sluice Mbit/s | testpmd io | **ratio** (rounds) | asked | frames missed | by testpmd |"
    yield "|--|--|--|--|--|--|--|"
    for row in report["results"]:
        ours, theirs = row["sluice"], row["testpmd"]
        yield (
            f"| {row['connections']} | {ours['mbit_s']:,.0f} | {theirs['mbit_s']:,.0f} | **{row['ratio']:.2f}** "
            f"({row['ratio_least']:.2f} to {row['ratio_most']:.2f}) | {ASKED} | {percent(ours)} | {percent(theirs)} |"
        )
