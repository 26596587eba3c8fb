# SPDX-License-Identifier: BSD-3-Clause
"""docs/transports-measured.md, made of the reports: our figures beside the papers'."""
import csv
import os
import shutil

import tp_plot
import tp_report

BASE = ("tcp", "udp", "sendfile")
SHOWN_SIZES = (64, 512, 1472, 2816, 4096, 8192, 13312, 16384, 32768, 65536)
PLOTS = ("rtt", "burst", "trains", "loopback4m", "xfer1m")
# The paper on sizes, section 5 and figures: from which size on TCP got faster, by network.
PAPER_SPEED_UP = {"1G": "2,800 (sendfile 2,600)", "100M": "1,400", "man": "1,800", "wan": "1,400"}
PAPER_LOSS = {"man": "> 13 KB", "wan": "every size"}


def number(value, digits=None):
    if value is None:
        return "-"
    if digits is None:
        digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}"


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "--|" * len(head)
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"


def latency(rows):
    """Figure 5."""
    head = ("transport", "octets", "paper, ms", "ours, ms", "plain sockets, ms", "ratio", "of medians", "to connected", "to epoll", "min", "q1", "median", "q3", "p99", "max, us", "lost")
    lines, peers = [], {}
    for row in rows:
        key = (row["transport"], row["size"])
        if row.get("way") == "transport" and not row["able"]:
            lines.append((row["transport"] or "", "", "", row["reason"], *[""] * (len(head) - 4)))
        elif row.get("way") == "transport":
            bare = next((r["total_ms"] for r in rows if (r["transport"], r["size"], r.get("way")) == (*key, "bare")), None)
            times = [number(row.get(f"{name}_us")) for name in ("min", "q1", "median", "q3", "p99", "max")]
            ratios = (number(row["ratio_bare"]), f"**{number(row['ratio_bare_medians'])}**", number(row.get("ratio_connected_medians")), number(row["ratio_epoll_medians"]))
            lines.append((*key, row["paper_ms"] or "", number(row["total_ms"]), number(bare), *ratios, *times, row["lost"]))
        elif row.get("way") in ("sockperf", "qperf"):
            peers.setdefault((row["way"], row["transport"]), {})[row["size"]] = row
    yield from table(head, lines)
    if peers:
        sizes = sorted({size for of in peers.values() for size in of})
        yield ""
        yield "Half a round trip between two processes, by others' programs (microseconds; sockperf its median, qperf its mean):"
        yield ""
        cells = [
            (name, transport, *(number(of[s]["median_us"]) if of[s]["able"] else of[s]["reason"] for s in sizes))
            for (name, transport), of in peers.items()
        ]  # fmt: skip
        yield from table(("program", "transport", *(f"{size} B" for size in sizes)), cells)


def percent(value):
    return "-" if value is None else f"{value * 100:.1f} %" if value else "0"


def burst(rows):
    """Figure 6."""
    head = ("where", "transport", "SO_RCVBUF", "paper, at most kB/s", "ours, at most kB/s", "median run, kB/s", "dropped by the transport", "lost on the way", "lost in all")
    yield from table(head, (
        (r["env"], r["transport"], r["rcvbuf"], number(r["paper_kb_s"]), number(r["max_kb_s"]), number(r["kb_s"]),
         f"{r['dropped']:,} of {r['attempts']:,}", f"{r['lost']:,}", percent(r["loss"]))
        if r["able"] else (r["env"], r["transport"] or "", r.get("rcvbuf", ""), "", r["reason"], "", "", "", "")
        for r in rows
    ))  # fmt: skip


def throughput(rows):
    head = ("where", "transport", "way", "octets", "Mbit/s received", "ratio to iperf3", "not received", "CPU, ns a message")
    yield from table(head, (
        (r["env"], r["transport"], r["way"], r["size"] or "its own", number(r["mbit_s"]),
         f"**{number(r['ratio_iperf3'])}**" if r.get("ratio_iperf3") else "", percent(r["loss"]), number(r.get("cpu_ns_per_message")))
        if r["able"] else (r["env"], r["transport"] or "", r.get("way", ""), "", r["reason"], "", "", "")
        for r in rows
    ))  # fmt: skip


