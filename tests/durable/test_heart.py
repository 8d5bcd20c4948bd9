"""The heartbeat: what keeps a lease while code computes, what reaches that code, and what a beat must not do (K29, K39)."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from ael.durable.execute import Execution, Taken
from ael.durable.worker import Worker
from ael.journal.database import DatabaseStore
from ael.journal.durable import Fenced, Held, RunRow, RunState
from ael.journal.writer import Database
from ael.run.bindings import Options
from ael.run.outcome import Value
from ael.types.spec import BudgetSpec
from tests.durable.shop import Shop, created
from tests.journal.places import Place
from tests.run.fakes import FakeClock
from tests.run.helpers import code, engine, fault_of, unit

LEASE = 0.6
"""Seconds: a beat comes three times as often. How long a lease is by the store's clock, `Ticks` says."""


class Ticks:
    """A store's clock for leases, moved by hand: what runs out does so when the test says so, however slow the machine is."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.now = 1_000.0

    def database(self) -> Database:
        database = self.place.database()
        setattr(database, "ticks", lambda: self.now)  # noqa: B010
        return database

    def store(self) -> DatabaseStore:
        return DatabaseStore(self.database)


class Busy:
    """A program whose entry computes until it is let go, as compiled code does: without an await, asking for the flag that stops it."""

    def __init__(self, *, seconds: int | None = None) -> None:
        self.begun, self.enough = threading.Event(), threading.Event()

        async def main(k: Any) -> str:
            self.begun.set()
            flag = self.unit.halt.flag
            end = time.monotonic() + 40
            while not self.enough.is_set():
                if flag[0] is not None:
                    raise flag[0]
                assert time.monotonic() < end, "nobody let it go"
            return "computed"

        budget = BudgetSpec() if seconds is None else BudgetSpec(time=seconds)
        self.unit = unit(nodes=[code("main", main, budget=budget)])

    def execution(self, store: DatabaseStore) -> Execution:
        return Execution(engine(self.unit), store, "busy", LEASE)


def beside(work: Callable[[], None]) -> threading.Thread:
    """Something that goes on while the event loop is kept."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


async def row_of(ticks: Ticks, run: str) -> RunRow:
    store = ticks.store()
    try:
        found = await store.find(run)
        assert found is not None
        return found
    finally:
        await store.close()


def beaten(ticks: Ticks, run: str) -> None:
    """Wait until the lease of a run is extended to a whole one from now."""
    end = time.monotonic() + 30
    while asyncio.run(row_of(ticks, run)).lease < ticks.now + LEASE:
        assert time.monotonic() < end, "no heartbeat came"
        time.sleep(0.02)


async def claimed(ticks: Ticks, owner: str) -> list[str]:
    store = ticks.store()
    try:
        return [held.row.header.run for held in await store.claim(owner, ["program"], 9, 1e6)]
    finally:
        await store.close()


@pytest.mark.feature("K29", "A12.2")
def test_code_that_computes_longer_than_a_lease_keeps_its_run(place: Place) -> None:
    ticks, busy = Ticks(place), Busy()
    others: list[str] = []

    def meanwhile() -> None:
        busy.begun.wait(60)
        for _ in range(4):
            beaten(ticks, "r1")
            ticks.now += LEASE * 0.9
            others.extend(asyncio.run(claimed(ticks, "other")))
        busy.enough.set()

    async def main() -> None:
        store = ticks.store()
        execution = busy.execution(store)
        await execution.create("main", {}, Options(run="r1"))
        thread = beside(meanwhile)
        worker = Worker({"program": execution}, 1)
        await worker.until_idle()
        thread.join(60)
        row = await store.find("r1")
        await store.close()
        assert row is not None
        assert (row.state, row.ending, row.epoch) == (RunState.ENDED, "value", 1)
        assert (worker.counts.ended, worker.counts.taken, others) == (1, 0, [])

    asyncio.run(main())


@pytest.mark.feature("K29", "A12.10")
def test_a_run_that_was_taken_over_stops_computing(place: Place) -> None:
    """As after a stop of the whole process: the lease ran out, another has the run, and the first hears so in the middle of its code."""
    ticks, busy = Ticks(place), Busy()
    others: list[str] = []

    def meanwhile() -> None:
        busy.begun.wait(60)
        while not others:
            ticks.now += 100 * LEASE
            others.extend(asyncio.run(claimed(ticks, "other")))

    async def main() -> None:
        store = ticks.store()
        execution = busy.execution(store)
        await execution.create("main", {}, Options(run="r1"))
        beside(meanwhile)
        worker = Worker({"program": execution}, 1)
        await worker.until_idle()
        row = await store.find("r1")
        await store.close()
        assert row is not None
        assert (row.state, row.owner, row.epoch) == (RunState.RUNNING, "other", 2)
        assert (worker.counts.taken, worker.counts.ended) == (1, 0)

    asyncio.run(main())


