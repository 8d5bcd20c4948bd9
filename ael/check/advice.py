"""What to do about a value of the wrong type: the notes below a mismatch."""

from __future__ import annotations

from ael.syntax import nodes as n
from ael.types.type import (
    BytesType,
    DecimalType,
    FloatType,
    IntType,
    JsonType,
    ListType,
    MapType,
    NullType,
    StringType,
    Type,
    UnionType,
    UnitType,
)

_CONVERSIONS: dict[tuple[type, type], str] = {
    (IntType, FloatType): "`.to_float()` makes a Float of it",
    (IntType, DecimalType): "`.to_decimal()` makes a Decimal of it",
    (FloatType, IntType): "`.round()`, `.floor()` or `.ceil()` and then `.to_int()` make an Int of it",
    (FloatType, DecimalType): "`.to_decimal()` makes a Decimal of it",
    (DecimalType, FloatType): "`.to_float()` makes a Float of it",
    (IntType, StringType): '`"${x}"` makes text of it',
    (FloatType, StringType): '`"${x}"` makes text of it',
    (DecimalType, StringType): '`"${x}"` makes text of it',
    (StringType, IntType): "`.to_int()` reads a number from text; it gives null when there is none",
    (StringType, FloatType): "`.to_float()` reads a number from text; it gives null when there is none",
}
_BOUNDED = (StringType, IntType, FloatType, DecimalType, BytesType, ListType, MapType)


def hints(node: n.Node, found: Type, expected: Type) -> tuple[str, ...]:
    """Notes for a value of type `found` where `expected` is asked for."""
    if isinstance(found, UnionType) and NullType() in found.members and not _takes_null(expected):
        return ("the value may be null: `??` gives another one in its place, and `if x != null { … }` asks first",)
    if isinstance(found, UnitType):
        if isinstance(node, n.If) and node.otherwise is None:
            return ("an `if` without an `else` gives nothing",)
        return ("it gives nothing",)
    if type(found) is type(expected) and isinstance(found, _BOUNDED) and _same_content(found, expected):
        return ("the value may lie outside of these bounds: `type Name = …` names the type, and `Name.check(x)` checks it",)
    if isinstance(expected, JsonType):
        return ("`json(x)` gives the JSON form of a value",)
    target: Type = expected
    if isinstance(expected, UnionType) and len(expected.members) == 2 and isinstance(expected.members[1], NullType):
        target = expected.members[0]
    advice = _CONVERSIONS.get((type(found), type(target)))
    return (f"nothing is converted by itself: {advice}",) if advice else ()


def _takes_null(type: Type) -> bool:
    return isinstance(type, NullType) or (isinstance(type, UnionType) and NullType() in type.members)


def _same_content(found: Type, expected: Type) -> bool:
    if isinstance(found, ListType) and isinstance(expected, ListType):
        return found.item == expected.item
    if isinstance(found, MapType) and isinstance(expected, MapType):
        return found.value == expected.value
    return True
