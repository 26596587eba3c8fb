# SPDX-License-Identifier: BSD-3-Clause
"""Words of tools/tpbench's command line: each says what is wrong, and what would be right."""
import argparse
import os

import tp_environment


def whole(least, most):
    def read(text):
        try:
            value = int(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text}: give a whole number from {least} to {most}")
        return value

    return read


def names(known, what):
    def read(text):
        words = text.split(",")
        unknown = [word for word in words if word not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown) or text}: no such {what}; there are {' '.join(known)}")
        return list(dict.fromkeys(words))

    return read


def environments(text):
    words = text.split(",")
    unknown = [word for word in words if not tp_environment.known(word)]
    if unknown:
        there = f"{' '.join(tp_environment.NAMES)}, ns=CLIENT:SERVER:ADDRESS"
        raise argparse.ArgumentTypeError(f"{', '.join(unknown) or text}: no such environment; there are {there}")
    return list(dict.fromkeys(words))


def sizes(text):
    """64,128,1024-4096/64: single sizes, and ranges with a step."""
    found = set()
    for word in text.split(","):
        first, dash, rest = word.partition("-")
        last, slash, step = rest.partition("/")
        try:
            parts = [int(part) for part in ([first, last, step] if dash and slash else [first, first, "1"])]
        except ValueError:
            parts = [0, 0, 0]
        if (dash and not slash) or not 4 <= parts[0] <= parts[1] <= 65536 or parts[2] < 1:
            raise argparse.ArgumentTypeError(f"{word}: give sizes from 4 to 65536 as 64,1472 or 64-4096/64 (from-to/step)")
        found.update(range(parts[0], parts[1] + 1, parts[2]))
    return sorted(found)


def cpus(text):
    words = text.split(",")
    if len(words) != 2 or not all(word.isdigit() and int(word) < os.cpu_count() for word in words):
        raise argparse.ArgumentTypeError(f"{text}: give two CPUs from 0 to {os.cpu_count() - 1}, the client's and the server's: 0,1")
    return [int(word) for word in words]


def add(commands, name, function, words, quick):
    """A command, with the options that all have."""
    command = commands.add_parser(name, help=words)
    command.add_argument("--quick", action="store_true", help=quick)
    command.add_argument("--output", metavar="DIR", default="tpbench", help="folder of the reports (tpbench)")
    command.add_argument("--no-plots", action="store_true", help="JSON and CSV alone")
    command.add_argument("--build", metavar="DIR", help="measure this build instead of one of its own")
    command.add_argument("--prefix", default=f"tpb{os.getpid()}", help="of the namespaces that it makes (tpb and its pid)")
    command.add_argument("--pin", type=cpus, metavar="C,S", help="keep the two ends on these CPUs")
    command.set_defaults(run=function)
    return command
