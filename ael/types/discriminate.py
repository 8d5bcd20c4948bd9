"""Telling the members of a union apart: by JSON kind, by a constant field, or by shape.

`ambiguous` is what the checker asks of a union in source: members that some value could belong to at once are refused, because
which one a decoder took would then depend on their order. A constant beside its type (`"auto" | String`), or `null` beside
`Json`, is no question: the value is the same whichever is taken.
"""

from __future__ import annotations

from collections.abc import Sequence

from ael.data import dataclass
from ael.types.definition import AliasDef, Definitions, EnumDef, FieldDef, RecordDef, VariantDef
from ael.types.pattern import matches
from ael.types.times import parse_date, parse_duration, parse_timestamp
from ael.types.type import (
    AnonymousRecord,
    BoolType,
    BytesType,
    CheckedType,
    DateType,
    DecimalType,
    DurationType,
    FileType,
    FloatType,
    FunctionType,
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
    UnitType,
    Unknown,
    Variable,
)

_ALL = frozenset({"string", "number", "boolean", "null", "array", "object"})
_DEPTH = 16
FILE_FIELDS = (
    FieldDef("media", "media", StringType()),
    FieldDef("data", "data", StringType(), optional=True),
    FieldDef("uri", "uri", StringType(), optional=True),
)
"""The JSON form of a File: its media type, and its content in base64 or where it is."""