@pytest.mark.feature("A12.12", "K39")
def test_a_cancel_reaches_code_that_computes(place: Place) -> None:
    busy = Busy()

    def meanwhile() -> None:
        async def ask() -> None:
            async with place.open() as other:
                assert await other.cancel("r1", "the customer left")

        busy.begun.wait(60)
        asyncio.run(ask())

    async def body(store: DatabaseStore) -> None:
        execution = busy.execution(store)
        await execution.create("main", {}, Options(run="r1"))
        beside(meanwhile)
        await Worker({"program": execution}, 1).until_idle()
        row = await store.find("r1")
        assert row is not None
        assert row.state is RunState.ENDED
        assert row.outcome["kind"] == "Cancelled"  # type: ignore[index]
        assert row.outcome["message"] == "the customer left"  # type: ignore[index]

    place.run(body)
    assert busy.unit.halt.flag[0] is None


@pytest.mark.feature("K29")
def test_a_deadline_stops_what_computes_under_a_lease_that_holds(place: Place) -> None:
    busy = Busy(seconds=2_000)

    async def body(store: DatabaseStore) -> None:
        execution = busy.execution(store)
        held = execution.fresh("main", {}, Options(run="r1"))
        held.journal.begin()
        fault = fault_of(await execution.conclude(held, execution.start(held)))
        assert fault.kind.value == "DeadlineExceeded"
        row = await store.find("r1")
        assert row is not None
        assert (row.state, row.epoch) == (RunState.ENDED, 1)

    place.run(body)


@pytest.mark.feature("K39", "A12.10")
def test_a_run_that_lost_its_journal_harms_no_other(place: Place) -> None:
    """Told that it was taken over when it knows already: it ends, and the leases of its neighbours are extended as before."""
    ticks = Ticks(place)

    async def main() -> None:
        gate, inside = asyncio.Event(), asyncio.Semaphore(0)

        async def hold() -> None:
            inside.release()
            await gate.wait()

        store = ticks.store()
        execution = Shop(hold=hold).execution(store, lease=LEASE)
        await created(execution, "lost", "kept", n=1)
        left: list[tuple[str, Any]] = []
        worker = Worker({"program": execution}, 2, told=lambda row, outcome: left.append((row.header.run, outcome)))
        working = asyncio.ensure_future(worker.until_idle())
        for _ in range(2):
            await inside.acquire()
        held, _ = worker._running["lost"]
        database = ticks.database()
        database.begin()
        database.change("UPDATE ael_run SET owner = 'other', epoch = 2, lease = 1e9 WHERE run = 'lost'")
        database.commit()
        database.close()
        # What a branch beside it would have found out with its next record.
        held.journal._failed(Fenced("lost"))  # type: ignore[attr-defined]
        while not left:
            await asyncio.sleep(0.01)
        for _ in range(3):
            ticks.now += LEASE * 0.9
            await asyncio.get_running_loop().run_in_executor(None, beaten, ticks, "kept")
        gate.set()
        await working
        await store.close()
        assert isinstance(dict(left)["lost"], Taken)
        assert isinstance(dict(left)["kept"], Value)

    asyncio.run(main())


@pytest.mark.feature("K39")
@pytest.mark.parametrize("late", [True, False])
def test_a_run_that_is_told_to_end_does_where_nothing_is_kept_any_more(place: Place, late: bool) -> None:
    async def body(store: DatabaseStore) -> None:
        clock, inside = FakeClock(), asyncio.Event()

        async def main(k: Any) -> str:
            inside.set()
            await asyncio.Event().wait()
            return "never"

        made = unit(nodes=[code("main", main)])
        execution = Execution(engine(made, clock=clock), store, "w1", 60.0)
        options = Options(run="r1", budget=BudgetSpec(time=5_000))
        held = execution.fresh("main", {}, options)
        run = execution.start(held, options)
        await inside.wait()
        held.journal._failed(Fenced("r1"))  # type: ignore[attr-defined]
        if late:
            clock.advance(6)
        else:
            run.cancel("enough")
        fault = fault_of(await asyncio.wait_for(run.outcome(), 20))
        assert fault.kind.value == ("DeadlineExceeded" if late else "Cancelled")

    place.run(body)


def test_what_keeps_a_worker_from_its_other_runs_is_told(place: Place) -> None:
    busy = Busy()
    said: list[str] = []

    def trouble(code: str, sentence: str) -> None:
        assert code == "AEL0909"
        said.append(sentence)
        busy.enough.set()

    async def body(store: DatabaseStore) -> None:
        execution = busy.execution(store)
        await execution.create("main", {}, Options(run="r1"))
        await Worker({"program": execution}, 1, trouble=trouble).until_idle()

    place.run(body)
    [told] = said
    assert told.startswith("the run r1 has computed for ")
    assert "no other run goes on here meanwhile" in told


def test_the_thread_goes_with_the_last_run(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ael.durable.heart.LINGER", 0.01)

    async def body(store: DatabaseStore) -> None:
        execution = Shop().execution(store, lease=3_600.0)
        for at in range(3):
            held: Held = execution.fresh("main", {"n": 1}, Options(run=f"r{at}"))
            await execution.conclude(held, execution.start(held))
        for _ in range(1_000):
            if execution.heart._thread is None:
                return
            await asyncio.sleep(0.01)
        raise AssertionError("the thread goes on")

    place.run(body)
