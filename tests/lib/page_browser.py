#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The live page in headless Chromium: page_browser.py URL --gateway PID --client NETNS --server HOST
--shot FILE. Asserts what a person would see, and that the browser speaks to nobody else."""
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
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import http_rig  # pylint: disable=import-error,wrong-import-position

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

TRAFFIC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page_traffic.py")
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
    asked = [a for a in asked if not a.startswith(("chrome:", "data:", "about:", "devtools:"))]  # inside the browser
    expect("requests were seen", len(asked) > 20, len(asked))
    expect("none to another host", all(a.startswith(url) for a in asked), {a for a in asked if not a.startswith(url)})
    said = [e for e in browser.get_log("browser")  # ERR_: while it was stopped
            if "ERR_" not in e["message"] and not e["message"].startswith("chrome:")]
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


def shoot(browser, file):
    for _ in range(2):  # the page may grow when it gets wider
        height = browser.execute_script("return document.documentElement.scrollHeight")
        size(browser, 1280, height)
        time.sleep(1.1)
    browser.save_screenshot(file)
    expect("a screenshot", os.path.getsize(file) > 30000, os.path.getsize(file))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    for name in ("--client", "--server", "--shot"):
        parser.add_argument(name, required=True)
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
        keyboard(browser)
        looks(browser)
        shoot(browser, args.shot)
        goes(browser, args.gateway)
        spoke_to(browser, args.url, folder)
    finally:
        browser.quit()
        shutil.rmtree(folder, ignore_errors=True)
    return CHECKS.end()


sys.exit(main())
