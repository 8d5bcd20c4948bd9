"use strict";
const lines = [...document.querySelectorAll("summary")];
const bad = [...document.querySelectorAll("details.bad > summary")];
const open = (yes) => document.querySelectorAll("details").forEach((one) => { one.open = yes; });
const go = (line) => { if (line) { line.focus(); line.scrollIntoView({ block: "nearest" }); } };
document.querySelector(".tools").hidden = false;
document.getElementById("all").addEventListener("click", () => open(true));
document.getElementById("none").addEventListener("click", () => open(false));
const next = document.getElementById("next");
next.hidden = bad.length === 0;
let at = -1;
next.addEventListener("click", () => { at = (at + 1) % bad.length; bad[at].parentElement.open = true; go(bad[at]); });
document.addEventListener("keydown", (event) => {
  const here = lines.indexOf(document.activeElement);
  if (here < 0 || event.altKey || event.ctrlKey || event.metaKey) { return; }
  const moves = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: lines.length - 1 };
  if (event.key in moves) { event.preventDefault(); go(lines[moves[event.key]]); }
  else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
    event.preventDefault(); lines[here].parentElement.open = event.key === "ArrowRight";
  }
});
