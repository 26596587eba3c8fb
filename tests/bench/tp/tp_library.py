# SPDX-License-Identifier: BSD-3-Clause
"""tools/tpbench latency, burst and trains: figures 5 to 7 of the paper on transports, with those of libtransportapi, each loaded by its name."""
import json
import os
import statistics

import tp_environment
import tp_gnunet
import tp_numbers
import tp_peers
from tp_report import Progress, say, tried
from tp_sockets import Stage, absent, in_turns, program

TRANSPORTS = ("udp", "tcp", "raw-ip", "unix")
SIZES = (11, 407, 1221)
PLAIN = ("bare", "bare-connected", "bare-epoll")  # sockets beside each transport; the second of datagrams alone
# Figure 5 (1,000 messages, ms), figures 6 and 7 (kB/s): a Pentium III at 1 GHz; two Xeons at 2 GHz on 100 Mbit/s.
PAPER_MS = {("udp", 11): 31, ("udp", 407): 37, ("udp", 1221): 46, ("tcp", 11): 55, ("tcp", 407): 62, ("tcp", 1221): 73}
PAPER_BURST = {"udp": 4169, "tcp": 3627}
PAPER_TRAINS = {"udp": 2343, "tcp": 3310}
MESSAGE = 1200  # octets, of figures 6 and 7
BUFFERS = (0, 8 << 20)  # SO_RCVBUF: the system's, and 8 MiB
TRAINS = (1, 2, 4, 8, 16, 32, 64)
GAPS_MS = (0, 0.5, 1, 2, 3, 5, 10)
# 8 frames of 1,282 octets with all headers in 1 ms are 82 Mbit/s: below the line, with room for a late timer.
BY_HAND = (8, 1.0)
PACES_MBIT = (60, 70, 80, 85, 90, 92, 94, 96)


def configuration(transport, environment, side, folder, rcvbuf=None):
    """What the transport of one side is told: its own address, loopback allowed."""
    address = environment.address if side == "server" else environment.client_address
    section = {"bind": [address]}
    if transport in ("udp", "tcp"):
        section.update(port=20860 if side == "server" else 20861, ipv6=False)
    elif transport == "raw-ip":
        section.update(ipv6=False)
    elif transport == "unix":
        section = {"path": os.path.join(folder, f"{side}.sock")}
    if rcvbuf is not None and transport == "udp":
        section["receive_buffer_bytes"] = rcvbuf
    return json.dumps({"transports": [transport], "acl": {"local": True, "private": True}, transport: section})


def latency_rows(parts, transport, size):
    """Of one transport and size: a row for each way, the transport's with its ratios to plain sockets of the same round."""
    ways = {}
    for part in parts:
        if part["size"] == size:
            ways.setdefault(part["way"], {})[part["round"]] = part
    for way in ("transport", *PLAIN):
        rounds = ways.get(way, {})
        if not rounds:
            continue
        lost = sum(part["lost"] for part in rounds.values())
        count = sum(part["count"] for part in rounds.values())
        per_thousand = [part["total_ns"] / 1e6 * 1000 / (part["count"] + part["lost"]) for part in rounds.values()]
        row = {
            "env": "lo", "transport": transport, "way": way, "size": size, "rounds": len(rounds), "count": count, "lost": lost,
            "loss": round(lost / (count + lost), 6), "incomplete": lost > 0, "able": True, "reason": "messages were lost" if lost else None,
            "total_ms": round(statistics.median(per_thousand), 3), "total_min_ms": round(min(per_thousand), 3),
            "cpu_ns_per_message": round(sum(part["cpu_ns"] for part in rounds.values()) / (count + lost)),
            "paper_ms": PAPER_MS.get((transport, size)) if way == "transport" else None,
        }  # fmt: skip
        row.update(tp_numbers.summary([sample for part in rounds.values() for sample in part["samples_ns"]]))
        if way == "transport":
            for other in PLAIN:
                name = other.replace("bare-", "ratio_").replace("bare", "ratio_bare")
                both = [rounds[n]["total_ns"] / ways[other][n]["total_ns"] for n in rounds if n in ways.get(other, {})]
                row[name] = round(statistics.median(both), 3) if both else None
                theirs = [sample for part in ways.get(other, {}).values() for sample in part["samples_ns"]]
                row[f"{name}_medians"] = round(row["median_us"] * 1000 / statistics.median(theirs), 3) if theirs and count else None
        yield row


