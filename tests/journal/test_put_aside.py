"""What a damaged run does to a store, and to the other runs in it (K29, A12.9)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ael.journal.database import DatabaseStore
from ael.journal.durable import StoreError
from ael.journal.entry import VERSION, State
from ael.journal.form import FormError
from ael.journal.schema import MOST
from ael.types.value import Secret
from tests.journal.places import Place
from tests.journal.test_store import CALL, begun, entry, header, written

PLACE = f"((SELECT number FROM ael_run WHERE run = 'bad') * {MOST})"
DAMAGES = {
    "a record is gone": f"DELETE FROM ael_record WHERE place = {PLACE} + 0",
    "a state that is none": f"UPDATE ael_record SET state = 'finished' WHERE place = {PLACE} + 1",
    "an ending that is none": f"UPDATE ael_record SET ending = 'maybe' WHERE place = {PLACE} + 1",
    "taint that is no list": f"UPDATE ael_record SET taint = '[' WHERE place = {PLACE} + 1",
    "a value cut in the middle": f"UPDATE ael_record SET value = ? WHERE place = {PLACE} + 0",
    "an input that is no data": "UPDATE ael_run SET input = ? WHERE run = 'bad'",
    "pins that are no data": "UPDATE ael_run SET pinned = ? WHERE run = 'bad'",
    "an outcome that is no data": "UPDATE ael_run SET outcome = ? WHERE run = 'bad'",
}


async def damaged(store: DatabaseStore, how: str) -> None:
    """A run that is damaged, and one that is not, both ready."""
    for name in ("bad", "good"):
        held = await begun(store, name)
        await written(held, *CALL[:2])
        await store.release(name, held.row.epoch)
    data = [b'{"a": \xff'] if "?" in DAMAGES[how] else []
    assert await store._writer.submit(lambda db: db.change(DAMAGES[how], *data)) == 1


@pytest.mark.feature("A12.9")
@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_run_holds_up_no_other_and_says_what_is_wrong_with_it(place: Place, how: str) -> None:
    async def body(store: DatabaseStore) -> None:
        await damaged(store, how)
        claimed = await store.claim("w2", ["p1"], 4, 60)
        assert [held.row.header.run for held in claimed] == ["good"]
        state, waits = (await store._writer.submit(lambda db: db.rows("SELECT state, waits FROM ael_run WHERE run = 'bad'")))[0]
        assert state == "dead"
        assert "damaged" in waits
        assert await store.claim("w3", ["p1"], 4, 60) == []

    place.run(body)


@pytest.mark.feature("A12.9")
@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_run_is_refused_with_a_sentence_wherever_it_is_looked_at(place: Place, how: str) -> None:
    async def body(store: DatabaseStore) -> None:
        await damaged(store, how)
        looks: list[Callable[[], Any]] = [
            lambda: store.hold("bad", "w2", 60), lambda: store.entries("bad"), lambda: store.find("bad"),
            lambda: store.given("bad"), lambda: store.rows(),
        ]  # fmt: skip
        found = await asyncio.gather(*(look() for look in looks), return_exceptions=True)
        told = [one for one in found if isinstance(one, BaseException)]
        assert told
        assert all(isinstance(one, StoreError) and "damaged" in str(one) for one in told)

    place.run(body)


@pytest.mark.feature("A12.9")
def test_a_record_that_cannot_be_kept_leaves_no_gap(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        held = await begun(store)
        await written(held, CALL[0])
        with pytest.raises(FormError):
            held.journal.append(entry("b", State.PROPOSED, {"key": Secret("hunter2", "key")}))
        await written(held, CALL[1])
        assert [one.state for one in await store.entries("r1")] == [State.PROPOSED, State.STARTED]

    place.run(body)


@pytest.mark.feature("B8")
def test_a_run_of_a_newer_release_is_left_to_it_and_told_with_both_versions(place: Place) -> None:
    """K28: what an older release does not understand it does not go on with."""

    async def body(store: DatabaseStore) -> None:
        assert await store.create(header("new")._replace(version=VERSION + 1), {}, {})
        assert await store.create(header("old"), {}, {})
        assert [held.row.header.run for held in await store.claim("w1", ["p1"], 4, 60)] == ["old"]
        told = rf"the run new was begun by a newer release \(records of version {VERSION + 1}\); .* version {VERSION}: update"
        with pytest.raises(StoreError, match=told):
            await store.hold("new", "w1", 60)
        assert [row.header.run for row in await store.unclaimed(["p1"])] == ["new"]

    place.run(body)
