"""What a store has acknowledged survives: killed and stopped workers, a database that restarts, a file cut at any byte."""

from __future__ import annotations

import asyncio
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ael.journal.database import DatabaseStore
from ael.journal.durable import RunState, StoreError
from ael.journal.entry import Entry, State
from ael.journal.sqlite import SqliteDatabase, boot
from ael.journal.store import WriteAheadRequired
from tests.journal.places import Place
from tests.journal.test_store import CALL, begun, entry, header, written
from tests.postgres import PostgresServer

ROOT = Path(__file__).parents[2]


class Worker:
    """`tests.journal.worker` in a process of its own."""

    def __init__(self, place: Place, run: str = "r1", lease: float = 60.0, most: int = 100_000) -> None:
        where = str(place.path) if place.path is not None else place.address
        command = [sys.executable, "-m", "tests.journal.worker", place.kind, where, run, str(lease), str(most)]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)

    def lines(self) -> Iterator[list[str]]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            yield line.split()

    def after(self, count: int) -> int:
        """Wait until it has told of `count` started calls; the number of the last one."""
        for word, *rest in self.lines():
            if word == "started":
                count -= 1
                if count == 0:
                    return int(rest[0])
        raise AssertionError("the worker ended")

    def rest(self) -> list[list[str]]:
        """Everything that it still says, to its end."""
        found = list(self.lines())
        self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return found


def orderly(entries: list[Entry]) -> None:
    """Every call's records follow each other: proposed, started, answered."""
    found: dict[str, list[State]] = {}
    for one in entries:
        found.setdefault(one.path, []).append(one.state)
    order = [State.PROPOSED, State.STARTED, State.ANSWERED]
    assert all(states == order[: len(states)] for states in found.values())


def locked(place: Place) -> bool:
    """Whether another process is in the middle of a transaction in the file."""
    if place.path is None:
        return False
    with closing(sqlite3.connect(place.path, timeout=0, isolation_level=None)) as probe:
        try:
            probe.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
    return False


def create(place: Place, *runs: str) -> None:
    async def body(store: DatabaseStore) -> None:
        for run in runs:
            assert await store.create(header(run), None, {})

    place.run(body)


def test_killed_workers_lose_nothing_that_was_acknowledged(place: Place) -> None:
    create(place, "r1")
    seed = random.Random(7)
    for _ in range(6):
        worker = Worker(place)
        last = worker.after(seed.randint(2, 12))
        worker.process.send_signal(signal.SIGKILL)
        told = [int(rest[0]) for word, *rest in worker.rest() if word == "started" and rest]
        last = max([last, *told])

        async def body(store: DatabaseStore, last: int = last) -> None:
            entries = await store.entries("r1")
            orderly(entries)
            assert {f"main/t#{at}" for at in range(last + 1)} <= {one.path for one in entries if one.state is State.STARTED}

        place.run(body)
    worker = Worker(place, most=last + 3)
    assert worker.rest()[-1] == ["finished"]


def test_a_stopped_worker_is_fenced_when_it_comes_back(place: Place) -> None:
    create(place, "r1")
    worker = Worker(place, lease=0.3)
    worker.after(3)

    async def takeover(store: DatabaseStore) -> None:
        claimed: list[object] = []
        while not claimed:
            # One that is stopped in the middle of a transaction holds what it has locked: it is stopped again elsewhere.
            worker.process.send_signal(signal.SIGCONT)
            worker.after(1)
            worker.process.send_signal(signal.SIGSTOP)
            await asyncio.sleep(0.5)
            if not locked(place):
                claimed = list(await store.claim("w2", ["p1"], 1, 60))
        before = await store.entries("r1")
        worker.process.send_signal(signal.SIGCONT)
        assert worker.rest()[-1] == ["fenced"]
        assert await store.entries("r1") == before
        orderly(before)

    place.run(takeover)


def test_a_database_that_restarts_is_waited_for(server: PostgresServer) -> None:
    own = PostgresServer()
    try:
        own.start()
        place = Place("postgres", None, own.create("restarts"))
        create(place, "r1")
        worker = Worker(place, most=400)
        for stop in (own.stop, own.kill):
            worker.after(20)
            stop()
            own.start()
        assert worker.rest()[-1] == ["finished"]

        async def body(store: DatabaseStore) -> None:
            entries = await store.entries("r1")
            orderly(entries)
            assert len(entries) == 1_200
            row = await store.find("r1")
            assert row is not None
            assert row.state is RunState.ENDED

        place.run(body)
    finally:
        own.remove()


