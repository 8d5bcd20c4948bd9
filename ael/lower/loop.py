"""Loops: `for` over lists, maps and ranges, `while … up to N`.

A loop whose body neither loops nor calls ("cheap") runs bare, in chunks of some thousand iterations where nothing else bounds its
length; the flag that stops a run and the sizes of what it carries are tested between chunks. Any other loop tests the flag in each
iteration.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from ael.lower import build
from ael.lower.abi.size import CHUNK
from ael.lower.carry import loop_of, size_test
from ael.lower.halt import halt_test
from ael.lower.number import int_bits
from ael.lower.outline import outlined
from ael.lower.record import ordered_values
from ael.lower.scope import Builder, Drop, Loop
from ael.syntax import nodes as n
from ael.types.type import MapType

SHORT = 4_096
"""A range of literals no longer than this is not cut into chunks."""


def for_(b: Builder, s: n.For) -> None:
    """`for x in xs`, `for i, x in xs`, `for k, v in m`, `for i in a..b`."""
    with outlined(b, s.span):
        call = b.tables.calls.get(s.iterable) if isinstance(s.iterable, n.Call) else None
        if isinstance(s.iterable, n.Range):
            assert s.iterable.low is not None
            assert s.iterable.high is not None
            _range(b, s, s.iterable.low, s.iterable.high)
        elif call is not None and call.kind == "builtin" and call.name == "range":
            low, high = (a for a in call.arguments if a is not None)
            _range(b, s, low, high)
        else:
            _each(b, s)


def _each(b: Builder, s: n.For) -> None:
    loop = loop_of(b, s.body, open_ended=False)
    over = b.value(s.iterable)
    binder = b.tables.locals[s.binder]
    index = b.tables.locals[s.index] if s.index is not None else None
    target: ast.expr = build.target(b.declare(binder))
    if index is not None:
        target = ast.Tuple([build.target(b.declare(index)), target], build.STORE)
    if isinstance(b.type(s.iterable), MapType):
        over = build.call("map_items", over) if index is not None else over
    elif index is not None:
        b.bits[index] = 64
        b.positions.add(index)
        over = build.call("enumerate", over)
    chunks: ast.expr | None = None
    if loop.chunked:
        listed = isinstance(over, ast.Call) and index is not None and not isinstance(b.type(s.iterable), MapType)
        chunks = build.call("indexed_chunks", *over.args) if isinstance(over, ast.Call) and listed else build.call("chunks", over)
    _write(b, loop, target, over, chunks, lambda: b.forms.block(b, s.body, Drop()))


def _range(b: Builder, s: n.For, first: n.Expr, last: n.Expr) -> None:
    short = isinstance(first, n.IntLit) and isinstance(last, n.IntLit) and last.value - first.value < SHORT
    loop = loop_of(b, s.body, open_ended=not short)
    low, high = ordered_values(b, (first, last))
    binder = b.tables.locals[s.binder]
    # No loop runs 2^64 times, so what it counts is at most that far from where it starts.
    b.bits[binder] = max(64, int_bits(b, first)) + 1
    if isinstance(first, n.IntLit):
        b.positions.add(binder)
    target: ast.expr = build.target(b.declare(binder))
    if s.index is not None:
        index = b.tables.locals[s.index]
        b.positions.add(index)
        target = ast.Tuple([build.target(b.declare(index)), target], build.STORE)
    end: ast.expr = ast.BinOp(high, ast.Add(), build.const(1))
    if isinstance(last, n.IntLit):
        end = build.const(last.value + 1)
    chunks: ast.expr | None = None
    whole: ast.expr
    if s.index is not None:
        whole = build.call("enumerate", build.call("range", low, end))
        chunks = build.call("chunks", whole) if loop.chunked else None
    else:
        whole = build.call("range", low, end)
        chunks = _pieces(b, low, end) if loop.chunked else None
    _write(b, loop, target, whole, chunks, lambda: b.forms.block(b, s.body, Drop()))


def _pieces(b: Builder, low: ast.expr, end: ast.expr) -> ast.expr:
    """A range in pieces; a short one, which an inner loop mostly has, is its only piece."""
    low, end = b.held(low), b.held(end)
    if isinstance(low, ast.Constant) and isinstance(low.value, int):
        short = build.compare(end, ast.LtE(), build.const(low.value + CHUNK))
    else:
        short = build.compare(ast.BinOp(end, ast.Sub(), low), ast.LtE(), build.const(CHUNK))
    return ast.IfExp(short, ast.Tuple([build.call("range", low, end)], build.LOAD), build.call("spans", low, end))


def while_(b: Builder, s: n.While) -> None:
    """`while condition up to limit`: as many iterations at most; if the condition still holds then, the fault `LoopLimit`."""
    with outlined(b, s.span):
        loop = loop_of(b, s.body, open_ended=True, head=s.condition)
        limit = b.value(s.limit) if s.limit is not None else build.name("LOOP_MAX")
        limit = b.held(limit)

        def body() -> None:
            condition = b.value(s.condition)
            stop = build.if_(build.negate(condition), [ast.Break()])
            b.places.fill(stop, s.condition.span)
            b.emit(stop)
            b.forms.block(b, s.body, Drop())

        with b.capture() as after:
            again = b.value(s.condition)
            b.emit(build.if_(again, [ast.Expr(build.call("loop_limit", limit))]))
        b.places.fill_all(after, s.condition.span)
        chunks = build.call("turns", limit) if loop.chunked else None
        _write(b, loop, build.target("_"), build.call("range", limit), chunks, body, after)


def _write(
    b: Builder,
    loop: Loop,
    target: ast.expr,
    over: ast.expr,
    chunks: ast.expr | None,
    write_body: Callable[[], None],
    after: list[ast.stmt] | None = None,
) -> None:
    function = b.function
    function.loops.append(loop)
    function.blocks += 2 if chunks is not None else 1
    with b.capture() as body:
        if not loop.cheap:
            b.emit(halt_test())
        write_body()
    function.blocks -= 2 if chunks is not None else 1
    function.loops.pop()
    tests = [size_test(name, kind) for name, kind in loop.deferred.items()]
    if chunks is None:
        b.emit(build.loop(target, over, body, after or []))
    else:
        chunk = b.temp()
        between = [halt_test(), *(size_test(name, kind) for name, kind in loop.deferred.items())]
        inner = build.loop(target, build.name(chunk), body, [*between, ast.Continue()])
        b.emit(build.loop(build.target(chunk), chunks, [inner, ast.Break()], after or []))
    b.emit(*tests)


def jump(b: Builder, s: n.Break | n.Continue) -> None:
    """`break`, `continue`."""
    b.emit(ast.Break() if isinstance(s, n.Break) else ast.Continue())
