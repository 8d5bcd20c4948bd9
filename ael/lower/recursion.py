"""Where a recursive function tests its depth and the flag: in front of what calls further, not at its entry.

About half of all calls of a recursive function are its last ones, which call nothing: they need no test. A function that loops is
tested at its entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ael.check.program import Meaning, Tables
from ael.lower import names
from ael.lower.halt import depth_test
from ael.lower.scope import Builder
from ael.syntax import nodes as n


@contextmanager
def tested(b: Builder, node: n.Node) -> Iterator[None]:
    """Emit the test in front of `node` if it calls further and is no branch, inside of which the test can stand."""
    waiting = b.untested
    if waiting and _calls(node, b.tables, waiting) and not _only_branches_call(node, b.tables, waiting):
        emit_test(b)
    try:
        yield
    finally:
        b.untested = waiting


def emit_test(b: Builder) -> None:
    """The test, for the rest of this branch."""
    b.emit(*depth_test(names.DEPTH))
    b.untested = frozenset()


def test_statement(b: Builder, node: n.Statement) -> None:
    """The test in front of a statement that calls further, which then holds for what follows it."""
    if b.untested and _calls(node, b.tables, b.untested):
        inner = node.value if isinstance(node, n.ExprStatement) else node
        if not _only_branches_call(inner, b.tables, b.untested):
            emit_test(b)


def _calls(node: n.Node, tables: Tables, functions: frozenset[str]) -> bool:
    for part in n.walk(node):
        match part:
            case n.Call() if (info := tables.calls.get(part)) is not None and info.kind == "function" and info.name in functions:
                return True
            case n.Reference() | n.FieldAccess():
                meaning = tables.resolved.get(part)
                if isinstance(meaning, Meaning) and meaning.kind == "function" and meaning.name in functions:
                    return True
    return False


def _only_branches_call(node: n.Node, tables: Tables, functions: frozenset[str]) -> bool:
    match node:
        case n.If(condition=condition):
            return not _calls(condition, tables, functions)
        case n.Match(subject=subject, arms=arms):
            guards = [arm.guard for arm in arms if arm.guard is not None]
            return not any(_calls(part, tables, functions) for part in (subject, *guards))
        case n.Block():
            return True
        case _:
            return False
