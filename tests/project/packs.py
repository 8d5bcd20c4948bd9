"""Packs for tests, as text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ael.diagnostics.diagnostic import Bag
from ael.project.program import Opened, open_program
from tests.programs import brief, write


def pack(name: str, version: str = "1.0.0", *lines: str) -> str:
    """A `pack.ael`."""
    inner = "".join(f"  {line}\n" for line in (f'version "{version}"', *lines))
    return f"pack {name} {{\n{inner}}}\n"


def opened(folder: Path, files: dict[str, str], main: str = "desk") -> tuple[Opened | None, list[str]]:
    """Write packs and open one of them: the program, and what was said, with files named from `folder`."""
    write(folder, files)
    bag = Bag()
    program = open_program(folder / main, bag)
    return program, [brief(found, folder, "") for found in bag.sorted()]


def codes(said: Sequence[str]) -> list[str]:
    """The codes of what was said, in order."""
    return [word for line in said for word in line.split(" ")[:2] if word.startswith("AEL")]


LEDGER = {
    "ledger/pack.ael": pack("ledger", "2.1.0"),
    "ledger/main.ael": """\
/// Write into the books.
permission post

/// Post an amount. Call it once for each entry.
pub tool post_entry(amount: Int) -> Int
  needs post
  repeat idempotent
{
  amount + 1
}
""",
}
"""A pack with a permission and a tool."""

REFUNDS = {
    "refunds/pack.ael": pack("refunds", "1.2.3", 'depends ledger "2" from "../ledger"'),
    "refunds/main.ael": """\
use ledger.{post_entry}
use ./money.{double}

/// Give money back.
permission orders.refund includes ledger.post

/// Who decides.
role finance

pub record Refund {
  amount: Int
}

pub error TooMuch { amount: Int }

/// Refund an amount. Only when it was paid.
pub tool refund(amount: Int) -> Refund fails TooMuch
  needs orders.refund
  repeat idempotent
{
  let unused = 1
  if amount > 100 { fail TooMuch(amount: amount) }
  Refund(amount: post_entry(double(amount)))
}

fn hidden() -> Int {
  1
}

record Inner {
  x: Int
}

test "its own" {
  assert hidden() == 1
}
""",
    "refunds/money.ael": "pub fn double(n: Int) -> Int {\n  n + n\n}\n",
    "refunds/_rates.ael": "pub const RATE = 3\n",
}
"""A pack that depends on it, with something of everything that others see or do not."""

DESK = {
    "desk/pack.ael": pack("desk", "0.1.0", 'depends refunds "1.2" from "../refunds"'),
    "desk/main.ael": """\
use refunds.{Refund, TooMuch, refund}
use refunds/money as m

node main(n: Int) -> Refund fails TooMuch
  grants refunds.orders.refund
{
  try refund(m.double(n))
}
""",
}
"""A program over both."""

ALL = {**LEDGER, **REFUNDS, **DESK}
