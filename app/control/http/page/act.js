// SPDX-License-Identifier: BSD-3-Clause
// What can be done from the page, with the gateway's token: explain, block, allow. Without a token there is nothing
// of it to be seen. The token is in this module's memory alone: not stored, not in a URL, gone with the tab.
import { $, button, clock, fill, make, pairText, plural } from "/parts.js";

const ANSWER_MS = 35000, TOLD_MS = 8000, LISTED = 8;
let token = null, offered = false, told = 0;
const listeners = [];

export const unlocked = () => token !== null;
export function whenUnlocked(call) { listeners.push(call); }

function changed() {
  $("unlock").hidden = !offered || unlocked();
  $("lock").hidden = !unlocked();
  document.body.classList.toggle("unlocked", unlocked());
  for (const call of listeners) call();
}

// The summary says whether the gateway has a token at all.
export function offer(actions) {
  if (offered === actions) return;
  offered = actions;
  if (!actions) token = null;
  changed();
}

function lock() {
  token = null;
  changed();
}

function tell(text, bad) {
  const e = $("told");
  clearTimeout(told);
  e.textContent = text;
  e.dataset.level = bad ? "error" : "good";
  e.hidden = false;
  told = setTimeout(() => { e.hidden = true; }, TOLD_MS);
}

const refusals = {
  401: "The gateway does not take this token.",
  403: "The gateway takes commands of its own page alone.",
  429: "The gateway does not take this token, and too many wrong ones came before.",
  503: "The gateway is busy with other commands; try again.",
  504: "The gateway takes too long. What it has begun may still be done.",
};

// The message of the answer; else throws what went wrong, in words.
async function command(name, parameters, key = token) {
  let answer;
  try {
    answer = await fetch("/api/command", {
      method: "POST",
      cache: "no-store",
      credentials: "omit",
      signal: AbortSignal.timeout(ANSWER_MS),
      headers: { "Content-Type": "application/json", "Authorization": `Bearer ${key}` },
      body: JSON.stringify({ command: name, arguments: parameters }),
    });
  } catch {
    throw new Error("The gateway does not answer.");
  }
  if (!answer.ok) {
    if ((answer.status === 401 || answer.status === 429) && key === token) lock();
    throw new Error(refusals[answer.status] || `The gateway answers ${answer.status}.`);
  }
  const reply = await answer.json();
  if (reply.return !== "OK") throw new Error(typeof reply.message === "string" ? reply.message : reply.message.text);
  return reply.message;
}

// Dialogs

function open(id) {
  $(id).showModal();
}
for (const e of document.querySelectorAll("dialog")) {
  e.querySelector(".close").addEventListener("click", () => e.close());
  e.addEventListener("click", (event) => { if (event.target === e) e.close(); }); // beside it
}

async function unlock(event) {
  event.preventDefault();
  const field = $("token"), text = field.value.trim();
  $("token-error").textContent = "";
  if (!/^[!-~]{1,256}$/.test(text)) {
    $("token-error").textContent = "A token is one word: letters, digits and signs.";
    return;
  }
  try {
    await command("version", {}, text);
    token = text;
    $("unlock-dialog").close();
    changed();
    $("lock").focus();
  } catch (error) {
    $("token-error").textContent = error.message;
    field.select();
  } finally {
    if (unlocked()) field.value = "";
  }
}
$("unlock").addEventListener("click", () => open("unlock-dialog"));
$("lock").addEventListener("click", () => { lock(); $("unlock").focus(); });
$("unlock-form").addEventListener("submit", unlock);
$("unlock-dialog").addEventListener("close", () => { $("token").value = ""; $("token-error").textContent = ""; });

let confirmed = null;
function ask(title, lines, word, run) {
  $("ask-title").textContent = title;
  fill("ask-text", lines.map((line) => make("p", "", line)));
  $("ask-yes").textContent = word;
  confirmed = run;
  open("ask-dialog");
}
$("ask-yes").addEventListener("click", async () => {
  const run = confirmed;
  $("ask-dialog").close();
  try {
    tell(await run());
  } catch (error) {
    tell(error.message, true);
  }
});

// Explain

const outcomes = { pass: "passes", monitored: "would be blocked", blocked: "blocked", undecided: "undecided", invalid: "invalid", unknown: "unknown" };
const shown = (v) => ({
  client: { ip: v.src_ip, port: v.src_port }, server: { ip: v.dest_ip, port: v.dest_port },
});
const badge = (outcome) => make("span", `outcome ${outcome}`, outcomes[outcome] || outcome);

