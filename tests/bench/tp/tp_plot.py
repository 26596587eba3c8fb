# SPDX-License-Identifier: BSD-3-Clause
"""Plots of tools/tpbench as PNG and SVG; none, and a word about it, where python3-matplotlib is not installed."""
import os

import tp_environment
from tp_report import say

COLOURS = {
    "tcp": "#1f77b4", "udp": "#d62728", "sendfile": "#2ca02c", "raw-ip": "#9467bd", "unix": "#8c564b", "tcp-zerocopy": "#17becf",
    "tcp-uring": "#bcbd22", "udp-gso": "#ff7f0e", "mptcp": "#7f7f7f", "tcp-cubic": "#aec7e8", "tcp-reno": "#98df8a", "tcp-bbr": "#c5b0d5",
}  # fmt: skip


def pyplot():
    try:
        import matplotlib  # pylint: disable=import-outside-toplevel
    except ImportError:
        say("tpbench: no plots: python3-matplotlib is not installed")
        return None
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"font.size": 8, "svg.hashsalt": "tpbench", "svg.fonttype": "none", "axes.grid": True, "grid.alpha": 0.3})
    from matplotlib import pyplot as found  # pylint: disable=import-outside-toplevel

    return found


def save(plot, figure, folder, name):
    paths = [os.path.join(folder, f"{name}.{end}") for end in ("png", "svg")]
    for path in paths:
        figure.savefig(path, dpi=110, metadata={"Date": None} if path.endswith("svg") else None)
    plot.close(figure)
    return paths


def present(rows, key):
    return list(dict.fromkeys(row[key] for row in rows))


def panels(plot, names, wide=2):
    """A figure of one panel for each name."""
    high = (len(names) + wide - 1) // wide
    wide = min(wide, len(names))
    figure, axes = plot.subplots(high, wide, figsize=(4.6 * wide, 3.0 * high), squeeze=False, layout="constrained")
    for spare in list(axes.flat)[len(names) :]:
        spare.remove()
    return figure, dict(zip(names, axes.flat))


def lines(axis, rows, environment, value, factor=1.0):
    for transport in present([row for row in rows if row["env"] == environment], "transport"):
        of = [r for r in rows if (r["env"], r["transport"]) == (environment, transport) and r.get(value) is not None]
        whole = [r for r in of if not r["incomplete"]]
        colour = COLOURS.get(transport)
        axis.plot([r["size"] for r in whole], [r[value] * factor for r in whole], "-", lw=1, marker=".", ms=2, color=colour, label=transport)
        torn = [r for r in of if r["incomplete"]]
        if torn:
            label = f"{transport}, incomplete"
            axis.plot([r["size"] for r in torn], [r[value] * factor for r in torn], "x", ms=3, color=colour, label=label)
    axis.set_title(tp_environment.WORDS.get(environment, environment))
    axis.set_xlabel("octets of a message")


def rtt(folder, rows):
    """All environments over all sizes; each environment's quartiles; messages up to 4 KB."""
    plot, drawn = pyplot(), [row for row in rows if row.get("median_us")]
    if not plot or not drawn:
        return []
    files = medians(folder, drawn, "rtt") + medians(folder, [row for row in drawn if row["size"] <= 4096], "rtt-small")
    for environment in present(drawn, "env"):
        files += quartiles(plot, folder, [row for row in drawn if row["env"] == environment], environment)
    return files


def medians(folder, rows, name):
    plot, drawn = pyplot(), [row for row in rows if row.get("median_us")]
    if not plot or not drawn:
        return []
    figure, axes = panels(plot, present(drawn, "env"))
    for environment, axis in axes.items():
        lines(axis, drawn, environment, "median_us", 0.001)
        axis.set_ylabel("median round trip, ms")
        axis.legend(fontsize=5, ncols=2)
    return save(plot, figure, folder, name)


def quartiles(plot, folder, rows, environment):
    figure, axes = panels(plot, present(rows, "transport"), wide=3)
    for transport, axis in axes.items():
        of = [row for row in rows if row["transport"] == transport]
        at = [row["size"] for row in of]
        colour = COLOURS.get(transport)
        axis.fill_between(at, [r["q1_us"] / 1000 for r in of], [r["q3_us"] / 1000 for r in of], alpha=0.3, lw=0, color=colour)
        axis.plot(at, [r["median_us"] / 1000 for r in of], lw=1, color=colour, label="median, quartiles")
        axis.plot(at, [r["min_us"] / 1000 for r in of], lw=0.6, ls=":", color=colour, label="minimum")
        axis.set_title(f"{environment}: {transport}" + (" (incomplete rows among them)" if any(r["incomplete"] for r in of) else ""))
        axis.set_xlabel("octets of a message")
        axis.set_ylabel("round trip, ms")
        axis.set_ylim(bottom=0)
        axis.legend(fontsize=5)
    return save(plot, figure, folder, f"rtt-{environment}")


def xfer1m(folder, rows):
    plot, drawn = pyplot(), [row for row in rows if row.get("median_ms")]
    if not plot or not drawn:
        return []
    figure, axes = panels(plot, present(drawn, "env"))
    for environment, axis in axes.items():
        lines(axis, drawn, environment, "median_ms")
        axis.set_ylabel("ms for 1,024,000 octets both ways")
        axis.set_yscale("log")
        axis.legend(fontsize=6)
    return save(plot, figure, folder, "xfer1m")


