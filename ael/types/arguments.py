"""What a model sent as the arguments of a call, made regular before it is decoded strictly.

Three things and no more, each told in the trace: empty or absent arguments are `{}`; where a record, list or map is expected and
no text, a text that holds one in JSON is unwrapped, once on the way down; `null` for a field that may be absent and may not be
null is its absence. Scalars are never converted. Below this, and for everyone but a model, the decoder is as strict as a validator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ael.data import dataclass
from ael.types.canonical import EncodeError, encode
from ael.types.decode import decoder, needs_decimals
from ael.types.decode_leaf import Direction
from ael.types.decode_union import group_by_type, tag_of
from ael.types.definition import Definition, Definitions, EnumDef, FieldDef, RecordDef
from ael.types.json import JsonError, nesting, read
from ael.types.limits import DEFAULT_LIMITS, Limits
from ael.types.problem import DecodeError, Path, Problem, describe, show_path
from ael.types.reach import resolve
from ael.types.type import AnonymousRecord, CheckedType, ListType, MapType, Named, Type, UnionType


@dataclass(frozen=True, slots=True)
class Note:
    """Something that was made regular: `what` is empty, unwrapped or null."""

    path: str
    what: str

    def __str__(self) -> str:
        where = f"`{self.path}`" if self.path else "the arguments"
        match self.what:
            case "empty":
                return "empty arguments were taken as {}"
            case "unwrapped":
                return f"{where} came as JSON inside of a text, and was unwrapped once"
            case _:
                return f"{where} was null, and was taken as absent"


@dataclass(frozen=True, slots=True)
class Arguments:
    """The decoded input record, and what was made regular on the way."""

    value: dict[str, object]
    notes: tuple[Note, ...] = ()


ArgumentReader = Callable[[object], Arguments]


def argument_reader(record: RecordDef, definitions: Definitions, limits: Limits = DEFAULT_LIMITS) -> ArgumentReader:
    """A function from raw arguments to the input of a callable, whose parameters are `record` (`Signature.input_record`).

    Raw arguments are JSON text, None where the provider sent none, or what it sent as an object, already read. The function
    raises DecodeError; keep it with the tool, it is compiled once.
    """
    table: Mapping[str, Definition] = MappingProxyType({**definitions, record.name: record})
    type = Named(record.name)
    decode = decoder(type, table, limits)
    decimals = needs_decimals(type, table)

    def read_arguments(raw: object) -> Arguments:
        regular = _Regular(table, limits, decimals)
        value = regular.whole(raw, type)
        decoded = decode(value)
        assert isinstance(decoded, dict)
        return Arguments(decoded, tuple(regular.notes))

    return read_arguments


@dataclass(frozen=True, slots=True)
class Result:
    """A decoded structured result, and what was made regular on the way."""

    value: object
    notes: tuple[Note, ...] = ()


def result_reader(
    type: Type, definitions: Definitions, limits: Limits = DEFAULT_LIMITS, *, wrapped: bool = False
) -> Callable[[object], Result]:
    """A function from a model's structured result (JSON text, or an object already read) to the value of `type`.

    A strict dialect makes what is optional nullable, so `null` for a field that may be absent and may not be null is its absence here
    too; nothing else is made regular. `wrapped` says that the value is under the key `value` (see `dialect.Lowered`). The function
    raises DecodeError.
    """
    whole = AnonymousRecord((("value", type),)) if wrapped else type
    decode = decoder(whole, definitions, limits)
    decimals = needs_decimals(type, definitions)

    def read_result(raw: object) -> Result:
        regular = _Regular(definitions, limits, decimals)
        most = limits.model_output
        tree = regular.read(raw, most) if isinstance(raw, str | bytes) else regular.measured(raw, most)
        decoded = decode(regular.value(tree, whole, (), wrapped=True))
        value = decoded["value"] if wrapped and isinstance(decoded, dict) else decoded
        return Result(value, tuple(regular.notes))

    return read_result


class _Regular:
    def __init__(self, definitions: Definitions, limits: Limits, decimals: bool) -> None:
        self._definitions = definitions
        self._limits = limits
        self._decimals = decimals
        self.notes: list[Note] = []

    def whole(self, raw: object, type: Type) -> object:
        """The value of all arguments."""
        if raw is None or (isinstance(raw, str | bytes) and len(raw) <= self._limits.tool_input and not raw.strip()):
            self.notes.append(Note("", "empty"))
            return {}
        most = self._limits.tool_input
        value = self.read(raw, most) if isinstance(raw, str | bytes) else self.measured(raw, most)
        if isinstance(value, str):
            inner = self._unwrap(value, "{", ())
            if inner is not None:
                self.notes.append(Note("", "unwrapped"))
                return self.value(inner, type, (), wrapped=True)
        return self.value(value, type, (), wrapped=False)

    def read(self, text: str | bytes, most: int) -> object:
        """The tree of a JSON text of at most `most` bytes."""
        try:
            return read(text, self._limits, max_bytes=most, decimals=self._decimals)
        except JsonError as error:
            raise DecodeError([error.problem()]) from None

    def measured(self, value: object, most: int) -> object:
        """A tree that is there already, if it is data and not larger than `most` bytes of JSON."""
        if not nesting(value, self._limits.depth):
            raise DecodeError([Problem("", f"nested more than {self._limits.depth} deep")])
        try:
            size = len(encode(value))
        except EncodeError as error:
            raise DecodeError([Problem(error.path, error.message)]) from None
        if size > most:
            raise DecodeError([Problem("", f"the value has {size:,} bytes, more than the {most:,} allowed")])
        return value

    def value(self, value: object, type: Type, path: Path, *, wrapped: bool) -> object:
        """`value`, regular at every depth where `type` says what is there."""
        inner = resolve(type, self._definitions)
        if isinstance(value, str) and not wrapped and (opening := self._opening(inner)):
            found = self._unwrap(value, opening, path)
            if found is not None:
                self.notes.append(Note(show_path(path), "unwrapped"))
                return self.value(found, inner, path, wrapped=True)
        match inner, value:
            case UnionType(), dict() | list():
                member = self._member(inner, value)
                return value if member is None else self.value(value, member, path, wrapped=wrapped)
            case CheckedType(checked), _:
                return self.value(value, checked, path, wrapped=wrapped)
            case ListType(item), list():
                return [self.value(entry, item, (*path, at), wrapped=wrapped) for at, entry in enumerate(value)]
            case MapType(entry_type), dict():
                return {key: self.value(entry, entry_type, (*path, key), wrapped=wrapped) for key, entry in value.items()}
            case ((Named() | AnonymousRecord()), dict()):
                return self._fields(value, self._fields_of(inner, value), self._other_of(inner), path, wrapped=wrapped)
        return value

    def _fields(
        self, value: dict[str, object], fields: Mapping[str, FieldDef], other: Type | None, path: Path, *, wrapped: bool
    ) -> dict[str, object]:
        regular: dict[str, object] = {}
        for key, entry in value.items():
            field = fields.get(key)
            if field is None:
                regular[key] = entry if other is None else self.value(entry, other, (*path, key), wrapped=wrapped)
            elif entry is None and not field.required and "NoneType" not in self._kinds(field.type):
                self.notes.append(Note(show_path((*path, key)), "null"))
            else:
                regular[key] = self.value(entry, field.type, (*path, key), wrapped=wrapped)
        return regular

    def _fields_of(self, type: Named | AnonymousRecord, value: dict[str, object]) -> dict[str, FieldDef]:
        if isinstance(type, AnonymousRecord):
            return {n: FieldDef(n, n, t) for n, t in type.fields}
        match self._definitions.get(type.name):
            case RecordDef(fields=fields):
                return {f.wire: f for f in fields}
            case EnumDef(variants=variants):
                chosen = next((v.fields for v in variants if v.fields and v.name == value.get("kind")), ())
                return {f.wire: f for f in chosen}
        return {}

    def _other_of(self, type: Named | AnonymousRecord) -> Type | None:
        record = self._definitions.get(type.name) if isinstance(type, Named) else None
        return record.extra if isinstance(record, RecordDef) else None

    def _member(self, union: UnionType, value: dict[str, object] | list[object]) -> Type | None:
        """The member of a union that an object or list is meant for, where only one can be."""
        members = group_by_type(union.members, self._definitions, Direction.DECODE).get(type(value).__name__, [])
        if len(members) == 1:
            return members[0]
        tag = tag_of(members, self._definitions) if members and isinstance(value, dict) else None
        if tag is None or not isinstance(value, dict):
            return None
        mark = value.get(tag[0])
        return next((m for m, allowed in zip(members, tag[1], strict=True) if isinstance(mark, str) and mark in allowed), None)

    def _kinds(self, type: Type) -> dict[str, list[Type]]:
        return group_by_type([type], self._definitions, Direction.DECODE)

    def _opening(self, type: Type) -> str:
        """What a text to unwrap has to begin with; empty where the type takes a text, or neither object nor list."""
        kinds = self._kinds(type)
        return "" if "str" in kinds else ("{" if "dict" in kinds else "") + ("[" if "list" in kinds else "")

    def _unwrap(self, text: str, opening: str, path: Path) -> object:
        """The object or list that `text` holds, or None: then the decoder refuses the text as it is."""
        inner = text.strip()
        if not inner or inner[0] not in opening:
            return None
        try:
            return read(inner, self._limits, max_bytes=self._limits.tool_input, decimals=self._decimals)
        except JsonError as error:
            message = f"JSON inside of a text, which is not taken: {error.message}"
            raise DecodeError([Problem(show_path(path), message, "an object or array", describe(text))]) from None
