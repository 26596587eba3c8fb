# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench fastpass: figure 10 of the kP2PADM paper, in the lab.

A bulk transfer crosses the gateway while its impairment stage loses and delays packets before the gateway:
with fast pass, without it, and without any inspection; the three of a round see the same losses."""
import csv
import json
import math
import os
import statistics
import subprocess
import time

MODES = ("none", "on", "off")  # no inspection; inspected, fast pass on, off
WORDS = {"none": "no inspection", "on": "fast pass", "off": "no fast pass"}
LOSSES, DELAYS, CONTROLS = (0, 0.5, 1, 2, 3, 5), (0, 10, 50, 100), ("cubic", "bbr")
TRANSFER_BYTES, TRANSFER_LOSS, TRANSFER_DELAY = 300_000_000, 1, 10  # the 300 MB column
SETUP_S = 4  # gateway up and down around each run, as the estimate has it
PORT = 5001
COLUMNS = (
    "control", "delay_ms", "loss_percent", "mode", "round", "kind", "seed", "bytes", "seconds", "mbit_s", "capped",
    "drained", "retrans", "bytes_retrans", "lost", "extra_own", "dsacks", "segs_out", "rtt_us", "min_rtt_us", "missed",
    "limited", "refused", "unaccounted",
)  # fmt: skip
RATIO_MOST = 1.05


class Lab:
    def __init__(self, root, build, prefix, folder):
        self.root, self.folder = root, folder
        self.script = os.path.join(root, "tools", "lab.sh")
        self.environment = dict(os.environ, LAB_PREFIX=prefix, BUILD=build, SLUICE=os.path.join(build, "app", "sluice"))
        self.prefix, self.up = prefix, False

    def call(self, *words, options="", check=True):
        environment = dict(self.environment, LAB_OPTIONS=options)
        done = subprocess.run([self.script, *words], env=environment, capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise RuntimeError(f"tools/lab.sh {' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def __enter__(self):
        self.call("up")
        self.up = True
        for side, own, peer, address in (("c", "c0", "s0", "10.77.0.2"), ("s", "s0", "c0", "10.77.0.1")):
            other = "s" if side == "c" else "c"
            mac = self.ip("netns", "exec", f"{self.prefix}-{other}", "cat", f"/sys/class/net/{peer}/address").strip()
            # A lost ARP answer would be a second; what one connection learned must not help the next.
            self.ip("-n", f"{self.prefix}-{side}", "neigh", "replace", address, "lladdr", mac, "dev", own, "nud", "permanent")
            self.ip("netns", "exec", f"{self.prefix}-{side}", "sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1")
        return self

    def __exit__(self, *error):
        self.call("gateway", "stop", check=False)
        self.call("down", check=False)

    def ip(self, *words):
        done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"ip {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def inside(self, side, *words):
        """The words of a command on a side, off the CPU of the data lcore."""
        pin = ["taskset", "-c", "0"] if os.cpu_count() > 1 else []
        return ["ip", "netns", "exec", f"{self.prefix}-{side}", *pin, *words]

    def stats(self):
        return json.loads(self.call("ctl", "stats", "--json"))


def policies(folder):
    """Without inspection nothing is looked at; with it every TCP flow, to its end."""
    scan = {"id": "inspect-all", "match": {"protocol": "tcp"}, "action": "scan"}
    texts = {"none": [], "inspected": [scan]}
    for name, rules in texts.items():
        document = {"schema_version": 1, "mode": "enforce", "rules": rules, "default": "pass"}
        with open(os.path.join(folder, f"{name}.json"), "w", encoding="utf-8") as file:
            json.dump(document, file)
    return {mode: os.path.join(folder, ("none" if mode == "none" else "inspected") + ".json") for mode in MODES}


def options_of(cell, mode, seed):
    """What `sluice run` gets: the delay is the round trip's, half of it each way."""
    half = cell["delay_ms"] / 2
    to_inside = {"delay_ms": half, "loss": {"p": cell["loss_percent"] / 100}}
    impairment = {"at": "rx", "seed": seed, "limit": 32768, "to_inside": to_inside, "to_outside": {"delay_ms": half}}
    text = json.dumps(impairment, separators=(",", ":"))
    fast = "false" if mode == "off" else "true"
    # A sender may go on behind a hole for as long as the receiver's window lets it.
    memory = "--set reassembly.memory_mb=256 --set reassembly.half_kb=65536"
    return f"--set impairment={text} --set reassembly.fast_pass={fast} {memory}"


def cap_of(mode, arguments):
    """Without fast pass a lossy transfer takes hours: its goodput is known much sooner."""
    return min(arguments.cap, arguments.off_cap) if mode == "off" else arguments.cap


