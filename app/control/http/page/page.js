// SPDX-License-Identifier: BSD-3-Clause
// The live page: polls /api once a second and shows it. No library, no other host, nothing stored (but that names
// may be shown, content.js).
// What comes from the gateway is put as text, never as markup.
import { $, THIN, bar, bits, bytes, clock, count, draw, fill, grouped, keyed, make, pair, pkts, plural, say, scaled, setBar, span } from "/parts.js";
import { allowFlow, explainFlow, offer, removeEntry, unlocked, whenUnlocked } from "/act.js";
import { choosePeople, kind, show as showPeople } from "/people.js";
import { documentName as contentName, show as showContent, whenSwitched } from "/content.js";
import { show as showScan } from "/scan.js";

const POLL_MS = 1000, HIDDEN_MS = 5000, TIMEOUT_MS = 3000, STALE_MS = 3500;

const view = {
  unit: "bits", // or pkts
  apps: "now", // or all
  answered: 0, // our clock, of the last answer
  gatewayMs: 0, // the gateway's, in that answer
  since: 0, // our clock, when it was last heard
  summary: null,
  appList: null,
  verdicts: null,
  seq: -1, // of the newest verdict shown
  cursor: null, // index in the curves
};

// Numbers

const rate = (n) => (view.unit === "bits" ? bits(n) : pkts(n));
const axis = (n) => { const [text, unit] = rate(n); return Number(text) + THIN + unit; };

// Throughput

function curves() {
  const h = view.summary && view.summary.history;
  if (!h) return null;
  const [i, o] = view.unit === "bits" ? [h.in_bits_s, h.out_bits_s] : [h.in_pkts_s, h.out_pkts_s];
  return { in: i, out: o, dropped: h.dropped_pkts_s, end: h.end_ms, step: h.step_ms };
}

// A step of 1, 2 or 5 times a power of ten that divides `most` into about `n`.
function niceStep(most, n) {
  const raw = Math.max(most, 1) / n, power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((f) => f * power).find((s) => s >= raw);
}

const SPAN = 300, DROP_HEIGHT = 26, FOOT = 20;
let plotted = null; // what the crosshair needs