def trains(rows):
    """Figure 7: the point tuned by hand, the best of the search, the best of the clock."""
    words = {"hand": "by hand", "search": "best of the search", "clock": "best by the clock"}
    lines = []
    for row in rows:
        if row["able"] and (row.get("mode") == "hand" or row.get("best")):
            how = f"{row['pace_mbit']} Mbit/s of payload" if row["mode"] == "clock" else f"trains of {row['train']}, gaps of {row['gap_ms']} ms"
            lines.append((row["env"], row["transport"], words[row["mode"]], how, number(row["paper_kb_s"]), number(row["kb_s"]), percent(row["loss"])))
        elif not row["able"] and row.get("mode", "hand") == "hand":
            lines.append((row["env"], row["transport"] or "", "", "", "", row["reason"], ""))
    yield from table(("where", "transport", "pacing", "", "paper, kB/s", "ours, kB/s", "lost"), lines)


def rtt(rows, crossovers, thresholds):
    environments = list(dict.fromkeys(row["env"] for row in rows))
    of = {(row["env"], row["transport"], row["size"]): row for row in rows}
    sizes = [size for size in SHOWN_SIZES if any((env, "tcp", size) in of for env in environments)]

    def cell(row):
        if not row or not row.get("median_us"):
            return "n/a" if row and not row["able"] else "lost" if row else ""
        return number(row["median_us"] / 1000, 3) + (" (lost " + str(row["lost"]) + ")" if row["lost"] else "")

    yield from table(
        ("where", "protocol", *(f"{size:,}" for size in sizes)),
        ((env, name, *(cell(of.get((env, name, size))) for size in sizes)) for env in environments for name in BASE if any((env, name, size) in of for size in sizes)),
    )
    for row in rows:
        if row["size"] is None:
            yield f"\n{row['env']}: {row['reason']}"
    yield ""
    yield "Where the order of two medians flips for three sizes or more (crossovers.csv), of the papers' three protocols:"
    yield ""
    lines = [
        (c["env"], f"{c['below']} below, {c['from_here']} from {int(c['size']):,} B on", number(float(c["below_us"])), number(float(c["from_here_us"])))
        for c in crossovers if c["kind"] == "order" and {c["below"], c["from_here"]} <= set(BASE)
    ]  # fmt: skip
    yield from table(("where", "which is the faster", "the one, us", "the other, us"), lines or [("-", "nowhere", "", "")])
    yield ""
    yield "The paper's UDP is the best below about 2,800 B in its LAN; its TCP gets faster by the size, where ours has:"
    yield ""
    ups = {}
    for c in crossovers:
        if c["kind"] == "speed-up" and c["from_here"] in BASE:
            ups.setdefault(c["env"], []).append(f"{c['from_here']} at {int(c['size']):,} B ({number(float(c['below_us']))} to {number(float(c['from_here_us']))} us)")
    yield from table(("where", "paper: faster from, B", "ours"), ((env, PAPER_SPEED_UP.get(env, "-"), "; ".join(ups.get(env, ["no size"]))) for env in environments))
    yield ""
    yield "Loss, where there was any (loss-thresholds.csv); a datagram is sent once, and what does not come back in time is lost:"
    yield ""
    lines = [
        (t["env"], t["transport"], PAPER_LOSS.get(t["env"], "-"), t["complete_up_to"] or "none", t["incomplete_from"] or "none", f"{t['lost']} of {t['asked']}")
        for t in thresholds
    ]  # fmt: skip
    head = ("where", "protocol", "paper: too much lost at", "all sizes complete up to, B", "none complete from, B", "lost")
    yield from table(head, lines or [("-", "nothing was lost", "", "", "", "")])


