// The data behind the page, and what happens, live.

export class Failed extends Error {
  constructor(status, told) {
    super(told.error ?? `the studio answered ${status}`);
    this.status = status;
    this.notes = told.notes ?? [];
    this.told = told;
  }
}

// JSON whose whole numbers keep every digit: an Int has no bounds, a number here has.
export const parse = (text) => JSON.parse(text, (_, value, at) => Number.isInteger(value) && !Number.isSafeInteger(value) && at?.source ? JSON.rawJSON(at.source) : value);
// What was typed as a number; the text itself where it is none.
export function numeral(typed) {
  try { const value = parse(typed); if (typeof value === "number" || JSON.isRawJSON?.(value)) { return value; } } catch { /* as it is read without JSON */ }
  return typed.trim() === "" || Number.isNaN(Number(typed)) ? typed : Number(typed);
}

async function answered(response) {
  let told = {};
  try { told = parse(await response.text()); } catch { told = {}; }
  if (!response.ok) { throw new Failed(response.status, told); }
  return told;
}

async function asked(path, how) {
  let response;
  try { response = await fetch(`api/${path}`, how); }
  catch { throw new Failed(0, { error: "the studio does not answer", notes: ["is `ael studio` still running?"] }); }
  return answered(response);
}

export const get = (path, query = {}) => {
  const said = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined && value !== null));
  return asked(`${path}${said.size ? `?${said}` : ""}`, { cache: "no-store" });
};
export const post = (path, body) => asked(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
export const at = (run) => `runs/${encodeURIComponent(run)}`;

// One stream for the page: a page that is not seen holds none, and reads all anew when it is.
export class Live {
  constructor(hear) {
    this.hear = hear;
    this.run = null;
    this.after = -1;
    this.source = null;
    document.addEventListener("visibilitychange", () => (document.hidden ? this.close() : this.open()));
  }

  follow(run, after = -1) {
    if (this.run === run && this.source) { return; }
    this.run = run;
    this.after = after;
    this.close();
    this.open();
  }

  open() {
    if (this.source || document.hidden) { return; }
    const said = this.run === null ? "" : `?${new URLSearchParams({ run: this.run, after: String(this.after) })}`;
    const source = new EventSource(`api/events${said}`);
    this.source = source;
    for (const name of ["runs", "run", "text", "trouble"]) {
      source.addEventListener(name, (event) => {
        const told = parse(event.data);
        if (name === "run") { this.after = told.after; }
        this.hear(name, told);
      });
    }
    source.addEventListener("open", () => this.hear("open", {}));
    source.addEventListener("error", () => this.hear("lost", {}));
  }

  close() {
    this.source?.close();
    this.source = null;
  }
}
