"""One suite for both durable stores: fences, leases, order, answers from outside (runtime.md, section 5)."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from ael.journal.database import DatabaseStore
from ael.journal.durable import Fenced, Held, RunState, StoreError
from ael.journal.entry import Ending, Entry, Header, Kind, State
from ael.journal.sqlite import SqliteDatabase, file_system, refuse_network
from ael.journal.store import WriteAheadRequired
from tests.journal.places import Place


def header(run: str = "r1", tenant: str = "local", program: str = "p1", started: float = 1.0) -> Header:
    return Header(run, program, "main", "d1", tenant, "alice", started, None)


def entry(path: str, state: State, value: object = None, kind: Kind = Kind.TOOL) -> Entry:
    ending = Ending.VALUE if state is State.ANSWERED else None
    return Entry(path, state, kind, "main.refund", "h1", "k1", value, ending, 5.0, 0.5, ("tool:x",), ("a", "b"))


async def begun(store: DatabaseStore, run: str = "r1", owner: str = "w1", lease: float = 60.0) -> Held:
    await store.create(header(run), {"id": "a"}, {"prices": "p"})
    held = await store.hold(run, owner, lease)
    assert held is not None
    return held


async def written(held: Held, *entries: Entry) -> None:
    for one in entries:
        waiting = held.journal.append(one)
        if waiting is not None:
            await waiting


CALL = (
    entry("a/t#1", State.PROPOSED, {"total": Decimal("1.20")}),
    entry("a/t#1", State.STARTED),
    entry("a/t#1", State.ANSWERED, [1]),
)


def test_what_was_written_comes_back(place: Place) -> None:
    async def first(store: DatabaseStore) -> None:
        held = await begun(store)
        assert not held.journal.continued
        assert (held.input, held.pinned) == ({"id": "a"}, {"prices": "p"})
        await written(held, *CALL)
        await store.release("r1", held.row.epoch)

    async def second(store: DatabaseStore) -> None:
        held = await store.hold("r1", "w2", 60)
        assert held is not None
        assert held.row.epoch == 2
        assert held.journal.continued
        assert held.journal.active == 0.5
        assert held.journal.entries() == list(CALL)
        assert held.journal.last("a/t#1") == CALL[2]

    place.run(first)
    place.run(second)


def test_a_run_is_created_once(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        assert await store.create(header(), 1, {})
        assert not await store.create(header(), 2, {})
        held = await store.hold("r1", "w", 60)
        assert held is not None
        assert held.input == 1

    place.run(body)


@pytest.mark.feature("A12.10")
def test_who_lost_the_lease_writes_nothing_more(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        held = await begun(store, lease=-1.0)
        await written(held, CALL[0])
        async with place.open() as other:
            taken = (await other.claim("w2", ["p1"], 1, 60))[0]
            with pytest.raises(Fenced):
                await written(held, CALL[1])
            for call in (store.finish("r1", 1, "value", 1, 0.0), store.park("r1", 1, "x", None, 0.0), store.release("r1", 1)):
                with pytest.raises(Fenced):
                    await call
            assert (await store.pulse("w1", {"r1": 1}, 60)).lost == {"r1"}
            await written(taken, CALL[1])
            assert [one.state for one in await other.entries("r1")] == [State.PROPOSED, State.STARTED]

    place.run(body)


def test_a_holder_that_lost_its_run_hears_it_with_every_further_record(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        held = await begun(store, lease=-1.0)
        async with place.open() as other:
            assert await other.hold("r1", "w2", 60) is not None
            with pytest.raises(Fenced):
                await written(held, CALL[0])
            with pytest.raises(Fenced):
                held.journal.append(CALL[1])

    place.run(body)


@pytest.mark.feature("A8.8")
def test_the_store_itself_refuses_what_skips_its_predecessor(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        held = await begun(store)
        with pytest.raises(WriteAheadRequired):
            held.journal.append(CALL[1])
        # A worker that does not look: the same check again, in the transaction of the record.
        held.journal._last["a/t#1"] = (0, CALL[0])  # type: ignore[attr-defined]
        with pytest.raises(WriteAheadRequired):
            await written(held, CALL[1])
        assert await store.entries("r1") == []
        # The record that it takes for the one before is there, but of another call.
        other = await begun(store, "r2")
        await written(other, CALL[0])
        other.journal._last["a/t#2"] = (0, CALL[0])  # type: ignore[attr-defined]
        with pytest.raises(WriteAheadRequired):
            await written(other, CALL[1]._replace(path="a/t#2"))
        assert await store.entries("r2") == [CALL[0]]

    place.run(body)


def test_one_that_fails_does_not_fail_its_neighbours(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        good, bad = await begun(store, "good"), await begun(store, "bad")
        bad.journal._epoch = 7  # type: ignore[attr-defined]
        both = [one.journal.append(CALL[0]) for one in (bad, good)]
        found = await asyncio.gather(*(one for one in both if one is not None), return_exceptions=True)
        assert isinstance(found[0], Fenced)
        assert await store.entries("good") == [CALL[0]]
        assert await store.entries("bad") == []

    place.run(body)


def test_two_workers_race_for_each_run_and_one_gets_it(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        for at in range(40):
            await store.create(header(f"r{at:02}", started=float(at)), None, {})
        async with place.open() as other:
            won: Counter[str] = Counter()
            while True:
                first, second = await asyncio.gather(store.claim("w1", ["p1"], 3, 60), other.claim("w2", ["p1"], 3, 60))
                if not first and not second:
                    break
                won.update(held.row.header.run for held in (*first, *second))
        assert won == Counter(f"r{at:02}" for at in range(40))

    place.run(body)


def test_a_worker_claims_only_programs_that_it_holds(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        await store.create(header("old", program="p0"), None, {})
        await store.create(header("new"), None, {})
        assert [held.row.header.run for held in await store.claim("w", ["p1", "p2"], 9, 60)] == ["new"]
        left = await store.rows(states=[RunState.READY])
        assert [row.header.run for row in left] == ["old"]

    place.run(body)


@pytest.mark.feature("A12.4")
def test_a_worker_fetches_what_it_has_slots_for(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        for at in range(5):
            await store.create(header(f"r{at}", started=float(at)), None, {})
        assert [held.row.header.run for held in await store.claim("w", ["p1"], 2, 60)] == ["r0", "r1"]
        assert await store.claim("w", ["p1"], 0, 60) == []

    place.run(body)


def test_tenants_take_turns_and_keep_their_limits(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        for at in range(9):
            await store.create(header(f"a{at}", "acme", started=float(at)), None, {})
        for at in range(3):
            await store.create(header(f"b{at}", "bolt", started=100.0 + at), None, {})
        async with place.open() as other:
            first, second = await asyncio.gather(
                store.claim("w1", ["p1"], 3, 60, {"acme": 3}), other.claim("w2", ["p1"], 3, 60, {"acme": 3})
            )
            more = await store.claim("w1", ["p1"], 9, 60, {"acme": 3})
        tenants = Counter(held.row.header.tenant for held in (*first, *second, *more))
        assert tenants == {"acme": 3, "bolt": 3}
        assert {held.row.header.tenant for held in first or second} == {"acme", "bolt"}

    place.run(body)


@pytest.mark.feature("A12.2")
def test_a_heartbeat_extends_the_lease_and_brings_a_cancel(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        held = await begun(store, lease=0.5)
        assert (await store.pulse("w1", {"r1": held.row.epoch}, 60)).lost == frozenset()
        assert await store.claim("w2", ["p1"], 1, 60) == []
        assert await store.cancel("r1", "the customer left")
        assert (await store.pulse("w1", {"r1": held.row.epoch}, 60)).cancel == {"r1": "the customer left"}

    place.run(body)


def test_a_parked_run_is_nobodys_until_its_time(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        held = await begun(store)
        await store.park("r1", held.row.epoch, "an approval", 0.3, 1.5)
        assert await store.claim("w2", ["p1"], 1, 60) == []
        row = await store.find("r1")
        assert row is not None
        assert (row.state, row.waits, row.active, row.owner) == (RunState.PARKED, "an approval", 1.5, "")
        await asyncio.sleep(0.4)
        assert len(await store.claim("w2", ["p1"], 1, 60)) == 1

    place.run(body)


@pytest.mark.feature("A4.11")
def test_an_answer_from_outside_wakes_a_parked_run_and_counts_once(place: Place) -> None:
    asked = entry("a/t#1/approval", State.PROPOSED, {"role": "finance"}, Kind.APPROVAL)
    said = entry("a/t#1/approval", State.ANSWERED, {"approved": True}, Kind.APPROVAL)

    async def body(store: DatabaseStore) -> None:
        held = await begun(store)
        await written(held, asked)
        await store.park("r1", held.row.epoch, "an approval", None, 0.0)
        async with place.open() as other:
            assert not await other.answer("r1", said._replace(path="a/t#2/approval"))
            assert await other.answer("r1", said)
            assert not await other.answer("r1", said._replace(value={"approved": False}))
        again = (await store.claim("w2", ["p1"], 1, 60))[0]
        assert again.journal.last(asked.path) == said
        assert not await store.answer("r1", said)

    place.run(body)


def test_an_answer_that_comes_while_the_run_still_runs_is_there_when_it_parks(place: Place) -> None:
    asked = entry("a/approval", State.PROPOSED, None, Kind.APPROVAL)
    said = entry("a/approval", State.ANSWERED, {"approved": True}, Kind.APPROVAL)

    async def body(store: DatabaseStore) -> None:
        held = await begun(store)
        await written(held, asked)
        assert await store.answer("r1", said)
        await written(held, *CALL)
        await store.park("r1", held.row.epoch, "an approval", None, 0.0)
        again = (await store.claim("w2", ["p1"], 1, 60))[0]
        assert again.journal.entries() == [asked, *CALL, said]

    place.run(body)


def test_a_cancel_wakes_a_parked_run_to_its_end(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        held = await begun(store)
        await store.park("r1", held.row.epoch, "an approval", None, 0.0)
        assert await store.cancel("r1", "enough")
        again = (await store.claim("w", ["p1"], 1, 60))[0]
        assert again.row.cancel == "enough"
        await store.finish("r1", again.row.epoch, "fault", {"kind": "Cancelled"}, 2.0)
        assert not await store.cancel("r1", "again")
        row = await store.find("r1")
        assert row is not None
        assert (row.state, row.ending, row.outcome) == (RunState.ENDED, "fault", {"kind": "Cancelled"})

    place.run(body)


@pytest.mark.feature("A12.11")
def test_a_run_that_ends_its_workers_is_put_aside(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        await store.create(header(), None, {})
        for _ in range(5):
            assert len(await store.claim("w", ["p1"], 1, -1.0)) == 1
        assert await store.claim("w", ["p1"], 1, -1.0) == []
        row = await store.find("r1")
        assert row is not None
        assert row.state is RunState.DEAD
        assert "5 workers" in row.waits

    place.run(body)


def test_giving_back_is_no_blame(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        await store.create(header(), None, {})
        for _ in range(8):
            held = (await store.claim("w", ["p1"], 1, 60))[0]
            await store.release("r1", held.row.epoch)
        row = await store.find("r1")
        assert row is not None
        assert (row.state, row.attempts) == (RunState.READY, 0)

    place.run(body)


def test_old_runs_are_forgotten_and_the_newest_kept(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        for at in range(4):
            held = await begun(store, f"r{at}")
            await written(held, CALL[0])
            await store.finish(f"r{at}", held.row.epoch, "value", at, 0.0)
        await begun(store, "open")
        assert await store.prune(time.time() + 60, keep=1) == 3
        assert {row.header.run for row in await store.rows()} == {"r3", "open"}
        assert await store.entries("r0") == []

    place.run(body)


@pytest.mark.feature("A12.9")
def test_a_journal_with_a_gap_is_refused(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        held = await begun(store)
        await written(held, *CALL)
        await store.release("r1", held.row.epoch)
        database = place.database()
        database.begin()
        database.change("DELETE FROM ael_record WHERE place & 63 = 1")
        database.commit()
        database.close()
        with pytest.raises(StoreError, match="record 1 is missing before `a/t#1`"):
            await store.hold("r1", "w", 60)

    place.run(body)


def test_a_store_of_a_newer_release_is_refused(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        database = place.database()
        database.begin()
        database.change("UPDATE ael_meta SET value = 99")
        database.commit()
        database.close()
        with pytest.raises(StoreError, match="newer release"):
            await store.find("r1")

    place.run(body)


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    path.write_bytes(b"not a database at all, but long enough to be looked at" * 40)
    with pytest.raises(StoreError, match="cannot be used"):
        SqliteDatabase(path)


def test_sqlite_on_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda1 / ext4 rw 0 0\nserver:/x {tmp_path}/share nfs4 rw 0 0\n")
    assert file_system(tmp_path / "share" / "runs.db", mounts) == "nfs4"
    assert file_system(tmp_path / "runs.db", mounts) == "ext4"
    monkeypatch.setattr("ael.journal.sqlite.file_system", lambda path: "nfs4")
    with pytest.raises(StoreError, match="network file system"):
        refuse_network(tmp_path / "runs.db")
