"""Python objects as AEL values: what a user hands in, and what a function of theirs gives back. Nothing is checked here but what it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import Enum
from typing import Any

from ael.embed.annotation import is_model
from ael.types.definition import AliasDef, Definitions, EnumDef, RecordDef
from ael.types.type import CheckedType, JsonType, ListType, LiteralType, MapType, Named, NullType, Type, UnionType

_DEEPEST = 256
"""Levels; what is deeper is handed on as it is, and refused where values are checked."""


def value_of(value: object, type: Type, definitions: Definitions, depth: int = 0) -> object:
    """The value that a Python object stands for: a record for a dataclass, a `TypedDict`, a named tuple or a pydantic model, the name
    for a member of an `Enum`, a list for a tuple. A field of a class that is `None` is left out where the record says it may be.
    """
    if depth > _DEEPEST:
        return value
    match value:
        case Enum():
            return _name(value, type, definitions)
        case None | str() | int() | float() | bytes():
            return value
        case Mapping():
            return {key: value_of(one, _field(key, type, definitions), definitions, depth + 1) for key, one in value.items()}
        case tuple() if hasattr(value, "_asdict"):
            return _record(value._asdict(), value.__class__.__name__, type, definitions, depth)
        case list() | tuple():
            item = _item(type, definitions)
            return [value_of(one, item, definitions, depth + 1) for one in value]
    fields = fields_of(value)
    return value if fields is None else _record(fields, value.__class__.__name__, type, definitions, depth)


def fields_of(value: Any) -> dict[str, object] | None:
    """The fields of an object of a dataclass or a pydantic model; None for what is neither."""
    if is_model(value.__class__):
        extra: Mapping[str, object] = getattr(value, "model_extra", None) or {}
        known = {(one.serialization_alias or name): getattr(value, name) for name, one in value.__class__.model_fields.items()}
        return {**known, **extra}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    return None


def _record(fields: Mapping[str, object], name: str, type: Type, definitions: Definitions, depth: int) -> dict[str, object]:
    """An object's fields by the keys of the record; an object of a variant's class says which variant it is."""
    found = _fields(type, definitions, name)
    made: dict[str, object] = {}
    if isinstance(_behind(type, definitions, EnumDef), EnumDef):
        made["kind"] = name
    for key, one in fields.items():
        field = found.get(key)
        if field is None:
            made[key] = value_of(one, JsonType(), definitions, depth + 1)
        elif one is not None or not field[2]:
            made[field[0]] = value_of(one, field[1], definitions, depth + 1)
    return made


def _parts(type: Type, definitions: Definitions) -> list[Type | RecordDef | EnumDef]:
    """What a type can be, without names."""
    match type:
        case CheckedType(inner=inner):
            return _parts(inner, definitions)
        case UnionType(members=members):
            return [part for member in members if not isinstance(member, NullType) for part in _parts(member, definitions)]
        case Named(name=name):
            found = definitions[name]
            return _parts(found.type, definitions) if isinstance(found, AliasDef) else [found]
    return [type]


def _behind(type: Type, definitions: Definitions, kind: type) -> object:
    return next((part for part in _parts(type, definitions) if isinstance(part, kind)), None)


def _fields(type: Type, definitions: Definitions, name: str) -> dict[str, tuple[str, Type, bool]]:
    """Python name or key -> key, type, and whether it may be absent; of the one record that has the class's name, else of the first."""
    records = [part for part in _parts(type, definitions) if isinstance(part, RecordDef)]
    chosen = next((one for one in records if one.name.rpartition(".")[2] == name), records[0] if records else None)
    fields = () if chosen is None else chosen.fields
    enum = _behind(type, definitions, EnumDef)
    if isinstance(enum, EnumDef):
        fields = next((variant.fields for variant in enum.variants if variant.name == name), fields)
    return {key: (one.wire, one.type, one.optional) for one in fields for key in (one.wire, one.name)}


def _field(key: object, type: Type, definitions: Definitions) -> Type:
    """The type of what stands under a key."""
    for part in _parts(type, definitions):
        if isinstance(part, RecordDef):
            found = next((one for one in part.fields if key in (one.wire, one.name)), None)
            if found is not None:
                return found.type
        elif isinstance(part, MapType):
            return part.value
    return JsonType()


def _item(type: Type, definitions: Definitions) -> Type:
    found = _behind(type, definitions, ListType)
    return found.item if isinstance(found, ListType) else JsonType()


def _name(value: Enum, type: Type, definitions: Definitions) -> object:
    """A member as the variant or the literal of its name, where there is one, else as its value."""
    names: set[object] = set()
    for part in _parts(type, definitions):
        if isinstance(part, EnumDef):
            names |= {variant.name for variant in part.variants}
        elif isinstance(part, LiteralType):
            names.add(part.value)
    return value.name if value.name in names else value.value
