# SPDX-License-Identifier: BSD-3-Clause
"""trace: a flow's packets through the stages, as they pass. The trace is switched off again however
this ends."""
import json
import signal
import sys
import time

from . import show
from .reference import flow_id_of
from .show import clean, number
from .talk import Refused, Unreachable, Wrong, ask

POLL_S = 0.2
QUIET_S = 5  # without a packet: does the flow still live?
PAGE = 1000
TCP_FLAGS = ("F", "S", "R", "P", "A", "U", "E", "C")  # bit 0 first
ARROWS = {"to_server": "->", "to_client": "<-"}


class Ended(Exception):
    """TERM, HUP or INT."""

    def __init__(self, which):
        super().__init__("signal")
        self.number = which


def on_signal(which, _frame):
    raise Ended(which)


def switch(options):
    message = ask(options, "trace", flow_id=flow_id_of(options), on=options.switch == "on")
    if options.json:
        return message
    print("flow %d is traced: watch the event file for \"trace\"; trace %d off ends it" % (
        message["flow_id"], message["flow_id"]) if message["trace"] else
        "flow %d is not traced any more" % message["flow_id"])
    return None


def tcp_words(step):
    if "tcp_flags" not in step:
        return ""
    flags = "".join(word for bit, word in enumerate(TCP_FLAGS) if step["tcp_flags"] & 1 << bit)
    return "  %-3s seq %d" % (flags or "-", step["tcp_seq"])


def packet_lines(steps, width):
    """One packet: when, which way, how long, and what the stages said. All but the last say "next"."""
    first = steps[0]
    left = "%s %s %5d B%s" % (clean(first["at"][11:26]), ARROWS.get(first["direction"], "?"), first["frame_length"],
                              tcp_words(first))
    stages = [clean(step["text"]).partition(": ") for step in steps]
    way = " > ".join(name if verdict == "next" and i + 1 < len(stages) else "%s: %s" % (
        name, "send" if verdict == "next" else verdict) for i, (name, _, verdict) in enumerate(stages))
    if len(left) + 2 + len(way) <= width:
        return [left + "  " + way]
    return [left] + ["    " + line for line in show.wrapped(way, width - 4)]


class Follower:
    def __init__(self, options, flow_id):
        self.options, self.flow_id = options, flow_id
        self.steps, self.packets, self.dropped = [], 0, 0
        self.width = show.columns() if sys.stdout.isatty() else 1000
        self.colours = show.has_colours()
        self.done = False

    def flush(self):
        """The packet whose steps are complete."""
        if not self.steps:
            return
        steps, self.steps = self.steps, []
        drops = ": drop" in steps[-1]["text"]
        self.packets += 1
        self.dropped += drops
        if not self.options.json:
            for line in packet_lines(steps, self.width):
                print(show.paint("red" if drops else None, line, self.colours))
        self.done = self.packets == self.options.count

    def take(self, step):
        if self.options.json:
            print(json.dumps(step))
        if self.steps and (step["packet"], step["lcore"]) != (self.steps[0]["packet"], self.steps[0]["lcore"]):
            self.flush()
        self.steps.append(step)
        if not step["text"].endswith(": next") or step["text"].startswith("decide"):
            self.flush()

    def follow(self):
        message = ask(self.options, "trace-read", flow_id=self.flow_id)
        after, heard = message["after"], time.monotonic()
        ask(self.options, "trace", flow_id=self.flow_id, on=True)
        while not self.done:
            message = ask(self.options, "trace-read", flow_id=self.flow_id, after=after, limit=PAGE)
            after = message["after"]
            if message["missed"]:
                print("(some steps were overwritten before they could be read)", file=sys.stderr)
            for step in message["steps"]:
                self.take(step)
                if self.done:
                    return
            sys.stdout.flush()
            if message["steps"]:
                heard = time.monotonic()
            elif self.steps:
                self.flush()
            elif time.monotonic() - heard > QUIET_S:
                heard = time.monotonic()
                if not self.lives():
                    print("flow %d has ended" % self.flow_id, file=sys.stderr)
                    return
            if len(message["steps"]) < PAGE:
                time.sleep(POLL_S)

    def lives(self):
        try:
            ask(self.options, "flow-show", flow_id=self.flow_id)
            return True
        except Refused:
            return False

    def switch_off(self):
        try:
            ask(self.options, "trace", flow_id=self.flow_id, on=False)
        except (Refused, Unreachable):
            pass  # the flow has ended, or the gateway: nothing is left to switch off


def follow(options):
    follower = Follower(options, flow_id_of(options))
    if not options.json:
        flow = ask(options, "flow-show", flow_id=follower.flow_id)
        print("flow %d  %s %s  %s; Ctrl-C ends the trace" % (
            follower.flow_id, clean(flow["proto"]), clean(show.ends(flow)), clean(show.app_of(flow))), flush=True)
    ended = None
    old = {which: signal.signal(which, on_signal) for which in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}
    try:
        follower.follow()
    except Ended as error:
        ended = error.number
    finally:
        for which in old:
            signal.signal(which, signal.SIG_IGN)
        follower.switch_off()
        for which, function in old.items():
            signal.signal(which, function)
    if ended in (signal.SIGTERM, signal.SIGHUP):
        sys.exit(128 + ended)
    if not options.json:
        print("%s, %s dropped; the trace is off" % (show.counted(follower.packets, "packet"), number(follower.dropped)))


def run(options):
    if options.switch:
        if options.count:
            raise Wrong("--count is for following, not for %s" % options.switch)
        return switch(options)
    follow(options)
    return None
