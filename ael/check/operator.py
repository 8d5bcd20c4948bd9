"""Operators: which types they take, and what they give. Nothing is converted by itself."""

from __future__ import annotations

from ael.check.checker import DISCARD, UNKNOWN, Checker
from ael.check.kind import BOOL, DECIMAL, FLOAT, INT, NULL, STRING, has_null, loose, plain, without_null
from ael.check.literal import is_number, is_whole, number
from ael.check.narrow import facts, untouched
from ael.syntax import nodes as n
from ael.types.text import show
from ael.types.type import (
    DateType,
    DecimalType,
    DurationType,
    FloatType,
    IntType,
    ListType,
    MapType,
    Never,
    SecretType,
    StringType,
    TimestampType,
    Type,
    UnionType,
    Unknown,
    Variable,
)

_ARITHMETIC = frozenset({"+", "-", "*", "/", "div", "%"})
_ORDER = frozenset({"<", "<=", ">", ">="})
_ORDERED = (IntType, FloatType, DecimalType, StringType, TimestampType, DateType, DurationType)
_MAX_CHAIN = 300


def unary(c: Checker, node: n.Unary, expected: Type | None) -> Type:
    operand = node.operand
    if node.op == "not":
        c.check(operand, BOOL, " after `not`")
        return BOOL
    if isinstance(operand, n.IntLit):
        c.types[operand] = found = number(c, node, f"-{operand.value}", expected, whole=True)
        return found
    if isinstance(operand, n.FloatLit):
        c.types[operand] = found = number(c, node, "-" + operand.text.replace("_", ""), expected, whole=False)
        return found
    found = _operand(c, operand, expected if is_number(operand) else None)
    if isinstance(found, IntType | FloatType | DecimalType | Unknown):
        return found
    if isinstance(found, DurationType):
        return found
    c.report("AEL0310", f"`-` does not take `{show(found)}`", node.span)
    return UNKNOWN


def binary(c: Checker, node: n.Binary, expected: Type | None) -> Type:
    op = node.op
    if op in _ARITHMETIC:
        return _chain(c, node, expected)
    if op in ("and", "or"):
        return _logic(c, node)
    if op in ("==", "!="):
        return _equal(c, node)
    if op in _ORDER:
        return _order(c, node)
    if op in ("in", "not in"):
        return _contained(c, node)
    return _default(c, node, expected)


def _operand(c: Checker, node: n.Expr, expected: Type | None = None) -> Type:
    """The type of an operand, without bounds."""
    if expected is not None and expected is not DISCARD:
        wanted = plain(without_null(c.expand(expected)))
        if isinstance(wanted, IntType | FloatType | DecimalType):
            return plain(c.expand(c.check(node, wanted)))
    return plain(c.expand(c.infer(node)))


def _chain(c: Checker, node: n.Binary, expected: Type | None) -> Type:
    """`a + b - c …`: the left side of each is the one before, so the whole chain is walked without going deeper."""
    chain = [node]
    while isinstance(left := chain[-1].left, n.Binary) and left.op in _ARITHMETIC:
        chain.append(left)
    if len(chain) > _MAX_CHAIN:
        c.report("AEL0326", f"more than {_MAX_CHAIN} operators in one expression; give parts of it names with `let`", node.span)
        return UNKNOWN
    wanted = expected if node.op != "/" else None
    first = chain[-1]
    literal_left = is_number(first.left)
    if literal_left and is_number(first.right):
        hint = _number_beside(c, chain) or wanted
        if (hint is None or hint is DISCARD) and not (is_whole(first.left) and is_whole(first.right)):
            hint = FLOAT
        left_type = _operand(c, first.left, hint)
    elif literal_left:
        right_type = _operand(c, first.right)
        left_type = _as_other(c, first.left, right_type)
        found = _arithmetic(c, first, left_type, right_type)
        return _rest(c, chain[:-1], first, found)
    else:
        left_type = _operand(c, first.left)
    right = first.right
    right_type = _as_other(c, right, left_type) if is_number(right) else _operand(c, right)
    found = _arithmetic(c, first, left_type, right_type)
    return _rest(c, chain[:-1], first, found)


def _number_beside(c: Checker, chain: list[n.Binary]) -> Type | None:
    """The type of the first operand of a chain that is no literal: literals before it are of its type."""
    for one in reversed(chain):
        if not is_number(one.right):
            found = _operand(c, one.right)
            return found if isinstance(found, IntType | FloatType | DecimalType) else None
    return None


