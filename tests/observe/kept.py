"""Runs of small programs that are kept, and what a trace says of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ael.durable.execute import Execution, new_owner
from ael.durable.rehearse import way
from ael.journal.database import DatabaseStore
from ael.journal.durable import RunRow
from ael.journal.entry import Entry
from ael.journal.sqlite import SqliteDatabase
from ael.lower.unit import CompiledUnit
from ael.observe.kept import Kept, trace_of
from ael.observe.shown import Evidence, shown
from ael.run.bindings import Options
from ael.run.engine import Engine
from ael.run.masker import Masker
from ael.run.outcome import Outcome
from ael.run.ports import Span
from ael.run.trace import SpanList
from tests.run.fakes import model
from tests.run.helpers import engine


def keep(path: Path, made: Engine, entry: str, given: Mapping[str, object], options: Options) -> Outcome:
    """Run to the end, or until it parks, with its journal in a SQLite file."""

    async def work() -> Outcome:
        store = DatabaseStore(partial(SqliteDatabase, path))
        try:
            execution = Execution(made, store, new_owner(), 60.0)
            held = execution.fresh(entry, given, options)
            return await execution.conclude(held, execution.start(held, options))
        finally:
            await store.close()

    return asyncio.run(work())


def kept(
    path: Path,
    run: str,
    *,
    evidence: Evidence | None = None,
    masker: Masker | None = None,
    now: float | None = None,
    rehearsed: Sequence[Span] = (),
) -> Kept:
    """What the store has of a run; with content as `evidence` allows."""

    async def work() -> Kept:
        store = DatabaseStore(partial(SqliteDatabase, path))
        try:
            found, given = await store.find(run), await store.given(run)
            assert found is not None
            assert given is not None
            mask = masker or Masker(())
            show = None if evidence is None else shown(evidence, mask)
            entries = await store.entries(run)
            return Kept(found, entries, entries[-1].at if now is None else now, mask, given[0], show, rehearsed=rehearsed)
        finally:
            await store.close()

    return asyncio.run(work())


def rehearsed(
    path: Path,
    run: str,
    program: CompiledUnit,
    *,
    row: RunRow | None = None,
    entries: Sequence[Entry] | None = None,
    same: bool = True,
) -> list[Span]:
    """The spans of a rehearsal, over a world in which nothing can be reached. `same`: whether it ends as the run did."""
    seen = SpanList()

    async def work() -> bool:
        store = DatabaseStore(partial(SqliteDatabase, path))
        try:
            found, given = row or await store.find(run), await store.given(run)
            assert found is not None
            assert given is not None
            assert isinstance(given[0], dict)
            records = await store.entries(run) if entries is None else entries
            return await way(
                engine(program, *[model() for _ in program.models], sinks=(seen,)), found, given[0], given[1], records
            )
        finally:
            await store.close()

    assert asyncio.run(work()) is same
    return seen.spans


def spans_of(path: Path, run: str, **how: Any) -> list[Span]:
    return trace_of(kept(path, run, **how))


def tree(spans: list[Span], *words: str) -> list[str]:
    """`run main > node answer > turn fast`, with the attributes that are asked for."""
    by = {span.sequence: span for span in spans}

    def line(span: Span) -> str:
        above = "" if span.parent is None else f"{line(by[span.parent])} > "
        return f"{above}{span.kind} {span.name}"

    def told(span: Span) -> str:
        return "".join(f" {word}={span.attributes[word]}" for word in words if word in span.attributes)

    return [f"{line(span)}{told(span)} {span.outcome}".strip() for span in sorted(spans, key=lambda one: one.sequence)]
