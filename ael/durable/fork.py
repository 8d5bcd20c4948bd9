"""Forks: a new run over the beginning of another's journal, in which nothing that once took effect takes effect again (B7, A12.16).

Model turns and reads are made anew. A call that may change something is *served* from the record where the original made it with the same
arguments, and *blocked* where it did not, unless it is allowed by name. Each recorded call serves one call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence

from ael.data import dataclass
from ael.durable.pinned import ACCEPTED
from ael.journal import form
from ael.journal.durable import HeldRun
from ael.journal.entry import Ending, Entry, Header, Kind, State
from ael.lower.unit import CompiledUnit
from ael.types.fault import Fault, FaultKind
from ael.types.signature import Repeat

_READS = frozenset({"get", "has", "entries"})
"""The operations of a store that only read."""
_ACTS = (Kind.TOOL, Kind.OPERATION, Kind.STORE)
RECORD = "the record"
"""Who approved a call that is served or blocked: nobody is asked about what is not made."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A call that the original made after the point of the fork, and how it was answered."""

    path: str
    target: str
    arguments: object
    ending: Ending
    value: object
    taint: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fork:
    """Where a run was forked from: the original, the step at which (`""`: at its end), and what of the rest can serve.

    `allow` are the names (or qualified names) of calls that are made for real; `models` those that were replaced, as they were written.
    """

    of: str
    at: str
    record: tuple[Recorded, ...] = ()
    allow: frozenset[str] = frozenset()
    models: Mapping[str, str] | None = None

    def kept(self) -> dict[str, object]:
        """As a run keeps it."""
        record = [[one.path, one.target, one.arguments, one.ending.value, one.value, list(one.taint)] for one in self.record]
        return {"of": self.of, "at": self.at, "record": record, "allow": sorted(self.allow), "models": dict(self.models or {})}


def fork_of(pinned: Mapping[str, object]) -> Fork | None:
    """The fork that a run is, None for one that began by itself."""
    kept = pinned.get("fork")
    if not isinstance(kept, Mapping):
        return None
    record = tuple(
        [
            Recorded(path, target, given, Ending(ending), value, tuple(taint))
            for path, target, given, ending, value, taint in kept["record"]
        ]
    )
    return Fork(str(kept["of"]), str(kept["at"]), record, frozenset(kept["allow"]), kept["models"])


def acts(unit: CompiledUnit, kind: Kind, target: str, reads: frozenset[str]) -> bool:
    """Whether a call may change something outside, as far as its declaration tells.

    A tool or operation of AEL code that may be repeated does so only through what it calls, which is looked at by itself. What only reads:
    `get`, `has` and `entries` of stores, `parallel` tools, and MCP tools whose pinned definition says so (`reads`).
    """
    match kind:
        case Kind.STORE:
            return target.rpartition(".")[2] not in _READS
        case Kind.TOOL:
            compiled = unit.tools.get(target)
            if compiled is None:
                return True
            if compiled.spec.repeat is not Repeat.IDEMPOTENT:
                return True
            return compiled.body is None and not compiled.spec.parallel and target not in reads
        case Kind.OPERATION:
            operation = unit.operations.get(target)
            return operation is None or operation.repeat is not Repeat.IDEMPOTENT
        case _:
            return False


def cut(entries: Sequence[Entry], at: str, changes: Mapping[str, object]) -> tuple[list[Entry], list[Recorded]]:
    """The journal of a fork: what was answered before `at` began (`""`: everything), with the answers that `changes` replaces; and what
    of the rest was answered, to serve.

    A step that is changed belongs to the beginning, though it is the one at which the fork is made.
    """
    paths = [entry.path for entry in entries]
    end = paths.index(at) if at else len(entries)
    beginning = {entry.path for entry in entries[:end] if entry.state is State.ANSWERED} | changes.keys()
    # An approval is of one run: it goes along only with the call that it let run.
    beginning = {path for path in beginning if not path.endswith("/approval") or path.removesuffix("/approval") in beginning}
    kept = []
    for entry in entries:
        if entry.path not in beginning or entry.kind is Kind.CANCEL:
            continue
        if entry.state is State.ANSWERED and entry.path in changes:
            entry = entry._replace(value=changes[entry.path], ending=Ending.VALUE)
        kept.append(entry)
    return kept, recorded(entries, beginning)


