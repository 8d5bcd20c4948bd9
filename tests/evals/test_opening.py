"""An `eval.ael` of any bytes is an evaluation or told with places in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ael.diagnostics.diagnostic import Bag
from ael.diagnostics.render import render_all
from ael.evals.opening import open_evaluation
from tests.evals.desk import cases, files
from tests.programs import write

LINES = (
    'cases = jsonl("cases.jsonl")',
    "entry = help",
    "expected = Topic",
    'program = "./main"',
    "samples = 3",
    "golden = true",
    "approvals = deny",
    "budget cost $2, time 10min",
    "allow cancel",
    "threshold pass = 0.9",
    "threshold kind = 0.5",
    "grader topic = output.topic == expected",
    "grader kind = judge(grade, min: 7, of: 10, cost: $1)",
    "grader way = order(answer, line)",
    'grader kept = kept(orders, key: "A", equals: "x")',
    "grader late = status(parked: cancel)",
    "grader spent = within(tokens: 3, time: 2s)",
    "grader near = score(closeness(output), min: 0.5)",
    "// a comment",
    "tenant acme { grants orders.read }",
    "model desk = local",
    'price "x" input $1 output $1',
    "edge a.b -> a.c = in process",
    "tool cancel timeout 3s",
)
WORDS = st.sampled_from([word for line in LINES for word in line.replace("(", " ( ").replace(")", " ) ").split()])
PIECES = st.sampled_from(LINES) | st.lists(WORDS, max_size=8).map(" ".join) | st.text(max_size=12)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("evaluation")
    write(made, files("", cases({"input": {"text": "x"}})))
    return made


def test_all_good_lines_together_are_an_evaluation(folder: Path) -> None:
    (folder / "eval.ael").write_text("\n".join(LINES[:19]), "utf-8")
    found = open_evaluation(folder, bag := Bag())
    assert found is not None, render_all(bag.sorted(), colour=False)
    assert [one.name for one in found.evaluation.graders] == ["topic", "kind", "way", "kept", "late", "spent", "near"]
    assert found.evaluation.thresholds.graders == {"kind": 0.5}
    assert found.evaluation.allowed == {"main.cancel"}


def test_line_ends_and_a_mark_at_the_start_change_nothing(folder: Path) -> None:
    text = "\n".join(LINES[:19]) + "\n"
    (folder / "eval.ael").write_text(text, "utf-8")
    first = open_evaluation(folder, Bag())
    (folder / "eval.ael").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    second = open_evaluation(folder, Bag())
    assert first is not None
    assert second is not None
    assert first.evaluation == second.evaluation


@settings(max_examples=60)
@given(lines=st.lists(PIECES, max_size=8))
def test_any_lines_are_an_evaluation_or_told(folder: Path, lines: list[str]) -> None:
    path = folder / "eval.ael"
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    found = open_evaluation(folder, bag := Bag())
    assert (found is None) == bool(bag.errors)
    # What is told has a place that can be shown.
    assert render_all(bag.sorted(), colour=False) or found is not None


@pytest.mark.parametrize("data", [b"", b"\n", b"//\n", b"\xff", b"\0", b'"', b"cases", b"/// doc"])
def test_what_is_nothing_is_told(folder: Path, data: bytes) -> None:
    (folder / "eval.ael").write_bytes(data)
    assert open_evaluation(folder, bag := Bag()) is None
    assert render_all(bag.sorted(), colour=False)
