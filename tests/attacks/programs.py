"""The programs of the cases: few, small, and shared. What an effect did stands in the store `done`, a row for each."""

from __future__ import annotations

import json

_CUSTOMER: dict[str, object] = {
    "name": "get_customer",
    "description": "Find a customer.",
    "inputSchema": {
        "type": "object",
        "properties": {"id": {"type": "string", "maxLength": 64}},
        "required": ["id"],
        "additionalProperties": False,
    },
}
PINNED: tuple[str, list[dict[str, object]]] = (json.dumps({"main.crm": {"tools": [_CUSTOMER]}}), [_CUSTOMER])
"""The definitions of the server `crm`: as a lock has them, and as the server lists them."""

WORLD = """
permission ledger
permission web.read
permission crm.read
permission notes.use
permission mail.send includes ledger
permission money.pay includes ledger
permission files.write includes ledger
permission admin.reset includes ledger

role finance

/// What was done, a row for each effect.
store done: Map<String, String> needs ledger

model fast {
  provider openai
  name "gpt-5-mini"
}

error NotFound { text: String }

/// Read a page. Call it with its address.
tool read_page(url: String(max: 500)) -> String fails NotFound
  needs web.read
  repeat idempotent
  extern "outside:read_page"

/// Find passages about something. Call it before answering.
tool find(words: String(max: 100)) -> List<String(max: 2_000)>(max: 10)
  needs web.read
  repeat idempotent
  extern "outside:find"

/// Send a letter. Call it when the letter is finished.
tool send(trusted to: String, text: String(max: 500)) -> String
  needs mail.send
  repeat idempotent
{
  done.put("send ${to}: ${text}", "")
  "sent"
}

/// Pay an amount. Call it when the bill is right.
tool pay(account: String(pattern: "^[A-Z]{2}[0-9]{4}$"), amount: Int(1..1_000), memo: String(max: 2_000) = "") -> String
  needs money.pay
  repeat idempotent
  approval required by finance when amount > 100
{
  done.put("pay ${amount} to ${account}", "")
  "paid"
}

/// Keep a note in a file of its own. Call it with the name of the file.
tool write_note(name: String(pattern: "^[a-z][a-z0-9_-]{0,30}[.]md$"), text: String(max: 200)) -> String
  needs files.write
  repeat idempotent
  limit input 1KiB
{
  done.put("write ${name}: ${text}", "")
  "written"
}

/// Delete everything. For people only.
tool reset() -> String
  needs admin.reset
  repeat idempotent
{
  done.put("reset", "")
  "gone"
}

"""

DESK = (
    WORLD
    + """
mcp crm {
  tool get_customer needs crm.read repeat idempotent
}

/// Answer a question.
node main(question: String(max: 500), customer: String(max: 200) = "") -> String(max: 500)
  model fast
  policy loop(steps: 5, tool_calls: 5)
  grants web.read, crm.read, mail.send, money.pay, files.write
  tools read_page, find, send, pay, write_note, crm.get_customer
{
  instructions "Answer the question of ${customer}."
}
"""
)
"""A desk that reads outside data of every kind, and may send, pay and write."""

TYPED = (
    WORLD
    + """
record Ticket { id: String(max: 20), to: String(max: 100), parts: List<String(max: 100)> = [], amount: Int = 0, rate: Float = 0.5 }
record Verdict { topic: "refund" | "other", amount: Int(1..100), confidence: Float(0.0..1.0) }

/// Set how much. Call it once.
tool set_limit(trusted amount: Int(1..1_000)) -> String
  needs money.pay
  repeat idempotent
{
  done.put("limit ${amount}", "")
  "set"
}

/// Set a share. Call it once.
tool set_share(trusted share: Float) -> String
  needs money.pay
  repeat idempotent
{
  done.put("share ${share}", "")
  "set"
}

/// Tell several people. Call it once.
tool tell(trusted to: List<String(max: 100)>(max: 5), text: String(max: 100)) -> String
  needs mail.send
  repeat idempotent
{
  done.put("tell ${to.join(", ")}: ${text}", "")
  "told"
}

/// Tell the house, or somebody who is in the ticket. Call it at the end.
tool report(text: String(max: 100), trusted to: String(max: 100) = "house@example.com", trusted copy?: String(max: 100)) -> String
  needs mail.send
  repeat idempotent
{
  done.put("report ${to} ${copy ?? "-"}: ${text}", "")
  "reported"
}

/// Answer a ticket.
node main(ticket: Ticket) -> String(max: 500)
  model fast
  policy loop(steps: 5, tool_calls: 5)
  grants web.read, mail.send, money.pay
  tools read_page, send, set_limit, set_share, tell, report
{
  instructions "Answer."
}

/// Judge a text.
node judge(text: String(max: 500)) -> Verdict
  model fast
  policy one_call
{
  instructions "Judge the text."
}

/// Judge a text, and pay.
node clerk(text: String(max: 500)) -> Verdict
  model fast
  policy loop(steps: 3, tool_calls: 3)
  grants money.pay
  tools pay
{
  instructions "Judge the text."
}

/// Judge, and pay what was judged.
node judged(text: String(max: 500)) -> String
  grants money.pay
{
  let verdict = judge(text)
  if verdict.topic == "refund" { pay("DE0001", verdict.amount) } else { "nothing" }
}
"""
)
"""Trusted parameters of every type, and a result that is decoded strictly."""

HELPERS = (
    WORLD
    + """
model cheap {
  provider openai
  name "gpt-5-nano"
}

/// Look something up.
node reader(question: String(max: 200)) -> String(max: 500)
  model cheap
  policy loop(steps: 3, tool_calls: 3)
  grants web.read
  tools read_page
{
  instructions "Look it up."
}

/// Send a letter to somebody who is known.
node courier(trusted to: String(max: 100), text: String(max: 200)) -> String
  grants mail.send
{
  send(to, text)
}

/// Answer a question with the help of others.
node main(question: String(max: 500), to: String(max: 100)) -> String(max: 500)
  model fast
  policy loop(steps: 5, tool_calls: 5)
  grants web.read, mail.send
  tools reader, courier
{
  instructions "Answer the question."
}
"""
)
"""A node with helpers: one that reads outside data, one that takes a trusted value."""

MEMORY = (
    WORLD
    + """
/// What is remembered from run to run.
store notes: Map<String, String> needs notes.use

/// Remember something. Call it when it matters.
tool remember(key: String(max: 40), text: String(max: 400)) -> String
  needs notes.use
  repeat idempotent
{
  notes.put(key, text)
  "kept"
}

/// What was remembered. Call it first.
tool recall(key: String(max: 40)) -> String
  needs notes.use
  repeat idempotent
{
  notes.get(key) ?? "nothing"
}

/// Answer with what is remembered.
node main(question: String(max: 500)) -> String(max: 500)
  model fast
  policy loop(steps: 5, tool_calls: 5)
  grants web.read, mail.send, notes.use, money.pay
  tools read_page, remember, recall, send, pay
{
  instructions "Answer the question."
}
"""
)
"""A desk with a memory that outlives a run."""
