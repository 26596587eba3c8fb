# SPDX-License-Identifier: BSD-3-Clause
"""policy show, check, diff, reload."""
import json
import os

from . import show
from .show import clean, number
from .talk import ask


def line(message):
    return "%s is in force: generation %d, rules %d, signatures %d" % (
        clean(message["path"]), message["generation"], message["rules"], message["signatures"])


def absolute(path):
    return None if path is None else os.path.abspath(path)


def show_warnings(message):
    for warning in message.get("warnings", []):
        print("warning: %s" % clean(warning))


def show_policy(options):
    message = ask(options, "policy-show")
    if options.json:
        return message
    print("# %s, loaded %s" % (line(message), message["loaded"]))
    print(json.dumps(message["policy"], indent=2))
    return None


def check(options):
    message = ask(options, "policy-check", path=absolute(options.file))
    if options.json:
        return message
    show_warnings(message)
    print("%s: no errors" % clean(message["path"]))
    return None


def reload(options):
    message = ask(options, "policy-reload", path=absolute(options.file))
    if options.json:
        return message
    show_warnings(message)
    print("%s (%d ms)" % (line(message), message["took_ms"]))
    return None


class Report:
    """Lines with a sign: + new, - gone, ~ changed."""

    COLOURS = {"+": "green", "-": "red", "~": "yellow"}

    def __init__(self):
        self.colours, self.width = show.has_colours(), show.columns()

    def say(self, sign, text):
        first, *more = show.wrapped(clean(text), self.width - 4)
        print("%s %s" % (show.paint(self.COLOURS.get(sign), sign, self.colours), first))
        for part in more:
            print("    %s" % part)

    def keys(self, keys):
        for key in keys:
            self.say("~", "%s: %s -> %s" % (key["key"], value(key["old"]), value(key["new"])))

    def named(self, noun, part):
        """Rules, or applications."""
        for sign, word in (("+", "added"), ("-", "removed")):
            for entry in part.get(word, []):
                body = entry.get(noun, {})
                text = {key: item for key, item in body.items() if key != "id"} if isinstance(body, dict) else body
                place = " (place %d)" % (entry["position"] + 1) if "position" in entry else ""
                self.say(sign, "%s %s%s: %s" % (noun, entry["id"], place, value(text)))
        for entry in part.get("changed", []):
            for key in entry["keys"]:
                self.say("~", "%s %s, %s: %s -> %s" % (noun, entry["id"], key["key"], value(key["old"]),
                                                      value(key["new"])))
        for entry in part.get("moved", []):
            self.say("~", "%s %s: from place %d to %d" % (noun, entry["id"], entry["old"] + 1, entry["new"] + 1))

    def users(self, users):
        counts = [(word, users.get(word, 0)) for word in ("added", "removed", "changed")]
        if any(n for _, n in counts):
            names = users.get("names", [])
            total = sum(n for _, n in counts)
            self.say("~", "users: %s: %s%s" % (", ".join("%d %s" % (n, word) for word, n in counts if n),
                                               ", ".join(names), ", ..." if total > len(names) else ""))


def value(item):
    return "none" if item is None else json.dumps(item, ensure_ascii=False) if not isinstance(item, str) else item


def decision(part):
    return "%s by %s" % (clean(part["action"]), clean(part["rule"]))


def show_flows(message):
    flows = message["flows"]
    note = "" if message.get("reevaluate", "all") == "all" else \
        " (live flows keep their decision: reevaluate is %s; this is what new ones would meet)" % message["reevaluate"]
    undecided = ", %s not known well enough yet" % number(flows["undecided"]) if flows.get("undecided") else ""
    print("%s of %s live flows would be decided otherwise%s%s" % (
        number(flows["changed"]), number(flows["looked_at"]), undecided, note))
    if flows.get("transitions"):
        show.table((">flows", "now", "then"), [
            (number(t["flows"]), decision(t["old"]), decision(t["new"])) for t in flows["transitions"]])
    if flows.get("examples"):
        print("\nfor example")
        show.table((">flow", "proto", "ends", "app", "now", "then"), [
            (f["flow_id"], f["proto"], show.ends(f), show.app_of(f), decision(f["old"]), decision(f["new"]))
            for f in flows["examples"]])


def diff(options):
    message = ask(options, "policy-diff", path=absolute(options.file), examples=options.examples)
    if options.json:
        return message
    print("%s, against generation %d in force" % (clean(message["path"]), message["generation"]))
    if message["same"]:
        print("no difference")
        return None
    report = Report()
    report.keys(message.get("keys", []))
    report.named("application", message.get("applications", {}))
    report.users(message.get("users", {}))
    report.named("rule", message.get("rules", {}))
    print()
    show_flows(message)
    return None
