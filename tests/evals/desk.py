"""A small program with an evaluation, for the tests: a desk of two nodes, a tool, a store, and a judge; all models are scripted."""

from __future__ import annotations

import json
from collections.abc import Mapping

MAIN = """
pub enum Topic { Billing, Shipping, Other }

pub record Reply {
  topic: Topic
  answer: String(max: 400)
  total?: Decimal
}

permission orders.read
permission orders.write includes orders.read
role boss

error NotFound { id: String(max: 40) }

store orders: Map<String, String(max: 200)> needs orders.read

/// Where an order is. Call this before saying anything about an order.
tool where_is(id: String(max: 40)) -> String(max: 200) fails NotFound
  needs orders.read
  repeat idempotent
{
  let found = orders.get(id)
  if found == null { fail NotFound(id: id) }
  found
}

/// Cancel an order. Call this when the customer asks for it.
tool cancel(id: String(max: 40)) -> Unit
  needs orders.write
  repeat reconcile
  approval required by boss
{
  orders.put(id, "cancelled")
}

model desk {
  provider local
  name "smollm2"
}

model critic {
  provider local
  name "smollm2"
}

/// Answer.
node answer(text: String(max: 2_000)) -> Reply fails NotFound, Uncertain
  model desk
  policy loop(steps: 6, tool_calls: 6)
  grants orders.write
  tools where_is, cancel
  budget tokens 20_000, cost $0.50, time 60s
{
  instructions "Answer."
}

/// Say it in one line.
node line(reply: Reply) -> Reply {
  reply
}

/// What a person takes over.
node person(text: String(max: 2_000)) -> Reply {
  Reply(topic: Topic.Other, answer: "A person will look at it.")
}

agent help(text: String(max: 2_000)) -> Reply
  grants orders.write
  budget tokens 40_000, cost $1.00, time 2min
{
  edge start -> answer(text)
  edge answer -> line(answer)
  edge answer -> person(text) on Fault, NotFound, Uncertain
  edge line, person -> finish
}

/// Where an order is, without a model.
node find(text: String(max: 40)) -> String(max: 200) fails NotFound
  grants orders.read
{
  try where_is(text)
}

pub record Opinion {
  score: Int(0..10)
  reason: String(max: 300)
}

/// Grade an answer.
node grade(text: String(max: 2_000), output: Reply) -> Opinion
  model critic
  policy one_call
  budget tokens 4_000, cost $0.05, time 30s
{
  instructions "Grade the answer from 0 to 10."
}

fn brief(reply: Reply) -> Bool {
  reply.answer.length() <= 100
}

fn closeness(reply: Reply) -> Float {
  if reply.answer.length() <= 10 { 1.0 } else { 0.5 }
}
"""

DEPLOY = """
model desk = scripted("desk.json")
model critic = scripted("critic.json")
"""


def turns(*given: object) -> str:
    """A script that every conversation plays from its start."""
    return json.dumps({"mode": "each", "turns": list(given)})


def final(topic: str = "Billing", answer: str = "Done.") -> dict[str, object]:
    """The turn that ends a conversation with a reply."""
    return {"final": {"topic": topic, "answer": answer}}


def by(**told: object) -> str:
    """A script by what the message mentions: word -> turns."""
    found = [{"when": word, "turns": one if isinstance(one, list) else [one]} for word, one in told.items()]
    return json.dumps({"conversations": found})


def cases(*given: Mapping[str, object]) -> str:
    """The lines of a file of cases."""
    return "".join(json.dumps(one) + "\n" for one in given)


def files(evaluation: str, given: str, desk: str | None = None, critic: str | None = None) -> dict[str, str]:
    """The program with an evaluation: its lines after those of cases and entry."""
    return {
        "main.ael": MAIN,
        "deploy.ael": DEPLOY,
        "desk.json": turns(final()) if desk is None else desk,
        "critic.json": turns({"final": {"score": 8, "reason": "good"}}) if critic is None else critic,
        "eval.ael": f'cases = jsonl("cases.jsonl")\nentry = help\n{evaluation}\n',
        "cases.jsonl": given,
    }
