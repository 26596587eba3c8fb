// SPDX-License-Identifier: BSD-3-Clause
// Hosts and users of the live page: the first of them in the order that is chosen; one that is opened shows what it
// uses, its fastest flows and what was blocked. While one is open, or has the focus, the order rests.
import { $, THIN, bar, bits, bytes, clock, count, endpoint, grouped, keyed, make, plural, say, setBar } from "/parts.js";
import { allowFlow, blockFlow, blockPeer, canBlockPeer, explainFlow, explainHost, explainUser, unlocked, whenUnlocked } from "/act.js";

const ROWS = 8, ROWS_MORE = 25, APPS_TOLD = 3;
const view = { kind: "hosts", order: "rate", more: false, open: new Set(), last: null };
export const kind = () => view.kind;

const total = (p) => p.bytes_in + p.bytes_out;
const barred = (p) => p.blocked + p.would_block;
const orders = {
  rate: { value: (p) => p.bits_s, text: (p) => bits(p.bits_s).join(THIN) },
  bytes: { value: total, text: (p) => bytes(total(p)) },
  blocked: { value: barred, text: (p) => (p.blocked || !p.would_block ? `${count(p.blocked)} blocked` : `${count(p.would_block)} would be`) },
};

function ranked(list) {
  const { value } = orders[view.order];
  return [...list].sort((p, q) => value(q) - value(p) || total(q) - total(p) || barred(q) - barred(p) || (p.key < q.key ? -1 : 1));
}

// In the order that is on the page, where that rests; what has gone goes, what is new comes last.
function ordered(list) {
  const places = new Map([...$("people").children].map((e, i) => [e.dataset.key, i]));
  const rests = view.open.size || $("people").contains(document.activeElement);
  const sorted = ranked(list);
  if (!rests || !places.size) return sorted;
  const place = (p) => places.get(`${view.kind} ${p.key}`) ?? Infinity;
  return sorted.map((p, i) => [p, i]).sort((a, b) => (place(a[0]) === place(b[0]) ? a[1] - b[1] : place(a[0]) - place(b[0]))).map(([p]) => p);
}

function uses(p) {
  const value = view.order === "rate" ? (a) => a.bits_s : (a) => a.bytes_in + a.bytes_out;
  const apps = [...p.apps].filter((a) => value(a) > 0).sort((a, b) => value(b) - value(a)), sum = apps.reduce((n, a) => n + value(a), 0);
  return apps.slice(0, APPS_TOLD).map((a) => {
    const percent = Math.round((value(a) / sum) * 100);
    return percent >= 1 && apps.length > 1 ? `${a.title} ${percent}${THIN}%` : a.title;
  });
}

function toggle(key) {
  if (view.open.has(key)) view.open.delete(key);
  else view.open.add(key);
  show();
}

let ids = 0;
function build(p) {
  const key = `${view.kind} ${p.key}`, head = make("button", "person"), id = `person-${++ids}`;
  head.type = "button";
  head.setAttribute("aria-expanded", "false");
  head.setAttribute("aria-controls", id);
  head.append(make("span", "title"), make("span", "value"), bar(), make("span", "note"));
  const detail = make("div", "detail");
  detail.id = id;
  detail.hidden = true;
  head.addEventListener("click", () => toggle(key));
  return make("li", "", head, detail);
}

function section(title, empty) {
  const list = make("ul", "rows");
  return make("div", "", make("h3", "", title), list, make("p", "empty", empty));
}
function part(detail, place, items, key, buildItem, update) {
  const box = detail.children[place];
  keyed(box.children[1], items, key, buildItem, update);
  box.children[2].hidden = items.length > 0;
}

const line = () => make("li", "", make("span", "what"), make("span", "value"), make("span", "acts"));
// The buttons of a line are made once for as long as they stay the same.
function acts(e, state, made) {
  if (e.dataset.acts === state) return;
  e.dataset.acts = state;
  e.replaceChildren(...(unlocked() ? made() : []));
}

