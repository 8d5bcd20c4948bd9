"""Executing runs from a store: new ones, interrupted ones, parked ones, by one worker and by several."""

from __future__ import annotations

import asyncio

import pytest

from ael.durable.execute import Taken
from ael.durable.worker import Worker
from ael.journal.database import DatabaseStore
from ael.journal.durable import RunState
from ael.journal.entry import Ending, Kind, State
from ael.run.bindings import Options
from ael.run.outcome import Suspended
from tests.durable.shop import Shop, created
from tests.journal.places import Place


def test_a_new_run_is_known_with_its_first_effect_and_has_its_outcome(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        execution = Shop().execution(store)
        held = execution.fresh("main", {"n": 2}, Options(run="r1", caller="ann"))
        outcome = await execution.conclude(held, execution.start(held))
        assert outcome.plain == "1"  # type: ignore[union-attr]
        row = await store.find("r1")
        assert row is not None
        assert (row.state, row.ending, row.header.caller) == (RunState.ENDED, "value", "ann")
        assert row.outcome["value"] == "1"  # type: ignore[index]
        idle = execution.fresh("main", {"n": 0}, Options(run="r2"))
        await execution.conclude(idle, execution.start(idle))
        assert await store.find("r2") is None, "a run without effects leaves nothing behind"

    place.run(body)


def test_a_worker_does_what_is_there(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        shop = Shop()
        execution = shop.execution(store)
        await created(execution, *(f"r{at}" for at in range(20)))
        worker = Worker({"program": execution}, 4)
        await worker.until_idle()
        assert worker.counts.ended == 20
        assert set(shop.paid.values()) == {1}
        assert len(shop.paid) == 60
        assert {row.state for row in await store.rows()} == {RunState.ENDED}

    place.run(body)


def test_two_workers_share_the_work_and_nothing_is_done_twice(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        shop = Shop()
        async with place.open() as second:
            workers = [Worker({"program": shop.execution(one)}, 3) for one in (store, second)]
            await created(workers[0].executions["program"], *(f"r{at}" for at in range(30)))
            await asyncio.gather(*(worker.until_idle() for worker in workers))
        assert sum(worker.counts.ended for worker in workers) == 30
        assert set(shop.paid.values()) == {1}

    place.run(body)


@pytest.mark.feature("A12.12")
def test_a_worker_that_stops_gives_its_runs_back_between_two_effects(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        inside = asyncio.Event()
        gate = asyncio.Event()

        async def hold() -> None:
            inside.set()
            await gate.wait()

        shop = Shop(hold=hold)
        execution = shop.execution(store)
        await created(execution, "r1")
        worker = Worker({"program": execution}, 2)
        working = asyncio.ensure_future(worker.work())
        await inside.wait()
        worker.stop()
        gate.set()
        await working
        assert (worker.counts.released, worker.counts.ended) == (1, 0)
        assert sum(shop.paid.values()) == 1
        row = await store.find("r1")
        assert row is not None
        assert row.state is RunState.READY
        again = Worker({"program": shop.execution(store)}, 2)
        await again.until_idle()
        assert again.counts.ended == 1
        assert set(shop.paid.values()) == {1}

    place.run(body)


@pytest.mark.feature("A4.5", "A4.11")
def test_an_approval_parks_and_another_worker_goes_on(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        shop = Shop(asks=True)
        execution = shop.execution(store)
        held = execution.fresh("main", {"n": 1}, Options(run="r1"))
        outcome = await execution.conclude(held, execution.start(held))
        assert isinstance(outcome, Suspended)
        [wait] = outcome.waits
        row = await store.find("r1")
        assert row is not None
        assert (row.state, row.owner) == (RunState.PARKED, "")
        before = (await store.entries("r1"))[-1]
        assert (before.kind, before.path) == (Kind.APPROVAL, wait.path)
        value = {"approved": True, "by": "boss", "reason": "", "arguments": None}
        assert await store.answer("r1", before._replace(state=State.ANSWERED, value=value, ending=Ending.VALUE))
        async with place.open() as second:
            worker = Worker({"program": shop.execution(second)}, 1)
            await worker.until_idle()
        assert worker.counts.ended == 1
        assert sum(shop.paid.values()) == 1

    place.run(body)


def test_a_worker_whose_run_was_taken_hears_it(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        inside, gate = asyncio.Event(), asyncio.Event()

        async def hold() -> None:
            inside.set()
            await gate.wait()

        shop = Shop(hold=hold)
        execution = shop.execution(store, lease=-1.0)
        held = execution.fresh("main", {"n": 2}, Options(run="r1"))
        run = execution.start(held)
        await inside.wait()
        async with place.open() as second:
            assert len(await second.claim("w2", ["program"], 1, 60)) == 1
            gate.set()
            await run.outcome()
            with pytest.raises(Taken):
                await execution.record(held, run, await run.outcome())
        assert sum(shop.paid.values()) == 1, "the second payment is fenced before it is sent"

    place.run(body)


def test_a_cancel_from_outside_reaches_a_running_run(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        inside = asyncio.Event()

        async def hold() -> None:
            inside.set()
            await asyncio.sleep(60)

        execution = Shop(hold=hold).execution(store, lease=0.3)
        await created(execution, "r1")
        worker = Worker({"program": execution}, 1)
        working = asyncio.ensure_future(worker.until_idle())
        await inside.wait()
        assert await store.cancel("r1", "not needed any more")
        await asyncio.wait_for(working, 20)
        row = await store.find("r1")
        assert row is not None
        assert row.outcome["message"] == "not needed any more"  # type: ignore[index]

    place.run(body)


def test_runs_of_a_program_that_nobody_has_are_reported(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        execution = Shop().execution(store)
        await created(execution, "r1")
        header, input = execution.engine.header("main", {"n": 1}, Options(run="old"))
        await store.create(header._replace(program="before"), input, {"budget": {}, "trace_parent": None})
        await Worker({"program": execution}, 1).until_idle()
        assert [row.header.run for row in await store.unclaimed(["program"])] == ["old"]

    place.run(body)
