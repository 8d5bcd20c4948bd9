"""Lambdas, functions as values, and lambdas that become a comprehension. Captures are bound by value, as defaults of parameters."""

from __future__ import annotations

import ast

from ael.check.program import Meaning
from ael.data import dataclass
from ael.lower import build, names
from ael.lower.convention import acts, two_forms
from ael.lower.halt import halt_test
from ael.lower.scope import SILENT, Builder, Drop, Function, Result
from ael.syntax import nodes as n
from ael.types.type import FunctionType, UnitType


def function_argument(b: Builder, e: n.Expr, *, acting: bool) -> ast.expr:
    """An argument, which may be a function: then in the given convention."""
    match e:
        case n.Lambda():
            return lambda_(b, e, acting=acting)
        case n.Reference() | n.FieldAccess():
            meaning = b.tables.resolved.get(e)
            if isinstance(meaning, Meaning) and meaning.kind in ("function", "tool", "node", "agent"):
                return named_function(b, meaning, acting=acting)
    return b.value(e)


def lambda_(b: Builder, e: n.Lambda, *, acting: bool) -> ast.expr:
    """A lambda as a value: a Python lambda where it is one expression, else a function defined just before."""
    parameters = [b.tables.locals[p] for p in e.parameters]
    function = Function(acting, b.function.depth and not acting, b.function, counter=b.function.counter)
    given = [names.FRAME] if acting else []
    with b.inside(function) as body:
        given += [b.declare(local) for local in parameters]
        if b.facts.takes_time(e.body):
            b.emit(halt_test())
        unit = isinstance(type := b.type(e), FunctionType) and isinstance(type.result, UnitType)
        b.into(e.body, Drop() if unit else Result())
    captured = captures(function)
    b.places.fill_all(body, e.span)
    if not acting and len(body) == 1 and isinstance(only := body[0], ast.Return) and only.value is not None:
        return ast.Lambda(build.arguments(given, captured), only.value)
    return define_here(b, given, captured, body, acting=acting)


def captures(function: Function) -> list[tuple[str, ast.expr]]:
    """The parameters by which a nested function holds what it has from outside."""
    return [(c, build.name(c)) for c in function.captured]


def define_here(
    b: Builder, given: list[str], captured: list[tuple[str, ast.expr]], body: list[ast.stmt], *, acting: bool
) -> ast.expr:
    """Define a nested function; its name."""
    made = f"_f{b.temp()}"
    b.stable.add(made)
    definition = build.define(made, build.arguments(given, captured), body, acting=acting)
    setattr(definition, SILENT, True)
    b.emit(definition)
    return build.name(made)


def named_function(b: Builder, meaning: Meaning, *, acting: bool) -> ast.expr:
    """A declared function (or, in acting code, a tool or node) as a value."""
    signature = b.program.checked.signatures[meaning.name]
    parameters = [names.local(f"a{i}") for i in range(len(signature.parameters))]
    given = [build.name(p) for p in parameters]
    made = b.program.names.of("f", meaning.name)
    if not acting:
        if not b.function.depth or meaning.name not in b.program.graph.recursive:
            return build.name(made)
        depth = b.reach(names.DEPTH)
        return ast.Lambda(build.arguments(parameters, [(depth, build.name(depth))]), build.call(made, *given, build.name(depth)))
    called: ast.expr
    if meaning.kind != "function":
        arguments: ast.expr = ast.Tuple([*given], build.LOAD)
        called = ast.Await(build.method(names.FRAME, "act", b.site(), build.const(meaning.name), arguments))
    elif acts(b.program.checked, meaning.name):
        return build.name(made)
    elif two_forms(signature):
        return build.name(made + names.ACTING)
    else:
        called = build.call(made, *given)
    return define_here(b, [names.FRAME, *parameters], [], [ast.Return(called)], acting=True)


@dataclass(frozen=True, slots=True)
class Inline:
    """A lambda's body in place, for each value of a variable."""

    binder: str
    value: ast.expr


def inline(b: Builder, e: n.Expr) -> Inline | None:
    """A lambda of one parameter as a variable and an expression; None where its body needs statements or runs long."""
    if not isinstance(e, n.Lambda) or len(e.parameters) != 1:
        return None
    body: n.Expr = e.body
    if isinstance(body, n.Block):
        match body.statements:
            case (n.ExprStatement(value=only),):
                body = only
            case _:
                return None
    if b.facts.takes_time(body):
        return None
    recording, b.record_to = b.record_to, None
    with b.capture() as statements:
        binder = b.declare(b.tables.locals[e.parameters[0]])
        value = b.value(body)
    b.record_to = recording
    if statements:
        return None
    b.places.fill(value, body.span)
    return Inline(binder, value)


def iterable(b: Builder, value: ast.expr) -> ast.expr:
    """What a comprehension runs over: Python takes no assignment expression there."""
    if any(isinstance(part, ast.NamedExpr) for part in ast.walk(value)):
        return b.spill(value)
    return value


def comprehension(binder: str, over: ast.expr, element: ast.expr, test: ast.expr | None = None) -> ast.ListComp:
    return ast.ListComp(element, [ast.comprehension(build.target(binder), over, [test] if test is not None else [], 0)])
