"""`parallel`: branches as functions of their own, run beside each other by the frame; in code that does not act, one after the other."""

from __future__ import annotations

import ast

from ael.lower import build, names
from ael.lower.closure import captures, comprehension, define_here, iterable
from ael.lower.halt import halt_test
from ael.lower.scope import Builder, Function, Result
from ael.syntax import nodes as n


def parallel_for(b: Builder, e: n.ParallelFor) -> ast.expr:
    """`parallel x in xs up to 4 { … }`: a list."""
    nodes = (e.iterable,) if e.limit is None else (e.iterable, e.limit)
    items, *limit = b.values(nodes)
    acting = b.function.acting
    function = _branch(b)
    with b.inside(function) as body:
        binder = b.declare(b.tables.locals[e.binder])
        if not acting:
            b.emit(halt_test())
        b.forms.block(b, e.body, Result())
    b.places.fill_all(body, e.span)
    if not acting:
        made = define_here(b, [binder], captures(function), body, acting=False)
        item = b.temp()
        return comprehension(item, iterable(b, items), build.call(made, build.name(item)))
    made = define_here(b, [names.FRAME, binder], captures(function), body, acting=True)
    most = limit[0] if limit else build.const(None)
    return ast.Await(build.method(names.FRAME, "parallel_for", b.site(), items, most, made))


def parallel_record(b: Builder, e: n.ParallelRecord) -> ast.expr:
    """`parallel { a: f(), b: g() }`: a record."""
    if not b.function.acting:
        values = b.values([branch.value for branch in e.branches])
        return build.record([(_wire(b, branch), value) for branch, value in zip(e.branches, values, strict=True)])
    branches: list[ast.expr] = []
    for branch in e.branches:
        function = _branch(b)
        with b.inside(function) as body:
            b.into(branch.value, Result())
        b.places.fill_all(body, branch.span)
        made = define_here(b, [names.FRAME], captures(function), body, acting=True)
        branches.append(ast.Tuple([build.const(_wire(b, branch)), made], build.LOAD))
    return ast.Await(build.method(names.FRAME, "parallel_record", b.site(), ast.List(branches, build.LOAD)))


def _branch(b: Builder) -> Function:
    acting = b.function.acting
    return Function(acting, b.function.depth and not acting, b.function, counter=b.function.counter)


def _wire(b: Builder, branch: n.FieldValue) -> str:
    return b.tables.fields.get(branch, branch.name.text)
