"""Loops: each is bounded by construction, and nested no deeper than the compiler below can go."""

from __future__ import annotations

from ael.check.checker import DISCARD, UNKNOWN, Checker
from ael.check.kind import INT, plain, without_null
from ael.check.narrow import facts, forget_assigned
from ael.syntax import nodes as n
from ael.types.text import show
from ael.types.type import (
    IntType,
    ListType,
    MapType,
    Never,
    NullType,
    StringType,
    Type,
    UnionType,
    Unknown,
)

MAX_NESTED = 12
"""Loops, `catch`es and `parallel`s inside each other in one callable (CPython takes 20 blocks)."""


def enter(c: Checker, node: n.Node) -> None:
    """Go one loop deeper."""
    c.nesting += 1
    if c.nesting == MAX_NESTED + 1:
        message = f"more than {MAX_NESTED} loops inside each other: move the inner ones into a `fn`"
        c.report("AEL0326", message, node.span)


def for_(c: Checker, node: n.For) -> None:
    iterable = node.iterable
    index: Type = INT
    if isinstance(iterable, n.Range):
        item: Type = _range(c, iterable)
    else:
        index, item = items(c, iterable, c.infer(iterable), two=node.index is not None)
    forget_assigned(c, node.body)
    c.locals.append({})
    if node.index is not None:
        c.declare(node.index, node.index, index)
    c.declare(node.binder, node.binder, item)
    _body(c, node, node.body)
    c.locals.pop()


def _range(c: Checker, node: n.Range) -> Type:
    c.types[node] = ListType(INT)
    for end, word in ((node.low, "start"), (node.high, "end")):
        if end is None:
            c.report("AEL0319", f"the range has no {word}: a loop runs from one number to another", node.span)
        else:
            c.check(end, INT, f" as the {word} of a range")
    return INT


def items(c: Checker, at: n.Expr, found: Type, *, two: bool) -> tuple[Type, Type]:
    """What a loop over a value binds: the index or key, and the item."""
    type = c.expand(found)
    match type:
        case ListType(item):
            return INT, UNKNOWN if isinstance(item, Never) else item
        case MapType(value):
            if not two:
                c.report("AEL0320", "a map has keys and values: `for key, value in …`, or `.keys()` or `.values()`", at.span)
            return StringType(), UNKNOWN if isinstance(value, Never) else value
        case Unknown() | Never():
            return UNKNOWN, UNKNOWN
    notes: tuple[str, ...] = ()
    if isinstance(type, UnionType) and NullType() in type.members and isinstance(without_null(type), ListType | MapType):
        notes = ("it may be null: `x ?? []` stands for that",)
    elif isinstance(plain(type), StringType):
        notes = ("`.chars()` gives the characters of a text, `.lines()` its lines",)
    elif isinstance(type, IntType):
        notes = ("a range counts: `for i in 1..n`",)
    c.report("AEL0320", f"a loop runs over a list, a map or a range, not over `{show(type)}`", at.span, notes=notes)
    return UNKNOWN, UNKNOWN


def _body(c: Checker, node: n.For | n.While, body: n.Block) -> None:
    enter(c, node)
    c.body.loops += 1
    c.check_part(body, DISCARD)
    c.body.loops -= 1
    c.nesting -= 1
    forget_assigned(c, body)


def while_(c: Checker, node: n.While) -> bool:
    """A `while`; it ends by its condition, a `break`, or the fault `LoopLimit` at its `up to`."""
    if node.limit is None:
        end = node.condition.span.end
        fix = c.edit("bound it with `up to`", (type(node.span)(end, end), " up to 1_000"), safe=False)
        notes = ("a `while` that reaches its bound ends with the fault `LoopLimit`",)
        c.report(
            "AEL0319", "a `while` says how often it may run: `while … up to N { … }`", node.condition.span, notes=notes, fix=fix
        )
    forget_assigned(c, node.body)
    c.check_condition(node.condition, "a `while`")
    if node.limit is not None:
        c.check(node.limit, INT, " as the bound of a `while`")
    before = c.narrowed
    when_true, _ = facts(c, node.condition)
    if when_true:
        c.narrowed = {**before, **when_true}
    _body(c, node, node.body)
    c.narrowed = before
    forget_assigned(c, node.body)
    return False


def jump_out(c: Checker, node: n.Break | n.Continue) -> None:
    if c.body.loops == 0:
        word = "break" if isinstance(node, n.Break) else "continue"
        c.report("AEL0318", f"`{word}` stands in no loop", node.span)
