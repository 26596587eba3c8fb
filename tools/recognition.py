# SPDX-License-Identifier: BSD-3-Clause
"""config/recognition.json, how each application is known: read, written in one form, and as it stands in two pages of docs/.

The program has the same table (app/cmd/recognition_table.py); tests/golden/recognition.test replays what each row names.
"""
import json
import os

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE = os.path.join(ROOT, "config", "recognition.json")
PAGE = os.path.join("docs", "recognition.md")
UNKNOWN_PAGE = os.path.join("docs", "unknown-applications.md")
HEADING = "## How each application is known"
HEAD = """
The main ways, from config/recognition.json, as `sluice apps --explain NAME` has them. *Packet* is the data packet of the flow, both
directions together, from which it is known (0: the first packet, before any data; the first datagram of UDP is data packet 1); `tests/golden/recognition.test` replays
what *shown by* names and has to get that packet and that confidence: a flow of a capture below `$SLUICE_CORPORA/dev`, or,
where no capture has it, what the test makes: a conversation (tests/golden/classify_conversations.txt,
recognition_conversations.txt, tests/fuzz/corpus/classify), or a hello of TLS with a host's name or an ALPN. In such a row no
real client is behind the figure; which one was seen in the lab stands there, if one was. Ports alone are no knowledge, and
left out.

| application | how | packet | confidence | seen with | shown by | what defeats it |
|--|--|--|--|--|--|--|"""
UNKNOWN_HEAD = """# What can be known of which application

Names that people ask for, how each is known here, and what of it cannot be known from the wire, or not by us. *By*: **octets** (a pattern
or a verifier), **alpn**, **name** (the host that a client asks for, or DNS has given), **network** (published addresses),
**port** (a guess). *Nothing* is a result, too: what is encrypted from the first octet on is not claimed. What has neither a
published specification nor a client that could be run is listed and not claimed. `tests/cli/unknown_applications.test` holds the page
against `sluice apps` and the signature files. Sources and dates of names and networks are `source` and `date` of
each entry (`tools/hosts list`); of patterns, the `why` of each signature. The rows are those of config/recognition.json, and what `sluice apps --explain NAME` answers.
"""


def load(path=TABLE):
    """(rows, names)"""
    with open(path, encoding="utf-8") as file:
        table = json.load(file)
    return table["rows"], table["names"]


def _lines(entry, breaks):
    """An object over as many lines as there are keys in `breaks` that begin one."""
    out = ""
    for key, value in entry.items():
        out += (",\n     " if key in breaks else ", ") if out else "    {"
        out += f"{json.dumps(key)}: {json.dumps(value)}"
    return out + "}"


def dump(rows, names):
    return ('{\n  "$schema": "schema/recognition.schema.json",\n  "schema_version": 1,\n  "rows": [\n'
            + ",\n".join(_lines(row, ("packet", "capture", "defeats")) for row in rows) + '\n  ],\n  "names": [\n'
            + ",\n".join(_lines(name, ("unknown",)) for name in names) + "\n  ]\n}\n")


def problems(rows, names, apps):
    """What is wrong with the table beside these applications."""
    have = [row["app"] for row in rows]
    wrong = [f"{app}: nothing says how it is known" for app in apps if app not in have]
    wrong += [f"{app}: no such application" for app in sorted(set(have) - set(apps))]
    wrong += ["rows are not by application"] if have != sorted(have) else []
    known = [(row["app"], row["how"]) for row in rows]
    wrong += [f"{app}: twice: {how}" for app, how in set(known) if known.count((app, how)) > 1]
    for name in names:
        wrong += [f"{', '.join(name['names'])}: no application {app}" for app in name["apps"] if app not in apps]
    return wrong


def _cell(text):
    return text.replace("|", "\\|")


def section(rows):
    """The lines of docs/recognition.md."""
    lines = [HEADING, *HEAD.split("\n")]
    for row in rows:
        shown = f"{row['capture']}, {row['flow']}" if row["capture"] else f"made: {row['made']}"
        cells = (row["app"], row["how"], str(row["packet"]), row["confidence"], row["client"], shown, row["defeats"])
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return lines


def with_section(text, rows):
    """The page with this table in place of the one it has, which is its last section."""
    return text.split(HEADING)[0] + "\n".join(section(rows)) + "\n"


def unknown_page(names):
    text, group = UNKNOWN_HEAD, None
    for name in names:
        if name["group"] != group:
            group = name["group"]
            text += f"\n## {group}\n\n| name | application | by | what is not known, and why |\n|--|--|--|--|\n"
        apps = ", ".join(f"`{app}`" for app in name["apps"])
        by, why = ", ".join(name["by"]) or "nothing", name["unknown"]
        text += f"| {', '.join(name['names'])} | {apps}{' ' if apps else ''}| {by} | {why}{' ' if why else ''}|\n"
    return text
