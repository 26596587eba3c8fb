# SPDX-License-Identifier: BSD-3-Clause
"""stats: once; `--watch` is in watch.py."""
from . import show
from .show import amount, number, span
from .talk import Wrong, ask


def show_ports(ports):
    wired = [port for port in ports if "rx_pkts" in port]
    if wired:
        print()
        show.table(("port", "side", "peer", "link", ">rx pkts", ">rx", ">tx pkts", ">tx", ">missed", ">no mbuf",
                    ">errors"),
                   [(p["name"], p["side"], p.get("peer", "-"), p["link"], number(p["rx_pkts"]), amount(p["rx_bytes"]),
                     number(p["tx_pkts"]), amount(p["tx_bytes"]), number(p["rx_missed"]), number(p["rx_nombuf"]),
                     number(p["rx_errors"] + p["tx_errors"])) for p in wired])


def show_latency(ports):
    used = [port for port in ports if port.get("latency", {}).get("count")]
    if used:
        print()
        show.table(("out port", ">packets", ">median", ">90 %", ">99 %", ">longest"),
                   [(p["name"], number(p["latency"]["count"])) + tuple(
                       show.duration(p["latency"][key]) for key in ("p50_ns", "p90_ns", "p99_ns", "max_ns"))
                    for p in used])


def heart(now_ns, beat_ns):
    return "%d ms ago" % (max(0, now_ns - beat_ns) // 1000000) if beat_ns else "never"


def reasons(dropped):
    words = ["%s %s" % (reason, number(count)) for reason, count in sorted(dropped.items(), key=lambda x: -x[1])]
    return ": " + ", ".join(words) if words else ""


def watched(message):
    """What the gateway says should be looked into (docs/operating.md says why)."""
    return ["%s %s" % (name, number(value)) for name, value in message.get("look_into", {}).items()]


def show_lcores(message):
    print()
    show.table(("lcore", ">received", ">sent", ">dropped", ">handed on", ">flows", ">busy", ">heart"),
               [(l["lcore"], number(l["received"]), number(l["sent"]), number(l["dropped"]), number(l["handoff_out"]),
                 number(l["flows_active"] + l["embryos_active"]),
                 "%.0f %%" % (l["busy_permille"] / 10),
                 heart(message["now_ns"], l["heartbeat_ns"])) for l in message["lcores"]])


def content(counters, reader):
    """Of a gateway whose rules have asked for files or messages."""
    if not counters.get("content_flows"):
        return []
    def of(key, word):
        return show.counted(counters.get("content_" + key, 0), word)
    text = ", ".join((of("flows", "flow"), of("files", "file"), of("messages", "message"), of("refused", "flow") + " refused",
                      number(counters.get("content_nomem", 0)) + " without room"))
    rows = [("content", text)]
    if reader:
        store, audit = reader["store"], reader["audit"]
        rows.append(("recorded", "%s, %s lost; %s stored (%s); audit log: %s, %s lost" % (
            show.counted(reader["records"], "record"), number(counters.get("content_lost", 0) + reader["lost"]),
            show.counted(store["used_files"], "file"), amount(store["used_bytes"]), show.counted(audit["records"], "record"), number(audit["lost"]))))
    return rows


def show_summary(message):
    counters, policy, events = message["counters"], message["policy"], message.get("events", {})
    dropped = {reason: count for reason, count in message["dropped"].items() if count}
    show.pairs([
        ("up", span(message["uptime_s"])),
        ("policy", "generation %d since %s, %s" % (
            policy["generation"], policy["loaded"][:19], show.counted(policy["failures"], "failed reload"))),
        ("received", "%s, %s" % (show.counted(message["received"], "packet"), amount(counters["received_bytes"]))),
        ("sent", "%s, %s; %s made by the gateway" % (
            show.counted(message["sent"], "packet"), amount(counters["sent_bytes"]), number(message["injected"]))),
        ("dropped", "%s%s" % (show.counted(sum(dropped.values()), "packet"), reasons(dropped))),
        ("held", "%s; %s consumed; %s unaccounted" % (
            show.counted(message["held"], "packet"), number(message["consumed"]), number(message["unaccounted"]))),
        ("flows", "%s live (%s without payload yet); %s made, %s ended, %s blocked" % (
            number(counters["flows_active"] + counters["embryos_active"]), number(counters["embryos_active"]),
            number(counters["flows_created"]), number(counters["flows_ended"]), number(counters["flows_condemned"]))),
        ("classified", "%s by payload, %s given up" % (
            number(counters["classify_done"]), number(counters["classify_giveup"]))),
        ("reassembly", "%s of %s blocks used, %s of %s flows tracked, %s holes, %s of %s segments held" % tuple(
            number(counters.get(key, 0)) for key in (
                "slab_blocks_used", "slab_blocks", "tracked_active", "tracked_limit", "tcp_holes_active",
                "tcp_held_active", "tcp_held_limit"))),
        ("connection cache", "%s, %s, %s saved" % (
            show.counted(counters["cache_entries"], "entry", "entries"), show.counted(counters["cache_hits"], "hit"), amount(counters["cache_saved_bytes"]))),
    ] + content(counters, message.get("content")) + [
        ("events", "%s written, %s failed, %s lost" % (
            number(events.get("written", 0)), number(events.get("failed", 0)), number(counters["events_lost"]))),
        ("to look into", ", ".join(watched(message)) or "nothing"),
    ])


def run(options):
    if options.watch:
        from . import watch

        return watch.run(options)
    if options.count:
        raise Wrong("--count is for --watch")
    message = ask(options, "stats")
    if options.json:
        return message
    show_summary(message)
    show_ports(message["ports"])
    show_latency(message["ports"])
    show_lcores(message)
    if message["pools"]:
        print()
        show.table(("pool", ">mbufs", ">free"), [
            (name, number(pool["size"]), number(pool["free"])) for name, pool in sorted(message["pools"].items())])
    if options.all:
        print()
        show.pairs([(name, number(value)) for name, value in sorted(message["counters"].items()) if value])
    return None
