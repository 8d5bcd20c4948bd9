"""A worker: takes runs from a store, as many as it has slots for, and executes them beside each other (feature A12.2)."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from ael.data import dataclass, field
from ael.durable.decide import still_waits
from ael.durable.execute import Execution, Taken
from ael.journal.durable import HandedBack, Held, RunRow, RunState, StoreError
from ael.journal.entry import VERSION
from ael.run.bindings import Options
from ael.run.outcome import Outcome, Suspended
from ael.run.run import Run

IDLE = 0.5
"""Seconds between looks at a store that had nothing to do; up to twice as long, so that a fleet does not look all at once."""
PATROL = 30.0
"""Seconds between looks for runs that nobody can take, that are dead, or that ended long ago."""
BOUNCE = 20.0
"""Seconds for which a run that keeps other bindings is left to the workers that have them."""
_CHANCE = random.Random()
"""Its own, as whoever embeds a worker may have seeded the one that all share."""
STORE = "AEL0904"
STUCK = "AEL0909"
STOPS = "the worker stops"
"""Why a run is cut off when the time for draining is over."""


@dataclass
class Counts:
    """What a worker has done."""

    claimed: int = 0
    ended: int = 0
    parked: int = 0
    released: int = 0
    taken: int = 0
    refused: int = 0
    cut: int = 0


class CutOff(Exception):
    """A run that did not come to its next effect before its worker had to end."""

    def __init__(self, run: str, seconds: float) -> None:
        super().__init__(f"the run {run} was cut off and given back: it did not come to its next effect within {seconds:g} s")
        self.run = run


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
    left this worker, `trouble` a code and a sentence about the store, runs that nobody takes, and one that keeps the others waiting.
    `keep`: seconds after which ended runs are forgotten, `keep_content` after which their content is; None for never. `drain`: seconds
    that a run has to come to its next effect, once the worker is told to stop; None for as long as that takes. `options` gives what a run
    goes on with, None: what it keeps (`options_of`), and no more. `others`: further programs that are worked on beside this worker.
    `claims` False: it looks for no runs, and is given each (`take`).
    """

    executions: Mapping[str, Execution]
    slots: int
    tenants: Mapping[str, int] = field(default_factory=dict)
    told: Callable[[RunRow, Outcome | Exception], None] | None = None
    trouble: Callable[[str, str], None] | None = None
    keep: float | None = None
    drain: float | None = None
    keep_content: float | None = None
    options: Callable[[Held], Options] | None = None
    others: frozenset[str] = frozenset()
    claims: bool = True
    counts: Counts = field(default_factory=Counts)
    _running: dict[str, tuple[Held, Run]] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _stopping: bool = False
    _limit: threading.Timer | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _waiting: dict[str, int] = field(default_factory=dict)
    _reported: set[str] = field(default_factory=set)
    _lost: bool = False

    @property
    def _first(self) -> Execution:
        return next(iter(self.executions.values()))

    def stop(self) -> None:
        """Take no further run, and give each one up where its next effect would begin; after `drain` seconds, wherever it is.

        Called from any thread, and from signal handlers: a run that computes has the event loop, and must not put this off.
        """
        if self._stopping:
            return
        self._stopping = True
        for _, run in list(self._running.values()):
            run.draining = True
        if self.drain is not None:
            self._limit = threading.Timer(self.drain, self._cut_off)
            self._limit.daemon = True
            self._limit.start()
        self._in_loop(self._stop.set)

    def _cut_off(self) -> None:
        """The time is up. What still runs is cancelled, and nothing of that is kept: another worker finds the run as it was."""
        for held, run in list(self._running.values()):
            held.journal.hand_back()
            run.interrupt(STOPS)
            self._in_loop(run.cancel, STOPS)

    def _in_loop(self, call: Callable[..., object], *arguments: object) -> None:
        if self._loop is None:
            call(*arguments)
            return
        with suppress(RuntimeError):  # the loop is closed: the worker has ended
            self._loop.call_soon_threadsafe(call, *arguments)

    def cancel(self, run: str, reason: str) -> None:
        """Have a run end that this worker has now. Called from the worker's event loop."""
        found = self._running.get(run)
        if found is not None and found[1].cancelled is None:
            found[1].cancel(reason)

    def wake(self) -> None:
        """Look at the store now: something may be ready. Called from the worker's event loop."""
        self._woken.set()

    @property
    def running(self) -> tuple[str, ...]:
        """The runs that this worker has now."""
        return tuple(self._running)

    async def work(self) -> None:
        """Work until `stop`; then wait for what is in flight. Runs that did not end or park are ready for other workers."""
        self._begin()
        patrol = asyncio.ensure_future(self._patrol() if self.claims else asyncio.sleep(0))
        try:
            while not self._stop.is_set():
                self._woken.clear()
                free = self.slots - len(self._tasks)
                claimed = await self._claim(free) if self.claims and free > 0 else 0
                if claimed < free or free == 0:
                    await self._pause()
            while self._tasks:
                await asyncio.wait(self._tasks)
        finally:
            self._end()
            patrol.cancel()
            await asyncio.gather(patrol, return_exceptions=True)

    async def until_idle(self) -> None:
        """Work until nothing is ready and nothing runs: for one that is started to do what is there."""
        self._begin()
        try:
            while not self._stop.is_set() and (await self._claim(self.slots - len(self._tasks)) or self._tasks):
                if self._tasks:
                    await asyncio.wait(self._tasks, timeout=IDLE, return_when=asyncio.FIRST_COMPLETED)
            while self._tasks:
                await asyncio.wait(self._tasks)
        finally:
            self._end()

    def _begin(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._first.heart.trouble = partial(self._say, STUCK)

    def _end(self) -> None:
        if self._limit is not None:
            self._limit.cancel()

    async def _claim(self, free: int) -> int:
        if free <= 0:
            return 0
        one = self._first
        try:
            found = await one.store.claim(one.owner, tuple(self.executions), free, one.lease, self.tenants)
        except StoreError as error:
            if not self._lost:
                self._say(STORE, f"{error}; trying again")
            self._lost = True
            return 0
        if self._lost:
            self._lost = False
            self._say(STORE, "the store of the runs is there again")
        for held in found:
            self.take(held)
        return len(found)

    def take(self, held: Held) -> None:
        """Execute a run that this worker's owner holds. Called from the worker's event loop, while it works."""
        self.counts.claimed += 1
        # From here on: another run may have the loop before this one begins.
        self._first.heart.add(held)
        task = asyncio.ensure_future(self._execute(held))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _execute(self, held: Held) -> None:
        name = held.row.header.run
        execution = self.executions[held.row.header.program]
        try:
            if self._stopping:
                await execution.store.release(name, held.row.epoch)
                self.counts.released += 1
                return
            if differs := execution.differs(held):
                await self._refuse(execution, held, differs)
                return
            run = execution.start(held, None if self.options is None else self.options(held))
            self._running[name] = (held, run)
            run.draining = self._stopping
            self._first.heart.attach(run)
            outcome = await run.outcome()
            await execution.record(held, run, outcome)
            if isinstance(held.journal.lost, HandedBack):
                self.counts.cut += 1
                self._tell(held.row, CutOff(name, self.drain or 0.0))
            else:
                self._count(run, outcome)
                self._tell(held.row, outcome)
        except Exception as error:
            # Taken over, a store that is gone, or a defect: the lease ends, and another worker gets the run. The others go on.
            self.counts.taken += isinstance(error, Taken)
            self._tell(held.row, error)
        finally:
            self._running.pop(name, None)
            self._first.heart.remove(name)

    async def _refuse(self, execution: Execution, held: Held, differs: Sequence[str]) -> None:
        """Leave a run for a while to the workers that have its bindings."""
        name = held.row.header.run
        self.counts.refused += 1
        told = still_waits(held.row, f"a worker with the bindings that it began under ({'; '.join(differs)})")
        await execution.store.park(name, held.row.epoch, told, BOUNCE, held.row.active)
        if name not in self._reported:
            self._reported.add(name)
            self._tell(held.row, Refused(name, differs))

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

    def _say(self, code: str, sentence: str) -> None:
        if self.trouble is not None:
            self.trouble(code, sentence)

    async def _patrol(self) -> None:
        """Now and then: forget what ended long ago, and report runs that nobody takes, and dead ones."""
        while True:
            with suppress(StoreError):
                await self.look()
            await asyncio.sleep(PATROL * (1 + _CHANCE.random()))

    async def look(self, *, at_once: bool = False) -> None:
        """One round of the patrol. A run counts as one that nobody takes when it was ready at the last look already, or `at_once`."""
        one = self._first
        if self.keep is not None:
            await one.store.prune(one.engine.world.clock.now() - self.keep)
        if self.keep_content is not None:
            await one.store.forget_content(one.engine.world.clock.now() - self.keep_content)
        for row in await one.store.rows(states=[RunState.DEAD], limit=100):
            if row.header.run not in self._reported:
                self._reported.add(row.header.run)
                again = f"`ael runs resume {row.header.run}` tries it again"
                self._say(STUCK, f"the run {row.header.run} is dead: {row.waits}; {again}")
        stuck = {row.header.run: row for row in await one.store.unclaimed((*self.executions, *self.others))}
        for name, row in stuck.items():
            if name not in self._reported and (at_once or self._waiting.get(name) == row.epoch):
                self._reported.add(name)
                mine = ", ".join(sorted(digest[:12] for digest in self.executions))
                whose = f"it belongs to the program {row.header.program[:12]}, and this worker has {mine}"
                if row.header.version > VERSION:
                    whose = f"a newer release began it (records of version {row.header.version}, and this one knows {VERSION})"
                self._say(STUCK, f"nobody takes the run {name} of {row.header.entry}: {whose}")
        self._waiting = {name: row.epoch for name, row in stuck.items()}

    async def _pause(self) -> None:
        """Until a slot may be free, something may be ready, or the worker stops."""
        waiting = [asyncio.ensure_future(self._stop.wait()), asyncio.ensure_future(self._woken.wait())]
        await asyncio.wait([*waiting, *self._tasks], timeout=IDLE * (1 + _CHANCE.random()), return_when=asyncio.FIRST_COMPLETED)
        for one in waiting:
            one.cancel()
