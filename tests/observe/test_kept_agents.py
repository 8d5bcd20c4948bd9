"""The trace of a kept run of an agent: visits by the paths of what happened in them, edges and what only computes by its program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ael.data import replace
from ael.journal.durable import RunState
from ael.journal.entry import State
from ael.observe.kept import Kept, trace_of
from ael.run.bindings import Options
from ael.run.masker import Masker
from ael.run.ports import Span
from ael.run.trace import SpanList
from tests.observe.kept import keep, kept, rehearsed, spans_of, tree
from tests.run.agents import compiled
from tests.run.fakes import call, calls, model, said
from tests.run.helpers import engine
from tests.run.test_agent import outside, same

TEXT = """
error Odd { n: Int }

node even(n: Int) -> Int fails Odd {
  if n % 2 == 1 { fail Odd(n: n) }
  n
}

agent inner(n: Int) -> Int
  grants a.use
{
  edge start -> one(n)
  edge one -> one(one + 1) when one < 3 up to 5
  edge one -> finish otherwise
}

agent main(items: List<Int>) -> Int
  grants a.use
{
  edge start -> each two(items)
  edge two -> inner(two.length())
  edge inner -> even
  edge even -> finish
  edge even -> clean(inner) on Odd
  edge clean -> finish
}
"""
OPTIONS = Options(run="r1", caller="ann")


def made(folder: Path, text: str, given: dict[str, Any], *models: Any, entry: str = "main") -> list[Span]:
    """The spans of a run that is kept in `folder`, as they came while it went."""
    live = SpanList()
    keep(folder / "runs.db", engine(compiled(text), *models, externs=outside(same), sinks=(live,)), entry, given, OPTIONS)
    return live.spans


def whole(folder: Path, text: str) -> list[Span]:
    """What is shown of it later, by its program."""
    return spans_of(folder / "runs.db", "r1", rehearsed=rehearsed(folder / "runs.db", "r1", compiled(text)))


def plain(spans: list[Span]) -> list[tuple[object, ...]]:
    """All that can be the same: each span with its outcome and what had a hand in it, by its place."""
    shown = tree(spans)
    ordered = sorted(spans, key=lambda one: one.sequence)
    return sorted((one.path, line, one.taint) for one, line in zip(ordered, shown, strict=True))


@pytest.mark.feature("A16.7")
def test_visits_of_nodes_rounds_and_items_are_apart_without_the_program(tmp_path: Path) -> None:
    live = made(tmp_path, TEXT, {"items": [7, 8]})

    def shape(spans: list[Span]) -> list[str]:
        # Edges leave no record, nor do nodes without an effect; without the program an agent looks like a node.
        lines = [line.removesuffix(" value").removesuffix(" error").replace("agent ", "node ") for line in tree(spans)]
        return sorted(line for line in lines if not any(word in line for word in ("> edge", "node even", "node clean")))

    found = shape(spans_of(tmp_path / "runs.db", "r1"))
    assert found == shape(live)
    assert found[2:] == [
        "run main > node main > node inner",
        *["run main > node main > node inner > node one"] * 2,
        *["run main > node main > node inner > node one > tool main.act"] * 2,
        *["run main > node main > node two"] * 2,
        *["run main > node main > node two > tool main.act"] * 2,
    ]


@pytest.mark.feature("A16.7", "A16.2")
def test_with_the_program_it_is_the_tree_of_the_run_under_way_edges_and_all(tmp_path: Path) -> None:
    live = made(tmp_path, TEXT, {"items": [7]})
    found = whole(tmp_path, TEXT)
    assert tree(found) == tree(live), "one item at a time: the order is the same, too"
    assert plain(found) == plain(live)
    assert [span.name for span in found if span.kind == "edge"] == [
        "start -> each two", "two -> inner", "start -> one", "one -> one", "one -> one", "one -> finish",
        "inner -> even", "even -> clean", "clean -> finish",
    ]  # fmt: skip
    by = {span.sequence: span for span in found}
    for span in found[1:]:
        assert span.parent is not None
        assert by[span.parent].start <= span.start <= span.end <= by[span.parent].end


FORK = """
agent main(n: Int) -> Int
  grants a.use
{
  edge start -> one(n)
  edge start -> clean(n)
  edge start -> two(n)
  edge one & clean & two -> finish(one + clean + two)
}
"""


@pytest.mark.feature("A16.7")
def test_branches_beside_each_other(tmp_path: Path) -> None:
    live = made(tmp_path, FORK, {"n": 1})
    assert plain(whole(tmp_path, FORK)) == plain(live)


DELEGATE = """
model fast {
  provider openai
  name "gpt-5-mini"
}

/// Work a number out. Call it for every number.
agent worker(n: Int) -> Int
{
  edge start -> clean
  edge clean -> clean when clean < 4 up to 5
  edge clean -> finish otherwise
}

node main(text: String) -> String
  model fast
  policy loop(steps: 4, tool_calls: 4)
  tools worker
{
  instructions "Use the worker."
}
"""


@pytest.mark.feature("A16.7")
def test_an_agent_that_a_model_asked_for_is_gone_into(tmp_path: Path) -> None:
    live = made(tmp_path, DELEGATE, {"text": "4"}, model(calls(call("delegate__worker", {"n": 2})), said("done")))
    found = whole(tmp_path, DELEGATE)
    assert tree(found) == tree(live)
    assert [span.name for span in found if span.kind == "edge"] == ["start -> clean", "clean -> clean", "clean -> finish"]


@pytest.mark.feature("A16.7")
def test_however_far_a_run_came_its_tree_has_one_root_and_no_edge_it_did_not_take(tmp_path: Path) -> None:
    live = made(tmp_path, TEXT, {"items": [7, 8]})
    taken = [span.name for span in live if span.kind == "edge"]
    all_ = kept(tmp_path / "runs.db", "r1")
    for length in range(len(all_.entries) + 1):
        row = replace(all_.row, state=RunState.READY, ended=None, ending="", outcome=None)
        entries = all_.entries[:length]
        seen = rehearsed(tmp_path / "runs.db", "r1", compiled(TEXT), row=row, entries=entries)
        spans = trace_of(Kept(row, entries, all_.now, Masker(()), rehearsed=seen))
        assert [span.sequence for span in spans] == list(range(1, len(spans) + 1))
        assert [span.parent for span in spans].count(None) == 1
        assert all(span.parent is None or span.parent < span.sequence for span in spans)
        edges = [span.name for span in spans if span.kind == "edge"]
        assert edges == taken[: len(edges)]
        answered = sum(entry.state is State.ANSWERED for entry in entries)
        assert len(edges) >= (1 if answered < 2 else answered)


def test_a_rehearsal_that_ends_otherwise_than_the_run_is_not_shown(tmp_path: Path) -> None:
    """The same program, bound otherwise: what it would do is not what it did."""
    made(tmp_path, FORK, {"n": 1})
    all_ = kept(tmp_path / "runs.db", "r1")
    row = replace(all_.row, ending="error")
    rehearsed(tmp_path / "runs.db", "r1", compiled(FORK), row=row, same=False)
