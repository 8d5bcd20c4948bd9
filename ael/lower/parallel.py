"""`parallel`: branches as functions of their own, run beside each other by the frame."""

from __future__ import annotations

import ast

from ael.lower import build, names
from ael.lower.closure import captures, define_here
from ael.lower.scope import Builder, Function, Result
from ael.syntax import nodes as n


def parallel_for(b: Builder, e: n.ParallelFor) -> ast.expr:
    """`parallel x in xs up to 4 { … }`: a list."""
    nodes = (e.iterable,) if e.limit is None else (e.iterable, e.limit)
    items, *limit = b.values(nodes)
    function = Function(True, False, b.function, counter=b.function.counter)
    with b.inside(function) as body:
        binder = b.declare(b.tables.locals[e.binder])
        b.forms.block(b, e.body, Result())
    b.places.fill_all(body, e.span)
    made = define_here(b, [names.FRAME, binder], captures(function), body, acting=True)
    most = limit[0] if limit else build.const(None)
    return ast.Await(build.method(names.FRAME, "parallel_for", b.site(), items, most, made))


def parallel_record(b: Builder, e: n.ParallelRecord) -> ast.expr:
    """`parallel { a: f(), b: g() }`: a record."""
    branches: list[ast.expr] = []
    for branch in e.branches:
        function = Function(True, False, b.function, counter=b.function.counter)
        with b.inside(function) as body:
            b.into(branch.value, Result())
        b.places.fill_all(body, branch.span)
        made = define_here(b, [names.FRAME], captures(function), body, acting=True)
        branches.append(ast.Tuple([build.const(b.tables.fields.get(branch, branch.name.text)), made], build.LOAD))
    return ast.Await(build.method(names.FRAME, "parallel_record", b.site(), ast.List(branches, build.LOAD)))
