// ---- how calls are made: the same in every client ----

/** A value, and the run that gave it. */
export interface Value<T> { readonly outcome: "value"; readonly value: T; readonly run: string }
/** An error that the program declares, with its fields. */
export interface Failed<N extends string, E> { readonly outcome: "error"; readonly error: N; readonly value: E; readonly run: string }
/** A fault: what went wrong is of no kind that the program declares. `details` as the kind has them (`retry_after` in seconds, `problems`). */
export interface Faulted {
  readonly outcome: "fault"; readonly kind: string; readonly message: string; readonly details: { readonly [name: string]: unknown };
  readonly run: string;
}
/** The call may or may not have taken effect. Look there, under `key`, before it is done again: nothing was repeated. */
export interface Uncertain { readonly outcome: "uncertain"; readonly key: string; readonly operation: string; readonly step: string; readonly run: string }
/** What happens in a call, by name: `text`, `tool_started`, `turn_finished` and others, each with its data. */
export interface CallEvent { readonly event: string; readonly data: { readonly [name: string]: unknown } }

/** An exact decimal number as text: `"12.50"`. */
export type Decimal = string;
/** A point in time in UTC: `"2026-01-31T12:00:00Z"`. */
export type Timestamp = string;
/** A day: `"2026-01-31"`. */
export type CalendarDate = string;
/** A length of time: `"PT1H30M"`. */
export type Duration = string;
/** Bytes in base64. */
export type Bytes = string;
/** Content with a media type: by value (base64) or by reference. */
export type File = { readonly media: string; readonly data: Bytes } | { readonly media: string; readonly uri: string };
/** Any JSON. A whole number beyond 2^53 is a `bigint`. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | { readonly [name: string]: Json };

export interface ClientOptions {
  /** The token of a caller of the deployment. */
  readonly token?: string;
  /** Milliseconds of a call that has no `timeout` of its own: 300,000. */
  readonly timeout?: number;
  /** How often a call is sent at most, where that does no harm: 3. */
  readonly attempts?: number;
  /** Take `http://` of another machine too, where nobody listens. */
  readonly plain?: boolean;
  /** In place of the global `fetch`. */
  readonly fetch?: typeof fetch;
}

export interface CallOptions {
  /** Names the one effect of this call, over all attempts and programs; without one it gets a key of its own. */
  readonly key?: string;
  /** Milliseconds from now. */
  readonly timeout?: number;
  /** Gives the call up, at the server too. */
  readonly signal?: AbortSignal;
  /** The W3C `traceparent` that the run's trace belongs under. */
  readonly traceParent?: string;
  /** Hears each event of the run; what it throws changes nothing. */
  readonly onEvent?: (event: CallEvent) => void;
}

type AelShape =
  | "any" | "string" | "integer" | "whole" | "number" | "boolean" | "null" | "unit" | "file"
  | { readonly list: AelShape } | { readonly map: AelShape } | { readonly named: string } | { readonly is: string | number | boolean }
  | { readonly any: readonly AelShape[] } | { readonly record: readonly AelField[] } | { readonly kind: string; readonly record: readonly AelField[] };
type AelField = readonly [name: string, shape: AelShape, required: boolean];
interface AelMethod {
  readonly path: string; readonly name: string; readonly repeatable: boolean; readonly bare: boolean; readonly result: AelShape;
  readonly errors: { readonly [name: string]: string };
}
interface AelEnding { readonly [name: string]: unknown }
interface AelAnswer { readonly run: string; readonly result?: unknown; readonly ending?: AelEnding; readonly lost?: boolean; readonly again?: number }

const MAX_ANSWER = 16 * 1024 * 1024;
const MAX_STREAM = 64 * 1024 * 1024;
const GRACE = 1_000;
const NOTHING_SENT = new Set(["connect", "getaddrinfo"]);
const REFUSED: { readonly [code: string]: string } = {
  invalid_argument: "BadArguments", out_of_range: "BadArguments", permission_denied: "Denied", unauthenticated: "Denied",
  unimplemented: "Unavailable", not_found: "ToolFailed", already_exists: "ToolFailed", failed_precondition: "ToolFailed",
  resource_exhausted: "Unavailable",
};
const CODES: { readonly [status: number]: string } = {
  401: "unauthenticated", 403: "permission_denied", 404: "unimplemented", 413: "invalid_argument", 415: "unimplemented", 429: "resource_exhausted",
  502: "unavailable", 503: "unavailable", 504: "unavailable",
};
/** `setTimeout` takes no longer time: it would fire at once. */
const LONGEST = 2 ** 31 - 1;

