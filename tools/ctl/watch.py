# SPDX-License-Identifier: BSD-3-Clause
"""stats --watch: what moves, how far since the last look, and how fast."""
import time

from . import show
from .show import number, span
from .view import View

# Values that go up and down: told by their change, not by a rate.
GAUGES = {"flows_active", "embryos_active", "elephants_active", "cache_entries", "held", "held_pkts", "fragments_held",
          "datagrams_held", "unaccounted",
          "evidence_bytes", "slab_blocks", "slab_blocks_used", "tracked_limit", "tracked_active", "tcp_holes_active",
          "tcp_held_limit", "tcp_held_active",
          "chain_flows", "chain_conn_cache", "chain_endpoints", "chain_names", "chain_expectations", "chain_fragments"}
STAYS = 5  # rounds that a row stays after it stood still: rows that come and go cannot be read


def flat(message):
    """{name: value} of the numbers that count something."""
    out = {name: value for name, value in message["counters"].items() if isinstance(value, int)}
    out.update(("dropped." + reason, value) for reason, value in message["dropped"].items())
    out["held"], out["unaccounted"] = message["held"], message["unaccounted"]
    for name, value in message.get("events", {}).items():
        out["events." + name] = value
    out["lcore_stalls"] = message.get("lcore_stalls", 0)
    for port in message["ports"]:
        for name, value in port.items():
            if isinstance(value, int) and not isinstance(value, bool) and "_" in name:
                out["%s.%s" % (port["name"], name)] = value
    return out


class Watch(View):
    def __init__(self, options):
        super().__init__(options)
        self.interval = options.watch
        self.last = self.now = None
        self.deltas, self.still = {}, {}
        self.message, self.elapsed, self.note, self.when = None, 0.0, "", ""

    def question(self):
        return "stats", {}

    def gone(self):
        self.last, self.deltas, self.still = None, {}, {}

    def take(self, message):
        before, self.message = self.message, message
        self.now, self.when = flat(message), time.strftime("%H:%M:%S")
        at_ns = message["now_ns"]
        self.note = ""
        if before and message["uptime_s"] < before["uptime_s"]:
            self.note = "the gateway was restarted"
            self.gone()
        last, self.last = self.last, (at_ns, self.now)
        if last is None:
            if not self.rounds:
                return None  # the first look is what the next is measured against
            self.deltas = {}
            return {"restarted": True, "uptime_s": message["uptime_s"], "counters": {}}
        # The gateway's clock: ours is no witness of when it counted.
        self.elapsed = max((at_ns - last[0]) / 1e9, 1e-3)
        self.deltas = {}
        for name, value in self.now.items():
            delta = value - last[1].get(name, 0)
            if delta:
                self.deltas[name], self.still[name] = delta, 0
            elif name in self.still:
                self.still[name] += 1
                if self.still[name] > STAYS:
                    del self.still[name]
        return {"uptime_s": message["uptime_s"], "elapsed_s": round(self.elapsed, 6), "counters": {
            name: {"value": self.now[name], "delta": delta} if name in GAUGES else
            {"value": self.now[name], "delta": delta, "per_s": round(delta / self.elapsed, 3)}
            for name, delta in self.deltas.items()}}

    def rows(self, names):
        for name in names:
            delta = self.deltas.get(name, 0)
            rate = delta / self.elapsed if self.elapsed else 0
            how = "" if name in GAUGES else (
                show.per_second(rate) if "bytes" in name else "%s/s" % (
                    number(round(rate)) if rate >= 10 or not rate else "%.2g" % rate))
            yield name, number(self.now[name]), "%s%s" % ("+" if delta > 0 else "", number(delta)), how

    def lines(self, columns, rows):
        if not self.message:
            return ["asking ..."]
        head = "%s  up %s, generation %d%s%s" % (
            self.when, span(self.message["uptime_s"]), self.message["policy"]["generation"],
            ", every %g s" % self.interval if rows else "", ", PAUSED" if self.paused else "")
        if self.note:
            head += "; " + self.note
        names = [name for name in self.now if name in (self.still if rows else self.deltas)]
        body = list(show.table_lines(("counter", ">value", ">change", ">rate"), list(self.rows(names)))) if names else [
            "nothing moves" if self.deltas or self.last else "measuring ..."]
        foot = ["q ends, p pauses"] if rows else [""]
        if rows and len(body) > rows - 2:
            left_out = len(body) - (rows - 3)
            body = body[: rows - 3] + ["and %d more" % left_out]
        lines = [head] + body + foot
        return [line[:columns] for line in lines] if columns and not rows else lines


def run(options):
    Watch(options).run()
