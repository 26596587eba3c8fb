# SPDX-License-Identifier: BSD-3-Clause
"""Children of sluice-scan beside as many threads of libclamav alone, on the same files: ratios, in turns (bench_scan.c)."""
import json
import os
import random
import statistics
import subprocess
import tempfile

SIGNATURES = 20000
# (what, bytes of a file, files, share of a child's processor time inside of libclamav that is asked)
SIZES = [("2 MiB", 2 << 20, 32, 0.9), ("64 KiB", 64 << 10, 512, 0.8)]
QUICK = {"2 MiB": 2, "64 KiB": 8}


def signatures(folder, number):
    """Random strings of 8 to 24 octets, wherever they stand."""
    draw = random.Random(7)
    with open(os.path.join(folder, "bench.ndb"), "w", encoding="ascii") as file:
        for n in range(number):
            file.write(f"Bench.{n}:0:*:{draw.randbytes(draw.randint(8, 24)).hex()}\n")


def measured(build, folder, workers, files, size, rounds):
    command = [os.path.join(build, "tests", "bench_scan"), os.path.join(build, "app", "scan", "program", "sluice-scan"),
               os.path.join(folder, "db"), os.path.join(folder, "tmp"), *map(str, (workers, files, size, rounds))]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-1000:]}")
    return json.loads(done.stdout)


def row(what, got, asked):
    children, threads = got["seconds"]["children"], got["seconds"]["threads"]
    ratios = [alone / ours for ours, alone in zip(children, threads)]
    mib = got["bytes"] * got["files"] / 2**20
    return {
        "what": what, "beside": f"libclamav {got['libclamav']}", "workers": got["workers"], "files": got["files"], "bytes": got["bytes"],
        "unit": "MiB/s", "cost": mib / statistics.median(children), "cost_beside": mib / statistics.median(threads),
        "ratio": statistics.median(ratios), "ratio_least": min(ratios), "ratio_most": max(ratios),
        "share": got["share"], "asked": asked, "messages": got["messages"],
    }  # fmt: skip


def rows(arguments, build, folder):
    for name in ("db", "tmp"):
        os.mkdir(os.path.join(folder, name))
    signatures(os.path.join(folder, "db"), 200 if arguments.quick else arguments.signatures)
    for what, size, files, asked in SIZES:
        number = QUICK[what] if arguments.quick else files
        yield row(what, measured(build, folder, arguments.workers, number, size, arguments.rounds), asked)


def run(arguments, build, say, die):
    """`say` and `die` are the caller's: a line for people, and the last one."""
    if not os.path.exists(os.path.join(build, "tests", "bench_scan")):
        die("sluice-scan is not built (libclamav-dev)")
    try:
        with tempfile.TemporaryDirectory(prefix="sluice-bench-scan.") as folder:
            report = {"kind": "scan", "rounds": arguments.rounds, "results": list(rows(arguments, build, folder))}
    except (RuntimeError, OSError, ValueError) as error:
        die(str(error))
    for line in table(report):
        say(line)
    return report


def add(commands, run_it):
    command = commands.add_parser("scan", help="children of sluice-scan beside as many threads of libclamav alone, on the same files")
    command.add_argument("--rounds", type=int, default=6, help="in turns (6)")
    command.add_argument("--workers", type=int, default=min(os.cpu_count(), 16), help="children, and threads, at most 16 (one for each CPU)")
    command.add_argument("--signatures", type=int, default=SIGNATURES, help=f"random strings ({SIGNATURES})")
    command.add_argument("--quick", action="store_true", help="few files, few signatures")
    command.add_argument("--build", metavar="DIR", help="measure this build instead of one of its own")
    command.add_argument("--output", metavar="FILE", help="JSON; default: standard output")
    command.set_defaults(run=run_it)


def table(report):
    yield "| files | beside | | sluice-scan | **speed, ratio** (rounds) | share inside of libclamav | asked | messages a file |"
    yield "|--|--|--|--|--|--|--|--|"
    for got in report["results"]:
        yield (f"| {got['what']} | {got['workers']} threads of {got['beside']} | {got['cost_beside']:,.1f} | {got['cost']:,.1f} {got['unit']} "
               f"| **{got['ratio']:.2f}** ({got['ratio_least']:.2f} to {got['ratio_most']:.2f}) | {got['share']:.3f} | {got['asked']} "
               f"| {got['messages']:g} |")