class AelWrong extends Error {}

class AelCaller {
  readonly #origin: string;
  readonly #options: ClientOptions;

  constructor(url: string, options: ClientOptions) {
    const at = new URL(url);
    const own = ["localhost", "127.0.0.1", "[::1]"].includes(at.hostname);
    if (at.protocol !== "https:" && !(at.protocol === "http:" && (own || options.plain === true))) {
      throw new TypeError(`\`${at.host}\` would be asked without TLS: write \`https://…\`, or \`plain: true\` for a network that nobody listens to`);
    }
    if (at.username !== "" || at.password !== "" || at.search !== "" || at.hash !== "") {
      throw new TypeError("the address of a server has no user, no query and no fragment");
    }
    // What `fetch` would say of these names the token.
    if (options.token !== undefined && !/^[!-~]+$/.test(options.token)) throw new TypeError("a token is visible ASCII characters without blanks");
    this.#origin = at.origin + at.pathname.replace(/\/+$/, "");
    this.#options = options;
  }

  /** Calls, and calls again where that does no harm. Never rejects for what the network or the server does. */
  async call(method: AelMethod, given: unknown, options: CallOptions): Promise<never> {
    const key = options.key ?? crypto.randomUUID();
    if (!/^[!-~]{1,512}$/.test(key)) throw new TypeError("a key has at most 512 visible ASCII characters");
    if (options.traceParent !== undefined && !/^[!-~]{1,512}$/.test(options.traceParent)) throw new TypeError("this is no `traceparent`");
    const time = options.timeout ?? this.#options.timeout ?? 300_000;
    if (Number.isNaN(time)) throw new TypeError("a timeout is a number of milliseconds");
    const until = Date.now() + Math.min(time, LONGEST - GRACE);
    const body = written(given);
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#once(method, body, key, until, options);
      const wait = answer.again === undefined ? 0 : Math.max(answer.again, Math.min(5_000, 200 * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2));
      if (answer.again === undefined || attempt >= (this.#options.attempts ?? 3) || Date.now() + wait >= until || options.signal?.aborted === true) {
        return ended(method, key, answer) as never;
      }
      await slept(wait, options.signal);
    }
  }

