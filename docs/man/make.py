#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes a manual page of its template: make.py TEMPLATE > PAGE (meson does it).

@KEYS NAME@           the keys of config/schema/NAME.schema.json
@COMMAND NOUN VERB@   synopsis and options of a command of sluicectl, from its own grammar
@PLAIN@               the same of all commands without a view of their own
@COMMON@              the options that all of these have
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tools"))
import schema_table  # pylint: disable=import-error,wrong-import-position
from ctl import grammar  # pylint: disable=import-error,wrong-import-position


def escaped(text):
    text = text.replace("\\", "\\e").replace("`", "")
    return "\\&" + text if text[:1] in (".", "'") else text


def sentences(text):
    """One on each line, as mdoc wants them."""
    return [escaped(line) for line in re.split(r"(?<=[.?!;])\s+(?=[A-Z\"(])", text.strip()) if line]


def literal(text):
    """An argument of a macro: no blank parts it, no macro's name is taken for one."""
    text = text.replace("\\", "\\e").replace('"', '""').replace("-", "\\-")
    return '"%s"' % text if " " in text else "\\&" + text if re.fullmatch(r"[A-Z][a-z]\w?|[.'].*", text) else text


def keys(name):
    schema, tag = schema_table.load(name), {}
    yield ".Bl -tag -width Ds"
    for key, what, values, default, reload, meaning in schema_table.rows(schema, schema):
        above = next((tag[above] for above in sorted(tag, key=len, reverse=True) if key.startswith(above)), "")
        tag[key] = reload or above
        yield ".It Va %s" % literal(key)
        yield from sentences(meaning)
        facts = what[0].upper() + what[1:] + (", " + values if values else "")
        if default == "required":
            facts += "; required"
        elif default:
            facts += "; default: " + default
        if tag[key]:
            facts += "; " + tag[key]
        yield escaped(facts + ".")
    yield ".El"


def argument(action):
    if action.nargs == 0:
        return ""
    name = action.metavar or "|".join(action.choices)
    return "Op Ar %s" % literal(name) if action.nargs == "?" and action.option_strings else "Ar %s" % literal(name)


def item(action):
    if not action.option_strings:
        return ".It Ar %s" % literal(action.metavar or "|".join(action.choices))
    option = max(action.option_strings, key=len)
    return " ".join(word for word in (".It Fl", literal(option[1:]), argument(action)) if word)


def meaning_of(action):
    text = action.help[0].upper() + action.help[1:]
    return sentences(text if text.endswith(".") else text + ".")


def options(parser, common):
    return [a for a in parser._actions if a.option_strings and a.dest != "help" and
            (common or a.dest not in ("json", "socket", "timeout"))]


def command(words):
    parser = grammar.grammar_new().leaves["sluicectl " + words]
    yield ".Ic %s" % " ".join(literal(word) for word in words.split())
    if options(parser, False):
        yield ".Op options"
    positional = [a for a in parser._actions if not a.option_strings]
    for action in positional:
        yield "." + ("Op Ar " if action.nargs == "?" else "Ar ") + literal(action.metavar or "|".join(action.choices)) + \
            (" ..." if action.nargs == "+" else "")
    yield ".Pp"
    yield from sentences(parser.description)
    rows = positional + options(parser, False)
    if rows:
        yield ".Bl -tag -width Ds"
    for action in rows:
        yield item(action)
        if action.help:
            yield from meaning_of(action)
    if rows:
        yield ".El"


def plain():
    """Commands without a view of their own, which the template need not name."""
    for words in sorted(grammar.grammar_new().plain):
        yield ".Pp"
        yield from command(words.split(" ", 1)[1])


def common():
    yield ".Bl -tag -width Ds"
    for action in grammar.grammar_new().options._actions:
        if action.option_strings:
            yield item(action)
            yield from meaning_of(action)
    yield ".El"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        for line in file.read().split("\n")[:-1]:
            mark = re.fullmatch(r"@([A-Z]+)(?: (.*))?@", line)
            made = {"KEYS": keys, "COMMAND": command, "COMMON": lambda _: common(), "PLAIN": lambda _: plain()}[mark.group(1)](mark.group(2)) \
                if mark else [line]
            for out in made:
                print(out)


main()
