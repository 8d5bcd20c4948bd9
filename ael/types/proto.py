"""Types as protobuf says them: messages, enums and services as plain data, for `.proto` files, descriptors and bytes alike.

What each type becomes is written in docs/services.md. Numbers of fields are the order of declaration, so that a field at the end is no
change for clients that do not know it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TypeAlias

from ael.data import dataclass, field
from ael.types.type import Type


class ProtoError(ValueError):
    """A value or bytes that are not those of a message. The text says why, in words for the person who sent them."""


class Kind(Enum):
    """How a value without parts is carried."""

    TEXT = "text"
    """The text that it is in JSON: texts, decimals, times, days, durations."""
    DIGITS = "digits"
    """A whole number that may be larger than 64 bits, in decimal digits."""
    JSON = "json"
    """The JSON text of any value."""
    INT = "int64"
    FLOAT = "double"
    BOOL = "bool"
    BYTES = "bytes"

    @property
    def word(self) -> str:
        """The type in a `.proto`."""
        return "string" if self in (Kind.TEXT, Kind.DIGITS, Kind.JSON) else self.value


class Absence(Enum):
    """What it means that a field is not there."""

    DEFAULT = "default"
    """The default of its type: zero, the empty text, an empty list. A message or enum that is not there is missing."""
    MISSING = "missing"
    """The value has no such key."""
    NULL = "null"


class Form(Enum):
    """What JSON form the value of a message has."""

    RECORD = "record"
    BOX = "box"
    """That of its one field: a message is there because a list, a map or an absence needs one."""
    UNION = "union"
    """That of the member that is set; `null` where none is."""
    VARIANTS = "variants"
    """A variant of an enum with fields: its name, or an object with its `kind`."""
    NULL = "null"


@dataclass(frozen=True, slots=True)
class Scalar:
    kind: Kind


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of the enum of this name."""

    name: str


@dataclass(frozen=True, slots=True)
class Ref:
    """The message of this name."""

    name: str


@dataclass(frozen=True, slots=True)
class Many:
    """`repeated`. The item is neither `Many` nor `Table`."""

    item: Scalar | Choice | Ref


@dataclass(frozen=True, slots=True)
class Table:
    """`map<string, …>`."""

    value: Scalar | Choice | Ref


One: TypeAlias = Scalar | Choice | Ref
Shape: TypeAlias = Scalar | Choice | Ref | Many | Table


@dataclass(frozen=True, slots=True)
class ProtoField:
    """`key` is that of the JSON object, or the name of the variant; `type` the member of a union that it stands for."""

    name: str
    number: int
    shape: Shape
    key: str = ""
    absence: Absence = Absence.DEFAULT
    type: Type | None = None
    doc: str = ""


@dataclass(frozen=True, slots=True)
class ProtoMessage:
    """`other`: the values of unknown keys of an open record, a map. In UNION and VARIANTS, at most one field is set."""

    name: str
    form: Form
    fields: tuple[ProtoField, ...] = ()
    other: ProtoField | None = None
    nullable: bool = False
    doc: str = ""

    @property
    def all_fields(self) -> tuple[ProtoField, ...]:
        """The fields, and the one of unknown keys."""
        return self.fields if self.other is None else (*self.fields, self.other)


@dataclass(frozen=True, slots=True)
class ProtoEnum:
    """`values`: name there -> variant. Number 0 is `unspecified`, the others count from 1."""

    name: str
    unspecified: str
    values: Mapping[str, str]
    doc: str = ""


@dataclass(frozen=True, slots=True)
class ProtoMethod:
    """`entry` is the qualified name of the operation or node; `request` and `response` are names of messages. `of`: the method whose events
    and result this one streams."""

    name: str
    entry: str
    request: str
    response: str
    doc: str = ""
    of: str = ""


@dataclass(frozen=True, slots=True)
class ProtoService:
    name: str
    methods: tuple[ProtoMethod, ...]


@dataclass(frozen=True, slots=True)
class ProtoFile:
    """Everything of one package; `name` is the path by which others import it. `services` may be empty."""

    package: str
    services: tuple[ProtoService, ...] = ()
    messages: Mapping[str, ProtoMessage] = field(default_factory=dict)
    enums: Mapping[str, ProtoEnum] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """`desk.proto`, `desk/orders.proto`."""
        return self.package.replace(".", "/") + ".proto"