function showDetail(detail, p) {
  if (!detail.children.length)
    detail.append(section("Applications", "None yet."), section("Live flows", "None lives."), section("Blocked", "Nothing was blocked."), make("p", "acts"));
  const apps = [...p.apps].sort((a, b) => total(b) - total(a) || b.blocked - a.blocked);
  part(detail, 0, apps, (a) => a.app + a.title, line, (e, a) => {
    const flows = a.flows ? `${grouped(a.flows_active)} live of ${count(a.flows)} ${plural(a.flows, "flow", "flows")}` : "";
    const blocked = a.blocked ? [make("b", "bad", `${count(a.blocked)} blocked`)] : [];
    e.children[0].replaceChildren(make("span", "name", a.title), make("small", "", flows, flows && blocked.length ? " · " : "", ...blocked));
    e.children[1].replaceChildren(bytes(total(a)), make("small", "", a.bits_s ? bits(a.bits_s).join(THIN) : ""));
  });
  part(detail, 1, [...p.live].sort((a, b) => b.bits_s - a.bits_s || b.bytes - a.bytes), (f) => f.flow_id, line, (e, f) => {
    const peer = f.outbound ? `→ ${endpoint(f.server)}` : `← ${f.client.ip}${f.server.port === undefined ? "" : ` to :${f.server.port}`}`;
    const host = view.kind === "users" ? ` · ${(f.outbound ? f.client : f.server).ip}` : "";
    e.children[0].replaceChildren(make("span", "who", peer), make("small", "", f.title + host));
    e.children[1].replaceChildren(bits(f.bits_s).join(THIN), make("small", "", bytes(f.bytes)));
    acts(e.children[2], `${unlocked()} ${f.action} ${f.app}`, () => [explainFlow(f), blockFlow(f), ...(canBlockPeer(f) ? [blockPeer(f)] : [])]);
  });
  part(detail, 2, [...p.blocks].sort((a, b) => b.time_ms - a.time_ms), (b) => `${b.proto} ${b.client.ip} ${endpoint(b.server)} ${b.app} ${b.rule} ${b.monitor}`, line, (e, b) => {
    const peer = b.outbound ? `→ ${endpoint(b.server)}` : `← ${b.client.ip}${b.server.port === undefined ? "" : ` to :${b.server.port}`}`;
    const word = b.monitor ? `would ${b.action}` : b.action;
    e.children[0].replaceChildren(make("span", "who", peer), make("small", "", `${b.title} · ${b.proto} · ${word} by ${b.rule || "default"}`));
    e.children[1].replaceChildren(b.count > 1 ? `${count(b.count)} ×` : "once", make("small", "", clock(b.time_ms)));
    acts(e.children[2], `${unlocked()} ${b.flow_id}`, () => (b.flow_id ? [explainFlow(b), ...(b.monitor ? [] : [allowFlow(b)])] : []));
  });
  acts(detail.lastChild, String(unlocked()), () => [view.kind === "hosts" ? explainHost(p.key) : explainUser(p.key)]);
}

function update(e, p, most) {
  const [head, detail] = e.children, [title, value, share, note] = head.children, order = orders[view.order];
  const open = view.open.has(`${view.kind} ${p.key}`);
  title.replaceChildren(p.key, ...(p.user ? [make("small", "", p.user)] : []));
  value.textContent = order.text(p);
  setBar(share, order.value(p) / most);
  share.className = view.order === "blocked" ? "bar bad" : "bar";
  const parts = [uses(p).join(", "), p.flows ? `${grouped(p.flows_active)} live of ${count(p.flows)} ${plural(p.flows, "flow", "flows")}` : ""].filter(Boolean);
  note.replaceChildren(parts.join(" · "));
  if (view.order !== "blocked" && p.blocked) note.append(parts.length ? " · " : "", make("b", "", `${count(p.blocked)} blocked`));
  if (view.order !== "bytes") note.append(parts.length || p.blocked ? " · " : "", bytes(total(p)));
  head.setAttribute("aria-expanded", String(open));
  detail.hidden = !open;
  if (open) showDetail(detail, p);
  else detail.replaceChildren();
}

function foot(document, list) {
  const left = document.evicted ? `${count(document.evicted)} made room for others: raise http.hosts` : "";
  const what = document.known === 1 ? `1 ${view.kind.slice(0, -1)} is known` : `${count(document.known)} ${view.kind} are known`;
  say("people-known", document.known > list.length || left ? [what, left].filter(Boolean).join(" · ") : "");
}

// A document of /api/hosts.json or users.json.
export function show(document = view.last) {
  if (!document) return;
  view.last = document;
  const list = document[view.kind];
  if (!list) return; // of the other kind: it was asked for before
  const all = view.order === "blocked" ? list.filter(barred) : list.filter((p) => orders[view.order].value(p) || p.flows || barred(p));
  const rows = ordered(all).slice(0, view.more ? ROWS_MORE : ROWS), most = Math.max(1, ...rows.map(orders[view.order].value));
  const shown = new Set(rows.map((p) => `${view.kind} ${p.key}`));
  for (const key of view.open) if (!shown.has(key)) view.open.delete(key); // else the order would rest for nobody
  keyed("people", rows, (p) => `${view.kind} ${p.key}`, build, (e, p) => update(e, p, most));
  $("people-empty").hidden = rows.length > 0;
  say("people-empty", !document.counted_ms ? "Counting …"
    : view.order === "blocked" ? "Nothing was blocked for anybody yet."
    : view.kind === "users" ? "No user has been seen. The policy names them: \"users\" in policy.json."
    : "No host has been seen yet.");
  $("people-more").hidden = all.length <= ROWS;
  say("people-more", view.more ? "Show fewer" : "Show more");
  foot(document, rows);
}

export function choosePeople(set) {
  Object.assign(view, set);
  if (set.kind || set.order) view.open.clear();
  if (set.kind) view.last = null;
  $("people").replaceChildren();
  show();
}
$("people-more").addEventListener("click", () => {
  view.more = !view.more;
  show();
});
whenUnlocked(() => show());
