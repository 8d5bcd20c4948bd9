"""Values that are still being written: what a growing JSON text says so far, as far as it fits its type.

Never raises. A field that has not come, or that does not fit (yet), is absent; a list is as long as its entries go; a text is as
long as it is. A partial value is for showing: only the whole text, decoded strictly, is a result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import jiter

from ael.types.decode import decoder
from ael.types.decode_leaf import Direction, is_leaf
from ael.types.decode_union import group_by_type, tag_of
from ael.types.definition import Definitions, EnumDef, FieldDef, RecordDef
from ael.types.limits import DEFAULT_LIMITS, Limits
from ael.types.problem import DecodeError
from ael.types.reach import resolve
from ael.types.type import (
    AnonymousRecord,
    CheckedType,
    JsonType,
    ListType,
    LiteralType,
    MapType,
    Named,
    StringType,
    Type,
    UnionType,
    unchecked,
)


class Missing:
    """The type of MISSING: nothing is known yet."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Missing()


def partial(text: str | bytes, type: Type, definitions: Definitions, limits: Limits = DEFAULT_LIMITS) -> object:
    """The value so far, or MISSING."""
    data = text.encode("utf-8", "ignore") if isinstance(text, str) else text
    if len(data) > limits.model_output:
        return MISSING
    try:
        tree = jiter.from_json(data, allow_inf_nan=False, partial_mode="trailing-strings", catch_duplicate_keys=True)
    except ValueError:
        return MISSING
    return _Partial(definitions, limits).value(tree, type, limits.depth)


class _Partial:
    def __init__(self, definitions: Definitions, limits: Limits) -> None:
        self._definitions = definitions
        self._limits = limits

    def value(self, tree: object, type: Type, depth: int) -> object:
        """What of `tree` fits `type`."""
        inner = resolve(type, self._definitions)
        if depth < 0:
            return MISSING
        match inner, tree:
            case CheckedType(checked), _:
                return self.value(tree, checked, depth)
            case StringType(max=high), str():
                # still growing: only what can no longer become right is left out
                return tree if high is None or len(tree) <= high else MISSING
            case JsonType(), _:
                return self._json(tree, depth)
            case ListType(item), list():
                entries = (self.value(entry, item, depth - 1) for entry in tree)
                return [entry for entry in entries if entry is not MISSING]
            case MapType(entry_type), dict():
                values = {key: self.value(entry, entry_type, depth - 1) for key, entry in tree.items()}
                return {key: entry for key, entry in values.items() if entry is not MISSING}
            case AnonymousRecord(fields), dict():
                return self._record([FieldDef(n, n, t) for n, t in fields], tree, depth)
            case Named(name), _:
                return self._named(name, tree, depth)
            case UnionType(), _:
                return self._union(inner, tree, depth)
            case _ if is_leaf(inner):
                return self._leaf(inner, tree)
        return MISSING

    def _named(self, name: str, tree: object, depth: int) -> object:
        match self._definitions.get(name), tree:
            case RecordDef(fields=fields), dict():
                return self._record(fields, tree, depth)
            case EnumDef(variants=variants), str() if any(v.name == tree and not v.fields for v in variants):
                return tree
            case EnumDef(variants=variants), dict():
                for variant in variants:
                    if variant.fields and variant.name == tree.get("kind"):
                        kind = FieldDef("kind", "kind", LiteralType(variant.name))
                        return self._record([kind, *variant.fields], tree, depth)
        return MISSING

    def _record(self, fields: Sequence[FieldDef], tree: Mapping[str, object], depth: int) -> dict[str, object]:
        record: dict[str, object] = {}
        for field in fields:
            if field.wire in tree:
                value = self.value(tree[field.wire], field.type, depth - 1)
                if value is not MISSING:
                    record[field.wire] = value
        return record

    def _union(self, union: UnionType, tree: object, depth: int) -> object:
        kind = type(tree).__name__
        members = group_by_type(union.members, self._definitions, Direction.DECODE).get(kind, [])
        tag = tag_of(members, self._definitions) if len(members) > 1 and isinstance(tree, dict) else None
        if tag is not None and isinstance(tree, dict):
            mark = tree.get(tag[0])
            members = [m for m, allowed in zip(members, tag[1], strict=True) if isinstance(mark, str) and mark in allowed]
        elif isinstance(tree, dict):
            # by what is there so far; the first of those that know as many of the keys
            members = sorted(members, key=lambda member: -self._known(member, tree))
        found = (self.value(tree, member, depth) for member in members)
        return next((value for value in found if value is not MISSING), MISSING)

    def _known(self, type: Type, tree: Mapping[str, object]) -> int:
        """How many keys of an object a member of a union declares."""
        inner = resolve(unchecked(type), self._definitions)
        record = self._definitions.get(inner.name) if isinstance(inner, Named) else None
        return sum(field.wire in tree for field in record.fields) if isinstance(record, RecordDef) else 0

    def _leaf(self, type: Type, tree: object) -> object:
        decode = decoder(type, self._definitions, self._limits)
        try:
            return decode(tree)
        except DecodeError:
            return MISSING

    def _json(self, tree: object, depth: int) -> object:
        match tree:
            case dict() | list() if depth <= 0:
                return MISSING
            case dict():
                values = {key: self._json(entry, depth - 1) for key, entry in tree.items()}
                return {key: entry for key, entry in values.items() if entry is not MISSING}
            case list():
                entries = (self._json(entry, depth - 1) for entry in tree)
                return [entry for entry in entries if entry is not MISSING]
            case float() if not math.isfinite(tree):
                return MISSING
            case _:
                return tree