function drawChart() {
  const c = curves(), svg = $("chart"), box = svg.getBoundingClientRect();
  const width = Math.round(box.width), height = Math.round(box.height);
  if (!c || !width) return;
  const plotHeight = height - FOOT - DROP_HEIGHT - 8, n = c.in.length;
  const floor = view.unit === "bits" ? 10000 : 10;
  const mostIn = Math.max(floor, ...c.in), mostOut = Math.max(floor, ...c.out);
  // Both halves have one scale; the smaller one keeps at least a seventh of the height.
  const most = Math.max(mostIn, mostOut), step = niceStep(mostIn + mostOut, 5);
  const top = Math.max(mostIn, most / 6) * 1.06, bottom = Math.max(mostOut, most / 6) * 1.06;
  const perUnit = plotHeight / (top + bottom), base = Math.round(top * perUnit);
  const x = (i) => width - ((n - 1 - i) * width) / (SPAN - 1);
  const parts = [], labels = []; // labels stand over the curves
  for (let v = -Math.floor(bottom / step) * step; v <= top; v += step) {
    const y = Math.round(base - v * perUnit);
    const zero = Math.abs(v) < step / 2;
    parts.push(draw("line", { class: zero ? "base" : "grid", x1: 0, x2: width, y1: y, y2: y }));
    if (!zero) labels.push(draw("text", { x: 2, y: v > 0 ? y + 13 : y - 4 }, axis(Math.abs(v))));
  }
  if (n > 1) {
    for (const [name, values, sign] of [["in", c.in, 1], ["out", c.out, -1]]) {
      const line = values.map((v, i) => `${x(i).toFixed(1)},${(base - sign * v * perUnit).toFixed(1)}`).join("L");
      parts.push(draw("path", { class: `area-${name}`, d: `M${x(0).toFixed(1)},${base}L${line}L${width},${base}Z` }));
      parts.push(draw("path", { class: `line-${name}`, d: `M${line}` }));
    }
  }
  const dropTop = plotHeight + 8, mostDropped = Math.max(1, ...c.dropped);
  let marks = "";
  c.dropped.forEach((v, i) => {
    if (!v) return;
    const h = Math.max(2, (DROP_HEIGHT - 4) * (v / mostDropped)), w = Math.max(1.5, (width / SPAN) * 0.7);
    marks += `M${(x(i) - w).toFixed(1)},${(dropTop + DROP_HEIGHT).toFixed(1)}v${(-h).toFixed(1)}h${w.toFixed(1)}v${h.toFixed(1)}z`;
  });
  parts.push(draw("line", { class: "grid", x1: 0, x2: width, y1: dropTop + DROP_HEIGHT, y2: dropTop + DROP_HEIGHT }));
  if (marks) parts.push(draw("path", { class: "drop", d: marks }));
  for (let minute = 0; minute <= 5; minute += width < 480 && minute === 3 ? 2 : 1) {
    const at = width - (minute * 60 * width) / (SPAN - 1);
    const anchor = minute === 0 ? "end" : minute === 5 ? "start" : "middle";
    parts.push(draw("text", { x: Math.max(2, at), y: height - 4, "text-anchor": anchor }, minute ? `−${minute}${THIN}min` : "now"));
  }
  if (view.cursor !== null && n) {
    const at = x(Math.min(n - 1, view.cursor));
    parts.push(draw("line", { class: "cross", x1: at, x2: at, y1: 0, y2: dropTop + DROP_HEIGHT }));
  }
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.replaceChildren(...parts, ...labels);
  plotted = { c, n, width, x };
  drawTip();
}

function drawTip() {
  const tip = $("tip");
  if (view.cursor === null || !plotted || !plotted.n) { tip.hidden = true; return; }
  const { c, n, width, x } = plotted, i = Math.min(n - 1, view.cursor), at = x(i);
  const rows = [clock(c.end - (n - 1 - i) * c.step), `in ${rate(c.in[i]).join(THIN)}`, `out ${rate(c.out[i]).join(THIN)}`, `dropped ${grouped(c.dropped[i])} pkt/s`];
  tip.textContent = rows.join("\n");
  tip.hidden = false;
  const own = tip.getBoundingClientRect().width;
  tip.style.left = `${Math.max(0, at + own + 14 > width ? at - own - 12 : at + 12)}px`;
}

function moveCursor(to) {
  view.cursor = to === null || !plotted || !plotted.n ? null : Math.max(0, Math.min(plotted.n - 1, to));
  drawChart();
}

function showSummary(s) {
  view.summary = s;
  const h = s.history, last = h.in_bits_s.length - 1;
  if (last >= 0) {
    const inBits = bits(h.in_bits_s[last]), outBits = bits(h.out_bits_s[last]);
    const inPkts = pkts(h.in_pkts_s[last]), outPkts = pkts(h.out_pkts_s[last]);
    const [a, b, c, d] = view.unit === "bits" ? [inBits, inPkts, outBits, outPkts] : [inPkts, inBits, outPkts, outBits];
    say("now-in", a[0]); say("now-in-unit", a[1]); say("now-in-more", b.join(THIN));
    say("now-out", c[0]); say("now-out-unit", c[1]); say("now-out-more", d.join(THIN));
    say("now-dropped", grouped(h.dropped_pkts_s[last]));
    $("plot").setAttribute("aria-label", `Throughput of the last five minutes. Now: in ${a.join(" ")}, out ${c.join(" ")}, dropped ${h.dropped_pkts_s[last]} packets per second. Arrow keys read earlier seconds.`);
  }
  say("now-flows", grouped(s.flows_active));
  say("now-blocked", count(s.flows_blocked));
  const mode = s.policy.monitor ? " · monitor" : s.policy.enforces ? "" : " · passes all";
  say("policy", `generation ${s.policy.generation}, ${s.policy.rules} ${plural(s.policy.rules, "rule", "rules")}${mode}`);
  $("policy").title = s.policy.path;
  say("policy-age", `${span((s.now_ms - s.policy.loaded_ms) / 1000)}`);
  say("uptime", span(s.uptime_s));
  say("version", s.version);
  offer(s.actions);
  say("mode", s.actions ? "Read-only until it is unlocked." : "Read-only.");
  drawChart();
}

