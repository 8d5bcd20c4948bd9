"""The form of an entry, from the types of its parameters: a field for each, which says what it takes.

It is for whoever fills it in. What was filled in is decoded by the decoder that decodes every input.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ael.project.entry import EntryError, choose, entries
from ael.project.program import Opened
from ael.types.canonical import EncodeError, encode
from ael.types.definition import AliasDef, Definitions, EnumDef, FieldDef, NoDefault, RecordDef
from ael.types.problem import Problem
from ael.types.text import show
from ael.types.type import (
    BoolType,
    DateType,
    DecimalType,
    DurationType,
    FloatType,
    IntType,
    ListType,
    LiteralType,
    Named,
    NullType,
    StringType,
    TimestampType,
    Type,
    UnionType,
    unchecked,
)

_DEEP = 5
"""Records within records that get fields of their own; what is deeper is written as JSON."""
_LONG = 200
"""Characters from which on a text gets several lines."""


def forms(opened: Opened) -> dict[str, object]:
    """Every entry of a program with its form, the one that is meant where none is named first."""
    program = opened.program
    known = entries(program)
    try:
        first: str | None = choose(program, None)
    except EntryError:
        first = None
    told = []
    for name, qualified in sorted(known.items(), key=lambda one: one[1] != first):
        signature = program.signatures[qualified]
        fields = [_inner(one.as_field(), program.definitions, 0) for one in signature.parameters]
        spec = program.nodes[qualified]
        about = {"name": name, "entry": qualified, "agent": spec.agent is not None, "doc": spec.doc}
        told.append({**about, "gives": show(signature.result), "fields": fields})
    serving = opened.deployment.serving
    callers = {name: one.tenant for name, one in serving.callers.items()}
    return {"entries": told, "tenants": sorted(opened.deployment.tenants), "callers": callers}


def _inner(one: FieldDef, known: Definitions, depth: int) -> dict[str, object]:
    return {"name": one.wire, "doc": one.doc, "required": one.required, **_default(one.default), **_field(one.type, known, depth)}


def _default(value: object) -> dict[str, object]:
    if isinstance(value, NoDefault):
        return {}
    try:
        return {"default": json.loads(encode(value))}
    except EncodeError:
        return {}


def _field(found: Type, known: Definitions, depth: int) -> dict[str, object]:
    """What a field takes: `type` in words, `kind` of control, and what bounds it."""
    words = {"type": show(found)}
    type_ = unchecked(found)
    if isinstance(type_, UnionType):
        members = [one for one in type_.members if not isinstance(one, NullType)]
        null = {"null": True} if len(members) != len(type_.members) else {}
        literals = [one.value for one in members if isinstance(one, LiteralType)]
        if len(literals) == len(members):
            return {**words, **null, "kind": "choice", "choices": literals}
        if len(members) == 1:
            return {**_field(members[0], known, depth), **words, **null}
        return {**words, **null, "kind": "json"}
    match type_:
        case StringType():
            bounds = _given(min=type_.min, max=type_.max, pattern=type_.pattern)
            return {**words, "kind": "text" if type_.pattern or (type_.max or _LONG + 1) <= _LONG else "lines", **bounds}
        case IntType() | FloatType():
            return {
                **words,
                "kind": "integer" if isinstance(type_, IntType) else "number",
                **_given(min=type_.min, max=type_.max),
            }
        case DecimalType():
            low, high = (None if one is None else str(one) for one in (type_.min, type_.max))
            return {**words, "kind": "decimal", **_given(min=low, max=high)}
        case BoolType():
            return {**words, "kind": "truth"}
        case LiteralType():
            return {**words, "kind": "choice", "choices": [type_.value]}
        case DateType() | TimestampType() | DurationType():
            return {**words, "kind": "text", "hint": _HINTS[type(type_)]}
        case ListType() if depth < _DEEP:
            return {**words, "kind": "list", "item": _field(type_.item, known, depth + 1), **_given(min=type_.min, max=type_.max)}
        case Named(name=name) if depth < _DEEP:
            return {**words, **_named(known.get(name), known, depth)}
        case _:
            return {**words, "kind": "json"}


_HINTS = {DateType: "2026-03-01", TimestampType: "2026-03-01T12:00:00Z", DurationType: "PT30S"}


def _named(found: object, known: Definitions, depth: int) -> dict[str, object]:
    match found:
        case RecordDef() if not found.open:
            return {"kind": "record", "fields": [_inner(one, known, depth + 1) for one in found.fields]}
        case EnumDef() if found.plain:
            return {"kind": "choice", "choices": [one.name for one in found.variants]}
        case AliasDef():
            return _field(found.type, known, depth + 1)
        case _:
            return {"kind": "json"}


def _given(**bounds: object) -> dict[str, object]:
    return {word: bound for word, bound in bounds.items() if bound is not None}


def problems_of(problems: Sequence[Problem]) -> list[dict[str, str]]:
    """The problems of an input, each with the place that it is at."""
    return [{"path": one.path, "message": one.message} for one in problems]
