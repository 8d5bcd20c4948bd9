"""The calculator: against Python's own arithmetic on Decimals, and never anything but a value or `BadExpression`."""

from __future__ import annotations

import re
from decimal import Decimal, localcontext
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.lower.abi.number import CONTEXT
from tests.programs import open_files, run
from tests.stdlib.functions import ending, module

calc = module("calc")
pytestmark = [pytest.mark.feature("A15.9")]

NUMBERS = st.one_of(st.integers(0, 10**6).map(str), st.decimals(0, 1000, places=3).map(str))
EXPRESSIONS = st.recursive(
    NUMBERS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" + ", "-", "*", " / "]), inner).map("".join),
        inner.map(lambda one: f"({one})"),
        inner.map(lambda one: f"-{one}"),
        st.tuples(inner, st.integers(0, 3)).map(lambda two: f"({two[0]}) ** {two[1]}"),
    ),
    max_leaves=12,
)


def python(expression: str) -> Decimal | None:
    """What Python makes of the expression with each number as a Decimal."""
    numbers = re.sub(r"\d+(?:\.\d+)?", lambda m: f"Decimal('{m[0]}')", expression)
    with localcontext(CONTEXT):
        try:
            return cast(Decimal, eval(numbers, {"Decimal": Decimal}))
        except ArithmeticError:
            return None


@given(EXPRESSIONS)
def test_it_is_what_python_works_out(expression: str) -> None:
    found = ending(calc.calculate, expression)
    wanted = python(expression)
    if wanted is None:
        assert found[0] == "BadExpression"
    else:
        assert found == wanted


@given(st.one_of(st.text(max_size=40), st.text("0123456789.()+-*/^%, eEpiabsroundmaxsumdiv_×", max_size=40)))
def test_any_text_has_a_value_or_is_told_what_is_wrong_and_where(text: str) -> None:
    found = ending(calc.calculate, text)
    if isinstance(found, tuple):
        name, value = found
        assert name == "BadExpression"
        assert 0 <= value["at"] <= len(text)
        assert len(value["reason"]) <= 200
    else:
        assert isinstance(found, Decimal)
    assert isinstance(calc.explain(text), str)


@pytest.mark.parametrize(
    "expression",
    ["9 ^ 9 ^ 9 ^ 9", "9 ** 999999", "1" * 9_999, "(" * 9_999, "-" * 9_999, "^" * 9_999, "max(" * 2_000, "1e999999999", "exp(1e900)",
     "sum(" + "1," * 4_900 + "1", "1+" * 5_000, "a" * 9_999, "2 ^ 0.5 ^ 0.5 ^ 0.5", "round(1, 1e900)", "1 2 " * 2_500, "١+١"],
)  # fmt: skip
def test_hostile_expressions_end(expression: str) -> None:
    found = ending(calc.calculate, expression)
    assert isinstance(found, Decimal) or found[0] == "BadExpression"


def test_it_is_a_tool_as_its_page_says(tmp_path: Path) -> None:
    program = """
use std/calc.{BadExpression, calculate}

permission tools.calculate

/// Work out an expression of arithmetic. Use it for every calculation.
tool calculator(expression: String(max: 1_000)) -> Decimal fails BadExpression
  needs tools.calculate
  repeat idempotent
{
  try calculate(expression)
}

model fast {
  provider openai
  name "gpt-x"
}

node main(question: String(max: 100)) -> String(max: 100)
  model fast
  policy loop(steps: 4, tool_calls: 4)
  grants tools.calculate
  tools calculator
{
  instructions "Answer."
}
"""
    opened, bag = open_files(tmp_path, {"main.ael": program})
    assert opened is not None, [d.message for d in bag.sorted()]
    script = [
        {"call": "calculator", "with": {"expression": "0.1 +"}},
        {"call": "calculator", "with": {"expression": "0.1 + 0.2"}},
        {"final": "0.3"},
    ]
    ran = run(opened, {"question": "0.1 + 0.2?"}, script)
    assert ran.outcome.value == "0.3"  # type: ignore[union-attr]
    assert "a number is missing at the end" in str(ran.conversations[-1].messages)
