# SPDX-License-Identifier: BSD-3-Clause
"""explain: the evidence of a flow, oldest first, within 80 columns."""
import datetime

from . import show
from .reference import explain_arguments
from .show import clean, number
from .talk import Refused, ask

ENTRIES_MAX = 20
LEFT = 25  # columns of time and name
COLOURS = {"pass": "green", "monitored": "yellow", "blocked": "red", "undecided": "yellow", "invalid": "red",
           "unknown": "yellow"}
VERIFIERS = {"none": "no verifier", "no": "the verifier refused it", "more": "the verifier wants to see more",
             "partial": "looks like it (partial)", "dpi": "found (dpi)", "yes": "verified"}


def moment(text):
    """Seconds since the epoch of "2026-11-21T05:10:33.123456+0000"; None if it is none."""
    try:
        return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z").timestamp()
    except (TypeError, ValueError):
        return None


def by_rule(piece):
    rule = piece.get("rule")
    if rule is None or rule == "default":
        return "" if rule is None else " by the default"
    return " by rule %s" % rule + (" (%s)" % piece["rule_comment"] if "rule_comment" in piece else "")


def known_as(piece):
    app, confidence = piece.get("app"), piece.get("confidence")
    return "%s (%s)" % (app, confidence) if app and confidence else app or "no application"


def place(found):
    """Where in the stream, and what stands there."""
    half = {"to_server": "client", "to_client": "server"}.get(found.get("half"), found.get("half", "?"))
    text = "in %s the %s sent, at byte %s" % ("a datagram that" if found.get("datagram") else "what", half,
                                              number(found.get("offset", 0)))
    if found.get("length"):
        text += ", %d long" % found["length"]
    if found.get("hex"):
        text += ": %s" % readable(found["hex"])
    return text


def readable(text):
    """In letters what is letters, else in hexadecimal."""
    try:
        octets = bytes.fromhex(text)
    except ValueError:
        return text
    if all(32 <= octet < 127 for octet in octets):
        return '"%s"' % octets.decode("ascii")
    return octets.hex(" ")


def flow_made(piece):
    how = {"syn": "by a SYN", "midstream": "midstream, its beginning was not seen", "datagram": "by a datagram",
           "other": "by a packet"}.get(piece.get("how"), piece.get("how", ""))
    allowed = "; the operator allowed these ends" if piece.get("allowed") else ""
    return "%s: %s %s%s" % (how, piece.get("proto", ""), show.ends(piece), allowed)


def signature(piece):
    parts = ["%s for %s: %s" % (piece.get("signature", "?"), piece.get("app", "?"),
                                VERIFIERS.get(piece.get("verifier"), piece.get("verifier")))]
    if piece.get("verifier") != "no" and piece.get("confidence", "") not in parts[0]:
        parts[0] += ", confidence %s" % piece["confidence"]
    return parts + ([place(piece["bytes"])] if piece.get("bytes") else [])


def shape(piece):
    return ["%s: %s" % (piece.get("app", "?"), VERIFIERS.get(piece.get("verifier"), piece.get("verifier")))] + (
        [place(piece["bytes"])] if piece.get("bytes") else [])


def user_app(piece):
    known_by = {"host": "the host asked for, %s" % piece.get("host", "?"), "port": "port %s alone" % piece.get("port", "?"),
                "address": "the responder's address"}.get(piece.get("by"), "?")
    return "%s, an application of the policy, by %s" % (piece.get("app", "?"), known_by)


def decision(piece):
    text = "%s%s, as %s" % (piece.get("action", "?"), by_rule(piece), known_as(piece))
    if piece.get("signature"):
        text += ", signature %s" % piece["signature"]
    text += "; again, after a reload" if piece.get("again") else ""
    return text + ("" if piece.get("final", True) else "; not final: more may be learned")


def resets(piece):
    sent = piece.get("sent", 0)
    if not sent:
        return "impossible (its ends could not be addressed): its packets are dropped all the same"
    return "%d %s sent" % (sent, "RST" if piece.get("proto", "TCP") == "TCP" else "ICMP unreachable")


