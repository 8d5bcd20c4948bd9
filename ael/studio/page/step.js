// One step, whole: what a model was sent and said, what a call was given and gave, who approved it, each attempt with what it took.

import { at, get, parse } from "./api.js";
import { badge, facts, h, json, lasted, long, money, number, problem, set, when } from "./dom.js";

const RECORDED = new Set(["turn", "tool", "operation", "store", "effect", "approval", "retry", "run"]);
const NAMES = { input: "in", output: "out", cache_read: "read from cache", cache_write: "written to cache", reasoning: "reasoning" };

export class Step {
  constructor(run, fork) {
    this.run = run;
    this.fork = fork;
    this.asked = 0;
    this.body = h("div", { class: "step-body" });
    this.heading = h("h2", { id: "step-title", tabindex: "-1" }, "Step");
    this.buttons = h("span", { class: "tools" });
    this.element = h("section", { class: "step card", "aria-labelledby": "step-title" }, h("div", { class: "card-head" }, this.heading, this.buttons), this.body);
    this.empty();
  }

  empty() {
    set(this.heading, "Step");
    set(this.body, h("p", { class: "soft" }, "Choose a step: its content is shown here. That you read it is recorded with the run."));
  }

  // `span` as the timeline has it. Its content is asked for only now.
  async show(span, row) {
    const number_ = ++this.asked;
    set(this.heading, span.kind === "run" ? "The run" : `${span.kind} ${span.name}`);
    set(this.buttons, RECORDED.has(span.kind) && span.kind !== "run" && span.kind !== "retry" && this.fork ? h("button", { type: "button", onclick: () => this.fork(span) }, "Fork from here…") : null);
    const before = facts(meta(span, row));
    set(this.body, before);
    if (!RECORDED.has(span.kind) && !(span.kind === "node" && span.more?.key)) { return; }
    const wait = h("p", { class: "soft" }, "Reading…");
    this.body.append(wait);
    try {
      const told = await get(`${at(this.run)}/step`, { path: span.path });
      if (number_ !== this.asked) { return; }
      set(this.body, before, told.notes.map((one) => h("p", { class: "hint" }, one)), span.kind === "run" ? whole(told) : content(told));
    } catch (error) {
      if (number_ === this.asked) { wait.replaceWith(problem(error)); }
    }
  }

  focus() { this.heading.focus(); }
}

function meta(span, row) {
  const more = span.more ?? {};
  const parked = more.parked;
  return [
    ["State", span.kind === "approval" && span.out === "refused" ? "denied" : span.out ? badge(span.out) : { edge: "taken", approval: "approved" }[span.kind] ?? badge("value")],
    ["Why", more.reason], ["Asked because", more.asked_because], ["Decided by", more.by ? `${more.by}${more.edited ? ", with other arguments" : ""}` : ""], ["Role", more.role],
    ["Began", row ? when(row.begun + span.at) : ""], ["Took", lasted(Math.max(0, span.for - (parked ?? 0))) + (parked ? `, and waited ${lasted(parked)}` : "")],
    ["Model", more.model], ["Tokens", span.tokens ? `${span.estimated ? "about " : ""}${number(span.tokens)}` : ""], ["Cost", more.cost !== undefined ? money(more.cost) : ""],
    ["Outside data", span.from ? span.from.join(", ") : ""], ["Placed", more.placement], ["Skills", Array.isArray(more.skills) ? more.skills.join(", ") : ""],
    ["Key", more.key ? h("code", {}, more.key) : ""], ["Place", span.path ? h("code", {}, span.path) : ""],
  ];
}

const part = (title, ...content) => h("section", { class: "part" }, h("h3", {}, title), content);
const fold = (title, content, open = false) => h("details", { open }, h("summary", {}, title), content);
const shown = (value) => (typeof value === "string" ? long(value) : json(value));

function whole(told) {
  const outcome = told.outcome ?? null;
  return [part("Input", told.input === null ? h("p", { class: "soft" }, "not shown") : json(told.input)),
    outcome ? part(outcome.outcome === "value" ? "Result" : "How it ended", outcome.outcome === "value" ? shown(outcome.value ?? null) : json(Object.fromEntries(Object.entries(outcome).filter(([name]) => name !== "spent")))) : null];
}

