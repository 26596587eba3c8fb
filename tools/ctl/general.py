# SPDX-License-Identifier: BSD-3-Clause
"""version, log, debug, and what has no view of its own."""
from . import show
from .talk import ask


def version(options):
    message = ask(options, "version")
    if options.json:
        return message
    show.pairs([("sluice", message["version"]), ("dpdk", message["dpdk"]), ("jansson", message["jansson"]),
                ("libevent", message["libevent"]), ("pid", message["pid"]), ("up", show.span(message["uptime_s"])),
                ("data lcores", message["lcores"]), ("policy", "generation %d" % message["generation"])])
    return None


def log_level(options):
    message = ask(options, "log-level", level=options.level)
    if options.json:
        return message
    print(message["level"])
    return None


def debug_stall(options):
    message = ask(options, "debug-stall", lcore=options.lcore, ms=options.ms, where=options.where)
    if options.json:
        return message
    print("data lcore %d will stand still for %d ms (%s)" % (message["lcore"], message["ms"], message["where"]))
    return None


def plain(options):
    names = options.plain["arguments"].split(", ") if options.plain["arguments"] else ()
    return ask(options, options.plain["command"], **{name: getattr(options, name) for name in names})
