"""A run of an agent, forked at each of its steps: the record serves what acted, wherever in the agent it is (B7, A12.16)."""

from __future__ import annotations

import pytest

from ael.durable.execute import Execution, new_owner
from ael.durable.forking import forked
from ael.journal.database import DatabaseStore
from tests.durable.test_fork import gone_on, original
from tests.journal.places import Place
from tests.run.agents import compiled
from tests.run.helpers import engine, value_of
from tests.run.test_agent import outside

TEXT = """
agent inner(n: Int) -> Int
  grants a.use
{
  edge start -> one
  edge one -> one(one + 1) when one < 3 up to 5
  edge one -> finish otherwise
}

agent main(n: Int) -> Int fails Uncertain
  grants a.use
{
  edge start -> inner
  edge start -> each two([n, n + 10])
  edge inner & two -> paid(inner + two.length())
  edge paid -> finish
}
"""


@pytest.mark.feature("B7", "A12.16")
def test_forked_at_each_step_nothing_acts_again(place: Place) -> None:
    acted: list[int] = []

    async def act(n: int) -> int:
        acted.append(n)
        return n

    async def body(store: DatabaseStore) -> None:
        execution = Execution(engine(compiled(TEXT), externs=outside(act)), store, new_owner(), 60.0)
        row = await original(execution)
        once = sorted(acted)
        assert once == [1, 1, 2, 3, 5, 11]
        steps = list(dict.fromkeys(entry.path for entry in await store.entries("r1")))
        assert "main/inner#1/one#3/act@0" in steps
        assert "main/two#1[1]/act@0" in steps
        for step in steps:
            outcome, journal = await gone_on(execution, await forked(execution, row, step))
            assert value_of(outcome) == 5, step
            assert journal.blocked == [], step
        assert sorted(acted) == once

    place.run(body)
