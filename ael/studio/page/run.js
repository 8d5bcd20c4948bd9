// One run: how it stands, its graph, its timeline, the step that is looked at; live.

import { at, get, post } from "./api.js";
import { badge, between, dialog, facts, h, lasted, long, money, number, problem, put, say, set, state, tell, to, when } from "./dom.js";
import { title } from "./main.js";
import { Graph } from "./graph.js";
import { Pending } from "./pending.js";
import { Step } from "./step.js";
import { Timeline } from "./timeline.js";

const LIMITS = { tokens: "Tokens", cost: "Cost", time: "Time", steps: "Model turns", tool_calls: "Tool calls" };
const OVER = new Set(["ended", "dead"]);

export function view(main, page, run) {
  title(run);
  let row = null;
  let way = false;
  let took = 0;
  let timer = null;
  let gone = false;
  let again = false;
  let loading = false;
  const head = h("div", { class: "run-head" });
  const meters = h("div", { class: "meters" });
  const notes = h("div", {});
  const pending = new Pending(page, { run, changed: () => later(0) });
  const graph = new Graph((n) => { timeline.reveal(n, true); timeline.pick(n); });
  const step = new Step(run, page.about.read_only ? null : (span) => fork(span.path, span));
  const timeline = new Timeline((span) => { step.show(span, row); say(`${span.kind} ${span.name} is shown`); });
  const saying = h("section", { class: "saying card", hidden: true, "aria-label": "What the model is saying" });
  const counted = h("span", { class: "soft" });
  main.append(head, notes, pending.element, meters,
    h("div", { class: "columns" }, graph.element,
      h("section", { class: "card lines-card", "aria-labelledby": "timeline-title" }, h("div", { class: "card-head" }, h("h2", { id: "timeline-title" }, "Timeline"), counted), timeline.element),
      h("div", { class: "side" }, saying, step.element)));

  async function load() {
    if (loading) { again = true; return; }
    loading = true;
    const began = performance.now();
    if (!row) {
      row = { ...await get(at(run), { brief: 1 }), fork: null, records: 0 };
      drawHead();
      tell(counted, "reading…");
    }
    try {
      // First what stands in the record, at once; then with what the program finds on the way.
      let told = await get(at(run), { way: way ? 1 : undefined });
      const known = told.spans.length;
      draw(told);
      if (told.all > known) { told = await rest(told); draw(told); }
      if (!way && !gone) {
        way = true;
        told = await get(at(run), { way: 1 });
        draw(told.all > told.spans.length ? await rest(told) : told);
      }
    } finally {
      took = performance.now() - began;
      loading = false;
      if (again && !gone) { again = false; later(); }
    }
  }

  async function rest(told) {
    const spans = [...told.spans];
    while (spans.length < told.all && !gone) {
      const more = await get(`${at(run)}/spans`, { from: spans.length, way: told.way ? 1 : undefined });
      if (!more.spans.length) { break; }
      spans.push(...more.spans);
    }
    return { ...told, spans };
  }

  function later(wait = Math.max(250, took * 4)) {
    if (wait === 0) { clearTimeout(timer); timer = null; }
    timer ??= setTimeout(() => { timer = null; load().catch((error) => set(notes, problem(error))); }, wait);
  }

  function draw(told) {
    if (gone) { return; }
    row = told;
    title(`${told.name} ${run}`);
    drawHead();
    drawMeters(told);
    set(notes, told.notes.map((one) => h("p", { class: "hint" }, one)), told.failed ? problem({ message: told.failed }) : null);
    graph.moving = told.state === "running";
    graph.show(told.graphs);
    timeline.show(told.spans, told.end - told.begun);
    tell(counted, `${number(told.all)} line${told.all === 1 ? "" : "s"}`);
    pending.show(told.state === "parked");
  }

  function drawHead() {
    const word = state(row);
    const act = page.about.read_only ? [] : [
      OVER.has(row.state) ? null : h("button", { type: "button", onclick: cancel }, "End it…"),
      row.here || row.state === "ended" || (row.state === "parked" && /approval|uncertain/.test(row.waits ?? "")) ? null : h("button", { type: "button", onclick: () => resume(false) }, row.state === "dead" ? "Try again here" : "Go on here"),
      h("button", { type: "button", onclick: () => fork(null) }, "Fork…"),
    ];
    const key = JSON.stringify([word, row.waits, row.ended, row.here, row.cancelling, row.fork]);
    if (head.dataset.key === key) { return; }
    head.dataset.key = key;
    const name = h("h1", {}, row.name, " ", h("span", { class: "id" }, row.run));
    set(head, h("nav", { "aria-label": "Where this is", class: "crumbs" }, h("a", { href: "#/" }, "Runs"), " / ", row.run),
      h("div", { class: "head" }, h("div", { class: "name-line" }, name, badge(word), row.cancelling ? h("span", { class: "soft" }, "told to end") : null),
        h("div", { class: "tools" }, act, row.fork ? h("a", { class: "button", href: between(row.fork.of, row.run) }, "Compare with its original") : null,
          h("button", { type: "button", onclick: readers }, "Who has read it"))),
      facts([["Started", when(row.started)], ["Ended", row.ended ? when(row.ended) : ""], ["At work", lasted(row.active)], ["Waited", row.parked ? lasted(row.parked) : ""],
        ["Caller", row.tenant === "local" ? row.caller : `${row.caller} of ${row.tenant}`], ["Executed", row.here && !row.ended ? "by this studio" : ""],
        ["Forked from", row.fork ? h("span", {}, h("a", { href: to(row.fork.of) }, row.fork.of), ` at ${row.fork.at || "its end"}${row.fork.changes.length ? `, with another ${row.fork.changes.join(", ")}` : ""}`) : ""],
        ["Program", h("code", {}, row.digest.slice(0, 12))]]));
  }

  function drawMeters(told) {
    const spent = told.spent;
    const tokens = spent.tokens ? Object.entries(spent.tokens).reduce((sum, [name, count]) => sum + (name === "estimated" ? 0 : Number(count)), 0) : 0;
    const used = { tokens, cost: spent.cost === null ? null : Number(spent.cost ?? 0), time: told.active * 1000, steps: spent.steps ?? 0, tool_calls: spent.tool_calls };
    const shown = { tokens: number, cost: (value) => money(value) || "unknown", time: (value) => lasted(value / 1000), steps: number, tool_calls: number };
    set(meters, Object.entries(LIMITS).map(([name, label]) => {
      const limit = told.limits[name] === undefined ? null : Number(told.limits[name]);
      const value = used[name];
      if (limit === null && ((value ?? null) === null || name === "time")) { return null; }
      const text = `${value === null || value === undefined ? "unknown" : shown[name](value)}${limit === null ? "" : ` of ${shown[name](limit)}`}`;
      const part = limit ? Math.min(1, (value ?? 0) / limit) : 0;
      const bar = h("span", { class: `fill${part > 0.9 ? " full" : part > 0.75 ? " near" : ""}` });
      bar.style.width = `${part * 100}%`;
      return h("div", { class: "meter" }, h("span", { class: "label" }, label), h("span", { class: "amount" }, text),
        limit ? h("span", { class: "track", role: "meter", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": limit, "aria-valuenow": Math.min(value ?? 0, limit), "aria-valuetext": text }, bar) : null);
    }));
  }

  async function resume(accept) {
    try { await post(`${at(run)}/resume`, { accept }); say("it goes on here"); later(0); }
    catch (error) {
      const box = dialog("It does not go on", problem(error), error.told?.accept ? h("div", { class: "actions" }, h("button", { type: "button", class: "main", onclick: () => { box.close(); resume(true); } }, "Go on all the same"), h("p", { class: "hint" }, "Its journal says from then on who let it go on, and under what.")) : null);
    }
  }

  function cancel() {
    const reason = h("input", { type: "text", id: "why", autocomplete: "off" });
    const failed = h("div", {});
    const box = dialog("End the run", h("form", { onsubmit: async (event) => {
      event.preventDefault();
      try { await post(`${at(run)}/cancel`, { reason: reason.value }); box.close(); say("it is told to end"); later(0); } catch (error) { set(failed, problem(error)); }
    } }, h("p", {}, "Calls under way come to their end; nothing further begins."), h("label", { for: "why" }, "Why (its journal keeps it)"), reason, failed, h("div", { class: "actions" }, h("button", { class: "main danger" }, "End it"))));
  }

  async function readers() {
    const place = h("div", {});
    dialog("Who has read its content", place);
    try {
      const found = await get(`${at(run)}/readers`);
      set(place, found.length ? h("table", { class: "small" }, h("thead", {}, h("tr", {}, ["When", "Who", "With"].map((one) => h("th", { scope: "col" }, one)))), h("tbody", {}, found.map((one) => h("tr", {}, h("td", {}, when(one.at)), h("td", {}, one.by), h("td", {}, one.with))))) : h("p", {}, "Nobody yet."));
    } catch (error) { set(place, problem(error)); }
  }

  async function fork(path, span) {
    const { open } = await import("./fork.js");
    open(run, path, span ?? null);
  }

  function speak(told) {
    if (!told.text) {
      // A turn begins: what the last one said stays until this one says something, unless it is the same one again.
      if (saying.dataset.path === told.path) { set(saying.querySelector("pre")); }
      return;
    }
    if (told.whole || saying.dataset.path !== told.path) {
      saying.dataset.path = told.path;
      saying.hidden = false;
      set(saying, h("div", { class: "card-head" }, h("h2", {}, "Saying now"), h("code", {}, told.path.split("/").slice(-2).join("/"))), long(told.text));
      return;
    }
    put(saying.querySelector("pre"), told.text);
  }

  page.live.follow(run);
  return {
    ready: load(),
    hear(name, told) {
      if (name === "text") { speak(told); }
      if (name === "run" && told.run === run) {
        const before = row && state(row);
        if (told.row && row && before !== state(told.row)) { say(`the run is ${state(told.row) === "value" ? "done" : state(told.row)}`); }
        if (told.row && (OVER.has(told.row.state) || told.row.state === "parked")) { saying.hidden = true; delete saying.dataset.path; }
        if (row && (told.after >= row.records || before !== (told.row && state(told.row)) || told.row?.waits !== row.waits || told.failed)) { later(); }
      }
    },
    key(key) {
      const found = timeline.at(timeline.active);
      if (key === "t") { timeline.focus(); return true; }
      if (key === "p") { graph.focus(); return true; }
      if (key === "i") { step.focus(); return true; }
      if (key === "e") { if (!timeline.next((one) => one.out && !["parked", "running", "open"].includes(one.out))) { say("no step ended badly"); } return true; }
      if (key === "f" && !page.about.read_only && found) { fork(found.kind === "run" || found.kind === "edge" ? null : found.path, found); return true; }
      if (["j", "k", "ArrowDown", "ArrowUp"].includes(key)) { timeline.focus(); return true; }
      return false;
    },
    leave() { gone = true; clearTimeout(timer); timeline.leave(); pending.leave(); },
  };
}
