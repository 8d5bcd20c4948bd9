"""Literals: numbers that take the type that is expected, text with `${…}`, lists and maps."""

from __future__ import annotations

from decimal import Decimal

from ael.check.checker import DISCARD, UNKNOWN, Checker
from ael.check.constant import exact, number_kind
from ael.check.kind import BOOL, DECIMAL, FLOAT, INT, NULL, STRING, sure
from ael.syntax import nodes as n
from ael.types.definition import EnumDef
from ael.types.text import has_text, show
from ael.types.type import (
    AnonymousRecord,
    BoolType,
    DateType,
    DecimalType,
    DurationType,
    IntType,
    JsonType,
    ListType,
    LiteralType,
    MapType,
    Named,
    Never,
    NullType,
    SecretType,
    StringType,
    TimestampType,
    Type,
    UnionType,
)

_DURATION = DurationType()


def fixed(c: Checker, node: n.Expr, value: str | int | bool | float | Decimal, base: Type, expected: Type | None) -> Type:
    """The type of a value that is known: `base` where nothing is expected; what it is not allowed to be is reported on the spot."""
    if expected is None or expected is DISCARD:
        return base
    precise = exact(value)
    if precise is None or c.fits(precise, expected):
        return precise or base
    if isinstance(c.expand(expected), LiteralType | UnionType) or not c.fits(base, _unbounded(c.expand(expected))):
        c.mismatch(node, base, expected)
    else:
        c.report("AEL0301", f"{_said(value)} does not fit `{show(expected)}`{_reason(value, c.expand(expected))}", node.span)
    return UNKNOWN


def _unbounded(type: Type) -> Type:
    match type:
        case StringType():
            return STRING
        case IntType():
            return INT
        case DecimalType():
            return DECIMAL
        case _:
            return FLOAT if type.__class__ is FLOAT.__class__ else type


def _said(value: object) -> str:
    if isinstance(value, str):
        return "this text" if len(value) > 24 or "\n" in value else f'`"{value}"`'
    return f"`{value}`"


def _reason(value: object, expected: Type) -> str:
    match expected, value:
        case StringType(max=high), str() if high is not None and len(value) > high:
            return f": it has {len(value)} characters"
        case StringType(min=low), str() if low is not None and len(value) < low:
            return f": it has {len(value)} characters"
        case StringType(pattern=pattern), str() if pattern is not None:
            return ": it does not match the pattern"
        case StringType(format=form), str() if form is not None:
            return f": a text of the format `{form}` comes from `T.check(x)`"
        case _:
            return ""


def number(c: Checker, node: n.Expr, text: str, expected: Type | None, *, whole: bool) -> Type:
    """The type of a number literal written as `text`, a sign included."""
    wanted = None if expected is None or expected is DISCARD else c.expand(expected)
    kind = number_kind(wanted, whole=whole)
    if kind is int:
        return fixed(c, node, int(text), INT, wanted)
    if kind is Decimal:
        return fixed(c, node, Decimal(text), DECIMAL, wanted)
    value = float(text)
    if value in (float("inf"), float("-inf")):
        c.report("AEL0302", "this number is too large for a Float", node.span)
        return UNKNOWN
    return fixed(c, node, value, FLOAT, wanted)


def int_literal(c: Checker, node: n.IntLit, expected: Type | None) -> Type:
    if node.value.bit_length() > 4_096:
        c.report("AEL0302", "this number has more than 4,096 bits, more than an Int holds", node.span)
        return UNKNOWN
    return number(c, node, str(node.value), expected, whole=True)


def float_literal(c: Checker, node: n.FloatLit, expected: Type | None) -> Type:
    return number(c, node, node.text.replace("_", ""), expected, whole=False)


def money_literal(c: Checker, node: n.MoneyLit, expected: Type | None) -> Type:
    return fixed(c, node, node.value, DECIMAL, expected)


def size_literal(c: Checker, node: n.SizeLit, expected: Type | None) -> Type:
    return fixed(c, node, node.bytes, INT, expected)


def duration_literal(c: Checker, node: n.DurationLit, expected: Type | None) -> Type:
    return _DURATION


def bool_literal(c: Checker, node: n.BoolLit, expected: Type | None) -> Type:
    return fixed(c, node, node.value, BOOL, expected)


def null_literal(c: Checker, node: n.NullLit, expected: Type | None) -> Type:
    return NULL


# --- text ----------------------------------------------------------------------------------------------------------------


def string_literal(c: Checker, node: n.StringLit, expected: Type | None) -> Type:
    parts = node.parts
    if not parts:
        return fixed(c, node, "", STRING, expected)
    if len(parts) == 1 and type(part := parts[0]) is n.TextPart:
        return fixed(c, node, part.text, STRING, expected)
    bare, c.bare_parts = c.bare_parts, False
    longest: int | None = 0
    for part in parts:
        if isinstance(part, n.TextPart):
            size: int | None = len(part.text)
        elif bare:
            # in instructions a part names an input, which may be of any type
            c.infer(part)
            size = None
        else:
            size = _interpolated(c, part)
        longest = None if longest is None or size is None else longest + size
    return STRING if longest is None else StringType(max=longest)


def _interpolated(c: Checker, part: n.Expr) -> int | None:
    """Check one `${…}`; how long its text can be, in characters, if that is known."""
    found = c.infer(part)
    if has_text(found, c.definitions):
        return longest_text(c, found)
    notes: tuple[str, ...] = ()
    if isinstance(found, UnionType) and NullType() in found.members:
        notes = ('say what stands for null: `${x ?? "none"}`',)
    elif isinstance(found, SecretType):
        notes = ("a secret has no text: it goes to connectors and credentials only",)
    elif isinstance(found, Named | ListType | MapType | JsonType | AnonymousRecord):
        notes = ("name the field that is meant, or write each item out",)
    c.report(
        "AEL0311", f"`{show(found)}` has no text form: `${{…}}` takes scalars, times and plain enums", part.span, notes=notes
    )
    return None


