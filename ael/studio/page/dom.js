// Elements from data. Everything from outside becomes a text node: there is no way in here to make markup of a text.

const SVG = "http://www.w3.org/2000/svg";
// What does not print, or turns text around, is shown as its number.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;

export function visible(text) {
  return String(text).replace(UNSEEN, (one) => one === "\n" || one === "\t" ? one : `⟨U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

function filled(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) { continue; }
    if (name.startsWith("on")) { element.addEventListener(name.slice(2), value); }
    else if (name === "value") { element.value = value; }
    else if (name === "data") { Object.assign(element.dataset, value); }
    else { element.setAttribute(name, value === true ? "" : String(value)); }
  }
  put(element, children);
  return element;
}

export function put(element, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === undefined || child === null || child === false) { continue; }
    element.append(child instanceof Node ? child : document.createTextNode(visible(child)));
  }
}

export const h = (tag, props, ...children) => filled(document.createElement(tag), props, children);
export const svg = (tag, props, ...children) => filled(document.createElementNS(SVG, tag), props, children);

export function set(element, ...children) {
  element.replaceChildren();
  put(element, children);
  return element;
}

// Text of an element, changed only where it differs: what did not change is not told again.
export function tell(element, text) {
  const shown = visible(text);
  if (element.textContent !== shown) { element.textContent = shown; }
}

let saying = null;
export function say(text) {
  const place = document.getElementById("say");
  place.textContent = "";
  clearTimeout(saying);
  saying = setTimeout(() => { place.textContent = visible(text); }, 50);
}

const LONGEST = 20000;
// A text as it is, lines and all; of a very long one the beginning, and the rest where it is asked for.
export function long(text, kind = "text") {
  const whole = String(text);
  const place = h("pre", { class: `long ${kind}`, tabindex: whole.length > 400 ? "0" : undefined, role: "group", "aria-label": "text" });
  if (whole.length <= LONGEST) { put(place, whole); return place; }
  put(place, whole.slice(0, LONGEST));
  const more = h("button", { type: "button", onclick: () => { set(place, whole); more.remove(); } }, `Show all ${number(whole.length)} characters`);
  return h("div", {}, place, more);
}

export const json = (value) => long(typeof value === "string" ? JSON.stringify(value) : JSON.stringify(value, null, 2) ?? "nothing", "json");
export const number = (value) => Number(value).toLocaleString("en-US");

export function lasted(seconds) {
  if (seconds === null || seconds === undefined) { return ""; }
  if (seconds < 0.0005) { return "0 ms"; }
  if (seconds < 1) { return `${(seconds * 1000).toFixed(seconds < 0.01 ? 1 : 0)} ms`; }
  if (seconds < 60) { return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`; }
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) { return `${minutes} min`; }
  return minutes < 2880 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${Math.floor(minutes / 1440)} d`;
}

export function money(cost) {
  if (cost === null || cost === undefined) { return ""; }
  const amount = Number(cost);
  if (amount === 0) { return "$0"; }
  return amount < 0.01 ? `$${amount.toPrecision(2)}` : `$${amount.toFixed(amount < 1 ? 3 : 2)}`;
}

const CLOCK = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
export const when = (at) => CLOCK.format(new Date(at * 1000));
export function since(at, now = Date.now() / 1000) {
  const seconds = Math.max(0, now - at);
  return seconds < 45 ? "just now" : `${lasted(seconds)} ago`;
}
export const time = (at) => h("time", { datetime: new Date(at * 1000).toISOString(), title: when(at) }, since(at));

const WORDS = { value: "done", parked: "waiting" };
const SIGNS = { value: "✓", parked: "‖", running: "▶", ready: "○", dead: "✕", error: "!", fault: "✕", uncertain: "?", refused: "⊘", interrupted: "◌", open: "…" };
export const state = (row) => (row.state === "ended" ? row.ending ?? "ended" : row.state);
export const badge = (word) => h("span", { class: `badge ${word}` }, h("span", { "aria-hidden": "true" }, `${SIGNS[word] ?? "•"} `), WORDS[word] ?? word);
export const to = (run) => `#/runs/${encodeURIComponent(run)}`;
export const between = (a, b) => `#/diff/${encodeURIComponent(a)}/${encodeURIComponent(b)}`;
export const sign = (word) => SIGNS[word] ?? "";

export const facts = (pairs) => h("dl", { class: "facts" }, pairs.filter(([, value]) => value !== "" && value !== null && value !== undefined)
  .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));

export function problem(error) {
  return h("div", { class: "problem", role: "alert" }, h("p", {}, error.message), error.notes?.length ? h("ul", {}, error.notes.map((one) => h("li", {}, one))) : null);
}

// A modal dialog that goes when it is closed, and gives the focus back.
export function dialog(title, ...content) {
  const before = document.activeElement;
  const place = h("dialog", { "aria-labelledby": "dialog-title" },
    h("div", { class: "dialog-head" }, h("h2", { id: "dialog-title" }, title), h("button", { type: "button", class: "plain", "aria-label": "Close", onclick: () => place.close() }, "✕")),
    ...content);
  place.addEventListener("close", () => { place.remove(); before?.focus?.(); });
  document.body.append(place);
  place.showModal();
  return place;
}
