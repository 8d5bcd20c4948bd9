"""Declared types as Python: a dataclass for a record, an `Enum` for plain variants, a class in a namespace for each variant with fields."""

from __future__ import annotations

import json
import keyword
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from decimal import Decimal

from ael.clients.api import Api
from ael.types.definition import AliasDef, Definition, EnumDef, FieldDef, NoDefault, RecordDef, VariantDef
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

MODULES = ("ael", "dataclasses", "datetime", "decimal", "enum", "ssl", "typing")
"""What generated source imports: whole modules, so that a type of the program may be called `Decimal`."""
TAKEN = frozenset(
    {*keyword.kwlist, *MODULES, "annotations", "classmethod", "str", "int", "float", "bool", "bytes", "list", "dict"}
)
"""What a name in generated source must not be: it would stand for something else there."""
_ENUM_OWN = frozenset({"mro", "name", "value"})
_LEAVES: dict[type, str] = {
    StringType: "str",
    IntType: "int",
    FloatType: "float",
    DecimalType: "decimal.Decimal",
    BoolType: "bool",
    BytesType: "bytes",
    TimestampType: "datetime.datetime",
    DateType: "datetime.date",
    DurationType: "datetime.timedelta",
    FileType: "ael.File",
    UnitType: "None",
    NullType: "None",
}
ANYTHING = "typing.Any"


class PythonTypes:
    """Types and declarations as source."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._shadowing = {*TAKEN, *api.names.values()}

    def annotation(self, type: Type) -> str:
        """A type as an annotation. What Python has no type for holds everything: its values are checked all the same, as AEL's."""
        match type:
            case Named(name=name):
                return self._named(name)
            case ListType(item=item):
                return f"list[{self.annotation(item)}]"
            case MapType(value=value):
                return f"dict[str, {self.annotation(value)}]"
            case LiteralType(value=value):
                return f"typing.Literal[{text(value) if isinstance(value, str) else value!r}]"
            case UnionType(members=members):
                found = list(dict.fromkeys(self.annotation(member) for member in members))
                return ANYTHING if ANYTHING in found else " | ".join(found)
            case CheckedType(inner=inner):
                return self.annotation(inner)
            case AnonymousRecord():
                return f"dict[str, {ANYTHING}]"
            case _:
                return _LEAVES.get(type.__class__, ANYTHING)

    def _named(self, name: str) -> str:
        found = self._api.definitions.get(name)
        # An alias that is still there stands inside of itself: Python has no such type at run time.
        if found is None or isinstance(found, AliasDef):
            return ANYTHING
        if isinstance(found, EnumDef) and not found.plain:
            return ANYTHING if _unwritable(found) else f"{self._api.names[name]}Value"
        return self._api.names[name]

    def declarations(self) -> list[str]:
        """All declared types, each after what it is made of where it can be."""
        lines: list[str] = []
        for name, definition in self._api.definitions.items():
            made = self._declaration(self._api.names[name], definition)
            if made:
                lines += [*made, "", ""]
        return lines

    def _declaration(self, own: str, definition: Definition) -> list[str]:
        match definition:
            case RecordDef(open=True):
                return [f"{own}: typing.TypeAlias = dict[str, {ANYTHING}]", *document(definition.doc, "")]
            case RecordDef():
                return self._record(own, definition.fields, definition.doc)
            case EnumDef(plain=True):
                return self._enum(own, definition)
            case EnumDef():
                return [] if _unwritable(definition) else self._variants(own, definition)
            case AliasDef():
                return []

    def _record(self, own: str, fields: Iterable[FieldDef], doc: str) -> list[str]:
        fields = list(fields)
        if any(not one.name.isidentifier() or one.name in self._shadowing for one in fields):
            return self._keys(own, fields, doc)
        lines = ["@dataclasses.dataclass(kw_only=True)", f"class {own}:", *document(doc, "    ")]
        for one in fields:
            lines += [f"    {one.name}: {self._field(one)}{self._default(one)}", *document(one.doc, "    ")]
        if not fields and not doc:
            lines.append("    pass")
        return lines

    def _field(self, one: FieldDef) -> str:
        made = self.annotation(one.type)
        return f"{made} | None" if one.optional and "None" not in made.split(" | ") and made != ANYTHING else made

    def _default(self, one: FieldDef) -> str:
        if one.optional:
            return " = None"
        made = self.literal(one.default, one.type)
        return "" if made is None else f" = {made}"

    def _keys(self, own: str, fields: Iterable[FieldDef], doc: str) -> list[str]:
        """A record with a field that no attribute of a class can be."""
        made = []
        for one in fields:
            type = self.annotation(one.type)
            made.append(f"    {text(one.wire)}: {quoted(type) if one.required else f'typing.NotRequired[{quoted(type)}]'},")
        return [f"{own} = typing.TypedDict({text(own)}, {{", *made, "})", *document(doc, "")]

    def _enum(self, own: str, definition: EnumDef) -> list[str]:
        lines = [f"class {own}(enum.Enum):", *document(definition.doc, "    ")]
        for one in definition.variants:
            lines += [f"    {_member(one.name)} = {text(one.name)}", *document(one.doc, "    ")]
        return lines

    def _variants(self, own: str, definition: EnumDef) -> list[str]:
        """Variants with fields are classes inside of a class, where their names meet no others'; plain ones are text."""
        lines = [f"class {own}:", *(document(definition.doc, "    ") or [f'    """The variants of `{own}`."""'])]
        found: list[str] = []
        for one in definition.variants:
            if one.fields:
                inner = self._record(one.name, one.fields, one.doc)
                lines += ["", *(f"    {line}" if line else "" for line in inner)]
                found.append(f"{own}.{one.name}")
            else:
                found.append(f"typing.Literal[{text(one.name)}]")
        return [*lines, "", "", f"{own}Value: typing.TypeAlias = {' | '.join(found)}"]

    def literal(self, value: object, type: Type) -> str | None:
        """A default as source; None where there is none, or none that can stand there."""
        match value, type:
            case NoDefault(), _:
                return None
            case str(), Named(name=name) if isinstance(found := self._api.definitions.get(name), EnumDef):
                return f"{self._api.names[name]}.{_member(value)}" if found.plain else text(value)
            case str(), _:
                return text(value)
            case None | bool() | int() | float() | bytes(), _:
                return repr(value)
            case Decimal(), _:
                return f"decimal.Decimal({text(str(value))})"
            case datetime() | date() | timedelta(), _:
                return repr(value)
            case [], _:
                return "dataclasses.field(default_factory=list)"
            case {}, (MapType()):
                return "dataclasses.field(default_factory=dict)" if not value else None
            case _:
                return None


