"""Coverage of AEL lines: what ran, what did not, for people and for other tools."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ael.testing.coverage import Tracer
from ael.testing.coverage_report import ranges
from tests.cli.conftest import Ael, ael  # noqa: F401  # a fixture

MAIN = """use ./money.{half}

fn sign(n: Int) -> String {
  if n < 0 {
    return "minus"
  }
  let found = "plus"
  found
}

fn never() -> Int {
  let one = 1
  one
}

node asked(n: Int) -> Int {
  half(n)
}

test "some" {
  assert sign(4) == "plus"
  assert asked(4) == 2
}

test "more" {
  assert sign(-4) == "minus"
}
"""
MODELS = """model fast {
  provider openai
  name "m"
}

node said(n: Int) -> String
  model fast
  policy one_call
{
  instructions "Say it."
}

node other(n: Int) -> String
  model fast
  policy one_call
{
  instructions "Say it."
}

test "t" {
  script fast [text("x")]
  assert said(1) == "x"
}
"""
MONEY = "pub fn half(n: Int) -> Int {\n  n div 2\n}\n"


@pytest.fixture
def desk(ael: Ael) -> Ael:  # noqa: F811
    ael.write({"main.ael": MAIN, "money.ael": MONEY})
    return ael


@pytest.mark.feature("C7")
@pytest.mark.parametrize("words", [(), ("-j", "2")])
def test_what_did_not_run_is_told(desk: Ael, words: tuple[str, ...]) -> None:
    done = desk("test", "--coverage", *words)
    assert done.code == 0, done.err
    told = done.out.splitlines()
    assert told[0].startswith("main.ael")
    assert "not: 12-13" in told[0]
    assert [line.strip() for line in told if "never ran" in line] == ["never ran: fn never"]
    some = desk("test", "--coverage", "--filter", "some", *words).out
    assert "not: 5, 12-13" in some


def test_a_table_that_never_ran_is_told_as_one(desk: Ael) -> None:
    desk.write({"money.ael": MONEY + "pub table fee(n: Int) -> Int {\n  when 1 => 2\n  otherwise => 3\n}\n"})
    assert "never ran: table fee" in desk("test", "--coverage").out


def test_it_is_one_report_for_every_tool(desk: Ael) -> None:
    whole = json.loads(desk("test", "--coverage", "json").out)
    main, money = whole["files"]
    assert (main["file"], money["file"]) == ("main.ael", "money.ael")
    assert main["missing"] == [12, 13]
    assert {one["name"]: one["ran"] for one in main["declarations"]} == {"sign": True, "never": False, "asked": True}
    lcov = desk("test", "--coverage", "lcov").out
    assert "SF:main.ael\n" in lcov
    assert "DA:12,0\n" in lcov
    assert "FNDA:0,never\n" in lcov
    assert lcov.count("end_of_record") == 2
    assert desk("test", "--coverage", "cobertura", "--coverage-out", "c.xml").out == ""
    root = ET.parse(desk.folder / "c.xml").getroot()
    lines = {one.get("number"): one.get("hits") for one in root.iter("line")}
    assert (lines["12"], lines["7"]) == ("0", "1")
    assert root.get("lines-valid") == str(len(main["lines"]) + len(money["lines"]))


def test_too_little_is_a_failure(desk: Ael) -> None:
    assert desk("test", "--coverage-min", "50").code == 0
    done = desk("test", "--coverage-min", "99.5")
    assert done.code == 1
    assert "of the lines ran, fewer than 99.5%" in done.err
    assert done.out == ""


def test_a_model_driven_node_counts_when_it_was_visited(desk: Ael) -> None:
    desk.write({"main.ael": MODELS})
    told = desk("test", "main.ael", "--coverage").out.splitlines()
    assert [line.strip() for line in told if "never" in line] == ["never ran: node other"]


class Monitoring:
    """What `sys.monitoring` of Python 3.12 is, as far as it is used: tells each line once, by tracing."""

    DISABLE = object()
    events = SimpleNamespace(LINE=1)

    def __init__(self) -> None:
        self.tools: dict[int, str] = {}
        self.line: Any = None

    def get_tool(self, tool: int) -> str | None:
        return self.tools.get(tool)

    def use_tool_id(self, tool: int, name: str) -> None:
        self.tools[tool] = name

    def register_callback(self, tool: int, event: int, function: Any) -> None:
        self.line = function

    def set_events(self, tool: int, events: int) -> None:
        def local(frame: Any, event: str, argument: Any) -> Any:
            if event == "line" and self.line is not None:
                assert self.line(frame.f_code, frame.f_lineno) is self.DISABLE
            return local

        sys.settrace((lambda frame, event, argument: local) if events else None)

    def free_tool_id(self, tool: int) -> None:
        del self.tools[tool]


def test_from_python_3_12_on_lines_are_told_by_events(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Monitoring()
    monkeypatch.setattr(sys, "monitoring", made, raising=False)
    space: dict[str, Any] = {}
    exec(compile("def one(n):\n    if n:\n        return 1\n    return 2\n", "main.ael", "exec"), space)
    tracer = Tracer(frozenset({"main.ael"}))
    with tracer.on():
        space["one"](0)
    assert tracer.hits == {str(Path("main.ael").resolve()): frozenset({2, 4})}
    assert made.tools == {}
    made.tools = dict.fromkeys(range(6), "taken")
    with tracer.on():
        space["one"](1)
    assert tracer.hits == {str(Path("main.ael").resolve()): frozenset({2, 3, 4})}, "where no place is left, code is traced"


def test_ranges_of_lines() -> None:
    assert ranges([3, 4, 5, 9, 11, 12]) == "3-5, 9, 11-12"
    assert ranges([]) == ""
