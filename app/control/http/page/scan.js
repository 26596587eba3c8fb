// SPDX-License-Identifier: BSD-3-Clause
// The virus engine: whether it is ready, its signatures, what it found, and what took long. Not there while the gateway has
// no engine and no rule asks for one.
import { $, THIN, bytes, clock, count, fill, grouped, keyed, make, plural, say, span } from "/parts.js";

const OLD_S = 7 * 86400; // of signatures: freshclam's are of each day

function sums(lcores, key) {
  const all = {};
  for (const lcore of lcores) for (const [word, n] of Object.entries(lcore[key])) all[word] = (all[word] || 0) + n;
  return all;
}

function row(name, value, kind, small) {
  const left = make("span", "", name);
  if (small) left.append(" ", make("small", "", small));
  return make("li", "", left, make("span", kind ? `value ${kind}` : "value", value));
}

const time = (ns) => (ns >= 1e9 ? `${(ns / 1e9).toFixed(1)}${THIN}s` : `${(ns / 1e6).toFixed(ns < 1e7 ? 1 : 0)}${THIN}ms`);
const times = (name, h) => row(name, h.count ? `${time(h.p50_ns)} · ${time(h.p99_ns)}` : "–", h.count ? "" : "zero", "half · 99 % below");

function stateOf(s) {
  if (s.problem) return ["bad", s.problem];
  if (!s.lcores.length) return ["", s.engine]; // it has nothing to tell
  return s.ready === s.lcores.length ? ["good", "ready"] : [s.ready ? "bad" : "", `${s.ready} of ${s.lcores.length} ready`];
}

function database(lcores) {
  const d = (lcores.find((l) => l.database) || {}).database;
  if (!d) return [row("signatures", "none", "bad")];
  return [
    row("signatures", count(d.signatures), "", d.version ? `version ${d.version}` : "your own"),
    row("their age", span(d.age_s), d.version && d.age_s > OLD_S ? "bad" : ""),
  ];
}

function verdicts(lcores) {
  const values = sums(lcores, "verdicts"), reasons = sums(lcores, "unscanned");
  const why = Object.entries(reasons).filter(([, n]) => n).map(([word, n]) => `${word.replaceAll("_", " ")} ${grouped(n)}`);
  return Object.keys(values).map((word) => row(word, count(values[word]), word === "infected" && values[word] ? "bad" : values[word] ? "" : "zero",
    word === "unscanned" ? why.join(", ") : ""));
}

function known(s, lcores) {
  const k = sums(lcores.filter((l) => l.known), "known"), all = (k.hits || 0) + (k.misses || 0);
  if (!s.cache) return [];
  return [row("known already", all ? `${Math.floor((100 * k.hits) / all)}${THIN}%` : "–", all ? "" : "zero",
    `${count(k.hits || 0)} of ${count(all)}, ${count(k.listed || 0)} by lists, ${count(s.cache.entries)} kept`)];
}

// Red: signatures that were refused after those in force came.
function reloads(r) {
  if (!r) return [];
  const refused = r.refused.reason !== undefined && !(r.taken.age_s < r.refused.age_s);
  const last = r.taken.age_s === undefined ? "" : `taken ${span(r.taken.age_s)} ago`;
  return [row("reloads", r.loading ? "loading" : refused ? "refused" : r.taken.count ? "taken" : "none yet", refused && !r.loading ? "bad" : "",
    refused ? `${span(r.refused.age_s)} ago: ${r.refused.reason}` : last)];
}

const verdictOf = (e) => (e.signature ? e.signature : e.reason ? `${e.verdict} (${e.reason.replaceAll("_", " ")})` : e.verdict);

export function show(s) {
  $("scan").hidden = s.engine === "none" && !s.asked_by;
  if ($("scan").hidden) return;
  const lcores = s.lcores || [], data = s.data || [], [kind, text] = stateOf({ ...s, lcores });
  const sum = (list, key) => list.reduce((n, e) => n + e[key], 0);
  say("scan-state", s.asked_by ? `rule ${s.asked_by}` : "no rule asks for it");
  fill("scan-engine", [
    row("engine", text, kind, s.engine),
    ...(lcores.length ? database(lcores) : []),
    ...reloads(s.reloads),
    ...lcores.map((l) => row(`scan lcore ${l.lcore}`, l.state, l.state === "ready" ? "good" : l.state === "failed" ? "bad" : "",
      l.state === "failed" ? l.last : `${grouped(l.waiting)} ${plural(l.waiting, "waits", "wait")}, ${grouped(l.died + l.replaced)} replaced`)),
  ]);
  fill("scan-verdicts", lcores.length ? verdicts(lcores) : [row("nothing", "0", "zero")]);
  const busiest = [...lcores].sort((a, b) => b.run.count - a.run.count)[0];
  fill("scan-times", [
    row("files under scan", grouped(sum(data, "files")), "", `${grouped(sum(data, "held"))} held`),
    row("memory", bytes(sum(data, "arena_used_bytes")), "", `of ${bytes(sum(data, "arena_bytes"))}`),
    ...(busiest ? [times("in the queue", busiest.queue), times("scan", busiest.run)] : []),
    ...known(s, lcores),
    ...(s.hold ? [times("held", s.hold)] : []),
  ]);
  const slowest = (s.slowest || []).slice(0, 6);
  $("scan-empty").hidden = slowest.length > 0;
  keyed("scan-slowest", slowest, (e) => `${e.item_id || ""} ${e.flow_id} ${e.time_ms}`, (e) => {
    const left = make("span", "", clock(e.time_ms), " ", make("small", "", [e.app, bytes(e.bytes), e.rule].filter(Boolean).join(" · ")));
    const ms = e.verdict === "timeout" ? e.hold_ms : e.scan_ms;
    const right = make("span", e.verdict === "clean" ? "value" : "value bad", `${verdictOf(e)} · ${time(ms * 1e6)}`);
    return make("li", "", left, right);
  }, () => {});
}
