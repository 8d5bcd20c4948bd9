"""From the bytes of a message to the JSON form of its value, which AEL's decoders check as any other.

As strict as JSON is taken: a field that is not known is refused, as an unknown key is. What is missing is left out, so that the decoder
of the type says so.
"""

from __future__ import annotations

import re
from base64 import b64encode
from math import isfinite

from ael.types.json import JsonError, read
from ael.types.limits import DEFAULT_LIMITS, Limits
from ael.types.proto import (
    Absence,
    Choice,
    Form,
    Kind,
    Many,
    One,
    ProtoError,
    ProtoField,
    ProtoFile,
    ProtoMessage,
    Ref,
    Scalar,
    Table,
)
from ael.types.proto_encode import DEEPEST
from ael.types.proto_wire import DOUBLE, I64, LEN, VARINT, Raw, fields_of, read_varint, signed

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,1299})")
"""Longer than any `Int`; what is not of this form stays a text, which no `Int` takes."""
_ABSENT = object()
_WIRE = {Kind.INT: VARINT, Kind.BOOL: VARINT, Kind.FLOAT: I64}
_ZERO: dict[Kind, object] = {
    Kind.TEXT: "", Kind.DIGITS: 0, Kind.JSON: None, Kind.INT: 0, Kind.FLOAT: 0.0, Kind.BOOL: False, Kind.BYTES: "",
}  # fmt: skip


class Decoder:
    """Reads the messages of one file."""

    def __init__(self, file: ProtoFile, limits: Limits = DEFAULT_LIMITS) -> None:
        self._messages = file.messages
        self._variants = {name: ["", *enum.values.values()] for name, enum in file.enums.items()}
        self._limits = limits

    def decode(self, name: str, data: bytes) -> object:
        """The JSON form of the message `name`. Raises `ProtoError` for bytes that are none of its messages."""
        return self._message(self._messages[name], data, DEEPEST)

    def _message(self, message: ProtoMessage, data: bytes, left: int) -> object:
        if left <= 0:
            raise ProtoError(f"it is nested deeper than the {DEEPEST} messages that protobuf takes")
        raw = fields_of(data)
        unknown = raw.keys() - {field.number for field in message.all_fields}
        if unknown:
            raise ProtoError(f"{message.name} has no field with the number {min(unknown)}")
        match message.form:
            case Form.RECORD:
                return self._record(message, raw, left)
            case Form.BOX:
                value = self._field(message.fields[0], raw.get(message.fields[0].number), left)
                return None if value is _ABSENT else value
            case Form.UNION:
                return self._union(message, raw, left)
            case Form.VARIANTS:
                return self._variant(message, raw, left)
            case Form.NULL:
                return None

    def _record(self, message: ProtoMessage, raw: dict[int, list[Raw]], left: int) -> dict[str, object]:
        form: dict[str, object] = {}
        for field in message.fields:
            value = self._field(field, raw.get(field.number), left)
            if value is not _ABSENT:
                form[field.key] = value
        if message.other is not None:
            rest = self._field(message.other, raw.get(message.other.number), left)
            known = {field.key for field in message.fields}
            for key, value in rest.items() if isinstance(rest, dict) else ():
                if key in known:
                    raise ProtoError(f"`{key}` is a field of {message.name}, and cannot be among its other keys")
                form[key] = value
        return form

    def _union(self, message: ProtoMessage, raw: dict[int, list[Raw]], left: int) -> object:
        field = _set(message, raw)
        return None if field is None else self._one(field.shape, raw[field.number], left)  # type: ignore[arg-type]

    def _variant(self, message: ProtoMessage, raw: dict[int, list[Raw]], left: int) -> object:
        field = _set(message, raw)
        if field is None:
            return None
        fields = self._one(field.shape, raw[field.number], left)  # type: ignore[arg-type]
        return {"kind": field.key, **fields} if isinstance(fields, dict) else field.key

    # --- fields -------------------------------------------------------------------------------------------------------

    def _field(self, field: ProtoField, raw: list[Raw] | None, left: int) -> object:
        match field.shape:
            case Many(item):
                return [] if raw is None else self._many(item, raw, left)
            case Table(value):
                return dict(self._entry(value, part, left) for part in raw or ())
            case shape:
                if raw is not None:
                    return self._one(shape, raw, left)
                if field.absence is Absence.NULL:
                    return None
                if field.absence is Absence.MISSING or not isinstance(shape, Scalar):
                    return _ABSENT
                return self._zero(shape)

    def _entry(self, value: One, part: Raw, left: int) -> tuple[str, object]:
        """An entry of a map: a message of a key and a value, either of which may be left out."""
        raw = fields_of(_framed(part))
        if raw.keys() - {1, 2}:
            raise ProtoError("an entry of a map has a key and a value")
        key = _text(_framed(raw[1][-1])) if 1 in raw else ""
        if 2 in raw:
            return key, self._one(value, raw[2], left - 1)
        return key, self._one(value, [(LEN, b"")], left - 1) if isinstance(value, Ref) else self._zero(value)

    def _zero(self, shape: One) -> object:
        if isinstance(shape, Scalar) and shape.kind is Kind.JSON:
            raise ProtoError("a Json value is JSON text, and the empty text is none")
        return _ZERO[shape.kind] if isinstance(shape, Scalar) else ""

    def _many(self, item: One, raw: list[Raw], left: int) -> list[object]:
        wire = VARINT if isinstance(item, Choice) else _WIRE.get(item.kind) if isinstance(item, Scalar) else None
        if wire is None:
            return [self._one(item, [part], left) for part in raw]
        return [self._one(item, [(wire, one)], left) for part in raw for one in _unpacked(part, wire)]

    def _one(self, shape: One, raw: list[Raw], left: int) -> object:
        """The value of a field that came at least once: the last goes, and messages come together."""
        match shape:
            case Ref(name):
                return self._message(self._messages[name], b"".join(map(_framed, raw)), left - 1)
            case Choice(name):
                number = signed(_number(raw[-1]))
                variants = self._variants[name]
                return variants[number] if 0 <= number < len(variants) else str(number)
            case Scalar(Kind.INT):
                return signed(_number(raw[-1]))
            case Scalar(Kind.BOOL):
                return _number(raw[-1]) != 0
            case Scalar(Kind.FLOAT):
                return _double(raw[-1])
            case Scalar(Kind.BYTES):
                return b64encode(_framed(raw[-1])).decode()
            case Scalar(kind):
                return self._told(kind, _text(_framed(raw[-1])))

    def _told(self, kind: Kind, text: str) -> object:
        if kind is Kind.DIGITS:
            return int(text) if _WHOLE.fullmatch(text) else text
        if kind is Kind.JSON:
            try:
                return read(text, self._limits, max_bytes=len(text) * 4)
            except JsonError as error:
                raise ProtoError(f"a Json value is JSON text: {error.message}") from None
        return text


