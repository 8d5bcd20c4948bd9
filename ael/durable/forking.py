"""Making a fork: a new run with the beginning of another's journal, ready for any worker that has its program."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ael.data import replace
from ael.durable.execute import Execution, options_of
from ael.durable.fork import Fork, acts, cut
from ael.journal.durable import RunRow
from ael.journal.entry import Entry

__all__ = ["forked"]


async def forked(
    execution: Execution,
    of: RunRow,
    at: str,
    *,
    changes: Mapping[str, object] | None = None,
    allow: Collection[str] = (),
    models: Mapping[str, str] | None = None,
) -> str:
    """Fork the run `of` at the step `at` (`""`: at its end); the id of the new run, which belongs to whoever forks.

    `changes`: step -> the answer that it has instead. `allow`: what is called for real. `models`: kept to be told, and bound by the caller.
    Raises what `Engine.header` raises, and `StoreError`.
    """
    store, engine = execution.store, execution.engine
    run = of.header.run
    entries: list[Entry] = await store.entries(run)
    given = await store.given(run)
    assert given is not None
    input, pinned = given
    assert isinstance(input, dict)
    beginning, rest = cut(entries, at, changes or {})
    kinds = {entry.path: entry.kind for entry in entries}
    record = tuple([one for one in rest if acts(engine.world.unit, kinds[one.path], one.target, execution.bound.reads)])
    fork = Fork(run, at, record, frozenset(allow), dict(models or {}))
    options = replace(options_of(pinned), tenant=of.header.tenant)
    header, form = engine.header(of.header.entry, input, options)
    held = store.fresh(header, form, {**execution.pinned(options), "fork": fork.kept()}, execution.owner, execution.lease)
    held.journal.begin()
    for entry in beginning:
        held.journal.append(entry)
    # Given back before it goes on: whoever takes it, here or in another worker, replays its beginning.
    await store.release(header.run, held.row.epoch)
    return header.run
