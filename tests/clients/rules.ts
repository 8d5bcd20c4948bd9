// What a generated client does with answers and failures that no well-kept server gives: how often it sends, and how the call ends.
import { ShopClient, type ClientOptions } from "./made.ts";

type Answer = () => Response | Error;

function say(name: string, value: unknown): void {
  console.log(JSON.stringify([name, value]));
}

function broken(code: string, syscall: string): Answer {
  return () => Object.assign(new TypeError("fetch failed"), { cause: Object.assign(new Error(code), { code, syscall }) });
}

function said(status: number, body: string, headers: Record<string, string> = {}): Answer {
  return () => new Response(body, { status, headers: { "content-type": "application/json", ...headers } });
}

/** A client over a network that answers as told, and how often it was asked. */
function over(answer: Answer, options: ClientOptions = {}): { readonly shop: ShopClient; readonly sent: () => number } {
  let sent = 0;
  const network = (async (_url: string, given: RequestInit): Promise<Response> => {
    if (given.signal?.aborted === true) throw new TypeError("aborted");
    sent++;
    const one = answer();
    if (one instanceof Error) throw one;
    return one;
  }) as typeof fetch;
  return { shop: new ShopClient("http://localhost:1", { ...options, fetch: network }), sent: () => sent };
}

async function struck(name: string, answer: Answer): Promise<void> {
  const never = over(answer);
  const outcome = await never.shop.words.strike({ what: "x" });
  const idempotent = over(answer);
  await idempotent.shop.words.same({ value: { from: "a", list: [] } });
  say(name, [outcome.outcome, outcome.outcome === "fault" ? outcome.kind : "", never.sent(), idempotent.sent()]);
}

await struck("connect", broken("EHOSTUNREACH", "connect"));
await struck("read", broken("EHOSTUNREACH", "read"));
await struck("refused late", broken("ECONNREFUSED", "write"));
await struck("full", said(429, ""));
await struck("full, begun", said(429, "", { "ael-run": "r1" }));
await struck("not there", said(404, ""));
await struck("proxy", said(503, "<html>"));
await struck("odd code", said(500, '{"code": "constructor"}'));

const seconds = '{"code":"unavailable","details":[{"type":"ael.v1.Ending","debug":{"outcome":"fault","kind":"Unavailable","message":"","details":{"retry_after":100}}}]}';
const gave = new AbortController();
const parked = over(said(503, seconds));
const waiting = parked.shop.words.strike({ what: "x" }, { signal: gave.signal });
setTimeout(() => gave.abort(), 50);
say("given up between", [(await waiting).outcome, parked.sent()]);

const deep = `{"result":"${"\\\"".repeat(400_000)}`;
say("no end", (await over(said(200, deep), { attempts: 1 }).shop.ask({ what: "x" })).outcome);
const long = await over(said(200, `{"result":${JSON.stringify(`1234567890123456 "\\${"x".repeat(15_000_000)}`)},"n":12345678901234567890}`)).shop.ask({ what: "x" });
say("long", long.outcome === "value" ? long.value.length : long);
const large = await over(said(200, '{"result":[1e999]}')).shop.double({ number: 1 });
say("infinite", large.outcome);

const stream = 'event: text\ndata: {"text":"a"}\n\nevent: end\ndata: {"run":"r1","result":{"result":"done"}}\n\n';
const heard = await over(said(200, stream, { "content-type": "text/event-stream" })).shop.ask({ what: "x" }, {
  onEvent: async () => { throw new Error("mine"); },
});
await new Promise((done) => setTimeout(done, 0));
say("thrown later", heard.outcome);

const forever = over(said(200, '{"result":"done"}'));
say("forever", (await forever.shop.ask({ what: "x" }, { timeout: Infinity })).outcome);
for (const wrong of [
  () => new ShopClient("http://localhost:1", { token: "secret\n" }),
  () => forever.shop.double({ number: NaN }),
  () => forever.shop.ask({ what: "x" }, { timeout: NaN }),
  () => forever.shop.ask({ what: "x" }, { traceParent: "a\nb" }),
]) {
  try {
    await wrong();
    say("taken", String(wrong));
  } catch (problem) {
    say("refused", problem instanceof TypeError && !String(problem).includes("secret"));
  }
}
