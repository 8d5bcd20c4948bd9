"""Strings: literals with `${…}` and `+`, bounded in length (docs/decisions/arithmetic.md).

A text with at most one operand of unknown length only grows by what the program spells out; with two or more it could double each
time, so its length is tested. What a loop builds is tested in the loop (`carry.py`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from ael.lower import build
from ael.lower.scope import Builder
from ael.syntax import nodes as n
from ael.types.definition import EnumDef
from ael.types.type import (
    BoolType,
    DateType,
    DecimalType,
    DurationType,
    FloatType,
    IntType,
    LiteralType,
    Named,
    StringType,
    TimestampType,
    Type,
    UnionType,
)

KNOWN = 1 << 20
"""A String whose type has a `max` up to this counts as one of known length."""


def string(b: Builder, e: n.StringLit) -> ast.expr:
    """A string literal."""
    if all(isinstance(part, n.TextPart) for part in e.parts):
        return build.const("".join(part.text for part in e.parts if isinstance(part, n.TextPart)))
    holes = [part for part in e.parts if not isinstance(part, n.TextPart)]
    values = iter(b.operands([_hole(b, hole) for hole in holes]))
    pieces: list[ast.expr] = []
    for part in e.parts:
        if isinstance(part, n.TextPart):
            if part.text:
                pieces.append(build.const(part.text))
        else:
            pieces.append(ast.FormattedValue(next(values), -1, None))
    if len(pieces) == 1 and isinstance(only := pieces[0], ast.FormattedValue) and text_like(b.type(holes[0]), b):
        return only.value
    return bounded(b, ast.JoinedStr(pieces), sum(unknown_length(b, hole) for hole in holes))


def _hole(b: Builder, e: n.Expr) -> Callable[[], ast.expr]:
    return lambda: as_text(b, e)


def as_text(b: Builder, e: n.Expr) -> ast.expr:
    """The value in its text form; of what Python's formatting gives the same form for, the value itself."""
    type = b.type(e)
    value = b.value(e)
    if text_like(type, b) or isinstance(type, IntType):
        return value
    match type:
        case BoolType():
            return ast.IfExp(value, build.const("true"), build.const("false"))
        case FloatType():
            return build.call("float_text", value)
        case _:
            return build.call("text_of", value)


def text_like(type: Type, b: Builder) -> bool:
    """Whether values are Python strings as they stand."""
    type = b.program.resolve(type)
    match type:
        case StringType():
            return True
        case LiteralType(value):
            return isinstance(value, str)
        case Named(name):
            match b.program.checked.definitions.get(name):
                case EnumDef() as enum:
                    return enum.plain
                case _:
                    return False
        case UnionType(members):
            return all(text_like(m, b) for m in members)
        case _:
            return False


def unknown_length(b: Builder, e: n.Expr) -> bool:
    """Whether the text of `e` may be of any length."""
    match b.type(e):
        case StringType(max=longest):
            return (longest is None or longest > KNOWN) and not isinstance(e, n.StringLit)
        case UnionType():
            return True
        case Named() | LiteralType() | IntType() | FloatType() | DecimalType() | BoolType():
            return False
        case TimestampType() | DateType() | DurationType():
            return False
        case _:
            return True


def concatenate(b: Builder, e: n.Binary) -> ast.expr:
    """`a + b + …` of strings: one formatted string, or `a + b`."""
    parts: list[n.Expr] = []
    spine: n.Expr = e
    while isinstance(spine, n.Binary) and spine.op == "+":
        parts.append(spine.right)
        spine = spine.left
    parts.append(spine)
    parts.reverse()
    values = b.values(parts)
    if len(values) == 2:
        joined: ast.expr = ast.BinOp(values[0], ast.Add(), values[1])
    else:
        joined = ast.JoinedStr([v if isinstance(v, ast.Constant) else ast.FormattedValue(v, -1, None) for v in values])
    return bounded(b, joined, sum(unknown_length(b, part) for part in parts))


def bounded(b: Builder, value: ast.expr, unknown: int) -> ast.expr:
    """`value` with a test of its length where it has two or more operands of unknown length."""
    if unknown < 2:
        return value
    made = b.temp()
    test = build.compare(build.call("len", build.walrus(made, value)), ast.LtE(), build.name("TEXT_MAX"))
    return ast.IfExp(test, build.name(made), build.call("text_too_large"))


def length_test(name: str) -> ast.stmt:
    """A statement that tests the length of a variable."""
    test = build.compare(build.call("len", build.name(name)), ast.Gt(), build.name("TEXT_MAX"))
    return build.if_(test, [ast.Expr(build.call("text_too_large"))])
