# SPDX-License-Identifier: BSD-3-Clause
"""What the shells' completion asks: `sluicectl complete INDEX WORD...`, the words of the line from
`sluicectl` on. Prints the candidates for the word at INDEX, one per line; "\\tfiles" where a file
belongs. Never says anything else: a gateway that does not answer at once has nothing to offer."""
import argparse
import json
import shutil
import subprocess

from . import grammar, talk

ANSWER_S = 0.3
FLOWS_MAX = 50


class Options:
    """Where to ask, as far as the line says it."""

    def __init__(self, words):
        import os

        self.socket = os.environ.get("SLUICE_SOCKET") or talk.DEFAULT_SOCKET
        self.timeout = ANSWER_S
        for i, word in enumerate(words):
            if word == "--socket" and i + 1 < len(words):
                self.socket = words[i + 1]
            elif word.startswith("--socket="):
                self.socket = word[len("--socket="):]


def applications(options, _word):
    """All that rules can name: built in, and the policy's own."""
    program = shutil.which("sluice") or "/usr/bin/sluice"
    names = ["unknown"]
    try:
        names += [app["id"] for app in json.loads(subprocess.run(
            [program, "apps", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            timeout=1, check=False).stdout)]
    except (OSError, ValueError, subprocess.TimeoutExpired):
        names += [row["key"] for row in talk.ask(options, "top", by="app", limit=100)["rows"]]
    own = talk.ask(options, "policy-show")["policy"].get("applications", [])
    return names + [app["id"] for app in own]


def rules(options, _word):
    return ["default"] + [rule["id"] for rule in talk.ask(options, "policy-show")["policy"].get("rules", [])]


def users(options, _word):
    return list(talk.ask(options, "policy-show")["policy"].get("users", {}))


def flows(options, word):
    """The fastest; of those that begin like `word` as many as a page has."""
    page = talk.ask(options, "flow-list", limit=1000 if word else FLOWS_MAX, sort="rate")
    return [str(flow["flow_id"]) for flow in page["flows"]]


def categories(options, _word):
    return [row["key"] for row in talk.ask(options, "top", by="category", limit=100)["rows"]]


LIVE = {"app": applications, "rule": rules, "user": users, "flow": flows, "category": categories}


def values(action, options, word):
    if action.choices:
        return list(action.choices)
    kind = getattr(action, "live", None)
    if kind == "file":
        return ["\tfiles"]
    try:
        return LIVE[kind](options, word) if kind else []
    except (talk.Refused, talk.Unreachable, KeyError, TypeError, AttributeError):
        return []


def takes_value(action):
    return action.nargs != 0


class Line:
    """Walks down the grammar along the words before the one that is completed."""

    def __init__(self, words):
        self.parser, self.pending, self.used = grammar.grammar_new().parser, None, 0
        for word in words:
            self.step(word)

    def subparsers(self):
        return next((a for a in self.parser._actions if isinstance(a, argparse._SubParsersAction)), None)

    def option(self, word):
        return self.parser._option_string_actions.get(word)

    def positionals(self):
        return [a for a in self.parser._actions if not a.option_strings]

    def step(self, word):
        if self.pending is not None and not word.startswith("-"):
            self.pending = None
            return
        self.pending = None
        if word.startswith("-"):
            action = self.option(word)
            self.pending = action if action is not None and takes_value(action) else None
            return
        below = self.subparsers()
        if below is not None and word in below.choices:
            self.parser, self.used = below.choices[word], 0
        else:
            self.used += 1

    def visible(self, below):
        return [choice.dest for choice in below._choices_actions]

    def candidates(self, word, options):
        if word.startswith("--") and "=" in word:
            name, _, value = word.partition("=")
            action = self.option(name)
            return ["%s=%s" % (name, v) for v in values(action, options, value)] if action is not None else []
        if self.pending is not None:
            found = values(self.pending, options, word)
            if self.pending.nargs != "?" or found:
                return found
        if word.startswith("-"):
            return [o for a in self.parser._actions for o in a.option_strings if o.startswith("--")]
        below = self.subparsers()
        if below is not None:
            return self.visible(below)
        left = self.positionals()[self.used:] or [a for a in self.positionals()[-1:] if a.nargs == "+"]
        return values(left[0], options, word) if left else []


def main(arguments):
    try:
        index, words = int(arguments[0]), arguments[1:]
    except (IndexError, ValueError):
        return 2
    before, word = words[1:index], words[index] if index < len(words) else ""
    options = Options(before)
    for candidate in dict.fromkeys(Line(before).candidates(word, options)):
        if candidate.startswith("\t") or candidate.startswith(word):
            print(candidate)
    return 0