def cache_entry(piece):
    text = "%s %s" % (piece.get("mode", "?"), show.ends(piece))
    if piece.get("app"):
        text += ", %s" % piece["app"]
    return text + by_rule(piece)


def cache_hit(piece):
    taught = "taught by flow %s" % piece["flow_id"] if piece.get("flow_id") else "put there by the operator"
    passed = "; let through: the cache only learns" if piece.get("passed") else "; dropped"
    return "%s; %s%s" % (cache_entry(piece), taught, passed)


def expected(piece):
    how = " (%s)" % piece["as"] if piece.get("as") else ""
    return "%s: %s announced it%s" % (
        known_as(piece), "flow %s" % piece["told_by"] if piece.get("told_by") else "another flow", how)


def learned(piece):
    told = ", as flow %s says" % piece["told_by"] if piece.get("told_by") else ""
    if piece.get("from") == "dns":
        return "%s: DNS gave this address for a name of it%s" % (known_as(piece), told)
    return "%s: the endpoint is known from %s%s" % (known_as(piece), piece.get("from", "?"), told)


def part(piece, place="bytes at"):
    return "%s %s %s %s" % (
        number(piece.get("length", 0)), place, number(piece.get("offset", 0)), piece.get("half", "").replace("_", " "))


def operator(piece):
    return "%s%s" % (piece.get("command", "?"), ": its time is over" if piece.get("expired") else "")


def invalid(piece):
    where = "; %s" % show.ends(piece) if "src_ip" in piece else ""
    return "%s; %s%s" % (piece.get("reason", "?"), "dropped" if piece.get("dropped") else "passed on, not inspected",
                         where)


def content(piece):
    means = ", ".join(piece.get("by", []))
    if piece.get("matched"):
        means += " %s%s" % (piece["matched"], "..." if piece.get("cut") else "")
    if piece.get("type"):
        means += " (%s)" % piece["type"]
    mode = ", in monitor mode" if piece.get("mode") == "monitor" else ""
    return "%s: %s%s%s%s" % (piece.get("entry", "?"), means or "any", ": " + piece["did"] if piece.get("did") else "", mode,
                             by_rule(piece))


def content_name(piece):
    word, name = ("from", piece["from"]) if "from" in piece else ("named", piece.get("filename", ""))
    text = '%s "%s%s"' % (word, "..." if piece.get("cut") else "", name) if name else "without a name"
    return text + (", item %s" % piece["item_id"] if "item_id" in piece else "")


# what: (name in 13 columns, text of a piece)
WORDS = {
    "flow_made": ("flow begins", flow_made),
    "expected": ("expected", expected),
    "signature": ("signature", signature),
    "shape": ("shape", shape),
    "port_guess": ("port guess", lambda p: "port %s is usually %s; not enough to block by, unless a rule says so" % (
        p.get("port", "?"), p.get("app", "?"))),
    "learned": ("learned", learned),
    "user_app": ("application", user_app),
    "give_up": ("gives up", lambda p: "no application after %s data packets (budget: %s)" % (
        p.get("data_pkts", "?"), p.get("budget", "?"))),
    "no_state": ("no state", lambda p: "no classifier state was free (limits.classifying): %s" % (
        "the packet is dropped" if p.get("dropped") else "it passes unclassified")),
    "decoder": ("decoder", lambda p: "%s: its decoder reads the flow from here" % p.get("app", "?")),
    "gap": ("gap", lambda p: "%s were never seen" % part(p)),
    "conflict": ("conflict", lambda p: "%s on came again with other content" % part(p, "bytes from")),
    "too_unsure": ("too unsure", lambda p: "rule %s wants %s; %s is known with confidence %s only" % (
        p.get("rule", "?"), p.get("min_confidence", "?"), p.get("app", "?"), p.get("confidence", "?"))),
    "monitor": ("monitor", lambda p: "would be: %s%s" % (p.get("action", "?"), by_rule(p))),
    "decision": ("decision", decision),
    "scan_job": ("scan", lambda p: "%s goes to the scan engine; what follows is held%s" % (part(p), by_rule(p))),
    "scan_verdict": ("scanned", lambda p: "%s: %s%s" % (
        part(p), p.get("value", "?"), ", \"%s\"" % p["name"] if p.get("name") else "")),
    "content": ("content", content),
    "content_name": ("content", content_name),
    "content_note": ("content", lambda p: "%s, in what the %s sent, at byte %s%s" % (
        p.get("note", "?"), {"to_server": "client"}.get(p.get("half"), "server"), number(p.get("offset", 0)), by_rule(p))),
    "resets": ("resets", resets),
    "cache_learned": ("cache learns", cache_entry),
    "cache_exempt": ("cache exempt", lambda p: "no entry is made, an end is exempt: %s" % cache_entry(p)),
    "cache_hit": ("cache hit", cache_hit),
    "cache_healed": ("cache heals", lambda p: "the policy no longer blocks it, the entry goes: %s" % cache_entry(p)),
    "cache_passed": ("cache passes", lambda p: "the operator allowed it: %s" % cache_entry(p)),
    "condemned": ("condemned", lambda p: "a packet came after it was blocked: dropped%s" % (
        ", and answered" if p.get("answered") else "")),
    "reprieved": ("reprieved", lambda p: "the policy in force no longer blocks it"),
    "invalid": ("invalid", invalid),
    "dropped": ("dropped", lambda p: p.get("reason", "?")),
    "operator": ("operator", operator),
    "ended": ("flow ends", lambda p: p.get("reason", "?")),
}
COMMON = ("at", "lcore", "what", "generation", "flow_id")


