"""Which lines of AEL the tests ran. Compiled code stands at AEL positions, so Python's own events tell lines of `.ael` files.

From Python 3.12 on a line costs one event however often it runs (`sys.monitoring`); before, code of the program is traced.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from ael.data import dataclass
from ael.lower.lower import trees
from ael.project.load import shown
from ael.project.program import Opened
from ael.syntax import nodes as n

Hits = Mapping[str, frozenset[int]]
"""File, by its whole path -> the lines that ran."""


@dataclass(frozen=True)
class Declared:
    """Something that can run: `what` and `name` in the user's words, with its lines."""

    what: str
    name: str
    first: int
    last: int
    qualified: str


@dataclass(frozen=True)
class Module:
    """A module that is measured: `file` is its whole path, `called` what code objects name it, `shown` what people do; the lines that hold
    code, without those of tests."""

    file: str
    called: str
    shown: str
    lines: frozenset[int]
    declared: tuple[Declared, ...]


@dataclass(frozen=True)
class Measured:
    """What was found of one module."""

    module: Module
    hit: frozenset[int]
    ran: frozenset[Declared]

    @property
    def missing(self) -> list[int]:
        """The lines that did not run."""
        return sorted(self.module.lines - self.hit)


def modules_of(opened: Opened) -> list[Module]:
    """The program's own modules, without those of the packs that it depends on and of the standard library."""
    _, made, places = trees(opened.program)
    found = []
    for name, module in opened.program.modules.items():
        path = module.tree.source.path
        if path is None or not opened.project.own(name) or name.startswith("std/"):
            continue
        line = module.tree.source.position
        spans = [(d, line(d.span.start).line, line(max(d.span.start, d.span.end - 1)).line) for d in module.tree.declarations]
        tests = [(first, last) for d, first, last in spans if isinstance(d, n.TestDecl)]
        code = compile(made[name], places[name].filename, "exec", dont_inherit=True)
        lines = frozenset(at for at in _lines(code) if not any(first <= at <= last for first, last in tests))
        declared = [
            Declared(_word(d), d.name.text, first, last, f"{name}.{d.name.text}")
            for d, first, last in spans
            if isinstance(d, n.FunctionDecl | n.ToolDecl | n.NodeDecl | n.AgentDecl)
        ]
        found.append(Module(str(path.resolve()), places[name].filename, shown(path), lines, tuple(declared)))
    return found


_WORDS: dict[type, str] = {n.FunctionDecl: "fn", n.ToolDecl: "tool", n.NodeDecl: "node", n.AgentDecl: "agent"}


def _word(declared: n.Node) -> str:
    """The word that begins a declaration with code."""
    table = isinstance(declared, n.FunctionDecl) and isinstance(declared.body, n.Rows)
    return "table" if table else _WORDS[type(declared)]


def _lines(code: CodeType) -> Iterator[int]:
    """The lines of the functions in a module's code. That where one begins is no line of its body, unless the body is all on it."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            own = {at for _, _, at in inner.co_lines() if at}
            yield from own - {inner.co_firstlineno} or own
            yield from _lines(inner)


def measured(modules: list[Module], hits: Hits, called: frozenset[str]) -> list[Measured]:
    """What of the modules ran. `called`: the qualified names of what was called, which may have no code of their own."""
    found = []
    for module in modules:
        hit = hits.get(module.file, frozenset()) & module.lines
        ran = frozenset(
            one for one in module.declared if one.qualified in called or any(one.first <= at <= one.last for at in hit)
        )
        found.append(Measured(module, hit, ran))
    return found


class Tracer:
    """Notes the lines of some files that run while it is on."""

    def __init__(self, files: frozenset[str]) -> None:
        self.files = files
        self._hits: dict[str, set[int]] = {file: set() for file in files}

    @property
    def hits(self) -> Hits:
        """What ran so far."""
        return joined([{str(Path(file).resolve()): frozenset(lines)} for file, lines in self._hits.items() if lines])

    @contextmanager
    def on(self) -> Iterator[None]:
        """Note lines while the block lasts."""
        monitoring = getattr(sys, "monitoring", None)
        with self._traced() if monitoring is None else self._monitored(monitoring):
            yield

    @contextmanager
    def _monitored(self, monitoring: Any) -> Iterator[None]:
        tool = next((one for one in range(6) if monitoring.get_tool(one) is None), None)
        if tool is None:
            with self._traced():
                yield
            return

        def line(code: CodeType, number: int) -> object:
            lines = self._hits.get(code.co_filename)
            if lines is not None:
                lines.add(number)
            return monitoring.DISABLE

        monitoring.use_tool_id(tool, "ael test --coverage")
        monitoring.register_callback(tool, monitoring.events.LINE, line)
        monitoring.set_events(tool, monitoring.events.LINE)
        try:
            yield
        finally:
            monitoring.set_events(tool, 0)
            monitoring.register_callback(tool, monitoring.events.LINE, None)
            monitoring.free_tool_id(tool)

    @contextmanager
    def _traced(self) -> Iterator[None]:
        def local(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "line":
                self._hits[frame.f_code.co_filename].add(frame.f_lineno)
            return local

        def enter(frame: FrameType, event: str, argument: Any) -> Any:
            return local if frame.f_code.co_filename in self._hits else None

        before = sys.gettrace()
        sys.settrace(enter)
        threading.settrace(enter)
        try:
            yield
        finally:
            sys.settrace(before)
            threading.settrace(before)


def joined(parts: list[Hits]) -> Hits:
    """The lines of several processes together."""
    found: dict[str, frozenset[int]] = {}
    for part in parts:
        for file, lines in part.items():
            found[file] = found.get(file, frozenset()) | lines
    return found


def percent(found: list[Measured]) -> float:
    """Of the lines, how many ran; 100 where there are none."""
    lines = sum(len(one.module.lines) for one in found)
    return 100.0 * sum(len(one.hit) for one in found) / lines if lines else 100.0


def relative(path: str) -> str:
    """A file's path in a report for another tool: below the working folder where it is."""
    try:
        return Path(path).resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return Path(path).as_posix()
