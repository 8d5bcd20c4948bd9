// The page as a whole: which view is shown, the keys that hold everywhere, what is heard live.

import { Live, get } from "./api.js";
import { dialog, h, problem, say, set, tell } from "./dom.js";
import * as runs from "./runs.js";
import * as run from "./run.js";

const main = document.getElementById("main");
const notice = document.getElementById("notice");
export const page = { about: {}, waits: 0, view: null, live: null, name: "" };

const VIEWS = [
  [/^$/, "runs", () => runs],
  [/^runs\/([^/]+)$/, "runs", () => run],
  [/^inbox$/, "inbox", () => import("./inbox.js")],
  [/^start$/, "start", () => import("./start.js")],
  [/^diff\/([^/]+)\/([^/]+)$/, "runs", () => import("./diff.js")],
];

function heard(name, told) {
  const place = document.getElementById("live");
  if (name === "open") { place.className = "live on"; tell(place, "live"); }
  if (name === "lost" || name === "trouble") { place.className = "live off"; tell(place, name === "lost" ? "not connected" : told.message); }
  if (name === "runs") { waits(told.waits); }
  page.view?.hear?.(name, told);
}

function waits(count) {
  const place = document.getElementById("waits");
  if (count > page.waits && page.name !== "inbox") { say(`${count} waiting for a decision`); }
  page.waits = count;
  place.hidden = count === 0;
  tell(place, String(count));
  place.setAttribute("aria-label", `${count} waiting`);
  document.title = document.title.replace(/^\(\d+\) /, "").replace(/^/, count ? `(${count}) ` : "");
}

export function title(text) {
  document.title = `${page.waits ? `(${page.waits}) ` : ""}${text} · AEL Studio`;
}

async function show() {
  const path = decodeURI(location.hash.replace(/^#\/?/, "")).split("?")[0];
  const found = VIEWS.find(([pattern]) => pattern.test(path));
  page.view?.leave?.();
  page.view = null;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === found?.[1]) { link.setAttribute("aria-current", "page"); } else { link.removeAttribute("aria-current"); }
  }
  if (!found) { set(main, h("h1", {}, "Nothing is here"), h("p", {}, h("a", { href: "#/" }, "All runs"))); return; }
  page.name = found[1];
  const [, ...parts] = path.match(found[0]);
  const module = await found[2]();
  set(main);
  try {
    const view = module.view(main, page, ...parts.map(decodeURIComponent));
    page.view = view;
    // At once: whoever goes on by keyboard while the data comes keeps their place.
    if (shown) { main.focus({ preventScroll: true }); scrollTo(0, 0); }
    shown = true;
    await view.ready;
  } catch (error) {
    main.append(problem(error));
  }
}
let shown = false;

const KEYS = [
  ["g then r", "all runs"], ["g then a", "approvals"], ["n", "new run"], ["/", "filter runs"],
  ["↑ ↓ or j k", "move between runs, or lines of the timeline"], ["← →", "close and open a line of the timeline"],
  ["Enter", "open a run; show a step with its content"], ["e", "the next step that ended badly"], ["f", "fork from the step"],
  ["t", "the timeline"], ["p", "the graph"], ["i", "the step that is shown"], ["Esc", "close what is open"], ["?", "these keys"],
];
function help() {
  dialog("Keyboard shortcuts", h("dl", { class: "keys" }, KEYS.map(([key, what]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)))));
}

let before = "";
document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) { return; }
  if (document.querySelector("dialog[open]") || event.target.closest("input, textarea, select")) { return; }
  const key = event.key;
  const go = { r: "#/", a: "#/inbox" }[key];
  if (before === "g" && go) { location.hash = go; }
  else if (key === "?") { help(); }
  else if (key === "n" && !page.about.read_only) { location.hash = "#/start"; }
  else if (!page.view?.key?.(key)) { before = key; return; }
  before = "";
  event.preventDefault();
});

const dark = matchMedia("(prefers-color-scheme: dark)");
function theme(word) {
  if (word) { document.documentElement.dataset.theme = word; } else { delete document.documentElement.dataset.theme; }
}
document.getElementById("theme").addEventListener("click", () => {
  const now = document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  localStorage.setItem("ael-theme", next);
  theme(next);
  say(`${next} colours`);
});
theme(localStorage.getItem("ael-theme"));
document.getElementById("keys").addEventListener("click", help);
document.getElementById("skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
window.addEventListener("hashchange", show);

page.live = new Live(heard);
get("about").then((about) => {
  page.about = about;
  tell(document.getElementById("program"), `${about.program}${about.deploy === "default" ? "" : ` · ${about.deploy}`}`);
  if (about.read_only) { document.getElementById("start").hidden = true; }
  if (about.problems.length) {
    set(notice, h("div", { class: "notice" }, h("strong", {}, "The program has errors: "), "runs are shown without it, and none can be begun.",
      h("ul", {}, about.problems.map((one) => h("li", {}, one)))));
  }
  page.view?.known?.();
}).catch((error) => { set(notice, problem(error)); });
show();
