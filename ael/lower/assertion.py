"""`assert`: a failed one tells the values of what stands in its condition."""

from __future__ import annotations

import ast

from ael.check.program import Local
from ael.lower import build
from ael.lower.scope import Builder
from ael.syntax import nodes as n

MOST = 12
"""Values that one assertion tells at most."""


def assert_(b: Builder, s: n.Assert) -> None:
    """Test the condition, with its operands kept aside."""
    told = [] if isinstance(s.condition, n.BoolLit) else _told(b, s.condition)
    # What is compared is kept too, also what is written out and so needs no telling: where it differs is told.
    sides = [s.condition.left, s.condition.right] if isinstance(s.condition, n.Binary) and s.condition.op == "==" else []
    names = {e: b.temp() for e in [*told, *(side for side in sides if not any(side is e for e in told))]}
    if names:
        b.emit(ast.Assign([build.target(name) for name in names.values()], build.name("UNSEEN")))
    outer, b.record_to = b.record_to, list(names.items())
    condition = b.value(s.condition)
    b.record_to = outer
    with b.capture() as failing:
        source = b.module.tree.source.text
        pairs: list[ast.expr] = [
            ast.Tuple([build.const(_words(source[e.span.start : e.span.end])), build.name(name)], build.LOAD)
            for e, name in names.items()
            if any(e is one for one in told)
        ]
        compared = ast.Tuple([build.name(names[side]) for side in sides], build.LOAD)
        message = b.value(s.message) if s.message is not None else build.const(None)
        text = build.const(_words(source[s.condition.span.start : s.condition.span.end]))
        b.emit(ast.Expr(build.call("assertion_failed", text, message, ast.Tuple(pairs, build.LOAD), compared)))
    b.emit(build.if_(build.negate(condition), failing))


def _words(text: str) -> str:
    return " ".join(text.split())


def _told(b: Builder, condition: n.Expr) -> list[n.Expr]:
    """The parts whose values say why: names, fields, calls, and what is computed, outermost first, each text once."""
    found: list[n.Expr] = []
    texts: set[str] = set()
    source = b.module.tree.source.text
    stack: list[n.Node] = [condition]
    while stack and len(found) < MOST:
        e = stack.pop()
        if isinstance(e, n.Lambda | n.Block | n.Match | n.If | n.Catch | n.ParallelFor | n.ParallelRecord):
            continue
        if e is not condition and _tells(b, e):
            words = _words(source[e.span.start : e.span.end])
            if words not in texts:
                texts.add(words)
                found.append(e)  # type: ignore[arg-type]
        if isinstance(e, n.Call):
            callee = e.callee.target if isinstance(e.callee, n.FieldAccess) else None
            receiver = [callee] if callee is not None and b.tables.calls[e].kind in ("builtin", "value") else []
            stack.extend(reversed([*receiver, *(a.value for a in e.arguments)]))
        elif not isinstance(e, n.FieldAccess) or e not in b.tables.resolved:
            stack.extend(reversed(list(e.children())))
    return found


def _tells(b: Builder, e: n.Node) -> bool:
    match e:
        case n.Reference():
            return isinstance(b.tables.resolved.get(e), Local)
        case n.FieldAccess():
            return e not in b.tables.resolved
        case n.Call():
            return b.tables.calls[e].kind not in ("record", "error", "variant")
        case n.Index() | n.Binary():
            return True
        case _:
            return False
