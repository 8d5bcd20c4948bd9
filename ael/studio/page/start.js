// A new run: an entry of the program, and a form from the types of its parameters. What does not fit is said at its field.

import { get, numeral, parse, post } from "./api.js";
import { h, problem, put, say, set, to } from "./dom.js";
import { title } from "./main.js";

let numbers = 0;
const EMPTY = Symbol("nothing given");

export function view(main, page) {
  title("New run");
  page.live.follow(null);
  const place = h("div", {});
  main.append(h("div", { class: "head" }, h("h1", {}, "New run")), place);
  async function load() {
    const told = await get("forms");
    if (!told.entries.length) { set(place, h("p", { class: "empty card" }, "There is nothing to run here.")); return; }
    const form = h("form", { class: "card new", novalidate: true });
    const choice = h("select", { id: "entry" }, told.entries.map((one) => h("option", { value: one.entry }, `${one.name}${one.agent ? " (agent)" : ""}`)));
    const fields = h("div", { class: "fields" });
    const failed = h("div", {});
    const doc = h("p", { class: "soft" });
    const callers = Object.keys(told.callers);
    const caller = callers.length ? h("select", { id: "caller" }, h("option", { value: "" }, "you"), callers.map((one) => h("option", {}, one))) : null;
    const tenant = told.tenants.length ? h("select", { id: "tenant" }, h("option", { value: "" }, "that of the caller"), told.tenants.map((one) => h("option", {}, one))) : null;
    const where = h("select", { id: "where" }, h("option", { value: "here" }, "here, in this studio"), h("option", { value: "workers" }, "by a worker"));
    let made = [];
    const pick = () => {
      const entry = told.entries.find((one) => one.entry === choice.value);
      set(doc, entry.doc, entry.doc ? " " : "", "Gives ", h("code", {}, entry.gives), ".");
      made = entry.fields.map((one) => field(one, one.name));
      set(fields, made.map((one) => one.element), made.length ? null : h("p", { class: "soft" }, "It takes no input."));
      set(failed);
    };
    choice.addEventListener("change", pick);
    pick();
    const go = h("button", { class: "main" }, "Start");
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      set(failed);
      for (const one of form.querySelectorAll(".field-problem")) { one.remove(); }
      for (const one of form.querySelectorAll("[aria-invalid]")) { one.removeAttribute("aria-invalid"); }
      const input = {};
      try {
        for (const one of made) { const value = one.read(); if (value !== EMPTY) { input[one.name] = value; } }
        go.disabled = true;
        const found = await post("runs", { entry: choice.value, input, detached: where.value === "workers", caller: caller?.value ?? "", tenant: tenant?.value ?? "" });
        say("the run has begun");
        location.hash = to(found.run);
      } catch (error) {
        go.disabled = false;
        const rest = (error.told?.problems ?? (error.path === undefined ? [] : [{ path: error.path, message: error.message }])).filter((one) => !mark(form, one));
        set(failed, problem({ message: error.message, notes: [...(error.notes ?? []), ...rest.map((one) => `${one.path}: ${one.message}`)] }));
        form.querySelector("[aria-invalid]")?.focus();
      }
    });
    put(form, [h("label", { for: "entry" }, "Entry"), choice, doc, fields, caller ? [h("label", { for: "caller" }, "On behalf of"), caller] : null, tenant ? [h("label", { for: "tenant" }, "Tenant"), tenant] : null,
      h("label", { for: "where" }, "Executed"), where, failed, h("div", { class: "actions" }, go)]);
    set(place, form);
  }
  return { ready: load() };
}

// Show a problem at its field, or at the nearest one around it.
function mark(form, one) {
  let path = one.path;
  while (path) {
    const found = form.querySelector(`[data-path="${CSS.escape(path)}"]`);
    if (found) {
      const id = `e${++numbers}`;
      const control = found.querySelector("input, textarea, select");
      control?.setAttribute("aria-invalid", "true");
      control?.setAttribute("aria-describedby", id);
      found.append(h("p", { class: "field-problem", id }, path === one.path ? one.message : `${one.path}: ${one.message}`));
      return true;
    }
    path = path.replace(/(\.[^.[\]]+|\[[^\]]*\])$|^[^.[\]]+$/, "");
  }
  return false;
}

