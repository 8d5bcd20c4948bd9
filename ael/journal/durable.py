"""What a durable store of runs can do: keep journals, lease runs to workers, park and wake them (runtime.md, section 5).

A run is held by one worker at a time, under an epoch that rises with each claim. Every write names the epoch that it was made
under, and the store refuses it in the same transaction where another worker has claimed the run since (`Fenced`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from ael.data import dataclass, field
from ael.journal.entry import Access, Entry, Header, Line
from ael.journal.store import RunJournal


class Fenced(RuntimeError):
    """This worker no longer holds the run: nothing that it still writes is kept."""


class HandedBack(RuntimeError):
    """This worker gives the run back in the middle of its execution: nothing that is still written here is kept."""


class StoreError(RuntimeError):
    """A store that cannot be used: its sentence says why, and what to do."""


class Damaged(StoreError):
    """What is kept of one run is not what was written; other runs are as they were."""


class RunState(StrEnum):
    """Where a run is. `ready` and `parked` runs are nobody's; a parked one waits for a decision or a time."""

    READY = "ready"
    RUNNING = "running"
    PARKED = "parked"
    ENDED = "ended"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as its store knows it. Times in seconds since the epoch, but `lease`, which is in the store's ticks.

    `waits` says what a run waited for when it was parked last, or why it is dead; `wake` until when at most.
    `attempts` counts the claims in a row after which the run got no further; `ending` is the word of the outcome, `outcome` its record.
    """

    header: Header
    state: RunState
    owner: str = ""
    epoch: int = 0
    lease: float = 0.0
    wake: float | None = None
    waits: str = ""
    attempts: int = 0
    cancel: str | None = None
    ending: str = ""
    outcome: object = None
    ended: float | None = None
    active: float = 0.0

    @property
    def waiting(self) -> str:
        """What a parked run waits for, or why a dead one is; "" for others."""
        return self.waits if self.state in (RunState.PARKED, RunState.DEAD) else ""


class HeldRun(RunJournal, Protocol):
    """The journal of a claimed run."""

    @property
    def begun(self) -> bool:
        """Whether the store knows of this run: a new one is made with its first record."""

    def begin(self) -> None:
        """Make a new run known to the store, in the same commit as what follows."""

    @property
    def lost(self) -> BaseException | None:
        """Why nothing more is kept: another worker has the run, the store is gone, or the run is handed back."""

    def hand_back(self) -> None:
        """Keep nothing more of this execution. May be called from any thread."""


@dataclass(frozen=True)
class Held:
    """A claimed run: what it is to be run with, and its journal, which writes under this claim's epoch."""

    row: RunRow
    input: object
    pinned: Mapping[str, object]
    journal: HeldRun


@dataclass(frozen=True, slots=True)
class Pulse:
    """What a heartbeat brings: the runs that another worker has now, and the reasons of those that are to be cancelled."""

    lost: frozenset[str] = frozenset()
    cancel: Mapping[str, str] = field(default_factory=dict)


class DurableStore(Protocol):
    """Runs that survive. Every method is one transaction; all raise `StoreError` when the database cannot be used."""

    async def create(self, header: Header, input: object, pinned: Mapping[str, object], *, delay: float = 0.0) -> bool:
        """Add a run that is ready after `delay` seconds. False when there is one of this id already, which stays as it is."""

    def fresh(self, header: Header, input: object, pinned: Mapping[str, object], owner: str, lease: float) -> Held:
        """A new run that this owner holds. The store hears of it with its first record."""

    async def make(self, header: Header, input: object, pinned: Mapping[str, object], owner: str, lease: float) -> Held | None:
        """A new run that this owner holds, and that the store knows at once. None when there is one of this id, which stays as it is."""

    async def hold(self, run: str, owner: str, lease: float) -> Held | None:
        """Claim this run, for `lease` seconds. None when there is no such run, or it has ended, is parked, or is held by another."""

    async def claim(
        self, owner: str, programs: Collection[str], slots: int, lease: float, tenants: Mapping[str, int] | None = None
    ) -> Sequence[Held]:
        """Claim up to `slots` runs whose program is among `programs`: ready ones, parked ones whose time has come, and those of workers
        that let their lease run out. `tenants`: the most runs of a tenant at once, `*` that of those it does not name; runs of different
        tenants take turns."""

    async def pulse(self, owner: str, held: Mapping[str, int], lease: float) -> Pulse:
        """Extend the leases of runs (by epoch), and hear what became of them."""

    async def park(self, run: str, epoch: int, waits: str, after: float | None, active: float) -> None:
        """Give the run up until it is woken, or for `after` seconds. Raises `Fenced`."""

    async def release(self, run: str, epoch: int, *, delay: float = 0.0) -> None:
        """Give the run back as ready, without blame. Raises `Fenced`."""

    async def finish(self, run: str, epoch: int, ending: str, outcome: object, active: float) -> None:
        """The run has ended. Raises `Fenced`."""

    async def answer(self, run: str, entry: Entry, *, wake: bool = True) -> bool:
        """Add an answer from outside (a person's decision, a settled call) where its call still waits for one, and wake the run.

        False when the call is answered already, or is not there.
        """

    async def cancel(self, run: str, reason: str) -> bool:
        """Ask for the end of a run: a parked or ready one is woken to end, a running one hears it with its next heartbeat."""

    async def revive(self, run: str) -> bool:
        """Make a dead run ready again, as if nobody had tried it; False when it is not dead."""

    async def given(self, run: str) -> tuple[object, Mapping[str, object]] | None:
        """The input of a run and what it is pinned to; None when there is no such run."""

    async def find(self, run: str) -> RunRow | None: ...

    async def entries(self, run: str) -> list[Entry]: ...

    async def lines(self, run: str, after: int, most: int) -> list[Line]:
        """Up to `most` records after number `after` (-1: from the first one on), without their content."""

    async def rows(self, *, states: Collection[RunState] = (), tenant: str | None = None, limit: int = 100) -> list[RunRow]:
        """Runs, the newest first."""

    async def unclaimed(self, programs: Collection[str], limit: int = 100) -> list[RunRow]:
        """Runs that could go on, but of programs other than these that nobody works on at the moment; the oldest first."""

    async def read_by(self, run: str, reader: str, what: str) -> None:
        """Record that somebody reads the content of a run: called before it is shown (feature A16.6)."""

    async def readings(self, run: str) -> list[Access]:
        """Who read the content of a run, oldest first; kept when the run is forgotten."""

    async def prune(self, before: float, *, keep: int = 0) -> int:
        """Forget runs that ended before a time, but the `keep` newest; how many."""

    async def forget_content(self, before: float) -> int:
        """Forget the content of runs that ended before a time, and keep their outline; how many (feature A16.6)."""

    async def identity(self) -> str:
        """A name that this store has alone, whoever has it open."""

    async def close(self) -> None:
        """Write what is waiting, and close. Raises nothing."""
