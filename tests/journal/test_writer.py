"""Who makes a commit: the event loop of a run that is alone on a quick disk, else the thread; and in what order."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from ael.journal import sqlite as sqlite_module
from ael.journal import writer
from ael.journal.database import DatabaseStore
from ael.journal.durable import Held, StoreError
from ael.journal.entry import Entry, State
from ael.journal.sqlite import SqliteDatabase
from tests.journal.places import Place
from tests.journal.test_store import begun, entry, written

ALWAYS, NEVER = 3_600.0, 0.0
"""What counts as quick, so that it is not the disk of the day that decides."""


class Seen(SqliteDatabase):
    """Tells in which threads transactions were committed."""

    def __init__(self, path: Path, threads: list[int]) -> None:
        super().__init__(path)
        self.threads = threads

    def commit(self) -> None:
        super().commit()
        if hasattr(self, "threads"):  # not yet, where the tables are made
            self.threads.append(threading.get_ident())


async def call(held: Held, at: int) -> None:
    """A call as a run makes it: only its start is waited for."""
    path = f"a/t#{at}"
    held.journal.append(entry(path, State.PROPOSED, {"at": at}))
    await written(held, entry(path, State.STARTED))
    held.journal.append(entry(path, State.ANSWERED, at))


def store_of(path: Path, threads: list[int]) -> DatabaseStore:
    return DatabaseStore(lambda: Seen(path, threads))


@pytest.mark.feature("A12.6")
def test_a_run_that_is_alone_commits_in_its_own_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "QUICK", ALWAYS)
    monkeypatch.setattr(writer, "TURN", ALWAYS)

    async def main() -> None:
        threads: list[int] = []
        store = store_of(tmp_path / "runs.db", threads)
        held = await begun(store)
        await call(held, 0)
        threads.clear()
        for at in range(1, 20):
            await call(held, at)
        assert threads.count(threading.get_ident()) == 19
        await store.finish("r1", held.row.epoch, "value", None, 0.0)
        assert threads[-1] == threading.get_ident()
        assert len(await store.entries("r1")) == 60
        await store.close()

    asyncio.run(main())


@pytest.mark.feature("K40")
def test_what_else_is_in_the_loop_has_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "QUICK", ALWAYS)
    monkeypatch.setattr(writer, "TURN", 1e-9)

    async def main() -> None:
        threads: list[int] = []
        store = store_of(tmp_path / "runs.db", threads)
        held = await begun(store)
        turns = 0

        def turn() -> None:
            nonlocal turns
            turns += 1
            asyncio.get_running_loop().call_soon(turn)

        turn()
        before = 0
        for at in range(20):
            await call(held, at)
            if at % 2:
                assert turns > before, "two commits, and nobody else had the loop"
                before = turns
        assert threading.get_ident() in threads
        await store.close()

    asyncio.run(main())


@pytest.mark.parametrize(("quick", "runs"), [(NEVER, 1), (ALWAYS, 2)])
def test_slow_commits_and_those_of_several_runs_are_the_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick: float, runs: int
) -> None:
    monkeypatch.setattr(writer, "QUICK", quick)

    async def main() -> None:
        threads: list[int] = []
        store = store_of(tmp_path / "runs.db", threads)
        held = [await begun(store, f"r{at}") for at in range(runs)]
        for one in held:
            await call(one, 0)
        threads.clear()
        for at in range(1, 20):
            for one in held:
                await call(one, at)
        await store.close()
        assert threading.get_ident() not in threads

    asyncio.run(main())


def test_an_event_loop_waits_for_no_other_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "QUICK", ALWAYS)

    async def main() -> None:
        store = store_of(tmp_path / "runs.db", [])
        held = await begun(store)
        await call(held, 0)
        asked, freed, was_held_up = threading.Event(), threading.Event(), []

        def other() -> None:
            with closing(sqlite3.connect(tmp_path / "runs.db", isolation_level=None)) as db:
                db.execute("BEGIN IMMEDIATE")
                asked.set()
                was_held_up.append(not freed.wait(5))
                db.execute("ROLLBACK")

        locking = threading.Thread(target=other)
        locking.start()
        await asyncio.to_thread(asked.wait)
        held.journal.append(entry("a/t#1", State.PROPOSED))
        waiting = held.journal.append(entry("a/t#1", State.STARTED))
        assert waiting is not None
        freed.set()
        await asyncio.to_thread(locking.join)
        assert was_held_up == [False]
        await waiting
        await call(held, 2)
        await store.close()
        assert [one.path for one in await _kept(tmp_path)] == ["a/t#0"] * 3 + ["a/t#1"] * 2 + ["a/t#2"] * 3

    asyncio.run(main())


def test_what_breaks_in_an_event_loop_is_the_threads_to_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "QUICK", ALWAYS)

    async def main() -> None:
        store = store_of(tmp_path / "runs.db", [])
        held = await begun(store)
        await call(held, 0)
        with closing(sqlite3.connect(tmp_path / "runs.db", isolation_level=None)) as other:
            other.execute("ALTER TABLE ael_record RENAME TO gone")
        with pytest.raises(StoreError, match="ael_record"):
            await written(held, entry("a/t#1", State.PROPOSED), entry("a/t#1", State.STARTED))
        assert isinstance(held.journal.lost, StoreError)
        await store.close()

    asyncio.run(main())


@pytest.mark.parametrize("seed", range(6))
def test_the_order_holds_whoever_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Two event loops, each with a run, one of them now and then with another: eager and lazy records in any order."""
    random = Random(seed)
    store = store_of(tmp_path / "runs.db", [])
    asked: dict[str, list[Entry]] = {}

    async def run(name: str, calls: int) -> None:
        held = await begun(store, name)
        made = asked.setdefault(name, [])
        for at in range(calls):
            monkeypatch.setattr(writer, "QUICK", random.choice([ALWAYS, NEVER]))
            path = f"a/t#{at}"
            for one in (
                entry(path, State.PROPOSED, at),
                entry(path, State.STARTED),
                entry(path, State.ANSWERED, at),
            ):
                made.append(one)
                waiting = held.journal.append(one)
                if waiting is not None and (one.state is State.STARTED or random.random() < 0.2):
                    await waiting
            if random.random() < 0.3:
                await asyncio.sleep(random.choice([0.0, 0.001]))
        await store.finish(name, held.row.epoch, "value", None, 0.0)

    async def one_loop(names: list[str]) -> None:
        await asyncio.gather(*(run(name, random.randint(5, 40)) for name in names))

    other = threading.Thread(target=lambda: asyncio.run(one_loop(["r3"])))
    other.start()
    asyncio.run(one_loop(["r1", "r2"]))
    other.join()

    async def read() -> dict[str, list[Entry]]:
        found = {name: await store.entries(name) for name in asked}
        await store.close()
        return found

    assert asyncio.run(read()) == asked


