"""Parallel calls whose answers come in another order in another life: the program sees the same (K28)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ael.durable.execute import Execution, new_owner
from ael.journal.database import DatabaseStore
from ael.journal.entry import State
from ael.run.bindings import Options
from ael.run.outcome import Outcome, to_json
from tests.journal.places import Place
from tests.run.fakes import call, calls, model, said
from tests.run.helpers import code, engine, node, parameter, tool, unit


class Racing:
    """Three reads beside each other, from code and from a model, that end in the order that `first` says; then a fourth."""

    def __init__(self, *first: str) -> None:
        self.first = first
        self.asked: list[str] = []
        self._ended: list[str] = []
        self._news = asyncio.Event()

        async def read(name: str) -> str:
            self.asked.append(name)
            place = self.first.index(name) if name in self.first else 0
            while len(self._ended) % 3 < place:
                await self._news.wait()
            self._ended.append(name)
            self._news.set()
            self._news = asyncio.Event()
            return name.upper()

        async def main(k: Any) -> str:
            both = await k.parallel_for(0, ["a", "b", "c"], None, lambda k, name: k.act(0, "main.read", (name,)))
            answer = await k.act(1, "main.answer", ("q",))
            return f"{both} {answer}"

        tools = [tool("read", None, parameter("name"), parallel=True)]
        self.unit = unit(tools=tools, nodes=[node("answer", parameter("q"), tools=["read"]), code("main", main)])
        self.externs = {"main.read": read}

    async def life(self, store: DatabaseStore, run: str, stop: int | None) -> Outcome:
        """One life of the run, which ends when `stop` records are written: what comes after them is not kept."""
        turns = [calls(*(call("read", {"name": name}, name) for name in "abc")), said("done")]
        entries = await store.entries(run)
        answered = sum(one.kind.value == "model" and one.state is State.ANSWERED for one in entries)
        execution = Execution(engine(self.unit, model(*turns[answered:]), externs=self.externs), store, new_owner(), 60.0)
        held = await store.hold(run, execution.owner, 60.0) or execution.fresh("main", {}, Options(run=run))
        running = execution.start(held)
        while stop is not None and not running.done:
            if len(held.journal.entries()) >= stop:
                held.journal.hand_back()
                running.cancel("the machine is gone")
                break
            await asyncio.sleep(0)
        return await execution.conclude(held, running)


@pytest.mark.feature("A12.6", "A12.8")
def test_answers_that_come_in_another_order_in_another_life_give_the_same(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        whole = to_json(await Racing("a", "b", "c").life(store, "whole", None))
        records = len(await store.entries("whole"))
        for stop in range(2, records, 3):
            run = f"cut{stop}"
            await Racing("a", "b", "c").life(store, run, stop)
            again = Racing("c", "b", "a")
            known = {one.path for one in await store.entries(run) if one.state is State.ANSWERED and one.kind.value == "tool"}
            outcome = to_json(await again.life(store, run, None))
            assert outcome["value"] == whole["value"], stop
            assert len(again.asked) == 6 - len(known), "what was answered is not asked again"
            last = {one.path: one.state for one in await store.entries(run)}
            assert set(last.values()) == {State.ANSWERED}

    place.run(body)
