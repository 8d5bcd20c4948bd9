"""Where a recursive function tests its depth and the flag: in front of what calls further, not at its entry.

About half of all calls of a recursive function are its last ones, which call nothing: they need no test. A function that loops is
tested at its entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ael.lower import names
from ael.lower.halt import depth_test
from ael.lower.scope import Builder
from ael.syntax import nodes as n


@contextmanager
def tested(b: Builder, node: n.Node) -> Iterator[None]:
    """Emit the test in front of `node` if it calls further and is no branch, inside of which the test can stand."""
    waiting = b.untested
    test_before(b, node)
    try:
        yield
    finally:
        b.untested = waiting


def test_before(b: Builder, node: n.Node) -> None:
    """The test in front of what calls further; it then holds for the rest of this branch."""
    inner = node.value if isinstance(node, n.ExprStatement) else node
    if b.untested and b.facts.recurs(inner) and not _only_branches_recur(b, inner):
        b.emit(*depth_test(names.DEPTH))
        b.untested = False


def _only_branches_recur(b: Builder, node: n.Node) -> bool:
    match node:
        case n.If(condition=condition):
            return not b.facts.recurs(condition)
        case n.Match(subject=subject, arms=arms):
            guards = [arm.guard for arm in arms if arm.guard is not None]
            return not any(b.facts.recurs(part) for part in (subject, *guards))
        case n.Block():
            return True
        case _:
            return False