  async #once(method: AelMethod, body: string, key: string, until: number, options: CallOptions): Promise<AelAnswer> {
    const left = until - Date.now();
    if (left <= 0) return { run: "", ending: fault("Timeout", "no time was left to ask") };
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort("time"), left + GRACE);
    const give = (): void => stop.abort("given up");
    if (options.signal?.aborted === true) give();
    options.signal?.addEventListener("abort", give);
    const headers: Record<string, string> = {
      "content-type": "application/json", "connect-protocol-version": "1", "idempotency-key": key,
      "connect-timeout-ms": String(Math.max(1, Math.floor(left))), accept: options.onEvent === undefined ? "application/json" : "application/json, text/event-stream",
    };
    if (this.#options.token !== undefined) headers["authorization"] = `Bearer ${this.#options.token}`;
    if (options.traceParent !== undefined) headers["traceparent"] = options.traceParent;
    let sent = true;
    let answered = false;
    try {
      if (stop.signal.aborted) sent = false;
      const send = this.#options.fetch ?? fetch;
      const response = await send(this.#origin + method.path, { method: "POST", headers, body, signal: stop.signal, redirect: "error", credentials: "omit" });
      answered = true;
      const kind = (response.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
      if (response.status === 200 && kind === "text/event-stream") return await this.#followed(method, response, options);
      const text = await whole(response, MAX_ANSWER);
      const run = response.headers.get("ael-run") ?? "";
      if (response.status === 200) {
        if (kind !== "application/json") throw new AelWrong("the answer is no JSON");
        return { run, result: read(text) };
      }
      return refused(method, response.status, text, run);
    } catch (problem) {
      if (problem instanceof AelWrong) return { run: "", ending: fault("Malformed", problem.message), lost: true, ...repeated(method) };
      if (!answered && unconnected((problem as { cause?: unknown } | null)?.cause)) sent = false;
      if (stop.signal.aborted) {
        const late = stop.signal.reason === "time";
        return { run: "", ending: late ? fault("Timeout", "no answer came in time") : fault("Cancelled", "the call was given up"), lost: sent };
      }
      const told = fault(sent ? "Disconnected" : "Unavailable", `the server cannot be reached, or the connection broke: ${String(problem)}`);
      return { run: "", ending: told, lost: sent, ...(sent ? repeated(method) : { again: 0 }) };
    } finally {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", give);
    }
  }

  async #followed(method: AelMethod, response: Response, options: CallOptions): Promise<AelAnswer> {
    for await (const [name, text] of events(response)) {
      const data = read(text) as AelEnding;
      if (typeof data !== "object" || data === null) throw new AelWrong("an event is no object");
      if (name !== "end") {
        try {
          const heard: unknown = options.onEvent?.({ event: name, data });
          if (heard instanceof Promise) heard.catch(() => undefined);
        } catch { /* a function of the user's: that it fails changes nothing */ }
        continue;
      }
      const run = typeof data["run"] === "string" ? data["run"] : "";
      if ("result" in data) return { run, result: data["result"] };
      const status = data["status"];
      if (typeof status !== "number" || !("error" in data)) throw new AelWrong("the end of the answer says nothing");
      return refused(method, status, JSON.stringify(data["error"]), run);
    }
    throw new AelWrong("the stream of the answer has no end");
  }
}

function repeated(method: AelMethod): { again?: number } {
  return method.repeatable ? { again: 0 } : {};
}

/** Whether a request failed before there was a connection. The same codes come from connections over which it went out. */
function unconnected(cause: unknown): boolean {
  const { code, syscall, errors } = (cause ?? {}) as { code?: unknown; syscall?: unknown; errors?: unknown };
  if (Array.isArray(errors) && errors.length > 0) return errors.every(unconnected);
  return code === "UND_ERR_CONNECT_TIMEOUT" || (typeof syscall === "string" && NOTHING_SENT.has(syscall));
}

/** Waits, and no longer when the call is given up. */
async function slept(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((done) => {
    const wake = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", wake);
      done();
    };
    const timer = setTimeout(wake, milliseconds);
    signal?.addEventListener("abort", wake);
    if (signal?.aborted === true) wake();
  });
}

function fault(kind: string, message: string): AelEnding {
  return { outcome: "fault", kind, message, details: {} };
}

/** What an error of the protocol says: its ending, and whether the call may be sent again. */
function refused(method: AelMethod, status: number, text: string, run: string): AelAnswer {
  let said: AelEnding = {};
  try {
    const found: unknown = read(text);
    if (typeof found === "object" && found !== null) said = found as AelEnding;
  } catch { /* no error of the protocol: the status says what it says */ }
  const details = Array.isArray(said["details"]) ? (said["details"] as AelEnding[]) : [];
  const own = details.find((one) => one?.["type"] === "ael.v1.Ending")?.["debug"] as AelEnding | undefined;
  if (typeof own === "object" && own !== null && typeof own["outcome"] === "string") {
    const more = own["details"] as AelEnding | undefined;
    const after = more?.["retry_after"];
    const again = own["kind"] === "Unavailable" && more?.["final"] !== true && (run === "" || method.repeatable);
    return { run, ending: own, ...(again ? { again: typeof after === "number" ? after * 1_000 : 0 } : {}) };
  }
  const code = typeof said["code"] === "string" ? said["code"] : CODES[status] ?? "unknown";
  const message = typeof said["message"] === "string" ? said["message"] : `the answer has the status ${status}`;
  const kind = Object.hasOwn(REFUSED, code) ? REFUSED[code] : undefined;
  if (kind !== undefined) {
    // What has a run has begun. What is not there is not there a moment later.
    const again = code === "resource_exhausted" && (run === "" || method.repeatable);
    return { run, ending: fault(kind, message), ...(again ? { again: 0 } : {}) };
  }
  return { run, ending: fault(code === "deadline_exceeded" ? "Timeout" : code === "unavailable" ? "Unavailable" : "Disconnected", message), lost: true, ...repeated(method) };
}

