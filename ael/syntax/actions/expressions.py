"""Actions of expressions."""

from __future__ import annotations

from ael.syntax import nodes as n
from ael.syntax.actions.context import Context, items
from ael.syntax.make import (
    make_argument,
    make_binary,
    make_bool_lit,
    make_call,
    make_catch,
    make_duration_lit,
    make_field_access,
    make_field_value,
    make_float_lit,
    make_if,
    make_index,
    make_int_lit,
    make_lambda,
    make_lambda_parameter,
    make_list_lit,
    make_map_entry,
    make_map_lit,
    make_match,
    make_money_lit,
    make_name,
    make_null_lit,
    make_parallel_for,
    make_parallel_record,
    make_reference,
    make_size_lit,
    make_try,
    make_unary,
    make_with,
)
from ael.syntax.numbers import amount as amount_of
from ael.syntax.numbers import money as money_of


def reference(c: Context, s: int, e: int, token: int) -> n.Reference:
    return make_reference(s, e, make_name(s, e, c.texts[token]))


def int_(c: Context, s: int, e: int, token: int) -> n.IntLit:
    text = c.texts[token]
    return make_int_lit(s, e, int(text), text)


def float_(c: Context, s: int, e: int, token: int) -> n.FloatLit:
    return make_float_lit(s, e, c.texts[token].replace("_", ""))


def money(c: Context, s: int, e: int, token: int) -> n.MoneyLit:
    return make_money_lit(s, e, money_of(c.texts[token]), c.texts[token])


def duration(c: Context, s: int, e: int, token: int) -> n.DurationLit:
    return make_duration_lit(s, e, amount_of(c.texts[token]), c.texts[token])


def size(c: Context, s: int, e: int, token: int) -> n.SizeLit:
    return make_size_lit(s, e, amount_of(c.texts[token]), c.texts[token])


def true(c: Context, s: int, e: int) -> n.BoolLit:
    return make_bool_lit(s, e, True)


def false(c: Context, s: int, e: int) -> n.BoolLit:
    return make_bool_lit(s, e, False)


def null(c: Context, s: int, e: int) -> n.NullLit:
    return make_null_lit(s, e)


def list_(c: Context, s: int, e: int, values: list[n.Expr] | None) -> n.ListLit:
    return make_list_lit(s, e, items(values))


def empty_map(c: Context, s: int, e: int) -> n.MapLit:
    return make_map_lit(s, e, ())


def map_(c: Context, s: int, e: int, entries: list[n.MapEntry]) -> n.MapLit:
    return make_map_lit(s, e, tuple(entries))


def entry(c: Context, s: int, e: int, key: n.Expr, value: n.Expr) -> n.MapEntry:
    return make_map_entry(s, e, key, value)


def field_access(c: Context, s: int, e: int, target: n.Expr, token: int) -> n.FieldAccess:
    text = c.texts[token]
    return make_field_access(s, e, target, make_name(e - len(text), e, text))


def call(c: Context, s: int, e: int, callee: n.Expr, arguments: list[n.Argument] | None) -> n.Call:
    return make_call(s, e, callee, items(arguments))


def index(c: Context, s: int, e: int, target: n.Expr, index: n.Expr) -> n.Index:
    return make_index(s, e, target, index)


def argument(c: Context, s: int, e: int, value: n.Expr) -> n.Argument:
    return make_argument(s, e, None, value)


def named_argument(c: Context, s: int, e: int, token: int, value: n.Expr) -> n.Argument:
    text = c.texts[token]
    return make_argument(s, e, make_name(s, s + len(text), text), value)


def field_value(c: Context, s: int, e: int, name: n.Name, value: n.Expr) -> n.FieldValue:
    return make_field_value(s, e, name, value)


def with_(c: Context, s: int, e: int, base: n.Expr, fields: list[n.FieldValue] | None) -> n.With:
    return make_with(s, e, base, items(fields))


def lambda_(c: Context, s: int, e: int, parameters: list[n.LambdaParameter] | None, body: n.Expr | n.Block) -> n.Lambda:
    return make_lambda(s, e, items(parameters), body)


def lambda_parameter(c: Context, s: int, e: int, name: n.Name, type: n.TypeExpr | None) -> n.LambdaParameter:
    return make_lambda_parameter(s, e, name, type)


def if_only(c: Context, s: int, e: int, condition: n.Expr, then: n.Block) -> n.If:
    return make_if(s, e, condition, then, None)


