#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Finds, runs and reports the tests for tools/check; see there for the options.

What is a test: each rule of tools/lint; each build; what meson knows in the suites unit, model
and fuzz, in the plain and in the sanitized build; each executable tests/golden/*.test (both
builds), tests/cli/*.test and tests/netns/*.test; with --long, each fuzz target of tests/fuzz under
libFuzzer for FUZZ_SECONDS (default 600). A test ends 0, or 77 for a skip (the last line
of its output is the reason); as root a skip counts as a failure, unless the captures of
SLUICE_CORPORA are absent. A script may say in its first lines `check: timeout=SECONDS`,
`check: serial`, `check: plain` (not in the sanitized build). The seconds are generous for a machine
like the developers'; what is ended is what takes thrice as long, and ten minutes.

Of the tests in the sanitized build a third is built and runs, chosen by the commit, and all with
--long or --only. Tests with clocks in them (netns, and those that say `check: serial`) run two at a
time, as they mostly wait; beside them, with less right to the CPUs, the rest runs in a random
order (SLUICE_ORDER repeats one), and then one more of the first. A cli or netns test that fails then is run again alone, and counts
by that; the last line says how many passed only so.
Environment of a script: SLUICE, SLUICECTL, BUILD (and SLUICE_BUILD), SLUICE_CORPORA where it
exists, SLUICE_PACKAGES with Debian packages of this tree, SLUICE_LONG with --long.
"""
import argparse
import fnmatch
import glob
import json
import os
import queue
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
import zlib

import started

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLAIN, ASAN, GCC_ASAN, RELEASE = (os.path.join(ROOT, "build" + name) for name in ("", "-asan", "-gcc-asan", "-release"))
LOGS = os.path.join(PLAIN, "check-logs")
PACKAGES = os.path.join(PLAIN, "package")
TTY = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
COLOURS = {"PASS": "\033[32m", "FAIL": "\033[31m", "SKIP": "\033[33m"}
HUNG_SECONDS = 600  # a test that takes less is never ended
BESIDE_NICENESS = 10
MUTANTS_FLOOR = "70"  # percent of the mutants of a fixed seed that tests must notice
TIMED_AT_ONCE = 2
QUICK_WITHOUT = ("unit/plain/floods_", "unit/plain/work")  # they count over many packets
QUICK = ("lint/", "build/", "unit/plain/", "model/plain/", "fuzz/plain/", "golden/plain/replay", "golden/plain/attacks")
# Build flags of the sanitized build. The shared objects of DPDK are not instrumented.
SANITIZE = ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Dc_args=-fno-sanitize-recover=all"]
# Leaks are not looked for: EAL and its drivers keep what they allocated until the process ends,
# which would hide ours; every test ends by checking that all mbufs are back in their pools.
# Stack use after return is off: gcc 12 puts variables aligned to a cache line on its fake stack
# with less alignment, which UBSan then reports.
ASAN_OPTIONS = "detect_leaks=0:abort_on_error=0:detect_stack_use_after_return=0"
UBSAN_OPTIONS = "print_stacktrace=1:halt_on_error=1"


class Test:
    """One test: a name, a command, its environment and its time limit."""

    def __init__(self, name, command, env=None, timeout=120, serial=False, skip=None, cwd=ROOT):
        self.name, self.command, self.env = name, command, env or {}
        self.timeout, self.serial, self.skip, self.cwd = timeout, serial, skip, cwd
        self.result, self.reason, self.seconds = None, "", 0.0
        self.again = False  # it failed beside others
        self.after = None  # another test, which must have passed
        self.excused = False  # what it needs has failed, and counts
        self.done = threading.Event()

    def log(self):
        return os.path.join(LOGS, self.name.replace("/", ".") + ".log")


def environment(build, options):
    env = {
        "BUILD": build,
        "SLUICE_BUILD": build,
        "SLUICE": os.path.join(build, "app", "sluice"),
        "SLUICECTL": os.path.join(ROOT, "tools", "sluicectl"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    corpora = os.environ.get("SLUICE_CORPORA", os.path.join(ROOT, "..", "shared", "corpora"))
    if os.path.isdir(corpora):
        env["SLUICE_CORPORA"] = os.path.abspath(corpora)
    if options.long:
        env["SLUICE_LONG"] = "1"
    if build == ASAN:
        env.update({"ASAN_OPTIONS": ASAN_OPTIONS, "UBSAN_OPTIONS": UBSAN_OPTIONS, "SLUICE_ASAN": "1"})
    return env


def lint_tests():
    lint = os.path.join(ROOT, "tools", "lint")
    listed = subprocess.run([lint, "--list"], capture_output=True, text=True, check=True).stdout
    rules = [line.split()[0] for line in listed.splitlines()]
    return [Test(f"lint/{rule}", [lint, rule], {"SLUICE_BUILD": PLAIN}) for rule in rules]


def build_tests(options):
    """Each sets its folder up if need be; the plain one, gcc's, first: it is what most tests use."""
    tests = []
    builds = [("build/plain", PLAIN, "debugoptimized", [], {})]
    if not options.quick:
        builds.append(("build/asan", ASAN, "debugoptimized", SANITIZE, {"CC": "clang"}))
    if options.long:  # without assertions, and with the warnings that -O3 finds; gcc's sanitizers
        builds.append(("build/release", RELEASE, "release", [], {}))
        builds.append(("build/gcc-asan", GCC_ASAN, "debugoptimized", SANITIZE, {}))
    for name, folder, kind, extra, env in builds:
        script = (
            f"if [ -e '{folder}/build.ninja' ]; then meson configure '{folder}' -Dtests=true; "
            f"else meson setup '{folder}' --buildtype={kind} {' '.join(extra)}; fi"
        )
        if name == "build/asan":
            script += f" && ninja -C '{folder}' -j{options.jobs} $({shlex.join(asan_targets_command(options))})"
        else:
            script += f" && ninja -C '{folder}' -j{options.jobs}"
        tests.append(Test(name, ["bash", "-ec", script], env, timeout=900, serial=True))
    return tests


def package_test():
    """The Debian packages, for netns/package: a build of their own, in a copy of the tree."""
    command = [os.path.join(ROOT, "tools", "package"), "--out", PACKAGES]
    test = Test("build/package", command, timeout=900)
    if not shutil.which("dpkg-buildpackage") or not shutil.which("lintian"):
        test.skip = "no dpkg-buildpackage or lintian (tools/packages.sh)"
    return test


def asan_targets_command(options):
    """Prints the targets of the sanitized build that the selected tests need; none means all."""
    words = [os.path.abspath(__file__), "--asan-targets"]
    for name in ("long", "quick"):
        words += [f"--{name}"] if getattr(options, name) else []
    for pattern in options.only or []:
        words += ["--only", pattern]
    return words + ["--third", str(options.third)]


def asan_targets(options):
    """A program that meson runs is needed with what it depends on, a script's are those that it names."""
    asked = subprocess.run(["meson", "introspect", "--targets", ASAN], capture_output=True, text=True, check=True)
    targets = {t["id"]: os.path.relpath(t["filename"][0], ASAN) for t in json.loads(asked.stdout)}
    asked = subprocess.run(["meson", "introspect", "--tests", ASAN], capture_output=True, text=True, check=True)
    depends = {known["cmd"][0]: known["depends"] for known in json.loads(asked.stdout)}
    programs = {os.path.basename(path): path for path in targets.values()}
    needed = {"app/sluice", "app/scan/program/sluice-scan", "tests/replay_many"} & set(targets.values())
    tests = meson_tests(ASAN, "asan", options) + [t for t in script_tests(options) if "/asan/" in t.name]
    for test in selected(tests, options):
        if test.command[0] in depends:
            needed.add(os.path.relpath(test.command[0], ASAN))
            needed.update(targets[name] for name in depends[test.command[0]] if name in targets)
            continue
        with open(test.command[0], encoding="utf-8") as file:
            words = set(re.findall(r"\w+", file.read()))
        needed.update(path for name, path in programs.items() if name in words and path.startswith("tests/"))
    return sorted(needed)


def meson_tests(build, label, options):
    """The programs that meson registers; its golden scripts are found as files instead."""
    asked = subprocess.run(["meson", "introspect", "--tests", build], capture_output=True, text=True, check=False)
    if asked.returncode:
        return []
    tests = []
    for known in json.loads(asked.stdout):
        suites = {s.split(":")[-1] for s in known["suite"]}
        suite = next((s for s in ("unit", "model", "fuzz", "bench") if s in suites), None)
        if suite is None or suite == "bench":
            continue
        env = dict(environment(build, options), **known["env"])
        limit = known["timeout"] * (4 if build == ASAN else 2)
        cwd = known["workdir"] or build
        tests.append(
            Test(f"{suite}/{label}/{known['name']}", known["cmd"], env, limit, not known["is_parallel"], cwd=cwd)
        )
    return tests


def script_tests(options):
    tests = []
    for kind in ("cli", "golden", "netns"):
        for path in sorted(glob.glob(os.path.join(ROOT, "tests", kind, "*.test"))):
            if not os.access(path, os.X_OK):
                continue
            with open(path, encoding="utf-8") as file:
                head = "".join(file.readline() for _ in range(30))
            limit = re.search(r"check: timeout=(\d+)", head)
            limit = int(limit.group(1)) if limit else 300
            serial = kind == "netns" or "check: serial" in head
            skip = "needs root" if kind == "netns" and os.geteuid() != 0 else None
            name = os.path.basename(path)[: -len(".test")]
            builds = [("", PLAIN)]
            if kind == "golden" and "check: plain" not in head:
                builds = [("plain/", PLAIN), ("asan/", ASAN)]
            for label, build in builds:
                env = environment(build, options)
                tests.append(Test(f"{kind}/{label}{name}", [path], env, limit, serial, skip))
    if options.long:
        mutate = [os.path.join(ROOT, "tools", "mutate"), "--seed", "1301", "--floor", MUTANTS_FLOOR]
        tests.append(Test("mutate/1301", mutate, environment(PLAIN, options), timeout=3600, serial=True))
    return tests


def with_package(tests, options):
    """netns/package installs what build/package made, as the last of its kind."""
    package = package_test()
    for test in tests:
        if test.name == "netns/package":
            test.after = package
            test.env["SLUICE_PACKAGES"] = PACKAGES
            return [package, *(t for t in tests if t is not test), test]
    return chosen([package], options.only) + tests if options.only else tests


def fuzz_campaigns(options):
    """Each target under libFuzzer, in a build of its own (tests/fuzz/fuzz)."""
    if not options.long:
        return []
    given = os.environ.get("FUZZ_SECONDS", "600")
    if not re.fullmatch("[1-9][0-9]*", given):
        sys.exit(f"FUZZ_SECONDS={given}: must be seconds for each fuzz target, 1 or more")
    seconds = int(given)
    script = os.path.join(ROOT, "tests", "fuzz", "fuzz")
    skip = None if shutil.which("clang") else "needs clang"
    names = [os.path.basename(path)[len("fuzz_") : -len(".c")] for path in fuzz_targets()]
    return [Test(f"fuzz/long/{name}", [script, name, str(seconds)], timeout=seconds + 900, skip=skip) for name in names]


def fuzz_targets():
    return sorted(glob.glob(os.path.join(ROOT, "tests", "fuzz", "fuzz_*.c")))


def fuzz_figures(lines):
    """What libFuzzer says at its end: runs, runs per second, edges that its inputs reach."""
    for line in reversed(lines):
        done = re.match(r"#(\d+)\s+DONE\s+cov: (\d+) .*exec/s: (\d+)", line)
        if done:
            return f"{done[1]} runs, {done[3]}/s, {done[2]} edges"
    return ""


def chosen(tests, patterns):
    if not patterns:
        return tests
    return [t for t in tests if any(p in t.name or fnmatch.fnmatch(t.name, p) for p in patterns)]


def excused(test, reason):
    """As root tools/check has installed every package: only the corpora may be absent, or what failed already."""
    return os.geteuid() != 0 or "SLUICE_CORPORA" in reason or test.excused


def skip_after(test, name):
    test.skip, test.excused = f"{name} failed", True


def run(test, options, niceness=0):
    if test.after:
        test.after.done.wait()
        if test.after.result != "PASS":
            skip_after(test, test.after.name)
    if test.skip:
        test.result, test.reason = "SKIP" if excused(test, test.skip) else "FAIL", test.skip
        return
    begin = time.monotonic()
    limit = max(test.timeout * (10 if options.long else 3), HUNG_SECONDS)
    with open(test.log(), "wb") as log:
        try:
            process = started.start(
                ["nice", "-n", str(niceness), *test.command],
                cwd=test.cwd,
                env={**os.environ, **test.env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            test.result, test.reason = "FAIL", str(error)
            return
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            started.end_group(process)
            code = None
        started.forget(process)
    test.seconds = time.monotonic() - begin
    with open(test.log(), encoding="utf-8", errors="replace") as log:
        lines = log.read().strip().split("\n")
    if code == 0:
        test.result = "PASS"
        cases = sum(int(n) for line in lines for n in re.findall(r"\[  PASSED  \] (\d+) test", line))
        test.reason = f"{cases} cases" if cases else fuzz_figures(lines)
    elif code == 77:
        test.result, test.reason = "SKIP" if excused(test, lines[-1]) else "FAIL", lines[-1]
    else:
        test.result = "FAIL"
        test.reason = f"ended {code}" if code is not None else f"not done after {limit} s"
        if code is not None and code < 0:
            test.reason = f"killed by {signal.Signals(-code).name}"


PRINT = threading.Lock()
SANITIZER = re.compile(r"ERROR: AddressSanitizer|: runtime error: ")


def report(test):
    if started.STOPPED.is_set():  # it was ended, and says nothing
        return
    mark = f"{COLOURS[test.result]}{test.result}\033[0m" if TTY else test.result
    note = f"  ({test.reason})" if test.reason else ""
    with PRINT:
        print(f"{mark} {test.name} {test.seconds:.1f}{note}", flush=True)
        if test.result == "FAIL" and os.path.exists(test.log()):
            with open(test.log(), encoding="utf-8", errors="replace") as log:
                lines = log.read().rstrip().split("\n")
            # A sanitizer's report is told by its head, everything else by its end.
            at = next((i for i, line in enumerate(lines) if SANITIZER.search(line)), None)
            for line in lines[-25:] if at is None else lines[at : at + 15]:
                print("     | " + line[:200])
            print(f"     | all of it: {os.path.relpath(test.log(), ROOT)}", flush=True)


def third_of_commit():
    """By its number, so that three in a row run all sanitized tests; where git does not know it, -1: all of them."""
    asked = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    if asked.returncode or os.path.exists(os.path.join(ROOT, ".git", "shallow")):
        return -1
    return int(asked.stdout) % 3


def selected(tests, options):
    if options.quick:
        tests = [t for t in tests if t.name.startswith(QUICK) and not t.name.startswith(QUICK_WITHOUT)]
    if not options.long and not options.only and options.third >= 0:
        tests = [t for t in tests if "/asan/" not in t.name or zlib.crc32(t.name.encode()) % 3 == options.third]
    return chosen(tests, options.only)


def queue_of(tests):
    waiting = queue.SimpleQueue()
    for test in tests:
        waiting.put(test)
    return waiting


def run_all(tests, options):
    """Those with clocks in them, a few at once; and beside them the others, which get what CPU is left."""
    timed, beside = [t for t in tests if t.serial], [t for t in tests if not t.serial]
    order = os.environ.get("SLUICE_ORDER") or str(random.randrange(1 << 32))
    print(f"SLUICE_ORDER={order}")
    random.Random(order).shuffle(beside)
    # the long ones first, so that none is waited for in the end
    beside.sort(key=lambda t: -t.timeout)
    timed.sort(key=lambda t: (t.after is not None, -t.timeout))

    def judge(test, niceness=0):
        try:
            run(test, options, niceness)
        except started.Stopped:
            started.wait_if_stopped()
        except Exception as error:  # pylint: disable=broad-exception-caught
            test.result, test.reason = "FAIL", f"tools/check itself: {error!r}"

    def work(queues):
        waiting, niceness = queues[0]
        while True:
            try:
                test = waiting.get_nowait()
            except queue.Empty:
                if queues[1:]:
                    work(queues[1:])
                return
            judge(test, niceness)
            test.again = test.result == "FAIL" and test.name.startswith(("cli/", "netns/"))
            try:
                if not test.again:
                    report(test)
            except BrokenPipeError:
                started.stop(1, "")
            finally:
                test.done.set()

    clocks, others = (queue_of(timed), 0), (queue_of(beside), BESIDE_NICENESS if timed else 0)
    lanes = [[clocks]] * min(TIMED_AT_ONCE, len(timed)) + [[others]] * options.tests
    lanes[-1] = [others, clocks]  # when nothing else is left there is CPU for one more
    threads = [threading.Thread(target=work, args=(lane,), daemon=True) for lane in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for test in tests:
        if test.again:
            first = test.log() + ".first"
            os.replace(test.log(), first)
            judge(test)
            said = f"{test.reason}; " if test.reason else ""
            test.reason = f"{said}run again alone; the first: {os.path.relpath(first, ROOT)}"
            report(test)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--asan-targets", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--third", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.third is None:  # asked once: somebody may commit meanwhile
        options.third = third_of_commit()
    if options.asan_targets:
        print("\n".join(asan_targets(options)))
        return 0
    # One more than there are CPUs: whoever starts DPDK sleeps for half of a short run.
    options.tests = options.jobs or os.cpu_count() + 1
    options.jobs = options.jobs or os.cpu_count()
    os.makedirs(LOGS, exist_ok=True)
    started.on_signals()
    begin = time.monotonic()
    builds, lints = build_tests(options), lint_tests()
    if options.list:
        found = builds + lints + meson_tests(PLAIN, "plain", options) + meson_tests(ASAN, "asan", options)
        tests = selected(found + script_tests(options) + fuzz_campaigns(options), options)
        for test in with_package(tests, options):
            print(test.name)
        return 0
    # What is built is needed by what is chosen: with --only a build runs, but quietly.
    done = []
    wanted_builds = chosen(builds, options.only)
    only_lint = options.only and not chosen(script_tests(options), options.only) and all(
        p.startswith("lint") for p in options.only
    )
    tests = chosen(lints, options.only)
    layout = next((t for t in tests if t.name == "lint/layout"), None)  # reads the objects of the plain build
    for test in builds:
        if test in wanted_builds or layout and test is builds[0] or (test.name not in ("build/release", "build/gcc-asan") and not only_lint):
            run(test, options)
            if test in wanted_builds or test.result == "FAIL":
                report(test)
                done.append(test)
    broken = {t.name for t in done if t.result == "FAIL"}
    if layout and "build/plain" in broken:
        skip_after(layout, "build/plain")
    rest = []
    for build, label in ((PLAIN, "plain"), (ASAN, "asan")):
        rest += meson_tests(build, label, options)
    rest += script_tests(options) + fuzz_campaigns(options)
    for test in with_package(selected(rest, options), options):
        needed = "build/asan" if "/asan/" in test.name else "build/plain"
        if needed in broken:
            skip_after(test, needed)
        tests.append(test)
    run_all(tests, options)
    started.wait_if_stopped()
    done += tests
    count = {kind: sum(t.result == kind for t in done) for kind in ("PASS", "SKIP")}
    count["FAIL"] = len(done) - count["PASS"] - count["SKIP"]  # also what came to no result
    print(f"{time.monotonic() - begin:.0f} s")
    tail = f", {count['SKIP']} skipped" if count["SKIP"] else ""
    again = sum(t.again and t.result == "PASS" for t in done)
    tail += f", {again} passed only when run again alone" if again else ""
    print(f"{count['PASS']} passed, {count['FAIL']} failed{tail}", flush=True)
    return 1 if count["FAIL"] or not count["PASS"] else 0


try:
    sys.exit(main())
except started.Stopped:
    started.wait_if_stopped()
except BrokenPipeError:  # the reader has seen enough; of a list that is no failure
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0 if "--list" in sys.argv else 1)