/** How a call ended, as one of its outcomes. An answer that says nothing of what may not be repeated leaves it uncertain. */
function ended(method: AelMethod, key: string, answer: AelAnswer): unknown {
  const { run, ending } = answer;
  const unread = (why: string): unknown =>
    method.repeatable
      ? { outcome: "fault", kind: "Malformed", message: `the answer of \`${method.name}\` is of no use: ${why}`, details: {}, run }
      : { outcome: "uncertain", key, operation: method.name, step: "", run };
  if (ending === undefined) {
    try {
      const crossed = answer.result as AelEnding | null;
      const given = method.result === "unit" ? null : method.bare ? crossed : crossed?.["result"];
      return { outcome: "value", value: decoded(given, method.result, "$"), run };
    } catch (problem) {
      return unread(String(problem instanceof Error ? problem.message : problem));
    }
  }
  if (answer.lost === true && !method.repeatable) return { outcome: "uncertain", key, operation: method.name, step: "", run };
  if (ending["outcome"] === "fault" && typeof ending["kind"] === "string") {
    return { outcome: "fault", kind: ending["kind"], message: String(ending["message"] ?? ""), details: ending["details"] ?? {}, run };
  }
  if (ending["outcome"] === "uncertain" && typeof ending["key"] === "string") {
    return { outcome: "uncertain", key: ending["key"], operation: String(ending["operation"] ?? ""), step: String(ending["step"] ?? ""), run };
  }
  if (ending["outcome"] === "error") {
    const name = String(ending["error"] ?? "").split(".").pop() ?? "";
    const shape = Object.hasOwn(method.errors, name) ? method.errors[name] : undefined;
    if (shape === undefined) return unread(`it failed with \`${name}\`, which this client does not know`);
    try {
      return { outcome: "error", error: name, value: decoded(ending["value"], { named: shape }, "$"), run };
    } catch (problem) {
      return unread(String(problem instanceof Error ? problem.message : problem));
    }
  }
  return unread("it ended in a way that this client does not know");
}

