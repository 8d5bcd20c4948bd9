// What waits for a person, with everything that is needed to decide: the exact arguments, the question, what is not known.

import { at, get, numeral, parse, post } from "./api.js";
import { dialog, facts, h, json, long, problem, say, set, time, to, when } from "./dom.js";

export class Pending {
  // `run`: only what this run waits for; `changed` is called when something was decided.
  constructor(page, { run = null, changed = () => {}, empty = null } = {}) {
    this.page = page;
    this.run = run;
    this.changed = changed;
    this.empty = empty;
    this.cards = new Map();
    this.element = h("div", { class: "pending" });
    this.asked = 0;
  }

  show(wanted) {
    if (!wanted) { this.cards.clear(); set(this.element, this.empty); return Promise.resolve(); }
    return this.load();
  }

  async load() {
    const number = ++this.asked;
    let found;
    try { found = await get("inbox", { run: this.run }); } catch (error) { set(this.element, problem(error)); return; }
    if (number !== this.asked) { return; }
    const keys = new Set(found.map(key));
    for (const [name, card] of this.cards) { if (!keys.has(name)) { card.remove(); this.cards.delete(name); } }
    if (!found.length) { set(this.element, this.empty); return; }
    if (!this.cards.size) { set(this.element); }
    // A card that is there stays as it is: somebody may be writing in it.
    for (const one of found) {
      if (!this.cards.has(key(one))) { const card = this.card(one); this.cards.set(key(one), card); this.element.append(card); }
    }
  }

  card(one) {
    const failed = h("div", {});
    const id = `p${Math.random().toString(36).slice(2)}`;
    const asks = one.question !== null;
    const what = one.kind === "uncertain" ? "has an unknown outcome" : asks ? "asks" : "needs an approval";
    const name = one.target.split(".").slice(1).join(".") || one.target;
    const controls = this.page.about.read_only ? null : one.kind === "uncertain" ? this.settle(one, id, failed) : asks ? this.answer(one, id, failed) : this.approve(one, id, failed);
    return h("section", { class: `ask card${one.late ? " late" : ""}`, "aria-labelledby": id },
      h("div", { class: "card-head" }, h("h2", { id }, h("span", { class: "target" }, name), ` ${what}`), one.late ? h("span", { class: "badge late" }, "late") : null,
        this.run === null ? h("a", { href: to(one.run) }, one.run) : null),
      h("div", { class: "ask-body" }, h("div", {}, facts([["Asked", time(one.asked)], ["Until", one.due ? `${when(one.due)}` : ""], ["Decides", one.role ?? ""], ["Because", asks ? "" : one.reason], ["Tenant", one.tenant === "local" ? "" : one.tenant], ["Step", h("code", {}, one.step)], ["Key", one.kind === "uncertain" ? h("code", {}, one.key) : ""]]),
      asks ? long(one.question.message) : [h("h3", {}, "Arguments"), json(one.arguments)],
      one.preview ? [h("h3", {}, "What it would do"), long(one.preview)] : null),
      h("div", {}, one.may ? controls : h("p", { class: "hint" }, `${one.role} decides about this, and ${one.by} is no member of it.`), failed)));
  }

  async decide(one, body, failed, button) {
    for (const other of button?.closest("section").querySelectorAll("button") ?? []) { other.disabled = true; }
    try {
      const told = await post(`${at(one.run)}/decide`, { step: one.step, digest: one.digest, ...body });
      if (told.not_here) { dialog("Decided; it does not go on here", problem({ message: told.not_here, notes: told.notes })); }
      say(`${one.target} ${{ approve: "approved", deny: "denied", answer: "answered" }[body.decision] ?? "settled"}`);
      this.cards.get(key(one))?.remove();
      this.cards.delete(key(one));
      document.getElementById("main").focus({ preventScroll: true });
      this.changed();
      await this.load();
    } catch (error) {
      set(failed, problem(error));
      for (const other of button?.closest("section").querySelectorAll("button") ?? []) { other.disabled = false; }
    }
  }

  // Whether the run is to go on here; one that is executed here does so by itself.
  here(id, one) {
    const box = h("input", { type: "checkbox", id: `${id}-here`, onchange: () => localStorage.setItem("ael-here", box.checked ? "1" : "") });
    box.checked = localStorage.getItem("ael-here") === "1";
    return { box, element: one.here ? null : h("label", { class: "check", for: `${id}-here` }, box, " go on with the run here (else a worker does)") };
  }

