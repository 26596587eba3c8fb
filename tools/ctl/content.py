# SPDX-License-Identifier: BSD-3-Clause
"""content add, del, list, flush."""
from . import show
from .show import number, span
from .talk import ask


def effect(message):
    return "" if message["enforced"] else "; the policy in force enforces nothing, so it is only reported"


def add(options):
    message = ask(options, "content-add", id=options.id, comment=options.comment, ttl_s=options.ttl)
    if options.json:
        return message
    how_long = " for %s" % span(options.ttl) if options.ttl else ""
    known = "" if message["added"] == len(message["ids"]) else " (was in the list)"
    print("%s refused%s%s%s" % (" and ".join(message["ids"]), how_long, known, effect(message)))
    return None


def delete(options):
    message = ask(options, "content-del", id=options.id)
    if options.json:
        return message
    print("%s not refused any more; a rule may refuse it still" % " and ".join(message["ids"]))
    return None


def list_entries(options):
    message = ask(options, "content-list", limit=options.limit, offset=options.offset)
    if options.json:
        return message
    show.table(("id", ">ends in", "comment"),
               [(e["id"], span(e["ttl_s"]) if "ttl_s" in e else "never", e.get("comment", "-")) for e in message["entries"]])
    show.shown("ids", message, message["entries"])
    return None


def flush(options):
    message = ask(options, "content-flush")
    if options.json:
        return message
    print("%s removed; lists of the policy stay" % ids(message["deleted"]))
    return None


def ids(count):
    return show.counted(count, "id")
