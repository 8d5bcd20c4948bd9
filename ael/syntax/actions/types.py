"""Actions of type expressions and bounds."""

from __future__ import annotations

from ael.syntax import nodes as n
from ael.syntax.actions.context import Context, items
from ael.syntax.make import (
    make_bound,
    make_float_lit,
    make_function_type,
    make_int_lit,
    make_literal_type,
    make_named_type,
    make_optional_type,
    make_range,
    make_union_type,
)


def union(c: Context, s: int, e: int, members: list[n.TypeExpr]) -> n.UnionType:
    return make_union_type(s, e, tuple(members))


def function_type(c: Context, s: int, e: int, parameters: list[n.TypeExpr] | None, result: n.TypeExpr) -> n.FunctionType:
    return make_function_type(s, e, items(parameters), result)


def optional_type(c: Context, s: int, e: int, inner: n.TypeExpr) -> n.OptionalType:
    return make_optional_type(s, e, inner)


def named_type(
    c: Context, s: int, e: int, path: n.Path, arguments: list[n.TypeExpr] | None, bounds: list[n.Bound] | None
) -> n.NamedType:
    return make_named_type(s, e, path, items(arguments), items(bounds))


def literal_type(c: Context, s: int, e: int, value: n.StringLit | n.BoolLit | n.NullLit) -> n.LiteralType:
    if isinstance(value, n.StringLit):
        c.plain(value)
    return make_literal_type(s, e, value)


def int_type(c: Context, s: int, e: int, token: int) -> n.LiteralType:
    text = c.texts[token]
    return make_literal_type(s, e, make_int_lit(s, e, int(text), text))


def negative_int_type(c: Context, s: int, e: int, token: int) -> n.LiteralType:
    text = c.texts[token]
    return make_literal_type(s, e, make_int_lit(s, e, -int(text), f"-{text}"))


def float_type(c: Context, s: int, e: int, token: int) -> n.LiteralType:
    return make_literal_type(s, e, make_float_lit(s, e, c.texts[token].replace("_", "")))


def negative_float_type(c: Context, s: int, e: int, token: int) -> n.LiteralType:
    return make_literal_type(s, e, make_float_lit(s, e, f"-{c.texts[token].replace('_', '')}"))


def named_bound(c: Context, s: int, e: int, name: n.Name, value: n.Expr) -> n.Bound:
    return make_bound(s, e, name, value)


def range_bound(c: Context, s: int, e: int, value: n.Range) -> n.Bound:
    return make_bound(s, e, None, value)


def range_(c: Context, s: int, e: int, low: n.Expr, high: n.Expr) -> n.Range:
    return make_range(s, e, low, high)


def range_from(c: Context, s: int, e: int, low: n.Expr) -> n.Range:
    return make_range(s, e, low, None)


def range_to(c: Context, s: int, e: int, high: n.Expr) -> n.Range:
    return make_range(s, e, None, high)
