"""Where lowering stands: the program, the module, the Python function that is being written, the statements so far.

An expression is lowered to a Python expression and, where it holds something that only a statement can do, to statements before it.
`Builder.out` is where these go. Whoever lowers several operands uses `operands`, which keeps the order of evaluation: an earlier operand
goes into a temporary as soon as a later one needs statements (A-normal form, but only where it is needed).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Protocol, TypeAlias

from ael.check.program import CheckedModule, CheckedProgram, Local, Tables
from ael.data import dataclass, field
from ael.lower import build, names
from ael.lower.facts import Facts
from ael.lower.graph import Graph
from ael.lower.place import Places
from ael.syntax import nodes as n
from ael.types.definition import AliasDef
from ael.types.type import Named, Type


@dataclass(frozen=True, slots=True)
class Drop:
    """The value is not wanted."""


@dataclass(frozen=True, slots=True)
class Give:
    """The value goes into the variable of this (Python) name."""

    name: str


@dataclass(frozen=True, slots=True)
class Result:
    """The value is what the function gives."""


Destination: TypeAlias = Drop | Give | Result


@dataclass
class Loop:
    """A loop around what is being lowered.

    `carried`: variables from outside that the body assigns. `cheap`: the body neither loops nor calls, so that one test for a chunk of
    iterations is enough. `deferred`: variables whose size is tested then, and not where they are assigned.
    """

    carried: frozenset[Local]
    cheap: bool
    chunked: bool
    body: n.Block | None = None
    deferred: dict[str, str] = field(default_factory=dict)


@dataclass
class Function:
    """The Python function that is being written. `acting`: `async def` with a frame, and every function value in it acts, too."""

    acting: bool
    depth: bool = False
    parent: Function | None = None
    declared: set[str] = field(default_factory=set)
    captured: dict[str, None] = field(default_factory=dict)
    """Names from outside, in the order in which they were met; they become parameters with a default, so bound by value."""
    counter: Counter = field(default_factory=lambda: Counter())
    loops: list[Loop] = field(default_factory=list)
    blocks: int = 0
    """How many blocks (`for`, `try`) of Python stand around."""


@dataclass
class Counter:
    """Numbers that are unique within one callable of the program, nested functions included."""

    temps: int = 0
    sites: int = 0


class Forms(Protocol):
    """How expressions and statements are lowered: the whole of `expression.py` and `statement.py`, for the parts that nest them."""

    def value(self, b: Builder, e: n.Expr) -> ast.expr:
        """The value of `e`, checked to be one that may be kept (finite, within bounds)."""

    def into(self, b: Builder, e: n.Expr, to: Destination) -> None:
        """Statements that bring the value of `e` to its destination."""

    def block(self, b: Builder, block: n.Block, to: Destination) -> None:
        """The statements of a block, the value of the last one brought to its destination."""


@dataclass
class Program:
    """What is shared by all modules while a program is lowered."""

    checked: CheckedProgram
    graph: Graph
    forms: Forms
    names: names.Names = field(default_factory=names.Names)
    constants: dict[str, object] = field(default_factory=dict)
    """Values that the code reaches by a global name: containers and others that no Python literal writes."""
    brief: dict[str, int] = field(default_factory=dict)
    """Functions that end soon by themselves, and what they cost (`facts.py`)."""
    facts: dict[n.Node, Facts] = field(default_factory=dict)
    """By the body of a callable."""
    checkers: dict[Type, str] = field(default_factory=dict)
    shapes: dict[Type, str] = field(default_factory=dict)
    natives: dict[str, str] = field(default_factory=dict)
    """The native functions that are called (`native.hash.sha256`), and the globals that have them."""

    def __post_init__(self) -> None:
        for name in self.graph.order:
            module, declaration = self.checked.declarations[name]
            assert isinstance(declaration, n.FunctionDecl)
            body = declaration.body
            facts = self.facts_of(body, self.checked.modules[module].tables)
            if name not in self.graph.recursive and not facts.takes_time(body) and not facts.calls(body):
                self.brief[name] = facts.cost

    def facts_of(self, body: n.Node, tables: Tables) -> Facts:
        """The facts of a callable's body."""
        if body not in self.facts:
            self.facts[body] = Facts(body, tables, self.graph.recursive, self.brief)
        return self.facts[body]

    def constant(self, value: object, qualified: str | None = None) -> ast.expr:
        """An expression for a constant value: a literal where there is one, else a global name."""
        if type(value) in build.PLAIN and not (isinstance(value, int) and abs(value) >> 256):
            return build.const(value)  # type: ignore[arg-type]
        if qualified is None:
            for known, other in self.constants.items():
                if other is value or (
                    type(other) is type(value) and isinstance(value, Decimal | timedelta) and repr(other) == repr(value)
                ):
                    return build.name(known)
            qualified = f"value.{len(self.constants)}"
        found = self.names.of("c", qualified)
        self.constants[found] = value
        return build.name(found)

    def duration(self, milliseconds: int) -> ast.expr:
        """A Duration literal."""
        return self.constant(timedelta(milliseconds=milliseconds))

    def checker(self, type: Type) -> ast.expr:
        """The global that has the compiled check of a type."""
        return build.name(self.checkers.setdefault(type, f"t_{len(self.checkers) + 1}"))

    def shape(self, type: Type) -> str:
        """The global that has the test of whether a value belongs to a member of a union."""
        return self.shapes.setdefault(type, f"is_{len(self.shapes) + 1}")

    def native(self, name: str) -> str:
        """The global that has a native function of the standard library."""
        return self.natives.setdefault(name, f"n_{len(self.natives) + 1}")

    def resolve(self, type: Type) -> Type:
        """What stands behind recursive aliases, for asking what kind of value it is."""
        for _ in range(64):
            match type:
                case Named(name) if isinstance(alias := self.checked.definitions.get(name), AliasDef):
                    type = alias.type
                case _:
                    break
        return type


