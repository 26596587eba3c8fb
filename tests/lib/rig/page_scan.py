# SPDX-License-Identifier: BSD-3-Clause
"""Virus scanning on the live page: a panel that is there only where there is an engine, or a rule that asks for one; what is wrong
is red, and words of the scanner are text."""
from rig.page_content import STAND_IN  # pylint: disable=import-error

HOSTILE = "<img src=x onerror=\"document.title='taken'\">"
TIMES = {"count": 10, "p50_ns": 2000000, "p90_ns": 9000000, "p99_ns": 1500000000, "max_ns": 1500000000}


def lcore(number, **more):
    return {"lcore": number, "state": "ready", "waiting": 3, "running": 1, "replaced": 1, "died": 2, "pid": 9,
            "database": {"signatures": 8000000, "version": 27001, "age_s": 20 * 86400, "digest": "ab"},
            "verdicts": {"clean": 90, "unscanned": 2, "error": 0, "timeout": 0, "infected": 4},
            "unscanned": {"encrypted": 2, "too_big": 0}, "queue": TIMES, "run": TIMES,
            "known": {"hits": 30, "misses": 10, "joined": 2, "listed": 4}, **more}


def document(**more):
    return {"now_ms": 1, "engine": "clamav", "ready": 1, "asked_by": "viruses", "hold": TIMES, "cache": {"entries": 77, "limit": 100, "evicted": 0},
            "reloads": {"mode": "concurrent", "loading": False, "taken": {"count": 3, "age_s": 7200}, "refused": {"count": 1, "age_s": 120, "reason": HOSTILE}},
            "lcores": [lcore(0), lcore(1, state="failed", last=HOSTILE)],
            "data": [{"lcore": 0, "files": 5, "pending": 1, "held": 2, "arena_bytes": 8000000, "arena_used_bytes": 1000, "arena_peak_bytes": 2000}],
            "slowest": [{"time_ms": 1, "flow_id": 5, "app": "http", "rule": "viruses", "bytes": 5000, "verdict": "infected",
                         "signature": HOSTILE, "queue_ms": 1, "scan_ms": 4200, "hold_ms": 4300}], **more}


def scanning(browser, expect, until):
    def panel():
        return browser.find_element("id", "scan")

    def plain(text):
        return text.replace("\u202f", "")  # between a number and its unit

    def has(*words):
        return until(10, lambda: panel().is_displayed() and all(word in plain(panel().text) for word in words)) is not None

    expect("without an engine there is no panel of it", not panel().is_displayed())
    browser.execute_script(STAND_IN, {"/api/scan.json": document()})
    expect("with one there is", has("rule viruses", "1 of 2 ready", "8.00M", "version 27001", "20d", "encrypted 4", "1.5s", "4.2s", "2 held",
                                       "75%", "60 of 80, 8 by lists, 77 kept", "2min ago"), panel().text)
    red = browser.execute_script("return [...document.querySelectorAll('#scan .bad')].map((e) => e.innerText)")
    expect("what is wrong is red", {"failed", "1 of 2 ready", "20d 0h", "refused"} <= {plain(word) for word in red}, red)
    made = browser.execute_script("return document.querySelectorAll('#scan img').length")
    expect("words of the scanner are text", made == 0 and HOSTILE in panel().text and browser.title != "taken", (made, panel().text))
    newer = {"mode": "concurrent", "loading": False, "taken": {"count": 4, "age_s": 60}, "refused": {"count": 1, "age_s": 180, "reason": "old"}}
    browser.execute_script(STAND_IN, {"/api/scan.json": document(reloads=newer)})
    expect("signatures that came after a refusal are not red", has("taken 1min ago") and "refused" not in
           browser.execute_script("return [...document.querySelectorAll('#scan .bad')].map((e) => e.innerText)"), panel().text)
    browser.execute_script(STAND_IN, {"/api/scan.json": {"now_ms": 1, "engine": "none", "ready": 0, "asked_by": "viruses", "problem": "names none"}})
    expect("a rule that nobody answers is told", has("names none"), panel().text)
    browser.refresh()
    expect("then it goes", until(10, lambda: browser.find_elements("css selector", "#lcores li")) and not panel().is_displayed())
