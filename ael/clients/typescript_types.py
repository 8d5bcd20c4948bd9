"""Declared types as TypeScript: what stands in JSON, and the shapes by which a client looks at what comes."""

from __future__ import annotations

import json
from collections.abc import Iterable

from ael.clients.api import Api
from ael.types.definition import AliasDef, Definition, EnumDef, FieldDef, NoDefault, RecordDef
from ael.types.proto_names import Scope
from ael.types.reach import reachable
from ael.types.type import (
    AnonymousRecord,
    BoolType,
    BytesType,
    CheckedType,
    DateType,
    DecimalType,
    DurationType,
    FileType,
    FloatType,
    IntType,
    JsonType,
    ListType,
    LiteralType,
    MapType,
    Named,
    NullType,
    StringType,
    TimestampType,
    Type,
    UnionType,
    UnitType,
)

RUNTIME = (
    "Value", "Failed", "Faulted", "Uncertain", "CallEvent", "Decimal", "Timestamp", "CalendarDate", "Duration", "Bytes", "File", "Json",
    "ClientOptions", "CallOptions", "AelShape", "AelField", "AelMethod", "AelEnding", "AelAnswer", "AelWrong", "AelCaller",
)  # fmt: skip
"""What `runtime.ts` declares."""
GLOBALS = (
    "AbortSignal", "AbortController", "AsyncGenerator", "Array", "Date", "Error", "JSON", "Math", "Number", "Object", "Promise", "Record",
    "RegExp", "Response", "Set", "String", "TextDecoder", "TypeError", "URL", "BigInt", "Partial", "Readonly",
)  # fmt: skip
TAKEN = frozenset({*RUNTIME, *GLOBALS})
_SAFE = 2**53 - 1
_LEAVES: dict[type, tuple[str, str]] = {
    StringType: ("string", "string"),
    FloatType: ("number", "number"),
    DecimalType: ("Decimal", "string"),
    BoolType: ("boolean", "boolean"),
    BytesType: ("Bytes", "string"),
    TimestampType: ("Timestamp", "string"),
    DateType: ("CalendarDate", "string"),
    DurationType: ("Duration", "string"),
    FileType: ("File", "file"),
    JsonType: ("Json", "any"),
    UnitType: ("null", "unit"),
    NullType: ("null", "null"),
}


