// The timeline of a run as a tree with bars. Only the lines that are seen are elements, so that a run of ten thousand steps is as quick as
// one of ten; the line that has the focus always is one.

import { h, lasted, money, number, set, sign, tell } from "./dom.js";

const LINE = 28;
const SPARE = 12;
const WORK = new Set(["turn", "tool", "operation", "store", "effect", "retry"]);

// Long times in which nothing was done (a run that waited for a person) are drawn short, so that the work can be seen.
function scale(spans, whole) {
  const busy = spans.filter((one) => WORK.has(one.kind) && one.for > 0 && !one.more?.parked && one.out !== "parked")
    .map((one) => [one.at, one.at + one.for]).sort((a, b) => a[0] - b[0]);
  const merged = [];
  for (const [from, to] of busy) {
    const last = merged[merged.length - 1];
    if (last && from <= last[1]) { last[1] = Math.max(last[1], to); } else { merged.push([from, to]); }
  }
  const work = merged.reduce((sum, [from, to]) => sum + to - from, 0);
  const longest = Math.max(work * 0.5, 1);
  const pieces = [];
  let at = 0;
  for (const [from, to] of [...merged, [whole, whole]]) {
    if (from > at) { pieces.push({ from: at, to: from, idle: from - at > longest && work > 0 }); }
    if (to > from) { pieces.push({ from, to, idle: false }); }
    at = Math.max(at, to);
  }
  let place = 0;
  for (const piece of pieces) {
    piece.start = place;
    piece.size = piece.idle ? longest * 0.25 : piece.to - piece.from;
    place += piece.size;
  }
  const total = place || 1;
  const on = (time) => {
    for (const piece of pieces) {
      if (time <= piece.to) { return (piece.start + (piece.to > piece.from ? (Math.max(time, piece.from) - piece.from) / (piece.to - piece.from) : 0) * piece.size) / total; }
    }
    return 1;
  };
  return { on, gaps: pieces.filter((one) => one.idle).map((one) => ({ left: one.start / total, width: one.size / total, for: one.to - one.from })) };
}

