"""What a journal's store must do. The memory store is one; durable ones add nothing but another of these."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from ael.journal.entry import Entry, Header


class WriteAheadRequired(RuntimeError):
    """An act without its `started` record, or a record out of order: a defect of the run time, refused by the store."""


class RunJournal(Protocol):
    """The journal of one run, held by one worker."""

    @property
    def header(self) -> Header: ...

    def last(self, path: str) -> Entry | None:
        """The furthest record of the call at `path`."""

    def append(self, entry: Entry) -> Awaitable[None] | None:
        """Add a record: it has its place in the order at once. None when it is as durable as this store makes it; else what is given
        is awaited before anything is sent on a `started` record, and at the run's end at the latest.

        Raises `WriteAheadRequired` for a record out of order; a model call, which nobody
        proposes, begins with `started`, and a built-in effect, which sends nothing, is answered at once.
        """

    def entries(self) -> list[Entry]:
        """All records in the order written."""

    @property
    def continued(self) -> bool:
        """Whether earlier executions left records here: only then a call has to look for its own."""

    @property
    def active(self) -> float:
        """Seconds of work that earlier executions of this run journaled (K46)."""


class JournalStore(Protocol):
    def open(self, header: Header) -> RunJournal:
        """Start the journal of a run, or continue it. Raises the fault `Diverged` when the run is pinned to another program or input."""