def measure(lab, cell, mode, seed, policy, arguments):
    cap = cap_of(mode, arguments)
    lab.call("gateway", "start", policy, options=options_of(cell, mode, seed))
    unit, amount = ("bytes", arguments.bytes) if cell["kind"] == "transfer" else ("seconds", arguments.seconds)
    bulk = ["/usr/bin/python3", os.path.join(lab.root, "tests", "bench", "bulk.py")]
    sender = subprocess.Popen(  # pylint: disable=consider-using-with
        lab.inside("s", *bulk, "send", "10.77.0.2", str(PORT), cell["control"], str(arguments.pace), unit, str(amount)),
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        if sender.stdout.readline().strip() != "ready":
            raise RuntimeError("the sender did not start")
        before = lab.stats()
        command = lab.inside("c", *bulk, "receive", "10.77.0.2", str(PORT), unit, str(amount), str(cap))
        done = subprocess.run(command, capture_output=True, text=True, timeout=cap + 90, check=False)
        if done.returncode:
            raise RuntimeError(f"the receiver ended with {done.returncode}: {done.stderr[-500:]}")
        got = json.loads(done.stdout)
        sent = json.loads(sender.communicate(timeout=60)[0])
    finally:
        if sender.poll() is None:
            sender.kill()
            sender.wait()
    after = lab.stats()
    lab.call("gateway", "stop")
    if sent["congestion"] != cell["control"]:
        raise RuntimeError(f"congestion control is {sent['congestion']}, not {cell['control']}")
    return row_of(cell, mode, seed, got, sent, before, after)


def row_of(cell, mode, seed, got, sent, before, after):
    def grown(*path):
        values = []
        for tree in (before, after):
            for key in path:
                tree = tree.get(key, 0)
            values.append(tree)
        return values[1] - values[0]

    def ports(key):
        return sum(port.get(key, 0) for port in after["ports"]) - sum(port.get(key, 0) for port in before["ports"])

    lost, limited = grown("dropped", "impaired_loss"), grown("dropped", "impaired_limit")
    missed = ports("rx_missed") + ports("rx_nombuf") + grown("dropped", "tx_full")
    dropped = sum(after["dropped"].values()) - sum(before["dropped"].values())
    return {
        **{key: cell[key] for key in ("control", "delay_ms", "loss_percent", "kind")},
        "mode": mode, "seed": seed, "bytes": got["bytes"], "seconds": round(got["seconds"], 4),
        "mbit_s": round(got["bytes"] * 8e-6 / got["seconds"], 3) if got["seconds"] else 0, "capped": int(got["capped"]),
        "drained": int(sent["drained"]), "retrans": sent["retrans"], "bytes_retrans": sent["bytes_retrans"], "lost": lost,
        # what was sent again although nothing on the way had lost it
        "extra_own": sent["retrans"] - lost - limited - missed,
        "dsacks": sent["dsacks"], "segs_out": sent["segs_out"], "rtt_us": sent["rtt_us"], "min_rtt_us": sent["min_rtt_us"],
        "missed": missed, "limited": limited, "refused": dropped - lost - limited - grown("dropped", "tx_full"),
        "unaccounted": after["unaccounted"],
    }  # fmt: skip


def order_of(number):
    """A B C, C B A, ...: what drifts meanwhile falls on all alike."""
    return MODES if number % 2 == 0 else tuple(reversed(MODES))


def cells_of(arguments):
    for control in arguments.control or CONTROLS:
        for delay in arguments.delay if arguments.delay is not None else DELAYS:
            for loss in arguments.loss if arguments.loss is not None else LOSSES:
                small = loss <= TRANSFER_LOSS and delay <= TRANSFER_DELAY
                kind = "transfer" if small and not arguments.goodput_only else "goodput"
                yield {"control": control, "delay_ms": delay, "loss_percent": loss, "kind": kind}


def expected_s(cell, mode, arguments):
    """How long a run will take, roughly: what Mathis' formula gives a loss-based sender at this round trip."""
    if cell["kind"] == "goodput":
        return arguments.seconds + SETUP_S
    rtt = cell["delay_ms"] / 1000 + 0.0005
    rate = (arguments.pace or 600) * 1e6 / 8
    if cell["loss_percent"] and cell["control"] != "bbr":
        rate = min(rate, 1448 / rtt * math.sqrt(1.5 / (cell["loss_percent"] / 100)))
    factor = 100 if mode == "off" and cell["loss_percent"] else 1
    return min(cap_of(mode, arguments), factor * arguments.bytes / rate) + SETUP_S


def clock(seconds):
    return f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02}:{int(seconds) % 60:02}"


def cell_key(row):
    return row["control"], float(row["delay_ms"]), float(row["loss_percent"])


def run_key(row):
    return (*cell_key(row), row["mode"], int(row["round"]))


