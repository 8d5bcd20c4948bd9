// An agent's picture with the run on it: what was visited, how often, where it is now. What was visited can be gone to.

import { h, set, sign, svg } from "./dom.js";

const MARGIN = 8;

export class Graph {
  constructor(chosen) {
    this.chosen = chosen;
    this.named = null;
    this.told = "";
    this.choice = h("select", { "aria-label": "Which agent", hidden: true, onchange: () => { this.named = this.choice.value; this.draw(); } });
    this.place = h("div", { class: "picture" });
    this.element = h("section", { class: "graph card", "aria-labelledby": "graph-title" }, h("div", { class: "card-head" }, h("h2", { id: "graph-title" }, "Graph"), this.choice), this.place);
  }

  show(graphs) {
    const text = JSON.stringify(graphs);
    if (text === this.told) { return; }
    this.told = text;
    this.graphs = graphs;
    set(this.choice, graphs.map((one) => h("option", { value: one.name }, one.name)));
    this.choice.hidden = graphs.length < 2;
    if (!graphs.some((one) => one.name === this.named)) { this.named = graphs[0]?.name; }
    this.choice.value = this.named;
    this.draw();
  }

  draw() {
    const focused = document.activeElement?.closest?.(".picture .point")?.dataset.name;
    const one = this.graphs.find((graph) => graph.name === this.named);
    if (!one) { set(this.place); return; }
    const width = one.width + 2 * MARGIN;
    const height = one.height + 2 * MARGIN;
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": `${one.kind === "agent" ? "agent" : "calls of"} ${one.name}: ${summary(one)}` },
      svg("defs", {}, ["to", "took", "bad"].map((id) => svg("marker", { id: `m-${id}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { class: `tip ${id}`, d: "M 1 1 L 7 4 L 1 7" })))));
    const inside = svg("g", { transform: `translate(${MARGIN} ${MARGIN + one.box / 2})` });
    for (const arrow of one.arrows) {
      const word = arrow.taken ? (arrow.fails ? "bad" : "took") : "to";
      inside.append(svg("path", { class: `arrow${arrow.taken ? " taken" : ""}${arrow.fails ? " fails" : ""}${arrow.newest && this.moving ? " newest" : ""}`, d: arrow.way, "marker-end": `url(#m-${word})` },
        svg("title", {}, `${arrow.source} -> ${arrow.target} ${arrow.label}${arrow.taken ? `, taken ${times(arrow.taken)}` : ""}`)));
      const label = [arrow.label, arrow.taken > 1 ? `×${arrow.taken}` : ""].filter(Boolean).join(" ");
      if (label && arrow.x !== null) {
        const long = label.length * 6.4 + 8;
        inside.append(svg("rect", { class: "back", x: arrow.x - long / 2, y: arrow.y - 8, width: long, height: 16, rx: 4 }), svg("text", { class: "label", x: arrow.x, y: arrow.y + 4 }, label));
      }
    }
    for (const point of one.points) { inside.append(this.point(point, one.box)); }
    picture.append(inside);
    picture.style.maxWidth = `${width}px`;
    picture.style.minWidth = `${width * 0.68}px`;
    set(this.place, picture);
    if (focused) { this.place.querySelector(`.point[data-name="${CSS.escape(focused)}"]`)?.focus(); }
  }

  point(point, box) {
    const visited = point.visits > 0;
    const state = visited ? point.state ?? "value" : "none";
    const mark = `${point.visits > 1 ? `×${point.visits} ` : ""}${["value", "none"].includes(state) ? "" : sign(state)}`.trim();
    const go = point.span ? () => this.chosen(point.span) : null;
    const said = `${point.name}${point.detail ? ` ${point.detail}` : ""}${mark ? ` ${mark}` : ""}: ${visited ? `visited ${times(point.visits)}, ${state === "value" ? "done" : state}` : "not visited"}`;
    const middle = point.x + point.width / 2;
    const place = svg("g", { class: `point ${point.kind} s-${state}${visited ? " visited" : ""}`, ...(go ? { role: "button", tabindex: 0, "aria-label": said, onclick: go, onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); go(); } } } : {}) }, svg("title", {}, said));
    place.dataset.name = point.name;
    if (point.kind === "join") {
      const half = box / 2;
      place.append(svg("path", { class: "box", d: `M ${middle} ${point.y} l ${half} ${half} l ${-half} ${half} l ${-half} ${-half} z` }), svg("text", { x: middle, y: point.y + half + 4 }, "&"));
      return place;
    }
    place.append(svg("rect", { class: "box", x: point.x, y: point.y, width: point.width, height: box, rx: point.kind === "end" ? box / 2 : 7 }));
    place.append(svg("text", { x: middle, y: point.y + (point.detail ? 15 : 21) }, point.name));
    if (point.detail) { place.append(" ", svg("text", { class: "detail", x: middle, y: point.y + 28 }, point.detail)); }
    if (mark) {
      const wide = mark.length * 7 + 8;
      place.append(" ", svg("rect", { class: "mark", x: point.x + point.width - wide / 2 - 4, y: point.y - 8, width: wide, height: 16, rx: 8 }), svg("text", { class: "mark-text", x: point.x + point.width - 4, y: point.y + 4 }, mark));
    }
    return place;
  }

  focus() { (this.place.querySelector('[tabindex="0"]') ?? this.choice).focus(); }
}

const times = (count) => (count === 1 ? "once" : count === 2 ? "twice" : `${count} times`);
const summary = (one) => one.points.filter((point) => point.visits).map((point) => point.name).join(", ") || "nothing visited yet";
