"""A worker: takes runs from a store, as many as it has slots for, and executes them beside each other (feature A12.2)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress

from ael.data import dataclass, field
from ael.durable.execute import Execution, Taken
from ael.journal.durable import Held, RunRow, RunState, StoreError
from ael.run.outcome import Outcome, Suspended
from ael.run.run import Run

IDLE = 0.5
"""Seconds between looks at a store that had nothing to do; up to twice as long, so that a fleet does not look all at once."""
PATROL = 30.0
"""Seconds between looks for runs that nobody can take, that are dead, or that ended long ago."""
BOUNCE = 20.0
"""Seconds for which a run that keeps other bindings is left to the workers that have them."""


@dataclass
class Counts:
    """What a worker has done."""

    claimed: int = 0
    ended: int = 0
    parked: int = 0
    released: int = 0
    taken: int = 0
    refused: int = 0


class Refused(Exception):
    """A run that this worker does not go on with: it keeps other bindings than those that hold here."""

    def __init__(self, run: str, what: Sequence[str]) -> None:
        super().__init__(f"the run {run} began under other bindings: {'; '.join(what)}")
        self.run = run
        self.what = tuple(what)


@dataclass(eq=False)
class Worker:
    """Executes runs of the programs that it holds (`executions`, by their digest) until it is told to stop.

    `slots`: runs at once. `tenants`: the most runs of a tenant over all workers (see `DurableStore.claim`). `told` hears of each run that
    left this worker, `trouble` sentences about the store and about runs that nobody takes. `keep`: seconds after which ended runs are
    forgotten, None for never.
    """

    executions: Mapping[str, Execution]
    slots: int
    tenants: Mapping[str, int] = field(default_factory=dict)
    told: Callable[[RunRow, Outcome | Exception], None] | None = None
    trouble: Callable[[str], None] | None = None
    keep: float | None = None
    counts: Counts = field(default_factory=Counts)
    _running: dict[str, tuple[Held, Run]] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _waiting: dict[str, int] = field(default_factory=dict)
    _reported: set[str] = field(default_factory=set)
    _lost: bool = False

    @property
    def _first(self) -> Execution:
        return next(iter(self.executions.values()))

    def stop(self) -> None:
        """Take no further run, and give each one up where its next effect would begin."""
        self._stop.set()
        for _, run in self._running.values():
            run.draining = True

    def wake(self) -> None:
        """Look at the store now: something may be ready. Called from the worker's event loop."""
        self._woken.set()

    @property
    def running(self) -> tuple[str, ...]:
        """The runs that this worker has now."""
        return tuple(self._running)

    async def work(self) -> None:
        """Work until `stop`; then wait for what is in flight. Runs that did not end or park are ready for other workers."""
        rounds = [asyncio.ensure_future(self._first.beat(lambda: self._running)), asyncio.ensure_future(self._patrol())]
        try:
            while not self._stop.is_set():
                self._woken.clear()
                free = self.slots - len(self._tasks)
                claimed = await self._claim(free) if free > 0 else 0
                if claimed < free or free == 0:
                    await self._pause()
            while self._tasks:
                await asyncio.wait(self._tasks)
        finally:
            await _ended(rounds)

    async def until_idle(self) -> None:
        """Work until nothing is ready and nothing runs: for one that is started to do what is there."""
        rounds = [asyncio.ensure_future(self._first.beat(lambda: self._running))]
        try:
            while not self._stop.is_set() and (await self._claim(self.slots - len(self._tasks)) or self._tasks):
                if self._tasks:
                    await asyncio.wait(self._tasks, timeout=IDLE, return_when=asyncio.FIRST_COMPLETED)
            while self._tasks:
                await asyncio.wait(self._tasks)
        finally:
            await _ended(rounds)

    async def _claim(self, free: int) -> int:
        if free <= 0:
            return 0
        one = self._first
        try:
            found = await one.store.claim(one.owner, tuple(self.executions), free, one.lease, self.tenants)
        except StoreError as error:
            if not self._lost:
                self._say(f"{error}; trying again")
            self._lost = True
            return 0
        if self._lost:
            self._lost = False
            self._say("the store of the runs is there again")
        for held in found:
            self.counts.claimed += 1
            task = asyncio.ensure_future(self._execute(held))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return len(found)

    async def _execute(self, held: Held) -> None:
        name = held.row.header.run
        execution = self.executions[held.row.header.program]
        differs = execution.differs(held)
        try:
            if differs:
                self.counts.refused += 1
                waits = f"a worker with the bindings that it began under ({'; '.join(differs)})"
                await execution.store.park(
                    name, held.row.epoch, waits, execution.engine.world.clock.now() + BOUNCE, held.row.active
                )
                if name not in self._reported:
                    self._reported.add(name)
                    self._tell(held.row, Refused(name, differs))
                return
            run = execution.start(held)
            run.draining = self._stop.is_set()
            self._running[name] = (held, run)
            outcome = await run.outcome()
            await execution.record(held, run, outcome)
            self._count(run, outcome)
            self._tell(held.row, outcome)
        except (Taken, StoreError) as error:
            self.counts.taken += isinstance(error, Taken)
            self._tell(held.row, error)
        finally:
            self._running.pop(name, None)

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

    def _say(self, sentence: str) -> None:
        if self.trouble is not None:
            self.trouble(sentence)

    async def _patrol(self) -> None:
        """Now and then: forget what ended long ago, and report runs that nobody takes, and dead ones."""
        while True:
            with suppress(StoreError):
                await self.look()
            await asyncio.sleep(PATROL * (1 + random.random()))

    async def look(self, *, at_once: bool = False) -> None:
        """One round of the patrol. A run counts as one that nobody takes when it was ready at the last look already, or `at_once`."""
        one = self._first
        if self.keep is not None:
            await one.store.prune(one.engine.world.clock.now() - self.keep)
        for row in await one.store.rows(states=[RunState.DEAD], limit=100):
            if row.header.run not in self._reported:
                self._reported.add(row.header.run)
                self._say(f"the run {row.header.run} is dead: {row.waits}; `ael runs resume {row.header.run}` tries it again")
        stuck = {row.header.run: row for row in await unclaimable(one, self.executions)}
        for name, row in stuck.items():
            if name not in self._reported and (at_once or self._waiting.get(name) == row.epoch):
                self._reported.add(name)
                mine = ", ".join(sorted(digest[:12] for digest in self.executions))
                whose = f"it belongs to the program {row.header.program[:12]}, and this worker has {mine}"
                self._say(f"nobody takes the run {name} of {row.header.entry}: {whose}")
        self._waiting = {name: row.epoch for name, row in stuck.items()}

    async def _pause(self) -> None:
        """Until a slot may be free, something may be ready, or the worker stops."""
        waiting = [asyncio.ensure_future(self._stop.wait()), asyncio.ensure_future(self._woken.wait())]
        await asyncio.wait([*waiting, *self._tasks], timeout=IDLE * (1 + random.random()), return_when=asyncio.FIRST_COMPLETED)
        for one in waiting:
            one.cancel()


async def _ended(rounds: Sequence[asyncio.Task[None]]) -> None:
    for one in rounds:
        one.cancel()
    await asyncio.gather(*rounds, return_exceptions=True)


async def unclaimable(execution: Execution, programs: Collection[str]) -> list[RunRow]:
    """Runs that could go on and that no worker with these programs can take: their program changed (runtime.md, section 5)."""
    now = execution.engine.world.clock.now()
    # Parked runs are looked at by themselves: many of them hide none of the others.
    rows = await execution.store.rows(states=[RunState.READY, RunState.RUNNING], limit=1_000)
    rows += await execution.store.rows(states=[RunState.PARKED], limit=1_000)
    return [row for row in rows if row.header.program not in programs and _free(row, now)]


def _free(row: RunRow, now: float) -> bool:
    """Whether a worker that has its program could take a run now."""
    match row.state:
        case RunState.READY:
            return True
        case RunState.PARKED:
            return row.wake is not None and row.wake <= now
        case _:
            return row.lease < now