def _as_other(c: Checker, node: n.Expr, other: Type) -> Type:
    """A number literal beside something of the type `other`."""
    if isinstance(other, FloatType | DecimalType) or (isinstance(other, IntType) and is_whole(node)):
        c.check(node, other)
        return other
    return _operand(c, node)


def _rest(c: Checker, outer: list[n.Binary], first: n.Binary, found: Type) -> Type:
    inner = first
    for one in reversed(outer):
        c.types[inner] = found
        right = one.right
        right_type = _as_other(c, right, found) if is_number(right) else _operand(c, right)
        found = _arithmetic(c, one, found, right_type)
        inner = one
    return found


def _arithmetic(c: Checker, node: n.Binary, left: Type, right: Type) -> Type:
    if isinstance(left, Unknown | Never) or isinstance(right, Unknown | Never):
        return UNKNOWN
    op = node.op
    if isinstance(left, IntType) and isinstance(right, IntType):
        return FLOAT if op == "/" else INT
    if isinstance(left, FloatType) and isinstance(right, FloatType):
        return FLOAT
    if isinstance(left, DecimalType) and isinstance(right, DecimalType):
        return DECIMAL
    if op == "+":
        if isinstance(left, StringType) and isinstance(right, StringType):
            return STRING
        if isinstance(left, ListType) and isinstance(right, ListType):
            joined = c.join(left.item, right.item)
            if not isinstance(joined, UnionType) or joined in (left.item, right.item):
                return ListType(joined)
    c.report(
        "AEL0310", f"`{op}` does not take `{show(left)}` and `{show(right)}`", node.span, notes=_arithmetic_notes(op, left, right)
    )
    return UNKNOWN


def _arithmetic_notes(op: str, left: Type, right: Type) -> tuple[str, ...]:
    if has_null(left) or has_null(right):
        return ("one side may be null: `??` gives another value in its place, and `if x != null { … }` asks first",)
    numbers = (IntType, FloatType, DecimalType)
    if isinstance(left, numbers) and isinstance(right, numbers):
        return ("nothing is converted by itself: `.to_float()`, `.to_decimal()` and `.to_int()` do it",)
    if op == "+" and (isinstance(left, StringType) or isinstance(right, StringType)):
        return ('put values into text with `"${x}"`',)
    if isinstance(left, TimestampType | DateType | DurationType):
        return ("times have methods: `t.plus(5s)`, `t.minus(5s)`, `t.since(earlier)`",)
    return ()


def _logic(c: Checker, node: n.Binary) -> Type:
    op = node.op
    # chains of `and` are left-nested; walk them flat
    parts: list[n.Binary] = [node]
    while isinstance(left := parts[-1].left, n.Binary) and left.op == op:
        parts.append(left)
    if len(parts) > _MAX_CHAIN:
        c.report("AEL0326", f"more than {_MAX_CHAIN} operators in one expression; give parts of it names with `let`", node.span)
        return UNKNOWN
    before, assigned = c.narrowed, c.assigned
    c.assigned = set()
    c.check(parts[-1].left, BOOL, f" before `{op}`")
    left_node: n.Expr = parts[-1].left
    for one in reversed(parts):
        when_true, when_false = facts(c, left_node)
        known = when_true if op == "and" else when_false
        if known:
            c.narrowed = {**c.narrowed, **known}
        c.check(one.right, BOOL, f" after `{op}`")
        c.types[one] = BOOL
        left_node = one.right
    c.narrowed = untouched(before, c.assigned)
    c.assigned |= assigned
    return BOOL


def _pair(c: Checker, node: n.Binary) -> tuple[Type, Type]:
    """The types of both sides, number literals as the other side is."""
    if is_number(node.left) and not is_number(node.right):
        right = c.expand(c.infer(node.right))
        wanted = plain(without_null(right))
        left = _as_other(c, node.left, wanted)
        return left, right
    left = c.expand(c.infer(node.left))
    if is_number(node.right):
        return left, _as_other(c, node.right, plain(without_null(left)))
    if isinstance(node.right, n.ListLit | n.MapLit) and isinstance(wanted := without_null(left), ListType | MapType):
        c.check(node.right, plain(wanted))
        return left, wanted
    return left, c.expand(c.infer(node.right))


