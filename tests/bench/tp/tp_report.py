# SPDX-License-Identifier: BSD-3-Clause
"""Reports of tools/tpbench: {meta, rows} as JSON, the rows again as CSV, raw samples apart, and a line of progress."""
import csv
import datetime
import gzip
import json
import os
import platform
import subprocess
import sys
import time

SYSCTLS = ("net/core", "net/ipv4")
SYSCTL_NAMES = ("tcp_", "udp_", "ipfrag_", "rmem_", "wmem_", "optmem_", "netdev_", "default_qdisc", "busy_", "somaxconn")


class Failure(Exception):
    """What went wrong, where, and what to do."""


def output_of(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def sysctls(namespace=None):
    """Of one network namespace: what "the system's defaults" were."""
    script = "cd /proc/sys && grep -s . " + " ".join(f"{folder}/*" for folder in SYSCTLS)
    within = ["ip", "netns", "exec", namespace] if namespace else []
    values = {}
    for line in output_of(*within, "sh", "-c", script + "; true").splitlines():
        path, _, value = line.partition(":")
        if path.rpartition("/")[2].startswith(SYSCTL_NAMES) and not path.endswith("_key"):
            values[path.replace("/", ".")] = value.replace("\t", " ")
    return values


def build_type(build):
    """ "release, b_lto": what the programs were made with."""
    try:
        with open(os.path.join(build, "meson-info", "intro-buildoptions.json"), encoding="utf-8") as file:
            options = {option["name"]: option["value"] for option in json.load(file)}
    except (OSError, ValueError):
        return "?"
    return ", ".join([options["buildtype"], *(name for name in ("b_lto", "b_pgo") if options.get(name) not in (False, "off"))])


def meta(root, build, kind, quick=False):
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = {line.split(":", 1)[0].strip(): line.split(":", 1)[1].strip() for line in file if ":" in line}
    control = sysctls().get("net.ipv4.tcp_congestion_control", "?")
    return {
        "kind": kind,
        "quick": quick,
        "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "kernel": platform.release(),
        "cpu": cpu.get("model name", "?"),
        "cpus": os.cpu_count(),
        "cc": control,
        "compiler": output_of(os.path.join(build, "tests", "bench", "tp", "tp_rtt"), "--version"),
        "build": build_type(build),
        "sysctl": {},
        "git": output_of("git", "-C", root, "rev-parse", "--short=12", "HEAD"),
        "modified": bool(output_of("git", "-C", root, "status", "--porcelain", "--untracked-files=no")),
        "load": os.getloadavg()[0],
        "environments": {},
    }


def write_csv(path, rows):
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write(folder, name, about, rows, apart=None):
    """NAME.json, NAME.csv and, with something apart, NAME.samples.json.gz; returns their paths."""
    os.makedirs(folder, exist_ok=True)
    about["load_end"] = os.getloadavg()[0]
    path = os.path.join(folder, name)
    with open(f"{path}.json", "w", encoding="utf-8") as file:
        json.dump({"meta": about, "rows": rows}, file, indent=1)
        file.write("\n")
    write_csv(f"{path}.csv", rows)
    written = [f"{path}.json", f"{path}.csv"]
    if apart is not None:
        with gzip.open(f"{path}.samples.json.gz", "wt", encoding="utf-8") as file:
            json.dump(apart, file, separators=(",", ":"))
        written.append(f"{path}.samples.json.gz")
    return written


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise Failure(f"{path}: not a report of tools/tpbench ({error})") from error
    if not isinstance(report, dict) or set(report) != {"meta", "rows"}:
        raise Failure(f"{path}: not a report of tools/tpbench (meta and rows are its keys)")
    return report


def samples(folder, name):
    """What write() put apart."""
    with gzip.open(os.path.join(folder, f"{name}.samples.json.gz"), "rt", encoding="utf-8") as file:
        return json.load(file)


class Progress:
    """On a terminal one line, rewritten; in a log a line for each tenth, and each half minute."""

    def __init__(self, total, out=sys.stderr):
        self.total, self.done, self.out = max(total, 1), 0, out
        self.tty, self.tenth, self.start, self.drawn = out.isatty(), -1, time.monotonic(), time.monotonic()

    def step(self, what):
        self.done += 1
        spent = time.monotonic() - self.start
        left = spent / self.done * max(self.total - self.done, 0)
        text = f"{self.done * 100 // self.total:3} % {what}"
        if self.tty and (time.monotonic() - self.drawn > 0.1 or self.done == self.total):
            self.drawn = time.monotonic()
            self.out.write(f"\r{text}, {left:.0f} s left"[: width_of(self.out)].ljust(width_of(self.out)))
            self.out.flush()
        elif not self.tty and (self.done * 10 // self.total > self.tenth or time.monotonic() - self.drawn > 30):
            self.drawn = time.monotonic()
            self.tenth = self.done * 10 // self.total
            self.out.write(f"tpbench: {text}, {spent:.0f} s\n")
            self.out.flush()

    def end(self):
        if self.tty and self.done:
            self.out.write("\r" + " " * width_of(self.out) + "\r")
            self.out.flush()


def width_of(out):
    try:
        return max(os.get_terminal_size(out.fileno()).columns - 1, 20)
    except (OSError, ValueError):
        return 79


def say(text):
    print(text, file=sys.stderr, flush=True)


NOT_HERE = 3  # exit code of a program that cannot have its transport


def tried(command, progress, what):
    """The rows that a program prints, one line of JSON each, and None, or why it cannot be had here. Failure when it ends
    otherwise."""
    rows = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            for line in child.stdout:
                rows.append(json.loads(line))
                progress.step(what(rows[-1]))
            error = child.stderr.read().strip()
        except BaseException:
            child.terminate()
            raise
    if child.returncode == NOT_HERE:
        return rows, (error or "it does not say why").splitlines()[-1]
    if child.returncode:
        raise Failure(f"{' '.join(command)} ended with {child.returncode}: {error or 'it said nothing'}")
    return rows, None


def run_rows(command, progress, what):
    rows, reason = tried(command, progress, what)
    if reason:
        raise Failure(f"{' '.join(command)}: {reason}")
    return rows
