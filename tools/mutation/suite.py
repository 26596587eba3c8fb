# SPDX-License-Identifier: BSD-3-Clause
"""The tests that judge mutants: unit, model, fuzz replay, golden and command line."""
import glob
import json
import os
import re
import resource
import signal
import subprocess
import threading
import time

import started

LIMIT_FIRST_S = 600  # for a test without a mutant
PATIENCE = 6  # the limit is of CPU time; a process that waits has so many times as much


class Test:
    """A test, which runs once at a time; `serial` ones one at a time."""

    SERIAL = threading.Lock()

    def __init__(self, name, command, env, cwd, serial=False):
        self.name, self.command, self.env, self.cwd = name, command, env, cwd
        self.lock = Test.SERIAL if serial else threading.Lock()
        self.seconds, self.good, self.reached = 0.0, False, b""

    def run(self, env, limit):
        """"" if it holds, else why not; and the seconds."""
        begin = time.monotonic()
        with open(os.devnull, "rb") as nothing, open(env["MUTATE_LOG"], "wb") as log:
            process = started.start(
                self.command, cwd=self.cwd, env={**os.environ, **self.env, **env}, stdin=nothing,
                stdout=log, stderr=subprocess.STDOUT,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5)),
            )  # fmt: skip
            try:
                code = process.wait(PATIENCE * limit)
            except subprocess.TimeoutExpired:
                code = None
            started.end_group(process, 5)  # also what it has left running
            started.wait_if_stopped()  # then its end says nothing
        seconds = time.monotonic() - begin
        if code is None or code == -signal.SIGXCPU:
            return "hang", seconds
        if code < 0:
            return f"killed by {signal.Signals(-code).name}", seconds
        return "" if code == 0 else "skip" if code == 77 else f"ended {code}", seconds


def all_tests(source, build, kinds):
    env = {
        "BUILD": build, "SLUICE_BUILD": build, "SLUICE": os.path.join(build, "app", "sluice"),
        "SLUICECTL": os.path.join(source, "tools", "sluicectl"), "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    asked = subprocess.run(["meson", "introspect", "--tests", build], capture_output=True, text=True, check=True)
    tests = []
    for known in json.loads(asked.stdout):
        suites = {s.split(":")[-1] for s in known["suite"]}
        suite = next((s for s in ("unit", "model", "fuzz") if s in suites), None)
        if suite in kinds:
            where = known["workdir"] or build
            tests.append(Test(f"{suite}/{known['name']}", known["cmd"], {**env, **known["env"]}, where))
    for kind in ("golden", "cli"):
        for path in sorted(glob.glob(os.path.join(source, "tests", kind, "*.test"))) if kind in kinds else []:
            with open(path, encoding="utf-8") as file:
                head = "".join(file.readline() for _ in range(30))
            name = os.path.basename(path)[: -len(".test")]
            tests.append(Test(f"{kind}/{name}", [path], env, source, re.search("check: serial", head)))
    return tests


def learn(tests, total, folder, jobs, seconds_max, say):
    """Runs each once without a mutant: how long it takes, and which mutants it comes to."""
    waiting, lock = list(tests), threading.Lock()

    def worker(number):
        while True:
            with lock:
                if not waiting:
                    return
                test = waiting.pop(0)
            path = os.path.join(folder, f"reached.{number}")
            with open(path, "wb") as file:
                file.write(bytes(total + 1))
            os.chmod(path, 0o666)  # the gateway gives up its rights
            env = {"SLUICE_MUTANT": "-1", "SLUICE_MUTANT_REACHED": path}
            env["MUTATE_LOG"] = os.path.join(folder, "learn." + test.name.replace("/", ".") + ".log")
            with test.lock:
                why, test.seconds = test.run(env, min(LIMIT_FIRST_S, seconds_max))
            with open(path, "rb") as file:
                test.reached = file.read()
            test.good = not why
            if why:
                say(f"does not take part: {test.name}: {f'takes more than {seconds_max} s' if why == 'hang' else why}")

    run_threads(worker, jobs)


def run_threads(worker, jobs):
    """An exception of one of them is ours, when all have ended."""
    failed = []

    def work(number):
        try:
            worker(number)
        except started.Stopped:
            started.wait_if_stopped()
        except Exception as error:  # pylint: disable=broad-exception-caught
            failed.append(error)

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def judge(site, tests, folder, slot, budget, say):
    """Runs what comes to the mutant, the quickest first, until one fails or the budget is used up."""
    site.reached = sorted((t for t in tests if t.good and t.reached[site.number]), key=lambda t: t.seconds)
    env = {"SLUICE_MUTANT": str(site.number), "MUTATE_LOG": os.path.join(folder, f"judge.{slot}.log")}
    for test in site.reached:
        budget -= test.seconds
        if budget < 0:
            break
        if not test.good:  # meanwhile
            continue
        limit = 20 + 5 * test.seconds
        site.ran += 1
        with test.lock:
            why, _ = test.run(env, limit)
            if why and why not in ("hang", "skip"):  # a busy machine fails tests, too
                why, _ = test.run(env, limit)
            if why and why != "skip" and not holds_without(test, env, limit, say):
                continue
        if why and why != "skip":
            site.result, site.by = "killed", f"{test.name} ({why})"
            return
    site.result = "survived"


def holds_without(test, env, limit, say):
    """Whether it is the mutant that fails it, and nothing that has become of the machine since it was learned."""
    why, _ = test.run({**env, "SLUICE_MUTANT": "0"}, limit)
    if why:
        test.good = False
        say(f"judges no more: {test.name}: fails without a mutant, too: {why}")
    return not why
