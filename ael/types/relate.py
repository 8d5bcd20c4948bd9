"""How types stand to each other: what fits where, what two branches give together, what is data.

Values are immutable, so lists, maps and anonymous records are covariant. There is no implicit conversion: an `Int` is no `Float`.
A narrower bound fits a wider one; everything else about declared types goes by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from types import MappingProxyType
from typing import TypeVar

from ael.types.definition import AliasDef, Definitions, EnumDef, RecordDef
from ael.types.pattern import matches
from ael.types.type import (
    AnonymousRecord,
    BoolType,
    BytesType,
    CheckedType,
    DecimalType,
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
    Type,
    UnionType,
    Unknown,
    Variable,
    union,
)

_NOTHING: Definitions = MappingProxyType({})
_Bound = TypeVar("_Bound", int, float, Decimal)


def fits(source: Type, target: Type, definitions: Definitions) -> bool:
    """Whether every value of `source` is a value of `target`. `Never` fits everywhere, `Unknown` on either side too."""
    return _fits(source, target, definitions, frozenset())


def _fits(source: Type, target: Type, definitions: Definitions, assumed: frozenset[tuple[Type, Type]]) -> bool:
    if source == target or isinstance(source, Never | Unknown) or isinstance(target, Unknown):
        return True
    if (source, target) in assumed:
        return True  # recursive aliases: what holds as long as nothing speaks against it
    if isinstance(source, Named) and isinstance(alias := definitions.get(source.name), AliasDef):
        return _fits(alias.type, target, definitions, assumed | {(source, target)})
    if isinstance(target, Named) and isinstance(alias := definitions.get(target.name), AliasDef):
        return _fits(source, alias.type, definitions, assumed | {(source, target)})

    def inner(a: Type, b: Type) -> bool:
        return _fits(a, b, definitions, assumed)

    if isinstance(source, CheckedType):
        return inner(source.inner, target)
    if isinstance(source, UnionType):
        return all(inner(member, target) for member in source.members)
    if isinstance(target, UnionType):
        if any(inner(source, member) for member in target.members):
            return True
        return isinstance(source, BoolType) and inner(LiteralType(True), target) and inner(LiteralType(False), target)
    if isinstance(target, JsonType):
        return _fits_json(source, definitions)
    return _fits_plain(source, target, inner)


def _fits_plain(source: Type, target: Type, inner: Callable[[Type, Type], bool]) -> bool:
    match source, target:
        case LiteralType(value), _:
            return _literal_fits(value, target)
        case StringType(low, high, pattern, form), StringType():
            return (
                _within(low, high, target.min, target.max)
                and target.pattern in (None, pattern)
                and target.format in (None, form)
            )  # fmt: skip
        case (
            (IntType(low, high), IntType(to_low, to_high))
            | (FloatType(low, high), FloatType(to_low, to_high))
            | (DecimalType(low, high), DecimalType(to_low, to_high))
        ):
            return (to_low is None or (low is not None and low >= to_low)) and (
                to_high is None or (high is not None and high <= to_high)
            )
        case BytesType(low, high), BytesType():
            return _within(low, high, target.min, target.max)
        case FileType(media, high), FileType():
            return _media_fits(media, target.media) and _within(None, high, None, target.max)
        case ListType(item, low, high), ListType():
            return inner(item, target.item) and _within(low, high, target.min, target.max)
        case MapType(value, low, high), MapType():
            return inner(value, target.value) and _within(low, high, target.min, target.max)
        case AnonymousRecord(fields), AnonymousRecord(wanted):
            return len(fields) == len(wanted) and all(
                name == to_name and inner(type, to_type) for (name, type), (to_name, to_type) in zip(fields, wanted, strict=True)
            )
        case FunctionType(parameters, result), FunctionType():
            return (
                len(parameters) == len(target.parameters)
                and all(inner(wanted, had) for wanted, had in zip(target.parameters, parameters, strict=True))
                and inner(result, target.result)
            )
        case _:
            return False


def _within(low: int | None, high: int | None, to_low: int | None, to_high: int | None) -> bool:
    # a length is never below zero, so `min: 0` asks for nothing
    return (not to_low or (low or 0) >= to_low) and (to_high is None or (high is not None and high <= to_high))


def _literal_fits(value: str | int | bool, target: Type) -> bool:
    match target:
        case StringType(low, high, pattern, form):
            return (
                isinstance(value, str)
                and (low or 0) <= len(value)
                and (high is None or len(value) <= high)
                and (pattern is None or matches(pattern, value))
                and form is None  # a format is decided where the text is decoded, not here
            )
        case IntType(low, high):
            return (
                isinstance(value, int)
                and not isinstance(value, bool)
                and (low is None or low <= value)
                and (high is None or value <= high)
            )  # fmt: skip
        case BoolType():
            return isinstance(value, bool)
        case _:
            return False


def _media_fits(media: str | None, wanted: str | None) -> bool:
    if wanted is None or wanted == "*/*" or media == wanted:
        return True
    return media is not None and wanted.endswith("/*") and media.startswith(wanted[:-1])


def _fits_json(source: Type, definitions: Definitions) -> bool:
    """Whether the values are JSON as they stand; a Decimal, time, bytes or file has only a JSON form."""
    return all(isinstance(leaf, _JSON_LEAVES) for leaf in _leaves(source, definitions))


_JSON_LEAVES = (StringType, IntType, FloatType, BoolType, NullType, LiteralType, JsonType, Never, Unknown)


def _leaves(type: Type, definitions: Definitions) -> Iterator[Type]:
    """What a type is made of at any depth, each declared type looked into once (chains of records may be long)."""
    stack: list[Type] = [type]
    seen: set[str] = set()
    while stack:
        match stack.pop():
            case ListType(inner) | MapType(inner) | CheckedType(inner):
                stack.append(inner)
            case AnonymousRecord(fields):
                stack.extend(t for _, t in fields)
            case UnionType(members):
                stack.extend(members)
            case Named(name):
                if name not in seen:
                    seen.add(name)
                    stack.extend(_parts(name, definitions))
            case leaf:
                yield leaf


def _parts(name: str, definitions: Definitions) -> tuple[Type, ...]:
    match definitions.get(name):
        case RecordDef(fields=fields, extra=extra):
            return (*(f.type for f in fields), *(() if extra is None else (extra,)))
        case EnumDef(variants=variants):
            return tuple(f.type for v in variants for f in v.fields)
        case AliasDef(type=inner):
            return (inner,)
        case None:
            return (Unknown(),)


def join(a: Type, b: Type, definitions: Definitions = _NOTHING) -> Type:
    """The type of what is either: the wider one, the same type with wider bounds, or the union."""
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return Unknown()
    if fits(a, b, definitions):
        return b
    if fits(b, a, definitions):
        return a
    parts: list[Type] = []
    for member in [*_members(a), *_members(b)]:
        for at, part in enumerate(parts):
            if (merged := _merge(part, member, definitions)) is not None:
                parts[at] = merged
                break
        else:
            parts.append(member)
    return union(*parts)


def _members(type: Type) -> tuple[Type, ...]:
    return type.members if isinstance(type, UnionType) else (type,)


def _merge(a: Type, b: Type, definitions: Definitions) -> Type | None:
    """One type for both where they differ in bounds only."""
    if fits(a, b, definitions):
        return b
    if fits(b, a, definitions):
        return a
    match a, b:
        case StringType(), StringType():
            return StringType(
                _lower(a.min, b.min),
                _upper(a.max, b.max),
                a.pattern if a.pattern == b.pattern else None,
                a.format if a.format == b.format else None,
            )
        case (StringType() as wide, LiteralType(str() as text)) | (LiteralType(str() as text), StringType() as wide):
            return StringType(_lower(wide.min, len(text)), _upper(wide.max, len(text)))
        case IntType(), IntType():
            return IntType(_lower(a.min, b.min), _upper(a.max, b.max))
        case (IntType() as wide, LiteralType(int() as n)) | (LiteralType(int() as n), IntType() as wide) if type(n) is int:
            return IntType(_lower(wide.min, n), _upper(wide.max, n))
        case FloatType(), FloatType():
            return FloatType(_lower(a.min, b.min), _upper(a.max, b.max))
        case DecimalType(), DecimalType():
            return DecimalType(_lower(a.min, b.min), _upper(a.max, b.max))
        case BytesType(), BytesType():
            return BytesType(_lower(a.min, b.min), _upper(a.max, b.max))
        case FileType(), FileType():
            return FileType(a.media if a.media == b.media else None, _upper(a.max, b.max))
        case ListType(), ListType():
            return ListType(join(a.item, b.item, definitions), _lower(a.min, b.min), _upper(a.max, b.max))
        case MapType(), MapType():
            return MapType(join(a.value, b.value, definitions), _lower(a.min, b.min), _upper(a.max, b.max))
        case _:
            return None


def _lower(a: _Bound | None, b: _Bound | None) -> _Bound | None:
    return None if a is None or b is None else min(a, b)


def _upper(a: _Bound | None, b: _Bound | None) -> _Bound | None:
    return None if a is None or b is None else max(a, b)


def is_data(type: Type, definitions: Definitions = _NOTHING) -> bool:
    """Whether values can leave and enter the program: everything but functions, secrets and type parameters, at any depth."""
    return not any(isinstance(leaf, FunctionType | SecretType | Variable) for leaf in _leaves(type, definitions))
