"""Deep nesting: CPython compiles at most 20 blocks (`for`, `try`) in each other, AEL has no such limit. What stands too deep becomes
a function of its own, called where it stands, that shares the variables around it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager

from ael.lower import build
from ael.lower.scope import Builder, Function
from ael.source import Span

DEEP = 13
"""Blocks around, from which on the next one is outlined."""
_BREAK, _CONTINUE = 1, 2


@contextmanager
def outlined(b: Builder, span: Span) -> Iterator[None]:
    """Write the statement inside here, or as a function if it stands too deep."""
    outer = b.function
    if outer.blocks < DEEP:
        yield
        return
    known = set(outer.declared) | {f"_{i}" for i in range(1, outer.counter.temps + 1)}
    b.function = Function(outer.acting, outer.depth, outer.parent, outer.declared, outer.captured, outer.counter, outer.loops)
    try:
        with b.capture() as body:
            yield
    finally:
        b.function = outer
    leaving = _Leaving()
    body = [leaving.visit(statement) for statement in body]
    shared = sorted(known & _stored(body))
    if shared:
        body.insert(0, ast.Nonlocal(shared))
    made = f"_o{b.temp()}"
    if shared:  # what is assigned only inside has to be a variable outside, too
        b.emit(build.if_(build.const(False), [build.assign(name, build.const(None)) for name in shared]))
    b.emit(build.define(made, build.arguments([]), body, acting=outer.acting))
    called: ast.expr = build.call(made)
    if outer.acting:
        called = ast.Await(called)
    if not leaving.kinds:
        b.emit(ast.Expr(called))
    else:
        left = b.temp()
        b.emit(build.assign(left, called))
        for kind in sorted(leaving.kinds):
            b.emit(_pass_on(left, kind))
    b.places.fill_all(b.out, span)


def _pass_on(left: str, kind: int) -> ast.stmt:
    if kind == 0:
        return build.if_(build.is_class(build.name(left), "tuple"), [ast.Return(build.subscript(build.name(left), 0))])
    return build.if_(build.equal(build.name(left), build.const(kind)), [ast.Break() if kind == _BREAK else ast.Continue()])


def _stored(body: list[ast.stmt]) -> set[str]:
    found: set[str] = set()
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                found.add(node.name)
                found.update(name for part in node.body if isinstance(part, ast.Nonlocal) for name in part.names)
                continue
            case ast.Lambda():
                continue
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
        stack.extend(ast.iter_child_nodes(node))
    return found


class _Leaving(ast.NodeTransformer):
    """`return`, and `break` and `continue` of a loop outside, as results of the function."""

    def __init__(self) -> None:
        self.kinds: set[int] = set()
        self.loops = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.loops += 1
        node.body = [self.visit(s) for s in node.body]
        self.loops -= 1
        node.orelse = [self.visit(s) for s in node.orelse]
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.kinds.add(0)
        return self._result(node, ast.Tuple([node.value or build.const(None)], build.LOAD))

    def visit_Break(self, node: ast.Break) -> ast.AST:
        return node if self.loops else self._jump(node, _BREAK)

    def visit_Continue(self, node: ast.Continue) -> ast.AST:
        return node if self.loops else self._jump(node, _CONTINUE)

    def _jump(self, node: ast.stmt, kind: int) -> ast.AST:
        self.kinds.add(kind)
        return self._result(node, build.const(kind))

    def _result(self, node: ast.stmt, value: ast.expr) -> ast.AST:
        made = ast.Return(value)
        if hasattr(node, "lineno"):
            for part in (made, value):
                ast.copy_location(part, node)
            if isinstance(value, ast.Tuple) and isinstance(value.elts[0], ast.Constant) and not hasattr(value.elts[0], "lineno"):
                ast.copy_location(value.elts[0], node)
        return made
