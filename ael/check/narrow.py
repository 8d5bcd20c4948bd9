"""What a condition says about the values in it: after `x != null`, `x` is no longer `T?`.

Things are known about a local, or about a field read through one (`ticket.order_id`), since values never change; what is known about a
`var` is forgotten where it is assigned.
"""

from __future__ import annotations

from collections.abc import Collection

from ael.check.checker import Checker, Path
from ael.check.kind import NULL, has_null, without_null
from ael.check.program import Local
from ael.syntax import nodes as n
from ael.types.type import Type

Facts = dict[Path, Type]


def path_of(c: Checker, node: n.Expr) -> Path | None:
    """The local and the fields that an expression reads, if it is nothing else."""
    fields: list[str] = []
    while isinstance(node, n.FieldAccess):
        if node not in c.tables.fields:
            return None
        fields.append(node.name.text)
        node = node.target
    if not isinstance(node, n.Reference):
        return None
    local = c.tables.resolved.get(node)
    return (local, *reversed(fields)) if isinstance(local, Local) else None


def facts(c: Checker, node: n.Expr) -> tuple[Facts, Facts]:
    """What is known where a condition (already checked) holds, and where it does not."""
    match node:
        case n.Binary(op="==" | "!=" as op, left=left, right=right):
            return _compared(c, op, left, right)
        case n.Binary(op="and", left=left, right=right):
            true_left, _ = facts(c, left)
            true_right, _ = facts(c, right)
            return {**_still(c, true_left, right), **true_right}, {}
        case n.Binary(op="or", left=left, right=right):
            _, false_left = facts(c, left)
            _, false_right = facts(c, right)
            return {}, {**_still(c, false_left, right), **false_right}
        case n.Unary(op="not", operand=operand):
            when_true, when_false = facts(c, operand)
            return when_false, when_true
        case _:
            return {}, {}


def _still(c: Checker, known: Facts, after: n.Expr) -> Facts:
    """What was known before `after`, and is when that is done."""
    if not known or not c.assigned:
        return known
    names = _assigned_in(after)
    return {path: type for path, type in known.items() if not (isinstance(path[0], Local) and path[0].name in names)}


def _compared(c: Checker, op: str, left: n.Expr, right: n.Expr) -> tuple[Facts, Facts]:
    if isinstance(left, n.NullLit):
        left, right = right, left
    path = path_of(c, left)
    if path is None:
        return {}, {}
    type = c.expand(c.types[left])
    if isinstance(right, n.NullLit):
        if not has_null(type):
            return {}, {}
        present: Facts = {path: without_null(type)}
        absent: Facts = {path: NULL}
        return (present, absent) if op == "!=" else (absent, present)
    # equal to something that is never null: so it is not null either
    if has_null(type) and not has_null(c.expand(c.types[right])):
        return ({path: without_null(type)}, {}) if op == "==" else ({}, {path: without_null(type)})
    return {}, {}


def forget(c: Checker, local: Local) -> None:
    """Nothing more is known about a `var`."""
    if any(path[0] is local for path in c.narrowed):
        c.narrowed = {path: type for path, type in c.narrowed.items() if path[0] is not local}


def untouched(facts: Facts, assigned: Collection[object]) -> Facts:
    """What is known of everything but the locals that were `assigned`."""
    if not facts or not assigned:
        return facts
    return {path: type for path, type in facts.items() if path[0] not in assigned}


def lasting(facts: Facts) -> Facts:
    """What stays true in code that runs later, or beside other code: what is known of no `var`."""
    return {path: type for path, type in facts.items() if not (isinstance(path[0], Local) and path[0].mutable)}


def forget_assigned(c: Checker, body: n.Node) -> None:
    """Forget what is known about every `var` that `body` assigns: it runs again, or may not run at all."""
    if not any(isinstance(path[0], Local) and path[0].mutable for path in c.narrowed):
        return
    names = _assigned_in(body)
    c.narrowed = {
        path: type
        for path, type in c.narrowed.items()
        if not (isinstance(path[0], Local) and path[0].mutable and path[0].name in names)
    }


def _assigned_in(body: n.Node) -> set[str]:
    return {node.name.text for node in n.walk(body) if isinstance(node, n.Assign)}
