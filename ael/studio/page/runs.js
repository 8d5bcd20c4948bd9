// All runs: what they are, how they stand, what they cost; live.

import { get } from "./api.js";
import { badge, between, h, lasted, money, number, say, set, state, tell, time, to } from "./dom.js";
import { title } from "./main.js";

const STATES = ["running", "parked", "ready", "ended", "dead"];
const SHOWN = { running: "Running", parked: "Waiting", ready: "Ready", ended: "Ended", dead: "Dead" };
const kept = { text: "", states: new Set(), limit: 200, picked: new Set() };

export function view(main, page) {
  title("Runs");
  page.live.follow(null);
  const rows = new Map();
  const lines = new Map();
  let more = false;
  const filter = h("input", { type: "search", id: "filter", placeholder: "Filter by name, id, caller…", "aria-label": "Filter runs", value: kept.text,
    oninput: () => { kept.text = filter.value; draw(); }, onkeydown: (event) => { if (event.key === "ArrowDown") { event.preventDefault(); step(1); } } });
  const chips = STATES.map((one) => h("button", { type: "button", class: "chip", "aria-pressed": String(kept.states.has(one)), onclick: (event) => {
    if (kept.states.has(one)) { kept.states.delete(one); } else { kept.states.add(one); }
    event.currentTarget.setAttribute("aria-pressed", String(kept.states.has(one)));
    load();
  } }, SHOWN[one]));
  const compare = h("a", { class: "button", hidden: true }, "Compare");
  const body = h("tbody", {});
  const table = h("table", { class: "runs" },
    h("caption", { class: "unseen" }, "Runs, the newest first"),
    h("thead", {}, h("tr", {}, ["", "Run", "State", "Started", "Took", "Tokens", "Cost", "Caller"].map((one, at) =>
      h("th", { scope: "col", class: at > 3 && at < 7 ? "right" : undefined }, one || h("span", { class: "unseen" }, "Compare"))))), body);
  const foot = h("p", { class: "foot" });
  main.append(h("div", { class: "head" }, h("h1", {}, "Runs"), h("div", { class: "tools" }, filter, h("div", { class: "chips", role: "group", "aria-label": "States" }, chips), compare)),
    h("div", { class: "card scroll" }, table), foot);

  function line(row) {
    let one = lines.get(row.run);
    if (!one) {
      const pick = h("input", { type: "checkbox", "aria-label": `Compare ${row.run}`, onchange: () => { if (pick.checked) { kept.picked.add(row.run); } else { kept.picked.delete(row.run); } picked(); } });
      pick.checked = kept.picked.has(row.run);
      const link = h("a", { href: to(row.run) }, h("span", { class: "name" }, row.name), h("span", { class: "id" }, row.run));
      const cells = { state: h("td", {}), started: h("td", {}, time(row.started)), took: h("td", { class: "right" }), tokens: h("td", { class: "right" }), cost: h("td", { class: "right" }) };
      const element = h("tr", { data: { run: row.run } }, h("td", { class: "pick" }, pick), h("th", { scope: "row" }, link), Object.values(cells), h("td", {}, row.caller, row.tenant === "local" ? "" : ` · ${row.tenant}`));
      one = { element, link, cells, told: "" };
      lines.set(row.run, one);
    }
    const word = state(row);
    const told = `${word} ${row.waits ?? ""} ${row.cancelling}`;
    if (one.told !== told) {
      set(one.cells.state, badge(word), row.cancelling ? " ending" : "", row.waits ? h("span", { class: "waits" }, waits(row.waits)) : null);
      one.told = told;
    }
    tell(one.cells.took, lasted(row.active));
    tell(one.cells.tokens, row.tokens === null ? "" : number(row.tokens));
    tell(one.cells.cost, row.tokens === null ? "" : row.cost === null ? "unknown" : money(row.cost));
    return one.element;
  }

  const fits = (row) => {
    const text = kept.text.trim().toLowerCase();
    return (!kept.states.size || kept.states.has(row.state)) && (!text || `${row.name} ${row.run} ${row.caller} ${row.tenant} ${row.ending ?? ""} ${row.entry}`.toLowerCase().includes(text));
  };

  function draw() {
    const here = document.activeElement?.closest?.("tr")?.dataset.run;
    const wanted = [...rows.values()].filter(fits).sort((a, b) => b.started - a.started || (a.run < b.run ? -1 : 1)).map(line);
    // Only what is in another place is moved: what has the focus keeps it.
    let at = body.firstChild;
    for (const element of wanted) {
      if (element === at) { at = at.nextSibling; } else { body.insertBefore(element, at); }
    }
    while (at) { const next = at.nextSibling; at.remove(); at = next; }
    if (here && document.activeElement === document.body) { lines.get(here)?.link.focus(); }
    table.hidden = wanted.length === 0;
    set(foot, wanted.length ? `${number(wanted.length)} run${wanted.length === 1 ? "" : "s"}` : rows.size ? "No run is like this." : "There are no runs yet. ",
      !rows.size && !page.about.read_only ? h("a", { href: "#/start" }, "Start one") : null,
      more ? [" ", h("button", { type: "button", onclick: () => { kept.limit = Math.min(kept.limit * 5, 5000); load(); } }, "Show more")] : null);
    picked();
  }

  function picked() {
    const two = [...kept.picked].slice(-2);
    compare.hidden = two.length < 2;
    if (two.length === 2) { compare.href = between(two[0], two[1]); }
  }

  async function load() {
    const told = await get("runs", { limit: kept.limit, states: [...kept.states].join(",") || undefined });
    rows.clear();
    for (const row of told.rows) { rows.set(row.run, row); }
    more = told.more;
    draw();
  }

  function step(by) {
    const links = [...body.querySelectorAll("th a")];
    const here = links.indexOf(document.activeElement?.closest?.("tr")?.querySelector("th a"));
    links[Math.max(0, Math.min(links.length - 1, here < 0 ? 0 : here + by))]?.focus();
  }

  const clock = setInterval(() => { for (const [run, one] of lines) { const row = rows.get(run); if (row) { one.cells.started.replaceChildren(time(row.started)); } } }, 30000);
  return {
    ready: load(),
    hear(name, told) {
      if (name !== "runs") { return; }
      if (told.first && rows.size) { load(); return; }
      for (const row of told.rows) {
        const before = rows.get(row.run);
        if (before && state(before) !== state(row)) { say(`${row.name} ${state(row)}`); }
        rows.set(row.run, row);
      }
      if (told.rows.length) { draw(); }
    },
    key(key) {
      if (key === "/") { filter.focus(); filter.select(); return true; }
      if (key === "j" || key === "ArrowDown") { step(1); return true; }
      if (key === "k" || key === "ArrowUp") { step(-1); return true; }
      if (key === "Home" || key === "End") { step(key === "Home" ? -1e9 : 1e9); return true; }
      return false;
    },
    known: draw,
    leave() { clearInterval(clock); },
  };
}

const WAITS = { approval: "for an approval", uncertain: "for a person to settle a call", time: "for its time" };
export function waits(text) {
  const found = text.split("; ").map((one) => WAITS[one.split(" at ")[0]] ?? one.slice(0, 120));
  return [...new Set(found)].join(", ");
}