def peer_rows(environment, sizes, seconds, progress):
    """Half a round trip between two processes, by others' programs."""
    for name, measure, what in (
        ("sockperf", tp_peers.sockperf, "median of half a round trip"),
        ("qperf", tp_peers.qperf, "mean of half a round trip"),
    ):
        for transport in ("udp", "tcp"):
            for size in sizes:
                row = {"env": "lo", "transport": transport, "way": name, "size": size, "incomplete": False, "able": True, "what": what}
                try:
                    row["median_us"] = round(measure(environment, transport, size, seconds), 3)
                    row.update(total_ms=row["median_us"], reason=None)
                except tp_peers.Absent as error:
                    row.update(able=False, incomplete=True, reason=f"n/a ({error})")
                progress.step(f"latency {name} {transport} {size} B")
                yield row


def latency(arguments, root, build, about, folder):
    stage = Stage(arguments, root, build, about)
    transports = arguments.transport or TRANSPORTS
    sizes = arguments.sizes or SIZES
    rounds = arguments.rounds or (3 if arguments.quick else 9)
    peers = 0 if arguments.no_peers else 4 * len(sizes)
    ways = sum(4 if name in ("udp", "raw-ip") else 3 for name in transports)
    progress = Progress(ways * len(sizes) * rounds + peers)

    def measure(environment):
        for transport in transports:
            command = [
                program(build, "tp_latency"), "--transport", transport, "--sizes", ",".join(map(str, sizes)), "--count",
                str(arguments.count or 1000), "--rounds", str(rounds), "--conf",
                configuration(transport, environment, "server", folder),
            ]  # fmt: skip
            command += ["--ns", environment.server] if environment.server else []
            command += ["--cpu", str(arguments.pin[0])] if arguments.pin else []
            parts, reason = tried(command, progress, lambda row: f"latency {row['transport']} {row['way']} {row['size']} B")
            if reason:
                stage.rows.append({**absent("lo", transport, reason), "way": "transport"})
                say(f"tpbench: {transport}: n/a ({reason})")
            for size in sizes:
                stage.rows.extend(latency_rows(parts, transport, size))
            stage.samples.extend(parts)
        if peers:
            stage.rows.extend(peer_rows(environment, sizes, 1 if arguments.quick else 3, progress))

    stage.each(["lo"], measure)
    progress.end()
    return stage.rows, stage.samples


def measured(rows):
    """What the selection mode "measured" of the library reads (transportapi/core/cost_table.h)."""
    return {
        "rows": [
            {"transport": row["transport"], "size": row["size"], "median_us": row["median_us"], "loss": row["loss"]}
            for row in rows
            if row.get("way") == "transport" and row["able"] and row.get("median_us")
        ]
    }


def stream(build, environment, folder, transport, *options, rcvbuf=None, pin=None):
    """The command of one way between the two ends of an environment."""
    command = [program(build, "tp_stream"), "--transport", transport]
    for side, end in (("client", "sender"), ("server", "receiver")):
        namespace = environment.client if side == "client" else environment.server
        buffer = rcvbuf if side == "server" else None
        command += [f"--conf-{end}", configuration(transport, environment, side, folder, buffer)]
        command += [f"--{end}-ns", namespace] if namespace else []
    if pin is None and environment.cpu is not None:
        pin = (environment.cpu, environment.cpu)
    if pin:
        command += ["--sender-cpu", str(pin[0]), "--receiver-cpu", str(pin[1])]
    quiet = ["--quiet-ms", 2000 if environment.name in tp_environment.SLOW else 100]
    return [*command, *map(str, [*options, *quiet])]


def rate_of(part):
    """kB/s, of 1,000 octets, from the first send to the last arrival."""
    return round(part["bytes"] * 1e6 / part["wall_ns"], 1) if part["wall_ns"] else 0.0


def best_of(part):
    """The most that had come by any millisecond (from 10 on), as kB/s: figure 6's steepest line from the origin."""
    most = max((share / ms for ms, share in enumerate(part.get("curve", ())) if ms >= 10), default=0)
    return round(most * part["attempts"] * part["size"], 1)


