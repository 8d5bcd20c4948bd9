"""A call is sent only on its own record: not on a commit that had no room for it, and not on one that failed before it (A8.8, A12.10)."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from ael.journal.database import DatabaseStore
from ael.journal.durable import Fenced, StoreError
from ael.journal.entry import Ending, Kind, State
from ael.journal.memory import MemoryJournal
from ael.journal.store import ApprovalRequired
from ael.journal.writer import Database
from tests.journal.places import Place
from tests.journal.test_store import CALL, begun, entry, written


class Slow:
    """A database that waits before it begins, where it is told to, and whose commit may fail."""

    def __init__(self, inner: Database, gate: Gate) -> None:
        self._inner = inner
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def begin_at_once(self) -> bool:
        return False

    def begin(self) -> None:
        if self._gate.closed:
            self._gate.reached.set()
            assert self._gate.opened.wait(60)
        self._inner.begin()

    def commit(self) -> None:
        if self._gate.full:
            self._gate.full = False
            raise StoreError("database or disk is full")
        self._inner.commit()


class Gate:
    """Where the thread that writes is held."""

    def __init__(self) -> None:
        self.closed = False
        self.full = False
        self.reached = threading.Event()
        self.opened = threading.Event()


@pytest.mark.feature("A8.8", "A12.10")
@pytest.mark.parametrize("how", ["taken over", "disk full"])
def test_a_record_that_went_down_with_the_commit_before_lets_nothing_be_sent(place: Place, how: str) -> None:
    async def main() -> None:
        gate = Gate()
        store = DatabaseStore(lambda: Slow(place.database(), gate))
        try:
            async with place.open() as other:
                held = await begun(store, lease=-1.0)
                await written(held, *CALL[:2], entry("b", State.PROPOSED))
                gate.closed = True
                held.journal.append(CALL[2])
                # The commit has begun with what there was; the next record comes before it has looked at the records.
                await asyncio.to_thread(gate.reached.wait, 60)
                sent = held.journal.append(entry("b", State.STARTED))
                assert sent is not None
                if how == "taken over":
                    assert await other.hold("r1", "w2", 60) is not None
                else:
                    gate.full = True
                gate.closed = False
                gate.opened.set()
                with pytest.raises(Fenced if how == "taken over" else StoreError):
                    await sent
                kept = [(one.path, one.state) for one in await other.entries("r1")]
                assert ("b", State.STARTED) not in kept
                with pytest.raises(Fenced if how == "taken over" else StoreError):
                    held.journal.append(entry("b", State.ANSWERED))
        finally:
            await store.close()

    asyncio.run(main())


ASKED = entry("a/t#1/approval", State.PROPOSED, {"arguments": {}}, Kind.APPROVAL)


@pytest.mark.feature("A12.7", "A4.6")
@pytest.mark.parametrize("said", [None, {"approved": False}, {"approved": "yes"}, "approved"])
def test_the_store_lets_nothing_begin_that_somebody_was_asked_about_and_did_not_approve(place: Place, said: object) -> None:
    """K30: enforced in the transaction of the record, whatever the worker believes."""

    async def body(store: DatabaseStore) -> None:
        held = await begun(store)
        memory = MemoryJournal().open(held.row.header)
        before = [CALL[0], ASKED, *([] if said is None else [ASKED._replace(state=State.ANSWERED, value=said)])]
        await written(held, *before)
        for one in before:
            memory.append(one)
        with pytest.raises(ApprovalRequired, match="was asked about, and is not approved"):
            memory.append(CALL[1])
        with pytest.raises(ApprovalRequired):
            held.journal.append(CALL[1])
        # A worker that holds it for approved: the same check again, in the transaction of the record.
        approved = ASKED._replace(state=State.ANSWERED, value={"approved": True})
        held.journal._last[ASKED.path] = (len(before) - 1, approved)  # type: ignore[attr-defined]
        with pytest.raises(ApprovalRequired):
            await written(held, CALL[1])
        assert [one.state for one in await store.entries("r1") if one.path == CALL[1].path] == [State.PROPOSED]

    place.run(body)


@pytest.mark.feature("A12.7", "A4.6")
def test_what_was_approved_begins(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        held = await begun(store)
        await written(held, CALL[0], ASKED)
        await store.park("r1", held.row.epoch, "approval at a/t#1/approval", None, 0.0)
        assert await store.answer("r1", ASKED._replace(state=State.ANSWERED, value={"approved": True}, ending=Ending.VALUE))
        again = await store.hold("r1", "w2", 60)
        assert again is not None
        await written(again, *CALL[1:])
        # With the answer in the same commit.
        other = entry("b", State.PROPOSED), entry("b/approval", State.PROPOSED, {"arguments": {}}, Kind.APPROVAL)
        said = other[1]._replace(state=State.ANSWERED, value={"approved": True})
        for one in (*other, said):
            again.journal.append(one)
        await written(again, entry("b", State.STARTED))
        assert len(await store.entries("r1")) == 9

    place.run(body)
