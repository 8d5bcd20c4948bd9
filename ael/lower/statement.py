"""Statements and blocks."""

from __future__ import annotations

import ast
from typing import assert_never

from ael.check.program import Local
from ael.lower import build, names
from ael.lower.assertion import assert_
from ael.lower.carry import assign
from ael.lower.compensate import compensated
from ael.lower.loop import for_, jump, while_
from ael.lower.number import BITS, finish_float, finish_int, int_bits, is_float, is_int
from ael.lower.operator import arithmetic
from ael.lower.recursion import test_before
from ael.lower.scope import Builder, Destination, Drop, Give, Result
from ael.syntax import nodes as n
from ael.types.definition import RecordDef
from ael.types.type import Named, UnionType


def block(b: Builder, e: n.Block, to: Destination) -> None:
    """Statements; the value of the last one, or Unit, to its destination."""
    _statements(b, e.statements, to)


def _statements(b: Builder, statements: tuple[n.Statement, ...], to: Destination) -> None:
    last = len(statements) - 1
    waiting = b.untested
    for at, s in enumerate(statements):
        start = len(b.out)
        test_before(b, s)
        if isinstance(s, n.Compensate):
            compensated(b, s, lambda rest=statements[at + 1 :]: _statements(b, rest, to))  # type: ignore[misc]
            b.untested = waiting
            return
        if at == last and isinstance(s, n.ExprStatement):
            b.into(s.value, to)
        else:
            statement(b, s)
            if at == last and not isinstance(s, n.Return | n.Fail | n.Break | n.Continue) and isinstance(to, Give):
                b.emit(build.assign(to.name, build.const(None)))
        b.places.fill_all(b.out[start:], s.span)
    b.untested = waiting
    if last < 0 and isinstance(to, Give):
        b.emit(build.assign(to.name, build.const(None)))


def statement(b: Builder, s: n.Statement) -> None:
    """One statement."""
    match s:
        case n.Let():
            _let(b, s)
        case n.Assign():
            assign(b, s)
        case n.ExprStatement(value=value):
            b.into(value, Drop())
        case n.For():
            for_(b, s)
        case n.While():
            while_(b, s)
        case n.Break() | n.Continue():
            jump(b, s)
        case n.Return(value=value):
            if value is None:
                b.emit(ast.Return(None))
            else:
                b.into(value, Result())
        case n.Fail(value=value):
            fail(b, value)
        case n.Assert():
            assert_(b, s)
        case n.Script(model=model, turns=turns):
            _script(b, model, turns)
        case n.Compensate():
            raise AssertionError("a compensation stands in a block")
        case _:
            assert_never(s)


def _let(b: Builder, s: n.Let) -> None:
    local = b.tables.locals[s]
    name = b.declare(local)
    if is_int(b.program.resolve(local.type)) and not local.mutable:
        if isinstance(s.value, n.Binary | n.Unary):
            number = arithmetic(b, s.value)
            kept = finish_int(b, number, exact=b.function.acting and not b.function.loops)
            b.bits[local] = number.bits if kept is number.value else BITS
            b.emit(build.assign(name, kept))
            return
        b.bits[local] = int_bits(b, s.value)
    elif is_float(b.program.resolve(local.type)) and not local.mutable and isinstance(s.value, n.Binary):
        number = arithmetic(b, s.value)
        if b.facts.only_summed(local):
            b.emit(build.assign(name, number.value))  # what is not finite stays so in the sums that use it, which are tested
            b.unchecked.update({local} if not number.finite else ())
        else:
            b.emit(build.assign(name, finish_float(b, number)))
        return
    b.into(s.value, Give(name))


def fail(b: Builder, e: n.Expr) -> None:
    """`fail NotFound(id: id)`; `fail e` of what a `catch` met raises the very same, with what it knows."""
    if isinstance(e, n.Reference):
        local = b.tables.resolved.get(e)
        if isinstance(local, Local) and local in b.raised:
            b.emit(ast.Raise(build.name(b.raised[local]), None))
            return
    type = b.type(e)
    value = b.value(e)
    match type:
        case Named("Uncertain" | "Fault" as name):
            b.emit(ast.Raise(build.call(f"again_{name.lower()}", value), None))
        case Named(name):
            b.emit(ast.Raise(build.call("Failure", build.const(name), value), None))
        case UnionType(members):
            _fail_union(b, [m for m in members if isinstance(m, Named)], value, type)
        case _:
            b.emit(ast.Raise(build.call("again_fault", value), None))


def _fail_union(b: Builder, members: list[Named], value: ast.expr, type: UnionType) -> None:
    """`fail e` where `e` is one of several errors."""
    held = b.held(value)
    last: list[ast.stmt] = [ast.Expr(build.call("unmatched", held))]
    for member in reversed(members):
        if isinstance(b.program.checked.definitions.get(member.name), RecordDef):
            raised: ast.expr = build.call("Failure", build.const(member.name), held)
        else:
            raised = build.call(f"again_{member.name.lower()}", held)
        last = [build.if_(build.call(b.program.shape(member), held), [ast.Raise(raised, None)], last)]
    b.emit(*last)


def _script(b: Builder, model: n.Path, turns: n.Expr) -> None:
    what = b.tables.resolved.get(model)
    name = what.name if what is not None else model.text
    given = b.value(turns)
    b.emit(ast.Expr(ast.Await(build.method(names.FRAME, "script", b.site(), build.const(name), given))))