SILENT = "_silent"
"""Set on statements (`def`) that nothing can see the moment of."""


@dataclass
class Builder:
    program: Program
    module: CheckedModule
    places: Places
    function: Function
    facts: Facts
    out: list[ast.stmt] = field(default_factory=list)
    stable: set[str] = field(default_factory=set)
    """Python names that are never assigned again while they are in use."""
    raised: dict[Local, str] = field(default_factory=dict)
    """Binders of `catch` arms -> the variable of the exception, so that `fail e` raises the very same."""
    untested: bool = False
    """Whether a recursive function may be called only after a test that is still to be made here (`recursion.py`)."""
    unchecked: set[Local] = field(default_factory=set)
    """Float variables that may not be finite: each use of them is part of a sum that is tested."""
    positions: set[Local] = field(default_factory=set)
    """Int variables that are never negative."""
    bits: dict[Local, int] = field(default_factory=dict)
    """How many bits an Int variable can have, where that is fewer than usual (or more, for what a sum was just stored in)."""
    record_to: list[tuple[n.Expr, str]] | None = None
    """Where an `assert` wants the values of its operands: expression and variable."""

    @property
    def tables(self) -> Tables:
        return self.module.tables

    @property
    def forms(self) -> Forms:
        return self.program.forms

    def value(self, e: n.Expr) -> ast.expr:
        return self.forms.value(self, e)

    def into(self, e: n.Expr, to: Destination) -> None:
        self.forms.into(self, e, to)

    def type(self, e: n.Node) -> Type:
        """The type of an expression, aliases resolved."""
        return self.program.resolve(self.tables.types[e])

    def temp(self) -> str:
        """A fresh variable, assigned once."""
        self.function.counter.temps += 1
        made = f"_{self.function.counter.temps}"
        self.stable.add(made)
        return made

    def site(self) -> ast.expr:
        """The number of the next call site of this callable."""
        number = self.function.counter.sites
        self.function.counter.sites += 1
        return build.const(number)

    def emit(self, *statements: ast.stmt) -> None:
        self.out.extend(statements)

    @contextmanager
    def capture(self) -> Iterator[list[ast.stmt]]:
        """Statements emitted inside go into a list of their own."""
        outer, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = outer

    @contextmanager
    def inside(self, function: Function) -> Iterator[list[ast.stmt]]:
        """Write the body of a nested function."""
        outer, self.function = self.function, function
        recording, self.record_to = self.record_to, None
        raised, self.raised = self.raised, {}
        try:
            with self.capture() as out:
                yield out
        finally:
            self.function, self.record_to, self.raised = outer, recording, raised

    def is_stable(self, value: ast.expr) -> bool:
        """Whether evaluating `value` later gives the same and does nothing."""
        match value:
            case ast.Constant() | ast.Lambda():
                return True
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
                return True
            case ast.Name(id=identifier):
                return not identifier.startswith("u_") or identifier in self.stable
            case _:
                return False

    def spill(self, value: ast.expr) -> ast.expr:
        """Evaluate now, into a temporary."""
        made = self.temp()
        self.emit(build.assign(made, value))
        return build.name(made)

    def held(self, value: ast.expr) -> ast.expr:
        """`value` as something that may be written twice: itself if stable, else a temporary."""
        return value if self.is_stable(value) else self.spill(value)

    def operands(self, makers: Sequence[Callable[[], ast.expr]]) -> list[ast.expr]:
        """Lower operands that are evaluated left to right, each before the next."""
        parts: list[tuple[list[ast.stmt], ast.expr]] = []
        for make in makers:
            with self.capture() as statements:
                made = make()
            parts.append((statements, made))
        last = max((i for i, (statements, _) in enumerate(parts) if not silent(statements)), default=-1)
        results: list[ast.expr] = []
        for i, (statements, made) in enumerate(parts):
            self.out.extend(statements)
            results.append(made if i >= last or self.is_stable(made) else self.spill(made))
        return results

    def values(self, nodes: Sequence[n.Expr]) -> list[ast.expr]:
        """`operands` of expressions."""
        return self.operands([lambda e=e: self.value(e) for e in nodes])  # type: ignore[misc]

    def deliver(self, value: ast.expr, to: Destination) -> None:
        """Bring a value to its destination."""
        match to:
            case Give(name):
                self.emit(build.assign(name, value))
            case Result():
                self.emit(ast.Return(value))
            case Drop():
                if not self.is_stable(value):
                    self.emit(ast.Expr(value))

    # --- names ---------------------------------------------------------------------------------------------------

    def declare(self, local: Local) -> str:
        """The Python name of a local that comes into being here."""
        made = names.local(local.slot)
        self.function.declared.add(made)
        if not local.mutable:
            self.stable.add(made)
        return made

    def reach(self, python_name: str) -> str:
        """A name of this function or of one around it; there it is captured, by value."""
        function: Function | None = self.function
        while function is not None and python_name not in function.declared:
            function.captured[python_name] = None
            function = function.parent
        return python_name

    def local(self, local: Local) -> ast.expr:
        """A local that is read."""
        return build.name(self.reach(names.local(local.slot)))

    def depth(self) -> ast.expr | None:
        """The depth for a recursive function that is called from here; None where this function does not count."""
        return build.name(self.reach(names.DEPTH)) if self.function.depth else None

    def enter(self) -> ast.expr:
        """`k.enter(site)`: the frame for what is called from here."""
        return build.method(names.FRAME, "enter", self.site())


def silent(statements: Sequence[ast.stmt]) -> bool:
    """Whether nothing can see when these statements run."""
    return all(hasattr(s, SILENT) for s in statements)
