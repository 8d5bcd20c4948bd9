"""A session: what was declared and kept, and what an input does to it.

There is no engine of its own here. An input becomes a part of the session's module (`text.py`), which is loaded, checked, bound, lowered
and run as any program is. Values are kept as what the module is given (`ael.check.collect.Given`): each has the type that the check found
and the value that the run gave.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from ael.check.check import Examined, examine
from ael.check.collect import Collected, Given, ModuleScope
from ael.check.program import CheckedProgram
from ael.data import dataclass, field, replace
from ael.diagnostics.diagnostic import Bag, Diagnostic, Place, Severity
from ael.diagnostics.pieces import Pieces
from ael.host import Host, HostError, open_host, store_of
from ael.project.bind import bind_without
from ael.project.deployment import Deployment
from ael.project.load import Project, load_project
from ael.project.program import Opened, load_deployment
from ael.project.reach import direct
from ael.repl.form import LAST, Form, Keep, form_of, function_name, mentioned, released
from ael.repl.reading import MAX_INPUT, kind_of
from ael.repl.text import TITLE, Chunk, assembled, chunks
from ael.repl.value import written
from ael.run.bindings import Options
from ael.run.events import Event
from ael.run.outcome import Faulted, Outcome, Value
from ael.run.permission import Layer
from ael.run.ports import Approver
from ael.run.run import Run
from ael.run.stored import StorePort
from ael.source import Source, SourceError, Span, read_disk, reading
from ael.syntax import nodes as n
from ael.syntax.parse import parse_module
from ael.types.reach import reachable
from ael.types.text import show
from ael.types.type import FunctionType, Named, Type, UnitType, Unknown

MAX_KEPT = 1_000
"""Values that are kept; older ones are still there when newer are refused."""
_UNKNOWN = FunctionType((Unknown(),), UnitType())
_QUIET = frozenset({"AEL1101", "AEL1102", "AEL1106"})
"""Advice that makes no sense of an input: that something is never read, which the next input may do."""


class Watching(Protocol):
    """Looks after a run while it runs: signals, progress."""

    def __call__(self, run: Run) -> AbstractContextManager[None]: ...


@dataclass(frozen=True, eq=False)
class Kept:
    """A value under a name. `changes`: it may be assigned (`var`)."""

    given: Given
    changes: bool


@dataclass(eq=False)
class Result:
    """What became of an input: what it says on standard output, what is wrong with it, and how its run ended."""

    shown: list[str] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)
    outcome: Outcome | None = None
    place: Place | None = None
    """Where a run failed."""
    trouble: HostError | None = None
    """What the program could not be run without."""

    @property
    def failed(self) -> bool:
        """Whether it did not do what was asked."""
        wrong = self.trouble is not None or any(one.severity is Severity.ERROR for one in self.problems)
        return wrong or (self.outcome is not None and not isinstance(self.outcome, Value))


@dataclass(frozen=True, eq=False)
class Looked:
    """A session's module as the check sees it, with an input or without. `program` None: it has errors."""

    pieces: Pieces
    project: Project
    examined: Examined
    program: CheckedProgram | None
    problems: list[Diagnostic]

    @property
    def typed(self) -> n.TestDecl | None:
        """The input."""
        tree = self.project.modules[self.project.main]
        return next((d for d in reversed(tree.declarations) if isinstance(d, n.TestDecl) and _title(d) == TITLE), None)


class _Files:
    """The session's module in place of its file; all else from the disk."""

    def __init__(self, path: Path, source: Source) -> None:
        self.path = path
        self.source = source

    def read(self, path: Path, name: str) -> Source:
        return self.source if path.resolve() == self.path else read_disk(path, name)

    def is_file(self, path: Path) -> bool:
        return path.resolve() == self.path or path.is_file()


