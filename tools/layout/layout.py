# SPDX-License-Identifier: BSD-3-Clause
"""tools/lint layout: measures how the tree is laid out, and finds what is beyond its limits.

What a limit cannot hold stands in tools/layout/exceptions.txt, a line for each: `RULE | WHAT | reason`. RULE is the
first word of a row of the table, WHAT the keys of faults (class Fault), separated by a comma. One that nothing needs is a fault, too.
"""
import collections
import fnmatch
import os
import re
import subprocess
import typing

import calls
import functions
import order
import tree

FOLDER_FILES_MAX = 30
FILE_LINES_MAX = 600
FUNCTION_LINES_MAX, FUNCTION_BRANCHES_MAX = 60, 15
EXCEPTIONS = "tools/layout/exceptions.txt"
EXCEPTIONS_MAX = {"functions": 20}  # of the other rules together: OTHERS_MAX
OTHERS_MAX = 10
SUBJECT_MAX = 60
SUBJECTS_SINCE = "6265648"  # older commits have other forms
NO_VERB = re.compile(r"(a|an|the|no|new|all|each|some|more|when|where|who|what|how|\w+([^e]ed|[^aeious]s|[^r]ing))\b")
WORDS_MIN = 4


class Fault(typing.NamedTuple):
    rule: str
    key: str | None  # folder, path, path:function, "path -> header", "path -> path called", commit; None: no exception
    where: str
    what: str


def folders():
    """folder sizes: .c files of the largest folder"""
    roots = ("app/", "lib/", "tests/unit/", "tests/lib/")
    held = [os.path.dirname(n) for n in tree.FILES if n.endswith(".c") and n.startswith(roots)]
    count = collections.Counter(f for f in held if os.path.basename(f) != "proto")
    for folder, number in sorted(count.items()):
        if number > FOLDER_FILES_MAX:
            yield Fault("folders", folder, folder, f"{number} .c files, {FOLDER_FILES_MAX} is the end")
    return f"{max(count.values(), default=0)}", FOLDER_FILES_MAX


def includes(kind):
    number = 0
    for name in tree.SOURCES:
        for found, line, what, header in order.faults(name):
            if found == kind:
                number += 1
                yield Fault(kind, f"{name} -> {header}", f"{name}:{line}", what)
    return number, 0


def against_order():
    """include edges against the order of folders"""
    return (yield from includes("order"))


def bare():
    """includes without plane and folder"""
    return (yield from includes("bare"))


def first_use(name, names):
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, names)) + r")\b")
    return next((n for n, line in tree.code_lines(name) if pattern.search(line) and "#include" not in line), 1)


def cycles(excepted):
    """files in call cycles"""
    build = calls.build_folder()
    if not os.path.exists(os.path.join(build, "compile_commands.json")):
        yield Fault("cycles", None, build, "no build: meson setup, ninja, or name one by SLUICE_BUILD")
        return None, 0
    found = calls.objects(build)
    for name in calls.stale(found):
        yield Fault("cycles", None, f"{name}:1", f"changed since it was built in {build}, or not built: ninja")
    needs = calls.edges(found)
    for part in calls.cycles(needs):  # an exception of an edge that is in none is not needed
        for pair in [p for p in excepted if set(p) <= set(part) and p in needs]:
            yield Fault("cycles", " -> ".join(pair), pair[0], "excepted")
    parts = calls.cycles([pair for pair in needs if pair not in excepted])
    for part in parts:
        members = " ".join(name.removeprefix(calls.FOLDER) for name in part)
        yield Fault("cycles", None, part[0], f"cycle of {len(part)}: {members}")
        for (name, other), symbols in sorted(needs.items()):
            if name in part and other in part and name != other and (name, other) not in excepted:
                kinds = [(kind, [s for s in sorted(symbols) if symbols[s] == kind]) for kind in ("calls", "holds")]
                used = "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds if names)
                up = " (up)" if order.points_up(name, other) else ""
                where = f"{name}:{first_use(name, symbols)}"
                yield Fault("cycles", f"{name} -> {other}", where, f"{used} of {other}{up}")
    return sum(map(len, parts)), 0


# What is behind the entry point of what leaves (docs/architecture.md, "The way out"), and the only places that may use it.
BEHIND_EGRESS = {
    r"(?:->|\.)send\b": ("app/pipeline/egress/", "app/machine/port", "app/replay/plane.c"),  # a driver's: set there
    r"(?:->|\.)tx\[": ("app/pipeline/egress/",),
    r"\begress_handed\b": ("app/pipeline/egress/", "app/pipeline/loop.c", "app/pipeline/bypass.c"),  # tx_in's rings
}


