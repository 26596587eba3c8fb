# SPDX-License-Identifier: BSD-3-Clause
"""Many peers on one loop of libtransportapi, over udp and over tcp: runs tapi_peers (tapi_peers.c says what it measures)."""
import json
import subprocess


def run(program, arguments, say):
    """The results, one per transport; RuntimeError: something did not happen."""
    results = []
    for transport in ("udp", "tcp"):
        say(f"{arguments.peers} peers over {transport}")
        command = [program, "--peers", str(arguments.peers), "--rounds", str(arguments.rounds), "--transport", transport]
        if arguments.quick:
            command.append("--once")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
        results.append(json.loads(done.stdout))
    return results


def table(report):
    yield "| transport | peers | validated and answered, CPU | memory, resident | a message and its answer, CPU | messages lost | idle: CPU | fallen silent: all given up, last session gone |"
    yield "|--|--|--|--|--|--|--|--|"
    for result in report["results"]:
        meet, talk = result["meet"], result["talk"]
        idle = f"{result['idle']['cpu_percent']:.1f} %" if "idle" in result else ""
        yield (
            f"| {result['transport']} | {result['peers']:,} | {meet['cpu_us_per_peer']:.0f} µs per peer, {meet['seconds']:.1f} s "
            f"in all | {result['memory']['resident_bytes_per_peer']:,} B per peer | {talk['cpu_us_per_message']:.1f} µs "
            f"| {talk['messages'] - talk['answered']} of {talk['messages']:,} | {idle} "
            f"| after {result['silence']['lost_seconds']:.1f} s, {result['silence']['gone_seconds']:.1f} s |"
        )
