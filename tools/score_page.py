# SPDX-License-Identifier: BSD-3-Clause
"""docs/recognition.md: the figures of tools/score as a page, and whether the page still has them."""
import collections
import os
import recognition

PAGE = recognition.PAGE
# Macro precision, recall and F1 of others over P2P and IM, as the captures' own README quotes them.
OTHERS = (("nDPI 4.2 (ndpiReader)", ".666", ".511", ".540"), ("l7-filter's patterns", ".346", "", ".275"))
# Why a claim on a flow that the labels do not judge is right all the same, or what is wrong with it:
# by (application, what the labeller said of the flow).
LOGIN = "Skype's login, the first octets of both sides: the labeller knew other connections of it by their port, or not at all"
ARGUED = {("skype", "Unknown"): LOGIN, ("skype", "TLS"): LOGIN}

HEAD = """# How well traffic is recognised

Made by `tools/score --table`, which replays every labelled capture afresh and writes this page; `tools/check` holds
the page against its own run. The captures are the development set that `SLUICE_CORPORA` names: others, with the same
kinds of traffic from other places and times, are kept apart and scored by the project's owner. How a flow counts is
said beside the captures (scoring.md): a flow is *right* if its application is the labelled one, *missed* if nothing or
only its carrier was said of it, *wrong* counts for the application that was claimed. Macro figures are means over
applications, micro ones over flows. *Also right* are flows that need more than their own payload to be known, where
silence is no miss.

"""


def ratio(value):
    return "" if value is None else f"{value:.3f}"


def claims(score, lines, rows):
    """Claims of P2P or IM on flows whose label cannot be judged by their payload: [(application, row, label)]."""
    gold = {(r["pcap"], score.key([r["pcap"], r["l4"], r["src"], r["sport"], r["dst"], r["dport"]])): r
            for r in lines if r["l4"] != "*"}
    found = []
    for row in rows:
        label = gold.get((row[0], score.key([str(c) for c in row])))
        app = score.fold(row[6]) if row[6] else ""
        if app in score.P2P | score.IM and label and label["pc"] != "1" and app != label["app"]:
            found.append((app, row, label))
    return found


def applications(result, score, which):
    lines = ["| application | flows | right | wrong | missed | precision | recall | F1 | also right | packets |",
             "|--|--|--|--|--|--|--|--|--|--|"]
    for app in sorted(a for a in result if a in which):
        it = result[app]
        lines.append(f"| {app} | {it['gold']} | {it['tp']} | {it['fp']} | {it['fn']} | {ratio(it['precision'])} | "
                     f"{ratio(it['recall'])} | {ratio(it['f1'])} | {it['soft']} | {it.get('packets', '')} |")
    return lines


def positions(rows, lines, score, result):
    """Adds to each application the data packets it took: median and 90 %, of the flows that are right."""
    gold = {(r["pcap"], score.key([r["pcap"], r["l4"], r["src"], r["sport"], r["dst"], r["dport"]])): r
            for r in lines if r["l4"] != "*" and r["pc"] == "1"}
    taken = collections.defaultdict(list)
    for row in rows:
        label = gold.get((row[0], score.key([str(c) for c in row])))
        if label and row[6] and row[7] != "" and score.fold(row[6]) in {label["app"]} | {
                score.fold(x) for x in label["alt"].split(";") if x}:
            taken[label["app"]].append(int(row[7]))
    for app, counts in taken.items():
        if app in result:
            counts.sort()
            most = counts[min(len(counts) - 1, int(len(counts) * 0.9))]
            result[app]["packets"] = f"{counts[len(counts) // 2]} / {most}"


def page(score, result, lines, rows, n_corrected):
    """The page's text, and what is not argued in it."""
    positions(rows, lines, score, result)
    both, every = score.P2P | score.IM, result["all"]
    text = [HEAD + "## In all", "",
            "| | applications | flows | precision | recall | F1 | micro precision | micro recall |",
            "|--|--|--|--|--|--|--|--|"]
    for name, which in (("P2P", score.P2P), ("IM", score.IM), ("P2P+IM", both), ("carrier", score.CAR)):
        it, flows = result["macro " + name], sum(result[app]["gold"] for app in result if app in which)
        text.append(f"| {name} | {it['apps']} | {flows} | {ratio(it['precision'])} | {ratio(it['recall'])} | {ratio(it['f1'])} | "
                    f"{ratio(it['micro_p'])} | {ratio(it['micro_r'])} |")
    for name, precision, recall, f1 in OTHERS:
        text.append(f"| {name}, P2P+IM | | | {precision} | {recall} | {f1} | | |")
    text += ["", "These captures were used to write the rules: the figures show fit, not how unseen traffic fares. nDPI 4.2 is Debian 12's, run as it "
             "comes; newer releases may do better. A figure of 1.000 says as much as its number of flows: one error among 20 would make "
             "it 0.95.",
             "", "| | |", "|--|--|",
             f"| data packets until a P2P or IM flow is known: median, 90 % | {every['pos_median']}, {every['pos_p90']} |",
             f"| flows of other traffic with a false claim | {every['negatives'] - every['negatives_clean']} of "
             f"{every['negatives']} |",
             f"| claims on captures that hold none of it | {every['whole_file']} |",
             "| encrypted BitTorrent recognised (MSE; `partial`, which the shipped policy reports and lets pass), never a miss "
             f"| {every['obfuscated'][0]} of {every['obfuscated'][1]} |",
             f"| claims on flows that the labels do not judge | {every['unscored_claims']} |",
             f"| labels read otherwise than their labeller has them (tests/lib/rig/labels.py says why) | {n_corrected} |", ""]
    for title, which in (("P2P", score.P2P), ("IM", score.IM), ("Carriers", score.CAR)):
        text += [f"## {title}", "", *applications(result, score, which), ""]
    text += ["*packets*: median and 90 % of the data packets that the right flows took, both directions together.", "",
             "## Claims that nobody judges", "",
             "The labels leave open what some flows are (their labeller knew them by port, by address, by other flows, or not",
             "at all). What is claimed there, and why:", ""]
    found = claims(score, lines, rows)
    counts = collections.Counter((app, label["raw"] or label["app"]) for app, _, label in found)
    bare = []
    for (app, raw), n in sorted(counts.items()):
        why = ARGUED.get((app, raw))
        bare += [] if why else [f"{app} on «{raw}»"]
        text.append(f"- {app}, {n} ({raw}): {why or 'not argued'}")
    if not counts:
        text.append("None.")
    text += ["", *recognition.section(recognition.load()[0])]
    return "\n".join(text) + "\n", bare


def figures(text):
    """What a page says, without what may change with a capture's timing or words: rows of numbers."""
    rows = [[cell.strip() for cell in line.strip("|\n ").split("|")] for line in text.splitlines() if line.startswith("|")]
    return [row[:8] for row in rows if len(row) >= 2]


def differences(old, new):
    before, after = figures(old), figures(new)
    return [f"the page has {' '.join(a)}, the run {' '.join(b)}" for a, b in zip(before, after) if a != b] or (
        ["the page has other lines"] if len(before) != len(after) else [])
