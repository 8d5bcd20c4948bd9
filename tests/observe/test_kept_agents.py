"""The trace of a kept run of an agent: visits are found by the paths of what happened in them, which name node and visit."""

from __future__ import annotations

from pathlib import Path

import pytest

from ael.run.bindings import Options
from ael.run.trace import SpanList
from tests.observe.kept import keep, spans_of, tree
from tests.run.agents import compiled
from tests.run.helpers import engine, value_of
from tests.run.test_agent import outside, same

TEXT = """
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
  edge inner -> finish
}
"""


@pytest.mark.feature("A16.7")
def test_visits_of_nodes_rounds_and_items_are_apart(tmp_path: Path) -> None:
    live = SpanList()
    made = engine(compiled(TEXT), externs=outside(same), sinks=(live,))
    assert value_of(keep(tmp_path / "runs.db", made, "main", {"items": [7, 8]}, Options(run="r1", caller="ann"))) == 3

    def shape(lines: list[str]) -> list[str]:
        # Edges leave no record; without the program an agent looks like a node.
        plain = [line.removesuffix(" value").replace("agent ", "node ") for line in lines if " > edge " not in line]
        return sorted(line.replace("node main.", "node ") for line in plain)

    kept = shape(tree(spans_of(tmp_path / "runs.db", "r1")))
    assert kept == shape(tree(live.spans))
    assert kept[2:] == [
        "run main > node main > node inner",
        *["run main > node main > node inner > node one"] * 2,
        *["run main > node main > node inner > node one > tool main.act"] * 2,
        *["run main > node main > node two"] * 2,
        *["run main > node main > node two > tool main.act"] * 2,
    ]