function content(step) {
  const found = [h("p", { class: "soft" }, `Step ${number(step.number)} of ${number(step.of)}`)];
  if (step.attempts?.length) { found.push(part("Attempts", attempts(step.attempts))); }
  if (step.kind === "model") { return [...found, ...turn(step)]; }
  if (step.approval) { found.push(part("Approval", decision(step.approval))); }
  if (step.failed?.length) { found.push(part("Attempts that failed", step.failed.map((one) => json(one.value)))); }
  if (step.kind === "approval") { return [...found, ...approval(step)]; }
  if (step.arguments !== null) { found.push(part("Arguments", json(step.arguments))); }
  if (step.ended !== null) { found.push(part(step.ending === "value" ? "Result" : `Ended: ${step.ending}`, shown(step.value))); } else { found.push(h("p", { class: "hint" }, `No answer yet: ${step.state}.`)); }
  return found;
}

const attempts = (all) => h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Attempts" }, h("table", { class: "small" },
  h("thead", {}, h("tr", {}, ["", "Model", "Tokens", "Cost", "Failed"].map((one, index) => h("th", { scope: "col", class: index === 2 || index === 3 ? "right" : undefined }, one || h("span", { class: "unseen" }, "Number"))))),
  h("tbody", {}, all.map((one, index) => h("tr", {}, h("th", { scope: "row" }, String(index + 1)), h("td", {}, one.model),
    h("td", { class: "right", title: Object.entries(one.classes).filter(([, count]) => count).map(([name, count]) => `${number(count)} ${NAMES[name] ?? name}`).join(", ") }, `${one.estimated ? "~" : ""}${number(one.input)} + ${number(one.output)}`),
    h("td", { class: "right" }, one.cost === null ? "unknown" : money(one.cost)), h("td", {}, one.reason ?? ""))))));

function decision(one) {
  const value = one.value;
  if (!value || typeof value !== "object" || !("approved" in value)) { return h("p", {}, "asked, and not answered yet"); }
  return [h("p", {}, h("strong", {}, value.approved ? "approved" : "denied"), ` by ${value.by}${one.ended ? `, ${when(one.ended)}` : ""}`, value.reason ? h("q", {}, value.reason) : null), value.arguments ? [h("p", {}, "with other arguments:"), json(value.arguments)] : null];
}

function approval(step) {
  const asked = step.arguments ?? {};
  return [asked.question ? part("Question", long(asked.question.message ?? ""), fold("What is taken for an answer", json(asked.question.schema ?? {}))) : part("Arguments, exactly as proposed", json(asked.arguments ?? asked)),
    asked.preview ? part("What it would do", long(asked.preview)) : null, part("Decision", decision(step))];
}

function turn(step) {
  const sent = step.prompt;
  const said = step.value;
  const found = [];
  if (sent) {
    const tools = sent.tools ?? [];
    found.push(part("Prompt as sent",
      sent.system !== null && sent.system !== "" ? message("system", "", long(sent.system)) : null,
      tools.length ? fold(`Tools offered: ${tools.map((one) => one.name).join(", ")}`, tools.map((one) => h("div", { class: "tool" }, h("h4", {}, one.name), one.description ? long(one.description) : null, json(one.schema)))) : null,
      sent.output?.schema && Object.keys(sent.output.schema).length ? fold("Result asked for", json(sent.output.schema)) : null,
      sent.messages.map((one) => message(one.role, [one.name, one.error ? "error" : "", one.files ? `files ${one.files.join(", ")}` : ""].filter(Boolean).join(", "),
        one.text ? long(one.text) : null, one.content ? shown(one.content) : null, one.final ? shown(one.final) : null,
        (one.calls ?? []).map((call) => proposed(call.name, call.arguments)), one.opaque ? h("p", { class: "soft" }, one.opaque) : null))));
  }
  if (said && typeof said === "object" && "usage" in said) {
    found.push(part("Response", said.text ? long(said.text) : null, said.final ? shown(pretty(said.final)) : null, said.calls.map(([, name, given]) => proposed(name, given)), h("p", { class: "soft" }, `stopped: ${said.stop}`)));
  } else if (said !== null && said !== undefined) { found.push(part("Response", json(said))); }
  else { found.push(h("p", { class: "hint" }, "No answer yet.")); }
  if (step.calls?.length) {
    found.push(part("Calls that it proposed", step.calls.map((one) => h("div", { class: "call" }, h("p", {}, badge(one.ending ?? one.state), " ", h("strong", {}, one.target)), one.approval ? decision(one.approval) : null, one.value === null ? null : shown(one.value)))));
  }
  return found;
}

function pretty(text) {
  if (typeof text !== "string") { return text; }
  try { return parse(text); } catch { return text; }
}
const message = (role, about, ...content) => h("div", { class: `message ${role}` }, h("p", { class: "role" }, role, about ? ` · ${about}` : ""), content);
const proposed = (name, given) => h("div", { class: "proposed" }, h("p", {}, "call ", h("strong", {}, name)), given === null || given === undefined ? null : shown(pretty(given)));
