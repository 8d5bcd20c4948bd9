"""Runs that are executed by the studio itself, in a thread and an event loop of their own: a program that computes for long holds up its
own runs, and not the page.

A run that was begun, forked or gone on with here is this crew's until it ends: when what it waits for is there, whoever decided it, it goes
on. All other runs are for the workers of the store.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, ClassVar, TypeVar

from ael.data import dataclass, field, replace
from ael.durable.change import rebound
from ael.durable.execute import Execution, execution_of, options_of
from ael.durable.fork import Fork, fork_of
from ael.durable.pinned import accept
from ael.durable.worker import Worker
from ael.host import Host, open_host
from ael.journal.durable import Held, RunRow, RunState, StoreError
from ael.project.program import Opened
from ael.run.bindings import Options
from ael.run.events import Event, RunFinished, Text, TurnStarted
from ael.run.outcome import Outcome
from ael.studio.guard import Refused

LOOK = 0.3
"""Seconds between looks at runs of the crew that wait."""
_SAID = 64 * 1024
"""Characters of a turn under way that are kept for a page that comes later."""
_FAILED = 100
"""Words on runs that could not be executed that are kept."""
R = TypeVar("R")


@dataclass(eq=False)
class _Bench:
    """A program (`opened`), bound in one way, with what executes its runs."""

    opened: Opened
    host: Host
    execution: Execution
    worker: Worker
    work: asyncio.Future[None]
    used: float = 0.0
    """When it was asked for last (seconds of the event loop)."""

    async def close(self) -> None:
        """Have its runs come to their next effect, and give up what it has open."""
        self.worker.stop()
        await asyncio.gather(self.work, return_exceptions=True)
        await self.host.close()


@dataclass(eq=False)
class Crew:
    """`said` hears, in the thread, of the text of models as it streams, and that a turn begins (text ""). `changed` that a run did."""

    said: Callable[[str, str, str], None]
    failed: OrderedDict[str, str] = field(default_factory=OrderedDict)
    """What went wrong with runs here, beside how they ended."""
    _benches: dict[tuple[int, str], _Bench] = field(default_factory=dict)
    _mine: dict[str, _Bench] = field(default_factory=dict)
    _texts: dict[str, tuple[str, str]] = field(default_factory=dict)
    _loop: asyncio.AbstractEventLoop | None = None
    _thread: threading.Thread | None = None
    _looking: Future[None] | None = None
    _newest: Opened | None = None
    keep: ClassVar[float] = 60.0
    """Seconds for which what an earlier state of the program has open is kept."""

    def mine(self, run: str) -> bool:
        """Whether a run is executed here, or goes on here when it can."""
        return run in self._mine

    def text(self, run: str) -> tuple[str, str] | None:
        """What the model of a run is saying: the path of its turn, and its text so far."""
        return self._texts.get(run)

    # --- what the page asks for, from the studio's loop -------------------------------------------------------------------

    async def start(self, opened: Opened, entry: str, values: Mapping[str, object], options: Options) -> str:
        """A new run, executed here; its id. Raises `HostError`, `StoreError`, and what `Engine.header` raises."""
        return await self._there(self._start(opened, entry, values, options))

    async def go_on(self, opened: Opened, run: str, *, accepting: str | None = None) -> None:
        """Go on with a run here; `accepting`: who lets it go on under other bindings. Raises `Refused`, `HostError`, `StoreError`."""
        await self._there(self._go_on(opened, run, accepting))

    async def owner(self, opened: Opened) -> str:
        """The name under which runs of this program are held here. Raises `HostError`."""
        return await self._there(self._owner(opened))

    def cancel(self, run: str, reason: str) -> None:
        """Have a run end that is executed here, where it is."""
        bench = self._mine.get(run)
        if bench is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(bench.worker.cancel, run, reason)

    async def close(self, seconds: float) -> None:
        """Have each run come to its next effect, within its deployment's time, and give back what has not ended."""
        if self._loop is None or self._thread is None:
            return
        loop, self._loop = self._loop, None
        closing = asyncio.run_coroutine_threadsafe(self._close(), loop)
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(closing), seconds)
        loop.call_soon_threadsafe(loop.stop)
        await asyncio.to_thread(self._thread.join)
        loop.close()

    async def _there(self, work: Coroutine[Any, Any, R]) -> R:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="ael-studio-runs", daemon=True)
            self._thread.start()
            self._looking = asyncio.run_coroutine_threadsafe(self._look(), self._loop)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    # --- in the thread ----------------------------------------------------------------------------------------------------

    def _bench(self, opened: Opened, fork: Fork | None = None) -> _Bench:
        """The one of a program; with the models and settings of a fork, where it has others. Raises `HostError`."""
        other = fork is not None and bool(fork.models or fork.settings)
        # A bench holds its program, so no other one has the same number.
        where = (id(opened), f"{fork.models} {fork.settings}" if fork is not None and other else "")
        found = self._benches.get(where)
        if found is None:
            bound = rebound(opened, fork.models, fork.settings) if fork is not None and other else opened
            host = open_host(bound, durable=True)
            for warning in host.warnings:
                print(f"ael studio: warning: {warning}", file=sys.stderr)
            execution = execution_of(host)
            worker = Worker(
                {host.unit.digest: execution},
                opened.deployment.runs.slots,
                told=self._left,
                trouble=_warn,
                drain=opened.deployment.runs.drain,
                options=lambda held: replace(options_of(held.pinned), on_event=self._hear),
                claims=False,
            )
            found = self._benches[where] = _Bench(opened, host, execution, worker, asyncio.ensure_future(worker.work()))
        self._newest, found.used = opened, asyncio.get_running_loop().time()
        return found

    async def _owner(self, opened: Opened) -> str:
        return self._bench(opened).execution.owner

    async def _start(self, opened: Opened, entry: str, values: Mapping[str, object], options: Options) -> str:
        bench = self._bench(opened)
        held = await bench.execution.make(entry, values, options)
        assert held is not None  # its id is new
        self._take(bench, held)
        return held.row.header.run

    async def _go_on(self, opened: Opened, run: str, accepting: str | None) -> None:
        bench = self._mine.get(run) or await self._bench_of(opened, run)
        execution, store = bench.execution, bench.execution.store
        row = await store.find(run)
        if row is None:
            raise Refused(404, f"there is no run `{run[:100]}`")
        if row.state is RunState.ENDED:
            raise Refused(409, f"the run {run} has ended")
        if row.header.program != bench.host.unit.digest:
            began = f"it began with {row.header.program[:12]}, and this is {bench.host.unit.digest[:12]}"
            raise Refused(409, f"the program has changed since the run {run} began", began, "fork it, or go back to its program")
        if row.state is RunState.DEAD:
            await store.revive(run)
        held = await store.hold(run, execution.owner, execution.lease)
        if held is None:
            waits = (
                f"the run {run} still waits: {row.waits}" if row.state is RunState.PARKED else f"a worker has the run {run} now"
            )
            raise Refused(409, waits)
        differs = execution.differs(held)
        if differs and accepting is None:
            await store.release(run, held.row.epoch)
            raise Refused(409, f"the run {run} began under other bindings", *differs, more={"accept": True})
        if differs and accepting is not None:
            accept(held, execution.bound, accepting, differs, bench.host.bindings.clock.now())
        self._take(bench, held)

    async def _bench_of(self, opened: Opened, run: str) -> _Bench:
        """The bench of a run: of a fork with other models, one that has these."""
        bench = self._bench(opened)
        given = await bench.execution.store.given(run)
        fork = None if given is None else fork_of(given[1])
        other = self._bench(opened, fork)
        if other is bench:
            return bench
        other.execution = replace(other.execution, owner=bench.execution.owner)
        other.worker.executions = {other.host.unit.digest: other.execution}
        return other

    def _take(self, bench: _Bench, held: Held) -> None:
        self._mine[held.row.header.run] = bench
        bench.worker.take(held)

    async def _look(self) -> None:
        """Go on with what can go on: decided by whomever, or its time has come."""
        while True:
            await asyncio.sleep(LOOK)
            await self._clear()
            for run, bench in list(self._mine.items()):
                if run in bench.worker.running:
                    continue
                try:
                    row = await bench.execution.store.find(run)
                    if row is None or row.state in (RunState.ENDED, RunState.DEAD):
                        self._mine.pop(run, None)
                        continue
                    waits = row.state is RunState.PARKED and (row.wake is None or row.wake > bench.host.bindings.clock.now())
                    held = None if waits else await bench.execution.store.hold(run, bench.execution.owner, bench.execution.lease)
                    if held is not None and run not in bench.worker.running:
                        bench.worker.take(held)
                except StoreError as error:
                    _warn("AEL0904", str(error))

    async def _clear(self) -> None:
        """Close what earlier states of the program have open (servers, stores), once none of their runs is here any more."""
        now, busy = asyncio.get_running_loop().time(), {id(bench) for bench in self._mine.values()}
        for where, bench in list(self._benches.items()):
            if (
                bench.opened is not self._newest
                and now - bench.used > self.keep
                and id(bench) not in busy
                and not bench.worker.running
            ):
                del self._benches[where]
                await bench.close()

    def _hear(self, event: Event) -> None:
        match event:
            case TurnStarted(run=run, path=path):
                self._texts[run] = (path, "")
                self.said(run, path, "")
            case Text(run=run, path=path, text=text):
                before, said = self._texts.get(run, (path, ""))
                self._texts[run] = (path, ((said if before == path else "") + text)[:_SAID])
                self.said(run, path, text)
            case RunFinished(run=run):
                self._texts.pop(run, None)
            case _:
                pass

    def _left(self, row: RunRow, outcome: Outcome | Exception) -> None:
        self._texts.pop(row.header.run, None)
        if isinstance(outcome, Exception):
            self._mine.pop(row.header.run, None)
            self.failed[row.header.run] = str(outcome)[:2_000]
            while len(self.failed) > _FAILED:
                self.failed.popitem(last=False)

    async def _close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        await asyncio.gather(*(bench.close() for bench in self._benches.values()))


def _warn(code: str, sentence: str) -> None:
    print(f"ael studio: warning[{code}]: {sentence}", file=sys.stderr, flush=True)
