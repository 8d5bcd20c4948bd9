"""What a type is: frozen values that compare by what they mean.

Declared types (records, enums, errors, services …) are nominal and are referred to by name, `Named("main.Ticket")`, so that
recursion needs nothing special; a `Definitions` table (see `definition.py`) says what stands behind a name. `Unknown` absorbs:
whatever touches it is not reported again.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TypeAlias

from ael.data import dataclass


@dataclass(frozen=True, slots=True)
class StringType:
    """Text; `min` and `max` count characters (Unicode code points).

    `pattern` is an unanchored search (see `pattern.py`), `format` a check where it is known and an annotation where not. `hint` is a
    format that a schema from outside gave: it is told to models, and nothing is checked by it.
    """

    min: int | None = None
    max: int | None = None
    pattern: str | None = None
    format: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class IntType:
    """A whole number, exact, up to 4,096 bits; both bounds are included."""

    min: int | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True)
class FloatType:
    """A finite binary64 number; both bounds are included."""

    min: float | None = None
    max: float | None = None


@dataclass(frozen=True, slots=True)
class DecimalType:
    """An exact decimal number; both bounds are included."""

    min: Decimal | None = None
    max: Decimal | None = None


@dataclass(frozen=True, slots=True)
class BoolType:
    """`true` or `false`."""


@dataclass(frozen=True, slots=True)
class BytesType:
    """Bytes, base64 in JSON; `min` and `max` count bytes."""

    min: int | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True)
class TimestampType:
    """A point in time, UTC, microseconds."""


@dataclass(frozen=True, slots=True)
class DateType:
    """A calendar day."""


@dataclass(frozen=True, slots=True)
class DurationType:
    """A length of time, microseconds."""


@dataclass(frozen=True, slots=True)
class JsonType:
    """Any JSON value within the default bounds."""


@dataclass(frozen=True, slots=True)
class UnitType:
    """The one value of what gives nothing; `null` in JSON."""


@dataclass(frozen=True, slots=True)
class NullType:
    """The type of `null`."""


@dataclass(frozen=True, slots=True)
class FileType:
    """Content with a media type; `media` is a pattern such as `image/*`, `max` counts bytes."""

    media: str | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True)
class SecretType:
    """A value that never leaves: no print, prompt, trace or journal."""


@dataclass(frozen=True, slots=True, eq=False)
class LiteralType:
    """One value: `"low"`, `3`, `true`."""

    value: str | int | bool

    def __eq__(self, other: object) -> bool:
        # `true` is not 1, though Python's True is
        return isinstance(other, LiteralType) and self.value == other.value and type(self.value) is type(other.value)

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class ListType:
    item: Type
    min: int | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True)
class MapType:
    """Keys are strings."""

    value: Type
    min: int | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """A declared type, by its qualified name."""

    name: str


@dataclass(frozen=True, slots=True)
class AnonymousRecord:
    """What `parallel { a: f(), b: g() }` gives: named values, no declaration."""

    fields: tuple[tuple[str, Type], ...]


@dataclass(frozen=True, slots=True)
class UnionType:
    """At least two members, no member twice, `null` last.

    `rule` says which member a value belongs to: `apart`, the only one of source (members are told apart, none is such a union),
    or that of a schema: `any` (the first that fits) or `one` (exactly one fits).
    """

    members: tuple[Type, ...]
    rule: str = "apart"


@dataclass(frozen=True, slots=True)
class CheckedType:
    """Values of `inner` that also fit a JSON Schema: what a schema from outside says beyond what a type can.

    `schema` is the canonical text of a self-contained schema, checked by a kept validator (`predicate.py`). The values of `inner` are
    JSON as they stand; such a type is made by `from_schema.py` only, and source cannot write it.
    """

    inner: Type
    schema: str


@dataclass(frozen=True, slots=True)
class FunctionType:
    """A function value. `fails` is what calling it can fail with (qualified names), inferred: it is never written in source."""

    parameters: tuple[Type, ...]
    result: Type
    fails: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Variable:
    """A type parameter of a generic `fn`."""

    name: str


@dataclass(frozen=True, slots=True)
class Never:
    """The type of what does not come back: `fail`, `return`, `break`. Fits everywhere."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The type of what is wrong already. Fits everywhere and is never reported again."""


Type: TypeAlias = (
    StringType | IntType | FloatType | DecimalType | BoolType | BytesType | TimestampType | DateType | DurationType | JsonType
    | UnitType | NullType | FileType | SecretType | LiteralType | ListType | MapType | Named | AnonymousRecord | UnionType
    | CheckedType | FunctionType | Variable | Never | Unknown
)  # fmt: skip


def union(*members: Type) -> Type:
    """The union of `members`, flattened, without doubles, `null` last; a single member is itself."""
    flat: dict[Type, None] = {}
    for member in members:
        for part in member.members if isinstance(member, UnionType) and member.rule == "apart" else (member,):
            if isinstance(part, Unknown):
                return part
            if not isinstance(part, Never):
                flat[part] = None
    if not flat:
        return Never()
    if NullType() in flat:
        del flat[NullType()]
        flat[NullType()] = None
    parts = tuple(flat)
    return parts[0] if len(parts) == 1 else UnionType(parts)


def optional(inner: Type) -> Type:
    """`T?`."""
    return union(inner, NullType())


def unchecked(type: Type) -> Type:
    """A type without the predicate on top of it: what the language goes by."""
    return type.inner if isinstance(type, CheckedType) else type