def unknown(piece):
    """Of a gateway that is newer than this program: as it comes."""
    return ", ".join("%s %s" % (key, value) for key, value in piece.items() if key not in COMMON) or "-"


def when_of(piece, first, last):
    """The time of the first piece; of others how much later; nothing where that is as in the line above."""
    at = moment(piece.get("at"))
    if first is None or at is None:
        return piece.get("at", "?")[11:23]
    return "" if at == last else "+" + show.duration(round((at - first) * 1e9))


SINCE = ("at", "lcore", "generation")  # what two pieces may differ in and say the same


def folded(evidence):
    """A peer that tries again and again: hits of the same entry in a row of hits are one piece, with
    `times` and the time of the last as `until`."""
    out, run = [], {}
    for piece in evidence:
        if piece.get("what") != "cache_hit":
            run = {}
            out.append(piece)
            continue
        key = repr(sorted((name, value) for name, value in piece.items() if name not in SINCE))
        if key in run:
            run[key]["times"] += 1
            run[key]["until"] = piece.get("at")
        else:
            run[key] = dict(piece, times=1, until=None)
            out.append(run[key])
    return out


def times(piece, first):
    """What is added to a folded piece."""
    if piece.get("times", 1) < 2:
        return ""
    until = moment(piece["until"])
    last = "" if first is None or until is None else ", the last +" + show.duration(round((until - first) * 1e9))
    return " (%s times%s)" % (number(piece["times"]), last)


def evidence_lines(evidence, width):
    first = last = last_generation = last_flow = None
    protos = {}
    for piece in folded(evidence):
        if piece.get("what") == "flow_made":
            protos[piece.get("flow_id")] = piece.get("proto")
        elif piece.get("what") == "resets" and piece.get("flow_id") in protos:
            piece = {"proto": protos[piece["flow_id"]], **piece}
        name, text = WORDS.get(piece.get("what"), (piece.get("what", "?"), unknown))
        texts = text(piece)
        texts = [texts] if isinstance(texts, str) else list(texts)
        when = when_of(piece, first, last)
        last = moment(piece.get("at"))
        first = last if first is None else first
        texts[-1] += times(piece, first)
        if piece.get("generation") != last_generation and piece.get("what") in ("decision", "monitor", "reprieved"):
            last_generation = piece.get("generation")
            texts[0] += " (policy generation %s)" % last_generation
        if piece.get("flow_id") and piece["flow_id"] != last_flow and piece.get("what") != "cache_hit":
            if last_flow is not None:
                yield "  flow %s" % piece["flow_id"]
            last_flow = piece["flow_id"]
        lines = [line for part in texts for line in show.wrapped(clean(part), width - LEFT)]
        yield ("%12s  %-12s %s" % (when, name[:12], lines[0])).rstrip()
        for line in lines[1:]:
            yield " " * (LEFT + 2) + line


