"""Draining has an end: what did not come to its next effect by then is cut off, and another worker goes on with nothing lost (A12.12)."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import Any

import pytest

from ael.durable.execute import Execution, new_owner
from ael.durable.worker import CutOff, Worker
from ael.journal.database import DatabaseStore
from ael.journal.durable import RunState
from ael.journal.entry import Ending, Kind, State
from ael.run.bindings import Options
from ael.types.signature import Repeat
from ael.types.type import IntType
from tests.durable.test_heart import Busy, beside
from tests.journal.places import Place
from tests.run.helpers import code, engine, parameter, tool, unit

INT = IntType()
pytestmark = pytest.mark.feature("A12.12", "A12.13")


class Stuck:
    """A program with two calls, the second of which does not end in the first life."""

    def __init__(self, repeat: Repeat, *, thread: bool = False) -> None:
        self.sent: Counter[str] = Counter()
        self.inside = threading.Event()
        self.free = threading.Event()

        async def waits(n: int, *, call: Any) -> int:
            self.sent[call.key] += 1
            if n == 1 and not self.free.is_set():
                self.inside.set()
                await asyncio.Event().wait()
            return n

        def blocks(n: int, *, call: Any) -> int:
            self.sent[call.key] += 1
            if n == 1 and not self.free.is_set():
                self.inside.set()
                self.free.wait(100)
            return n

        async def main(k: Any) -> int:
            total = 0
            for at in range(3):
                total += await k.act(0, "main.pay", (at,))
            return total

        made = tool("pay", None, parameter("n", INT), result=INT, repeat=repeat)
        self.unit = unit(tools=[made], nodes=[code("main", main, result=INT)])
        self.externs: dict[str, Any] = {"main.pay": blocks if thread else waits}

    def execution(self, store: DatabaseStore) -> Execution:
        return Execution(engine(self.unit, externs=self.externs), store, new_owner(), 3_600.0)


async def cut_off(store: DatabaseStore, stuck: Stuck) -> None:
    """A worker takes the run, is told to stop while it is stuck, and ends."""
    execution = stuck.execution(store)
    await execution.create("main", {}, Options(run="r1"))
    left: list[Any] = []
    worker = Worker({"program": execution}, 2, told=lambda row, outcome: left.append(outcome), drain=0.2)
    working = asyncio.ensure_future(worker.work())
    await asyncio.get_running_loop().run_in_executor(None, stuck.inside.wait, 60)
    worker.stop()
    await asyncio.wait_for(working, 60)
    assert (worker.counts.cut, worker.counts.ended, worker.counts.released) == (1, 0, 0)
    [told] = left
    assert isinstance(told, CutOff)
    assert "r1 was cut off and given back" in str(told)
    row = await store.find("r1")
    assert row is not None
    assert (row.state, row.owner, row.attempts) == (RunState.READY, "", 0)
    entries = await store.entries("r1")
    assert [entry.state for entry in entries[-2:]] == [State.PROPOSED, State.STARTED], "nothing of the cut is kept"
    assert not [entry for entry in entries if entry.kind is Kind.CANCEL]


async def goes_on(store: DatabaseStore, stuck: Stuck) -> Any:
    stuck.free.set()
    again = Worker({"program": stuck.execution(store)}, 1)
    await again.until_idle()
    assert again.counts.ended == 1
    row = await store.find("r1")
    assert row is not None
    return row


def test_what_has_a_key_is_sent_again_under_it_by_the_next_worker(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        stuck = Stuck(Repeat.IDEMPOTENT)
        await cut_off(store, stuck)
        row = await goes_on(store, stuck)
        assert (row.ending, row.outcome["value"]) == ("value", 3)
        assert sorted(stuck.sent.values()) == [1, 1, 2], "one call was open: it goes out again, under the same key"

    place.run(body)


def test_what_has_none_is_uncertain_for_the_next_worker(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        stuck = Stuck(Repeat.NEVER)
        await cut_off(store, stuck)
        row = await goes_on(store, stuck)
        assert row.ending == "uncertain"
        assert set(stuck.sent.values()) == {1}
        assert [entry.ending for entry in await store.entries("r1") if entry.ending is not None][-1] is Ending.UNCERTAIN

    place.run(body)


def test_a_thread_that_does_not_end_keeps_no_worker(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ael.run.run.GRACE", 0.2)

    async def body(store: DatabaseStore) -> None:
        stuck = Stuck(Repeat.IDEMPOTENT, thread=True)
        await cut_off(store, stuck)
        assert (await goes_on(store, stuck)).ending == "value"

    place.run(body)


def test_code_that_computes_does_not_put_the_end_off(place: Place) -> None:
    """Told from another thread, as a signal handler tells: the event loop is not there to hear it."""
    busy = Busy()

    async def body(store: DatabaseStore) -> None:
        execution = busy.execution(store)
        await execution.create("main", {}, Options(run="r1"))
        worker = Worker({"program": execution}, 1, drain=0.2)

        def stop() -> None:
            busy.begun.wait(60)
            worker.stop()

        beside(stop)
        await worker.work()
        assert worker.counts.cut == 1
        row = await store.find("r1")
        assert row is not None
        assert (row.state, row.epoch) == (RunState.READY, 1)
        busy.enough.set()
        again = Worker({"program": busy.execution(store)}, 1)
        await again.until_idle()
        assert again.counts.ended == 1

    place.run(body)


def test_a_run_that_was_claimed_and_not_begun_is_given_back(place: Place) -> None:
    busy = Busy()
    busy.enough.set()

    async def body(store: DatabaseStore) -> None:
        execution = busy.execution(store)
        await execution.create("main", {}, Options(run="r1"))
        worker = Worker({"program": execution}, 1)
        assert await worker._claim(1) == 1
        worker.stop()
        await asyncio.wait(worker._tasks)
        assert (worker.counts.released, worker.counts.ended) == (1, 0)
        assert not busy.begun.is_set()
        row = await store.find("r1")
        assert row is not None
        assert row.state is RunState.READY

    place.run(body)