function explained(message) {
  const list = message.verdicts || [], items = list.slice(0, LISTED).map((v) => {
    const head = make("p", "who", [v.proto, pairText(shown(v))].filter(Boolean).join(" "));
    const small = make("p", "note", [v.app, v.rule && `rule ${v.rule}`, v.decided && clock(Date.parse(v.decided)), v.live ? "live" : "has ended"]
      .filter(Boolean).join(" · "));
    return make("li", "", badge(v.outcome), head, make("p", "", v.verdict), small);
  });
  if (!items.length) items.push(make("li", "", badge(message.outcome), make("p", "", message.verdict)));
  fill("explain-list", items);
  const more = [];
  if (list.length > LISTED) more.push(`${list.length - LISTED} more ${plural(list.length - LISTED, "flow", "flows")}`);
  if (message.cache_entries) more.push(`${message.cache_entries} ${plural(message.cache_entries, "entry", "entries")} of the connection cache`);
  if (message.exempt && message.exempt.length) more.push(`exempt by ${message.exempt.join(", ")}`);
  if (message.truncated) more.push("older evidence has been overwritten");
  $("explain-more").textContent = more.join(" · ");
}

let turn = 0; // an answer to an earlier question is not shown
async function explain(what, parameters, by) {
  const own = ++turn;
  $("explain-title").textContent = what;
  $("explain-by").textContent = `Each step: sluicectl explain ${by}`;
  $("explain-more").textContent = "";
  fill("explain-list", [make("li", "", make("p", "note", "asking …"))]);
  open("explain-dialog");
  try {
    const message = await command("explain", parameters);
    if (own === turn) explained(message);
  } catch (error) {
    if (own === turn) fill("explain-list", [make("li", "", make("p", "bad", error.message))]);
  }
}

// The buttons. Each says what it is for, so that a list of them can be told apart by ear.

export const explainHost = (ip) => button("Explain", ip, () => explain(ip, { host: ip }, ip));
export const explainUser = (name) => button("Explain", name, () => explain(name, { user: name }, `--user ${name}`));
export const explainFlow = (flow) => button("Explain", pairText(flow), () => explain(pairText(flow), { flow_id: flow.flow_id }, flow.flow_id));

export const blockFlow = (flow) => button("Block", pairText(flow), () => ask("Block this flow?", [
  `${flow.title}, ${pairText(flow)}`,
  "It is torn down, and its ends stay blocked for the time that the policy sets (conn_cache.ttl_s).",
], "Block", async () => {
  const message = await command("flow-reset", { flow_id: flow.flow_id, cache: "tuple" });
  return `Flow ${message.flow_id} is torn down and blocked.`;
}));

export const allowFlow = (flow) => button("Allow", pairText(flow), () => ask("Allow this flow?", [
  `${flow.title}, ${pairText(flow)}`,
  "It passes for an hour, whatever the policy says. If it was blocked, its ends may connect again.",
], "Allow for 1 h", async () => {
  const message = await command("flow-allow", { flow_id: flow.flow_id, ttl_s: 3600 });
  return `Flow ${message.flow_id} passes for an hour.`;
}));

// An entry can be made for a network without tags, or with one; other networks have no name in a command.
export const canBlockPeer = (flow) => flow.inner_vlan === undefined && flow.pppoe_session === undefined && flow.realm === undefined;
const network = (e) => (e.vlan === undefined ? "" : ` in VLAN ${e.vlan}`);

export const blockPeer = (flow) => button("Block peer", pairText(flow), () => ask("Block this peer?", [
  `${flow.client.ip} may not connect to ${flow.server.ip}${network(flow)}, on any port, for an hour. What is connected already goes on.`,
], "Block for 1 h", async () => {
  await command("cache-add", {
    src_ip: flow.client.ip, dest_ip: flow.server.ip, mode: "peer", zone: flow.outbound ? "inside" : "outside", vlan: flow.vlan || 0,
    ttl_s: 3600,
  });
  return `${flow.client.ip} may not connect to ${flow.server.ip}${network(flow)} for an hour.`;
}));

export const removeEntry = (entry) => button("Remove", pairText(entry), () => ask("Remove this entry?", [
  `${pairText(entry)} may connect again${network(entry)}; the next connection is decided by the policy.`,
], "Remove", async () => {
  const key = { src_ip: entry.client.ip, dest_ip: entry.server.ip, mode: entry.mode, zone: entry.zone, vlan: entry.vlan || 0 };
  if (entry.mode === "tuple" && entry.server.port) key.dest_port = entry.server.port;
  if (entry.mode === "tuple" && entry.proto) key.proto = entry.proto;
  const message = await command("cache-del", key);
  return `${message.deleted} ${plural(message.deleted, "entry is", "entries are")} removed.`;
}));