def if_else(c: Context, s: int, e: int, condition: n.Expr, then: n.Block, otherwise: n.Block | n.If) -> n.If:
    return make_if(s, e, condition, then, otherwise)


def match(c: Context, s: int, e: int, subject: n.Expr, arms: list[n.Arm] | None) -> n.Match:
    return make_match(s, e, subject, items(arms))


def catch(c: Context, s: int, e: int, operand: n.Expr, arms: list[n.Arm] | None) -> n.Catch:
    # `try X catch { … }` is one form: what no arm meets is passed on. In parentheses the `try` is an operand as any other.
    if isinstance(operand, n.Try) and operand.span.start == s:
        return make_catch(s, e, operand.operand, items(arms), True)
    return make_catch(s, e, operand, items(arms), False)


def try_(c: Context, s: int, e: int, operand: n.Expr) -> n.Try:
    return make_try(s, e, operand)


def parallel_for(
    c: Context, s: int, e: int, binder: n.Name, iterable: n.Expr, limit: n.Expr | None, body: n.Block
) -> n.ParallelFor:
    return make_parallel_for(s, e, binder, iterable, limit, body)


def parallel_record(c: Context, s: int, e: int, branches: list[n.FieldValue]) -> n.ParallelRecord:
    return make_parallel_record(s, e, tuple(branches))


def unary_minus(c: Context, s: int, e: int, operand: n.Expr) -> n.Unary:
    return make_unary(s, e, "-", operand)


def unary_not(c: Context, s: int, e: int, operand: n.Expr) -> n.Unary:
    return make_unary(s, e, "not", operand)


def binary_or(c: Context, s: int, e: int, left: n.Expr, right: n.Expr) -> n.Binary:
    return make_binary(s, e, "or", left, right)


def binary_and(c: Context, s: int, e: int, left: n.Expr, right: n.Expr) -> n.Binary:
    return make_binary(s, e, "and", left, right)


def binary_eq(c: Context, s: int, e: int, left: n.Expr, right: n.Expr) -> n.Binary:
    return make_binary(s, e, "==", left, right)


def binary_ne(c: Context, s: int, e: int, left: n.Expr, right: n.Expr) -> n.Binary:
    return make_binary(s, e, "!=", left, right)


def binary_lt(c: Context, s: int, e: int, left: n.Expr, right: n.Expr) -> n.Binary:
    return make_binary(s, e, "<", left, right)


def binary_le(c: Context, s: int, e: int, left: n.Expr, right: n.Expr) -> n.Binary:
    return make_binary(s, e, "<=", left, right)


def binary_ge(c: Context, s: int, e: int, left: n.Expr, right: n.Expr) -> n.Binary:
    return make_binary(s, e, ">=", left, right)


def binary_in(c: Context, s: int, e: int, left: n.Expr, right: n.Expr) -> n.Binary:
    return make_binary(s, e, "in", left, right)


def binary_not_in(c: Context, s: int, e: int, left: n.Expr, right: n.Expr) -> n.Binary:
    return make_binary(s, e, "not in", left, right)


def binary_default(c: Context, s: int, e: int, left: n.Expr, right: n.Expr) -> n.Binary:
    return make_binary(s, e, "??", left, right)


def binary_add(c: Context, s: int, e: int, left: n.Expr, right: n.Expr) -> n.Binary:
    return make_binary(s, e, "+", left, right)


def binary_sub(c: Context, s: int, e: int, left: n.Expr, right: n.Expr) -> n.Binary:
    return make_binary(s, e, "-", left, right)


def binary_mul(c: Context, s: int, e: int, left: n.Expr, right: n.Expr) -> n.Binary:
    return make_binary(s, e, "*", left, right)


def binary_true_div(c: Context, s: int, e: int, left: n.Expr, right: n.Expr) -> n.Binary:
    return make_binary(s, e, "/", left, right)


def binary_div(c: Context, s: int, e: int, left: n.Expr, right: n.Expr) -> n.Binary:
    return make_binary(s, e, "div", left, right)


def binary_mod(c: Context, s: int, e: int, left: n.Expr, right: n.Expr) -> n.Binary:
    return make_binary(s, e, "%", left, right)


def binary_gt(c: Context, s: int, e: int, left: n.Expr, greater: None, right: n.Expr) -> n.Binary:
    return make_binary(s, e, ">", left, right)
