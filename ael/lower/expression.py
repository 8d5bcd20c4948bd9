"""Expressions: every form, as a value and into a destination."""

from __future__ import annotations

import ast
from decimal import Decimal
from typing import assert_never

from ael.check.program import Local, Meaning
from ael.lower import build
from ael.lower.call import call, meaning
from ael.lower.catch import catch
from ael.lower.closure import lambda_
from ael.lower.match import match
from ael.lower.number import is_decimal, is_float
from ael.lower.operator import binary, unary
from ael.lower.outline import outlined
from ael.lower.parallel import parallel_for, parallel_record
from ael.lower.record import with_
from ael.lower.recursion import tested
from ael.lower.scope import Builder, Destination, Give, Result
from ael.lower.statement import block
from ael.lower.text import string
from ael.syntax import nodes as n
from ael.types.type import JsonType, LiteralType, MapType, StringType, Type


class Lowering:
    """The forms of the language, for `Builder.forms`."""

    def value(self, b: Builder, e: n.Expr) -> ast.expr:
        start = len(b.out)
        made = _value(b, e)
        if b.record_to is not None:
            for told, name in b.record_to:
                if told is e:
                    made = build.walrus(name, made)
        b.places.fill(made, e.span)
        b.places.fill_all(b.out[start:], e.span)
        return made

    def into(self, b: Builder, e: n.Expr, to: Destination) -> None:
        start = len(b.out)
        with tested(b, e):
            _into(b, e, to)
        b.places.fill_all(b.out[start:], e.span)

    def block(self, b: Builder, block_: n.Block, to: Destination) -> None:
        block(b, block_, to)


def _value(b: Builder, e: n.Expr) -> ast.expr:
    match e:
        case n.IntLit(value=value):
            return _number(b, e, value, str(value))
        case n.FloatLit(text=text):
            return _number(b, e, float(text.replace("_", "")), text.replace("_", ""))
        case n.MoneyLit(value=money):
            return b.program.constant(money)
        case n.DurationLit(milliseconds=length):
            return b.program.duration(length)
        case n.SizeLit(bytes=size):
            return build.const(size)
        case n.StringLit():
            return string(b, e)
        case n.BoolLit(value=truth):
            return build.const(truth)
        case n.NullLit():
            return build.const(None)
        case n.ListLit(items=items):
            return ast.List(b.values(items), build.LOAD)
        case n.MapLit(entries=entries):
            sides = b.values([side for entry in entries for side in (entry.key, entry.value)])
            return ast.Dict([*sides[::2]], sides[1::2])
        case n.Reference():
            return _reference(b, e)
        case n.FieldAccess():
            return _field(b, e)
        case n.Index():
            return _index(b, e)
        case n.Call():
            return call(b, e)
        case n.Unary():
            return unary(b, e)
        case n.Binary():
            return binary(b, e)
        case n.With():
            return with_(b, e)
        case n.Lambda():
            return lambda_(b, e, acting=b.function.acting)
        case n.If():
            return _if_value(b, e)
        case n.Match() | n.Catch():
            return _through_variable(b, e)
        case n.Block(statements=statements):
            return _block_value(b, e, statements)
        case n.Try(operand=operand):
            return b.value(operand)
        case n.ParallelFor():
            return parallel_for(b, e)
        case n.ParallelRecord():
            return parallel_record(b, e)
        case n.Range():
            raise AssertionError("the check lets a range stand only in a `for` and in bounds")
        case _:
            assert_never(e)


def _number(b: Builder, e: n.Expr, number: int | float, text: str) -> ast.expr:
    """A number literal takes the type that is expected."""
    type = b.type(e)
    if is_decimal(type):
        return b.program.constant(Decimal(text))
    return build.const(float(number) if is_float(type) else number)


def _reference(b: Builder, e: n.Reference) -> ast.expr:
    match b.tables.resolved[e]:
        case Local() as local:
            return b.local(local)
        case Meaning() as what:
            return meaning(b, e, what)