def loopback4m(folder, rows):
    plot, drawn = pyplot(), [row for row in rows if row.get("median_mbit_s")]
    if not plot or not drawn:
        return []
    figure, axes = plot.subplots(1, 2, figsize=(9.2, 3.2), layout="constrained")
    for transport, buffer in dict.fromkeys((row["transport"], row["buffer"]) for row in drawn):
        of = [row for row in drawn if (row["transport"], row["buffer"]) == (transport, buffer)]
        at, colour = [row["size"] for row in of], COLOURS.get(transport)
        label = f"{transport}, buffers {buffer >> 10} KiB" if buffer else transport
        look = {"lw": 1, "marker": ".", "color": colour, "label": label, "ls": "--" if buffer and transport != "tcp" else "-"}
        spread = ([r["median_mbit_s"] - r["q1_mbit_s"] for r in of], [r["q3_mbit_s"] - r["median_mbit_s"] for r in of])
        axes[0].errorbar(at, [r["median_mbit_s"] for r in of], yerr=spread, capsize=2, **look)
        axes[1].plot(at, [(r["loss"] or 0) * 100 for r in of], **look)
    for axis, words in zip(axes, ("delivered, Mbit/s (median, quartiles)", "lost, % of messages")):
        axis.set_xscale("log", base=2)
        axis.set_xlabel("octets of a message")
        axis.set_ylabel(words)
        axis.set_ylim(bottom=0)
        axis.legend(fontsize=6)
    return save(plot, figure, folder, "loopback4m")


def nothing(*_):
    return []


def latency(folder, rows):
    """Quartiles and tails of 1,000 messages to oneself, each transport beside plain sockets."""
    plot, drawn = pyplot(), [row for row in rows if row.get("way") and row["env"] == "lo" and row.get("min_us") and row.get("median_us")]
    if not plot or not drawn:
        return []
    figure, axes = panels(plot, present(drawn, "transport"))
    for transport, axis in axes.items():
        of = [row for row in drawn if row["transport"] == transport]
        sizes = present(of, "size")
        for shift, way in enumerate(present(of, "way")):
            mine = [row for row in of if row["way"] == way]
            at = [sizes.index(row["size"]) + shift * 0.2 for row in mine]
            spread = ([r["median_us"] - r["min_us"] for r in mine], [r["p99_us"] - r["median_us"] for r in mine])
            axis.errorbar(at, [r["median_us"] for r in mine], yerr=spread, fmt="o", ms=3, capsize=3, label=way)
        axis.set_xticks([index + 0.25 for index in range(len(sizes))], [f"{size} B" for size in sizes])
        axis.set_title(transport)
        axis.set_ylabel("a message, us: minimum, median, p99")
        axis.set_ylim(bottom=0)
        axis.legend(fontsize=6)
    return save(plot, figure, folder, "latency")


def burst(folder, curves):
    """The share of 1,000 messages that had come by t."""
    plot, drawn = pyplot(), [curve for curve in curves if curve["curve"]]
    if not plot or not drawn:
        return []
    figure, axes = panels(plot, present(drawn, "env"), wide=1)
    for environment, axis in axes.items():
        for curve in [curve for curve in drawn if curve["env"] == environment]:
            style = "-" if curve["rcvbuf"] == "system" else "--"
            label = f"{curve['transport']}, SO_RCVBUF {curve['rcvbuf']}"
            axis.plot(range(len(curve["curve"])), curve["curve"], style, lw=1, color=COLOURS[curve["transport"]], label=label)
        axis.set_title(tp_environment.WORDS.get(environment, environment))
        axis.set_xlabel("ms since the first was sent")
        axis.set_ylabel("share of messages received")
        axis.set_ylim(0, 1.02)
        axis.legend(fontsize=6)
    return save(plot, figure, folder, "burst")


def trains(folder, rows):
    """Rate by gap, a line for each length of train; what lost messages is hollow."""
    plot, drawn = pyplot(), [row for row in rows if row.get("mode") == "search" and row["able"]]
    if not plot or not drawn:
        return []
    figure, axes = panels(plot, present(drawn, "transport"))
    for transport, axis in axes.items():
        of = [row for row in drawn if row["transport"] == transport]
        for length in present(of, "train"):
            mine = [row for row in of if row["train"] == length]
            line = axis.plot([r["gap_ms"] for r in mine], [r["kb_s"] for r in mine], lw=0.8, label=f"{length}")[0]
            for whole, face in ((True, line.get_color()), (False, "none")):
                part = [r for r in mine if (not r["incomplete"]) == whole]
                axis.plot([r["gap_ms"] for r in part], [r["kb_s"] for r in part], "o", ms=3, mfc=face, mec=line.get_color())
        axis.axhline(next(r["paper_kb_s"] for r in of), lw=0.8, ls=":", color="black")
        axis.set_title(f"{transport} (dotted: the paper's best; hollow: messages lost)")
        axis.set_xlabel("gap between trains, ms")
        axis.set_ylabel("kB/s received")
        axis.set_yscale("log")
        axis.legend(title="train", fontsize=5, title_fontsize=5, ncols=2)
    return save(plot, figure, folder, "trains")
