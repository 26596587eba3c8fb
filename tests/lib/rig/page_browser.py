#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The live page in headless Chromium: page_browser.py URL --gateway PID --client NETNS --server HOST
--events FILE --token FILE --shots FOLDER. Asserts what a person would see, and that the browser speaks to nobody else."""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from rig import http_rig  # pylint: disable=import-error,wrong-import-position
from rig import page_content, page_scan  # pylint: disable=import-error,wrong-import-position
from rig import png_small  # pylint: disable=import-error,wrong-import-position

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

TRAFFIC = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "peers", "page_traffic.py")
FLAGS = ("--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
         "--disable-component-update --disable-sync --disable-default-apps --disable-extensions --hide-scrollbars "
         "--no-default-browser-check --metrics-recording-only").split()
# Chromium asks for hosts of its own makers whatever page it shows: no name is found here.
FLAGS.append("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
IPV6_PROBE = "[2001:4860:4860::8888]:443"  # Chromium's: a socket is bound to that way, nothing is sent
CHECKS = http_rig.Checks()
expect = CHECKS.expect
DELAYS = []  # seconds from what was said to its verdict on the page


def browser_new(folder):
    options = webdriver.ChromeOptions()
    for flag in FLAGS + [f"--user-data-dir={folder}/profile", f"--log-net-log={folder}/net.json"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    os.environ["no_proxy"] = "*"  # of the driver's own socket
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def size(browser, width, height):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})


def scheme(browser, value):
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                            {"features": [{"name": "prefers-color-scheme", "value": value}]})


def until(seconds, holds):
    """Seconds it took, or None."""
    begin = time.monotonic()
    while not holds():
        if time.monotonic() - begin > seconds:
            return None
        time.sleep(0.03)
    return time.monotonic() - begin


def text(browser, name):
    return browser.execute_script("return document.getElementById(arguments[0]).textContent", name)


def state(browser):
    return browser.execute_script("return document.getElementById('state').dataset.state")


def newest(browser, *words):
    """The newest verdict whose row has all these words."""
    return browser.execute_script("""
        const row = [...document.querySelectorAll('#verdicts tr')].find((r) => arguments[0].every((w) => r.innerText.includes(w)));
        return row ? {seq: Number(row.dataset.seq), text: row.innerText, badge: row.querySelector('.badge').innerText,
            monitor: row.querySelector('.badge').classList.contains('monitor'),
            border: getComputedStyle(row.querySelector('.badge')).borderTopStyle} : {seq: 0}""", words)


def loads(browser, url):
    for _ in range(3):  # once it may have been the machine's other work
        browser.get(url)
        timing = browser.execute_script("const t = performance.getEntriesByType('navigation')[0];"
                                        "return {load: t.loadEventEnd, first: t.responseEnd}")
        print(f"loaded in {timing['load']:.0f} ms")
        if 0 < timing["load"] < 1000:
            break
    expect("loads in under a second", 0 < timing["load"] < 1000, timing)
    took = until(20, lambda: state(browser) == "live")
    expect("and lives", took is not None, text(browser, "state-text"))
    expect("it is named", browser.title == "Sluice", browser.title)


def updates(browser):
    seen = set()
    until(20, lambda: seen.add(text(browser, "now-in")) or len(seen) >= 3)
    expect("numbers update", len(seen) >= 3, seen)
    lines = browser.execute_script("return document.querySelectorAll('#chart .line-in').length")
    expect("the curve is drawn", lines == 1, lines)
    expect("applications", until(20, lambda: "HTTP" in browser.find_element(By.ID, "apps").text) is not None)
    health = browser.find_element(By.CLASS_NAME, "health").text
    for word in ("lcore 0", "lan", "wan", "mbufs_0", "packets unaccounted for"):
        expect(f"health shows {word}", word in health, health)
    widest = browser.execute_script(
        "return Math.max(...[...document.querySelectorAll('#apps .bar span')].map(e => e.getBoundingClientRect().width))")
    expect("bars have a length", widest > 50, widest)


def converse(args, app):
    return subprocess.Popen(["ip", "netns", "exec", args.client, "/usr/bin/python3", TRAFFIC, "once", args.server, app],
                            stdout=subprocess.PIPE, text=True)


def shows(browser, args, app, title, rule, badge, monitor):
    words = (title, args.server + ":")  # where nothing else of the test goes
    before = newest(browser, *words)["seq"]
    program = converse(args, app)
    took = until(20, lambda: newest(browser, *words)["seq"] > before)
    shown = time.time()
    row = newest(browser, *words)
    expect(f"{title} is shown", took is not None)
    if took is not None:
        DELAYS.append(shown - float(program.communicate()[0]))
        print(f"{title}: shown {DELAYS[-1]:.2f} s after it was said")
    expect(f"{title}: what", rule in row.get("text", ""), row)
    expect(f"{title}: how", row.get("badge") == badge and row["monitor"] == monitor, row)
    return row


def looks(browser):
    for width in (1280, 980, 620, 390, 320):
        size(browser, width, 900)
        time.sleep(0.2)
        overflow = browser.execute_script(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        expect(f"nothing sticks out at {width}", overflow <= 0, overflow)
    size(browser, 1280, 900)
    colours = []
    for value in ("light", "dark"):
        scheme(browser, value)
        time.sleep(0.5)
        colours.append(browser.execute_script(
            "const s = getComputedStyle(document.documentElement); return [s.backgroundColor, s.color]"))
        worst = browser.execute_script(CONTRAST)
        expect(f"{value}: text can be read", worst[0] >= 4.5, worst)
    expect("light and dark differ", colours[0][0] != colours[1][0], colours)
    scheme(browser, "light")


# The least contrast of any visible text with what is behind it (WCAG 2: 4.5 for small text).
CONTRAST = """
    const rgb = (text) => { const m = text.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
    const light = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
    const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
    const behind = (e) => e ? over(rgb(getComputedStyle(e).backgroundColor), behind(e.parentElement)) : [255, 255, 255, 1];
    let worst = [99, ''];
    for (const e of document.querySelectorAll('body *')) {
        const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
        if (!own || !e.offsetParent) continue;
        const back = behind(e), front = over(rgb(getComputedStyle(e).color), back);
        const [a, b] = [light(front), light(back)].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
        if (ratio < worst[0]) worst = [ratio, e.className + ': ' + e.textContent.slice(0, 40)];
    }
    return worst;"""


def keyboard(browser):
    plot = browser.find_element(By.ID, "plot")
    plot.send_keys(Keys.ARROW_LEFT)
    tip = browser.find_element(By.ID, "tip")
    expect("arrow keys read the curve", tip.is_displayed() and "dropped" in tip.text, tip.text)
    plot.send_keys(Keys.ESCAPE)
    expect("Escape ends that", not tip.is_displayed())
    browser.find_element(By.ID, "unit-pkts").send_keys(Keys.SPACE)
    expect("packets", "pkt/s" in text(browser, "now-in-unit"), text(browser, "now-in-unit"))
    browser.find_element(By.ID, "unit-bits").click()
    browser.find_element(By.ID, "apps-all").click()
    expect("a switch says its state", browser.find_element(By.ID, "apps-all").get_attribute("aria-pressed") == "true")
    browser.find_element(By.ID, "apps-now").click()


def goes(browser, gateway):
    os.kill(gateway, signal.SIGSTOP)
    try:
        took = until(30, lambda: state(browser) == "gone")
        expect("says that the gateway is gone", took is not None, state(browser))
        expect("in words", "no answer since" in text(browser, "state-text"), text(browser, "state-text"))
        expect("in the title", "no answer" in browser.title, browser.title)
    finally:
        os.kill(gateway, signal.SIGCONT)
    took = until(30, lambda: state(browser) in ("live", "warn"))
    expect("and that it is back", took is not None, text(browser, "state-text"))


def spoke_to(browser, url, folder):
    asked = [json.loads(e["message"])["message"] for e in browser.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in asked if m["method"] == "Network.requestWillBeSent"]
    asked += browser.execute_script("return performance.getEntries().map(e => e.name).filter(n => n.includes('://'))")
    asked = [a for a in asked if a.startswith(("http:", "https:", "ws:", "wss:"))]  # others stay inside the browser
    expect("requests were seen", len(asked) > 20, len(asked))
    expect("none to another host", all(a.startswith(url) for a in asked), {a for a in asked if not a.startswith(url)})
    said = [e for e in browser.get_log("browser")  # ERR_: while it was stopped; a wrong token
            if "ERR_" not in e["message"] and "/api/command" not in e["message"] and not e["message"].startswith("chrome:")]
    expect("no word of complaint", not said, said)
    browser.quit()
    with open(f"{folder}/net.json", encoding="utf-8") as file:
        log = json.load(file)
    names = {number: name for name, number in log["constants"]["logEventTypes"].items()}
    reached = set()
    for event in log["events"]:
        if names[event["type"]] in ("TCP_CONNECT_ATTEMPT", "UDP_CONNECT"):
            reached.add(event.get("params", {}).get("address"))
    reached -= {None, IPV6_PROBE}
    print("the browser connected to: " + ", ".join(sorted(reached)))
    expect("connections were seen", reached)
    expect("and none to elsewhere", all(a.startswith("127.0.0.1:") for a in reached), reached)


def press(browser, name):
    browser.find_element(By.ID, name).click()


def find(browser, css):
    return browser.find_elements(By.CSS_SELECTOR, css)


def opened(browser, key):
    """Opens a host or user by keyboard, once it is there; what its detail says."""
    def head():
        return browser.execute_script("const li = [...document.querySelectorAll('#people > li')].find((e) => e.dataset.key === "
                                      "arguments[0]); return li ? li.firstChild : null", key)
    expect(f"{key} is listed", until(20, lambda: head() is not None) is not None, browser.find_element(By.ID, "people").text)
    if head().get_attribute("aria-expanded") == "false":
        head().send_keys(Keys.ENTER)
    expect(f"{key} opens", head().get_attribute("aria-expanded") == "true")
    detail = browser.find_element(By.ID, head().get_attribute("aria-controls"))
    until(10, lambda: "HTTP" in detail.text)
    return detail


def people(browser):
    detail = opened(browser, "hosts 10.77.0.11")
    expect("a host has applications, flows, what was blocked", all(w in detail.text for w in ("Applications", "Live flows", "Blocked")),
           detail.text)
    expect("its user is beside it", until(10, lambda: "anna" in browser.find_element(By.ID, "people").text) is not None)
    expect("its fastest flow", until(10, lambda: "→ 10.77.0.40:80" in detail.text) is not None, detail.text)
    press(browser, "people-blocked")
    expect("hosts with blocked flows", until(20, lambda: "10.77.0.12" in browser.find_element(By.ID, "people").text) is not None)
    detail = opened(browser, "hosts 10.77.0.12")
    expect("what was blocked, by which rule", until(10, lambda: "reset by no-file-sharing" in detail.text) is not None,
           detail.text)
    expect("nothing can be done", not find(browser, ".act.main:not([hidden])")[0].is_displayed() and not find(browser, ".detail .act, #verdicts .act"))
    order = [e.get_attribute("data-key") for e in find(browser, "#people > li")]
    until(4, lambda: False)
    expect("the order rests while one is open", [e.get_attribute("data-key") for e in find(browser, "#people > li")][:len(order)] == order, order)
    press(browser, "people-rate")
    press(browser, "people-users")
    for user in ("anna", "ben", "meeting room"):
        expect(f"user {user}", until(20, lambda user=user: user in browser.find_element(By.ID, "people").text) is not None)
    expect("a user's addresses", "10.77.0.13" in opened(browser, "users meeting room").text or "10.77.0.14" in opened(
        browser, "users meeting room").text)


def audited(args, command):
    with open(args.events, encoding="utf-8") as file:
        return [e["audit"] for e in map(json.loads, file) if e["event_type"] == "audit" and e["audit"]["command"] == command]


def click_first(browser, text, within):
    """The first button of that name, which may be drawn anew just now."""
    def clicked():
        try:
            button = next(e for e in find(browser, within + " .act") if e.text == text)
            browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
            button.click()
            return True
        except Exception:  # pylint: disable=broad-except
            return False
    return until(15, clicked) is not None


def click_of(browser, text, of):
    """The button of that name, of what its label names."""
    def clicked():
        try:
            button = next(e for e in find(browser, ".act") if e.get_attribute("aria-label") == f"{text} {of}")
            browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
            button.click()
            return True
        except Exception:  # pylint: disable=broad-except
            return False
    return until(15, clicked) is not None


def labels(browser):
    """Of the buttons of hosts and users that are open."""
    return browser.execute_script("return [...document.querySelectorAll('#people .detail .act')].map((e) => e.getAttribute('aria-label'))")


def explain_list(browser):
    return text(browser, "explain-list") + text(browser, "explain-more")


def explain_late(browser, whole):
    """What an earlier question is answered with does not stand under a later one's title. `whole`: of that host, in time."""
    browser.execute_script("sluice.late = 2500")
    click_of(browser, "Explain", "10.77.0.12")
    said = browser.find_element(By.ID, "explain-dialog")
    said.find_element(By.CLASS_NAME, "close").click()
    click_first(browser, "Explain", "#verdicts")
    until(10, lambda: find(browser, "#explain-list .outcome"))
    before, title = explain_list(browser), text(browser, "explain-title")
    expect("a verdict's answer is another than a host's", find(browser, "#explain-list .outcome") and before != whole, before)
    until(4, lambda: False)
    expect("a late answer is nobody's", explain_list(browser) == before and text(browser, "explain-title") == title, explain_list(browser))
    said.find_element(By.CLASS_NAME, "close").click()


def blocks_peer(browser, args):
    """By hand, until it is removed by hand."""
    opened(browser, "hosts 10.77.0.14")

    def flows():
        return [l for l in labels(browser) if l.startswith("Block peer 10.77.0.14 → 10.77.0.40:")]
    expect("a flow to the server", until(20, flows) is not None, labels(browser))
    expect("Block peer", click_of(browser, "Block peer", flows()[0][len("Block peer "):]))
    press(browser, "ask-yes")
    expect("Block peer is done", until(10, lambda: "may not connect to 10.77.0.40 for an hour" in text(browser, "told")) is not None,
           text(browser, "told"))

    def entry():
        return browser.execute_script("return [...document.querySelectorAll('#cache-recent > li')].map((e) => e.innerText)"
                                      ".find((t) => t.includes('10.77.0.14 → 10.77.0.40 any port')) || ''")
    expect("and is in the cache", until(10, lambda: "by hand" in entry()) is not None, browser.find_element(By.ID, "cache-recent").text)
    expect("and stops the peer", until(30, lambda: "came back" in entry()) is not None, entry())
    expect("Remove", click_of(browser, "Remove", "10.77.0.14 → 10.77.0.40"))
    press(browser, "ask-yes")
    expect("Remove is done", until(10, lambda: "1 entry is removed" in text(browser, "told")) is not None, text(browser, "told"))
    expect("and the entry is gone", until(10, lambda: "removed" in entry()) is not None, entry())
    for command in ("cache-add", "cache-del"):
        found = audited(args, command)
        expect(f"{command} is an event, and of the untagged network", found and found[0]["result"] == "OK" and
               found[0]["arguments"].get("vlan") == 0 and found[0]["arguments"].get("zone") == "inside", found)


# Documents and answers in the gateway's place: what its traffic here does not have.
STAND_IN = """
    const real = window.fetch;
    window.sluice = {documents: {}, sent: [], message: null, late: 0};
    window.fetch = (what, how) => {
        const made = sluice.documents[what], json = (v) => Promise.resolve(new Response(JSON.stringify(v), {headers: {"Content-Type": "application/json"}}));
        if (made) return json(made);
        if (what !== "/api/command") return real(what, how);
        sluice.sent.push(JSON.parse(how.body));
        if (sluice.message) return json({return: "OK", message: sluice.message});
        const wait = sluice.late;
        sluice.late = 0;
        return real(what, how).then((answer) => new Promise((done) => setTimeout(() => done(answer), wait)));
    };"""


def person(key, bits, live=(), blocks=()):
    app = {"app": "http", "title": "HTTP", "category": "web", "bits_s": bits, "flows_active": 1, "flows": 1, "bytes_out": 1,
           "bytes_in": 1, "blocked": 0}
    return {"key": key, "bits_s": bits, "flows_active": 1, "flows": 1, "bytes_out": 1, "bytes_in": 1, "blocked": len(blocks),
            "would_block": 0, "seen_ms": 1, "apps": [app], "live": list(live), "blocks": list(blocks)}


def flow_of(number, **more):
    return {"flow_id": number, "app": "", "title": "Unknown", "category": "", "client": {"ip": "10.9.0.1"}, "outbound": True,
            "server": {"ip": f"192.0.2.{number}", "port": 443}, "proto": "TCP", "bits_s": 100, "bytes": 100, "action": "pass", **more}


def blocked_of(proto):
    return {**flow_of(9, proto=proto), "time_ms": 1, "count": 1, "action": "drop", "monitor": False, "rule": "no-file-sharing"}


def made_up(browser):
    """Tagged networks, flows that change, hosts that go."""
    def put(*hosts):
        browser.execute_script("sluice.documents['/api/hosts.json'] = arguments[0]", {
            "now_ms": 1, "counted_ms": 1, "known": len(hosts), "capacity": 64, "evicted": 0, "unheard": 0, "hosts": list(hosts)})

    def order():
        return browser.execute_script("return [...document.querySelectorAll('#people > li')].map((e) => e.dataset.key)")

    flows = [flow_of(1, vlan=7), flow_of(2, vlan=7, inner_vlan=8), flow_of(3, pppoe_session=5), flow_of(4, realm=1 << 31 | 7), flow_of(5)]
    blocks = [blocked_of("TCP"), blocked_of("UDP")]
    rest = person("10.9.0.2", 2000), person("10.9.0.3", 1000)
    put(person("10.9.0.1", 3000, flows, blocks), *rest)
    press(browser, "people-rate")
    detail = opened(browser, "hosts 10.9.0.1")

    def rows():
        return sorted(browser.execute_script("return [...arguments[0].children[2].querySelectorAll('li small')].map((e) => e.textContent)", detail))
    until(5, lambda: "Explain 10.9.0.1" in labels(browser))
    peers = sorted(l for l in labels(browser) if l.startswith("Block peer"))
    expect("a peer is blocked where its network has a name", peers == [f"Block peer 10.9.0.1 → 192.0.2.{n}:443" for n in (1, 5)], peers)
    for turn in ("at first", "and later"):
        expect(f"one row for each protocol, {turn}", [r[:13] for r in rows() if "Unknown" in r] == ["Unknown · TCP", "Unknown · UDP"], rows())
        until(2.5, lambda: False)
    flows[0].update(app="bittorrent", title="BitTorrent")
    put(person("10.9.0.1", 3000, flows, blocks), *rest)
    until(5, lambda: "BitTorrent" in detail.text)
    click_of(browser, "Block", "10.9.0.1 → 192.0.2.1:443")
    expect("a question names what the flow is by now", "BitTorrent" in text(browser, "ask-text"), text(browser, "ask-text"))
    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    browser.execute_script("sluice.message = {exempt: ['10.9.0.0/16'], outcome: 'pass', verdict: 'passes', verdicts: []}")
    click_of(browser, "Block peer", "10.9.0.1 → 192.0.2.1:443")
    expect("the network is named", "in VLAN 7" in text(browser, "ask-text"), text(browser, "ask-text"))
    press(browser, "ask-yes")
    expect("its answer, too", until(5, lambda: "in VLAN 7" in text(browser, "told")) is not None, text(browser, "told"))
    sent = browser.execute_script("return sluice.sent.at(-1)")
    expect("and the gateway is told", sent == {"command": "cache-add", "arguments": {
        "src_ip": "10.9.0.1", "dest_ip": "192.0.2.1", "mode": "peer", "zone": "inside", "vlan": 7, "ttl_s": 3600}}, sent)
    click_of(browser, "Explain", "10.9.0.1")
    expect("who is exempt is told, and by what", until(5, lambda: text(browser, "explain-more") == "exempt by 10.9.0.0/16") is not None,
           text(browser, "explain-more"))
    browser.find_element(By.ID, "explain-dialog").find_element(By.CLASS_NAME, "close").click()
    browser.execute_script("document.activeElement.blur()")
    put(*rest)
    expect("a host goes", until(5, lambda: order() == ["hosts 10.9.0.2", "hosts 10.9.0.3"]) is not None, order())
    put(rest[0], person("10.9.0.3", 9000))
    expect("the order does not rest for one that has gone", until(5, lambda: order() == ["hosts 10.9.0.3", "hosts 10.9.0.2"]) is not None,
           order())
    seen = browser.execute_async_script("""
        const done = arguments[0];
        import("/parts.js").then(({keyed, make}) => {
            const list = make("ul"), show = (...words) => keyed(list, words, () => "same", () => make("li"), (e, w) => { e.textContent = w; });
            show("a", "b"); show("c", "d"); show("e");
            done([...list.children].map((e) => e.textContent));
        });""")
    expect("no row stays behind that has another's key", seen == ["e"], seen)
    browser.execute_script("sluice.documents = {}; sluice.message = null")


def acts(browser, args):
    """Explain, block and allow, with the token."""
    with open(args.token, encoding="ascii") as file:
        token = file.read().strip()
    press(browser, "unlock")
    field = browser.find_element(By.ID, "token")
    expect("a dialog, with the focus in it", field.is_displayed() and browser.switch_to.active_element == field)
    field.send_keys("0" * 64, Keys.ENTER)
    expect("a wrong token is refused, in words", until(10, lambda: "does not take" in text(browser, "token-error")) is not None)
    expect("and nothing opens", not find(browser, "body.unlocked"))
    field.clear()
    field.send_keys(token, Keys.ENTER)
    expect("the right one unlocks", until(10, lambda: find(browser, "body.unlocked")) is not None, text(browser, "token-error"))
    expect("the focus is on Lock", browser.switch_to.active_element.get_attribute("id") == "lock")
    press(browser, "people-hosts")
    press(browser, "people-blocked")
    opened(browser, "hosts 10.77.0.12")
    expect("Explain, of a host", click_first(browser, "Explain", "#people .detail > p.acts"))
    said = browser.find_element(By.ID, "explain-dialog")
    expect("says why", until(15, lambda: "no-file-sharing" in said.text and "blocked" in said.text) is not None, said.text)
    expect("nothing is exempt", "exempt" not in text(browser, "explain-more"), text(browser, "explain-more"))
    whole = explain_list(browser)
    said.find_element(By.CLASS_NAME, "close").click()
    expect("and closes", not said.is_displayed())
    browser.execute_script(STAND_IN)
    explain_late(browser, whole)
    expect("Allow, of a verdict", click_first(browser, "Allow", "#verdicts"))
    press(browser, "ask-yes")
    expect("is said", until(10, lambda: "passes for an hour" in text(browser, "told") or "it has ended" in text(browser, "told")) is not None,
           text(browser, "told"))
    press(browser, "people-rate")
    opened(browser, "hosts 10.77.0.16")
    expect("Block, of a flow", click_first(browser, "Block", "#people .detail"))
    expect("asks first", browser.find_element(By.ID, "ask-dialog").is_displayed())
    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    expect("and Escape is no", not browser.find_element(By.ID, "ask-dialog").is_displayed() and not audited(args, "flow-reset"))
    click_first(browser, "Block", "#people .detail")
    press(browser, "ask-yes")
    expect("is done", until(10, lambda: "torn down and blocked" in text(browser, "told")) is not None, text(browser, "told"))
    blocks_peer(browser, args)
    made_up(browser)
    for command in ("version", "explain", "flow-allow", "flow-reset"):
        found = audited(args, command)
        expect(f"{command} is an event, with its peer", found and found[0]["peer"].startswith("127.0.0.1:"), found)
    expect("the wrong token is, too", [a["message"] for a in audited(args, "none")] == ["wrong token"])
    kept = browser.execute_script("return JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href, "
                                  "performance.getEntries().map((e) => e.name), document.documentElement.outerHTML])")
    expect("the token is kept nowhere", token not in kept)
    expect("entries of the cache can be removed", find(browser, "#cache-recent .act"))
    press(browser, "lock")
    expect("Lock locks", until(5, lambda: not find(browser, ".detail .act, #verdicts .act, #cache-recent .act")) is not None)


def steady(browser):
    """At 400 pixels numbers change, and nothing else moves."""
    size(browser, 400, 900)
    press(browser, "people-users")
    press(browser, "people-rate")
    time.sleep(1.5)
    moved = browser.execute_async_script("""
        const done = arguments[0]; let sum = 0;
        new PerformanceObserver((l) => { for (const e of l.getEntries()) sum += e.value; }).observe({type: "layout-shift"});
        setTimeout(() => done(sum), 5000);""")
    print(f"layout shift at 400 pixels within 5 s: {moved:.3f}")
    expect("nothing jumps at 400 pixels", moved < 0.1, moved)
    small = browser.execute_script("""
        return [...document.querySelectorAll("button, a, input, [tabindex]")].filter((e) => e.checkVisibility() && e.tagName !== "A")
            .map((e) => [e.getBoundingClientRect().height, e.id || e.className]).filter(([h]) => h < 24)""")
    expect("what is touched is tall enough", not small, small)
    unnamed = browser.execute_script("""
        return [...document.querySelectorAll("button, input")].filter((e) => !(e.getAttribute("aria-label") || e.textContent.trim() ||
            (e.labels && e.labels.length))).map((e) => e.outerHTML.slice(0, 90))""")
    expect("what can be pressed has a name", not unnamed, unnamed)
    size(browser, 1280, 900)


def shoot(browser, args):
    """docs/page-*.png: 1,400 and 400 pixels, light and dark."""
    for width in (1400, 400):
        for value in ("light", "dark"):
            size(browser, width, 900)
            scheme(browser, value)
            press(browser, "people-hosts")
            press(browser, "people-rate")
            opened(browser, "hosts 10.77.0.12")
            browser.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
            for _ in range(2):  # the page may grow when it gets wider
                height = browser.execute_script("return document.documentElement.scrollHeight")
                size(browser, width, height)
                time.sleep(1.3 if args.small else 0.3)
            file = os.path.join(args.shots, f"page-{width}-{value}.png")
            browser.save_screenshot(file)
            if args.small:  # takes a while
                with open(file, "rb") as shot:
                    made = png_small.small(shot.read())
                with open(file, "wb") as shot:
                    shot.write(made)
                expect(f"{file} is small", len(made) <= 200000, len(made))
            expect(f"{file}: a screenshot", os.path.getsize(file) > 20000, os.path.getsize(file))
    scheme(browser, "light")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    for name in ("--client", "--server", "--events", "--token", "--shots"):
        parser.add_argument(name, required=True)
    parser.add_argument("--small", action="store_true", help="screenshots with a palette")
    parser.add_argument("--gateway", type=int, required=True)
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="sluice-page.")
    browser = browser_new(folder)
    try:
        size(browser, 1280, 900)
        loads(browser, args.url)
        updates(browser)
        shows(browser, args, "bittorrent", "BitTorrent", "no-file-sharing", "reset", False)
        row = shows(browser, args, "irc", "IRC", "watch-messaging", "would reset", True)
        # one of them may have waited for the machine's other work
        expect("verdicts are shown within 2 s", min(DELAYS, default=9) < 2, DELAYS)
        expect("monitor looks otherwise", row["border"] == "dashed", row)
        expect("the cache knows the peer", until(20, lambda: ":6881" in browser.find_element(By.ID, "cache-recent").text) is not None)
        people(browser)
        keyboard(browser)
        looks(browser)
        page_content.content(browser, expect, until)
        page_scan.scanning(browser, expect, until)
        shoot(browser, args)
        acts(browser, args)
        steady(browser)
        goes(browser, args.gateway)
        spoke_to(browser, args.url, folder)
    finally:
        browser.quit()
        shutil.rmtree(folder, ignore_errors=True)
    return CHECKS.end()


sys.exit(main())
