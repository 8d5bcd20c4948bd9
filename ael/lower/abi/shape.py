"""Whether a value belongs to a member of a union, where its Python class alone does not say so.

Values are known to belong to one of the members, which the check found to be told apart by JSON kind, a constant field or shape.
So this looks at classes, constants and keys, and not at bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal

from ael.types.definition import AliasDef, Definitions, EnumDef, FieldDef, RecordDef
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
)
from ael.types.value import File, Secret

_CLASSES: dict[type, type] = {
    StringType: str, IntType: int, FloatType: float, BoolType: bool, DecimalType: Decimal, BytesType: bytes,
    TimestampType: datetime, DateType: date, DurationType: timedelta, FileType: File, SecretType: Secret,
    NullType: type(None), UnitType: type(None),
}  # fmt: skip
_BUILT_IN: dict[str, tuple[str, ...]] = {"Fault": ("kind", "message"), "Uncertain": ("key", "operation", "step")}


def belongs(type: Type, definitions: Definitions) -> Callable[[object], bool]:
    """A test of values of a union that `type` is a member of."""
    return lambda value: _belongs(value, type, definitions, 0)


def _belongs(value: object, of: Type, definitions: Definitions, depth: int) -> bool:
    if depth > 64:
        return True
    depth += 1
    expected = _CLASSES.get(type(of))
    if expected is not None:
        return type(value) is expected
    match of:
        case LiteralType(literal):
            return type(value) is type(literal) and value == literal
        case ListType(inner):
            return type(value) is list and all(_belongs(x, inner, definitions, depth) for x in value)
        case MapType(inner):
            return type(value) is dict and all(_belongs(x, inner, definitions, depth) for x in value.values())
        case AnonymousRecord(fields):
            return _record(value, [FieldDef(n, n, t) for n, t in fields], None, definitions, depth)
        case CheckedType(inner):
            return _belongs(value, inner, definitions, depth)
        case Never():
            return False
        case UnionType(members):
            return any(_belongs(value, m, definitions, depth) for m in members)
        case Named(name):
            return _named(value, name, definitions, depth)
        case _:
            return True


def _named(value: object, name: str, definitions: Definitions, depth: int) -> bool:
    match definitions.get(name):
        case RecordDef(fields=fields) as record:
            return _record(value, fields, record.other, definitions, depth)
        case EnumDef(variants=variants):
            if type(value) is str:
                return any(v.name == value and not v.fields for v in variants)
            if type(value) is not dict:
                return False
            variant = next((v for v in variants if v.fields and v.name == value.get("kind")), None)
            return variant is not None and _record(value, variant.fields, JsonType(), definitions, depth)
        case AliasDef(type=inner):
            return _belongs(value, inner, definitions, depth)
        case None:
            return type(value) is dict and all(key in value for key in _BUILT_IN.get(name, ()))


def _record(value: object, fields: Sequence[FieldDef], other: Type | None, definitions: Definitions, depth: int) -> bool:
    if type(value) is not dict:
        return False
    known = {f.wire for f in fields}
    for key, entry in value.items():
        if key not in known and (other is None or not _belongs(entry, other, definitions, depth)):
            return False
    for one in fields:
        if one.wire in value:
            if not _belongs(value[one.wire], one.type, definitions, depth):
                return False
        elif one.required:
            return False
    return True
