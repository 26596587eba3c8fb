# SPDX-License-Identifier: BSD-3-Clause
"""Files and messages on the live page: names are hidden, and not asked for, until the switch says so; what a sender
wrote is text and never markup; what was refused is marked."""

HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>\u202e.exe"
# Documents in the gateway's place, and which were asked for.
STAND_IN = """
    const real = window.fetch, made = arguments[0];
    window.asked = [];
    window.fetch = (what, how) => {
        asked.push(what);
        return what in made ? Promise.resolve(new Response(JSON.stringify(made[what]), {headers: {"Content-Type": "application/json"}}))
            : real(what, how);
    };"""
ROWS = "return [...document.querySelectorAll('#content tr')].map((e) => e.innerText)"


def transfer(seq, **more):
    return {"seq": seq, "time_ms": 1, "flow_id": 5, "src_ip": "10.9.0.1", "src_port": 4000, "dest_ip": "192.0.2.1", "dest_port": 80,
            "proto": "TCP", "app": "http", "rule": "files", "direction": "to_client", "action": "pass", "refused": False, "size": 1000,
            **more}


def document(names, may_show=True):
    name, text = ({"filename": HOSTILE}, {"from": "anna", "to": "#room", "text": HOSTILE}) if names else ({}, {})
    return {"now_ms": 1, "names": names, "may_show": may_show,
            "transfers": {"seen": 3, "recent": [
                transfer(3, action="reset", mode="enforce", refused=True, **name),
                transfer(2, action="drop", mode="monitor", **name),
                transfer(1, state="CLOSED", bytes=2000, type="pdf", **name)]},
            "chat": {"seen": 1, "recent": [transfer(1, action="drop-message", mode="enforce", refused=True, **text)]}}


def content(browser, expect, until):
    """Of the traffic: the film that all of them watch. Then what a hostile sender would do."""
    def rows():
        return browser.execute_script(ROWS)

    def press(name):
        browser.find_element("id", name).click()

    expect("transfers are shown", until(20, lambda: any("would reset" in r for r in rows())) is not None, rows())
    expect("their names are not", not any("film" in r for r in rows()), rows())
    press("names-shown")
    expect("but where they are asked for", until(10, lambda: any("film" in r for r in rows())) is not None, rows())
    browser.refresh()
    expect("the browser remembers", until(20, lambda: any("film" in r for r in rows())) is not None, rows())
    press("names-hidden")
    expect("they go at once", not any("film" in r for r in rows()), rows())
    browser.execute_script(STAND_IN, {"/api/content.json": document(False), "/api/content-names.json": document(True)})
    expect("what was refused is marked", until(10, lambda: len(rows()) == 3) is not None and [
        word in row for word, row in zip(("reset", "would drop", "pass"), rows())] == [True] * 3, rows())
    badges = browser.execute_script("return [...document.querySelectorAll('#content .badge')].map((e) => e.className)")
    expect("in monitor mode otherwise", badges == ["badge", "badge monitor"], badges)
    expect("names are not even asked for", "/api/content-names.json" not in browser.execute_script("return asked"))
    press("names-shown")
    expect("a name is text", until(10, lambda: HOSTILE in rows()[0]) is not None, rows())
    expect("how it ended", "whole" in rows()[2] and "pdf" in rows()[2], rows())
    press("content-chat")
    expect("so is a message", until(10, lambda: len(rows()) == 1 and HOSTILE in rows()[0] and "anna → #room" in rows()[0]) is not None, rows())
    made = browser.execute_script("return document.querySelectorAll('#content img, #content script').length")
    expect("and no markup", made == 0 and browser.title == "Sluice", (made, browser.title))
    press("content-transfers")
    press("names-hidden")
    browser.execute_script(STAND_IN, {"/api/content.json": document(False, may_show=False)})
    expect("a gateway that shows no names has no switch", until(
        10, lambda: not browser.find_element("id", "names-switch").is_displayed()) is not None)
    browser.refresh()
    expect("hidden is remembered, too", until(20, lambda: rows()) is not None and not any("film" in r for r in rows()), rows())
