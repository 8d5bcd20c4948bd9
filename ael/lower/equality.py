"""Where Python's `==` is not AEL's: it takes `True` for `1`."""

from __future__ import annotations

from ael.types.definition import AliasDef, Definitions, EnumDef, RecordDef
from ael.types.type import (
    AnonymousRecord,
    BoolType,
    DecimalType,
    FloatType,
    IntType,
    JsonType,
    ListType,
    LiteralType,
    MapType,
    Named,
    Type,
    UnionType,
    Unknown,
    Variable,
)


def mixes(type: Type, definitions: Definitions) -> bool:
    """Whether a Bool and a number can stand in the same place of two values of this type."""
    return _mixes(type, definitions, set())


def _mixes(type: Type, definitions: Definitions, seen: set[str]) -> bool:
    match type:
        case JsonType() | Variable() | Unknown():
            return True
        case UnionType(members):
            truth = any(_is_bool(m) for m in members)
            number = any(_is_number(m) for m in members)
            return (truth and number) or any(_mixes(m, definitions, seen) for m in members)
        case ListType(item=inner) | MapType(value=inner):
            return _mixes(inner, definitions, seen)
        case AnonymousRecord(fields):
            return any(_mixes(t, definitions, seen) for _, t in fields)
        case Named(name) if name not in seen:
            seen.add(name)
            match definitions.get(name):
                case RecordDef() as record:
                    return record.open or any(_mixes(f.type, definitions, seen) for f in record.fields)
                case EnumDef(variants=variants):
                    return any(_mixes(f.type, definitions, seen) for v in variants for f in v.fields)
                case AliasDef(type=inner):
                    return _mixes(inner, definitions, seen)
                case None:
                    return False
            return False
        case _:
            return False


def _is_bool(type: Type) -> bool:
    return isinstance(type, BoolType) or (isinstance(type, LiteralType) and isinstance(type.value, bool))


def _is_number(type: Type) -> bool:
    match type:
        case IntType() | FloatType() | DecimalType():
            return True
        case LiteralType(value):
            return isinstance(value, int) and not isinstance(value, bool)
        case _:
            return False