// Applications

function showApps(a) {
  view.appList = a.apps;
  const value = (p) => (view.apps === "now" ? p.bits_s : p.bytes_to_server + p.bytes_to_client);
  const total = (p) => p.bytes_to_server + p.bytes_to_client;
  const list = [...a.apps].sort((p, q) => value(q) - value(p) || total(q) - total(p) || q.flows_blocked - p.flows_blocked).slice(0, 12);
  const most = Math.max(1, ...list.map(value));
  $("apps-empty").hidden = list.length > 0;
  keyed("apps", list, (p) => p.app || "?",
    (p) => make("li", "", make("span", "title", p.title, make("small", "", p.category)), make("span", "value"), bar(p.category), make("span", "note")),
    (e, p) => {
      const [, text, share, note] = e.children;
      text.textContent = view.apps === "now" ? bits(p.bits_s).join(THIN) : bytes(total(p));
      setBar(share, value(p) / most);
      const parts = p.flows || p.flows_active ? [`${grouped(p.flows_active)} live of ${count(p.flows)} ${plural(p.flows, "flow", "flows")}`] : [];
      if (view.apps === "now" || !parts.length) parts.push(bytes(total(p)));
      note.replaceChildren(parts.join(" · "));
      if (p.flows_blocked) note.append(" · ", make("b", "", `${count(p.flows_blocked)} blocked`));
    });
}

// Verdicts

const verb = { pass: "pass", drop: "drop", reset: "reset" };

function showVerdicts(v) {
  view.verdicts = v;
  const first = view.seq < 0 || v.seen < view.seq;
  const known = view.seq;
  $("verdicts-empty").hidden = v.verdicts.length > 0;
  say("verdicts-seen", v.seen ? `${grouped(v.seen)} since start` : "");
  if (v.seen === view.seq && !first) return;
  keyed("verdicts", v.verdicts, (e) => `${unlocked()} ${e.seq}`, (e) => {
    const row = make("tr", e.monitor ? "monitor" : "");
    if (!first && e.seq > known) row.classList.add("new");
    row.dataset.seq = e.seq;
    const word = verb[e.action] || e.action;
    const badge = make("span", e.monitor ? "badge monitor" : "badge", e.monitor ? `would ${word}` : word);
    const app = make("td", "app", e.title);
    app.append(make("small", "", [e.proto, e.confidence].filter(Boolean).join(" · ")));
    const who = make("td", "who", ...pair(e));
    const time = make("td", "time", clock(e.time_ms));
    time.title = new Date(e.time_ms).toISOString();
    const rule = make("td", "rule", make("span", "name", e.rule || "default"));
    if (unlocked() && e.flow_id) rule.append(make("span", "acts", explainFlow(e), ...(e.monitor ? [] : [allowFlow(e)])));
    row.append(time, make("td", "verdict", badge), app, who, rule);
    return row;
  }, () => {});
  view.seq = v.seen;
}

// Connection cache