def _field(b: Builder, e: n.FieldAccess) -> ast.expr:
    what = b.tables.resolved.get(e)
    if isinstance(what, Meaning):
        return meaning(b, e, what)
    wire = b.tables.fields[e]
    target = b.value(e.target)
    if e in b.tables.optional_reads:
        return build.call("field", target, build.const(wire))
    return build.subscript(target, wire)


def _index(b: Builder, e: n.Index) -> ast.expr:
    type = b.type(e.target)
    target, index = b.values((e.target, e.index))
    if isinstance(type, MapType):
        return build.call("field", target, index)
    if isinstance(type, JsonType):
        return build.call("json_get" if _is_text_index(b.type(e.index)) else "json_at", target, index)
    if _never_negative(b, e.index):
        return build.subscript(target, index)
    if not isinstance(target, ast.Name):
        return build.call("item", target, index)
    held: ast.expr
    if isinstance(index, ast.Name):
        test, held = index, build.name(index.id)
    else:
        kept = b.temp()
        test, held = build.walrus(kept, index), build.name(kept)  # type: ignore[assignment]
    inside = build.compare(test, ast.GtE(), build.const(0))
    return ast.IfExp(inside, build.subscript(target, held), build.call("item", build.name(target.id), held))


def _is_text_index(type: Type) -> bool:
    return isinstance(type, StringType) or (isinstance(type, LiteralType) and isinstance(type.value, str))


def _never_negative(b: Builder, e: n.Expr) -> bool:
    match e:
        case n.IntLit():
            return True
        case n.Reference() if isinstance(local := b.tables.resolved.get(e), Local):
            return local in b.positions or (getattr(b.program.resolve(local.type), "min", None) or -1) >= 0
        case n.Binary(op="+", left=left, right=right):
            return _never_negative(b, left) and _never_negative(b, right)
        case _:
            return False


def _if_value(b: Builder, e: n.If) -> ast.expr:
    if e.otherwise is None or not (_one_expression(e.then) and _one_expression(e.otherwise)):
        return _through_variable(b, e)
    condition = b.value(e.condition)
    with b.capture() as first:
        then = b.value(e.then)
    with b.capture() as second:
        otherwise = b.value(e.otherwise)
    if not first and not second:
        return ast.IfExp(condition, then, otherwise)
    made = b.temp()
    b.emit(build.if_(condition, [*first, build.assign(made, then)], [*second, build.assign(made, otherwise)]))
    return build.name(made)


def _one_expression(e: n.Block | n.If) -> bool:
    if isinstance(e, n.If):
        return e.otherwise is not None and _one_expression(e.then) and _one_expression(e.otherwise)
    match e.statements:
        case (n.ExprStatement(value=value),):
            return not isinstance(value, n.Match | n.Catch | n.Block | n.If) or (
                isinstance(value, n.If) and _one_expression(value)
            )
        case _:
            return False


def _block_value(b: Builder, e: n.Block, statements: tuple[n.Statement, ...]) -> ast.expr:
    if len(statements) == 1 and isinstance(only := statements[0], n.ExprStatement):
        return b.value(only.value)
    return _through_variable(b, e)


def _through_variable(b: Builder, e: n.Expr) -> ast.expr:
    made = b.temp()
    b.into(e, Give(made))
    return build.name(made)


def _into(b: Builder, e: n.Expr, to: Destination) -> None:
    match e:
        case n.If():
            _if_into(b, e, to)
        case n.Match():
            match(b, e, to)
        case n.Catch():
            with outlined(b, e.span):
                catch(b, e, to)
        case n.Block():
            b.forms.block(b, e, to)
        case n.Try(operand=operand):
            b.into(operand, to)
        case _:
            b.deliver(b.value(e), to)


def _if_into(b: Builder, e: n.If, to: Destination) -> None:
    condition = b.value(e.condition)
    with b.capture() as then:
        b.forms.block(b, e.then, to)
    with b.capture() as otherwise:
        if e.otherwise is not None:
            b.into(e.otherwise, to)
        elif isinstance(to, Give):
            b.emit(build.assign(to.name, build.const(None)))
        elif isinstance(to, Result):
            b.emit(ast.Return(None))
    b.emit(build.if_(condition, then, otherwise))