def beside_egress():
    """uses of what is behind egress_packet()"""
    number = 0
    for name in [n for n in tree.SOURCES if n.startswith("app/")]:
        for line, code in tree.code_lines(name):
            for pattern, homes in BEHIND_EGRESS.items():
                if not name.startswith(homes) and (found := re.search(pattern, code)):
                    number += 1
                    what = f"{found[0]} is behind egress_packet(): {' '.join(homes)} alone"
                    yield Fault("egress", f"{name} -> {found[0]}", f"{name}:{line}", what)
    return number, 0


def opening():
    """files without an opening sentence"""
    number = 0
    for name in tree.SOURCES:
        lines, comment = tree.text(name).split("\n")[1:], []
        for line in lines:
            if not line.startswith("//"):
                break
            comment.append(line[2:].strip())
        sentence = re.match(r"[^a-z\s].*?\.(?=\s|\Z)", " ".join(comment))
        if not comment:
            fault = "no sentence after the licence"
        elif not sentence:
            fault = "no sentence with capital letter and period"
        elif len(sentence[0].split()) < WORDS_MIN:
            fault = f"opens with fewer than {WORDS_MIN} words"
        else:
            continue
        number += 1
        yield Fault("opening", name, f"{name}:2", fault)
    return number, 0


def long_functions():
    """functions too long or with too many branches"""
    number = 0
    for name in tree.SOURCES:
        try:
            for function, line, lines, branches in functions.functions(name):
                if lines > FUNCTION_LINES_MAX or branches > FUNCTION_BRANCHES_MAX:
                    number += 1
                    what = f"{function}: {lines} lines, {branches} branches"
                    yield Fault("functions", f"{name}:{function}", f"{name}:{line}", what)
        except ValueError as error:
            yield Fault("functions", None, f"{name}:1", str(error))
    return number, 0


TREE = set(tree.FILES) | {n[:at.start()] for n in tree.FILES for at in re.finditer("/", n)}
ENDINGS = ("", ".c", ".h", ".test", ".py")
PATH = re.compile(r"(?<![\w./<*$}-])(?:app|lib|tests|tools|docs)/[\w.*/-]*[\w*](?:\.[\w*]+)?")
C_NAME = re.compile(r"(?<![\w./<*-])[\w/-]+\.[ch]\b(?!\()")


def comments(name):
    """(line, text): of C and scripts their comments, of documents everything"""
    if name.endswith(".md"):
        yield from enumerate(tree.text(name).split("\n"), 1)
    elif name.endswith((".c", ".h")):
        for match in tree.NOT_CODE.finditer(tree.text(name)):
            if match["comment"]:
                first = tree.text(name).count("\n", 0, match.start()) + 1
                yield from enumerate(match[0].split("\n"), first)
    elif name in tree.PYTHON + tree.SHELL or os.path.basename(name) == "meson.build":
        for number, line in enumerate(tree.text(name).split("\n"), 1):
            if at := re.search(r"(?:^|\s)#\s.*", line):
                yield number, at[0]


CALLED = re.compile(r"`(\w+)\(\)`")  # a function that a document names


def exists(path, name):
    """From the root or a folder that NAME is in; * or a word in capitals is any name; an ending may be left out."""
    pattern = re.sub(r"(?<![A-Za-z])[A-Z_]+(?![A-Za-z])", "*", path)
    parts = name.split("/")
    starts = ["/".join(parts[:depth]) + "/" for depth in range(1, len(parts))]
    return any(start + path + end in TREE for start in ["", *starts] for end in ENDINGS) \
        or "*" in pattern and fnmatch.filter(TREE, pattern)


def dead():
    """references to what does not exist"""
    known = {"/".join(n.split("/")[-depth:]) for n in tree.FILES for depth in range(1, n.count("/") + 2)}
    known |= {header for name in tree.C_FILES for _, bracket, header in tree.includes(name) if bracket == "<"}
    # what a build makes
    known |= {m for n in tree.FILES if n.endswith("meson.build") for m in re.findall(r"'([\w.]+\.h)'", tree.text(n))}
    code = {m for n in tree.FILES if n.endswith((".c", ".h", ".py")) for m in re.findall(r"\b(\w+)\(", tree.text(n))}
    number = 0
    for name in tree.FILES:
        for line, said in comments(name):
            lost = [m[0] for m in PATH.finditer(said) if not exists(m[0], name)]
            if name.startswith(("app/", "lib/")):
                lost += [m[0] for m in C_NAME.finditer(said)
                         if m[0] not in known and m[0] not in lost and not re.search(r"(^|/)(rte_\w+|NAME)\.", m[0])]
            if name.endswith(".md"):
                lost += [f"{m[1]}()" for m in CALLED.finditer(said) if m[1] not in code]
            for target in lost:
                number += 1
                yield Fault("dead", f"{name} -> {target}", f"{name}:{line}", f"{target} does not exist")
    return number, 0