function showCache(c) {
  say("cache-entries", grouped(c.entries));
  say("cache-hits", count(c.hits));
  say("cache-saved", bytes(c.saved_bytes));
  $("cache-empty").hidden = c.recent.length > 0;
  keyed("cache-recent", c.recent.slice(0, 6), (e) => `${unlocked()} ${e.seq}`, (e) => {
    const who = make("span", "who", ...pair(e), e.mode === "peer" ? make("i", "", " any port") : "");
    return make("li", "", who, make("span", "what"), make("span", "acts", ...(unlocked() ? [removeEntry(e)] : [])));
  }, (li, e) => {
    const left = (e.expires_ms - c.now_ms) / 1000, live = e.state === "live" && left > 0;
    const title = e.app || !e.operator ? e.title : "Operator", by = e.rule || (e.operator ? "by hand" : "default");
    const ends = e.state !== "live" ? e.state : left > 0 ? `${e.hit ? "came back · " : ""}for ${span(left)} more` : "expired";
    li.className = live ? "" : "over";
    li.children[1].replaceChildren(make("b", "", title), ` · ${by} · ${ends}`);
    li.children[2].hidden = !live;
  });
}

// Health

function row(name, value, kind, small) {
  const left = make("span", "", name);
  if (small) left.append(" ", make("small", "", small));
  return make("li", "", left, make("span", kind ? `value ${kind}` : "value", value));
}
const words = (reason) => reason.replaceAll("_", " ");

