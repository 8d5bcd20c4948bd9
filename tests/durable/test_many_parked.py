"""Ten thousand runs that wait for a person, and a whole worker: they cost their rows, and nothing in its memory (issue: durable runs)."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Mapping
from typing import Any

import pytest

from ael.durable.worker import Worker
from ael.journal.database import DatabaseStore
from ael.journal.durable import RunState
from ael.journal.entry import Ending, Entry, Kind, State
from ael.journal.journal import HeldJournal
from ael.journal.schema import BITS
from ael.journal.writer import Connection
from ael.run.run import Run
from tests.durable.shop import Shop, created
from tests.journal.places import Place

MANY = 10_000
FAR = 1_000_000
"""Beyond the numbers that the store has given to runs."""
SERIES = {
    "sqlite": "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {}) SELECT n FROM c",
    "postgres": "SELECT generate_series(1, {}) AS n",
}


def alive() -> dict[str, int]:
    """What a run that is under way has in memory, counted."""
    gc.collect()
    kinds: dict[str, int] = {"Run": 0, "HeldJournal": 0, "Entry": 0}
    for one in gc.get_objects():
        if type(one) in (Run, HeldJournal, Entry):
            kinds[type(one).__name__] += 1
    return {**kinds, "tasks": len(asyncio.all_tasks())}


def multiplied(place: Place, run: str, many: int) -> None:
    """As many runs as this one, with its records, as if each had been parked by a worker."""

    def columns(db: Connection, table: str) -> list[str]:
        if place.path is not None:
            return [str(name) for _, name, *_ in db.rows(f"PRAGMA table_info({table})")]
        query = "SELECT column_name FROM information_schema.columns WHERE table_name = ? ORDER BY ordinal_position"
        return [str(name) for (name,) in db.rows(query, table)]

    def work(db: Connection) -> None:
        series = SERIES[place.kind].format(many)
        own = {"run": "'p' || n", "number": f"number + {FAR} + n", "place": f"place + (CAST({FAR} + n AS BIGINT) << {BITS})"}
        for table, where in (
            ("ael_run", f"run = '{run}'"),
            ("ael_record", f"place >> {BITS} = (SELECT number FROM ael_run WHERE run = '{run}')"),
        ):
            names = columns(db, table)
            chosen = ", ".join(own.get(name, name) for name in names)
            db.change(f"INSERT INTO {table} ({', '.join(names)}) SELECT {chosen} FROM {table}, ({series}) AS c WHERE {where}")
        if place.path is None:
            db.change("ANALYZE")  # which PostgreSQL does by itself some time, and SQLite never

    place.look(work)


def no_more(before: Mapping[str, int]) -> bool:
    """Whether no more is alive than before: what runs that went before have left to collect may be gone by now."""
    now = alive()
    return all(now[what] <= count for what, count in before.items())


async def until_no_more(before: Mapping[str, int]) -> None:
    """Wait until no more is alive than before. What stays for ever is told by the time limit."""
    last: dict[str, int] = {}
    try:
        async with asyncio.timeout(60):
            while not no_more(before):
                last = alive()
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"{last} are alive, and before {dict(before)}") from None


async def approve(store: DatabaseStore, run: str) -> None:
    [asked] = [one for one in await store.entries(run) if one.kind is Kind.APPROVAL]
    value: Mapping[str, Any] = {"approved": True, "by": "boss", "reason": "", "arguments": None}
    assert await store.answer(run, asked._replace(state=State.ANSWERED, value=value, ending=Ending.VALUE))


@pytest.mark.feature("A4.5", "K39", "A12.11")
@pytest.mark.timeout(300)
def test_ten_thousand_parked_runs_cost_a_worker_nothing(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        shop = Shop(asks=True)
        execution = shop.execution(store)
        worker = Worker({"program": execution}, 4, keep=3_600.0)
        working = asyncio.ensure_future(worker.work())

        async def parked(count: int) -> None:
            while worker.counts.parked < count:
                await asyncio.sleep(0.01)

        await created(execution, "first", n=1)
        await parked(1)
        before = alive()
        await created(execution, *(f"r{at}" for at in range(100)), n=1)
        worker.wake()
        await parked(101)
        # A hundred runs parked by this very worker leave nothing, once the last of their tasks have ended.
        await until_no_more(before)
        multiplied(place, "first", MANY)
        for _ in range(3):
            await worker._claim(4)
            await worker.look()
        await until_no_more(before)
        assert (worker.counts.claimed, worker.running) == (101, ())
        await approve(store, "p5000")
        worker.wake()
        while worker.counts.ended < 1:
            await asyncio.sleep(0.01)
        row = await store.find("p5000")
        assert row is not None
        assert (row.state, worker.counts.claimed) == (RunState.ENDED, 102)
        assert sum(shop.paid.values()) == 1
        worker.stop()
        await working

    place.run(body)


@pytest.mark.feature("A12.2")
@pytest.mark.timeout(300)
def test_what_a_worker_asks_again_and_again_goes_by_an_index(place: Place) -> None:
    """No look at the store reads the parked runs one by one."""
    asked: list[tuple[str, tuple[object, ...]]] = []

    async def body(store: DatabaseStore) -> None:
        shop = Shop(asks=True)
        execution = shop.execution(store)
        await created(execution, "first", n=1)
        await Worker({"program": execution}, 1).until_idle()
        multiplied(place, "first", MANY)

        def connect() -> Any:
            database = place.database()
            rows = database.rows

            def noted(query: str, *parameters: object) -> list[tuple[Any, ...]]:
                asked.append((query, parameters))
                return rows(query, *parameters)

            setattr(database, "rows", noted)  # noqa: B010
            return database

        watched = DatabaseStore(connect)
        await watched.rows(limit=1)
        asked.clear()
        worker = Worker({"program": shop.execution(watched)}, 4, {"*": 3}, keep=3_600.0)
        await worker._claim(4)
        await worker.look()
        await watched.close()

    place.run(body)
    tables = [(query, given) for query, given in asked if "ael_run" in query]
    assert len(tables) >= 4
    for query, given in tables:
        plan = explained(place, query, given)
        assert "SCAN ael_run" not in plan.replace("SCAN ael_run USING INDEX", ""), f"{query}\n{plan}"
        assert "Seq Scan on ael_run" not in plan, f"{query}\n{plan}"


def explained(place: Place, query: str, given: tuple[object, ...]) -> str:
    """How the database would answer a query."""
    how = "EXPLAIN QUERY PLAN " if place.path is not None else "EXPLAIN "
    found = place.look(lambda db: db.rows(how + query, *given))
    return "\n".join(str(row[-1]) for row in found)