class Session:
    """`approver_of` gives whom a deployment lets be asked before what needs an approval; `watching` looks after each run, and what `events`
    gives hears what happens in it."""

    def __init__(
        self,
        *,
        approver_of: Callable[[Deployment], Approver] | None = None,
        watching: Watching | None = None,
        events: Callable[[], Callable[[Event], None]] | None = None,
        options: Options | None = None,
    ) -> None:
        self.approver_of = approver_of
        self.events = events
        self.watching = watching
        self.options = options or Options()
        self.granted: set[str] = set()
        self.all_granted = False
        self.deploy: str | None = None
        self.values: dict[str, Kept] = {}
        self.declared: list[Chunk] = []
        self.file: Path | None = None
        self.program: Source | None = None
        self._path = _free(Path.cwd())
        self._stores: dict[str, StorePort] = {}
        self._inputs = 0

    # --- the program -----------------------------------------------------------------------------------------------------

    def load(self, file: Path) -> Result:
        """Begin anew with the program in `file`. Where it does not check, everything stays as it was."""
        try:
            source = read_disk(file, str(file))
        except SourceError as error:
            place = Place(Source(str(file), "", file), Span(0, 0))
            return Result(problems=[Diagnostic("AEL0801", f"this file cannot be read: {error.reason}", place)])
        before = (self.program, self.file, self._path, self.declared, self.values)
        self.program, self.file, self._path, self.declared, self.values = source, file, file.resolve(), [], {}
        looked, bag = self.look(), Bag()
        if looked.program is not None:
            self.deployment_of(looked.project, looked.program, bag)
        if looked.program is None or bag.errors:
            self.program, self.file, self._path, self.declared, self.values = before
            return Result(problems=[*looked.problems, *bag.sorted()])
        self._stores = {}
        return Result(problems=looked.problems)

    def reload(self) -> Result:
        """Read the program's file again. What was typed stays; values whose types changed are gone."""
        if self.file is None:
            return Result(problems=[])
        try:
            source = read_disk(self.file, str(self.file))
        except SourceError as error:
            place = Place(Source(str(self.file), "", self.file), Span(0, 0))
            return Result(problems=[Diagnostic("AEL0801", f"this file cannot be read: {error.reason}", place)])
        old, before = self.look(), self.program
        self.program = source
        looked = self.look()
        if looked.program is None:
            self.program = before
            return Result(problems=looked.problems)
        return Result([self._forget(old, looked)] if self._changed(old, looked) else [], looked.problems)

    def _changed(self, old: Looked, new: Looked) -> bool:
        was, now = old.examined.collected.definitions, new.examined.collected.definitions
        return any(now.get(name) != one for name, one in was.items())

    def _forget(self, old: Looked, new: Looked) -> str:
        """Let go of values that are made of types which are others now."""
        was, now = old.examined.collected.definitions, new.examined.collected.definitions
        gone = [
            name
            for name, kept in self.values.items()
            if any(
                isinstance(part, Named) and was.get(part.name) != now.get(part.name) for part in reachable(kept.given.type, was)
            )
        ]
        for name in gone:
            del self.values[name]
        return f"forgotten, since their types changed: {', '.join(gone)}" if gone else ""

    # --- inputs ----------------------------------------------------------------------------------------------------------

    async def take(self, text: str) -> Result:
        """Do what an input says: keep what it declares, or run its statements one after the other. Nothing of a wrong one is kept."""
        self._inputs += 1
        source = Source(f"input {self._inputs}", text)
        if len(text) > MAX_INPUT:
            place = Place(source, Span(0, 0))
            return Result(problems=[Diagnostic("AEL0911", f"this input is longer than {MAX_INPUT} characters", place)])
        match kind_of(text):
            case "declarations":
                return self._declare(source)
            case "statements":
                return await self._statements(source)
            case _:
                return Result()

    def _declare(self, source: Source) -> Result:
        bag = Bag()
        new = chunks(source, bag)
        if bag.errors:
            return Result(problems=bag.sorted())
        names = frozenset().union(*(chunk.names for chunk in new))
        kept = [chunk for chunk in self.declared if not (chunk.names and chunk.names <= names)]
        old, before, values = self.look(), self.declared, dict(self.values)
        self.declared = [*kept, *new]
        for name in names:
            self.values.pop(name, None)
        looked = self.look()
        if looked.program is None:
            self.declared, self.values = before, values
            return Result(problems=looked.problems)
        told = self._forget(old, looked) if self._changed(old, looked) else ""
        return Result([told] if told else [], looked.problems)

    async def _statements(self, source: Source) -> Result:
        whole = Place(source, Span(0, len(source.text)))
        first = self._module([whole], whole).typed
        spans = [one.span for one in first.body.statements] if first is not None else []
        if first is None or not spans:
            return Result(problems=self.look([whole], whole).problems)
        result = Result()
        pieces = self._module([whole], whole).pieces
        for statement in first.body.statements:
            place = pieces.place(Place(pieces.source(), statement.span))
            one = await self._statement(place, statement)
            result.shown += one.shown
            result.problems += one.problems
            result.outcome, result.place = one.outcome, one.place
            if one.failed:
                break
        return result

    async def _statement(self, place: Place, statement: n.Statement) -> Result:
        form = form_of(statement, {name for name, kept in self.values.items() if kept.changes})
        looked = self.look(form.written(place), place, form.keeps)
        if looked.program is None and form.plain is not None:
            # It may be that it has no value: `log("…")`, a loop.
            plain = self.look(form.plain.written(place), place, form.plain.keeps)
            if plain.program is not None or _worse(looked, plain):
                form, looked = form.plain, plain
        if looked.program is None:
            return Result(problems=looked.problems)
        return await self._run(place, form, looked)

    # --- checking --------------------------------------------------------------------------------------------------------

    def look(self, statements: Sequence[str | Place] = (), at: Place | None = None, keeps: Sequence[Keep] = ()) -> Looked:
        """The session's module with these statements, as the check sees it."""
        known = at if at is not None else Place(Source("the session", ""), Span(0, 0))
        return self._module(statements, known, keeps)

    def _module(self, statements: Sequence[str | Place], at: Place, keeps: Sequence[Keep] = ()) -> Looked:
        pieces = assembled(self.program, self.declared, self._path, at, statements)
        bag = Bag()
        with reading(_Files(self._path, pieces.source())):
            project = load_project(self._path, bag)
        if project is None:
            tree = parse_module(pieces.source(), Bag())
            project = Project(self._path.parent, None, self._path.stem, {self._path.stem: tree})
        examined = examine(self._collected(project, keeps), bag, project.pins)
        program = None if bag.errors else examined.program()
        told = [pieces.told(one) for one in bag.sorted() if self._matters(one, pieces, at)]
        return Looked(pieces, project, examined, program, told)

    def _collected(self, project: Project, keeps: Sequence[Keep]) -> Collected:
        main = project.main
        given = {f"{main}.{name}": kept.given for name, kept in self.values.items()}
        for number, keep in enumerate(keeps):
            known = self.values.get(keep.name)
            type: Type = FunctionType((known.given.type,), UnitType()) if keep.assigns and known is not None else _UNKNOWN
            given[f"{main}.{function_name(number)}"] = Given(type, keep.hear)
        pack = project.pack
        return Collected(
            {name: ModuleScope(name, tree) for name, tree in project.modules.items()}, main,
            pack.externs if pack is not None else frozenset(), pack.uses if pack is not None else frozenset(),
            packs=project.facts, texts=project.texts, given=given, prompt=TITLE,
        )  # fmt: skip

    def _matters(self, found: Diagnostic, pieces: Pieces, at: Place) -> bool:
        if found.severity is Severity.ERROR:
            return True
        return found.code not in _QUIET and pieces.place(found.place).source is at.source

    # --- running ---------------------------------------------------------------------------------------------------------

    def deployment_of(self, project: Project, program: CheckedProgram, bag: Bag) -> Deployment | None:
        """The deployment that the session runs under. `deploy.ael` is that of a program: it binds what an empty session does not have."""
        if self.file is None and self.deploy is None:
            return bind_without(program, project.root, bag)
        return load_deployment(project, program, self.deploy, bag)

    async def _run(self, place: Place, form: Form, looked: Looked) -> Result:
        program, typed = looked.program, looked.typed
        assert program is not None
        assert typed is not None
        types = _types(looked.examined, typed, form)
        refused = _refused(place, form, types)
        if refused is not None:
            return Result(problems=[refused])
        bag = Bag()
        deployment = self.deployment_of(looked.project, program, bag)
        if deployment is None or bag.errors:
            return Result(problems=bag.sorted())
        named = replace(program, declarations={**program.declarations, "the input": (program.main, typed)})
        names = sorted(set(direct(named, "the input")))
        alone = replace(program, tests=tuple(test for test in program.tests if test.name == TITLE))
        try:
            host = self._host(Opened(looked.project, alone, deployment), names)
        except HostError as error:
            return Result(problems=bag.sorted(), trouble=error)
        async with host:
            run = host.engine.start_test(host.unit.tests[0], self._options(program))
            outcome = await self._outcome(run)
        result = Result(problems=[*bag.sorted(), *looked.problems], outcome=outcome, place=_place(looked.pieces, outcome))
        if isinstance(outcome, Value):
            outside = bool(run.seen) or any(self.values[name].given.outside for name in mentioned(typed) if name in self.values)
            outside = outside and not released(form.value)
            result.shown = list(self._keep(form, types, looked, outside))
        return result

    async def _outcome(self, run: Run) -> Outcome:
        with self.watching(run) if self.watching is not None else nullcontext():
            try:
                return await run.outcome()
            except asyncio.CancelledError:
                # The session was interrupted before the run could be told.
                run.interrupt()
                run.cancel("interrupted")
                raise

    def _host(self, opened: Opened, names: Sequence[str]) -> Host:
        for name in opened.program.stores:
            if name not in self._stores:
                self._stores[name] = store_of(opened.deployment, name)
        approver = self.approver_of(opened.deployment) if self.approver_of is not None else None
        return open_host(opened, names, approver=approver, stores=self._stores, exports=False)

    def _options(self, program: CheckedProgram) -> Options:
        options = self.options if self.events is None else replace(self.options, on_event=self.events())
        if self.all_granted:
            return options
        held = {one for name in self.granted if name in program.permissions for one in program.permissions[name].includes}
        return replace(options, caller_layer=Layer("this session", held | self.granted))

    def _keep(self, form: Form, types: Sequence[Type], looked: Looked, outside: bool) -> Iterator[str]:
        definitions = looked.examined.collected.definitions
        for keep, type in zip(form.keeps, types, strict=True):
            if not keep.heard:
                continue
            value = keep.heard[-1]
            if keep.name in self.values or len(self.values) < MAX_KEPT:
                self.values[keep.name] = Kept(Given(type, value, outside), keep.changes)
            lead = "" if keep.name == LAST else f"{keep.name} = "
            if not keep.assigns or keep.shows:
                yield f"{lead}{written(value, type, definitions)} : {show(type)}"

    async def run_entry(self, name: str, values: Mapping[str, object]) -> Result:
        """Run a node or an agent of the program, as `ael run` does."""
        looked = self.look()
        if looked.program is None:
            return Result(problems=looked.problems)
        bag = Bag()
        deployment = self.deployment_of(looked.project, looked.program, bag)
        if deployment is None or bag.errors:
            return Result(problems=bag.sorted())
        try:
            host = self._host(Opened(looked.project, looked.program, deployment), [name])
        except HostError as error:
            return Result(problems=bag.sorted(), trouble=error)
        async with host:
            run = host.engine.start(name, values, self._options(looked.program))
            outcome = await self._outcome(run)
        result = Result(problems=bag.sorted(), outcome=outcome, place=_place(looked.pieces, outcome))
        if isinstance(outcome, Value):
            type = looked.program.signatures[name].result
            self.values[LAST] = Kept(Given(type, outcome.value, True), False)
            result.shown = [f"{written(outcome.value, type, looked.examined.collected.definitions)} : {show(type)}"]
        return result

    async def close(self) -> None:
        """Close the stores."""
        for store in self._stores.values():
            await store.close()
        self._stores = {}


