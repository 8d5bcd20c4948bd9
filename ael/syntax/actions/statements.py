"""Actions of blocks and statements."""

from __future__ import annotations

from ael.syntax import nodes as n
from ael.syntax.actions.context import Context, items
from ael.syntax.make import (
    make_assert,
    make_assign,
    make_block,
    make_break,
    make_compensate,
    make_continue,
    make_expr_statement,
    make_fail,
    make_for,
    make_let,
    make_name,
    make_return,
    make_script,
    make_while,
)


def block(c: Context, s: int, e: int, statements: list[n.Statement] | None) -> n.Block:
    return make_block(s, e, items(statements))


def expression_statement(c: Context, s: int, e: int, value: n.Expr) -> n.ExprStatement:
    return make_expr_statement(s, e, value)


def let(c: Context, s: int, e: int, name: n.Name, type: n.TypeExpr | None, value: n.Expr) -> n.Let:
    return make_let(s, e, name, type, value, False)


def var(c: Context, s: int, e: int, name: n.Name, type: n.TypeExpr | None, value: n.Expr) -> n.Let:
    return make_let(s, e, name, type, value, True)


def assign(c: Context, s: int, e: int, token: int, value: n.Expr) -> n.Assign:
    text = c.texts[token]
    return make_assign(s, e, make_name(s, s + len(text), text), value)


def for_each(c: Context, s: int, e: int, binder: n.Name, iterable: n.Expr, body: n.Block) -> n.For:
    return make_for(s, e, None, binder, iterable, body)


def for_indexed(c: Context, s: int, e: int, index: n.Name, binder: n.Name, iterable: n.Expr, body: n.Block) -> n.For:
    return make_for(s, e, index, binder, iterable, body)


def while_(c: Context, s: int, e: int, condition: n.Expr, limit: n.Expr | None, body: n.Block) -> n.While:
    return make_while(s, e, condition, limit, body)


def assert_(c: Context, s: int, e: int, condition: n.Expr, message: n.Expr | None) -> n.Assert:
    return make_assert(s, e, condition, message)


def script(c: Context, s: int, e: int, model: n.Path, turns: n.Expr) -> n.Script:
    return make_script(s, e, model, turns)


def compensate(c: Context, s: int, e: int, body: n.Block) -> n.Compensate:
    return make_compensate(s, e, body)


def break_(c: Context, s: int, e: int) -> n.Break:
    return make_break(s, e)


def continue_(c: Context, s: int, e: int) -> n.Continue:
    return make_continue(s, e)


def return_(c: Context, s: int, e: int, value: n.Expr | None) -> n.Return:
    return make_return(s, e, value)


def fail(c: Context, s: int, e: int, value: n.Expr) -> n.Fail:
    return make_fail(s, e, value)