function showHealth(h) {
  const worst = h.attention.find((a) => a.level !== "note");
  $("attention").hidden = !h.attention.length;
  const text = JSON.stringify(h.attention);
  if ($("attention").dataset.text !== text) {
    $("attention").dataset.text = text;
    fill("attention-list", h.attention.map((a) => {
      const e = make("li", "", make("span", "", a.text));
      e.dataset.level = a.level;
      return e;
    }));
  }
  say("well", worst ? "" : "nothing to look into");
  view.worst = worst ? worst.level : "";

  keyed("lcores", h.lcores, (l) => l.lcore,
    () => make("li", "", make("span"), make("small"), bar()),
    (e, l) => {
      const [name, text, meter] = e.children, silent = l.silent_ms > 2000;
      name.textContent = `lcore ${l.lcore}`;
      text.textContent = silent ? `stands still for ${span(l.silent_ms / 1000)}` : `${(l.busy_permille / 10).toFixed(0)}${THIN}% busy · ${pkts(l.pkts_s).join(THIN)}`;
      meter.className = `bar${silent || l.busy_permille > 950 ? " bad" : l.busy_permille > 800 ? " warn" : ""}`;
      setBar(meter, silent ? 1 : l.busy_permille / 1000);
    });
  keyed("pools", h.pools, (p) => p.name,
    () => make("li", "", make("span"), make("small"), bar()),
    (e, p) => {
      const [name, text, meter] = e.children, used = 1 - p.free / p.size;
      name.textContent = p.name;
      text.textContent = `${count(p.free)} of ${count(p.size)} free`;
      meter.className = `bar${used > 0.95 ? " bad" : used > 0.9 ? " warn" : ""}`;
      setBar(meter, used);
    });
  fill("ports", h.ports.map((p) => {
    const lost = p.rx_missed + p.rx_nombuf + p.errors;
    const speed = p.speed_mbps ? scaled(p.speed_mbps * 1e6, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"]).join(THIN) : "";
    return row(p.name, p.up ? (lost ? `${count(lost)} lost` : "up") : "no link", p.up ? (lost ? "bad" : "good") : "bad", `${p.side}${speed ? ` · ${speed}` : ""}`);
  }));
  fill("books", [
    row("packets unaccounted for", grouped(Math.abs(h.unaccounted)), h.unaccounted ? "" : "good"),
    row("events written", count(h.events.written)),
    row("events lost", grouped(h.events.lost + h.events.failed), h.events.lost + h.events.failed ? "bad" : "zero"),
    row("reloads refused", grouped(h.policy.failures), h.policy.failures ? "" : "zero"),
  ]);
  const reasons = Object.entries(h.dropped).filter(([, n]) => n).sort((a, b) => b[1] - a[1]);
  fill("dropped", reasons.length ? reasons.map(([reason, n]) => row(words(reason), count(n))) : [row("nothing", "0", "zero")]);
}

// Talking to the gateway

function setState(state, text) {
  $("state").dataset.state = state;
  say("state-text", text);
  document.body.classList.toggle("gone", state === "gone");
  document.title = state === "gone" ? "✕ Sluice: no answer" : "Sluice";
}
function judge() {
  const quiet = Date.now() - view.answered;
  if (!view.answered) {
    if (view.failed) setState("gone", "the gateway does not answer");
  } else if (quiet > STALE_MS && !document.hidden) {
    setState("gone", `no answer since ${clock(view.answered)}: what is shown is old`);
  } else {
    setState(view.worst ? "warn" : "live", view.worst ? "live, with something to look into" : "live");
  }
}

async function get(name, signal) {
  const answer = await fetch(`/api/${name}.json`, { signal, cache: "no-store" });
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  return answer.json();
}

async function poll() {
  const abort = new AbortController(), timer = setTimeout(() => abort.abort(), TIMEOUT_MS);
  const began = Date.now();
  try {
    const names = ["summary", "verdicts", "apps", "cache", "health", "scan", kind(), contentName()];
    const [summary, verdicts, apps, cache, health, scan, people, content] = await Promise.all(names.map((n) => get(n, abort.signal)));
    view.answered = Date.now();
    showHealth(health);
    showVerdicts(verdicts);
    showApps(apps);
    showPeople(people);
    showCache(cache);
    showContent(content);
    showScan(scan);
    showSummary(summary);
  } catch (error) {
    view.failed = true;
    if (error.name !== "AbortError" && !(error instanceof TypeError)) console.error(error);
  } finally {
    clearTimeout(timer);
  }
  judge();
  setTimeout(poll, Math.max(100, (document.hidden ? HIDDEN_MS : POLL_MS) - (Date.now() - began)));
}

function choose(group, ids, set) {
  ids.forEach((id) => $(id).addEventListener("click", () => {
    ids.forEach((other) => $(other).setAttribute("aria-pressed", String(other === id)));
    set(id);
  }));
}
choose("unit", ["unit-bits", "unit-pkts"], (id) => {
  view.unit = id === "unit-bits" ? "bits" : "pkts";
  if (view.summary) showSummary(view.summary);
});
choose("apps", ["apps-now", "apps-all"], (id) => {
  view.apps = id === "apps-now" ? "now" : "all";
  if (view.appList) showApps({ apps: view.appList });
});
choose("kind", ["people-hosts", "people-users"], (id) => {
  choosePeople({ kind: id === "people-hosts" ? "hosts" : "users" });
  get(kind()).then(showPeople, () => {});
});
choose("order", ["people-rate", "people-bytes", "people-blocked"], (id) => choosePeople({ order: id.slice("people-".length) }));
whenSwitched(() => get(contentName()).then(showContent, () => {}));
whenUnlocked(() => {
  view.seq = -1; // drawn anew, with buttons or without
  if (view.verdicts) showVerdicts(view.verdicts);
});
$("plot").addEventListener("pointermove", (event) => {
  if (!plotted) return;
  const at = event.clientX - $("chart").getBoundingClientRect().left;
  moveCursor(plotted.n - 1 - Math.round(((plotted.width - at) * (SPAN - 1)) / plotted.width));
});
$("plot").addEventListener("pointerleave", () => moveCursor(null));
$("plot").addEventListener("blur", () => moveCursor(null));
$("plot").addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -30, PageDown: 30 }[event.key];
  if (step && plotted) {
    moveCursor((view.cursor === null ? plotted.n : view.cursor) + step);
    event.preventDefault();
  } else if (event.key === "Escape") {
    moveCursor(null);
  }
});
new ResizeObserver(drawChart).observe($("plot"));
setInterval(judge, 500);
poll();
