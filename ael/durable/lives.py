"""One process of a run that is crashed on purpose: starts it, or goes on with it, and ends itself where it is told to (feature D1)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

from ael.data import dataclass, replace
from ael.durable.crash import Watched
from ael.durable.execute import Execution, options_of
from ael.durable.sends import Sends
from ael.host import Host
from ael.journal.database import DatabaseStore
from ael.journal.durable import Held, RunRow, RunState
from ael.journal.sqlite import SqliteDatabase
from ael.run.bindings import Options
from ael.run.engine import Engine
from ael.run.outcome import Suspended, to_json

OWNER = "crash"
"""Every process of a proof is the same worker: the next one need not wait for the lease of the one that died."""
LEASE = 3_600.0


@dataclass(frozen=True, slots=True)
class Point:
    """Where a process dies: after the commit of record `number`, or when what it sent as number `number` was done outside."""

    kind: str
    number: int

    def __str__(self) -> str:
        what = "after record" if self.kind == "record" else "after the outside did send"
        return f"crashed {what} {self.number}"


class _Counter:
    """Counts up to a point, and kills this process there. Counted in several threads: the last step is a signal that nothing survives."""

    def __init__(self, point: Point | None, kind: str) -> None:
        self.count = 0
        self._at = point.number if point is not None and point.kind == kind else 0

    def __call__(self) -> None:
        self.count += 1
        if self.count == self._at:
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended that was not killed: the outcome as JSON, and how many boundaries and sends it came by."""

    outcome: Mapping[str, object]
    records: int
    sends: int
    again: float | None = None
    """For how many seconds the run waits before it goes on."""


async def live(
    opened: Callable[[], Host],
    folder: Path,
    run: str,
    entry: str,
    values: Mapping[str, object],
    point: Point | None,
    fresh: Options | None = None,
) -> Ended:
    """Start the run `run` in `folder`, or go on with it, until it ends, parks, or this process dies at `point`.

    `fresh`: what holds for the run when it begins.
    """
    records, done = _Counter(point, "record"), _Counter(point, "send")

    def connect() -> Watched:
        database = SqliteDatabase(folder / "runs.db")
        # What a process has written survives its death without reaching the disk, and no machine goes down here.
        database.change("PRAGMA synchronous = OFF")
        return Watched(database, records)

    store = DatabaseStore(connect, batch=1)
    sends = Sends(folder / "sends", done)
    host = opened()
    try:
        async with host:
            engine = Engine(host.unit, sends.bindings(host.bindings))
            execution = Execution(engine, store, OWNER, LEASE)
            row = await store.find(run)
            if row is not None and row.state in (RunState.ENDED, RunState.DEAD):
                return Ended(_told(row), records.count, done.count)
            held: Held | None
            if row is None:
                options, given = replace(fresh or Options(), run=run), values
                held = execution.fresh(entry, values, options)
            else:
                held = await store.hold(run, OWNER, LEASE)
                if held is None:
                    return Ended({"outcome": "parked", "waits": _waits(row)}, records.count, done.count, row.wake)
                options, given = options_of(held.pinned), None
            held = replace(held, journal=sends.journal(held.journal))
            outcome = await execution.conclude(held, execution.start(held, options, given))
            again = None
            if isinstance(outcome, Suspended) and outcome.wake is not None:
                again = max(0.0, outcome.wake - engine.world.clock.now())
            told = {name: value for name, value in to_json(outcome).items() if name != "spent"}
            return Ended(told, records.count, done.count, again)
    finally:
        await store.close()
        sends.close()


def _told(row: RunRow) -> dict[str, object]:
    outcome = row.outcome if isinstance(row.outcome, Mapping) else {"outcome": "dead"}
    return {name: value for name, value in outcome.items() if name != "spent"}


def _waits(row: RunRow) -> list[dict[str, object]]:
    pairs = [part.partition(" at ") for part in row.waits.split("; ")]
    return [{"kind": kind, "path": path} for kind, _, path in pairs]


def main(
    opened: Callable[[], Host],
    folder: Path,
    run: str,
    entry: str,
    values: Mapping[str, object],
    point: Point | None,
    fresh: Options | None = None,
) -> None:
    """The whole of such a process; how it ended is written to `folder`."""
    ended = asyncio.run(live(opened, folder, run, entry, values, point, fresh))
    told = {"outcome": ended.outcome, "records": ended.records, "sends": ended.sends, "again": ended.again}
    (folder / "ended").write_text(json.dumps(told, default=str), encoding="utf-8")
