"""Stores in trouble while runs go on: a full disk, a file that others lock, a database that is killed. Nothing is lost or done twice."""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from ael.durable.worker import Worker
from ael.journal.database import DatabaseStore
from ael.journal.durable import RunState, StoreError
from ael.journal.sqlite import SqliteDatabase
from ael.journal.writer import Database, Unreachable
from tests.durable.shop import Shop, created
from tests.journal.places import Place
from tests.journal.test_crash import ROOT, create, orderly
from tests.journal.test_crash import Worker as Process
from tests.journal.test_store import CALL, begun, header, written
from tests.postgres import PostgresServer

pytestmark = pytest.mark.feature("K29", "K27")


def limited(path: Path, pages: list[int]) -> Database:
    """A file on a disk with room for so many pages."""
    database = SqliteDatabase(path)
    database.rows(f"PRAGMA max_page_count = {pages[0]}")
    return database


def test_a_full_disk_is_told_and_nothing_that_was_acknowledged_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    create(Place("sqlite", path, ""), "r1", "r2")
    pages = [path.stat().st_size // 4_096 + 12]

    async def main() -> None:
        store = DatabaseStore(lambda: limited(path, pages))
        held = await store.hold("r1", "w1", 60.0)
        assert held is not None
        acknowledged = 0

        async def fill() -> None:
            nonlocal acknowledged
            for at in range(10_000):
                proposed, started, answered = (one._replace(path=f"a/t#{at}") for one in CALL)
                held.journal.append(proposed)
                await written(held, started)
                acknowledged = 3 * at + 2
                held.journal.append(answered)

        with pytest.raises(StoreError, match="full") as told:
            await fill()
        assert str(path) in str(told.value)
        assert isinstance(held.journal.lost, StoreError)
        with pytest.raises(StoreError):
            held.journal.append(CALL[0])
        entries = await store.entries("r1")
        orderly(entries)
        assert acknowledged <= len(entries)
        # There is room again: the same connection goes on, and whoever has the run next finds all of it.
        await store._writer.submit(lambda db: db.rows("PRAGMA max_page_count = 100000"))
        again = await store.hold("r1", "w1", 60.0)
        assert again is not None
        assert again.journal.entries() == entries
        await written(again, CALL[0]._replace(path="a/t#next"))
        await store.close()

    asyncio.run(main())


def test_a_disk_that_is_full_when_a_transaction_is_committed(tmp_path: Path) -> None:
    """Writing fails with the commit, not with a statement: a limit of the system on the size of files shows what a quota would."""
    place = Place("sqlite", tmp_path / "runs.db", "")
    create(place, "r1")
    size = place.path.stat().st_size if place.path is not None else 0
    command = [sys.executable, "-m", "tests.journal.worker", "sqlite", str(place.path), "r1", "60", "100000"]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 150_000, resource.RLIM_INFINITY))

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, preexec_fn=limit, timeout=120)
    lines = done.stdout.splitlines()
    assert lines[-2].startswith("failed the runs in "), (lines[-3:], done.stderr[-2_000:])
    assert lines[-1] == "still there True", "the connection can be used: the transaction that failed is taken back"
    last = max(int(line.split()[1]) for line in lines if line.startswith("started"))

    async def body(store: DatabaseStore) -> None:
        entries = await store.entries("r1")
        orderly(entries)
        assert {f"main/t#{at}" for at in range(last + 1)} <= {one.path for one in entries}

    place.run(body)
    assert Process(place, most=last + 3).rest()[-1] == ["finished"]


