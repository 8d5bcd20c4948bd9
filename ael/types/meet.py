"""The type of the values that two types have in common, where there is one: how `allOf` and keywords beside `$ref` are read.

Only types as schemas give them: JSON values. `None` means that the common values are no type of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Set

from ael.types.definition import AliasDef, Definition, FieldDef, RecordDef
from ael.types.pattern import matches
from ael.types.type import (
    AnonymousRecord,
    BoolType,
    FloatType,
    IntType,
    JsonType,
    ListType,
    LiteralType,
    MapType,
    Named,
    Never,
    NullType,
    StringType,
    Type,
    UnionType,
)
from ael.types.type_union import any_of

_DEPTH = 24
_MEMBERS = 200
_STEPS = 100_000


class Meet:
    """Meets types over a growing table of definitions; `fresh` gives a name for a record that two make together.

    What stands behind the names in `pending` is not known yet.
    """

    def __init__(self, definitions: dict[str, Definition], pending: Set[str], fresh: Callable[[], str]) -> None:
        self._definitions = definitions
        self._pending = pending
        self._fresh = fresh
        self._steps = 0

    def of(self, a: Type, b: Type, depth: int = 0) -> Type | None:
        """The common values of two types; None where no type has just those."""
        a, b = self._resolved(a), self._resolved(b)
        if a == b or isinstance(b, JsonType):
            return a
        if isinstance(a, JsonType):
            return b
        if isinstance(a, Never) or isinstance(b, Never):
            return Never()
        self._steps += 1
        if depth > _DEPTH or self._steps > _STEPS or any(isinstance(t, Named) and t.name in self._pending for t in (a, b)):
            return None
        if isinstance(a, UnionType) or isinstance(b, UnionType):
            return self._unions(a, b, depth)
        if isinstance(a, Named | AnonymousRecord | MapType) and isinstance(b, Named | AnonymousRecord | MapType):
            return self._objects(a, b, depth)
        if isinstance(a, ListType) and isinstance(b, ListType):
            item = self.of(a.item, b.item, depth + 1)
            low, high = _high(a.min, b.min), _low(a.max, b.max)
            if item is None:
                return None
            if isinstance(item, Never):
                high = 0
            return Never() if high is not None and (low or 0) > high else ListType(item, low, high)
        return _leaves(a, b)

    def _resolved(self, type: Type) -> Type:
        for _ in range(_DEPTH):
            if isinstance(type, Named) and type.name in self._pending:
                break
            alias = self._definitions.get(type.name) if isinstance(type, Named) else None
            if not isinstance(alias, AliasDef):
                break
            type = alias.type
        return type

    def _unions(self, a: Type, b: Type, depth: int) -> Type | None:
        if (isinstance(a, UnionType) and a.rule == "one") or (isinstance(b, UnionType) and b.rule == "one"):
            return None
        firsts = a.members if isinstance(a, UnionType) else (a,)
        seconds = b.members if isinstance(b, UnionType) else (b,)
        if min(len(firsts), len(seconds)) > 1 and len(firsts) * len(seconds) > _MEMBERS:
            return None
        found = []
        for one in firsts:
            for other in seconds:
                met = self.of(one, other, depth + 1)
                if met is None:
                    return None
                found.append(met)
        return any_of(found, self._definitions)

    def _objects(self, a: Type, b: Type, depth: int) -> Type | None:
        if isinstance(a, MapType) and isinstance(b, MapType):
            value = self.of(a.value, b.value, depth + 1)
            low, high = _high(a.min, b.min), _low(a.max, b.max)
            if value is None:
                return None
            if isinstance(value, Never):
                high = 0
            return Never() if high is not None and (low or 0) > high else MapType(value, low, high)
        first, second = self._record(a), self._record(b)
        if first is None or second is None:
            return None
        return self._records(first, second, depth)

    def _record(self, type: Type) -> RecordDef | None:
        """An object type as a record; None for one that counts its entries, or that is not known yet."""
        match type:
            case MapType(value, None, None):
                return RecordDef("", (), True, extra=value)
            case AnonymousRecord(fields):
                return RecordDef("", tuple(FieldDef(n, n, t) for n, t in fields))
            case Named(name):
                definition = self._definitions.get(name)
                return definition if isinstance(definition, RecordDef) else None
            case _:
                return None

    def _records(self, a: RecordDef, b: RecordDef, depth: int) -> Type | None:
        other = self.of(a.other or Never(), b.other or Never(), depth + 1)
        if other is None:
            return None
        fields: list[FieldDef] = []
        theirs = {f.wire: f for f in b.fields}
        mine = {f.wire for f in a.fields}
        pairs = [(f, theirs.get(f.wire), b) for f in a.fields] + [(f, None, a) for f in b.fields if f.wire not in mine]
        for field, twin, side in pairs:
            type = self.of(field.type, (side.other or Never()) if twin is None else twin.type, depth + 1)
            if type is None:
                return None
            optional = field.optional and (twin is None or twin.optional)
            if isinstance(type, Never):
                if not optional:
                    return Never()
                if isinstance(other, Never):
                    continue
            doc = field.doc or ("" if twin is None else twin.doc)
            fields.append(FieldDef(field.name, field.wire, type, optional, doc=doc))
        fields = renamed(fields)
        for same, record in ((a, a), (b, b)):
            if record.name and tuple(fields) == record.fields and other == (record.other or Never()):
                return Named(same.name)
        if not fields:
            return AnonymousRecord(()) if isinstance(other, Never) else MapType(other)
        return self._declared(fields, other, a.doc or b.doc)

    def _declared(self, fields: list[FieldDef], other: Type, doc: str) -> Named:
        name = self._fresh()
        extra = None if isinstance(other, Never | JsonType) else other
        self._definitions[name] = RecordDef(name, tuple(fields), not isinstance(other, Never), doc, extra=extra)
        return Named(name)


def renamed(fields: list[FieldDef]) -> list[FieldDef]:
    """The fields with names that differ."""
    taken: set[str] = set()
    made = []
    for field in fields:
        name, count = field.name, 2
        while name in taken:
            name, count = f"{field.name}_{count}", count + 1
        taken.add(name)
        made.append(field if name == field.name else FieldDef(name, field.wire, field.type, field.optional, doc=field.doc))
    return made


def _high(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else max(a, b)


def _low(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)


def _leaves(a: Type, b: Type) -> Type | None:
    """The common values of two types without parts, or of different kinds."""
    for one, other in ((a, b), (b, a)):
        match one, other:
            case LiteralType(value), _:
                return one if literal_in(value, other) else Never()
            case IntType(), FloatType(low, high):
                return int_between(_high(one.min, None if low is None else math.ceil(low)),
                                   _low(one.max, None if high is None else math.floor(high)))  # fmt: skip
    match a, b:
        case StringType(), StringType():
            if a.pattern is not None and b.pattern is not None and a.pattern != b.pattern:
                return None
            low, high = _high(a.min, b.min), _low(a.max, b.max)
            if high is not None and (low or 0) > high:
                return Never()
            return StringType(low, high, a.pattern or b.pattern, hint=a.hint or b.hint)
        case IntType(), IntType():
            return int_between(_high(a.min, b.min), _low(a.max, b.max))
        case FloatType(), FloatType():
            least = b.min if a.min is None else a.min if b.min is None else max(a.min, b.min)
            most = b.max if a.max is None else a.max if b.max is None else min(a.max, b.max)
            return Never() if least is not None and most is not None and least > most else FloatType(least, most)
    return Never() if _kind(a) != _kind(b) else None


def int_between(low: int | None, high: int | None) -> Type:
    """The whole numbers between two bounds."""
    return Never() if low is not None and high is not None and low > high else IntType(low, high)


def literal_in(value: str | int | bool, type: Type) -> bool:
    """Whether a constant is a value of a type without parts."""
    match type:
        case LiteralType():
            return LiteralType(value) == type
        case StringType(low, high, pattern):
            return (
                isinstance(value, str)
                and (low or 0) <= len(value)
                and (high is None or len(value) <= high)
                and (pattern is None or matches(pattern, value))
            )
        case IntType(low, high) | FloatType(low, high):
            return (
                type_is_number(value) and (low is None or low <= int(value)) and (high is None or int(value) <= high)
            )  # fmt: skip
        case BoolType():
            return isinstance(value, bool)
        case _:
            return False


def type_is_number(value: str | int | bool) -> bool:
    """Whether a constant is a number, which `true` is not."""
    return isinstance(value, int) and not isinstance(value, bool)


def _kind(type: Type) -> str:
    match type:
        case StringType():
            return "string"
        case IntType() | FloatType():
            return "number"
        case BoolType():
            return "boolean"
        case NullType():
            return "null"
        case ListType():
            return "array"
        case MapType() | Named() | AnonymousRecord():
            return "object"
        case _:
            return "other"