def stream_row(parts, environment, transport, **more):
    """The runs of one setting."""
    good = [part for part in parts if not part["reason"]]
    attempts, received = sum(p["attempts"] for p in good), sum(p["received"] for p in good)
    row = {
        "env": environment, "transport": transport, **more, "size": parts[0]["size"], "runs": len(parts), "attempts": attempts,
        "dropped": sum(p["dropped"] for p in good), "lost": sum(p["sent"] - p["received"] for p in good), "received": received,
        "loss": round(1 - received / attempts, 5) if attempts else None, "able": bool(good), "incomplete": received < attempts or not good,
    }  # fmt: skip
    row["reason"] = next((f"n/a ({p['reason']})" for p in parts if p["reason"]), None)
    if good:
        row["kb_s"] = round(statistics.median(rate_of(p) for p in good), 1)
        row["mbit_s"] = round(row["kb_s"] * 8 / 1000, 2)
        row["max_kb_s"] = max(max(best_of(p), rate_of(p)) for p in good)
        row["cpu_ns_per_message"] = round(sum(p["cpu_ns"] + p["cpu_receiver_ns"] for p in good) / max(received, 1))
    return row


def one_setting(command, progress, name, environment, transport, **more):
    parts, reason = tried(command, progress, lambda row: f"{name} {environment} {transport} {row['size']} B")
    if reason or not parts:
        return {**absent(environment, transport, reason or "no run"), **more}, []
    return stream_row(parts, environment, transport, **more), parts


def burst(arguments, root, build, about, folder):
    stage = Stage(arguments, root, build, about)
    runs = arguments.runs or (3 if arguments.quick else 20)
    transports = arguments.transport or ("udp", "tcp")
    size = arguments.size or MESSAGE
    progress = Progress(len(arguments.env) * len(transports) * len(BUFFERS) * runs)

    def measure(environment):
        for transport in transports:
            for buffer in BUFFERS:
                environment.tcp_receive_buffer(buffer)  # tcp leaves its buffers to the system
                options = ["--size", size, "--count", arguments.count or 1000, "--runs", runs]
                command = stream(build, environment, folder, transport, *options, rcvbuf=buffer, pin=arguments.pin)
                more = {"rcvbuf": buffer or "system", "paper_kb_s": PAPER_BURST.get(transport)}
                row, parts = one_setting(command, progress, "burst", environment.name, transport, **more)
                stage.rows.append(row)
                curves = [part["curve"] for part in parts if part.get("curve")]
                stage.samples.append({
                    "env": environment.name, "transport": transport, "rcvbuf": more["rcvbuf"],
                    "curve": [round(statistics.median(at), 4) for at in zip(*curves)], "curves": curves,
                })  # fmt: skip

    stage.each(arguments.env, measure)
    progress.end()
    return stage.rows, stage.samples


def throughput(arguments, root, build, about, folder):
    """burst --seconds: unspaced for longer, beside iperf3 with messages of the same size."""
    stage = Stage(arguments, root, build, about)
    transports = arguments.transport or ("udp", "tcp")
    rounds = arguments.runs or (2 if arguments.quick else 5)
    size, seconds = arguments.size or MESSAGE, arguments.seconds
    ways = ["unspaced", "heeding", *([] if arguments.no_peers else ["iperf3"])]
    # GNUnet's peers are two in one place: on loopback alone
    gnunet = "lo" in arguments.env and "tcp" in transports and not arguments.no_peers
    progress = Progress(len(arguments.env) * len(transports) * rounds * len(ways))

    def once(environment, transport, way, parts):
        if way == "iperf3":
            try:
                mbit, loss = tp_peers.iperf3(environment, transport, size, seconds)
                parts.append({"mbit_s": mbit, "loss": loss})
            except tp_peers.Absent as error:
                parts.append({"reason": str(error)})
            progress.step(f"burst {environment.name} {transport} iperf3")
            return
        options = ["--size", size, "--seconds", seconds, *(["--heed"] if way == "heeding" else [])]
        command = stream(build, environment, folder, transport, *options, pin=arguments.pin)
        rows, reason = tried(command, progress, lambda row: f"burst {environment.name} {transport} {way}")
        parts.extend(rows or [{"reason": reason or "no run"}])

    def measure(environment):
        for transport in transports:
            parts = {way: [] for way in ways}
            for way in in_turns(ways, rounds):
                once(environment, transport, way, parts[way])
            peer = throughput_peer(parts.get("iperf3", []))
            for way in ways:
                row = throughput_row(environment.name, transport, way, size, parts[way], peer)
                stage.rows.append(row)
            if gnunet and transport == "tcp" and environment.name == "lo":
                stage.rows.append(gnunet_row(environment, folder, seconds))

    stage.each(arguments.env, measure)
    progress.end()
    return stage.rows


