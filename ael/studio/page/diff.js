// Two runs beside each other: where they first differ, what each did otherwise, what it took, how it ended.

import { get } from "./api.js";
import { h, json, lasted, money, number, to } from "./dom.js";
import { title } from "./main.js";

export function view(main, page, a, b) {
  title("Compare");
  page.live.follow(null);
  const link = (run) => h("a", { href: to(run) }, run);
  async function load() {
    const told = await get("diff", { a, b });
    const row = (label, read) => h("tr", {}, h("th", { scope: "row" }, label), h("td", {}, read(told.spent.a)), h("td", {}, read(told.spent.b)));
    main.append(h("div", { class: "head" }, h("h1", {}, "Two runs beside each other")),
      h("div", { class: "card beside" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, h("span", { class: "unseen" }, "What")), h("th", { scope: "col" }, "a · ", link(told.a)), h("th", { scope: "col" }, "b · ", link(told.b)))),
        h("tbody", {}, row("Tokens", (one) => (one.tokens === null ? "—" : number(one.tokens))), row("Cost", (one) => (one.cost === null ? "unknown" : money(one.cost)) + (one.paid ? ` (paid itself: ${money(one.paid)})` : "")), row("At work", (one) => lasted(one.active))))));
    if (!told.effects.length && !told.outcome) { main.append(h("p", { class: "empty card" }, "They did the same, and ended the same way.")); return; }
    if (told.first) { main.append(h("p", {}, "They first differ at ", h("code", {}, told.first), ".")); }
    const side = (word, value) => h("div", { class: "side-by" }, h("h3", {}, word), value === null ? h("p", { class: "soft" }, "not there") : json(Object.fromEntries(Object.entries(value).filter(([name, one]) => name !== "target" && one !== null))));
    for (const one of told.effects.slice(0, 500)) {
      main.append(h("section", { class: "card difference" }, h("h2", {}, one.target, " ", h("code", {}, one.path)), h("div", { class: "pair" }, side("a", one.a), side("b", one.b))));
    }
    if (told.effects.length > 500) { main.append(h("p", { class: "soft" }, `and ${number(told.effects.length - 500)} more differences`)); }
    if (told.outcome) { main.append(h("section", { class: "card difference" }, h("h2", {}, "How they ended"), h("div", { class: "pair" }, ["a", "b"].map((word, at) => h("div", { class: "side-by" }, h("h3", {}, word), json(told.outcome[at])))))); }
  }
  return { ready: load() };
}