def extras(rows):
    """What the seed did not have, at three sizes."""
    names = [name for name in dict.fromkeys(row["transport"] for row in rows if row["transport"]) if name not in BASE]
    of = {(row["env"], row["transport"], row["size"]): row for row in rows}
    sizes = [size for size in (64, 4096, 65536, 32768) if any(key[2] == size for key in of)][:3]
    for environment in ("lo", "veth", "100M"):
        lines = []
        for name in ("tcp", *names):
            cells = [of.get((environment, name, size)) for size in sizes]
            if any(cells):
                lines.append((environment, name, *(number(c["median_us"]) if c and c.get("median_us") else "n/a" for c in cells),
                              *(number(c["cpu_ns_per_octet"]) if c and c.get("cpu_ns_per_octet") else "n/a" for c in cells)))  # fmt: skip
        if lines:
            head = ("where", "protocol", *(f"{s:,} B, us" for s in sizes), *(f"{s:,} B, CPU ns/octet" for s in sizes))
            yield from table(head, lines)
            yield ""


def xfer1m(rows):
    environments = list(dict.fromkeys(row["env"] for row in rows))
    sizes = sorted({row["size"] for row in rows if row["size"]})
    of = {(row["env"], row["transport"], row["size"]): row for row in rows}

    def cell(row):
        return "" if not row else number(row["median_ms"], 1) if row.get("median_ms") else "lost" if row["able"] else "n/a"

    yield from table(
        ("where", "protocol", *(f"{size:,}" for size in sizes)),
        ((env, name, *(cell(of.get((env, name, size))) for size in sizes)) for env in environments for name in BASE),
    )


def loopback4m(rows):
    head = ("way", "octets of a message", "median, Mbit/s delivered", "quartiles", "lost", "CPU, ns/octet")
    yield from table(head, (
        (r["transport"] + (f", buffers {r['buffer'] >> 10} KiB" if r["buffer"] else ""), f"{r['size']:,}", number(r["median_mbit_s"]),
         f"{number(r['q1_mbit_s'])} to {number(r['q3_mbit_s'])}", percent(r["loss"]), number(r["cpu_ns_per_octet"]))
        if r.get("median_mbit_s") else (r["transport"], r["size"] or "", r["reason"], "", "", "")
        for r in rows
    ))  # fmt: skip


TEXT = """# Transports, measured

What messages cost on this machine, beside what the papers measured: made by one command,

    tools/tpbench all{quick}

which wrote this page from its reports (JSON, CSV, samples and plots in the folder of `--output`; `--document-only` writes it again).
Quote ratios of one run, never digits across machines. How each figure is measured: [tests/bench/tp](../tests/bench/tp/README.md);
the library: lib/transportapi. The papers: "A Transport Layer Abstraction for Peer-to-Peer Networks" (2003, here *transports*), an
evaluation of TCP, UDP and sendfile by message size (*sizes*), "Improving End-to-End Throughput for File Transfer Using Combined Layers" (*layers*).

{machine}
"""

SECTIONS = (
    ("latency", "1,000 messages to oneself (transports, figure 5)",
     "One process, one session, a message when the one before is here; `plain sockets` send and receive in the same process with no "
     "loop, datagrams by one socket for all peers (sendto, recvfrom), as the transport has it; `connected` is a socket for this peer alone, "
     "`epoll` waits between the two calls as loops do. The ratio is of whole rounds, each way in its turn (ABBA), the median of all; beside it that "
     "of the medians of single messages, which a busy machine moves less; aim: at most 1.3. Nearly all of it is "
     "the kernel's either way: of udp's time some 2 % are the library's own instructions (perf). "
     "The paper's machine was a Pentium III at 1 GHz."),
    ("burst", "1,000 messages of 1,200 octets without spacing (transports, figure 6)",
     "Two namespaces, 100 Mbit/s by tbf each way. A message that the transport could not hand to the kernel at once is dropped and counted; "
     "nothing is sent again. The most kB/s that had come by any millisecond from the 10th on. The line carries 11,700 kB/s of such messages, and "
     "two frames at once. What the kernel takes at once is its send buffer, whatever the receiver's: more must be dropped by who never waits."),
    ("throughput", "Unspaced for longer, beside iperf3",
     "The same messages for some seconds, received octets by the time until the last one; iperf3 with the same message size in the same run, in "
     "turns. `unspaced` never waits: what would block is dropped; `heeding` waits while `send_estimate` says so. Aim: 0.8 of iperf3."),
    ("trains", "Trains and pacing (transports, figure 7)",
     "1,000 messages of 1,200 octets in trains with gaps between, on 100 Mbit/s; the search takes the fastest that lost least."),
    ("rtt", "Round trips by size (sizes, figures 1 to 6)",
     "Median round trip in milliseconds, plain sockets with the system's defaults; `lost` where none came back. man and wan go through the "
     "gateway's own [impairment stage](impairment.md): man 0.75 ms each way and 100 Mbit/s; wan 90 ms and 5 ms of jitter each way, 10 Mbit/s, 1 % of "
     "packets lost each way: our assumptions, the paper gives none. Nothing is pinned: where the kernel has both ends on one CPU loopback takes about "
     "12 us, on two about 22, and a row may have either; order and speed-up by less than that say nothing of a protocol. tbf lets two frames leave at once."),
    ("extras", "Protocols that the paper did not have",
     "Median round trip, and CPU time of both processes per octet carried, either way."),
    ("xfer1m", "1 MB both ways in lock-step (sizes, table 1)",
     "Milliseconds for 1,024,000 octets in messages of a size, each sent back before the next; `lost`: a datagram was, and the transfer never ends."),
    ("loopback4m", "4 MB from process to process (layers, figure 2)",
     "Delivered octets by the time to the last one. TCP with the buffers that were the fastest of those tried; UDP and raw IP as the system has "
     "them, and with buffers for all of it: nobody slows the sender, so what the receiver does not take in time is lost. The paper's figure is a "
     "plot without numbers, of a SparcStation 10."),
)  # fmt: skip