def head(message):
    flow = message.get("flow")
    if flow:
        return "flow %s, %s %s, %s, %s" % (message["flow_id"], flow["proto"], show.ends(flow), known_as_flow(flow),
                                           flow["state"])
    if message.get("flow_id"):
        return "flow %s, %s" % (message["flow_id"], "live" if message.get("live") else "ended")
    return "no flow"


def row_line(row):
    """One flow: verdict, both ends, and what decided."""
    text = "  %-9s  %s %s" % (row.get("outcome", "?"), row.get("proto", ""), show.ends(row) if "src_ip" in row else
                             "flow %s" % row.get("flow_id"))
    why = ", ".join(filter(None, [row.get("app"), row.get("rule")]))
    return "%s  %s" % (text, why) if why else text


def show_rows(rows):
    if len(rows) < 2:
        return
    print()
    print("%d flows, blocked ones first (--all shows the evidence of each):" % len(rows))
    on = show.has_colours()
    for row in rows:
        print(show.paint(COLOURS.get(row.get("outcome")), clean(row_line(row)), on))


def show_others(options, rows, first, width):
    """The evidence of the other flows, one after the other."""
    for row in rows:
        if row.get("flow_id") == first:
            continue
        print()
        print("flow %s" % row["flow_id"])
        print("\n".join(show.wrapped(clean("%s: %s" % (row.get("outcome", "?"), row.get("verdict", ""))), width)))
        try:
            message = ask(options, "explain", flow_id=row["flow_id"])
        except Refused:  # overwritten meanwhile
            continue
        for line in evidence_lines([p for p in message.get("evidence", []) if p.get("flow_id") == row["flow_id"]], width - 2):
            print(line)


def known_as_flow(flow):
    confidence = flow.get("app", {}).get("confidence") if isinstance(flow.get("app"), dict) else None
    return "%s%s" % (show.app_of(flow), " (%s)" % confidence if confidence else "")


def show_entries(title, entries):
    if not entries:
        return
    print()
    print(title)
    for entry in entries[:ENTRIES_MAX]:
        print("  %s %s, %s, ends in %s" % (clean(entry["src_ip"]), clean(show.end(
            entry["dest_ip"], entry.get("dest_port"))), clean(entry.get("mode", "?")), show.span(entry["ttl_s"])))
    if len(entries) > ENTRIES_MAX:
        print("  and %d more (sluicectl cache list --host)" % (len(entries) - ENTRIES_MAX))


def run(options):
    message = ask(options, "explain", **explain_arguments(options))
    if options.json:
        return message
    width = min(show.columns(), 100)
    print("\n    ".join(show.wrapped(clean(head(message)), width - 4)))
    outcome = message.get("outcome", "?")
    verdict = clean(message.get("verdict", ""))
    if not verdict.lower().startswith(outcome):  # else it says so itself
        verdict = "%s: %s" % (outcome.upper(), verdict)
    told = show.wrapped(verdict, width)
    print(show.paint(COLOURS.get(outcome), "\n".join(told), show.has_colours()))
    rows = message.get("verdicts", [])
    show_rows(rows)
    evidence = message.get("evidence", [])
    if message.get("flow_id"):
        evidence = [p for p in evidence if p.get("flow_id") in (None, message["flow_id"]) or p["what"] == "cache_hit"]
    if evidence:
        print()
        for line in evidence_lines(evidence, width - 2):
            print(line)
    show_entries("In the connection cache now (sluicectl cache del SRC DEST removes it):",
                 [entry for entry in message.get("cache", []) if not entry.get("allowed")])
    show_entries("Allowed by the operator, whatever cache and policy say:",
                 [entry for entry in message.get("cache", []) if entry.get("allowed")])
    if message.get("exempt"):
        print()
        print("Exempt from the cache (sluicectl cache exempt): %s" % clean(message["exempt"]))
    if options.all:
        show_others(options, rows, message.get("flow_id"), width)
    if message.get("truncated"):
        print()
        print("\n".join(show.wrapped("The evidence is not complete: newer records have overwritten some; "
                                     "limits.evidence of gateway.json says how many are kept.", width)))
    return None