def _set(message: ProtoMessage, raw: dict[int, list[Raw]]) -> ProtoField | None:
    """The one member that is set; the last to come, where a client sent several."""
    last = next(reversed(raw), None)
    return next((field for field in message.fields if field.number == last), None)


def _framed(part: Raw) -> bytes:
    if not isinstance(part[1], bytes) or part[0] != LEN:
        raise ProtoError("a field has not the type that it has here")
    return part[1]


def _number(part: Raw) -> int:
    if not isinstance(part[1], int):
        raise ProtoError("a field has not the type that it has here")
    return part[1]


def _double(part: Raw) -> float:
    if part[0] != I64 or not isinstance(part[1], bytes):
        raise ProtoError("a field has not the type that it has here")
    number = float(DOUBLE.unpack(part[1])[0])
    if not isfinite(number):
        raise ProtoError("a Float is finite")
    return number


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ProtoError("a text is UTF-8") from None


def _unpacked(part: Raw, wire: int) -> list[int | bytes]:
    """The numbers of a list, which come one by one or all in one."""
    kind, value = part
    if kind == wire:
        return [value]
    data = _framed(part)
    found: list[int | bytes] = []
    at = 0
    while at < len(data):
        if wire == VARINT:
            number, at = read_varint(data, at)
            found.append(number)
        else:
            if at + 8 > len(data):
                raise ProtoError("the message ends in the middle of a number")
            found.append(data[at : at + 8])
            at += 8
    return found
