"""What a journal's store must do. The memory store is one; durable ones add nothing but another of these."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Protocol

from ael.journal.entry import Entry, Header, Kind, State
from ael.types.fault import Fault, FaultKind


class WriteAheadRequired(RuntimeError):
    """An act without its `started` record, or a record out of order: a defect of the run time, refused by the store."""


class ApprovalRequired(WriteAheadRequired):
    """A call that somebody was asked about begins without a yes: a defect of the run time, refused by the store (feature A12.7)."""


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

    def hurry(self) -> None:
        """Write now what waits for others to share a commit with: somebody waits for it."""

    def entries(self) -> list[Entry]:
        """All records in the order written."""

    @property
    def continued(self) -> bool:
        """Whether earlier executions left records here: only then a call has to look for its own."""

    @property
    def active(self) -> float:
        """Seconds of work that earlier executions of this run journaled (K46)."""


def check_order(before: Entry | None, entry: Entry) -> None:
    """Refuse a record that skips its predecessor, and a second answer (feature A8.8). Raises `WriteAheadRequired`."""
    state = entry.state
    if before is None:
        fits = (
            state is State.PROPOSED
            or (entry.kind is Kind.MODEL and state is State.STARTED)
            or (entry.kind is Kind.EFFECT and state is State.ANSWERED)
        )
    else:
        fits = state is not State.PROPOSED and before.state is not State.ANSWERED
    if not fits:
        raise WriteAheadRequired(f"{entry.path}: `{state.value}` cannot follow `{before.state.value if before else 'nothing'}`")


def check_approved(asked: Entry | None, entry: Entry) -> None:
    """Refuse that the call of `entry` begins where `asked`, the last record of its approval, is no yes. Raises `ApprovalRequired`."""
    if asked is None:
        return
    said = asked.value
    if asked.state is not State.ANSWERED or not isinstance(said, Mapping) or said.get("approved") is not True:
        raise ApprovalRequired(f"{entry.path}: `{entry.target}` was asked about, and is not approved")


def held(journal: RunJournal, header: Header) -> RunJournal:
    """The journal of a run that is to continue as `header` says. Raises the fault `Diverged` when it was pinned to something else."""
    pinned = journal.header
    if (pinned.program, pinned.entry, pinned.input) == (header.program, header.entry, header.input):
        return journal
    what = "program" if pinned.program != header.program else "entry" if pinned.entry != header.entry else "input"
    message = f"the run {header.run} was started with another {what}, so its journal cannot continue this one"
    raise Fault(FaultKind.DIVERGED, message, run=header.run, pinned=pinned.program, program=header.program)


class JournalStore(Protocol):
    def open(self, header: Header) -> RunJournal:
        """Start the journal of a run, or continue it. Raises the fault `Diverged` when the run is pinned to another program or input."""