  approve(one, id, failed) {
    const reason = h("input", { type: "text", id: `${id}-why`, autocomplete: "off" });
    const edited = h("textarea", { id: `${id}-args`, rows: 6, spellcheck: "false", value: JSON.stringify(one.arguments, null, 2) });
    const editing = h("details", {}, h("summary", {}, "Other arguments"), h("label", { for: `${id}-args` }, "Arguments as JSON; checked like a new call"), edited);
    const here = this.here(id, one);
    const go = (decision) => (event) => {
      const body = { decision, reason: reason.value, resume: here.box.checked };
      if (decision === "approve" && editing.open) {
        try { body.arguments = parse(edited.value); } catch { set(failed, problem({ message: "the arguments are no JSON" })); edited.focus(); return; }
      }
      if (decision === "deny" && !reason.value.trim()) { set(failed, problem({ message: "A no needs a reason: the model reads it." })); reason.focus(); return; }
      this.decide(one, body, failed, event.currentTarget);
    };
    return h("div", { class: "decide" }, editing, h("label", { for: `${id}-why` }, "Reason (a no needs one: the model reads it)"), reason, here.element,
      h("div", { class: "actions" }, h("button", { type: "button", class: "main", onclick: go("approve") }, "Approve"), h("button", { type: "button", class: "danger", onclick: go("deny") }, "Deny")));
  }

  answer(one, id, failed) {
    const field = one.question.schema?.properties?.answer ?? {};
    const reason = h("input", { type: "text", id: `${id}-why`, autocomplete: "off" });
    const here = this.here(id, one);
    const kind = field.type;
    let read;
    let control;
    if (Array.isArray(field.enum)) {
      const choices = field.enum.map((choice, index) => h("input", { type: "radio", name: id, id: `${id}-${index}`, value: String(index) }));
      control = h("fieldset", {}, h("legend", {}, "Answer"), field.enum.map((choice, index) => h("label", { class: "check", for: `${id}-${index}` }, choices[index], " ", String(choice))));
      read = () => field.enum[choices.findIndex((one_) => one_.checked)];
    } else if (kind === "boolean") {
      control = h("p", { class: "soft" }, "Yes or no.");
      read = () => true;
    } else {
      const text = h("textarea", { id: `${id}-text`, rows: 3 });
      control = h("div", {}, h("label", { for: `${id}-text` }, "Answer"), text);
      read = () => (kind === "integer" || kind === "number" ? numeral(text.value) : text.value);
    }
    const give = (value) => (event) => {
      const answer = value === undefined ? read() : value;
      if (answer === undefined || answer === "") { set(failed, problem({ message: "Give an answer." })); return; }
      this.decide(one, { decision: "answer", answer, resume: here.box.checked }, failed, event.currentTarget);
    };
    const no = (event) => {
      if (!reason.value.trim()) { set(failed, problem({ message: "No answer needs a reason: the program reads it." })); reason.focus(); return; }
      this.decide(one, { decision: "deny", reason: reason.value, resume: here.box.checked }, failed, event.currentTarget);
    };
    return h("div", { class: "decide" }, control, h("label", { for: `${id}-why` }, "Reason, where you do not answer"), reason, here.element,
      h("div", { class: "actions" }, kind === "boolean" ? [h("button", { type: "button", class: "main", onclick: give(true) }, "Yes"), h("button", { type: "button", onclick: give(false) }, "No")] : h("button", { type: "button", class: "main", onclick: give() }, "Answer"),
        h("button", { type: "button", class: "danger", onclick: no }, "Do not answer")));
  }

  settle(one, id, failed) {
    const result = h("textarea", { id: `${id}-result`, rows: 3, spellcheck: "false" });
    const here = this.here(id, one);
    const took = (event) => {
      let value;
      try { value = parse(result.value || "null"); } catch { set(failed, problem({ message: "The result is no JSON." })); result.focus(); return; }
      this.decide(one, { decision: "settle", result: value, resume: here.box.checked }, failed, event.currentTarget);
    };
    return h("div", { class: "decide" }, h("p", { class: "soft" }, "Look at the other side, by the key: did it take effect?"), h("label", { for: `${id}-result` }, "What it gave, as JSON"), result, here.element,
      h("div", { class: "actions" }, h("button", { type: "button", class: "main", onclick: took }, "It took effect, and gave this"), h("button", { type: "button", class: "danger", onclick: (event) => this.decide(one, { decision: "failed", resume: here.box.checked }, failed, event.currentTarget) }, "It did not take effect")));
  }

  leave() { this.asked++; }
}

const key = (one) => `${one.run} ${one.step} ${one.digest}`;
