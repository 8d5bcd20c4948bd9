// A fork: a new run from a step on, with whatever is to be otherwise; what it would take is said before it is made.

import { at, get, post } from "./api.js";
import { dialog, h, money, number, problem, say, set, to } from "./dom.js";

const HINTS = ["input.", "model.", "budget.tokens", "budget.cost", "budget.steps", "budget.tool_calls"];

export async function open(run, path, span) {
  const place = h("input", { type: "text", id: "fork-at", autocomplete: "off", value: path ?? "" });
  const changes = h("div", { class: "changes" });
  const allow = h("input", { type: "text", id: "fork-allow", autocomplete: "off" });
  const guess = h("div", { class: "guess", "aria-live": "polite" });
  const failed = h("div", {});
  const where = h("select", { id: "fork-where" }, h("option", { value: "here" }, "here, in this studio"), h("option", { value: "workers" }, "by a worker"));
  const list = h("datalist", { id: "fork-hints" }, HINTS.map((one) => h("option", { value: one })));
  let count = 0;

  function change(what = "", value = "") {
    const id = ++count;
    const name = h("input", { type: "text", id: `what${id}`, list: "fork-hints", class: "change-what", spellcheck: "false", autocomplete: "off", value: what });
    const text = h("textarea", { id: `value${id}`, class: "change-value", rows: Math.min(8, value.split("\n").length + 1), spellcheck: "false", value });
    const row = h("div", { class: "change" }, h("div", {}, h("label", { for: `what${id}` }, "What"), name), h("div", {}, h("label", { for: `value${id}` }, "Value, as JSON (a model: provider:name)"), text),
      h("button", { type: "button", class: "plain", "aria-label": "Leave this out", onclick: () => { row.remove(); soon(); } }, "✕"));
    name.addEventListener("input", soon);
    text.addEventListener("input", soon);
    changes.append(row);
    name.focus();
    soon();
  }

  const asked = () => {
    const pairs = [...changes.querySelectorAll(".change")].map((row) => [row.querySelector(".change-what").value.trim(), row.querySelector(".change-value").value.trim()]).filter(([what, value]) => what && value);
    const names = allow.value.split(/[\s,]+/).filter(Boolean);
    const named = place.value.trim();
    return { at: named || (pairs.length ? null : "end"), changes: pairs, allow: names, detached: where.value === "workers" };
  };

  let timer = null;
  let number_ = 0;
  function soon() { clearTimeout(timer); timer = setTimeout(estimate, 250); }
  async function estimate() {
    const mine = ++number_;
    try {
      const told = await post(`${at(run)}/fork`, { ...asked(), estimate: true });
      if (mine !== number_) { return; }
      const calls = told.calls;
      const words = [[calls.served, "served from the record: nothing takes effect again"], [calls.real, "made for real, since you allow it"], [calls.anew, "made anew: they change nothing"]].filter(([amount]) => amount);
      set(guess, h("p", {}, h("strong", {}, told.turns ? `${told.turns} model turn${told.turns === 1 ? "" : "s"} again` : "No model turn again"), told.turns ? `, about ${number(told.tokens.input)} + ${number(told.tokens.output)} tokens, ${told.cost === null ? "at a price that is not known" : money(told.cost)}` : "", ` (from ${told.at} on).`),
        words.length ? h("ul", {}, words.map(([amount, what]) => h("li", {}, `${amount} call${amount === 1 ? "" : "s"} ${what}`))) : null,
        h("p", { class: "soft" }, "A call that may change something and that the original did not make is blocked."));
      set(failed);
    } catch (error) {
      if (mine === number_) { set(guess, problem(error)); }
    }
  }

  const replace = span && ["tool", "operation", "store", "turn"].includes(span.kind) ? h("button", { type: "button", onclick: async (event) => {
    event.currentTarget.disabled = true;
    try {
      const told = await get(`${at(run)}/step`, { path });
      change(path, JSON.stringify(span.kind === "turn" ? told.value?.final ?? told.value?.text ?? "" : told.value, null, 2));
    } catch (error) { set(failed, problem(error)); }
  } }, "Another result of this step…") : null;

  for (const one of [place, allow]) { one.addEventListener("input", soon); }
  where.addEventListener("change", soon);
  const go = h("button", { class: "main" }, "Make the fork");
  const box = dialog("Fork the run", h("form", { class: "fork", onsubmit: async (event) => {
    event.preventDefault();
    go.disabled = true;
    try {
      const made = await post(`${at(run)}/fork`, asked());
      box.close();
      say("the fork is made");
      location.hash = to(made.run);
    } catch (error) { set(failed, problem(error)); go.disabled = false; }
  } }, h("p", {}, "A new run. Everything before the step is replayed; from there on models are asked anew, and nothing that took effect takes effect again."),
    h("label", { for: "fork-at" }, "From the step (a place, a number, ", h("code", {}, "pay:2"), ", ", h("code", {}, "failed"), "; empty: where a change first matters)"), place, list,
    h("fieldset", {}, h("legend", {}, "What is otherwise"), changes, h("div", { class: "actions" }, h("button", { type: "button", onclick: () => change() }, "Add a change"), replace)),
    h("label", { for: "fork-allow" }, "Calls that are made for real (names; empty: none)"), allow, h("label", { for: "fork-where" }, "Executed"), where, guess, failed, h("div", { class: "actions" }, go)));
  place.focus();
  estimate();
}
