// SPDX-License-Identifier: BSD-3-Clause
// Numbers and elements of the live page. What comes from the gateway is put as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";
export const $ = (id) => document.getElementById(id);
export const THIN = "\u202f";

// Numbers

export function grouped(n) {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, THIN);
}
export function scaled(n, words) { // [text, unit], three digits
  let i = 0;
  while (n >= 999.5 && i < words.length - 1) { n /= 1000; i++; }
  const text = i === 0 ? String(Math.round(n)) : n < 9.995 ? n.toFixed(2) : n < 99.95 ? n.toFixed(1) : n.toFixed(0);
  return [text, words[i]];
}
export const bits = (n) => scaled(n, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"]);
export const pkts = (n) => scaled(n, ["pkt/s", "kpkt/s", "Mpkt/s"]);
export const bytes = (n) => scaled(n, ["B", "kB", "MB", "GB", "TB", "PB"]).join(THIN);
export const plural = (n, one, many) => (n === 1 ? one : many);
export const count = (n) => (n < 1e6 ? grouped(n) : scaled(n, ["", "k", "M", "G", "T"]).join(THIN));

export function span(seconds) {
  const s = Math.max(0, Math.floor(seconds)), m = Math.floor(s / 60), h = Math.floor(m / 60), d = Math.floor(h / 24);
  if (d) return `${d}${THIN}d ${h % 24}${THIN}h`;
  if (h) return `${h}${THIN}h ${m % 60}${THIN}min`;
  return m ? `${m}${THIN}min` : `${s}${THIN}s`;
}
export const clock = (ms) => new Date(ms).toLocaleTimeString([], { hour12: false });

// Elements

export function make(tag, name, ...children) {
  const e = document.createElement(tag);
  if (name) e.className = name;
  e.append(...children);
  return e;
}
export function draw(tag, attributes, text) {
  const e = document.createElementNS(SVG, tag);
  for (const key in attributes) e.setAttribute(key, attributes[key]);
  if (text !== undefined) e.textContent = text;
  return e;
}
export function say(id, text) { // touches the page only when something changed
  const e = $(id);
  if (e.textContent !== text) e.textContent = text;
}
export function fill(id, children) {
  $(id).replaceChildren(...children);
}
// A list (or its id) whose items stay the same elements, so that bars move instead of jumping, and what has the
// focus keeps it.
export function keyed(id, items, key, build, update) {
  const list = typeof id === "string" ? $(id) : id, old = new Map();
  const keys = new Set(items.map((item) => String(key(item))));
  for (const e of [...list.children]) {
    if (keys.has(e.dataset.key) && !old.has(e.dataset.key)) old.set(e.dataset.key, e);
    else e.remove();
  }
  items.forEach((item, i) => {
    const k = String(key(item));
    let e = old.get(k);
    old.delete(k);
    if (!e) { e = build(item); e.dataset.key = k; }
    update(e, item);
    if (list.children[i] !== e) list.insertBefore(e, list.children[i] || null);
  });
}
export function bar(name) {
  const e = make("div", name ? "bar " + name : "bar", make("span"));
  e.setAttribute("aria-hidden", "true");
  return e;
}
export function setBar(e, share) {
  e.firstChild.style.width = `${Math.min(100, Math.max(0, share * 100)).toFixed(1)}%`;
}

export function button(text, label, pressed) {
  const e = make("button", "act", text);
  e.type = "button";
  if (label) e.setAttribute("aria-label", `${text} ${label}`);
  e.addEventListener("click", pressed);
  return e;
}

// Who speaks to whom

export function endpoint(end) {
  const ip = end.ip.includes(":") && end.port !== undefined ? `[${end.ip}]` : end.ip;
  return end.port === undefined ? ip : `${ip}:${end.port}`;
}
export function pair(e) {
  return [endpoint(e.client), make("i", "", " → "), endpoint(e.server)];
}
// The same in one line of text, for labels and questions.
export const pairText = (e) => `${endpoint(e.client)} → ${endpoint(e.server)}`;
