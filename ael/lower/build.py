"""Short ways to write Python syntax trees. Positions are filled in later (`place.py`)."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

LOAD = ast.Load()
STORE = ast.Store()
PLAIN = (str, int, float, bool, type(None))


def name(text: str) -> ast.Name:
    return ast.Name(text, LOAD)


def target(text: str) -> ast.Name:
    return ast.Name(text, STORE)


def const(value: str | int | float | bool | None) -> ast.expr:
    """A literal; a negative number is written with its sign, as source would."""
    if type(value) in (int, float) and value is not None and str(value).startswith("-"):
        return ast.UnaryOp(ast.USub(), ast.Constant(abs(value)))  # type: ignore[arg-type]
    return ast.Constant(value)


def call(function: str | ast.expr, *arguments: ast.expr) -> ast.Call:
    return ast.Call(name(function) if isinstance(function, str) else function, list(arguments), [])


def method(owner: str, attribute: str, *arguments: ast.expr) -> ast.Call:
    """A method of something of the back end's own (the frame, an exception); never of a user's value."""
    return ast.Call(ast.Attribute(name(owner), attribute, LOAD), list(arguments), [])


def attribute(owner: str, attribute: str) -> ast.Attribute:
    """As `method`: of the frame or an exception only."""
    return ast.Attribute(name(owner), attribute, LOAD)


def assign(to: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([target(to)], value)


def walrus(to: str, value: ast.expr) -> ast.NamedExpr:
    return ast.NamedExpr(target(to), value)


def subscript(value: ast.expr, key: str | int | ast.expr) -> ast.Subscript:
    return ast.Subscript(value, key if isinstance(key, ast.expr) else const(key), LOAD)


def compare(left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.Compare:
    return ast.Compare(left, [op], [right])


def equal(left: ast.expr, right: ast.expr) -> ast.Compare:
    return compare(left, ast.Eq(), right)


def is_none(value: ast.expr) -> ast.Compare:
    return compare(value, ast.Is(), const(None))


def is_not_none(value: ast.expr) -> ast.Compare:
    return compare(value, ast.IsNot(), const(None))


def is_class(value: ast.expr, class_name: str) -> ast.Compare:
    """`type(value) is class_name`: exact, so that a Bool is no Int and a Timestamp no Date."""
    return compare(call("type", value), ast.Is(), name(class_name))


def both(tests: Sequence[ast.expr]) -> ast.expr:
    """All of them, left to right; nothing is `True`."""
    if not tests:
        return const(True)
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), list(tests))


def any_of(tests: Sequence[ast.expr]) -> ast.expr:
    """One of them."""
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), list(tests))


def negate(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def if_(test: ast.expr, body: Sequence[ast.stmt], otherwise: Sequence[ast.stmt] = ()) -> ast.If:
    return ast.If(test, list(body) or [ast.Pass()], list(otherwise))


def record(entries: Iterable[tuple[str, ast.expr]]) -> ast.Dict:
    pairs = list(entries)
    return ast.Dict([const(key) for key, _ in pairs], [value for _, value in pairs])


def arguments(names: Sequence[str], defaults: Sequence[tuple[str, ast.expr]] = ()) -> ast.arguments:
    """Parameters: those without and then those with a default."""
    return ast.arguments(
        posonlyargs=[],
        args=[ast.arg(n) for n in (*names, *(n for n, _ in defaults))],
        vararg=None,
        kwonlyargs=[],
        kw_defaults=[],
        kwarg=None,
        defaults=[value for _, value in defaults],
    )


def define(
    function: str, parameters: ast.arguments, body: Sequence[ast.stmt], *, acting: bool
) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """`def` or `async def`."""
    statements = list(body) or [ast.Pass()]
    make = ast.AsyncFunctionDef if acting else ast.FunctionDef
    made = make(name=function, args=parameters, body=statements, decorator_list=[], returns=None, type_comment=None)
    if "type_params" in made._fields:  # Python 3.12 and later
        setattr(made, "type_params", [])  # noqa: B010
    return made


def loop(to: ast.expr, over: ast.expr, body: Sequence[ast.stmt], otherwise: Sequence[ast.stmt] = ()) -> ast.For:
    return ast.For(to, over, list(body) or [ast.Pass()], list(otherwise), None)