/** A value that is what its shape says, with nothing in it that was not declared. */
function decoded(value: unknown, shape: AelShape, at: string): unknown {
  const wrong = (what: string): never => {
    throw new AelWrong(`at ${at}: ${what} was expected`);
  };
  if (typeof shape === "string") {
    switch (shape) {
      case "any": return value;
      case "string": return typeof value === "string" ? value : wrong("a text");
      case "number": {
        const number = typeof value === "bigint" ? Number(value) : value;
        return typeof number === "number" && Number.isFinite(number) ? number : wrong("a number");
      }
      case "integer":
        if (typeof value === "bigint") return wrong("a number within 2^53, which JavaScript holds exactly (`--integers bigint` takes all)");
        return Number.isSafeInteger(value) ? value : wrong("a whole number within 2^53");
      case "whole": return typeof value === "bigint" ? value : Number.isSafeInteger(value) ? BigInt(value as number) : wrong("a whole number");
      case "boolean": return typeof value === "boolean" ? value : wrong("true or false");
      case "null": case "unit": return value === null || value === undefined ? null : wrong("null");
      case "file": return typeof value === "object" && value !== null && typeof (value as AelEnding)["media"] === "string" ? value : wrong("a file");
    }
  }
  if ("is" in shape) return value === shape.is ? value : wrong(JSON.stringify(shape.is));
  if ("named" in shape) return decoded(value, SHAPES[shape.named] ?? "any", at);
  if ("list" in shape) return Array.isArray(value) ? value.map((one, index) => decoded(one, shape.list, `${at}[${index}]`)) : wrong("a list");
  if ("any" in shape) {
    for (const one of shape.any) {
      try {
        return decoded(value, one, at);
      } catch { /* another member, or none */ }
    }
    return wrong("one of the alternatives");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return wrong("an object");
  const given = value as { readonly [name: string]: unknown };
  if ("map" in shape) return Object.fromEntries(Object.entries(given).map(([name, one]) => [name, decoded(one, shape.map, `${at}.${name}`)]));
  const made: [string, unknown][] = [];
  if ("kind" in shape) {
    if (given["kind"] !== shape.kind) return wrong(shape.kind);
    made.push(["kind", shape.kind]);
  }
  for (const [name, one, required] of shape.record) {
    if (Object.hasOwn(given, name)) made.push([name, decoded(given[name], one, `${at}.${name}`)]);
    else if (required) return wrong(`\`${name}\``);
  }
  return Object.fromEntries(made);
}

/** The text of JSON, with each `bigint` as its digits. */
function written(value: unknown): string {
  const mark = `int:${crypto.randomUUID()}:`;
  const text = JSON.stringify(value, (_, one: unknown) => {
    // JSON would have `null` in their place, and nobody would be told.
    if (typeof one === "number" && !Number.isFinite(one)) throw new TypeError(`${one} is no number that can be sent`);
    return typeof one === "bigint" ? mark + one.toString() : one;
  });
  return text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1");
}

/** JSON whose whole numbers are exact: those beyond 2^53 are a `bigint`. In time that grows with the text, whatever it is. */
function read(text: string): unknown {
  try {
    const plain: unknown = JSON.parse(text);
    if (!/\d{16}/.test(text)) return plain;
    const mark = `int:${crypto.randomUUID()}:`;
    return JSON.parse(marked(text, mark), (_, one: unknown) => (typeof one === "string" && one.startsWith(mark) ? BigInt(one.slice(mark.length)) : one));
  } catch {
    throw new AelWrong("the answer is no JSON");
  }
}

/** JSON, with each whole number beyond 2^53 as a text behind `mark`. No expression goes over a text in it: those can be long. */
function marked(json: string, mark: string): string {
  const found: string[] = [];
  for (let at = 0; at < json.length; ) {
    const open = json.indexOf('"', at);
    const between = json.slice(at, open < 0 ? json.length : open);
    found.push(between.replace(/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, (token) =>
      /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${mark}${token}"` : token,
    ));
    if (open < 0) break;
    let close = open;
    for (let escapes = 1; escapes % 2 === 1; ) {
      close = json.indexOf('"', close + 1);
      for (escapes = 0; json[close - 1 - escapes] === "\\"; ) escapes++;
    }
    found.push(json.slice(open, close + 1));
    at = close + 1;
  }
  return found.join("");
}

async function* pieces(response: Response, most: number): AsyncGenerator<string> {
  const reader = response.body?.getReader();
  const text = new TextDecoder("utf-8", { fatal: true });
  let size = 0;
  try {
    while (reader !== undefined) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.byteLength;
      if (size > most) throw new AelWrong("the answer is longer than allowed");
      try {
        yield text.decode(value, { stream: true });
      } catch (problem) {
        throw problem instanceof TypeError ? new AelWrong("the answer is no UTF-8") : problem;
      }
    }
  } finally {
    await reader?.cancel().catch(() => undefined);
  }
}

async function whole(response: Response, most: number): Promise<string> {
  const found: string[] = [];
  for await (const piece of pieces(response, most)) found.push(piece);
  return found.join("");
}

/** Server-sent events: each name with its data. */
async function* events(response: Response): AsyncGenerator<[string, string]> {
  let open: string[] = [];
  let name = "message";
  let data: string[] = [];
  for await (const piece of pieces(response, MAX_STREAM)) {
    open.push(piece);
    if (!piece.includes("\n")) continue;
    const lines = open.join("").split("\n");
    open = [lines.pop() ?? ""];
    for (const ended of lines) {
      const line = ended.endsWith("\r") ? ended.slice(0, -1) : ended;
      if (line.startsWith("event:")) name = line.slice(6).trim();
      else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
      else if (line === "") {
        if (data.length > 0) yield [name, data.join("\n")];
        [name, data] = ["message", []];
      }
    }
  }
}