def recorded(entries: Sequence[Entry], beginning: set[str]) -> list[Recorded]:
    """The calls that were answered and are not in the beginning of a fork."""
    given = {entry.path: entry.value for entry in entries if entry.state is State.PROPOSED}
    served = (Ending.VALUE, Ending.ERROR, Ending.FAULT, Ending.UNCERTAIN)
    return [
        Recorded(one.path, one.target, given.get(one.path), one.ending, one.value, one.taint)
        for one in entries
        if one.state is State.ANSWERED and one.kind in _ACTS and one.ending in served and one.path not in beginning
    ]


class ForkJournal:
    """The journal of a fork while it runs: a call that acts is answered as soon as it is proposed, and so never made."""

    def __init__(self, inner: HeldRun, fork: Fork, unit: CompiledUnit, reads: frozenset[str]) -> None:
        self._inner = inner
        self._fork = fork
        self._unit = unit
        self._reads = reads
        # What served in an earlier execution of this fork says so in its journal.
        spent = [str(entry.derived[0]) for entry in inner.entries() if entry.key == _SERVED and entry.derived]
        self._left = [one for one in fork.record if one.path not in spent]
        self.unseen = {entry.path for entry in inner.entries() if entry.kind is not Kind.CANCEL and entry.target != ACCEPTED}
        """Steps of the beginning that the run has not come to: those of a program that changed."""
        self.served: list[str] = []
        self.blocked: list[str] = []

    @property
    def header(self) -> Header:
        return self._inner.header

    @property
    def continued(self) -> bool:
        return True

    @property
    def active(self) -> float:
        return self._inner.active

    def hurry(self) -> None:
        self._inner.hurry()

    def entries(self) -> list[Entry]:
        return self._inner.entries()

    def last(self, path: str) -> Entry | None:
        self.unseen.discard(path)
        found = self._inner.last(path)
        if found is not None or not path.endswith("/approval"):
            return found
        call = self._inner.last(path.removesuffix("/approval"))
        if call is None or call.state is not State.ANSWERED:
            return None
        # Nobody is asked about a call that is answered already.
        value = {"approved": True, "by": RECORD, "reason": "", "arguments": None}
        return call._replace(path=path, kind=Kind.APPROVAL, digest="", value=value, ending=Ending.VALUE)

    def append(self, entry: Entry) -> Awaitable[None] | None:
        waiting = self._inner.append(entry)
        if entry.state is State.PROPOSED and entry.kind in _ACTS and not self._allowed(entry):
            return self._inner.append(self._answer(entry))
        return waiting

    def _allowed(self, entry: Entry) -> bool:
        names = {entry.target, entry.target.partition(".")[2], entry.target.rpartition(".")[2]}
        return bool(names & self._fork.allow) or not acts(self._unit, entry.kind, entry.target, self._reads)

    def _answer(self, entry: Entry) -> Entry:
        found = self._found(entry)
        if found is not None:
            self._left.remove(found)
            self.served.append(entry.path)
            return entry._replace(
                state=State.ANSWERED, key=_SERVED, value=found.value, ending=found.ending, taint=found.taint, derived=(found.path,),
                active=self._inner.active,
            )  # fmt: skip
        self.blocked.append(entry.path)
        name = entry.target.partition(".")[2] or entry.target
        message = f"`{name}` is blocked in a fork: the run {self._fork.of} did not make this call with these arguments"
        fault = Fault(FaultKind.DENIED, message, blocked=True, target=entry.target, path=entry.path, fork=self._fork.of)
        return entry._replace(
            state=State.ANSWERED, key="", value=fault.value(), ending=Ending.FAULT, derived=(), active=self._inner.active
        )

    def _found(self, entry: Entry) -> Recorded | None:
        """The recorded call that serves: the one in the same place, else the first with the same arguments."""
        given = form.write(entry.value)
        same = [one for one in self._left if one.target == entry.target and form.write(one.arguments) == given]
        return next((one for one in same if one.path == entry.path), same[0] if same else None)


_SERVED = "served"
"""Stands in place of the key in the answer of a call that was served: nothing was sent under one."""
