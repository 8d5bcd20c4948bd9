"""How values stand in text (`"${x}"`) and how types stand in messages. Both have one form each, fixed here."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import assert_never

from ael.types.definition import AliasDef, Definitions, EnumDef
from ael.types.times import print_date, print_duration, print_timestamp
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

_UNITS = ((1 << 30, "GiB"), (10**9, "GB"), (1 << 20, "MiB"), (10**6, "MB"), (1 << 10, "KiB"), (10**3, "KB"))
_SHOW_LIMIT = 400
_SHOW_DEPTH = 12


def text_of(value: object) -> str:
    """The text form of a scalar, a time or a plain enum, as `${value}` gives it.

    Anything else is a TypeError: the checker lets none through.
    """
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return repr(value)
        case Decimal():
            return decimal_text(value)
        case datetime():
            return print_timestamp(value)
        case date():
            return print_date(value)
        case timedelta():
            return print_duration(value)
        case None:
            return "null"
    raise TypeError(f"a {type(value).__name__} has no text form")


def decimal_text(value: Decimal) -> str:
    """Digits without an exponent, as written: `0.10` stays `0.10`."""
    return format(value, "f")


def has_text(type: Type, definitions: Definitions) -> bool:
    """Whether `${x}` takes an `x` of this type: scalars, times and plain enums, and unions of them without `null`."""
    return _has_text(type, definitions, frozenset())


def _has_text(type: Type, definitions: Definitions, seen: frozenset[str]) -> bool:
    match type:
        case StringType() | IntType() | FloatType() | DecimalType() | BoolType() | LiteralType():
            return True
        case TimestampType() | DateType() | DurationType() | Never() | Unknown():
            return True
        case CheckedType(inner):
            return _has_text(inner, definitions, seen)
        case UnionType(members):
            return all(_has_text(m, definitions, seen) for m in members)
        case Named(name):
            match definitions.get(name):
                case EnumDef() as enum:
                    return enum.plain
                case AliasDef(type=inner):
                    return name not in seen and _has_text(inner, definitions, seen | {name})
                case _:
                    return False
        case _:
            return False


def show(type: Type) -> str:
    """The type as source writes it: `String(max: 64)`, `List<Order>`, `Topic?`. Bounded: a huge type is cut with `…`."""
    text = _show(type, 0)
    return text if len(text) <= _SHOW_LIMIT else text[: _SHOW_LIMIT - 1] + "…"


def _show(type: Type, depth: int) -> str:
    if depth > _SHOW_DEPTH:
        return "…"
    match type:
        case CheckedType(inner):
            return _show(inner, depth)
        case StringType(low, high, pattern, form):
            return "String" + _bounds(low, high, pattern=pattern, format=form)
        case IntType(low, high):
            return "Int" + _range(low, high)
        case FloatType(low, high):
            return "Float" + _range(low, high)
        case DecimalType(low, high):
            return "Decimal" + _range(low, high)
        case BytesType(low, high):
            return "Bytes" + _bounds(_size(low), _size(high))
        case BoolType():
            return "Bool"
        case TimestampType():
            return "Timestamp"
        case DateType():
            return "Date"
        case DurationType():
            return "Duration"
        case JsonType():
            return "Json"
        case UnitType():
            return "Unit"
        case NullType():
            return "null"
        case SecretType():
            return "Secret"
        case FileType(media, high):
            return "File" + _bounds(None, _size(high), media=media)
        case LiteralType(value):
            return json.dumps(value, ensure_ascii=False)
        case ListType(item, low, high):
            return f"List<{_show(item, depth + 1)}>" + _bounds(low, high)
        case MapType(value, low, high):
            return f"Map<String, {_show(value, depth + 1)}>" + _bounds(low, high)
        case Named(name):
            return name.rpartition(".")[2]
        case AnonymousRecord(fields):
            return "{ " + ", ".join(f"{n}: {_show(t, depth + 1)}" for n, t in fields) + " }" if fields else "{}"
        case UnionType(members):
            return _show_union(members, depth)
        case FunctionType(parameters, result):
            return f"fn({', '.join(_show(p, depth + 1) for p in parameters)}) -> {_show(result, depth + 1)}"
        case Variable(name):
            return name
        case Never():
            return "Never"
        case Unknown():
            return "unknown"
        case _:
            assert_never(type)


def _show_union(members: tuple[Type, ...], depth: int) -> str:
    parts = [_show(m, depth + 1) for m in members if not isinstance(m, NullType)]
    if len(parts) == len(members):
        return " | ".join(f"({p})" if isinstance(m, FunctionType) else p for p, m in zip(parts, members, strict=True))
    if len(parts) == 1:
        return f"({parts[0]})?" if isinstance(members[0], FunctionType) else f"{parts[0]}?"
    return " | ".join([*parts, "null"])


def _range(low: object, high: object) -> str:
    if low is not None and high is not None:
        return f"({_number(low)}..{_number(high)})"
    return _bounds(low, high)


def _bounds(low: object, high: object, **texts: str | None) -> str:
    parts = [f"{name}: {_number(value)}" for name, value in (("min", low), ("max", high)) if value is not None]
    parts += [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in texts.items() if value is not None]
    return f"({', '.join(parts)})" if parts else ""


def _number(value: object) -> str:
    return value if isinstance(value, str) else text_of(value)


def _size(count: int | None) -> str | None:
    if not count:
        return None if count is None else "0"
    return next((f"{count // unit}{name}" for unit, name in _UNITS if count % unit == 0), str(count))