class VariantName(LiteralType):
    """The text that a plain variant is: a constant that means more than a text, so that it has to be told apart from one."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """The keys of an object, and the type of the values of others; None where there may be none."""

    fields: tuple[FieldDef, ...]
    other: Type | None = None


def variant_shape(variant: VariantDef) -> Shape:
    """The object that a variant with fields is on the wire: `kind` first."""
    return Shape((FieldDef("kind", "kind", LiteralType(variant.name)), *variant.fields))


def ambiguous(members: Sequence[Type], definitions: Definitions) -> tuple[Type, Type] | None:
    """The first two members that one value could belong to with different meaning; None where all are told apart."""
    flat = [part for member in members for part in _flatten(member, definitions, frozenset())]
    for at, (origin, first) in enumerate(flat):
        for other, second in flat[at + 1 :]:
            if (origin != other or first == second) and not _harmless(first, second) and not disjoint(first, second, definitions):
                return origin, other
    return None


def kinds(type: Type, definitions: Definitions) -> frozenset[str]:
    """The JSON kinds that values of `type` have in JSON."""
    found: frozenset[str] = frozenset()
    for _, part in _flatten(type, definitions, frozenset()):
        found |= _kinds(part)
    return found


def _flatten(type: Type, definitions: Definitions, seen: frozenset[str]) -> list[tuple[Type, Type | Shape]]:
    """The parts of a type that are no unions, each with the member as it was written."""
    match type:
        case CheckedType(inner):
            return [(type, part) for _, part in _flatten(inner, definitions, seen)]
        case UnionType(members):
            return [(m, part) for m in members for _, part in _flatten(m, definitions, seen)]
        case AnonymousRecord(fields):
            return [(type, Shape(tuple(FieldDef(n, n, t) for n, t in fields)))]
        case FileType():
            return [(type, Shape(FILE_FIELDS))]
        case Named(name):
            match definitions.get(name):
                case RecordDef() as record:
                    return [(type, Shape(record.fields, record.other))]
                case EnumDef(variants=variants):
                    return [(type, variant_shape(v) if v.fields else VariantName(v.name)) for v in variants]
                case AliasDef(type=inner) if name not in seen:
                    return [(type, part) for _, part in _flatten(inner, definitions, seen | {name})]
            return []
        case Never() | Unknown():
            return []
        case _:
            return [(type, type)]


def _kinds(part: Type | Shape) -> frozenset[str]:
    match part:
        case StringType() | BytesType() | TimestampType() | DateType() | DurationType():
            return frozenset({"string"})
        case LiteralType(value):
            return frozenset({"string" if isinstance(value, str) else "boolean" if isinstance(value, bool) else "number"})
        case IntType() | FloatType():
            return frozenset({"number"})
        case DecimalType():
            return frozenset({"number", "string"})
        case BoolType():
            return frozenset({"boolean"})
        case NullType() | UnitType():
            return frozenset({"null"})
        case ListType():
            return frozenset({"array"})
        case MapType() | Shape():
            return frozenset({"object"})
        case JsonType() | Variable():
            return _ALL
        case SecretType():
            return frozenset({"secret"})
        case FunctionType():
            return frozenset({"function"})
        case _:
            return frozenset()


def _harmless(a: Type | Shape, b: Type | Shape) -> bool:
    if isinstance(a, VariantName) or isinstance(b, VariantName):
        return False
    match a, b:
        case (LiteralType(), StringType() | IntType() | BoolType()) | (StringType() | IntType() | BoolType(), LiteralType()):
            return True
        case (NullType(), JsonType()) | (JsonType(), NullType()):
            return True
    return False


def disjoint(a: Type | Shape, b: Type | Shape, definitions: Definitions, depth: int = 0) -> bool:
    """Whether no JSON value belongs to both. Errs towards False: what is not seen to be apart is not."""
    if depth > _DEPTH:
        return False
    if _composite(a) or _composite(b):
        firsts = [part for _, part in _flatten(a, definitions, frozenset())] if not isinstance(a, Shape) else [a]
        seconds = [part for _, part in _flatten(b, definitions, frozenset())] if not isinstance(b, Shape) else [b]
        return all(disjoint(x, y, definitions, depth + 1) for x in firsts for y in seconds)
    if not _kinds(a) & _kinds(b):
        return True
    match a, b:
        case Shape(), Shape():
            return _shapes_apart(a, b, definitions, depth)
        case (Shape() as shape, MapType(value=value)) | (MapType(value=value), Shape() as shape):
            return any(f.required and disjoint(f.type, value, definitions, depth + 1) for f in shape.fields)
        case ListType(), ListType():
            return _lengths_apart(a, b) or (bool(a.min or b.min) and disjoint(a.item, b.item, definitions, depth + 1))
        case MapType(), MapType():
            return _lengths_apart(a, b) or (bool(a.min or b.min) and disjoint(a.value, b.value, definitions, depth + 1))
        case LiteralType(), LiteralType():
            return a != b
        case (LiteralType() as literal, other) | (other, LiteralType() as literal):
            return not _takes(other, literal.value)
        case (TimestampType() | DateType() | DurationType(), TimestampType() | DateType() | DurationType()):
            return a != b
    return False


def _composite(part: Type | Shape) -> bool:
    return isinstance(part, UnionType | Named | AnonymousRecord | FileType | CheckedType)


def _lengths_apart(a: ListType | MapType, b: ListType | MapType) -> bool:
    return (a.max is not None and a.max < (b.min or 0)) or (b.max is not None and b.max < (a.min or 0))


def _shapes_apart(a: Shape, b: Shape, definitions: Definitions, depth: int) -> bool:
    return any(_apart_by(one, two, definitions, depth) for one, two in ((a, b), (b, a)))


def _apart_by(a: Shape, b: Shape, definitions: Definitions, depth: int) -> bool:
    """Whether some field that `a` requires cannot be there, or not so, in `b`."""
    known = {f.wire: f for f in b.fields}
    for field in a.fields:
        if field.required:
            other = known[field.wire].type if field.wire in known else b.other
            if other is None or disjoint(field.type, other, definitions, depth + 1):
                return True
    return False


def _takes(type: Type | Shape, value: str | int | bool) -> bool:
    """Whether a constant is a JSON value of `type`, which is no union and no declared type."""
    match type, value:
        case (TimestampType(), str()):
            return parse_timestamp(value) is not None
        case (DateType(), str()):
            return parse_date(value) is not None
        case (DurationType(), str()):
            return parse_duration(value) is not None
        case (StringType(low, high, pattern), str()):
            return (
                (low or 0) <= len(value)
                and (high is None or len(value) <= high)
                and (pattern is None or matches(pattern, value))
            )  # fmt: skip
        case (IntType(low, high), int()):
            return (low is None or low <= value) and (high is None or value <= high)
    return True
