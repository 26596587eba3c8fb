# SPDX-License-Identifier: BSD-3-Clause
"""top: who uses the line, by flow, host, user, application, rule or category."""
from . import show
from .flows import filters
from .grammar import TOP_ORDER
from .show import amount, number, per_second
from .talk import ask
from .view import View

KEYS = {"f": "flow", "h": "host", "u": "user", "a": "app", "r": "rule", "c": "category"}
ORDERS = {"R": "rate", "b": "bytes", "n": "flows", "s": None}
HELP = (
    "keys",
    "",
    "  f h u a r c a row is a flow, host, user, application, rule, category",
    "  R b n       on top: the highest rate, most bytes, most flows",
    "  s           the next of these",
    "  i           hosts: inside ends, outside ends, both",
    "  + -         look more, less often",
    "  p           pause, and go on",
    "  q           quit (Ctrl-C)",
    "  ?           this, and back",
    "",
    "The rate is that of the last second, both directions together. A flow",
    "without application is \"unknown\", one that no rule decided \"default\", one of",
    "an address that is no user's \"(none)\".",
    "flow reset and flow allow take the number of a row of view f.",
)
SIDES = ("inside", "outside", "both")
HEADS = {"host": "host", "user": "user", "app": "application", "rule": "rule", "category": "category"}
NOUNS = {"host": ("host", "hosts"), "user": ("user", "users"), "app": ("application", "applications"), "rule": ("rule", "rules"),
         "category": ("category", "categories")}


def cut(text, width):
    return text if len(text) <= width else text[: max(0, width - 1)] + "~"


# Of the view by flow: head, and what stands below it.
FLOW_COLUMNS = {
    "flow": ("flow", lambda row: row["key"]),
    "proto": ("proto", lambda row: row["proto"].lower()),
    "rate": (">rate", lambda row: per_second(row["rate_bytes_s"])),
    "bytes": (">bytes", lambda row: amount(row["bytes"])),
    "app": ("app", show.app_of),
    "action": ("action", lambda row: row["action"]),
    "ends": ("from > to", lambda row: show.ends(row, " > ")),
}


def flow_table(message, columns):
    """As many columns as the terminal has room for."""
    names = list(FLOW_COLUMNS)
    for dropped in ("proto", "action", "rate" if message["order"] == "bytes" else "bytes", None):
        rows = [tuple(FLOW_COLUMNS[name][1](row) for name in names) for row in message["rows"]]
        lines = list(show.table_lines([FLOW_COLUMNS[name][0] for name in names], rows))
        if not columns or dropped is None or max(map(len, lines)) <= columns:
            return lines
        names.remove(dropped)
    return lines


def row_cells(row):
    return (row["key"], number(row["flows"]), per_second(row["rate_bytes_s"]), amount(row["bytes"]),
            amount(row["bytes_toserver"]), amount(row["bytes_toclient"]), number(row["pkts"]))


def heads(by):
    return (HEADS[by], ">flows", ">rate", ">bytes", ">to server", ">to client", ">pkts")


def counted(message):
    """How many rows there would be."""
    if message["by"] == "flow":
        return ""
    one, many = NOUNS[message["by"]]
    return "  %s %s" % (number(message["keys"]), one if message["keys"] == 1 else many)


def row_lines(message, columns):
    """The table; what does not fit is cut where it hurts least: the longest name."""
    if not message["rows"]:
        return ["no flows" if not message["total"] else "no flow is as asked"]
    if message["by"] == "flow":
        return [cut(line, columns) if columns else line for line in flow_table(message, columns)]
    by, rows = message["by"], [row_cells(row) for row in message["rows"]]
    if columns:
        plain = max(len(line) for line in show.table_lines(heads(by), [(("",) + row[1:]) for row in rows]))
        room = max(12, columns - plain + len(HEADS[by]))
        rows = [(cut(row[0], room),) + row[1:] for row in rows]
    lines = list(show.table_lines(heads(by), rows))
    return [cut(line, columns) for line in lines] if columns else lines


class Top(View):
    def __init__(self, options):
        super().__init__(options)
        self.by, self.order, self.side = options.by, options.order, options.side or "inside"
        self.message, self.help = None, False
        self.fits = 20
        self.asked = None

    def question(self):
        self.asked = self.by
        order = "rate" if self.by == "flow" and self.order == "flows" else self.order  # each is one
        return "top", {"by": self.by, "order": order, "side": self.side if self.by == "host" else None,
                       "limit": self.options.limit or self.fits, **filters(self.options)}

    def take(self, message):
        self.message = message
        return message

    def key(self, key):
        if key in KEYS:
            self.by, self.help = KEYS[key], False
        elif key in ORDERS:
            self.order = ORDERS[key] or TOP_ORDER[(TOP_ORDER.index(self.order) + 1) % len(TOP_ORDER)]
        elif key == "i":
            self.side = SIDES[(SIDES.index(self.side) + 1) % len(SIDES)]
        elif key in "+-":
            self.interval = min(60.0, max(0.25, self.interval / 2 if key == "+" else self.interval * 2))
        elif key in "?H":
            self.help = not self.help
            return False
        else:
            return False
        return True

    def head(self):
        message = self.message
        text = "%s  %s of %s%s  by %s" % (
            per_second(message["rate_bytes_s"]), number(message["matched"]), show.counted(message["total"], "flow"),
            counted(message), message["order"])
        if message["by"] == "host":
            text += " (%s)" % self.side
        return text + ("  PAUSED" if self.paused else "")

    def lines(self, columns, rows):
        if self.help:
            return list(HELP)
        if not self.message:
            return ["asking ..."]
        body = row_lines(self.message, columns)
        if rows:
            self.fits = max(5, rows - 4)
            body = body[: max(1, rows - 3)]
            body += [""] * (rows - 3 - len(body))
            if self.message["by"] == "flow":
                # What is blocked is seen where there is no room for the column.
                body[1:] = [("red" if row["action"] != "pass" else None, line)
                            for row, line in zip(self.message["rows"], body[1:])] + body[1 + len(self.message["rows"]):]
            body[0] = ("dim", body[0])
        other = self.message.get("other_flows")
        foot = "f)low h)ost u)ser a)pp r)ule c)ategory  s)ort p)ause ?)help q)uit" if rows else ""
        if other:
            foot = "%s of more keys than are counted apart  %s" % (show.counted(other, "flow"), foot)
        return [("bold", self.head()) if rows else self.head()] + body + ([""] if rows else []) + [foot]


def run(options):
    if options.once:
        top = Top(options)
        command, arguments = top.question()
        top.message = ask(options, command, **arguments)
        if options.json:
            return top.message
        width = show.columns() if top.colours else 0
        print("\n".join(line for line in top.lines(width, 0) if line))
        return None
    Top(options).run()
    return None
