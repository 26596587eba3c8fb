# SPDX-License-Identifier: BSD-3-Clause
"""scan show: the virus engine, what waits for it, what it found; scan test: one file, by the engine in force."""
import base64
import json
import os
import sys

from . import show as view
from .show import amount, counted, duration, number, span
from .talk import Wrong, ask

SLOW_NAME = 40  # columns of a file's name


def verdict(entry):
    if entry["verdict"] == "unscanned":
        return "unscanned (%s)" % entry["reason"]
    return "%s %s" % (entry["verdict"], entry["signature"]) if "signature" in entry else entry["verdict"]


def database(message):
    return "%s, version %d, %s old, digest %s" % (
        counted(message["signatures"], "signature"), message["version"], span(message["age_s"]), message["digest"][:16])


def databases(lcores):
    """One line, unless a new one is about to take over."""
    told = sorted({database(lcore["database"]) for lcore in lcores if "database" in lcore})
    return [("database", line) for line in told] or [("database", "none")]


def counts(lcores, key):
    words = {}
    for lcore in lcores:
        for word, count in lcore[key].items():
            words[word] = words.get(word, 0) + count
    return words


def listed(words):
    return ", ".join("%s %s" % (number(count), word) for word, count in words.items() if count) or "none"


def quantiles(histogram):
    if not histogram["count"]:
        return "none yet"
    return "%s of %s, 90 %% %s, 99 %% %s, longest %s" % (
        "half below " + duration(histogram["p50_ns"]), number(histogram["count"]), duration(histogram["p90_ns"]),
        duration(histogram["p99_ns"]), duration(histogram["max_ns"]))


def known(message):
    words = counts([lcore for lcore in message["lcores"] if "known" in lcore], "known")
    cache = message.get("cache", {})
    told = "%s files by the cache (%s waited for another's), %s by lists; %s were not known" % (
        number(words.get("hits", 0)), number(words.get("joined", 0)), number(words.get("listed", 0)), number(words.get("misses", 0)))
    if not cache.get("limit"):
        return told + "; no cache"
    return "%s; %s of %s entries, %s evicted" % (told, number(cache["entries"]), number(cache["limit"]), number(cache["evicted"]))


def ended(event, word):
    text = "%s %s" % (number(event["count"]), word)
    return text + (", the last %s ago" % span(event["age_s"]) if "age_s" in event else "")


def reloads(told):
    rows = [("reloads", "%s; %s%s" % (ended(told["taken"], "taken"), ended(told["refused"], "refused"),
                                      "; one is under way" if told["loading"] else ""))]
    if "reason" in told["refused"]:
        rows.append(("last refusal", told["refused"]["reason"]))
    return rows


def lcore_row(lcore):
    return (lcore["lcore"], lcore["state"], lcore.get("pid", "-"), number(lcore["waiting"]), number(lcore["running"]),
            number(sum(lcore["verdicts"].values())), number(lcore["replaced"]), number(lcore["died"]),
            duration(lcore["queue"]["p99_ns"]) if lcore["queue"]["count"] else "-",
            duration(lcore["run"]["p99_ns"]) if lcore["run"]["count"] else "-", lcore.get("last", ""))


def slow_name(entry):
    text = view.clean(entry.get("filename", ""))
    return text if len(text) <= SLOW_NAME else "..." + text[3 - SLOW_NAME:]


def show_slowest(entries):
    print("\nslowest files of the last hour")
    view.table(("time", ">scan ms", ">queue ms", ">size", "verdict", "rule", "flow", "file", "item"),
               [(e["time"][11:19], number(e["scan_ms"]), number(e["queue_ms"]), amount(e["bytes"]), verdict(e),
                 e.get("rule", "-"), e["flow_id"], slow_name(e) or "-", e.get("item_id", "-")) for e in entries])


def show(options):
    message = ask(options, "scan-show")
    if options.json:
        return message
    rows = [("engine", message["engine"])]
    if "problem" in message:
        rows.append(("NOT READY", "rule %s has files scanned, and no engine is ready: %s" % (
            message["asked_by"], message["problem"])))
    else:
        rows.append(("asked by", "rule %s" % message["asked_by"] if "asked_by" in message else "no rule of the policy in force"))
    if "lcores" in message:
        lcores, used = message["lcores"], message["data"]
        rows += databases(lcores)
        rows += [("refused", lcore["refused"]) for lcore in lcores[:1] if "refused" in lcore]
        rows += reloads(message["reloads"]) if "reloads" in message else []
        rows += [("known", known(message)), ("verdicts", listed(counts(lcores, "verdicts"))), ("unscanned", listed(counts(lcores, "unscanned"))),
                 ("flows held", quantiles(message["hold"])),
                 ("under scan", "%s, %s held" % (
                     counted(sum(u["files"] for u in used), "file"), counted(sum(u["held"] for u in used), "connection"))),
                 ("memory", "%s of %s used, at most %s" % tuple(
                     amount(sum(u[key] for u in used)) for key in ("arena_used_bytes", "arena_bytes", "arena_peak_bytes")))]
    view.pairs(rows)
    if message.get("lcores"):
        print("")
        view.table((">scan lcore", "state", ">child", ">waiting", ">running", ">verdicts", ">replaced", ">died",
                    ">queue 99 %", ">scan 99 %", "last"), [lcore_row(lcore) for lcore in message["lcores"]])
        show_slowest(message["slowest"])
    return None


def send(options, file, size):
    """All of the file, in pieces; the test's number."""
    begun = ask(options, "scan-test-begin", bytes=size)
    at = 0
    while at < size:
        piece = file.read(min(begun["piece_bytes"], size - at))
        if not piece:
            raise Wrong("%s became shorter while it was read" % options.file)
        ask(options, "scan-test-add", test=begun["test"], at=at, base64=base64.b64encode(piece).decode())
        at += len(piece)
    return begun["test"]


def tell(options, message):
    print("%s: %s" % (view.clean(options.file), view.clean(verdict(message))))
    rows = [("size", amount(message["bytes"])),
            ("time", "%s in the queue of scan lcore %d, %s scanned" % (
                duration(message["queue_ns"]), message["lcore"], duration(message["scan_ns"])))]
    if "database" in message:
        rows.append(("engine", "%s, %s" % (message["engine"], database(message["database"]))))
    view.pairs(rows)


def test(options):
    try:
        with open(options.file, "rb") as file:
            message = ask(options, "scan-test-run", test=send(options, file, os.fstat(file.fileno()).st_size))
    except OSError as error:
        raise Wrong("%s: %s" % (options.file, error.strerror or error))
    if options.json:
        print(json.dumps(message, indent=2))
    else:
        tell(options, message)
    if message["verdict"] != "clean":
        sys.stdout.flush()
        sys.exit(1)
