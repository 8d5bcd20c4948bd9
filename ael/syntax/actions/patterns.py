"""Actions of patterns, and of the arms of `match` and `catch`."""

from __future__ import annotations

from ael.syntax import nodes as n
from ael.syntax.actions.context import Context, items
from ael.syntax.make import (
    make_arm,
    make_binder_pattern,
    make_block,
    make_field_pattern,
    make_float_lit,
    make_int_lit,
    make_list_pattern,
    make_literal_pattern,
    make_name,
    make_or_pattern,
    make_type_pattern,
    make_unary,
    make_variant_pattern,
    make_wildcard_pattern,
)


def or_pattern(c: Context, s: int, e: int, alternatives: list[n.Pattern]) -> n.OrPattern:
    return make_or_pattern(s, e, tuple(alternatives))


def name_pattern(c: Context, s: int, e: int, path: n.Path) -> n.Pattern:
    first = path.parts[0]
    if len(path.parts) == 1 and not first.text[0].isupper():
        return make_wildcard_pattern(s, e) if first.text == "_" else make_binder_pattern(s, e, first)
    return make_type_pattern(s, e, path, None)


def binding_pattern(c: Context, s: int, e: int, path: n.Path, token: int) -> n.TypePattern:
    text = c.texts[token]
    binder = make_name(e - len(text), e, text)
    return make_type_pattern(s, e, path, None if text == "_" else binder)


def variant_pattern(c: Context, s: int, e: int, path: n.Path, fields: list[n.FieldPattern] | None) -> n.VariantPattern:
    return make_variant_pattern(s, e, path, items(fields))


def field_pattern(c: Context, s: int, e: int, pattern: n.Pattern) -> n.FieldPattern:
    return make_field_pattern(s, e, None, pattern)


def named_field_pattern(c: Context, s: int, e: int, token: int, pattern: n.Pattern) -> n.FieldPattern:
    text = c.texts[token]
    return make_field_pattern(s, e, make_name(s, s + len(text), text), pattern)


def literal_pattern(
    c: Context,
    s: int,
    e: int,
    value: n.StringLit | n.IntLit | n.FloatLit | n.BoolLit | n.NullLit | n.Unary | n.MoneyLit | n.DurationLit,
) -> n.LiteralPattern:
    if isinstance(value, n.StringLit):
        c.plain(value)
    return make_literal_pattern(s, e, value)


def negative_int(c: Context, s: int, e: int, token: int) -> n.Unary:
    text = c.texts[token]
    return make_unary(s, e, "-", make_int_lit(e - len(text), e, int(text), text))


def negative_float(c: Context, s: int, e: int, token: int) -> n.Unary:
    text = c.texts[token]
    return make_unary(s, e, "-", make_float_lit(e - len(text), e, text.replace("_", "")))


def list_pattern(c: Context, s: int, e: int, patterns: list[n.Pattern] | None) -> n.ListPattern:
    return make_list_pattern(s, e, items(patterns), None)


def list_rest_pattern(
    c: Context, s: int, e: int, patterns: list[n.Pattern], rest: n.BinderPattern | n.WildcardPattern
) -> n.ListPattern:
    return make_list_pattern(s, e, tuple(patterns), rest)


def rest_pattern(c: Context, s: int, e: int, rest: n.BinderPattern | n.WildcardPattern) -> n.ListPattern:
    return make_list_pattern(s, e, (), rest)


def rest_all(c: Context, s: int, e: int) -> n.WildcardPattern:
    return make_wildcard_pattern(s, e)


def rest_name(c: Context, s: int, e: int, token: int) -> n.BinderPattern | n.WildcardPattern:
    text = c.texts[token]
    if text == "_":
        return make_wildcard_pattern(s, e)
    return make_binder_pattern(s, e, make_name(e - len(text), e, text))


def arm(c: Context, s: int, e: int, pattern: n.Pattern, guard: n.Expr | None, body: n.Expr | n.Block) -> n.Arm:
    return make_arm(s, e, pattern, guard, body)


def jump_body(c: Context, s: int, e: int, statement: n.Statement) -> n.Block:
    return make_block(s, e, (statement,))