def test_the_log_is_made_longer_ahead_and_nothing_of_that_is_there(tmp_path: Path) -> None:
    async def main() -> None:
        store = store_of(tmp_path / "runs.db", [])
        held = await begun(store)
        sizes = set()
        for at in range(60):
            await call(held, at)
            sizes.add((tmp_path / "runs.db-wal").stat().st_size)
        assert max(sizes) > sqlite_module.RESERVE
        assert len(sizes) < 30, "most commits found the log long enough"
        with closing(sqlite3.connect(tmp_path / "runs.db")) as other:
            assert other.execute("SELECT count(*) FROM ael_meta WHERE name = ''").fetchone() == (0,)
        await store.close()
        assert len(await _kept(tmp_path)) == 180

    asyncio.run(main())


def test_without_room_for_that_it_goes_on(tmp_path: Path) -> None:
    async def main() -> None:
        store = DatabaseStore(lambda: Full(tmp_path / "runs.db"))
        held = await begun(store)
        for at in range(30):
            await call(held, at)
        await store.close()
        assert (tmp_path / "runs.db").stat().st_size < sqlite_module.RESERVE
        assert len(await _kept(tmp_path)) == 90

    asyncio.run(main())


class Full(SqliteDatabase):
    """A disk with little room: no page more than there are and some."""

    def _open(self) -> None:
        super()._open()
        self._db.execute("PRAGMA max_page_count = 60")


async def _kept(folder: Path) -> list[Entry]:
    async with Place("sqlite", folder / "runs.db", "").open() as store:
        return await store.entries("r1")
