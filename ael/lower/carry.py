"""What a loop carries from one iteration to the next, and when its size is tested (docs/decisions/arithmetic.md)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal

from ael.check.program import Local, Tables
from ael.lower import build, names
from ael.lower.building import built_on
from ael.lower.number import BITS, finish_float, float_test, int_test, is_float, is_int
from ael.lower.operator import arithmetic
from ael.lower.scope import Builder, Give, Loop
from ael.lower.text import length_test, text_like, unknown_length
from ael.syntax import nodes as n
from ael.types.type import BoolType, DecimalType, FloatType, IntType, ListType, MapType

GROWTH = 16
"""Bits that a deferred assignment may add."""


LONG = 4_096
"""Characters that a deferred assignment may add."""


def loop_of(b: Builder, body: n.Block, *, open_ended: bool, head: n.Expr | None = None) -> Loop:
    """What is known of a loop before its body is lowered. `open_ended`: a range or a `while`, whose length nothing else bounds."""
    nodes: tuple[n.Node, ...] = (body,) if head is None else (body, head)
    carried = frozenset(_carried(body, b.tables))
    cheap = not any(b.facts.takes_time(node) or b.facts.calls(node) for node in nodes)
    grows = any(not isinstance(local.type, FloatType | BoolType) for local in carried)
    chunked = (open_ended and (cheap or grows)) or (grows and (not cheap or _feeds_itself(body, carried, b.tables)))
    return Loop(carried, cheap, chunked, body)


def _carried(body: n.Block, tables: Tables) -> Iterator[Local]:
    inside = {tables.locals.get(node) for node in n.walk(body) if isinstance(node, n.Let)}
    for node in n.walk(body):
        if isinstance(node, n.Assign):
            local = tables.resolved.get(node.name)
            if isinstance(local, Local) and local not in inside:
                yield local


def _reads(node: n.Node, tables: Tables) -> Iterator[Local]:
    for part in n.walk(node):
        if isinstance(part, n.Reference) and isinstance(local := tables.resolved.get(part), Local):
            yield local


def _feeds_itself(body: n.Block, carried: frozenset[Local], tables: Tables) -> bool:
    """Whether a carried value may more than add up (made from two carried ones, by a call, or through a `let`), or is a text."""
    if any(not isinstance(local.type, IntType | FloatType | DecimalType | BoolType | ListType | MapType) for local in carried):
        return True
    for node in n.walk(body):
        match node:
            case n.Assign(value=value) if sum(local in carried for local in _reads(value, tables)) > 1:
                return True
            case n.Call() if (info := tables.calls.get(node)) is not None and info.kind == "function":
                return True
            case n.Let(value=value) if any(local in carried for local in _reads(value, tables)):
                return True
            case _:
                continue
    return False


def assign(b: Builder, s: n.Assign) -> None:
    """`name = value`, with the test of its size here, or at the end of the loop where that comes to the same."""
    local = b.tables.resolved[s.name]
    assert isinstance(local, Local)
    name = b.reach(names.local(local.slot))
    if s in b.facts.in_place:
        _build(b, s, local, name)
        return
    loop = next((one for one in reversed(b.function.loops) if local in one.carried), None)
    type = b.program.resolve(local.type)
    if loop is None:
        b.into(s.value, Give(name))
    elif is_int(type):
        number = arithmetic(b, s.value)
        b.emit(build.assign(name, number.value))
        if number.bits > BITS or (number.bits == BITS and not isinstance(s.value, n.Binary | n.FieldAccess)):
            _test_or_defer(b, name, "int", deferred=number.bits <= BITS + GROWTH)
    elif is_float(type) and isinstance(s.value, n.Binary):
        number = arithmetic(b, s.value)
        if not number.finite and _accumulates(b, local, s.value):
            b.emit(build.assign(name, number.value))
            _test_or_defer(b, name, "float", deferred=True)
        else:
            b.emit(build.assign(name, finish_float(b, number)))
    elif text_like(type, b) and isinstance(s.value, n.Binary | n.StringLit):
        _text(b, local, name, s.value)
    else:
        b.into(s.value, Give(name))


def _build(b: Builder, s: n.Assign, local: Local, name: str) -> None:
    """`xs = xs.append(x)` that nobody else can see, in place."""
    found = built_on(s, local, b.tables)
    assert found is not None
    way, arguments, _ = found
    if way in ("append", "extend"):
        (item,) = b.values(arguments)
        b.emit(ast.Expr(build.call("push" if way == "append" else "push_all", build.name(name), item)))
    else:
        key, value = b.values(arguments)
        b.emit(ast.Assign([ast.Subscript(build.name(name), key, build.STORE)], value))
    loop = b.function.loops[-1] if b.function.loops else None
    if way != "extend" and loop is not None and (loop.cheap or loop.chunked) and local in loop.carried:
        loop.deferred[name] = "entries"
    else:
        b.emit(size_test(name, "entries"))


def _test_or_defer(b: Builder, name: str, kind: Literal["int", "float", "text"], *, deferred: bool) -> None:
    innermost = b.function.loops[-1]
    if deferred and (innermost.cheap or innermost.chunked):
        innermost.deferred[name] = kind
    else:
        b.emit(size_test(name, kind))


def size_test(name: str, kind: str) -> ast.stmt:
    """The test of a variable."""
    match kind:
        case "int":
            return int_test(name)
        case "float":
            return float_test(name)
        case "text":
            return length_test(name)
        case _:
            test = build.compare(build.call("len", build.name(name)), ast.Gt(), build.name("ENTRIES_MAX"))
            return build.if_(test, [ast.Expr(build.call("too_many"))])


def _accumulates(b: Builder, local: Local, value: n.Binary) -> bool:
    """Whether the loop uses a Float only to add to it (or multiply it): then one that is not finite stays so until the loop's end."""
    if value.op not in ("+", "-", "*"):
        return False
    loop = b.function.loops[-1]
    return (
        loop.cheap and loop.body is not None and _only_read_in(local, value, loop.body, b.tables) and _is_operand(b, local, value)
    )


