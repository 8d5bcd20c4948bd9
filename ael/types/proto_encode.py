"""From the JSON form of a value to the bytes of its message."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from math import copysign
from typing import cast

from ael.types.canonical import encode
from ael.types.decode import decoder
from ael.types.definition import Definitions
from ael.types.limits import DEFAULT_LIMITS, Limits
from ael.types.problem import DecodeError
from ael.types.proto import (
    Absence,
    Choice,
    Form,
    Kind,
    Many,
    ProtoError,
    ProtoField,
    ProtoFile,
    ProtoMessage,
    Ref,
    Scalar,
    Shape,
    Table,
)
from ael.types.proto_wire import DOUBLE, I64, VARINT, framed, tag, varint

DEEPEST = 100
"""Messages inside of messages: what every reader of protobuf takes."""
_WIRE = {Kind.INT: VARINT, Kind.BOOL: VARINT, Kind.FLOAT: I64}


class Encoder:
    """Writes the messages of one file. The forms are those that AEL's own encoders make, or fit their types as such."""

    def __init__(self, file: ProtoFile, definitions: Definitions, limits: Limits = DEFAULT_LIMITS) -> None:
        self._messages = file.messages
        self._numbers = {
            name: {variant: number for number, variant in enumerate(enum.values.values(), 1)} for name, enum in file.enums.items()
        }
        self._definitions = definitions
        self._limits = limits

    def encode(self, name: str, form: object) -> bytes:
        """The bytes of the message `name`. Raises `ProtoError` for a form that is none of its values."""
        return self._message(self._messages[name], form, DEEPEST)

    def _message(self, message: ProtoMessage, form: object, left: int) -> bytes:
        if left <= 0:
            raise ProtoError(f"it is nested deeper than the {DEEPEST} messages that protobuf takes")
        match message.form:
            case Form.RECORD:
                return self._record(message, form, left)
            case Form.BOX:
                return self._field(message.fields[0], form, left)
            case Form.UNION:
                return self._union(message, form, left)
            case Form.VARIANTS:
                return self._variant(message, form, left)
            case Form.NULL:
                if form is not None:
                    raise ProtoError("there is no value but null")
                return b""

    def _record(self, message: ProtoMessage, form: object, left: int) -> bytes:
        if not isinstance(form, dict):
            raise ProtoError(f"{message.name} is an object")
        parts = [self._field(field, form[field.key], left) for field in message.fields if field.key in form]
        known = {field.key for field in message.fields}
        rest = {key: value for key, value in form.items() if key not in known}
        if rest:
            if message.other is None:
                raise ProtoError(f"{message.name} has no `{next(iter(rest))}`")
            parts.append(self._field(message.other, rest, left))
        return b"".join(parts)

    def _union(self, message: ProtoMessage, form: object, left: int) -> bytes:
        if form is None and message.nullable:
            return b""
        for field in message.fields:
            assert field.type is not None
            try:
                decoder(field.type, self._definitions, self._limits)(form)
            except DecodeError:
                continue
            return self._one(field.number, field.shape, form, left)
        raise ProtoError(f"{message.name} has no member that it fits")

    def _variant(self, message: ProtoMessage, form: object, left: int) -> bytes:
        name = form.get("kind") if isinstance(form, dict) else form
        for field in message.fields:
            if field.key == name:
                inner = self._messages[cast(Ref, field.shape).name]
                if inner.form is Form.NULL:
                    return framed(field.number, b"")
                fields = {key: value for key, value in cast("dict[str, object]", form).items() if key != "kind"}
                return framed(field.number, self._message(inner, fields, left - 1))
        raise ProtoError(f"{message.name} has no such variant")

    # --- fields -------------------------------------------------------------------------------------------------------

    def _field(self, field: ProtoField, form: object, left: int) -> bytes:
        shape = field.shape
        match shape:
            case Many(item):
                return self._many(field.number, item, _list(form), left)
            case Table(value):
                return b"".join(
                    framed(field.number, framed(1, _utf8(key)) + self._one(2, value, inner, left - 1))
                    for key, inner in _mapping(form).items()
                )
            case _:
                if form is None and field.absence is Absence.NULL:
                    return b""
                if field.absence is Absence.DEFAULT and isinstance(shape, Scalar) and _zero(form):
                    return b""
                return self._one(field.number, shape, form, left)

    def _many(self, number: int, item: Shape, forms: list[object], left: int) -> bytes:
        if not forms:
            return b""
        if isinstance(item, Choice) or (isinstance(item, Scalar) and item.kind in _WIRE):
            return framed(number, b"".join(self._packed(item, form) for form in forms))
        return b"".join(self._one(number, item, form, left) for form in forms)

    def _one(self, number: int, shape: Shape, form: object, left: int) -> bytes:
        """A field that is written whatever its value."""
        match shape:
            case Ref(name):
                return framed(number, self._message(self._messages[name], form, left - 1))
            case Scalar(kind) if kind not in _WIRE:
                return framed(number, _bytes(kind, form))
            case Scalar(kind):
                return tag(number, _WIRE[kind]) + self._packed(shape, form)
            case _:
                return tag(number, VARINT) + self._packed(shape, form)

    def _packed(self, shape: Shape, form: object) -> bytes:
        match shape:
            case Choice(name):
                number = self._numbers[name].get(form) if isinstance(form, str) else None
                if number is None:
                    raise ProtoError(f"{name} has no such variant")
                return varint(number)
            case Scalar(Kind.FLOAT) if isinstance(form, int | float) and not isinstance(form, bool):
                return DOUBLE.pack(form)
            case Scalar(Kind.BOOL) if isinstance(form, bool):
                return varint(form)
            case Scalar(Kind.INT) if isinstance(form, int) and not isinstance(form, bool) and -(1 << 63) <= form < 1 << 63:
                return varint(form)
        raise ProtoError("a value has not the type of its field")


def _bytes(kind: Kind, form: object) -> bytes:
    if kind is Kind.JSON:
        return encode(form)
    if kind is Kind.DIGITS and isinstance(form, int) and not isinstance(form, bool):
        return str(form).encode()
    if not isinstance(form, str) or kind is Kind.DIGITS:
        raise ProtoError("a value has not the type of its field")
    if kind is Kind.BYTES:
        try:
            return b64decode(form, validate=True)
        except ValueError:
            raise ProtoError("bytes are base64 text") from None
    return _utf8(form)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ProtoError("a text holds half a surrogate pair") from None


def _list(form: object) -> list[object]:
    if not isinstance(form, list):
        raise ProtoError("a value has not the type of its field")
    return form


def _mapping(form: object) -> Mapping[str, object]:
    if not isinstance(form, dict):
        raise ProtoError("a value has not the type of its field")
    return form


def _zero(form: object) -> bool:
    """Whether a value is what its absence says. -0.0 is not: protobuf tells it apart."""
    if isinstance(form, float):
        return form == 0 and copysign(1, form) > 0
    return form == "" if isinstance(form, str) else form in (False, 0) and isinstance(form, int)