def _equal(c: Checker, node: n.Binary) -> Type:
    left, right = _pair(c, node)
    if isinstance(left, Unknown | Never) or isinstance(right, Unknown | Never):
        return BOOL
    a, b = loose(left), loose(right)
    if not (c.fits(a, b) or c.fits(b, a) or _overlap(c, a, b)):
        c.report(
            "AEL0312", f"`{show(left)}` and `{show(right)}` are never equal: `{node.op}` compares values of one type", node.span
        )
    elif a != NULL and b != NULL and not (c.is_data(left) and c.is_data(right)):
        if isinstance(left, Variable):
            message = f"values of a type parameter cannot be compared: a `{left.name}` may be a function"
        else:
            message = f"{'secrets' if isinstance(left, SecretType) else 'functions'} cannot be compared"
        c.report("AEL0312", message, node.span)
    return BOOL


def _overlap(c: Checker, a: Type, b: Type) -> bool:
    """Whether two unions share a member other than null."""
    left = a.members if isinstance(a, UnionType) else (a,)
    right = b.members if isinstance(b, UnionType) else (b,)
    return any(c.fits(x, y) or c.fits(y, x) for x in left for y in right if not has_null(x) and not has_null(y))


def _order(c: Checker, node: n.Binary) -> Type:
    left, right = _pair(c, node)
    a, b = plain(left), plain(right)
    if isinstance(a, Unknown | Never) or isinstance(b, Unknown | Never):
        return BOOL
    if type(a) is not type(b) or not isinstance(a, _ORDERED):
        notes: tuple[str, ...] = ()
        if has_null(a) or has_null(b):
            notes = ("one side may be null: `??` gives another value in its place, and `if x != null { … }` asks first",)
        elif isinstance(a, IntType | FloatType | DecimalType) and isinstance(b, IntType | FloatType | DecimalType):
            notes = ("nothing is converted by itself: `.to_float()`, `.to_decimal()` and `.to_int()` do it",)
        c.report("AEL0310", f"`{node.op}` does not take `{show(a)}` and `{show(b)}`", node.span, notes=notes)
    return BOOL


def sortable(type: Type) -> bool:
    """Whether values of the type have an order."""
    return isinstance(plain(type), (*_ORDERED, Unknown, Never))


def _contained(c: Checker, node: n.Binary) -> Type:
    if isinstance(node.right, n.ListLit) and not is_number(node.left):
        item_type = loose(c.expand(c.infer(node.left)))
        if isinstance(item_type, FloatType | DecimalType) and all(is_number(item) for item in node.right.items):
            c.check(node.right, ListType(item_type))
            return BOOL
    right = plain(c.expand(c.infer(node.right)))
    match right:
        case ListType(item):
            if is_number(node.left):
                _as_other(c, node.left, plain(without_null(item)))
                return BOOL
            left = c.expand(c.infer(node.left))
            a, b = loose(left), loose(item)
            if not (c.fits(a, b) or c.fits(b, a) or _overlap(c, a, b)):
                c.report("AEL0312", f"a list of `{show(item)}` never holds a `{show(left)}`", node.span)
        case MapType():
            c.check(node.left, STRING, " as the key of a map")
        case StringType():
            c.check(node.left, STRING, " to look for in a text")
        case Unknown() | Never():
            c.infer(node.left)
        case _:
            c.infer(node.left)
            c.report(
                "AEL0310", f"`{node.op}` looks into a list, a map's keys or a text, not into `{show(right)}`", node.right.span
            )
    return BOOL


def _default(c: Checker, node: n.Binary, expected: Type | None) -> Type:
    left = c.expand(c.infer(node.left))
    inner: Type = Never() if left == NULL else without_null(left)
    wanted = None if expected is DISCARD else expected
    if is_number(node.right) and isinstance(plain(inner), IntType | FloatType | DecimalType) and wanted is None:
        right = _as_other(c, node.right, plain(inner))
        return c.join(plain(inner), right)
    if isinstance(node.right, n.ListLit | n.MapLit) and wanted is None and isinstance(inner, ListType | MapType):
        c.check(node.right, inner)
        return inner
    right = c.infer(node.right) if wanted is None else c.check(node.right, wanted)
    if not has_null(left) and not isinstance(left, Unknown | Never):
        message = f"`??` stands after a value that may be null, and `{show(left)}` never is"
        c.report("AEL0313", message, node.left.span)
        return inner
    if isinstance(inner, Never):
        return right
    if isinstance(right, Unknown):
        return UNKNOWN
    return c.join(inner, right)
