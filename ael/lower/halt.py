"""The test that stops pure code at its deadline: at function entries and loop back edges (runtime: `Halt` in unit.py)."""

from __future__ import annotations

import ast

from ael.lower import build


def halt_test() -> ast.stmt:
    """`if halt[0] is not None: raise halt[0]`."""
    flag = build.subscript(build.name("halt"), 0)
    return build.if_(build.is_not_none(flag), [ast.Raise(build.subscript(build.name("halt"), 0), None)])


def depth_test(name: str) -> list[ast.stmt]:
    """The cap of recursion, and the flag; what is called from here on is one deeper."""
    deep = build.compare(build.name(name), ast.GtE(), build.subscript(build.name("halt"), 1))
    deeper = ast.BinOp(build.name(name), ast.Add(), build.const(1))
    return [build.if_(deep, [ast.Expr(build.call("too_deep", build.name("halt")))]), build.assign(name, deeper)]