def test_a_file_cut_at_any_byte_holds_a_beginning_of_what_was_written(tmp_path: Path) -> None:
    place = Place("sqlite", tmp_path / "runs.db", "")
    crashed = Place("sqlite", tmp_path / "cut" / "runs.db", "")

    async def body(store: DatabaseStore) -> None:
        held = await begun(store)
        for at in range(12):
            await written(held, *(one._replace(path=f"a/t#{at}") for one in CALL))
        log = tmp_path / "runs.db-wal"
        # What was made longer ahead holds nothing: cut where the records are.
        size = min(log.stat().st_size, 180_000)
        seen: set[int] = set()
        seed = random.Random(3)
        for cut in sorted({0, 1, 31, 32, 33, size - 1, size, log.stat().st_size, *(seed.randrange(size) for _ in range(60))}):
            shutil.rmtree(tmp_path / "cut", ignore_errors=True)
            (tmp_path / "cut").mkdir()
            shutil.copy(tmp_path / "runs.db", tmp_path / "cut" / "runs.db")
            (tmp_path / "cut" / "runs.db-wal").write_bytes(log.read_bytes()[:cut])
            async with crashed.open() as other:
                entries = await other.entries("r1")
            whole = [one._replace(path=f"a/t#{at}") for at in range(12) for one in CALL]
            assert entries == whole[: len(entries)]
            seen.add(len(entries))
        assert {0, 36} <= seen
        assert len(seen) > 10

    place.run(body)


@pytest.mark.feature("K29")
def test_a_clock_that_jumps_changes_no_lease(tmp_path: Path) -> None:
    """In SQLite leases go by a clock that nobody sets: neither is a run taken early, nor is one of a dead worker left for hours."""
    now, ticks = [1_000.0], [50.0]
    path = tmp_path / "runs.db"

    def connect() -> SqliteDatabase:
        return SqliteDatabase(path, lambda: now[0], lambda: ticks[0])

    async def main() -> None:
        first, second = DatabaseStore(connect), DatabaseStore(connect)
        try:
            held = await begun(first, lease=30.0)
            for jump in (-10_000.0, 0.0, 20.0, 100_000.0):
                now[0] = 1_000.0 + jump
                assert await second.claim("w2", ["p1"], 1, 30.0) == []
                assert (await first.pulse("w1", {"r1": held.row.epoch}, 30.0)).lost == frozenset()
                await written(held, entry(f"a/{jump}", State.PROPOSED))
            now[0] = -50_000.0
            ticks[0] += 31.0
            assert len(await second.claim("w2", ["p1"], 1, 30.0)) == 1
        finally:
            await first.close()
            await second.close()

    asyncio.run(main())


def test_a_machine_that_was_started_anew_has_no_leases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place("sqlite", tmp_path / "runs.db", "")
    starts = iter((11, 11, 12))
    monkeypatch.setattr("ael.journal.sqlite.boot", lambda: next(starts))

    async def body(store: DatabaseStore) -> None:
        await begun(store, lease=1e9)

    async def again(store: DatabaseStore) -> None:
        assert await store.claim("w2", ["p1"], 1, 30.0) == []

    async def after(store: DatabaseStore) -> None:
        assert len(await store.claim("w3", ["p1"], 1, 30.0)) == 1

    for one in (body, again, after):
        place.run(one)


@pytest.mark.parametrize(
    ("text", "found"), [("1284ff23-d0de-4911-89fc-47f0c9dabcab\n", 0x1284FF23D0DE491), ("none", None), (None, None)]
)
def test_a_platform_without_boots_goes_by_its_clock(tmp_path: Path, text: str | None, found: int | None) -> None:
    source = tmp_path / "boot_id"
    if text is not None:
        source.write_text(text)
    assert boot(source) == found


def test_ten_thousand_parked_runs_cost_only_their_rows(tmp_path: Path) -> None:
    place = Place("sqlite", tmp_path / "runs.db", "")
    create(place, "seed")

    async def body(store: DatabaseStore) -> None:
        held = await store.hold("seed", "w", 60)
        assert held is not None
        await store.park("seed", held.row.epoch, "an approval", None, 0.0)
        database = place.database()
        database.begin()
        (columns,) = {", ".join(name for _, name, *_ in database.rows("PRAGMA table_info(ael_run)"))}
        others = columns.replace("run,", "'p' || n,", 1).replace(", number", ", number + n")
        database.change(
            "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 10000) "
            f"INSERT INTO ael_run ({columns}) SELECT {others} FROM ael_run, c WHERE run = 'seed'"
        )
        database.commit()
        database.close()
        tasks = len(asyncio.all_tasks())
        assert await store.claim("w", ["p1"], 8, 60) == []
        await store.create(header("ready"), None, {})
        assert [one.row.header.run for one in await store.claim("w", ["p1"], 8, 60)] == ["ready"]
        assert len(asyncio.all_tasks()) == tasks

    place.run(body)


def test_a_store_that_is_closed_says_so(place: Place) -> None:
    async def main() -> None:
        async with place.open() as store:
            held = await begun(store)
            await written(held, CALL[0])
        with pytest.raises(StoreError, match="closed"):
            await store.find("r1")

    asyncio.run(main())


def test_what_waits_for_a_commit_is_written_when_the_store_closes(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        held = await begun(store)
        held.journal.append(CALL[0])

    async def after(store: DatabaseStore) -> None:
        assert await store.entries("r1") == [CALL[0]]

    place.run(body)
    place.run(after)


def test_a_second_answer_is_refused(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        held = await begun(store)
        await written(held, *CALL)
        with pytest.raises(WriteAheadRequired):
            held.journal.append(CALL[2])

    place.run(body)
