"""Many records at once: who waits for the newest one has waited for all of them (K27, K29)."""

from __future__ import annotations

import pytest

from ael.journal.database import DatabaseStore
from ael.journal.entry import Ending, Entry, Header, Kind, State
from ael.journal.writer import BATCH
from tests.journal.places import Place


@pytest.mark.feature("A12.6", "A12.9", "K29")
def test_more_records_than_fit_a_batch_are_written_before_the_newest_counts_as_written(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        await store.create(Header("r1", "p", "e", "", "t", "c", 0.0, None), {}, {})
        held = await store.hold("r1", "w", 60.0)
        assert held is not None
        count = 3 * BATCH
        for at in range(count):
            record = Entry(f"now@{at}", State.ANSWERED, Kind.EFFECT, "now", "", "", at, Ending.VALUE, 0.0, 0.0)
            newest = held.journal.append(record)
        if newest is not None:
            await newest
        assert [entry.value for entry in await store.entries("r1")] == list(range(count))
        # What is given back has all that was added, whoever waited for it.
        for at in range(count, 2 * count):
            held.journal.append(Entry(f"now@{at}", State.ANSWERED, Kind.EFFECT, "now", "", "", at, Ending.VALUE, 0.0, 0.0))
        await store.release("r1", held.row.epoch)
        assert len(await store.entries("r1")) == 2 * count

    place.run(body)
