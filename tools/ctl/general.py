# SPDX-License-Identifier: BSD-3-Clause
"""version, log."""
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
