# SPDX-License-Identifier: BSD-3-Clause
"""What content rules cost beside inspection alone, and the gateway's decoders beside the libraries: ratios, in turns."""
import json
import os
import shutil
import statistics
import subprocess

FLOWS = 4096
# (name, scenario of inspection alone, scenario with a content rule, asked)
PACKETS = [
    ("HTTP download, decoded and recorded", "http-inspected", "http-identity", 0.5),
    ("IRC messages, 1 keyword", "chat-inspected", "chat-1-keyword", None),
    ("IRC messages, 10,000 keywords", "chat-inspected", "chat-10000-keywords", None),
]
# (coding, asked)
CODINGS = [("gzip", 0.9), ("br", None), ("zstd", None)]
QUICK = {"packets": "5", "kilobytes": "256"}
WHOLE = {"packets": "60", "kilobytes": "16384"}


def run_json(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-1000:]}")
    return json.loads(done.stdout)


def spread(ratios):
    return {"ratio": statistics.median(ratios), "ratio_least": min(ratios), "ratio_most": max(ratios)}


class Packets:
    """Runs of bench_stages; `program` makes the command for a scenario."""

    def __init__(self, program, count, size):
        self.program, self.count, self.size = program, count, size
        self.counted = {}

    def cycles(self, scenario):
        """Of a unit: the least of the rounds, which nobody interrupted."""
        return run_json(self.program(scenario, "--rounds", self.size["packets"]))["path"]["min"]

    def instructions(self, scenario):
        if scenario not in self.counted:
            self.counted[scenario] = self.count(self.program(scenario, "--once"), "rig_round") / FLOWS
        return self.counted[scenario]

    def row(self, name, alone, decoded, asked, rounds):
        cycles = {alone: [], decoded: []}
        for turn in range(rounds):
            for scenario in (alone, decoded) if turn % 2 == 0 else (decoded, alone):
                cycles[scenario].append(self.cycles(scenario))
        row = {
            "what": name, "beside": "inspection alone", "asked": asked, "unit": "cycles a packet and its acknowledgement",
            "cost": statistics.median(cycles[decoded]), "cost_beside": statistics.median(cycles[alone]),
            **spread([a / d for a, d in zip(cycles[alone], cycles[decoded])]),
        }  # fmt: skip
        if self.count:
            row["instructions"] = round(self.instructions(decoded) / self.instructions(alone), 3)
        return row


def coding_row(program, count, coding, asked, rounds, size):
    base = [program, "--coding", coding, "--kilobytes", size["kilobytes"]]
    got = run_json([*base, "--rounds", str(rounds)])
    seconds, mib = got["seconds"], got["bytes"] / 2**20
    row = {
        "what": f"{coding} body of HTTP", "beside": got["library"], "asked": asked, "unit": "MiB/s of what is decoded",
        "cost": mib / statistics.median(seconds["gateway"]), "cost_beside": mib / statistics.median(seconds["library"]),
        "bytes": got["bytes"], "coded": got["coded"],
        **spread([library / gateway for library, gateway in zip(seconds["library"], seconds["gateway"])]),
        # the library given segments as the decoder is: what is lost by that alone
        "segments": statistics.median(library / cut for library, cut in zip(seconds["library"], seconds["segments"])),
    }  # fmt: skip
    if count:
        ways = {way: count([*base, "--once", way], f"codings_{way}") for way in ("gateway", "library")}
        row["instructions"] = round(ways["gateway"] / ways["library"], 3)
    return row


def say_row(row, say):
    asked = f"; asked {row['asked']}" if row["asked"] else ""
    segments = f"; {row['beside']} by segments {row['segments']:.2f}" if "segments" in row else ""
    count = f"; {row['instructions']:.2f} times its instructions" if "instructions" in row else ""
    say(
        f"{row['what']}: {row['ratio']:.2f} x the speed of {row['beside']} ({row['ratio_least']:.2f} to "
        f"{row['ratio_most']:.2f}{asked}){segments}{count}"
    )


def is_wanted(name, words):
    return not words or any(word.lower() in name.lower() for word in words)


def run(arguments, build, program, callgrind, say):
    """`program(scenario, *options)` and `callgrind(command, function)` are the caller's: commands, and instructions."""
    size = QUICK if arguments.quick else WHOLE
    count = callgrind if shutil.which("valgrind") and not arguments.no_instructions else None
    packets, results = Packets(program, count, size), []
    for name, alone, decoded, asked in PACKETS:
        if not is_wanted(name, arguments.only):
            continue
        results.append(packets.row(name, alone, decoded, asked, arguments.rounds))
        say_row(results[-1], say)
    for coding, asked in CODINGS:
        if not is_wanted(coding, arguments.only):
            continue
        codings = os.path.join(build, "tests", "bench_codings")
        results.append(coding_row(codings, count, coding, asked, arguments.rounds, size))
        say_row(results[-1], say)
    return {"kind": "content", "rounds": arguments.rounds, "results": results}


def table(report):
    yield "| | beside | | its own | **speed, ratio** (rounds) | asked | the library by segments | instructions, ratio |"
    yield "|--|--|--|--|--|--|--|--|"
    for row in report["results"]:
        segments = f"{row['segments']:.2f}" if "segments" in row else ""
        count = f"{row['instructions']:.2f}" if "instructions" in row else ""
        yield (
            f"| {row['what']} | {row['beside']} | {row['cost_beside']:,.0f} | {row['cost']:,.0f} {row['unit']} "
            f"| **{row['ratio']:.2f}** ({row['ratio_least']:.2f} to {row['ratio_most']:.2f}) | {row['asked'] or ''} "
            f"| {segments} | {count} |"
        )
