"""What a program names is typed: a reference reads what is declared, and a declaration that changes its name has every reader told."""

from __future__ import annotations

import pytest

from ael.check.check import check_program
from ael.diagnostics.diagnostic import Bag, Diagnostic, Fix, Severity
from ael.source import Source
from ael.syntax.parse import parse_module

DESK = """\
model fast {
  provider openai
  name "gpt-5-mini"
}

record Found { writes: String, sources: Int }

/// Find what is written of a topic. Call it first.
node research(topic: String) -> Found
  model fast
{
  instructions "Find it."
}

node answer(text: String) -> String
  model fast
  policy loop(steps: 2)
  tools research
{
  instructions "Say it."
}

node short(topic: String) -> Int {
  research(topic).writes.length()
}

agent desk(topic: String) -> String {
  edge start -> research(topic)
  edge research -> answer(research.writes) when research.sources > 0
  edge research -> finish("nothing of ${topic}") otherwise
  edge answer -> finish
}

test "told" {
  assert calls(research) == 0
}
"""


def problems(text: str) -> list[Diagnostic]:
    bag = Bag()
    check_program({"main": parse_module(Source("main.ael", text), bag)}, "main", bag)
    return [one for one in bag.sorted() if one.severity is Severity.ERROR]


def mended(text: str, fixes: list[Fix]) -> str:
    """The text with the edits of the fixes."""
    edits = {(edit.place.span.start, edit.place.span.end, edit.text) for fix in fixes for edit in fix.edits}
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


@pytest.mark.feature("A17.5")
def test_what_a_node_gives_is_read_by_its_type() -> None:
    assert problems(DESK) == []
    [wrong] = problems(DESK.replace("answer(research.writes)", "answer(research.sources)"))
    assert wrong.code == "AEL0301"
    [unknown] = problems(DESK.replace("answer(research.writes)", "answer(research.write)"))
    assert (unknown.code, "`writes`" in unknown.message) == ("AEL0305", True)


@pytest.mark.feature("A17.5")
@pytest.mark.parametrize(
    ("declared", "new", "readers"), [("node research", "node researched", 8), ("writes: String", "written: String", 2)]
)
def test_a_declaration_with_another_name_has_all_its_readers_told_each_with_the_change_that_mends_it(
    declared: str, new: str, readers: int
) -> None:
    text, told = DESK.replace(declared, new), 0
    for _ in range(10):
        found = problems(text)
        if not found:
            break
        fixes = [one.fix for one in found if one.fix is not None]
        assert fixes, [one.message for one in found]
        told += len({edit.place.span for fix in fixes for edit in fix.edits})
        text = mended(text, fixes)
    assert problems(text) == []
    assert told == readers, told
