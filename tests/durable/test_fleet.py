"""What a fleet has to hold: slots, tenants, dead letters, runs that nobody takes, a database that restarts, retention."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import Any

import pytest

from ael.durable.execute import Execution
from ael.durable.pinned import Bound, accept, accepted
from ael.durable.worker import Refused, Worker
from ael.journal.database import DatabaseStore
from ael.journal.durable import RunRow, RunState
from ael.journal.listen import Listener
from ael.journal.runs import DEAD_AFTER, EVERYBODY
from ael.run.bindings import Options
from tests.durable.shop import Shop, created
from tests.journal.places import Place
from tests.postgres import PostgresServer


class Watch:
    """How many runs were inside of their effect at once, by tenant and in all."""

    def __init__(self) -> None:
        self.now: Counter[str] = Counter()
        self.most: Counter[str] = Counter()

    async def __call__(self) -> None:
        self.now["all"] += 1
        self.most["all"] = max(self.most["all"], self.now["all"])
        await asyncio.sleep(0.005)
        self.now["all"] -= 1


@pytest.mark.feature("A12.4", "A12.2")
def test_a_worker_never_has_more_runs_than_slots(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        watch = Watch()
        execution = Shop(hold=watch).execution(store)
        await created(execution, *(f"r{at}" for at in range(12)), n=2)
        worker = Worker({"program": execution}, 3)
        await worker.until_idle()
        assert worker.counts.ended == 12
        assert watch.most["all"] == 3

    place.run(body)


@pytest.mark.feature("A12.4")
def test_a_tenant_with_a_long_queue_holds_up_nobody_and_keeps_its_limit(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        execution = Shop().execution(store)
        # More than any worker looks at in one claim, all of them older than the one run of the other tenant.
        await created(execution, *(f"a{at}" for at in range(90)), tenant="big")
        await created(execution, "b", tenant="small")
        found = await store.claim("w1", ["program"], 4, 60, {EVERYBODY: 2})
        assert Counter(held.row.header.tenant for held in found) == {"big": 2, "small": 1}
        assert not await store.claim("w2", ["program"], 4, 60, {EVERYBODY: 2}), "the limit holds over all workers"
        assert len(await store.claim("w2", ["program"], 4, 60, {EVERYBODY: 2, "big": 3})) == 1

    place.run(body)


@pytest.mark.feature("A12.11")
def test_a_dead_run_is_reported_once_and_can_be_tried_again(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        said: list[str] = []
        shop = Shop()
        execution = shop.execution(store)
        await created(execution, "r1")
        for at in range(DEAD_AFTER):
            assert await store.claim(f"w{at}", ["program"], 1, -1.0)
        worker = Worker({"program": execution}, 1, trouble=lambda code, sentence: said.append(sentence))
        await worker.until_idle()
        row = await store.find("r1")
        assert row is not None
        assert row.state is RunState.DEAD
        for _ in range(2):
            await worker.look()
        [told] = said
        assert "the run r1 is dead" in told
        assert "ael runs resume r1" in told
        assert await store.revive("r1")
        assert not await store.revive("r1")
        await worker.until_idle()
        assert worker.counts.ended == 1
        assert set(shop.paid.values()) == {1}

    place.run(body)


@pytest.mark.feature("A12.11")
def test_dead_runs_are_forgotten_in_their_time_too(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        execution = Shop().execution(store)
        await created(execution, "r1")
        for at in range(DEAD_AFTER + 1):
            await store.claim(f"w{at}", ["program"], 1, -1.0)
        row = await store.find("r1")
        assert row is not None
        assert row.ended is not None
        await Worker({"program": execution}, 1, keep=-3_600.0).look()
        assert await store.find("r1") is None

    place.run(body)


def test_a_worker_forgets_what_ended_long_ago(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        execution = Shop().execution(store)
        await created(execution, "r1")
        worker = Worker({"program": execution}, 1, keep=3_600.0)
        await worker.until_idle()
        await worker.look()
        assert await store.find("r1") is not None
        worker.keep = -3_600.0
        await worker.look()
        assert await store.find("r1") is None

    place.run(body)


@pytest.mark.feature("A12.2")
def test_a_run_that_nobody_takes_is_reported_when_it_was_there_at_two_looks(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        said: list[str] = []
        execution = Shop().execution(store)
        header, input = execution.engine.header("main", {"n": 1}, Options(run="old"))
        await store.create(header._replace(program="another"), input, {})
        worker = Worker({"program": execution}, 1, trouble=lambda code, sentence: said.append(sentence))
        await worker.look()
        assert said == [], "another worker may be about to take it"
        await worker.look()
        await worker.look()
        [told] = said
        assert "nobody takes the run old" in told
        assert "the program another" in told

    place.run(body)


def _bound(**values: str) -> Bound:
    return Bound("shop", "default", values)


def _with(execution: Execution, bound: Bound) -> Execution:
    return Execution(execution.engine, execution.store, execution.owner, execution.lease, bound)


@pytest.mark.feature("B8")
def test_a_run_keeps_its_bindings_and_a_worker_with_others_leaves_it(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        shop = Shop()
        before = _with(shop.execution(store), _bound(**{"model fast": "anthropic small", "price of fast": "in 1"}))
        held = before.fresh("main", {"n": 2}, Options(run="r1"))
        held.journal.begin()
        await store.release("r1", held.row.epoch)
        left: list[Any] = []
        other = _with(shop.execution(store), _bound(**{"model fast": "anthropic small", "price of fast": "in 2"}))
        worker = Worker({"program": other}, 1, told=lambda row, outcome: left.append(outcome))
        await worker.until_idle()
        [refused] = left
        assert isinstance(refused, Refused)
        assert refused.what == ("price of fast was `in 1`, and is `in 2` now",)
        assert (worker.counts.refused, worker.counts.ended) == (1, 0)
        assert not shop.paid
        row = await store.find("r1")
        assert row is not None
        assert row.state is RunState.PARKED
        assert row.wake is not None, "a worker with its bindings gets it soon"
        assert row.attempts == 0, "nobody is to blame"
        assert "price of fast was `in 1`" in row.waits

    place.run(body)


@pytest.mark.feature("A12.11", "A12.12")
def test_giving_back_is_no_attempt(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        execution = Shop().execution(store)
        await created(execution, "r1")
        for at in range(DEAD_AFTER + 3):
            [held] = await store.claim(f"w{at}", ["program"], 1, 60)
            await store.release("r1", held.row.epoch)
        row = await store.find("r1")
        assert row is not None
        assert row.state is RunState.READY

    place.run(body)


@pytest.mark.feature("B8")
def test_what_a_person_accepts_is_recorded_and_holds_from_then_on(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        shop = Shop()
        before = _with(shop.execution(store), _bound(**{"tool pay": "timeout 5"}))
        held = before.fresh("main", {"n": 1}, Options(run="r1"))
        held.journal.begin()
        await store.release("r1", held.row.epoch)
        now = _with(shop.execution(store), _bound(**{"tool pay": "timeout 9"}))
        again = await store.hold("r1", now.owner, 60)
        assert again is not None
        what = now.differs(again)
        accept(again, now.bound, "ann", what, 5.0)
        assert now.differs(again) == []
        await store.release("r1", again.row.epoch)
        entries = await store.entries("r1")
        assert accepted(entries) == {"tool pay": "timeout 9"}
        assert entries[-1].value["by"] == "ann"  # type: ignore[index]
        assert entries[-1].value["differs"] == what  # type: ignore[index]
        worker = Worker({"program": now}, 1)
        await worker.until_idle()
        assert worker.counts.ended == 1

    place.run(body)


def test_a_worker_outlives_a_restart_of_the_database(server: PostgresServer) -> None:
    place = Place("postgres", None, server.create("restarted"))

    async def body(store: DatabaseStore) -> None:
        ended: list[RunRow] = []
        shop = Shop()
        execution = shop.execution(store)
        worker = Worker({"program": execution}, 2, told=lambda row, outcome: ended.append(row))
        working = asyncio.ensure_future(worker.work())
        await created(execution, "before")
        while not ended:
            await asyncio.sleep(0.01)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, server.stop)
        await asyncio.sleep(0.2)
        await loop.run_in_executor(None, server.start)
        await created(execution, "after")
        while len(ended) < 2:
            await asyncio.sleep(0.01)
        worker.stop()
        await working
        assert [row.header.run for row in ended] == ["before", "after"]
        assert set(shop.paid.values()) == {1}

    place.run(body)


def test_postgres_tells_of_ready_runs(server: PostgresServer) -> None:
    place = Place("postgres", None, server.create("told"))
    heard = threading.Semaphore(0)

    async def body(store: DatabaseStore) -> None:
        execution = Shop().execution(store)
        await store.rows()
        listener = Listener(place.address, heard.release)
        listener.start()
        loop = asyncio.get_running_loop()
        try:
            assert await loop.run_in_executor(None, lambda: heard.acquire(timeout=20)), "it listens"
            await created(execution, "r1")
            assert await loop.run_in_executor(None, lambda: heard.acquire(timeout=20)), "a new run"
            [held] = await store.claim("w1", ["program"], 1, 60)
            await store.park("r1", held.row.epoch, "its time", None, 0.0)
            await store.cancel("r1", "not needed")
            assert await loop.run_in_executor(None, lambda: heard.acquire(timeout=20)), "one that is woken"
        finally:
            listener.stop()

    place.run(body)


def test_a_word_wakes_a_worker_that_waits() -> None:
    async def body() -> None:
        worker = Worker({}, 1)
        waiting = asyncio.ensure_future(worker._pause())
        await asyncio.sleep(0)
        worker.wake()
        await asyncio.wait_for(waiting, 20)

    asyncio.run(body())
