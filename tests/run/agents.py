"""Agents as compiled programs, for the tests of the run time."""

from __future__ import annotations

from functools import cache

from ael.check.check import check_program
from ael.diagnostics.diagnostic import Bag
from ael.lower.lower import lower
from ael.lower.unit import CompiledUnit
from ael.source import Source
from ael.syntax.parse import parse_module

HEAD = """\
permission a.use

/// Acts. Call it once.
tool act(n: Int) -> Int
  needs a.use
  repeat idempotent
  extern "outside:act"

/// Pays. Call it once.
tool pay(n: Int) -> Int
  needs a.use
  repeat never
  extern "outside:pay"

/// Reads what is outside. Call it once.
tool look(n: Int) -> Int
  needs a.use
  repeat idempotent
  taints
  extern "outside:look"

node one(n: Int) -> Int  grants a.use { act(n) }
node two(n: Int) -> Int  grants a.use { act(n) }
node three(n: Int) -> Int  grants a.use { act(n) }
node four(n: Int) -> Int  grants a.use { act(n) }
node five(n: Int) -> Int  grants a.use { act(n) }
node six(n: Int) -> Int  grants a.use { act(n) }
node clean(n: Int) -> Int { n + 1 }
node paid(n: Int) -> Int fails Uncertain  grants a.use { try pay(n) }
node seen(n: Int) -> Int  grants a.use { look(n) }
"""


@cache
def compiled(text: str) -> CompiledUnit:
    """A program of agents over the nodes of `HEAD`."""
    bag = Bag()
    modules = {"main": parse_module(Source("main.ael", HEAD + text), bag)}
    program = check_program(modules, "main", bag, extern_allowed=frozenset({"outside"}))
    assert program is not None, [(one.code, one.message) for one in bag.sorted()]
    return lower(program)
