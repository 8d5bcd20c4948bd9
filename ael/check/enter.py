"""What is in scope where the code of a callable begins: its parameters, and nothing of another callable."""

from __future__ import annotations

from collections.abc import Iterable

from ael.check.checker import UNKNOWN, Body, Checker
from ael.syntax import nodes as n
from ael.types.type import optional


def enter(c: Checker, body: Body, *, key: bool = False, test: bool = False) -> None:
    """Start a callable of its own: nothing of another is in scope."""
    c.body = body
    c.locals = [{}]
    c.slots = {}
    c.own_slots = set()
    c.narrowed = {}
    c.assigned = set()
    c.read = set()
    c.unread = {}
    c.failing = None
    c.depth = c.nesting = 0
    c.in_test = test
    c.has_key = key
    c.branch = None
    c.origin = None


def parameters_of(c: Checker, nodes: Iterable[n.Parameter]) -> None:
    """Bring the parameters of a callable into scope."""
    for node in nodes:
        c.reserved(node.name)
        type = c.tables.written.get(node.type, UNKNOWN)
        if node.name.text in c.locals[-1]:
            continue
        known = c.tables.locals.get(node)
        if known is None:
            c.declare(node, node.name, optional(type) if node.optional else type)
        else:  # code in a clause saw it before
            c.locals[-1][node.name.text] = known
            c.slots[node.name.text] = 1