def document(text: str, indent: str) -> list[str]:
    """A docstring of the lines; nothing for no text. What could end it is written otherwise."""
    lines = [line.rstrip() for line in text.strip().splitlines()]
    if not lines:
        return []
    safe = [line.replace("\\", "\\\\").replace('"""', '\\"\\"\\"') for line in lines]
    if safe[-1].endswith('"'):
        safe[-1] = f'{safe[-1][:-1]}\\"'
    if len(safe) == 1:
        return [f'{indent}"""{safe[0]}"""']
    return [f'{indent}"""{safe[0]}', *(f"{indent}{line}" if line else "" for line in safe[1:]), f'{indent}"""']


def quoted(annotation: str) -> str:
    """An annotation that is an expression of the module, and may name what comes later."""
    return text(annotation)


def text(value: str) -> str:
    """A text as source."""
    return json.dumps(value)


def _member(name: str) -> str:
    """A variant as a member of an `Enum`, which is found by its value where its name cannot be that."""
    clash = name in _ENUM_OWN or keyword.iskeyword(name) or (name.startswith("_") and name.endswith("_"))
    return f"{name}_" if clash else name


def _unwritable(definition: EnumDef) -> bool:
    """Whether a variant with fields has a name, or a field, that no class can have: values are then plain objects with `kind`."""

    def wrong(one: VariantDef) -> bool:
        return bool(one.fields) and (
            keyword.iskeyword(one.name) or any(not f.name.isidentifier() or f.name in TAKEN for f in one.fields)
        )

    return any(wrong(one) for one in definition.variants)
