"""How the members of a union are sorted for decoding: by the Python type of the value, then by a constant field."""

from __future__ import annotations

from collections.abc import Sequence

from ael.types.decode_leaf import Direction
from ael.types.definition import Definitions, EnumDef, FieldDef, RecordDef
from ael.types.reach import resolve
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
    NullType,
    SecretType,
    StringType,
    TimestampType,
    Type,
    UnionType,
    UnitType,
)

_JSON = ("str", "int", "float", "Decimal", "bool", "NoneType", "list", "dict")
_OWN = {
    DecimalType: (("str", "int", "float", "Decimal"), ("Decimal", "int")),
    BytesType: (("str",), ("bytes",)),
    TimestampType: (("str",), ("datetime",)),
    DateType: (("str",), ("date",)),
    DurationType: (("str",), ("timedelta",)),
    FileType: (("dict",), ("File",)),
    SecretType: ((), ("Secret",)),
    StringType: (("str",), ("str",)),
    IntType: (("int", "float", "Decimal"), ("int", "float")),
    FloatType: (("float", "int", "Decimal"), ("float", "int")),
    BoolType: (("bool",), ("bool",)),
    UnitType: (("NoneType",), ("NoneType",)),
    NullType: (("NoneType",), ("NoneType",)),
    ListType: (("list",), ("list",)),
    MapType: (("dict",), ("dict",)),
    AnonymousRecord: (("dict",), ("dict",)),
    JsonType: (_JSON, _JSON),
    FunctionType: ((), ("FunctionType",)),
}


def group_by_type(members: Sequence[Type], definitions: Definitions, direction: Direction) -> dict[str, list[Type]]:
    """Python type -> the members whose values it can be, in their order. Unions inside are members of this one."""
    groups: dict[str, list[Type]] = {}
    for member in members:
        for python in _python_types(member, definitions, direction, frozenset()):
            inner = resolve(member, definitions)
            flat = inner.members if isinstance(inner, UnionType) and inner.rule != "one" else (member,)
            if flat == (member,):
                groups.setdefault(python, []).append(inner)
            elif python not in groups or not set(flat) & set(groups[python]):
                groups.setdefault(python, []).extend(
                    m for m in flat if python in _python_types(m, definitions, direction, frozenset())
                )
    return groups


def _python_types(type: Type, definitions: Definitions, direction: Direction, seen: frozenset[Type]) -> tuple[str, ...]:
    inner = resolve(type, definitions)
    match inner:
        case LiteralType(value):
            return _OWN[IntType][direction is not Direction.DECODE] if value.__class__ is int else (value.__class__.__name__,)
        case CheckedType(checked):
            return _python_types(checked, definitions, direction, seen)
        case UnionType(members):
            if inner in seen:
                return ()
            found = [name for m in members for name in _python_types(m, definitions, direction, seen | {inner})]
            return tuple(dict.fromkeys(found))
        case Named(name):
            match definitions.get(name):
                case RecordDef():
                    return ("dict",)
                case EnumDef(variants=variants):
                    return tuple(dict.fromkeys("dict" if v.fields else "str" for v in variants))
            return ()
        case _:
            return _OWN.get(inner.__class__, ((), ()))[direction is not Direction.DECODE]


def tag_of(members: Sequence[Type], definitions: Definitions) -> tuple[str, list[tuple[str | int | bool, ...]]] | None:
    """A key that every member requires with constants of its own, and these constants, member by member."""
    shapes = [_constants(member, definitions) for member in members]
    for key in shapes[0]:
        values = [shape.get(key, ()) for shape in shapes]
        if all(values):
            flat = [(value.__class__, value) for allowed in values for value in allowed]
            if len(set(flat)) == len(flat):
                return key, values
    return None


def _constants(type: Type, definitions: Definitions) -> dict[str, tuple[str | int | bool, ...]]:
    match type:
        case CheckedType(inner):
            return _constants(resolve(inner, definitions), definitions)
        case AnonymousRecord(fields):
            return _of_fields([FieldDef(n, n, t) for n, t in fields], definitions)
        case Named(name):
            match definitions.get(name):
                case RecordDef(fields=record):
                    return _of_fields(record, definitions)
                case EnumDef(variants=variants):
                    return {"kind": tuple(v.name for v in variants if v.fields)}
    return {}


def _of_fields(fields: Sequence[FieldDef], definitions: Definitions) -> dict[str, tuple[str | int | bool, ...]]:
    found: dict[str, tuple[str | int | bool, ...]] = {}
    for field in fields:
        inner = resolve(field.type, definitions)
        options = inner.members if isinstance(inner, UnionType) else (inner,)
        values = tuple(o.value for o in options if isinstance(o, LiteralType))
        if field.required and len(values) == len(options):
            found[field.wire] = values
    return found
