"""The boundary between values and their JSON form, compiled once for each type of a program (`ael.types.decode`)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

from ael.data import replace
from ael.lower.unit import CompiledUnit
from ael.project.deployment import SizeLimits
from ael.types.arguments import Arguments, argument_reader
from ael.types.canonical import EncodeError, encode, encode_checked
from ael.types.decode import checker, decoder, encoder, reader
from ael.types.definition import Definition, RecordDef
from ael.types.json_text import writer
from ael.types.limits import Limits
from ael.types.problem import DecodeError, Problem
from ael.types.signature import ParameterDef, Signature
from ael.types.type import JsonType, Named, Type

Convert = Callable[[object], object]
_JSON = writer()


def limits_of(sizes: SizeLimits) -> Limits:
    """A deployment's sizes as the decoder takes them."""
    return Limits(depth=sizes.depth, tool_input=sizes.input, tool_result=sizes.result, model_output=sizes.output)


def _as_it_is(value: object) -> object:
    return value


class ValueCodec:
    """One type. All functions raise `DecodeError` for what does not fit."""

    __slots__ = ("check", "decode", "encode", "read", "type")

    def __init__(self, type: Type, definitions: Mapping[str, Definition], limits: Limits, max_bytes: int | None = None) -> None:
        self.type = type
        self.check: Convert = checker(type, definitions, limits)
        """A value from outside, defaults filled in."""
        self.decode: Convert = decoder(type, definitions, limits)
        """From the JSON form."""
        self.encode: Convert = encoder(type, definitions, limits)
        """To the JSON form."""
        self.read = reader(type, definitions, limits, max_bytes=max_bytes)
        """From JSON text within a size."""


class InputCodec:
    """The arguments of something that can be called: a record by wire names, and back to positions."""

    __slots__ = ("_definitions", "_regular", "incoming", "max_bytes", "parameters", "record", "type", "value")

    def __init__(self, codecs: Codecs, signature: Signature, max_bytes: int) -> None:
        self.parameters: tuple[ParameterDef, ...] = signature.parameters
        self.max_bytes = max_bytes
        self.record: RecordDef = signature.input_record()
        self.type: Type = Named(codecs.define(self.record))
        self._definitions = codecs.definitions
        limits = replace(codecs.limits, tool_input=max_bytes)
        if max_bytes > codecs.limits.tool_input:
            # It says that it takes more than others: so does a text without a bound of its own.
            limits = replace(limits, string_bytes=max(limits.string_bytes, max_bytes))
        self.value = ValueCodec(self.type, codecs.definitions, limits, max_bytes)
        self._regular = argument_reader(self.record, codecs.definitions, limits)
        self.incoming: Convert = _as_it_is
        """What is done first with the input of a run, text or what it was read as: known secrets are masked in it."""

    def proposed(self, raw: str | None) -> Arguments:
        """Arguments as a model sent them. What is regular already takes the strict way alone. Raises `DecodeError`."""
        if raw:
            try:
                value = self.value.read(raw)
            except DecodeError:
                return self._regular(raw)
            assert isinstance(value, dict)
            return Arguments(value)
        return self._regular(raw)

    def named(self, arguments: tuple[object, ...]) -> dict[str, object]:
        """Positional arguments of compiled code by wire name; an absent optional one is left out."""
        named: dict[str, object] = {}
        for parameter, value in zip(self.parameters, arguments, strict=True):
            if value is not None or not parameter.optional:
                named[parameter.wire] = value
        return named

    def positional(self, named: Mapping[str, object]) -> tuple[object, ...]:
        """The arguments in parameter order; an absent optional one is None. Defaults were filled in by decoding."""
        return tuple([named.get(parameter.wire) for parameter in self.parameters])

    def checked(self, named: dict[str, object]) -> tuple[dict[str, object], bytes]:
        """Arguments from code, checked and within the size, and their JSON text."""
        value = self.value.check(named)
        assert isinstance(value, dict)
        text = text_of_checked(value)
        if len(text) > self.max_bytes:
            raise DecodeError([Problem("", f"the input has {len(text):,} bytes, more than the {self.max_bytes:,} allowed")])
        return value, text


class Codecs:
    """All codecs of one program, made when they are first needed."""

    __slots__ = ("_values", "definitions", "limits")

    def __init__(self, unit: CompiledUnit, sizes: SizeLimits) -> None:
        self.limits = limits_of(sizes)
        self.definitions: dict[str, Definition] = dict(unit.definitions)
        self._values: dict[Type, ValueCodec] = {}
        for signature in unit.signatures.values():
            self.define(signature.input_record())

    def define(self, record: RecordDef) -> str:
        """Know the record of a callable's arguments, under a name that no declaration has."""
        name = f"input {record.name}"
        self.definitions[name] = record
        return name

    def value(self, type: Type) -> ValueCodec:
        """The codec of a type."""
        found = self._values.get(type)
        if found is None:
            found = self._values[type] = ValueCodec(type, self.definitions, self.limits)
        return found

    def json(self) -> ValueCodec:
        """The codec of any JSON."""
        return self.value(JsonType())


def written(value: object) -> bytes:
    """The JSON text of a value. Raises `DecodeError` for what is no data."""
    try:
        return encode(value)
    except EncodeError as error:
        raise DecodeError([Problem(error.path, error.message)]) from None


def text_of_form(form: object) -> bytes:
    """The JSON text of a JSON form that an encoder made, which has checked it already. Raises `DecodeError`."""
    try:
        return _JSON(form).encode()
    except ValueError:
        return written(form)


def text_of_checked(value: object) -> bytes:
    """The JSON text of a value that a decoder or a checker has seen whole. Raises `DecodeError`."""
    try:
        return encode_checked(value)
    except ValueError:
        return written(value)


def digest(value: object) -> str:
    """SHA-256 of the JSON text of a checked value: its keys are in their declared order."""
    return hashlib.sha256(text_of_checked(value)).hexdigest()


def snapshot(value: object) -> object:
    """`value` with containers of its own, so that who made it cannot change it any more."""
    if type(value) is dict:
        return {key: snapshot(item) for key, item in value.items()}
    if type(value) is list:
        return [snapshot(item) for item in value]
    return value
