# SPDX-License-Identifier: BSD-3-Clause
"""transfers and chat: what happened last to files and messages."""
import time

from . import show
from .show import amount, clean
from .talk import ask
from .view import View

TEXT_MAX = 60  # columns of a name or a text
STATES = {"CLOSED": "whole", "TRUNCATED": "cut off", "ERROR": "broken"}


def arguments(options):
    return {"host": options.host, "user": options.user, "app": options.app, "rule": options.rule,
            "item_id": options.id,
            "refused": options.refused or None, "limit": options.limit, "offset": options.offset}


def short(text, end=False):
    """Its beginning, or its end, where the extension is."""
    text = clean(text)
    if len(text) <= TEXT_MAX:
        return text or "-"
    return "..." + text[3 - TEXT_MAX:] if end else text[:TEXT_MAX - 3] + "..."


def did(entry):
    if entry.get("mode") == "monitor" and entry["action"] != "monitor":
        return "%s (monitor)" % entry["action"]
    return entry["action"]


def inside_out(entry):
    """Who got it from whom: the arrow goes as the bytes do."""
    client, server = (show.end(entry[end + "_ip"], entry.get(end + "_port")) for end in ("src", "dest"))
    return "%s %s %s" % (client, "<-" if entry["direction"] == "to_client" else "->", server)


def outcome(entry):
    if entry["refused"]:
        return "refused"
    if "state" in entry:
        return STATES.get(entry["state"], entry["state"].lower())
    return "announced" if entry.get("announced") else "-"


def transfer_table(entries):
    return (("time", "between", "app", "did", "is", ">size", "type", "rule", "name"),
            [(e["time"][11:19], inside_out(e), e.get("app", "-"), did(e), outcome(e),
              amount(e["size"]) if "size" in e else amount(e["bytes"]) if "bytes" in e else "-", e.get("type", "-"),
              e.get("rule", "-"), short(("..." if e.get("filename_cut") else "") + e.get("filename", ""), end=True))
             for e in entries])


def chat_table(entries):
    return (("time", "between", "app", "did", "rule", "from", "to", "text"),
            [(e["time"][11:19], inside_out(e), e.get("app", "-"), did(e), e.get("rule", "-"), e.get("from", "-"),
              e.get("to", "-"), short(e.get("text", "") + ("..." if e.get("text_cut") else ""))) for e in entries])


KINDS = {"transfers": ("transfers", transfer_table), "chat": ("messages", chat_table)}


class Watch(View):
    def __init__(self, options, command):
        super().__init__(options)
        self.interval = options.watch
        self.command, (self.part, self.table) = command, KINDS[command]
        self.entries, self.when = None, ""

    def question(self):
        return self.command, {name: value for name, value in arguments(self.options).items() if value is not None}

    def take(self, message):
        self.entries, self.when = message[self.part], time.strftime("%H:%M:%S")
        return message

    def lines(self, columns, rows):
        if self.entries is None:
            return ["asking ..."]
        head = "%s  %s, newest first%s" % (self.when, self.command, ", PAUSED" if self.paused else "")
        heads, cells = self.table(self.entries)
        body = list(show.table_lines(heads, cells)) if cells else ["none"]
        if rows:
            body = body[:rows - 2]
        lines = [head] + [("red", line) if place and self.entries[place - 1]["refused"] else line
                          for place, line in enumerate(body)] + (["q ends, p pauses"] if rows else [""])
        return lines if rows else [line[1] if isinstance(line, tuple) else line for line in lines]


def listed(options, command):
    key, table = KINDS[command]
    if options.watch:
        Watch(options, command).run()
        return None
    message = ask(options, command, **arguments(options))
    if options.json:
        return message
    show.table(*table(message[key]))
    show.shown(key, message, message[key])
    return None


def transfers(options):
    return listed(options, "transfers")


def chat(options):
    return listed(options, "chat")