def git(*words):
    done = subprocess.run(["git", "-C", tree.ROOT, *words], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def commits():
    """commits that are not `area: verb` with a body"""
    top = git("rev-parse", "--show-toplevel")
    if top is None or os.path.realpath(top.strip()) != os.path.realpath(tree.ROOT) \
            or git("merge-base", "--is-ancestor", SUBJECTS_SINCE, "HEAD") is None:
        return f"no history since {SUBJECTS_SINCE}", 0
    number = 0
    for entry in git("log", "--no-merges", "-z", "--format=%h%n%s%n%b", f"{SUBJECTS_SINCE}..HEAD").split("\0"):
        commit, subject, body = (entry + "\n\n").split("\n", 2)
        form = re.match(r"[a-z0-9][\w./, -]*: (?=[a-z])", subject)
        what = [f"subject of {len(subject)} characters"] if len(subject) > SUBJECT_MAX else []
        what += ["subject is not `area: verb what`"] if not form or NO_VERB.match(subject, form.end()) else []
        what += ["no body"] if not body.strip() else []
        if entry and what:
            number += 1
            yield Fault("commits", commit, commit, f"{', '.join(what)}: {subject}")
    return number, 0


def longest():
    """lines of the longest file (tools/lint length)"""
    lines = {n: tree.text(n).count("\n") for n in {*tree.C_FILES, *tree.PYTHON, *tree.SHELL}}
    return max(lines.values()), FILE_LINES_MAX
    yield  # what is beyond is the rule length's


RULES = {
    "folders": folders, "order": against_order, "cycles": cycles, "bare": bare, "egress": beside_egress,
    "opening": opening, "functions": long_functions, "dead": dead, "commits": commits, "length": longest,
}


def exceptions():
    """({(rule, key): its line}, faults of the list itself)"""
    listed, faults, count = {}, [], collections.Counter()
    lines = tree.text(EXCEPTIONS).split("\n") if EXCEPTIONS in tree.FILES else []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        rule, what, reason = ([part.strip() for part in line.split("|", 2)] + ["", ""])[:3]
        keys = what.split(", ")
        if (rule not in RULES or rule == "length" or len(reason.split()) < WORDS_MIN
                or any((rule, key) in listed for key in keys)):
            faults.append(Fault("exceptions", None, f"{EXCEPTIONS}:{number}", "not RULE | WHAT | a reason, once"))
        listed |= {(rule, key): number for key in keys}
        count[rule if rule in EXCEPTIONS_MAX else "others"] += 1
    for rule, number in count.items():
        most = EXCEPTIONS_MAX.get(rule, OTHERS_MAX)
        if number > most:
            faults.append(Fault("exceptions", None, EXCEPTIONS, f"{rule}: {number} exceptions, {most} is the end"))
    return listed, faults


def result(generator):
    """(what it yields, what it returns)"""
    found = []
    while True:
        try:
            found.append(next(generator))
        except StopIteration as stop:
            return found, stop.value


def faults_of(asked):
    """All faults as lines. Asked for by its name the rule prints its table, and is not content without a build."""
    listed, faults = exceptions()
    excepted = [tuple(key.split(" -> ")) for rule, key in listed if rule == "cycles"]
    rows, unneeded = [], set()
    for rule, measure in RULES.items():
        found, (measured, limit) = result(measure(excepted) if rule == "cycles" else measure())
        if measured is None and not asked:
            print("layout: no build, so that call cycles are not looked for")
            found = []
        mine = {key for of, key in listed if of == rule}
        hit = {fault.key for fault in found} & mine
        if isinstance(measured, int) or rule == "folders":
            unneeded |= {(rule, key) for key in mine - hit}
        faults += [fault for fault in found if fault.key not in mine]
        rows.append((rule, measure.__doc__, "not measured" if measured is None else measured, len(hit), limit))
    for entry in sorted(unneeded):
        where = f"{EXCEPTIONS}:{listed[entry]}"
        faults.append(Fault("exceptions", None, where, f"nothing needs it: {' | '.join(entry)}"))
    if asked:
        print(f"{'rule':10} {'what':48} {'measured':>12} {'excepted':>8} {'limit':>5}")
        for rule, what, measured, hit, limit in rows:
            print(f"{rule:10} {what:48} {measured:>12} {hit:>8} {limit:>5}")
    return [f"{fault.where}: {fault.what}" for fault in faults]