def _only_read_in(local: Local, value: n.Binary, body: n.Node, tables: Tables) -> bool:
    in_value = sum(read is local for read in _reads(value, tables))
    in_body = sum(read is local for read in _reads(body, tables))
    writes = sum(isinstance(x, n.Assign) and tables.resolved.get(x.name) is local for x in n.walk(body))
    return in_value == in_body == 1 and writes == 1


def _is_operand(b: Builder, local: Local, value: n.Binary) -> bool:
    return any(isinstance(side, n.Reference) and b.tables.resolved.get(side) is local for side in (value.left, value.right))


def _text(b: Builder, local: Local, name: str, value: n.Binary | n.StringLit) -> None:
    """`s = s + x` and `s = "${s}…"` are written so that Python may extend the string in place."""
    rest = _appended(b, local, value)
    if rest is None:
        b.emit(build.assign(name, b.value(value)))
        return
    added = b.values(rest)
    known = not any(unknown_length(b, part) or _long(b, part) for part in rest)
    made: ast.expr = added[0]
    if len(added) > 1:
        made = ast.JoinedStr([a if isinstance(a, ast.Constant) else ast.FormattedValue(a, -1, None) for a in added])
    b.emit(build.assign(name, ast.BinOp(build.name(name), ast.Add(), made)))
    _test_or_defer(b, name, "text", deferred=known)


def _appended(b: Builder, local: Local, value: n.Binary | n.StringLit) -> list[n.Expr] | None:
    """What comes after the variable itself, where `value` begins with it."""
    parts: list[n.Expr] = []
    spine: n.Expr = value
    while isinstance(spine, n.Binary) and spine.op == "+":
        parts.append(spine.right)
        spine = spine.left
    if not parts or not isinstance(spine, n.Reference) or b.tables.resolved.get(spine) is not local:
        return None
    parts.reverse()
    return None if any(local in set(_reads(part, b.tables)) for part in parts) else parts


def _long(b: Builder, part: n.Expr) -> bool:
    """Whether a text of known length is one that should not be added a thousand times without a look."""
    longest = getattr(b.type(part), "max", None)
    return isinstance(part, n.StringLit) is False and isinstance(longest, int) and longest > LONG