class TypeScriptTypes:
    """Types, declarations and shapes as source. `bigint`: whole numbers without bounds within 2^53 are a `bigint`, else a `number`."""

    def __init__(self, api: Api, *, bigint: bool) -> None:
        self._api = api
        self._bigint = bigint
        scope = Scope([*TAKEN, *api.names.values(), *api.outcomes.values()])
        self._given = {
            name: scope.take(f"{api.names[name]}Given") for name in sorted(api.definitions) if self._has_defaults(name)
        }

    def annotation(self, type: Type, *, given: bool = False) -> str:
        """A type; `given`: of what a caller gives, who may leave out what has a default."""
        match type:
            case Named(name=name) if name in self._api.definitions:
                return self._given[name] if given and name in self._given else self._api.names[name]
            case ListType(item=item):
                return f"readonly {_grouped(self.annotation(item, given=given))}[]"
            case MapType(value=value):
                return f"{{ readonly [name: string]: {self.annotation(value, given=given)} }}"
            case LiteralType(value=value):
                return literal(value)
            case UnionType(members=members):
                return " | ".join(dict.fromkeys(self.annotation(member, given=given) for member in members))
            case CheckedType(inner=inner):
                return self.annotation(inner, given=given)
            case AnonymousRecord(fields=fields):
                return f"{{ {' '.join(f'readonly {key(name)}: {self.annotation(one, given=given)};' for name, one in fields)} }}"
            case IntType():
                return "bigint" if self._whole(type) else "number"
            case _:
                return _LEAVES.get(type.__class__, ("unknown", "any"))[0]

    def shape(self, type: Type) -> str:
        """How a value that comes is looked at."""
        match type:
            case Named(name=name) if name in self._api.definitions:
                return f"{{ named: {literal(self._api.names[name])} }}"
            case ListType(item=item):
                return f"{{ list: {self.shape(item)} }}"
            case MapType(value=value):
                return f"{{ map: {self.shape(value)} }}"
            case LiteralType(value=value):
                return f"{{ is: {literal(value)} }}"
            case UnionType(members=members):
                return f"{{ any: [{', '.join(self.shape(member) for member in members)}] }}"
            case CheckedType(inner=inner):
                return self.shape(inner)
            case AnonymousRecord(fields=fields):
                return self._fields(FieldDef(name, name, one) for name, one in fields)
            case IntType():
                return '"whole"' if self._whole(type) else '"integer"'
            case _:
                return f'"{_LEAVES.get(type.__class__, ("unknown", "any"))[1]}"'

    def declarations(self) -> list[str]:
        """All declared types, and those of what is given where it may be less."""
        lines: list[str] = []
        for name, definition in self._api.definitions.items():
            own = self._api.names[name]
            lines += [*document(definition.doc, ""), *self._declaration(own, definition, given=False), ""]
            if name in self._given:
                about = f"`{own}` as it is given: what has a default may be left out."
                lines += [*document(about, ""), *self._declaration(self._given[name], definition, given=True), ""]
        return lines

    def shapes(self) -> list[str]:
        """The table of the shapes of declared types."""
        rows = [f"  {key(self._api.names[name])}: {self._shape_of(one)}," for name, one in self._api.definitions.items()]
        return ["const SHAPES: { readonly [name: string]: AelShape } = {", *rows, "};", ""]

    def field(self, one: FieldDef, *, given: bool) -> str:
        """A field, or a parameter."""
        absent = one.optional or (given and not isinstance(one.default, NoDefault))
        return f"readonly {key(one.wire)}{'?' if absent else ''}: {self.annotation(one.type, given=given)};"

    def _declaration(self, own: str, definition: Definition, *, given: bool) -> list[str]:
        match definition:
            case RecordDef():
                lines = [f"export interface {own} {{"]
                for one in definition.fields:
                    lines += [*document(one.doc, "  "), f"  {self.field(one, given=given)}"]
                if definition.open:
                    lines.append("  readonly [name: string]: unknown;")
                return [*lines, "}"]
            case EnumDef():
                found = []
                for variant in definition.variants:
                    inner = " ".join(self.field(one, given=given) for one in variant.fields)
                    kind = literal(variant.name)
                    found.append(f"{{ readonly kind: {kind}; {inner} }}" if variant.fields else kind)
                return [f"export type {own} =", *(f"  | {one}" for one in found[:-1]), f"  | {found[-1]};"]
            case AliasDef():
                return [f"export type {own} = {self.annotation(definition.type, given=given)};"]

    def _shape_of(self, definition: Definition) -> str:
        match definition:
            case RecordDef(open=True):
                return '"any"'
            case RecordDef():
                return self._fields(definition.fields)
            case EnumDef():
                found = [
                    f"{{ kind: {literal(one.name)}, record: {self._rows(one.fields)} }}"
                    if one.fields
                    else f"{{ is: {literal(one.name)} }}"
                    for one in definition.variants
                ]
                return f"{{ any: [{', '.join(found)}] }}"
            case AliasDef():
                return self.shape(definition.type)

    def _fields(self, fields: Iterable[FieldDef]) -> str:
        return f"{{ record: {self._rows(fields)} }}"

    def _rows(self, fields: Iterable[FieldDef]) -> str:
        rows = (f"[{literal(one.wire)}, {self.shape(one.type)}, {literal(not one.optional)}]" for one in fields)
        return f"[{', '.join(rows)}]"

    def _whole(self, type: IntType) -> bool:
        safe = type.min is not None and type.min >= -_SAFE and type.max is not None and type.max <= _SAFE
        return self._bigint and not safe

    def _has_defaults(self, name: str) -> bool:
        found = [
            self._api.definitions.get(one.name) for one in reachable(Named(name), self._api.definitions) if isinstance(one, Named)
        ]
        fields = [field for one in found if isinstance(one, RecordDef) for field in one.fields]
        fields += [field for one in found if isinstance(one, EnumDef) for variant in one.variants for field in variant.fields]
        return any(not isinstance(field.default, NoDefault) for field in fields)


def document(text: str, indent: str) -> list[str]:
    """A doc comment of the lines; nothing for no text. What could end it is written otherwise."""
    lines = [line.rstrip().replace("*/", "*\\/") for line in text.strip().splitlines()]
    if not lines:
        return []
    if len(lines) == 1:
        return [f"{indent}/** {lines[0]} */"]
    return [f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in lines), f"{indent} */"]


def literal(value: str | int | bool) -> str:
    """A text, a number or a truth value as source."""
    return json.dumps(value)


def key(name: str) -> str:
    """A name of a property."""
    plain = name.isascii() and name.isidentifier() and name != "__proto__"
    return name if plain else f"[{literal(name)}]" if name == "__proto__" else literal(name)


def _grouped(type: str) -> str:
    return f"({type})" if " | " in type or type.startswith("readonly ") else type