def read_csv(path):
    if not os.path.exists(path):
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def machine(about):
    control = about["cc"]
    yield f"- {about['cpus']} CPUs, {about['cpu']}; Linux {about['kernel']}; {about['compiler']}, {about['build']}"
    yield f"- TCP's congestion control by default: {control}; commit {about['git']}{' with changes' if about['modified'] else ''}; {about['time'][:10]}"


def body(name, reports, folder):
    if name == "extras":
        yield from extras(reports["rtt"]["rows"])
        return
    rows = reports[name]["rows"]
    if name == "rtt":
        yield from rtt(rows, read_csv(os.path.join(folder, "crossovers.csv")), read_csv(os.path.join(folder, "loss-thresholds.csv")))
        return
    yield from {"latency": latency, "burst": burst, "throughput": throughput, "trains": trains, "xfer1m": xfer1m, "loopback4m": loopback4m}[name](rows)


def write(folder, path):
    """The document of the reports in `folder`, and its plots beside it; returns their paths."""
    names = [name for name, _, _ in SECTIONS if name != "extras"]
    reports = {name: tp_report.read(os.path.join(folder, f"{name}.json")) for name in names}
    loads = [report["meta"]["load"] for report in reports.values()]
    facts = [*machine(reports["latency"]["meta"]), f"- load when each part began: {min(loads):.1f} to {max(loads):.1f} (ours not yet in it)"]
    text = TEXT.format(quick=" --quick" if reports["rtt"]["meta"].get("quick") else "", machine="\n".join(facts))
    written = [path]
    stem = os.path.splitext(path)[0]
    small(folder, reports)
    for name, title, words in SECTIONS:
        text += f"\n## {title}\n\n{words}\n\n" + "\n".join(body(name, reports, folder)).rstrip() + "\n"
        plot = os.path.join(folder, "document", f"{name}.svg")
        if name in PLOTS and os.path.exists(plot):
            written.append(f"{stem}-{name}.svg")
            shutil.copyfile(plot, written[-1])
            text += f"\n![{title}]({os.path.basename(written[-1])})\n"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return written


def small(folder, reports):
    """Plots for the document: the papers' protocols alone."""
    into = os.path.join(folder, "document")
    os.makedirs(into, exist_ok=True)
    tp_plot.medians(into, [row for row in reports["rtt"]["rows"] if row["transport"] in BASE], "rtt")
    tp_plot.xfer1m(into, reports["xfer1m"]["rows"])
    tp_plot.loopback4m(into, reports["loopback4m"]["rows"])
    tp_plot.trains(into, reports["trains"]["rows"])
    tp_plot.burst(into, tp_report.samples(folder, "burst"))