class Wrong extends Error {
  constructor(path, message) { super(message); this.path = path; this.notes = []; }
}

// A control for a field, and how its value is read: `EMPTY` where nothing was given and nothing has to be.
function field(one, path) {
  const id = `f${++numbers}`;
  const needed = one.required ? null : h("span", { class: "soft" }, " (may be left out)");
  const label = (text, to) => h("label", { for: to }, text, needed, h("code", { class: "type" }, one.type));
  const about = one.doc ? h("p", { class: "soft" }, one.doc) : null;
  const given = one.default;
  const wrap = (...parts) => h("div", { class: "field", data: { path } }, ...parts, about);
  const said = one.name ?? "item";
  if (one.kind === "record") {
    const inner = one.fields.map((each) => field(each, path ? `${path}.${each.name}` : each.name));
    return { name: one.name, element: h("fieldset", { class: "field", data: { path } }, h("legend", {}, said, needed, h("code", { class: "type" }, one.type)), about, inner.map((each) => each.element)), read() {
      const value = {};
      for (const each of inner) { const found = each.read(); if (found !== EMPTY) { value[each.name] = found; } }
      return Object.keys(value).length || one.required ? value : EMPTY;
    } };
  }
  if (one.kind === "list") {
    const items = [];
    const place = h("div", { class: "items" });
    const add = () => {
      const item = field({ ...one.item, required: true }, `${path}[${items.length}]`);
      items.push(item);
      place.append(item.element);
      item.element.querySelector("input, textarea, select")?.focus();
    };
    return { name: one.name, element: h("fieldset", { class: "field", data: { path } }, h("legend", {}, said, needed, h("code", { class: "type" }, one.type)), about, place,
      h("div", { class: "actions" }, h("button", { type: "button", onclick: add }, "Add one"), h("button", { type: "button", class: "plain", onclick: () => items.pop()?.element.remove() }, "Take the last away"))),
      read: () => (items.length || one.required ? items.map((each) => { const value = each.read(); return value === EMPTY ? "" : value; }) : EMPTY) };
  }
  if (one.kind === "truth") {
    const box = h("select", { id }, one.required ? null : h("option", { value: "" }, ""), h("option", { value: "true" }, "true"), h("option", { value: "false" }, "false"));
    if (given !== undefined) { box.value = String(given); }
    return { name: one.name, element: wrap(label(said, id), box), read: () => (box.value === "" ? EMPTY : box.value === "true") };
  }
  if (one.kind === "choice") {
    const box = h("select", { id }, one.required && given === undefined ? null : h("option", { value: "" }, ""), one.choices.map((each, at) => h("option", { value: String(at) }, typeof each === "string" ? each : JSON.stringify(each))));
    if (given !== undefined) { box.value = String(one.choices.indexOf(given)); }
    return { name: one.name, element: wrap(label(said, id), box), read: () => (box.value === "" ? EMPTY : one.choices[Number(box.value)]) };
  }
  const shown = given === undefined ? "" : typeof given === "string" ? given : JSON.stringify(given);
  const several = one.kind === "lines" || one.kind === "json";
  const text = several ? h("textarea", { id, rows: one.kind === "json" ? 4 : 3, spellcheck: one.kind === "json" ? "false" : "true", value: shown })
    : h("input", { id, type: "text", inputmode: one.kind === "integer" ? "numeric" : one.kind === "number" || one.kind === "decimal" ? "decimal" : undefined, autocomplete: "off", placeholder: one.hint, value: shown });
  return { name: one.name, element: wrap(label(said, id), text), read() {
    const typed = text.value;
    if (typed === "" && !(one.required && (one.kind === "text" || one.kind === "lines"))) { return one.required ? null : EMPTY; }
    if (one.kind === "text" || one.kind === "lines" || one.kind === "decimal") { return typed; }
    if (one.kind === "json") { try { return parse(typed); } catch { throw new Wrong(path, "this is no JSON"); } }
    return numeral(typed);
  } };
}
