// SPDX-License-Identifier: BSD-3-Clause
// The latest transfers and chat verdicts. Names and text are hidden, and not even asked for, until somebody says
// that they may be seen; the browser remembers that. What a sender wrote is put as text, never as markup.
import { $, bytes, clock, grouped, keyed, make, pair, say } from "/parts.js";
import { explainFlow, unlocked, whenUnlocked } from "/act.js";

const KEPT = "sluice.names"; // in the browser's store: "shown", or nothing
const view = { kind: "transfers", shown: remembered(), last: null, seen: {} };

function remembered() {
  try {
    return localStorage.getItem(KEPT) === "shown";
  } catch {
    return false; // a browser that stores nothing
  }
}

export const documentName = () => (view.shown ? "content-names" : "content");

const ends = { CLOSED: "whole", TRUNCATED: "cut off", ERROR: "broken" };
const flow = (e) => ({
  title: e.app || "Unknown", flow_id: e.flow_id, client: { ip: e.src_ip, port: e.src_port },
  server: { ip: e.dest_ip, port: e.dest_port },
});

function badge(e) {
  if (e.mode === "monitor") return make("span", "badge monitor", e.action === "monitor" ? "monitor" : `would ${e.action}`);
  return e.refused ? make("span", "badge", e.action) : make("span", "quiet", e.action);
}

const hidden = (text) => make("span", "quiet", text);

function what(e) {
  if (view.kind === "chat") {
    if (!view.last.names) return hidden("message");
    const who = [e.from, e.to].filter(Boolean).join(" → ");
    return make("span", "", make("span", "name", e.text || ""), make("small", "", who));
  }
  const name = view.last.names ? make("span", "name", (e.filename_cut ? "…" : "") + (e.filename || "without a name")) : hidden("file");
  const size = e.bytes ?? e.size;
  const facts = [size === undefined ? "" : bytes(size), e.type, e.state ? ends[e.state] || e.state : e.announced ? "announced" : ""];
  return make("span", "", name, make("small", "", facts.filter(Boolean).join(" · ")));
}

function build(e, isNew) {
  const row = make("tr", e.mode === "monitor" ? "monitor" : "");
  if (isNew && e.refused) row.classList.add("new");
  const time = make("td", "time", clock(e.time_ms)), app = make("td", "app", e.app || "Unknown");
  time.title = new Date(e.time_ms).toISOString();
  app.append(make("small", "", [e.direction === "to_client" ? "to client" : "to server", e.user].filter(Boolean).join(" · ")));
  const rule = make("td", "rule", make("span", "name", e.rule || "–"));
  if (unlocked() && e.flow_id) rule.append(make("span", "acts", explainFlow(flow(e))));
  row.append(time, make("td", "verdict", badge(e)), app, make("td", "what"), make("td", "who", ...pair(flow(e))), rule);
  return row;
}

export function show(last) {
  view.last = last || view.last;
  if (!view.last) return;
  const { kind } = view, told = view.last[kind], before = view.seen[kind];
  const isNew = before !== undefined && told.seen >= before;
  $("names-switch").hidden = !view.last.may_show;
  $("content-empty").hidden = told.recent.length > 0;
  say("content-seen", told.seen ? `${grouped(told.seen)} since start` : "");
  // what a row says changes with its end; after a restart of the gateway numbers begin anew: the key has both
  keyed("content", told.recent, (e) => [unlocked(), kind, view.last.names, e.seq, e.time_ms, e.flow_id, e.state, e.action, e.mode].join(" "),
    (e) => build(e, isNew && e.seq > before), (row, e) => { if (!row.children[3].firstChild) row.children[3].append(what(e)); });
  view.seen[kind] = told.seen;
}

function pressed(ids, id) {
  for (const other of ids) $(other).setAttribute("aria-pressed", String(other === id));
}
const kinds = ["content-transfers", "content-chat"], names = ["names-hidden", "names-shown"];
for (const id of kinds) {
  $(id).addEventListener("click", () => {
    view.kind = id.slice("content-".length);
    pressed(kinds, id);
    show();
  });
}
// `again` asks for the other document at once.
export function whenSwitched(again) {
  for (const id of names) {
    $(id).addEventListener("click", () => {
      view.shown = id === "names-shown";
      pressed(names, id);
      try {
        if (view.shown) localStorage.setItem(KEPT, "shown");
        else localStorage.removeItem(KEPT);
      } catch {
        // it is forgotten with the tab
      }
      if (!view.shown && view.last) { // at once, and not when the next answer comes
        view.last = { ...view.last, names: false };
        show();
      }
      again();
    });
  }
}
pressed(names, view.shown ? "names-shown" : "names-hidden");
whenUnlocked(() => show());
