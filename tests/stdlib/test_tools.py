"""The library's pure functions as tools of a model: right answers go back to it, and what is wrong in words it can use."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from ael.run.outcome import Value
from ael.run.ports import ToolAnswer
from tests.programs import open_files, run

PROGRAM = """
use std/calc.{BadExpression, calculate}
use std/json.{BadPath, transform}
use std/regex.{BadPattern, extract}
use std/stats.{Summary, summary}

permission tools.compute

/// Work out an expression of arithmetic.
tool calculator(expression: String(max: 1_000)) -> Decimal fails BadExpression
  needs tools.compute
  repeat idempotent
{ try calculate(expression) }

/// Make a value of parts of another.
tool json_transform(value: Json, shape: Json) -> Json fails BadPath
  needs tools.compute
  repeat idempotent
{ try transform(value, shape) }

/// Take all parts out of a text that a pattern finds.
tool text_extract(text: String(max: 60_000), pattern: String(max: 500)) -> List<String> fails BadPattern
  needs tools.compute
  repeat idempotent
{ try extract(text, pattern) }

/// Numbers in short.
tool stats(numbers: List<Float>(max: 10_000)) -> Summary?
  needs tools.compute
  repeat idempotent
{ summary(numbers) }

model fast {
  provider openai
  name "gpt-x"
}

node main(question: String(max: 100)) -> String(max: 100)
  model fast
  policy loop(steps: 20, tool_calls: 20)
  grants tools.compute
  tools calculator, json_transform, text_extract, stats
  budget tokens 500_000, time 10min
{
  instructions "Answer."
}
"""


@pytest.mark.feature("A15.9")
def test_a_model_works_with_them(tmp_path: Path) -> None:
    opened, bag = open_files(tmp_path, {"main.ael": PROGRAM})
    assert opened is not None, [d.message for d in bag.sorted()]
    hostile = {"text": "a" * 60_000, "pattern": "^(a+)+$b|(a|a)*c"}
    calls = [
        ("calculator", {"expression": "round(0.1 + 0.2, 1) * 2"}, '"0.6"'),
        ("calculator", {"expression": "__import__('os')"}, "is no part of an expression"),
        ("json_transform", {"value": {"a": [1, 2]}, "shape": {"all": {"$all": "$.a[*]"}}}, '{"all":[1,2]}'),
        ("json_transform", {"value": 1, "shape": "$.a["}, "is missing here"),
        ("text_extract", {"text": "due 2026-11-30", "pattern": r"\d{4}-\d\d-\d\d"}, '["2026-11-30"]'),
        ("text_extract", {"text": "x", "pattern": "(?=a)"}, "look-around"),
        ("text_extract", hostile, "[]"),
        ("stats", {"numbers": [1.0, 2.0, 3.0, 4.0]}, '"median":2.5'),
        ("stats", {"numbers": []}, "null"),
    ]
    script = [*({"call": name, "with": arguments} for name, arguments, _ in calls), {"final": "done"}]
    ran = run(opened, {"question": "?"}, script)
    assert isinstance(ran.outcome, Value), ran.outcome
    messages = ran.conversations[-1].messages
    assert messages is not None
    results = [answer.content for kind, answers in messages if kind == "answers" for answer in cast(list[ToolAnswer], answers)]
    for told, (name, _, wanted) in zip(results, calls, strict=True):
        assert wanted in told, name
