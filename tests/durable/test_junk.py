"""Junk from models in a durable journal: it is refused as any call, and never keeps a run from going on (K07, K13, K29)."""

from __future__ import annotations

import pytest

from ael.durable.execute import Execution, new_owner
from ael.journal.database import DatabaseStore
from ael.journal.entry import State
from ael.run.bindings import Options
from tests.journal.places import Place
from tests.run.fakes import call, calls, model, said
from tests.run.helpers import engine, node, parameter, tool, unit, value_of


@pytest.mark.feature("A12.6")
@pytest.mark.parametrize("junk", ["a\x00b", "\x00", "\ud800", "x" * 5_000, "../..~2/approval", "lo\nok", "𝕝𝕠𝕠𝕜"])
def test_a_proposed_name_that_is_junk_is_refused_and_kept(place: Place, junk: str) -> None:
    async def body(store: DatabaseStore) -> None:
        made = unit(tools=[tool("look", None)], nodes=[node("answer", parameter("q"), tools=["look"])])
        turns = [calls(call(junk, {"a": junk}, junk)), said(f"done {junk}".replace("\ud800", ""))]
        execution = Execution(engine(made, model(*turns)), store, new_owner(), 60.0)
        held = execution.fresh("answer", {"q": f"pay {junk}".replace("\ud800", "")}, Options(run="r1"))
        outcome = value_of(await execution.conclude(held, execution.start(held)))
        assert str(outcome).startswith("done")
        last = {one.path: one.state for one in await store.entries("r1")}
        assert set(last.values()) == {State.ANSWERED}
        assert "answer/turn1/call1" in last

    place.run(body)
