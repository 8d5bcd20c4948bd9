// Drives a generated client of the program in `programs.py`, and prints what it sees, a line of JSON for each thing.
import { ShopClient, type Class, type WordsSameOutcome } from "./made.ts";

function told(outcome: WordsSameOutcome): string {
  switch (outcome.outcome) {
    case "value": return outcome.value.from;
    case "error":
      switch (outcome.error) {
        case "Full": return `full ${outcome.value.free}`;
        case "Gone": return `gone ${outcome.value.id} ${outcome.value.ending}`;
      }
    // eslint-disable-next-line no-fallthrough -- both errors return
    case "fault": return outcome.kind;
    case "uncertain": return outcome.key;
    default: return outcome satisfies never;
  }
}

function say(name: string, value: unknown): void {
  console.log(JSON.stringify([name, value]));
}

const [url, token, away] = process.argv.slice(2) as [string, string, string];
const shop = new ShopClient(url, { token });

const same = await shop.words.same({ value: { from: "a", list: [{ from: "ä\u2028", list: [], ["__proto__"]: true }] } });
say("same", same);
if (same.outcome === "value") {
  const value: Class = same.value;
  say("own", Object.hasOwn(value, "__proto__"));
}
say("gone", told(await shop.words.same({ value: { from: "gone", list: [] }, self: 9, options: "None" })));
say("full", told(await shop.words.same({ value: { from: "full", list: [] } })));
say("constructor", await shop.words.constructor_({ value: { at: "2026-03-01T00:00:00Z", promise: {} } }));
say("then", await shop.words.then_({ value: ["a", ["b"]] }));
say("chain", await shop.chain({ number: 41 }));
say("twins", [await shop.getOne(), await shop.getOne_2()].map((one) => (one.outcome === "value" ? one.value : 0)).sort());
say("large", await shop.double({ number: 4_503_599_627_370_496 }));
say("bad", await shop.double({ number: "x" as unknown as number }));

const seen: string[] = [];
say("followed", await shop.ask({ what: "followed" }, { onEvent: (event) => seen.push(event.event) }));
say("events", seen);
say("thrown", await shop.ask({ what: "thrown" }, { onEvent: () => { throw new Error("mine"); } }));

say("lost", await shop.words.strike({ what: "lose" }));
const keyed = { key: "one-effect" };
say("keyed", [await shop.words.strike({ what: "once" }, keyed), await shop.words.strike({ what: "once" }, keyed)].map((one) => one.outcome));

const gave = new AbortController();
const waiting = shop.ask({ what: "wait:never" }, { signal: gave.signal, onEvent: () => gave.abort() });
say("given up", await waiting);
say("late", await shop.ask({ what: "wait:never" }, { timeout: 300 }));
say("struck late", (await shop.words.strike({ what: "wait:never" }, { timeout: 300 })).outcome);

say("stranger", await new ShopClient(url, { token: "somebody-else-0123456789" }).double({ number: 1 }));
say("nobody", await new ShopClient(away, { token }).words.strike({ what: "nobody" }));
for (const wrong of ["http://desk.example.com", "ftp://127.0.0.1", "https://user:word@desk.example.com", "https://desk.example.com?x"]) {
  try {
    say("taken", new ShopClient(wrong, { token }));
  } catch (problem) {
    say("refused", problem instanceof TypeError);
  }
}
