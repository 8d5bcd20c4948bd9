"""The messages of evaluations, bundles, documentation and the prompt, as `outside.py` has those of the other commands."""

from __future__ import annotations

from tests.cli.scenario import Scenario

_PACK = 'pack desk {\n  version "1.0.0"\n}\n'
_NODES = """\
node polite(output: String) -> Bool {
  output.length() > 3
}

node main(question: String(max: 200)) -> String(max: 200) {
  question
}
"""
_SENDS = """\
permission mail.send

/// Send a mail. Call it once.
tool send_mail(text: String(max: 200)) -> Unit
  needs mail.send
  repeat idempotent
  extern "mail_of_nobody:send"

node main(question: String(max: 200)) -> String(max: 200)
  grants mail.send
{
  send_mail(question)
  question
}
"""
_REFUNDS = """\
permission orders.refund

/// Give money back. Call it once.
tool refund(id: String(max: 64)) -> String(max: 64)
  needs orders.refund
  repeat idempotent
{
  id
}

node main(id: String(max: 64)) -> String(max: 64)
  grants orders.refund
{
  refund(id)
}
"""
_EVAL = 'cases = jsonl("cases.jsonl")\nentry = main\n'
_CASE = '{"id": "early", "input": {"question": "What is new?"}, "expected": "What is new?"}\n'
_GOOD = {"pack.ael": _PACK, "main.ael": _NODES, "eval.ael": _EVAL + "grader same = exact\n", "cases.jsonl": _CASE}
_CHECKED = ("eval", ".", "--check")

_TICKET = "//! A desk.\n\npub record Ticket {\n  text: String\n}\n"
_DOUBLE = "pub fn double(n: Int) -> Int {\n  n + n\n}\n"
_NAMES = f"//! A desk.\n\n/// Twice as many. Only after [`find_it`].\n{_DOUBLE}"
_LINKS = f"//! See [notes](notes.md).\n\n/// Twice as many.\n{_DOUBLE}"
_EXAMPLE = f"//! A desk.\n\n/// Twice as many.\n///\n/// ```ael\n/// assert double(2) == 5\n/// ```\n{_DOUBLE}"
_DOC = ("doc", ".", "--check")
_MAKE = ("bundle", "make", ".", "-o", "desk.aelb")
_MAILS = {**_GOOD, "pack.ael": _PACK.replace("\n}", '\n  extern "mail_of_nobody"\n}'), "main.ael": _SENDS}

TOOLS = {
    "AEL0828": Scenario({"pack.ael": _PACK, "main.ael": _NODES, "bank.py": ""}, (*_MAKE, "--include", "bank.py")),
    "AEL0829": Scenario(
        {"pack.ael": _PACK, "main.ael": _REFUNDS},
        ("bundle", "install", "desk.aelb", "there", "--allow", "orders.read"),
        1,
        before=_MAKE,
    ),
    "AEL0911": Scenario({}, ("repl",), 0, stdin="{" + "\n" * 262_145),
    "AEL0912": Scenario({}, ("repl",), 0, stdin="let double = fn(x: Int) => x * 2\n"),
    "AEL0950": Scenario({**_GOOD, "eval.ael": _EVAL + "sampels = 3\ngrader same = exact\n"}, _CHECKED),
    "AEL0951": Scenario({**_GOOD, "eval.ael": _EVAL + "grader kind = judge(brief)\n"}, _CHECKED),
    "AEL0952": Scenario({**_GOOD, "cases.jsonl": _CASE + _CASE}, _CHECKED),
    "AEL0953": Scenario({**_GOOD, "cases.jsonl": _CASE.replace('"question": "What is new?"', "")}, _CHECKED),
    "AEL0954": Scenario(_MAILS, ("eval", ".")),
    "AEL0955": Scenario({**_GOOD, "run.jsonl": ""}, ("eval", ".", "--results", "run.jsonl")),
    "AEL1141": Scenario({"pack.ael": _PACK, "main.ael": _TICKET}, _DOC, 1),
    "AEL1142": Scenario({"pack.ael": _PACK, "main.ael": _NAMES}, _DOC, 1),
    "AEL1143": Scenario({"pack.ael": _PACK, "main.ael": _LINKS}, _DOC, 1),
    "AEL1144": Scenario({"pack.ael": _PACK, "main.ael": _EXAMPLE}, _DOC, 1),
}
"""Code -> how it comes to be told."""