def longest_text(c: Checker, type: Type) -> int | None:
    """The longest text form of a type's values, in characters; None where there is no bound."""
    match type:
        case StringType(max=high):
            return high
        case LiteralType(value=value):
            return len(value) if isinstance(value, str) else 5 if isinstance(value, bool) else len(str(value))
        case IntType(low, high):
            return None if low is None or high is None else max(len(str(low)), len(str(high)))
        case BoolType():
            return 5
        case TimestampType():
            return 40
        case DateType():
            return 10
        case UnionType(members):
            sizes = [longest_text(c, m) for m in members]
            return None if None in sizes else max(s for s in sizes if s is not None)
        case Named(name):
            definition = c.definitions.get(name)
            return max((len(v.name) for v in definition.variants), default=0) if isinstance(definition, EnumDef) else None
        case _:
            return None


# --- lists and maps ------------------------------------------------------------------------------------------------------


def _members(c: Checker, expected: Type | None) -> tuple[Type, ...]:
    if expected is None or expected is DISCARD:
        return ()
    whole = c.expand(expected)
    return tuple(c.expand(m) for m in whole.members) if isinstance(whole, UnionType) else (whole,)


def list_literal(c: Checker, node: n.ListLit, expected: Type | None) -> Type:
    lists = [m for m in _members(c, expected) if isinstance(m, ListType)]
    count = len(node.items)
    if len(lists) == 1:
        wanted = lists[0]
        for item in node.items:
            c.check(item, wanted.item)
        if (wanted.max is not None and count > wanted.max) or (wanted.min is not None and count < wanted.min):
            c.report("AEL0301", f"a list of {count} does not fit `{show(wanted)}`", node.span)
            return UNKNOWN
        return wanted
    if any(isinstance(m, JsonType) for m in _members(c, expected)):
        for item in node.items:
            c.check(item, JsonType())
        return ListType(JsonType())
    return sure(ListType(alike(c, node.items), count, count)) if count else ListType(Never(), 0, 0)


def alike(c: Checker, items: tuple[n.Expr, ...]) -> Type:
    """One type for all items; number literals take the type of the others."""
    whole: Type = Never()
    literals = [item for item in items if is_number(item)]
    if 0 < len(literals) < len(items) or any(not is_whole(item) for item in literals):
        for item in items:
            if not is_number(item) or not is_whole(item):
                whole = c.join(whole, c.infer(item))
        for item in literals:
            if is_whole(item):
                numeric = isinstance(whole, IntType | DecimalType | FLOAT.__class__)
                whole = c.join(whole, _base(c, item, whole) if numeric else c.infer(item))
        return whole
    for item in items:
        whole = c.join(whole, c.infer(item))
    return whole


def _base(c: Checker, item: n.Expr, wanted: Type) -> Type:
    """Look at a number literal as one of the kind of `wanted`, without its bounds."""
    target: Type = INT if isinstance(wanted, IntType) else DECIMAL if isinstance(wanted, DecimalType) else FLOAT
    c.check(item, target)
    return target


def is_number(node: n.Expr) -> bool:
    """Whether an expression is made of number literals only, so that it can be of any number type."""
    match node:
        case n.IntLit() | n.FloatLit():
            return True
        case n.Unary(op="-", operand=operand):
            return is_number(operand)
        case n.Binary(op="+" | "-" | "*", left=left, right=right):
            return is_number(right) and is_number(left)
        case _:
            return False


def is_whole(node: n.Expr) -> bool:
    """Whether number literals (see `is_number`) are all written without a fraction."""
    match node:
        case n.IntLit():
            return True
        case n.Unary(operand=operand):
            return is_whole(operand)
        case n.Binary(left=left, right=right):
            return is_whole(right) and is_whole(left)
        case _:
            return False


def map_literal(c: Checker, node: n.MapLit, expected: Type | None) -> Type:
    members = _members(c, expected)
    maps = [m for m in members if isinstance(m, MapType)]
    _keys(c, node)
    count = len(node.entries)
    if len(maps) == 1:
        wanted = maps[0]
        for entry in node.entries:
            c.check(entry.value, wanted.value)
        if (wanted.max is not None and count > wanted.max) or (wanted.min is not None and count < wanted.min):
            c.report("AEL0301", f"a map of {count} does not fit `{show(wanted)}`", node.span)
            return UNKNOWN
        return wanted
    if any(isinstance(m, JsonType) for m in members):
        for entry in node.entries:
            c.check(entry.value, JsonType())
        return MapType(JsonType())
    values = tuple(entry.value for entry in node.entries)
    return sure(MapType(alike(c, values), None, count)) if count else MapType(Never(), 0, 0)


def _keys(c: Checker, node: n.MapLit) -> None:
    seen: dict[str, n.Expr] = {}
    for entry in node.entries:
        c.check(entry.key, STRING, " as the key of a map")
        key = entry.key
        if isinstance(key, n.StringLit) and all(isinstance(part, n.TextPart) for part in key.parts):
            text = "".join(part.text for part in key.parts if isinstance(part, n.TextPart))
            if (first := seen.setdefault(text, key)) is not key:
                labels = (c.label(first.span, "first here"),)
                c.report("AEL0307", f'the key `"{text}"` stands here twice', key.span, labels=labels)
