"""The only way to have an effect: replay it from the journal, or write ahead (proposed, started), act, and record (answered)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from functools import lru_cache
from typing import cast

from ael.journal.entry import Ending, Entry, Kind, State
from ael.journal.store import WriteAheadRequired
from ael.run.given_up import marked
from ael.run.outcome import ENDINGS
from ael.run.park import Parked, Wait
from ael.run.repeat import key_of
from ael.run.run import Run
from ael.types.fault import Failure, Fault, FaultKind, Uncertain

_PROPOSED, _STARTED, _ANSWERED = State.PROPOSED, State.STARTED, State.ANSWERED
_NO_TAINT: frozenset[str] = frozenset()
ELSEWHERE = "elsewhere"
"""What the `started` record of a call says that is carried out of the process, wherever to."""


class Step:
    """One effect at one place of a run. `digest` is the hash of its request, `key` its idempotency key."""

    __slots__ = ("derived", "digest", "elsewhere", "key", "kind", "path", "run", "sent", "state", "target")

    def __init__(
        self, run: Run, path: str, kind: Kind, target: str, digest: str, key: str | None = None, derived: tuple[str, ...] = ()
    ) -> None:
        self.run = run
        self.path = path
        self.kind = kind
        self.target = target
        self.digest = digest
        self.key = key_of(run.root, logical(path), target) if key is None else key
        self.derived = derived
        self.state: State | None = None
        self.elsewhere = False
        """Whether an earlier execution started this where the deployment placed it, outside of the process."""
        self.sent: bool | None = None
        """Whether anything of the call went out, where what carries it can tell; None where it cannot."""

    def replayed(self) -> Entry | None:
        """The answer that the journal holds; None when this is new, or was interrupted (`state` then says how far it came).

        Raises the fault `Diverged` when the journal holds another request in this place.
        """
        journal = self.run.journal
        last = journal.last(self.path) if journal.continued else None
        if last is None:
            return None
        if last.target != self.target or (last.digest and last.digest != self.digest):
            what = f"`{last.target}`" if last.target != self.target else f"`{last.target}` with another request"
            raise Fault(
                FaultKind.DIVERGED,
                f"at {self.path} the journal holds {what}, and the program now asks for `{self.target}`",
                path=self.path,
                recorded=last.digest,
                requested=self.digest,
            )
        self.state = last.state
        self.elsewhere = last.state is _STARTED and last.value == ELSEWHERE
        return last if last.state is _ANSWERED else None

    def propose(self, value: object) -> None:
        """Record that this call is wanted, with its arguments."""
        if self.state is None:
            run = self.run
            now = run.world.clock.now()
            entry = Entry(
                self.path, _PROPOSED, self.kind, self.target, self.digest, self.key, value, None, now, 0.0, (), self.derived
            )
            self.state = _PROPOSED
            self._later(run.journal.append(entry))

    def start(self, place: object = None) -> Awaitable[None] | None:
        """Record that it begins; `place` is `ELSEWHERE` where that is not in the process.

        What this gives has to be awaited before anything is sent; None when the record is durable.
        """
        if self.state is _STARTED:
            return None
        run = self.run
        if run.draining:
            raise Parked(Wait("time", self.path, self.target, run.world.clock.now(), {"reason": "the worker stops"}))
        now = run.world.clock.now()
        entry = Entry(self.path, _STARTED, self.kind, self.target, self.digest, self.key, place, None, now, 0.0, (), self.derived)
        self.state = _STARTED
        return run.journal.append(entry)

    def acting(self) -> None:
        """Refuse to act without the `started` record (A8.8)."""
        if self.state is not _STARTED:
            raise WriteAheadRequired(f"{self.path}: nothing is sent before its `started` record is written")

    def answer(self, ending: Ending, value: object, taint: frozenset[str] = _NO_TAINT) -> None:
        """Record the one answer."""
        run = self.run
        sources = ordered(taint) if taint else ()
        now = run.world.clock.now()
        entry = Entry(
            self.path,
            _ANSWERED,
            self.kind,
            self.target,
            self.digest,
            self.key,
            value,
            ending,
            now,
            run.active,
            sources,
            self.derived,
        )
        self.state = _ANSWERED
        self._later(run.journal.append(entry))

    def fail(self, error: Failure | Fault | Uncertain, taint: frozenset[str] = _NO_TAINT) -> None:
        """Record the ending that is no value."""
        ending, value = record_of(error)
        self.answer(ending, value, taint)

    def give_up(self, error: Fault | Uncertain, limit: int) -> None:
        """Record that it was given up in the middle, by which limit (see `given_up`): the code around it never sees this ending."""
        ending, value = record_of(error)
        self.answer(ending, marked(value, limit))

    def failed_attempt(self, attempt: int, fault: Fault) -> None:
        """Record an attempt that is followed by another, for whoever reads the journal: a run over it takes no notice (A16.7)."""
        run = self.run
        path = f"{self.path}~{attempt}"
        if run.journal.last(path) is not None:
            return
        record = {"kind": fault.kind.value, "message": fault.message}
        now = run.world.clock.now()
        run.note(Entry(path, _ANSWERED, Kind.EFFECT, self.target, "", "", record, Ending.FAULT, now, run.active))

    def deferred(self, fault: Fault, most: int) -> bool:
        """Record an attempt after which the call waits in no task; False when there are `most` failed ones in the journal already."""
        number = 1
        while self.run.journal.last(f"{self.path}~{number}") is not None:
            number += 1
        if number <= most:
            self.failed_attempt(number, fault)
        return number <= most

    def _later(self, waiting: Awaitable[None] | None) -> None:
        """A record that nothing waits for: its commit is joined with the run."""
        if waiting is not None:
            self.run.unwritten = waiting if isinstance(waiting, asyncio.Future) else asyncio.ensure_future(waiting)


@lru_cache(maxsize=4_096)
def ordered(taint: frozenset[str]) -> tuple[str, ...]:
    """Sources in their order, as they stand in a journal."""
    return tuple(sorted(taint))


def logical(path: str) -> str:
    """A structural path without its attempts (`~2`): all attempts are one logical effect with one key."""
    if "~" not in path:
        return path
    return "/".join(part.partition("~")[0] for part in path.split("/"))


def record_of(error: Failure | Fault | Uncertain) -> tuple[Ending, dict[str, object]]:
    """How an ending stands in a journal."""
    match error:
        case Failure():
            return Ending.ERROR, {"error": error.error, "value": error.value}
        case Fault():
            return Ending.FAULT, error.value()
        case Uncertain():
            return Ending.UNCERTAIN, {**error.value(), "details": error.details}


def revived(entry: Entry) -> object:
    """The value of an answer, or its ending raised again."""
    if entry.ending is Ending.VALUE:
        return entry.value
    raise error_of(entry)


def error_of(entry: Entry) -> Failure | Fault | Uncertain:
    """The ending that an answer without a value records."""
    record = cast("Mapping[str, object]", entry.value)
    match entry.ending:
        case Ending.ERROR:
            return Failure(cast("str", record["error"]), dict(cast("Mapping[str, object]", record["value"])))
        case Ending.UNCERTAIN:
            details = cast("Mapping[str, object]", record.get("details") or {})
            return Uncertain(str(record["key"]), str(record["operation"]), str(record["step"]), **details)
        case _:
            return Fault(
                FaultKind(str(record["kind"])),
                str(record["message"]),
                **cast("Mapping[str, object]", record.get("details") or {}),
            )


__all__ = ["ENDINGS", "Step", "error_of", "logical", "record_of", "revived"]
