"""What the studio knows: the store of the runs, the program as it is now, who looks, and what of it was read already."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from ael.data import dataclass, field
from ael.durable.retold import asked, gone
from ael.durable.seen import Seen, read
from ael.journal.durable import DurableStore, RunRow, RunState
from ael.journal.entry import Entry
from ael.observe.kept import Kept, trace_of
from ael.project.runs import RunsBinding
from ael.run.conversation import Request
from ael.run.masker import Masker
from ael.run.ports import Span
from ael.studio.guard import Refused
from ael.studio.program import Program

_REMEMBERED = 8
"""Traces, and what models of runs were asked, that are remembered."""
_READINGS = 10_000
_K = TypeVar("_K")
_T = TypeVar("_T")
Version = tuple[str, str, int, int, int]
"""What is made of a run: which, where it is, how far it came, and by which program."""


@dataclass(frozen=True)
class Traced:
    """The spans of a run, in the order in which they began; `notes` say what is not there. `records`: how many the run has."""

    row: RunRow
    spans: Sequence[Span]
    notes: Sequence[str]
    pinned: Mapping[str, object]
    records: int


@dataclass(eq=False)
class Desk:
    """`user` is who looks and decides."""

    program: Program
    store: DurableStore
    user: str
    read_only: bool = False
    _noted: set[tuple[str, str]] = field(default_factory=set)
    _traces: OrderedDict[tuple[str, bool], tuple[Version, Traced]] = field(default_factory=OrderedDict)
    _requests: OrderedDict[Version, tuple[Mapping[str, Request], str]] = field(default_factory=OrderedDict)
    _busy: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def masker(self) -> Masker:
        """Masks the secrets that are on this machine."""
        return self.program.masker

    @property
    def runs(self) -> RunsBinding:
        """Where runs are kept, and what of them is shown."""
        return self.program.deployment.runs

    @property
    def empty(self) -> bool:
        """Whether there is no file of runs yet: looking makes none."""
        return self.runs.kind == "sqlite" and not Path(self.program.deployment.folder, self.runs.path).exists()

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    async def rows(self, states: Sequence[RunState] = (), limit: int = 200) -> list[RunRow]:
        """Runs, the newest first."""
        return [] if self.empty else await self.store.rows(states=states, limit=limit)

    async def row(self, run: str) -> RunRow:
        """A run. Raises `Refused` where there is none."""
        found = None if self.empty else await self.store.find(run)
        if found is None:
            raise Refused(404, f"there is no run `{run[:100]}`")
        return found

    async def note(self, run: str, what: str) -> None:
        """Record that content is read, before it is shown: once for each thing that is looked at again and again."""
        if len(self._noted) >= _READINGS:
            self._noted.clear()
        if (run, what) not in self._noted:
            await self.store.read_by(run, self.user, what)
            self._noted.add((run, what))

    async def seen(self, row: RunRow, what: str) -> Seen:
        """A run with its content, as far as it may be shown, as `what` shows it."""
        await self.note(row.header.run, what)
        return await read(self.store, self.program.deployment, row, self.user, what, noted=True)

    async def trace(self, row: RunRow, *, way: bool) -> Traced:
        """The trace of a run, without content. `way`: with what leaves no record (edges, nodes that only compute), where the program is
        here; it goes the run's way again, in a thread, and nothing is sent."""
        run = row.header.run
        opened = await self.program.now()
        if (known := self._traces.get((run, way))) is not None and row.state is not RunState.RUNNING:
            made = known[1]
            # A look for one more record instead of reading all of them.
            same = (run, row.state.value, row.epoch, made.records, self.program.version)
            if known[0] == same and not await self.store.lines(run, made.records - 1, 1):
                self._traces.move_to_end((run, way))
                return made
        entries, given = await self.store.entries(run), await self.store.given(run)
        input, pinned = given if given is not None else (None, {})
        version = (run, row.state.value, row.epoch, len(entries), self.program.version)

        def make() -> Traced:
            spans: Sequence[Span] = ()
            why = ""
            # Of a run that has done nothing yet, the way that it would go is no way that it went.
            if way and entries:
                spans, why = asyncio.run(gone(opened, row, input, pinned, entries))
            kept = Kept(row, entries, self.now(), self.masker, rehearsed=spans)
            return Traced(row, trace_of(kept), [why] if why else [], pinned, len(entries))

        async with self._busy:
            made = await asyncio.to_thread(make)
        _remember(self._traces, (run, way), (version, made))
        return made

    async def requests(self, seen: Seen) -> tuple[Mapping[str, Request], str]:
        """What the models of a run were asked, by step, and why not all of it is there."""
        row = seen.raw_row
        opened = await self.program.now()
        version = (row.header.run, row.state.value, row.epoch, len(seen.raw), self.program.version)
        # What was forgotten is not remembered here either.
        known = self._requests.get(version) if isinstance(seen.input, dict) else None
        if known is None:
            entries: Sequence[Entry] = seen.raw
            async with self._busy:
                known = await asyncio.to_thread(lambda: asyncio.run(asked(opened, row, seen.input, seen.pinned, entries)))
            _remember(self._requests, version, known)
        return known


def _remember(known: OrderedDict[_K, _T], version: _K, made: _T) -> None:
    known[version] = made
    while len(known) > _REMEMBERED:
        known.popitem(last=False)
