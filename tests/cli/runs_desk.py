"""A program whose runs are kept: a refund that finance approves, a letter whose outcome nobody knows, and their books."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.cli.conftest import Ael

MAIN = """\
permission money.refund
role finance

record Booked {
  order: String(max: 40)
  amount: Decimal(min: 0.01)
}

store book: Map<String, Booked> needs money.refund

/// Book a refund.
tool refund(order: String(max: 40), amount: Decimal(min: 0.01)) -> String
  needs money.refund
  repeat never
  approval required by finance when amount > 10.00
{
  book.put(order, Booked(order: order, amount: amount))
  "R-${order}"
}

/// Send a letter, and never hear of it again.
tool letter(order: String(max: 20)) -> String
  needs money.refund
  repeat never
  timeout 5s
  extern "letters_of_runs_tests:send"

node main(order: String(max: 20) = "A-1", amount: Decimal(min: 0.01) = 5.00) -> String fails Uncertain
  grants money.refund
{
  let first = try refund(order, amount) catch {
    ApprovalDenied d => return "no: ${d.message}"
  }
  let second = try refund("${order}b", 1.00)
  "${first} ${second}"
}

node write(order: String(max: 20)) -> String fails Uncertain
  grants money.refund
{
  try letter(order)
}

node books() -> Int
  grants money.refund
{
  book.entries().length()
}
"""
LETTERS = """\
def send(order):
    with open("letters.txt", "a") as file:
        file.write(order + "\\n")
    raise ConnectionError("the line is dead")
"""
FILES: Mapping[str, str] = {
    "main.ael": MAIN,
    "pack.ael": 'pack refunds {\n  version "1.0"\n  extern "letters_of_runs_tests"\n}\n',
    "letters_of_runs_tests.py": LETTERS,
    "deploy.ael": 'store book = sqlite("book.db")\nruns = sqlite("runs.db", uncertain: park)\nrole finance = ["ann", "local"]\n',
}


def parked(ael: Ael, order: str = "A-1") -> str:
    """Run a refund that waits for finance; the id of the run."""
    ended = ael("run", ".", "main", "--order", order, "--amount", "50.00")
    assert ended.code == 3, ended.err
    found = re.search(r"what the run (\w+) waits for", ended.err)
    assert found is not None
    return found[1]


def shown(ael: Ael, run: str) -> dict[str, Any]:
    """`ael runs show --format json`."""
    ended = ael("runs", "show", run, "--format", "json")
    assert ended.code == 0, ended.err
    told: dict[str, Any] = json.loads(ended.out)
    return told


def booked(ael: Ael) -> int:
    """How many refunds are in the books."""
    return int(ael("run", ".", "books", "-q").out)