def _title(node: n.TestDecl) -> str:
    return "".join(part.text for part in node.title.parts if isinstance(part, n.TextPart))


def _free(folder: Path) -> Path:
    """A file for a session without a program: one that is not there."""
    number = 1
    while (path := folder.resolve() / f"session{'' if number == 1 else f'_{number}'}.ael").exists():
        number += 1
    return path


def _worse(one: Looked, other: Looked) -> bool:
    """Whether there is more wrong with one than with another."""
    return len(one.problems) >= len(other.problems)


def _types(examined: Examined, typed: n.TestDecl, form: Form) -> list[Type]:
    """The types of what is kept, as the check found them."""
    collected = examined.collected
    tables = collected.modules[examined.main].tables
    found = {node.name.text: tables.locals[node].type for node in typed.body.statements if isinstance(node, n.Let)}
    return [
        collected.given[f"{examined.main}.{keep.name}"].type if keep.assigns else found.get(keep.name, Unknown())
        for keep in form.keeps
    ]


def _refused(place: Place, form: Form, types: Sequence[Type]) -> Diagnostic | None:
    """A function value cannot be kept: its code belongs to the input that made it."""
    for keep, type in zip(form.keeps, types, strict=True):
        if keep.name != LAST and _holds_function(type):
            notes = (f"declare it: `fn {keep.name}(…) -> … {{ … }}`",)
            return Diagnostic(
                "AEL0912", f"`{keep.name}` would hold a function, which no later input could call", place, notes=notes
            )
    return None


def _holds_function(type: Type) -> bool:
    return any(isinstance(part, FunctionType) for part in reachable(type, {}))


def _place(pieces: Pieces, outcome: Outcome) -> Place | None:
    """Where a run failed, if that is in what was typed or in the program's own file."""
    if not isinstance(outcome, Faulted) or not outcome.place:
        return None
    source = pieces.source()
    parts = outcome.place.rsplit(":", 2)
    if len(parts) != 3 or not parts[1].isdecimal() or not parts[2].isdecimal():
        return None
    if Path(parts[0]).name != Path(source.name).name:
        return None
    starts, line, column = source.line_starts(), int(parts[1]), int(parts[2])
    if line > len(starts):
        return None
    at = starts[line - 1] + column - 1
    return pieces.place(Place(source, Span(at, at + 1)))