export class Timeline {
  constructor(chosen) {
    this.chosen = chosen;
    this.spans = [];
    this.closed = new Set();
    this.lines = [];
    this.made = new Map();
    this.active = 1;
    this.picked = null;
    this.inside = h("div", { class: "lines", role: "rowgroup" });
    this.gaps = h("span", { class: "lane" });
    this.element = h("div", { class: "timeline", role: "treegrid", "aria-label": "Timeline", "aria-colcount": 5 },
      h("div", { class: "line top", role: "row", "aria-rowindex": 1 }, ["Step", "Time", "Tokens", "Cost", "When"].map((one, at) => h("span", { role: "columnheader", class: `c${at}` }, one))),
      this.inside);
    this.first = h("div", { class: "line gaps", "aria-hidden": "true" }, this.gaps);
    this.inside.append(this.first);
    this.element.addEventListener("scroll", () => this.draw(), { passive: true });
    this.element.addEventListener("keydown", (event) => this.pressed(event));
    this.element.addEventListener("click", (event) => this.clicked(event));
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this.element);
  }

  // All spans of the run as they are now. `whole` is its length in seconds.
  show(spans, whole) {
    const picked = this.at(this.active);
    this.spans = spans;
    this.by = new Map(spans.map((one) => [one.n, one]));
    this.below = new Map();
    for (const one of spans) {
      const up = this.by.has(one.up) ? one.up : null;
      if (!this.below.has(up)) { this.below.set(up, []); }
      this.below.get(up).push(one);
    }
    this.scale = scale(spans, Math.max(whole, ...spans.slice(0, 1).map((one) => one.for)));
    if (picked) { const same = spans.find((one) => one.path === picked.path && one.kind === picked.kind); this.active = same ? same.n : 1; }
    set(this.gaps, this.scale.gaps.map((one) => { const gap = h("span", { class: "gap", title: `nothing for ${lasted(one.for)}` }); gap.style.left = `${one.left * 100}%`; gap.style.width = `${one.width * 100}%`; return gap; }));
    this.flow();
  }

  key(one) { return `${one.kind} ${one.path} ${one.name}`; }
  at(n) { return this.by?.get(n); }

  flow() {
    const lines = [];
    const stack = (this.below.get(null) ?? []).map((one, at, all) => [one, 1, at + 1, all.length]).reverse();
    while (stack.length) {
      const [one, level, place, of] = stack.pop();
      const below = this.below.get(one.n) ?? [];
      const open = below.length > 0 && !this.closed.has(this.key(one));
      lines.push({ one, level, place, of, below: below.length, open });
      if (open) { for (let at = below.length - 1; at >= 0; at--) { stack.push([below[at], level + 1, at + 1, below.length]); } }
    }
    this.lines = lines;
    this.places = new Map(lines.map((line, at) => [line.one.n, at]));
    if (!this.places.has(this.active)) {
      let one = this.at(this.active);
      while (one && !this.places.has(one.n)) { one = this.at(one.up); }
      this.active = one?.n ?? 1;
    }
    this.inside.style.height = `${lines.length * LINE}px`;
    this.element.setAttribute("aria-rowcount", lines.length + 1);
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.element.scrollTop / LINE) - SPARE);
    const last = Math.min(this.lines.length, Math.ceil((this.element.scrollTop + this.element.clientHeight) / LINE) + SPARE);
    const wanted = new Set();
    for (let at = first; at < last; at++) { wanted.add(at); }
    if (this.places?.has(this.active)) { wanted.add(this.places.get(this.active)); }
    const used = new Set();
    const ordered = [...wanted].sort((a, b) => a - b);
    let before = this.first;
    for (const at of ordered) {
      const line = this.lines[at];
      const key = this.key(line.one) + line.one.n;
      const row = this.made.get(key) ?? this.make(key);
      this.fill(row, line, at);
      used.add(key);
      if (before.nextSibling !== row.element) {
        // A line with the focus stays where it is: to move it would take the focus away.
        if (row.element.contains(document.activeElement)) { while (before.nextSibling && before.nextSibling !== row.element) { before.nextSibling.remove(); } }
        else { before.after(row.element); }
      }
      before = row.element;
    }
    if (this.wanted && ordered.length) { this.focus(); }
    for (const [key, row] of this.made) { if (!used.has(key)) { row.element.remove(); this.made.delete(key); } }
  }

  make(key) {
    const cells = [0, 1, 2, 3].map((at) => h("span", { role: "gridcell", class: `c${at}` }));
    const twist = h("span", { class: "twist", "aria-hidden": "true" });
    const kind = h("span", { class: "kind" });
    const name = h("span", { class: "what" });
    const out = h("span", { class: "out" });
    cells[0].append(twist, kind, " ", name, " ", out);
    const bar = h("i", {});
    const lane = h("span", { role: "gridcell", class: "lane c4" }, bar, h("span", { class: "unseen" }));
    const element = h("div", { class: "line", role: "row", data: { key } }, cells, lane);
    const row = { element, cells, twist, kind, name, out, bar, lane };
    this.made.set(key, row);
    return row;
  }

  fill(row, line, at) {
    const { one, level, below, open } = line;
    const element = row.element;
    element.style.transform = `translateY(${at * LINE}px)`;
    element.dataset.n = one.n;
    const bad = one.out && !["parked", "running", "open"].includes(one.out);
    element.className = `line k-${one.kind}${bad ? " bad" : ""}${one.out ? ` o-${one.out}` : ""}${this.picked === one.n ? " picked" : ""}`;
    const said = { "aria-rowindex": at + 2, "aria-level": level, "aria-posinset": line.place, "aria-setsize": line.of, "aria-selected": String(this.picked === one.n), tabindex: one.n === this.active ? 0 : -1 };
    for (const [name, value] of Object.entries(said)) { if (element.getAttribute(name) !== String(value)) { element.setAttribute(name, value); } }
    if (below) { element.setAttribute("aria-expanded", String(open)); } else { element.removeAttribute("aria-expanded"); }
    row.cells[0].style.paddingInlineStart = `${8 + (level - 1) * 14}px`;
    tell(row.twist, below ? (open ? "▾" : "▸") : "");
    tell(row.kind, one.kind);
    tell(row.name, one.name + (one.more?.attempt ? ` (attempt ${one.more.attempt})` : ""));
    tell(row.out, one.out ? `${sign(one.out)} ${one.out === "parked" ? "waiting" : one.out}` : one.kind === "approval" ? `by ${one.more?.by ?? "nobody yet"}` : "");
    const parked = one.more?.parked ?? 0;
    const took = one.kind === "edge" || one.kind === "release" ? "" : lasted(Math.max(0, one.for - parked));
    tell(row.cells[1], took);
    row.cells[1].title = parked ? `${took} at work, ${lasted(parked)} waiting` : "";
    tell(row.cells[2], one.tokens ? `${one.estimated ? "~" : ""}${number(one.tokens)}` : "");
    tell(row.cells[3], one.more?.cost !== undefined ? money(one.more.cost) : "");
    const left = this.scale.on(one.at);
    const right = this.scale.on(one.at + one.for);
    row.bar.style.left = `min(${left * 100}%, 100% - 2px)`;
    row.bar.style.width = `max(2px, ${(right - left) * 100}%)`;
    tell(row.lane.lastChild, `from ${lasted(one.at)} on`);
  }

  move(to, focus = true) {
    const at = Math.max(0, Math.min(this.lines.length - 1, to));
    if (!this.lines[at]) { return; }
    this.active = this.lines[at].one.n;
    const top = at * LINE;
    const room = this.element.clientHeight - LINE;
    if (top < this.element.scrollTop) { this.element.scrollTop = top; }
    if (top + LINE > this.element.scrollTop + room) { this.element.scrollTop = top + LINE - room; }
    this.draw();
    if (focus) { this.focus(); }
  }

  // Before there are lines: as soon as there are.
  focus() {
    const line = this.element.querySelector('.lines [tabindex="0"]');
    this.wanted = !line;
    line?.focus({ preventScroll: true });
  }

  fold(one, close) { if (close) { this.closed.add(this.key(one)); } else { this.closed.delete(this.key(one)); } this.flow(); this.focus(); }

  // Open what is above it, and go there.
  reveal(n, focus) {
    let one = this.at(this.at(n)?.up);
    while (one) { this.closed.delete(this.key(one)); one = this.at(one.up); }
    this.flow();
    this.move(this.places.get(n) ?? 0, focus);
  }

  pick(n) { this.picked = n; this.draw(); this.chosen(this.at(n)); }

  next(fits) {
    const here = this.spans.findIndex((one) => one.n === this.active);
    const order = [...this.spans.slice(here + 1), ...this.spans.slice(0, here + 1)];
    const found = order.find(fits);
    if (found) { this.reveal(found.n, true); }
    return found;
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) { return; }
    const at = this.places.get(this.active) ?? 0;
    const line = this.lines[at];
    if (!line) { return; }
    const page = Math.max(1, Math.floor(this.element.clientHeight / LINE) - 2);
    const to = { ArrowDown: at + 1, j: at + 1, ArrowUp: at - 1, k: at - 1, Home: 0, End: this.lines.length - 1, PageDown: at + page, PageUp: at - page }[event.key];
    if (to !== undefined) { this.move(to); }
    else if (event.key === "ArrowRight" && line.below) { if (line.open) { this.move(at + 1); } else { this.fold(line.one, false); } }
    else if (event.key === "ArrowLeft") { if (line.open) { this.fold(line.one, true); } else if (this.places.has(line.one.up)) { this.move(this.places.get(line.one.up)); } }
    else if (event.key === "Enter" || event.key === " ") { this.pick(line.one.n); }
    else { return; }
    event.preventDefault();
  }

  clicked(event) {
    const row = event.target.closest(".line[data-n]");
    if (!row) { return; }
    const n = Number(row.dataset.n);
    this.active = n;
    const line = this.lines[this.places.get(n)];
    if (event.target.closest(".twist") && line.below) { this.fold(line.one, line.open); return; }
    this.pick(n);
    this.focus();
  }

  leave() { this.watch.disconnect(); }
}
