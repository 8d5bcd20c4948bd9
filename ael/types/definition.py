"""What stands behind the name of a declared type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from ael.data import dataclass
from ael.types.type import JsonType, Type


@dataclass(frozen=True, slots=True)
class NoDefault:
    """A field or parameter without a default (a default may itself be null)."""


NO_DEFAULT = NoDefault()


@dataclass(frozen=True, slots=True)
class FieldDef:
    """A field of a record, error or variant. `wire` is its JSON key; `default` a value as in `ael.types.value`, constant."""

    name: str
    wire: str
    type: Type
    optional: bool = False
    default: object = NO_DEFAULT
    doc: str = ""

    @property
    def required(self) -> bool:
        """Whether a value without this field is refused."""
        return not self.optional and isinstance(self.default, NoDefault)


@dataclass(frozen=True, slots=True)
class RecordDef:
    """A record, or an error's fields (`is_error`). `open` keeps unknown keys, whose values are of the type `extra` (None: Json)."""

    name: str
    fields: tuple[FieldDef, ...]
    open: bool = False
    doc: str = ""
    is_error: bool = False
    extra: Type | None = None

    @property
    def other(self) -> Type | None:
        """The type of the values of unknown keys; None where there may be none."""
        return (JsonType() if self.extra is None else self.extra) if self.open else None


@dataclass(frozen=True, slots=True)
class VariantDef:
    """A variant; plain without fields. On the wire a variant with fields is an object whose `kind` is its name."""

    name: str
    fields: tuple[FieldDef, ...] = ()
    doc: str = ""


@dataclass(frozen=True, slots=True)
class EnumDef:
    name: str
    variants: tuple[VariantDef, ...]
    doc: str = ""

    @property
    def plain(self) -> bool:
        """Whether every variant is plain, so that every value is a string."""
        return all(not v.fields for v in self.variants)


@dataclass(frozen=True, slots=True)
class AliasDef:
    """`type Name = T`. Non-recursive aliases are resolved away by the checker; a recursive one stays, by name."""

    name: str
    type: Type
    doc: str = ""


Definition: TypeAlias = RecordDef | EnumDef | AliasDef
Definitions: TypeAlias = Mapping[str, Definition]