def test_a_worker_whose_disk_was_full_leaves_its_runs_to_the_next(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    shop = Shop()
    runs = [f"r{at}" for at in range(6)]

    async def first() -> None:
        plain = DatabaseStore(lambda: SqliteDatabase(path))
        await created(shop.execution(plain), *runs, n=12)
        await plain.close()
        pages = [path.stat().st_size // 4_096 + 6]
        store = DatabaseStore(lambda: limited(path, pages))
        left: list[Any] = []
        worker = Worker({"program": shop.execution(store)}, 3, told=lambda row, outcome: left.append(outcome))
        await worker.until_idle()
        await store.close()
        assert [one for one in left if isinstance(one, StoreError) and "full" in str(one)]

    async def second() -> None:
        store = DatabaseStore(lambda: SqliteDatabase(path))
        await store.rows()
        await store._writer.submit(lambda db: db.change("UPDATE ael_run SET lease = 0 WHERE state = 'running'"))
        await Worker({"program": shop.execution(store)}, 3).until_idle()
        assert {row.state for row in await store.rows()} == {RunState.ENDED}
        await store.close()

    asyncio.run(first())
    asyncio.run(second())
    assert set(shop.paid.values()) == {1}, "each payment once: it is never sent before its record is written"


@pytest.mark.parametrize("patience", [60.0, 0.2])
def test_a_file_that_another_process_locks_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience: float) -> None:
    monkeypatch.setattr("ael.journal.sqlite.BUSY", 0.05)
    monkeypatch.setattr("ael.journal.writer.PATIENCE", patience)
    path = tmp_path / "runs.db"
    place = Place("sqlite", path, "")
    refused = threading.Semaphore(0)

    class Counted(SqliteDatabase):
        def begin(self) -> None:
            try:
                super().begin()
            except Exception:
                refused.release()
                raise

    async def main() -> None:
        store = DatabaseStore(lambda: Counted(path))
        held = await begun(store)
        other = place.database()
        other.begin()
        waiting = held.journal.append(CALL[0])
        assert waiting is not None
        held.journal.hurry()
        loop = asyncio.get_running_loop()
        for _ in range(3 if patience > 1 else 1):
            assert await loop.run_in_executor(None, lambda: refused.acquire(timeout=60))
        if patience < 1:
            with pytest.raises(StoreError, match="locked by another process"):
                await waiting
            other.rollback()
            assert await store.entries("r1") == []
            again = await store.hold("r1", "w1", 60.0)
            assert again is not None
            await written(again, *CALL)
        else:
            other.rollback()
            await waiting
            await written(held, *CALL[1:])
        other.close()
        assert await store.entries("r1") == list(CALL)
        await store.close()

    asyncio.run(main())


@pytest.mark.timeout(300)
def test_a_database_that_is_killed_under_a_fleet() -> None:
    own = PostgresServer()
    try:
        own.start()
        place = Place("postgres", None, own.create("fleet"))
        asyncio.run(_killed(own, place))
    finally:
        own.remove()


async def _killed(own: PostgresServer, place: Place) -> None:
    passed = 0
    reached = asyncio.Event()

    async def hold() -> None:
        nonlocal passed
        passed += 1
        if passed % 25 == 0:
            reached.set()
        await asyncio.sleep(0.005)

    shop = Shop(hold=hold)
    async with place.open() as one, place.open() as two:
        executions = [shop.execution(store) for store in (one, two)]
        await created(executions[0], *(f"r{at}" for at in range(20)), n=6)
        left: list[Any] = []
        workers = [Worker({"program": one}, 4, told=lambda row, outcome: left.append(outcome)) for one in executions]
        working = [asyncio.ensure_future(worker.work()) for worker in workers]
        for end in (own.kill, own.stop):
            reached.clear()
            await reached.wait()
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, end)
            await loop.run_in_executor(None, own.start)
        while sum(worker.counts.ended for worker in workers) < 20:
            await asyncio.sleep(0.05)
        for worker in workers:
            worker.stop()
        await asyncio.gather(*working)
        rows = await one.rows()
    assert {row.state for row in rows} == {RunState.ENDED}
    assert not [one for one in left if isinstance(one, Exception)]
    assert len(shop.paid) == 120
    assert set(shop.paid.values()) == {1}


@pytest.mark.feature("A12.2")
def test_a_claim_whose_commit_was_not_heard_of_is_had_all_the_same(place: Place) -> None:
    """The connection breaks after the database has committed, before it says so."""
    breaks: list[bool] = []

    def connect() -> Database:
        database = place.database()
        commit = database.commit

        def broken() -> None:
            commit()
            if breaks:
                breaks.clear()
                raise Unreachable("the connection broke")

        setattr(database, "commit", broken)  # noqa: B010
        return database

    async def main() -> None:
        store = DatabaseStore(connect)
        await store.rows()
        breaks.append(True)
        found = await store.claim("w1", ["p1"], 2, 60.0)
        assert [(held.row.header.run, held.row.epoch) for held in found] == [("r1", 1), ("r2", 1)]
        assert [held.row.header.run for held in await store.claim("w1", ["p1"], 2, 60.0)] == ["r3"]
        await store.close()

    create(place, "r1", "r2", "r3")
    asyncio.run(main())
    assert not breaks


@pytest.mark.feature("A12.2")
def test_the_clock_of_a_worker_does_not_matter_in_postgres(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time comes from the database: leases, wakes and what ended when."""
    place = Place("postgres", None, server.create("clocks"))

    async def body(store: DatabaseStore) -> None:
        await store.create(header(), None, {})
        held = await store.hold("r1", "w1", 60.0)
        assert held is not None
        for jump in (-1e6, 1e6):
            monkeypatch.setattr("time.time", lambda jump=jump: 1_796_000_000.0 + jump)
            async with place.open() as other:
                assert await other.claim("w2", ["p1"], 1, 60.0) == []
            assert (await store.pulse("w1", {"r1": held.row.epoch}, 60.0)).lost == frozenset()
        await store.park("r1", held.row.epoch, "its time", 3_600.0, 0.0)
        assert await store.claim("w2", ["p1"], 1, 60.0) == []

    place.run(body)