def campaign(lab, arguments, path, say):
    """Every run of every cell, each a line of the CSV as soon as it is over."""
    policy = policies(lab.folder)
    rows = read(path) if arguments.resume and os.path.exists(path) else []
    done = {run_key(row) for row in rows}
    # Round by round: an interrupted campaign has a little of everything.
    plan = [
        dict(cell, mode=mode, round=number)
        for number in range(arguments.rounds) for cell in cells_of(arguments) for mode in order_of(number)
    ]  # fmt: skip
    plan = [run for run in plan if run_key(run) not in done]
    left = sum(expected_s(run, run["mode"], arguments) for run in plan)
    say(f"{len(plan)} runs, about {clock(left)}; {path}")
    with open(path, "a" if rows else "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if not rows:
            writer.writeheader()
        for index, run in enumerate(plan):
            row = attempt(lab, run, policy[run["mode"]], arguments, say)
            row["round"] = run["round"]
            writer.writerow(row)
            file.flush()
            rows.append({key: str(value) for key, value in row.items()})
            left -= expected_s(run, run["mode"], arguments)
            say(
                f"[{index + 1}/{len(plan)}, {clock(left)} left] {run['control']} {run['delay_ms']:g} ms {run['loss_percent']:g} % "
                f"{WORDS[run['mode']]}: {row['seconds']:.2f} s, {row['mbit_s']:.1f} Mbit/s, {row['retrans']} sent again, "
                f"{row['lost']} lost" + (", CAPPED" if row["capped"] else "")
            )
    return rows


def attempt(lab, run, policy, arguments, say):
    """Twice: a machine that was busy elsewhere must not end a campaign of hours."""
    for left in (1, 0):
        try:
            return measure(lab, run, run["mode"], arguments.seed + run["round"], policy, arguments)
        except (RuntimeError, subprocess.TimeoutExpired, ValueError) as error:
            lab.call("gateway", "stop", check=False)
            if not left:
                raise
            say(f"again, because: {error}")
    return None


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if rows and set(rows[0]) != set(COLUMNS):
        raise RuntimeError(f"{path} is not a table of this program")
    return rows


def quartiles(values):
    if len(values) < 2:
        return (values[0],) * 3
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def cost(row):
    """Seconds for the transfer's bytes; of a run by the clock (or a capped one) what its goodput comes to."""
    if row["kind"] == "transfer" and row["capped"] != "1":
        return float(row["seconds"])
    return TRANSFER_BYTES * 8e-6 / max(float(row["mbit_s"]), 0.001)


def summaries(rows):
    """Per cell: modes' quartiles, the paired ratios of time, the retransmissions beyond the other mode's."""
    cells = {}
    for row in rows:
        cells.setdefault(cell_key(row), {}).setdefault(row["mode"], {})[int(row["round"])] = row
    for key, modes in sorted(cells.items()):
        summary = {"key": key, "kind": next(iter(next(iter(modes.values())).values()))["kind"], "modes": {}}
        for mode, runs in modes.items():
            paired = [n for n in runs if n in modes.get("none", {})]
            base = modes.get("none", {})
            summary["modes"][mode] = {
                "mbit_s": quartiles([float(row["mbit_s"]) for row in runs.values()]),
                "seconds": quartiles([cost(row) for row in runs.values()]),
                "ratio": quartiles([cost(runs[n]) / cost(base[n]) for n in paired]) if paired else None,
                "retrans": statistics.median(int(row["retrans"]) for row in runs.values()),
                "lost": statistics.median(int(row["lost"]) for row in runs.values()),
                "beyond": [int(runs[n]["extra_own"]) - int(base[n]["extra_own"]) for n in paired],
                "capped": sum(row["capped"] == "1" for row in runs.values()),
                "rounds": len(runs),
                "unaccounted": [row["unaccounted"] for row in runs.values() if row["unaccounted"] != "0"],
            }
        yield summary


def report(rows):
    """Lines of a Markdown table, and what must-show asks for."""
    yield "| | delay | loss | mode | runs | Mbit/s (quartiles) | time ratio to no inspection (quartiles) | lost | sent again | beyond no inspection's |"
    yield "|--|--|--|--|--|--|--|--|--|--|"
    ratios, beyond, odd = [], [], 0
    for summary in summaries(rows):
        control, delay, loss = summary["key"]
        for mode in MODES:
            one = summary["modes"].get(mode)
            if not one:
                continue
            low, middle, high = one["mbit_s"]
            ratio = "" if mode == "none" or not one["ratio"] else "{1:.3f} ({0:.3f} to {2:.3f})".format(*one["ratio"])
            more = "" if mode == "none" or not one["beyond"] else f"{statistics.median(one['beyond']):g} (most {max(one['beyond'])})"
            capped = f", {one['capped']} capped" if one["capped"] else ""
            odd += len(one["unaccounted"])
            yield (
                f"| {control} | {delay:g} ms | {loss:g} % | {WORDS[mode]} | {one['rounds']}{capped} | {middle:.1f} ({low:.1f} to {high:.1f}) "
                f"| {ratio} | {one['lost']:g} | {one['retrans']:g} | {more} |"
            )
        fast = summary["modes"].get("on")
        if fast and fast["ratio"]:
            beyond.append((statistics.median(fast["beyond"]), summary["key"]))
            if loss <= 1:
                ratios.append((fast["ratio"][1], summary["key"]))
    yield ""
    yield from verdict(ratios, beyond, odd)


def place(key):
    return f"{key[0]}, {key[1]:g} ms, {key[2]:g} %"


def verdict(ratios, beyond, odd):
    if not beyond:
        yield "fast pass: nothing to compare (the modes on and none are needed)"
        return
    worst = max(beyond)
    yield (
        f"fast pass, retransmissions beyond those of no inspection, median of the paired runs: worst cell {worst[0]:g} ({place(worst[1])}); "
        f"asked 0: {'holds' if worst[0] <= 0 else 'DOES NOT HOLD'} in {sum(b[0] <= 0 for b in beyond)} of {len(beyond)} cells"
    )
    if ratios:
        worst = max(ratios)
        yield (
            f"fast pass, median paired time ratio at loss <= 1 %: worst cell {worst[0]:.3f} ({place(worst[1])}); "
            f"asked at most {RATIO_MOST}: {'holds' if worst[0] <= RATIO_MOST else 'DOES NOT HOLD'} in "
            f"{sum(r[0] <= RATIO_MOST for r in ratios)} of {len(ratios)} cells"
        )
    if odd:
        yield f"{odd} runs ended with packets unaccounted for: a fault"


def plot(rows, stem):
    """Figure 10: time for 300 MB over loss, a panel for each delay. Returns the files; none without matplotlib."""
    try:
        import matplotlib  # pylint: disable=import-outside-toplevel

        matplotlib.use("Agg")
        from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
    except ImportError:
        return []
    found = list(summaries(rows))
    controls = sorted({s["key"][0] for s in found}, reverse=True)
    delays = sorted({s["key"][1] for s in found})
    figure, axes = pyplot.subplots(
        len(controls), len(delays), squeeze=False, sharex=True, figsize=(3.2 * len(delays) + 1, 3 * len(controls) + 1)
    )
    for i, control in enumerate(controls):
        for k, delay in enumerate(delays):
            panel(axes[i][k], [s for s in found if s["key"][:2] == (control, delay)])
            axes[i][k].set_title(f"{control}, {delay:g} ms")
        axes[i][0].set_ylabel(f"s for {TRANSFER_BYTES // 10**6} MB")
    for axis in axes[-1]:
        axis.set_xlabel("loss, %")
    axes[0][0].legend(fontsize="small")
    figure.suptitle("Time of a transfer: measured (filled), by goodput (hollow); median and quartiles")
    figure.tight_layout()
    files = [f"{stem}.png", f"{stem}.svg"]
    for file in files:
        figure.savefig(file, dpi=120)
    pyplot.close(figure)
    return files


def panel(axis, found):
    for mode, colour, marker in (("none", "0.4", "s"), ("on", "tab:blue", "o"), ("off", "tab:red", "^")):
        have = [s for s in found if mode in s["modes"]]
        x = [s["key"][2] for s in have]
        spans = [s["modes"][mode]["seconds"] for s in have]
        y = [middle for _, middle, _ in spans]
        bars = [[middle - low for low, middle, _ in spans], [high - middle for _, middle, high in spans]]
        axis.errorbar(x, y, yerr=bars, color=colour, label=WORDS[mode], linewidth=1, capsize=2)
        for s, value in zip(have, y):
            filled = colour if s["kind"] == "transfer" and not s["modes"][mode]["capped"] else "none"
            axis.plot(s["key"][2], value, marker, color=colour, markerfacecolor=filled)
    axis.set_yscale("log")
    axis.grid(True, which="both", alpha=0.25)


def run(arguments, root, build, folder, say):
    """The campaign and its files; the rows."""
    stem = os.path.join(arguments.output, "fastpass")
    os.makedirs(arguments.output, exist_ok=True)
    if not arguments.report_only:
        with Lab(root, build, arguments.prefix, folder) as lab:
            began = time.monotonic()
            campaign(lab, arguments, stem + ".csv", say)
            say(f"took {clock(time.monotonic() - began)}")
    rows = read(stem + ".csv")
    text = "\n".join(report(rows)) + "\n"
    with open(stem + ".md", "w", encoding="utf-8") as file:
        file.write(text)
    files = plot(rows, stem)
    if not files:
        say("no plot: python3-matplotlib is not installed")
    return text, [stem + ".csv", stem + ".md", *files]
