"""Forks: a new run over the beginning of another's journal, in which nothing that once took effect takes effect again (B7, A12.16).

Model turns and reads are made anew. A call that may change something is *served* from the record where the original made it with the same
arguments, and *blocked* where it did not, unless it is allowed by name. Each recorded call serves one call.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Awaitable, Collection, Mapping, Sequence
from typing import NamedTuple

from ael.data import dataclass, field
from ael.durable.pinned import ACCEPTED
from ael.journal import form
from ael.journal.entry import Ending, Entry, Header, Kind, State
from ael.journal.store import RunJournal
from ael.lower.unit import CompiledUnit
from ael.types.fault import Fault, FaultKind
from ael.types.signature import Repeat
from ael.types.spec import BudgetSpec

_READS = frozenset({"get", "has", "entries", "page"})
"""The operations of a store that only read."""
_AROUND = (Kind.TOOL, Kind.OPERATION)
"""What other effects happen inside of."""
_ACTS = (Kind.TOOL, Kind.OPERATION, Kind.STORE)
RECORD = "the record"
"""Who approved a call that is served or blocked: nobody is asked about what is not made."""


class Answer(NamedTuple):
    """What stands in place of a recorded answer."""

    ending: Ending
    value: object


@dataclass(frozen=True)
class Changes:
    """All that a fork has otherwise. `input`: by parameter, as JSON (None: the original's). `answers`: by step.

    `budget`: limits in place of the original's. `models`: name -> the model as it is written; `settings`: name -> setting -> value.
    `said`: each change as it was written.
    """

    answers: Mapping[str, Answer] = field(default_factory=dict)
    input: Mapping[str, object] | None = None
    budget: BudgetSpec | None = None
    models: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    said: tuple[str, ...] = ()


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

    `allow` are the names (or qualified names) of calls that are made for real; `models` those that were replaced, as they were written,
    `settings` those of models (model -> setting -> value); `changes` is everything that was changed, as it was written.
    """

    of: str
    at: str
    record: tuple[Recorded, ...] = ()
    allow: frozenset[str] = frozenset()
    models: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    changes: tuple[str, ...] = ()

    def kept(self) -> dict[str, object]:
        """As a run keeps it."""
        record = [[one.path, one.target, one.arguments, one.ending.value, one.value, list(one.taint)] for one in self.record]
        told = {"allow": sorted(self.allow), "models": dict(self.models), "settings": dict(self.settings)}
        return {"of": self.of, "at": self.at, "record": record, **told, "changes": list(self.changes)}


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
    # Forks of older releases have no settings and no list of changes.
    settings, changes = kept.get("settings") or {}, tuple(kept.get("changes") or ())
    return Fork(str(kept["of"]), str(kept["at"]), record, frozenset(kept["allow"]), kept["models"], settings, changes)


class Doers(NamedTuple):
    """What is known of the things that a program calls.

    `reads`: MCP tools whose pinned definition says that they only read. `elsewhere`: services, operations and nodes that are not AEL code
    of this process, so that nothing of what they do comes by this journal.
    """

    unit: CompiledUnit
    reads: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()

    def act(self, kind: Kind, target: str) -> bool:
        """Whether a call may change something outside, as far as its declaration tells.

        A tool or operation of AEL code that may be repeated does so only through what it calls, which is looked at by itself; so does a
        node that a model is offered. What only reads: `get`, `has` and `entries` of stores, `parallel` tools (language.md, section 5:
        `idempotent`, and only reading), and MCP tools whose pin says so. That a tool is `idempotent` says nothing of the kind.
        """
        if not self.elsewhere.isdisjoint((target, target.rpartition(".")[0])):
            return True
        match kind:
            case Kind.STORE:
                return target.rpartition(".")[2] not in _READS
            case Kind.TOOL:
                compiled = self.unit.tools.get(target)
                if compiled is None:
                    return target not in self.unit.nodes
                if compiled.spec.repeat is not Repeat.IDEMPOTENT:
                    return True
                return compiled.body is None and not compiled.spec.parallel and target not in self.reads
            case Kind.OPERATION:
                operation = self.unit.operations.get(target)
                return operation is None or operation.repeat is not Repeat.IDEMPOTENT
            case _:
                return False


def allows(allow: Collection[str], target: str) -> bool:
    """Whether calls of `target` are made for real: by its name, or as much of its qualified name as tells it apart."""
    return any(f".{target}".endswith(f".{name}") for name in allow)


def cut(entries: Sequence[Entry], at: str, changes: Mapping[str, Answer]) -> tuple[list[Entry], list[Recorded]]:
    """The journal of a fork: what was answered before `at` began (`""`: everything), with the answers that `changes` replaces; and what
    of the rest was answered, to serve.

    A step that is changed belongs to the beginning, wherever it stands, and answers whatever is asked there.
    """
    beginning = {entry.path for entry in before(entries, at) if entry.state is State.ANSWERED} | changes.keys()
    # A call around a changed step is run again, or nothing would come to the change.
    calls = {entry.path for entry in entries if entry.kind in _AROUND}
    beginning -= ({path for changed in changes for path in above(changed)} & calls) - changes.keys()
    # An approval is of one run: it goes along only with the call that it let run, or where it was changed.
    beginning = {
        path
        for path in beginning
        if not path.endswith("/approval") or path in changes or path.removesuffix("/approval") in beginning
    }
    kept = []
    answered = {entry.path for entry in entries if entry.state is State.ANSWERED}
    for entry in entries:
        if entry.path not in beginning or entry.kind is Kind.CANCEL:
            continue
        new = changes.get(entry.path)
        if new is not None:
            answer = entry._replace(state=State.ANSWERED, value=new.value, ending=new.ending, digest="")
            # What was never answered, such as an approval that nobody gave, is now.
            open_yet = entry.path not in answered
            entry = answer if entry.state is State.ANSWERED else entry._replace(digest="")
            kept += [entry, answer] if open_yet else [entry]
        else:
            # What served where this run was itself a fork served there, and takes no record away here.
            kept.append(entry._replace(key="", derived=()) if entry.key == _SERVED else entry)
    return kept, recorded(entries, beginning)


def before(entries: Sequence[Entry], at: str) -> Sequence[Entry]:
    """The records before the step `at` began; all of them for `""`."""
    return entries[: next(index for index, entry in enumerate(entries) if entry.path == at)] if at else entries


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
    """The journal of a fork while it runs: a call that acts is answered, from the record or with a fault, before it would begin.

    Not as soon as it is proposed: a call that is refused is answered so by whoever refuses it.
    """

    def __init__(self, inner: RunJournal, fork: Fork, doers: Doers) -> None:
        self._inner = inner
        self._fork = fork
        self._doers = doers
        entries = inner.entries()
        # What served in an earlier execution of this fork says so in its journal.
        spent = [str(entry.derived[0]) for entry in entries if entry.key == _SERVED and entry.derived]
        self._left = [one for one in fork.record if one.path not in spent]
        self._open: set[str] = set()
        """Calls that act, that were proposed, and that get their answer when the journal is asked for one again."""
        self.unseen = _top(entries)
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
        if found is not None and found.state is State.PROPOSED and self._held_back(found):
            if path in self._open:
                return self._settled(found)
            # An earlier execution proposed it: whoever looks now goes on to propose it, and looks again.
            self._open.add(path)
            return found
        if found is not None or not path.endswith("/approval"):
            return found
        call = self._inner.last(path.removesuffix("/approval"))
        if call is not None and call.path in self._open and call.state is State.PROPOSED:
            call = self._settled(call)
        if call is None or call.state is not State.ANSWERED:
            return None
        # Nobody is asked about a call that is answered already.
        value = {"approved": True, "by": RECORD, "reason": "", "arguments": None}
        return call._replace(path=path, kind=Kind.APPROVAL, digest="", value=value, ending=Ending.VALUE)

    def append(self, entry: Entry) -> Awaitable[None] | None:
        if self._held_back(entry):
            if entry.state is State.STARTED:
                # Whatever led here: what is not allowed is not made.
                raise self._fault(entry)
            if entry.state is State.PROPOSED:
                self._open.add(entry.path)
        return self._inner.append(entry)

    def _held_back(self, entry: Entry) -> bool:
        """Whether a call is not made for real: it may change something, and is not allowed to."""
        if entry.kind not in _ACTS or allows(self._fork.allow, entry.target):
            return False
        return self._doers.act(entry.kind, entry.target)

    def _settled(self, call: Entry) -> Entry:
        """Answer a call that is held back; with the arguments as whoever forked edited them, where they did."""
        self._open.discard(call.path)
        decided = self._inner.last(f"{call.path}/approval")
        value = decided.value if decided is not None else None
        edited = value.get("arguments") if isinstance(value, Mapping) else None
        answer = self._answer(call, call.value if edited is None else edited)
        waiting = self._inner.append(answer)
        if isinstance(waiting, Future):
            # The run waits for what it writes last, and a journal that lost the run says so with its next record.
            waiting.add_done_callback(_heard)
        return answer

    def _answer(self, entry: Entry, arguments: object) -> Entry:
        found = self._found(entry, arguments)
        if found is not None:
            self._left.remove(found)
            self.served.append(entry.path)
            return entry._replace(
                state=State.ANSWERED, key=_SERVED, value=found.value, ending=found.ending, taint=found.taint, derived=(found.path,),
                active=self._inner.active,
            )  # fmt: skip
        return entry._replace(
            state=State.ANSWERED,
            key="",
            value=self._fault(entry).value(),
            ending=Ending.FAULT,
            derived=(),
            active=self._inner.active,
        )

    def _fault(self, entry: Entry) -> Fault:
        """Why a call is not made."""
        self.blocked.append(entry.path)
        name = entry.target.partition(".")[2] or entry.target
        message = f"`{name}` is blocked in a fork: the run {self._fork.of} did not make this call with these arguments"
        return Fault(FaultKind.DENIED, message, blocked=True, target=entry.target, path=entry.path, fork=self._fork.of)

    def _found(self, entry: Entry, arguments: object) -> Recorded | None:
        """The recorded call that serves: the one in the same place, else the first with the same arguments."""
        given = form.write(arguments)
        same = [one for one in self._left if one.target == entry.target and form.write(one.arguments) == given]
        return next((one for one in same if one.path == entry.path), same[0] if same else None)


def _heard(written: Future[object]) -> None:
    if not written.cancelled():
        written.exception()


def _top(entries: Sequence[Entry]) -> set[str]:
    """The steps that a run over these records comes to: not those in a call whose answer is there."""
    answered = {entry.path for entry in entries if entry.kind in _AROUND and entry.state is State.ANSWERED}
    paths = {entry.path for entry in entries if entry.kind is not Kind.CANCEL and entry.target != ACCEPTED}
    return {path for path in paths if answered.isdisjoint(above(path))}


def above(path: str) -> list[str]:
    """The paths that a path stands below."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


_SERVED = "served"
"""Stands in place of the key in the answer of a call that was served: nothing was sent under one."""
