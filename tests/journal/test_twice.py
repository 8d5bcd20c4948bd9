"""What is done once: though the connection breaks after a commit, and though two people answer at once (A12.6, K29, K30)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ael.journal.database import DatabaseStore
from ael.journal.entry import Ending, Kind, State
from ael.journal.writer import Database, Unreachable
from tests.journal.places import Place
from tests.journal.test_store import CALL, begun, entry, header, written


class Forgetful:
    """A database whose connection breaks right after a commit: nobody hears that it was done."""

    def __init__(self, inner: Database, breaks: list[int]) -> None:
        self._inner = inner
        self._breaks = breaks

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def commit(self) -> None:
        self._inner.commit()
        self._breaks[0] -= 1
        if self._breaks[0] == 0:
            raise Unreachable("the connection broke")


def breaking(place: Place) -> tuple[DatabaseStore, list[int]]:
    """A store, and after how many commits its connection breaks once."""
    breaks = [0]
    return DatabaseStore(lambda: Forgetful(place.database(), breaks)), breaks


@pytest.mark.feature("A12.6")
def test_what_was_committed_before_the_connection_broke_is_done_once(place: Place) -> None:
    async def main() -> None:
        store, breaks = breaking(place)
        try:
            breaks[0] = 1
            assert await store.create(header("made"), 1, {}), "it is new, though nobody heard that it was made"
            fresh = store.fresh(header("fresh"), {"id": "a"}, {}, "w1", 60)
            breaks[0] = 1
            await written(fresh, *CALL[:2])
            assert fresh.journal.lost is None
            breaks[0] = 1
            await written(fresh, CALL[2])
            assert await store.entries("fresh") == list(CALL)
            breaks[0] = 1
            await store.finish("fresh", 1, "value", 1, 0.0)
            held = await begun(store, "asks")
            await written(held, entry("x/approval", State.PROPOSED, {"arguments": {}}, Kind.APPROVAL))
            breaks[0] = 1
            await store.park("asks", held.row.epoch, "approval at x/approval", None, 0.0)
            breaks[0] = 1
            said = entry("x/approval", State.ANSWERED, {"approved": True}, Kind.APPROVAL)
            assert await store.answer("asks", said), "the answer counts, though nobody heard so"
            assert not await store.answer("asks", said._replace(value={"approved": False}))
            breaks[0] = 1
            assert await store.hold("asks", "w1", 60) is not None
        finally:
            await store.close()

    asyncio.run(main())


@pytest.mark.feature("A4.6", "B9")
def test_of_two_people_who_answer_at_once_one_is_told_that_he_came_second(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        held = await begun(store)
        paths = [f"x{at}/approval" for at in range(12)]
        await written(held, *(entry(path, State.PROPOSED, {"arguments": {}}, Kind.APPROVAL) for path in paths))
        await store.park("r1", held.row.epoch, "; ".join(f"approval at {path}" for path in paths), None, 0.0)
        async with place.open() as second, place.open() as third:
            for path in paths:
                said = [
                    entry(path, State.ANSWERED, {"approved": bool(at), "by": at}, Kind.APPROVAL)._replace(ending=Ending.VALUE)
                    for at in range(3)
                ]
                found = await asyncio.gather(
                    *(one.answer("r1", word) for one, word in zip((store, second, third), said, strict=True))
                )
                assert sorted(found) == [False, False, True]
        again = await store.hold("r1", "w2", 60)
        assert again is not None
        assert all(getattr(again.journal.last(path), "state", None) is State.ANSWERED for path in paths)

    place.run(body)
