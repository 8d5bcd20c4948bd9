"""A worker: takes runs from a store, as many as it has slots for, and executes them beside each other (feature A12.2)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress

from ael.data import dataclass, field
from ael.durable.execute import BEATS, Execution, Taken
from ael.journal.durable import Held, Pulse, RunRow, RunState, StoreError
from ael.run.outcome import Outcome, Suspended
from ael.run.run import Run

IDLE = 0.5
"""Seconds between looks at a store that had nothing to do; up to twice as long, so that a fleet does not look all at once."""


@dataclass
class Counts:
    """What a worker has done."""

    claimed: int = 0
    ended: int = 0
    parked: int = 0
    released: int = 0
    taken: int = 0


@dataclass(eq=False)
class Worker:
    """Executes runs of the programs that it holds (`executions`, by their digest) until it is told to stop.

    `slots`: runs at once. `tenants`: the most runs of a tenant over all workers. `told` hears of each run that left this worker.
    """

    executions: Mapping[str, Execution]
    slots: int
    tenants: Mapping[str, int] = field(default_factory=dict)
    told: Callable[[RunRow, Outcome | Exception], None] | None = None
    counts: Counts = field(default_factory=Counts)
    _running: dict[str, tuple[Held, Run]] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def _first(self) -> Execution:
        return next(iter(self.executions.values()))

    def stop(self) -> None:
        """Take no further run, and give each one up where its next effect would begin."""
        self._stop.set()
        for _, run in self._running.values():
            run.draining = True

    async def work(self) -> None:
        """Work until `stop`; then wait for what is in flight. Runs that did not end or park are ready for other workers."""
        beat = asyncio.ensure_future(self._beat())
        try:
            while not self._stop.is_set():
                free = self.slots - len(self._running)
                claimed = await self._claim(free) if free > 0 else 0
                if claimed < free or free == 0:
                    await self._pause()
            while self._tasks:
                await asyncio.wait(self._tasks)
        finally:
            beat.cancel()
            with suppress(asyncio.CancelledError):
                await beat

    async def until_idle(self) -> None:
        """Work until nothing is ready and nothing runs: for one that is started to do what is there."""
        beat = asyncio.ensure_future(self._beat())
        try:
            while not self._stop.is_set() and (await self._claim(self.slots - len(self._running)) or self._tasks):
                if self._tasks:
                    await asyncio.wait(self._tasks, timeout=IDLE, return_when=asyncio.FIRST_COMPLETED)
            while self._tasks:
                await asyncio.wait(self._tasks)
        finally:
            beat.cancel()
            with suppress(asyncio.CancelledError):
                await beat

    async def _claim(self, free: int) -> int:
        if free <= 0:
            return 0
        one = self._first
        try:
            found = await one.store.claim(one.owner, tuple(self.executions), free, one.lease, self.tenants)
        except StoreError:
            return 0
        for held in found:
            self.counts.claimed += 1
            task = asyncio.ensure_future(self._execute(held))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return len(found)

    async def _execute(self, held: Held) -> None:
        name = held.row.header.run
        execution = self.executions[held.row.header.program]
        run = execution.start(held)
        run.draining = self._stop.is_set()
        self._running[name] = (held, run)
        try:
            outcome = await run.outcome()
            await execution.record(held, run, outcome)
            self._count(run, outcome)
            self._tell(held.row, outcome)
        except (Taken, StoreError) as error:
            self.counts.taken += isinstance(error, Taken)
            self._tell(held.row, error)
        finally:
            del self._running[name]

    def _count(self, run: Run, outcome: Outcome) -> None:
        if not isinstance(outcome, Suspended):
            self.counts.ended += 1
        elif run.draining:
            self.counts.released += 1
        else:
            self.counts.parked += 1

    def _tell(self, row: RunRow, outcome: Outcome | Exception) -> None:
        if self.told is not None:
            self.told(row, outcome)

    async def _beat(self) -> None:
        """One heartbeat for all runs of this worker: leases extended, cancels heard, lost runs given up."""
        one = self._first
        while True:
            await asyncio.sleep(one.lease / BEATS)
            running = dict(self._running)
            if not running:
                continue
            epochs = {name: held.row.epoch for name, (held, _) in running.items()}
            pulse = Pulse()
            with suppress(StoreError):
                pulse = await one.store.pulse(one.owner, epochs, one.lease)
            for name in pulse.lost:
                running[name][1].cancel("another worker has this run")
            for name, reason in pulse.cancel.items():
                running[name][1].cancel(reason)

    async def _pause(self) -> None:
        """Until a slot may be free, something may be ready, or the worker stops."""
        waiting = [asyncio.ensure_future(self._stop.wait()), *self._tasks]
        await asyncio.wait(waiting, timeout=IDLE * (1 + random.random()), return_when=asyncio.FIRST_COMPLETED)
        waiting[0].cancel()


async def unclaimable(execution: Execution, programs: Collection[str]) -> list[RunRow]:
    """Runs that are ready and that no worker with these programs can take: their program changed (runtime.md, section 5)."""
    rows = await execution.store.rows(states=[RunState.READY], limit=1_000)
    return [row for row in rows if row.header.program not in programs]
