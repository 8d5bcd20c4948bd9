// Everything that waits for a person, in all runs.

import { h } from "./dom.js";
import { title } from "./main.js";
import { Pending } from "./pending.js";

export function view(main, page) {
  title("Approvals");
  page.live.follow(null);
  const pending = new Pending(page, { empty: h("p", { class: "empty card" }, "Nothing waits for a person.") });
  main.append(h("div", { class: "head" }, h("h1", {}, "Approvals and questions"), h("p", { class: "soft" }, "You decide as ", h("strong", {}, page.about.user ?? "you"), ". A decision counts once, for exactly this call.")), pending.element);
  return {
    ready: pending.load(),
    hear(name, told) { if (name === "runs" && (told.first || told.rows.some((one) => one.state === "parked" || pending.element.textContent.includes(one.run)))) { pending.load(); } },
    leave() { pending.leave(); },
  };
}