def gnunet_row(environment, folder, seconds):
    try:
        mbit = tp_gnunet.tcp(environment, folder, seconds)
    except tp_peers.Absent as error:
        return {**absent("lo", "tcp", str(error)), "way": "gnunet-transport"}
    return {
        "env": "lo", "transport": "tcp", "way": "gnunet-transport", "size": None, "runs": 1, "able": True, "reason": None,
        "incomplete": False, "loss": None, "mbit_s": round(mbit, 2), "kb_s": round(mbit * 125, 1),
    }  # fmt: skip


def throughput_peer(parts):
    return tp_peers.median_of([part["mbit_s"] for part in parts if "mbit_s" in part])


def throughput_row(environment, transport, way, size, parts, peer):
    if way != "iperf3" and all("sent" in part for part in parts):
        row = stream_row(parts, environment, transport, way=way)
        row["ratio_iperf3"] = round(row["mbit_s"] / peer, 3) if peer and row.get("mbit_s") else None
        return row
    good = [part for part in parts if "mbit_s" in part]
    if way != "iperf3" or not good:
        return {**absent(environment, transport, parts[0].get("reason", "no run")), "way": way}
    return {
        "env": environment, "transport": transport, "way": way, "size": size, "runs": len(good), "able": True, "reason": None,
        "loss": round(statistics.median(part["loss"] for part in good), 5), "incomplete": any(part["loss"] for part in good),
        "mbit_s": round(peer, 2), "kb_s": round(peer * 125, 1),
    }  # fmt: skip


def trains(arguments, root, build, about, folder):
    stage = Stage(arguments, root, build, about)
    transports = arguments.transport or ("udp", "tcp")
    lengths, gaps = (TRAINS[::2], GAPS_MS[1:5:2]) if arguments.quick else (TRAINS, GAPS_MS)
    size, count = arguments.size or MESSAGE, arguments.count or 1000
    paces = PACES_MBIT[::3] if arguments.quick else PACES_MBIT
    progress = Progress(len(arguments.env) * len(transports) * (len(lengths) * len(gaps) + 1 + len(paces)))

    def measure(environment):
        for transport in transports:

            def setting(*options, environment=environment, transport=transport, **more):
                words = ["--size", size, "--count", count, *options]
                command = stream(build, environment, folder, transport, *words, pin=arguments.pin)
                more["paper_kb_s"] = PAPER_TRAINS.get(transport)
                row, _ = one_setting(command, progress, "trains", environment.name, transport, **more)
                stage.rows.append(row)
                return row

            setting("--train", BY_HAND[0], "--gap-us", int(BY_HAND[1] * 1000), mode="hand", train=BY_HAND[0], gap_ms=BY_HAND[1])
            found = [
                setting("--train", length, "--gap-us", int(gap * 1000), mode="search", train=length, gap_ms=gap)
                for length in lengths for gap in gaps
            ]  # fmt: skip
            paced = [setting("--pace-kbit", mbit * 1000, mode="clock", pace_mbit=mbit) for mbit in paces]
            for rows in (found, paced):
                mark_best(rows)

    stage.each(arguments.env, measure)
    progress.end()
    return stage.rows


def mark_best(rows):
    """The fastest that lost nothing; where all lost, the one that lost least."""
    able = [row for row in rows if row["able"]]
    if able:
        least = min(row["loss"] for row in able)
        best = max((row for row in able if row["loss"] == least), key=lambda row: row["kb_s"])
        best["best"] = True
