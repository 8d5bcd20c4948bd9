"""The JSON Schema (2020-12) of a type: what models, MCP and OpenAPI see. The same type is what the decoder is made from.

Only what is written in the type stands in it, not the default bounds. The same type gives the same text, whatever was asked before.
A declared type that is used more than once, or inside of itself, stands in `$defs`.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TypeAlias, assert_never

from ael.types.canonical import json_form
from ael.types.decode import encoder
from ael.types.definition import AliasDef, Definitions, EnumDef, FieldDef, NoDefault, RecordDef, VariantDef
from ael.types.naming import wire_name
from ael.types.reach import cyclic, parts, reachable
from ael.types.text import decimal_text, show
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
    FunctionType,
    IntType,
    JsonType,
    ListType,
    LiteralType,
    MapType,
    Named,
    Never,
    NullType,
    SecretType,
    StringType,
    TimestampType,
    Type,
    UnionType,
    UnitType,
    Unknown,
    Variable,
)

Schema: TypeAlias = dict[str, object]

DECIMAL_PATTERN = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,6})?$"
_BASE64_PATTERN = "^[A-Za-z0-9+/]*={0,2}$"


def schema(type: Type, definitions: Definitions) -> Schema:
    """The schema of a type. Raises TypeError for what is no data."""
    return _Builder(type, definitions).root()


def record_schema(record: RecordDef, definitions: Definitions) -> Schema:
    """The schema of a record that is not declared: the arguments of a callable (`Signature.input_record`)."""
    return schema(Named(record.name), {**definitions, record.name: record})


class _Builder:
    def __init__(self, root: Type, definitions: Definitions) -> None:
        self._root = root
        self._definitions = definitions
        used = _uses(root, definitions)
        inside = cyclic(root, definitions)
        shared = [t for t in reachable(root, definitions) if isinstance(t, Named) and (used[t] > 1 or t in inside)]
        self._keys = _keys([t.name for t in shared])
        self._embedded_defs: Schema = {}

    def root(self) -> Schema:
        made = self._body(self._root.name) if isinstance(self._root, Named) else self.of(self._root)
        defs = {key: self._body(name) for name, key in self._keys.items()} | self._embedded_defs
        return {**made, "$defs": defs} if defs else made

    def of(self, type: Type) -> Schema:
        """The schema of a type somewhere inside."""
        match type:
            case StringType(low, high, pattern, form, hint):
                return _without_none(type="string", minLength=low, maxLength=high, pattern=pattern, format=form or hint)
            case IntType(low, high):
                return _without_none(type="integer", minimum=low, maximum=high)
            case FloatType(low, high):
                return _without_none(type="number", minimum=low, maximum=high)
            case DecimalType(low, high):
                text = ", ".join(
                    f"{name} {decimal_text(bound)}" for name, bound in (("at least", low), ("at most", high)) if bound is not None
                )
                number = _without_none(type="number", minimum=_number(low), maximum=_number(high))
                exact = _without_none(type="string", pattern=DECIMAL_PATTERN, description=text or None)
                return {"anyOf": [number, exact]}
            case BoolType():
                return {"type": "boolean"}
            case BytesType(low, high):
                return _without_none(
                    type="string",
                    contentEncoding="base64",
                    pattern=_BASE64_PATTERN,
                    minLength=None if not low else _base64_length(low),
                    maxLength=None if high is None else _base64_length(high),
                )
            case TimestampType():
                return {"type": "string", "format": "date-time"}
            case DateType():
                return {"type": "string", "format": "date"}
            case DurationType():
                return {"type": "string", "format": "duration"}
            case JsonType():
                return {}
            case UnitType() | NullType():
                return {"type": "null"}
            case FileType():
                return _file(type)
            case LiteralType(value):
                return {"type": _json_type(value), "const": value}
            case ListType(item, low, high):
                return _without_none(type="array", items=self.of(item), minItems=low or None, maxItems=high)
            case MapType(value, low, high):
                return _without_none(
                    type="object", additionalProperties=self.of(value), minProperties=low or None, maxProperties=high
                )
            case AnonymousRecord(fields):
                return self._object([FieldDef(n, n, t) for n, t in fields])
            case UnionType():
                return self._union(type)
            case Named(name):
                return {"$ref": f"#/$defs/{self._keys[name]}"} if name in self._keys else self._body(name)
            case CheckedType(inner, text):
                # what is beyond a type stands apart, so that a dialect may leave it out
                return {**self.of(inner), "allOf": [self._embedded(text)]}
            case Never():
                return {"not": {}}
            case SecretType() | FunctionType() | Variable() | Unknown():
                raise TypeError(f"{show(type)} is no data and has no schema")
            case _:
                assert_never(type)

    def _embedded(self, text: str) -> Schema:
        """A self-contained schema inside of this one, its definitions among those of the whole."""
        prefix = f"checked{len(self._embedded_defs) + 1}_"
        whole: Schema = json.loads(text)
        below = whole.pop("$defs", {})
        assert isinstance(below, dict)
        self._embedded_defs |= {prefix + key: _moved(body, prefix) for key, body in below.items()}
        moved = _moved(whole, prefix)
        assert isinstance(moved, dict)
        return moved

    def _body(self, name: str) -> Schema:
        match self._definitions.get(name):
            case RecordDef() as record:
                return _described(self._object(record.fields, other=record.other), record.doc)
            case EnumDef() as enum:
                return self._enum(enum)
            case AliasDef() as alias:
                return _described(self.of(alias.type), alias.doc)
            case None:
                raise TypeError(f"no type is named {name}")

    def _object(self, fields: tuple[FieldDef, ...] | list[FieldDef], *, other: Type | None = None) -> Schema:
        made: Schema = {"type": "object", "properties": {f.wire: self._field(f) for f in fields}}
        required = [f.wire for f in fields if f.required]
        if required:
            made["required"] = required
        if other is None:
            made["additionalProperties"] = False
        elif not isinstance(other, JsonType):
            made["additionalProperties"] = self.of(other)
        return made

    def _field(self, field: FieldDef) -> Schema:
        made = _described(self.of(field.type), field.doc)
        if not isinstance(field.default, NoDefault):
            made = {**made, "default": encoder(field.type, self._definitions)(field.default)}
        return made

    def _enum(self, enum: EnumDef) -> Schema:
        plain = [v for v in enum.variants if not v.fields]
        told = "\n".join(f"{v.name}: {v.doc}" for v in plain if v.doc)
        names: Schema = {"type": "string", "enum": [v.name for v in plain]}
        if enum.plain:
            return _described(names, "\n".join(filter(None, (enum.doc, told))))
        shaped = [self._variant(v) for v in enum.variants if v.fields]
        return _described({"anyOf": [*([_described(names, told)] if plain else []), *shaped]}, enum.doc)

    def _variant(self, variant: VariantDef) -> Schema:
        kind = FieldDef("kind", "kind", LiteralType(variant.name))
        return _described(self._object([kind, *variant.fields]), variant.doc)

    def _union(self, union: UnionType) -> Schema:
        literals = [m for m in union.members if isinstance(m, LiteralType)]
        members: list[Schema] = []
        for member in union.members:
            if not isinstance(member, LiteralType):
                members.append(self.of(member))
            elif member == literals[0]:
                members.append(_constants(literals))
        key = "oneOf" if union.rule == "one" else "anyOf"
        return members[0] if len(members) == 1 else {key: members}


def _uses(root: Type, definitions: Definitions) -> Counter[Type]:
    """How often each declared type is written, where it stands in another that has no name and is written more than once, too."""
    used: Counter[Type] = Counter()
    looked: Counter[Type] = Counter()
    todo = [root]
    while todo:
        current = todo.pop()
        # twice is enough to know that it is more than once
        if looked[current] < (1 if isinstance(current, Named) else 2):
            looked[current] += 1
            inner = parts(current, definitions)
            used.update(part for part in inner if isinstance(part, Named))
            todo.extend(inner)
    return used


def _keys(names: list[str]) -> dict[str, str]:
    """Name -> its key in `$defs`: the short name, or all of it where two would share that."""
    short = Counter(name.rpartition(".")[2] for name in names)
    return {n: n.rpartition(".")[2] if short[n.rpartition(".")[2]] == 1 else wire_name(n) for n in names}


def _constants(literals: list[LiteralType]) -> Schema:
    if len(literals) == 1:
        return {"type": _json_type(literals[0].value), "const": literals[0].value}
    types = list(dict.fromkeys(_json_type(literal.value) for literal in literals))
    return {"type": types[0] if len(types) == 1 else types, "enum": [literal.value for literal in literals]}


def _json_type(value: str | int | bool) -> str:
    return "string" if isinstance(value, str) else "boolean" if isinstance(value, bool) else "integer"


def _file(type: FileType) -> Schema:
    media: Schema = {"type": "string", "pattern": "^[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+$"}
    if type.media is not None and type.media.endswith("/*") and type.media != "*/*":
        media = {"type": "string", "pattern": f"^{type.media[:-2]}/[a-z0-9!#$&^_.+-]+$"}
    elif type.media is not None and type.media != "*/*":
        media = {"type": "string", "const": type.media}
    data = _without_none(
        type="string",
        contentEncoding="base64",
        pattern=_BASE64_PATTERN,
        maxLength=None if type.max is None else _base64_length(type.max),
    )
    either = (("data", data), ("uri", {"type": "string", "minLength": 1}))
    return {
        "anyOf": [
            {
                "type": "object",
                "properties": {"media": media, key: content},
                "required": ["media", key],
                "additionalProperties": False,
            }
            for key, content in either
        ]
    }


def _moved(node: object, prefix: str) -> object:
    """A schema whose references lead to `$defs` with a prefix."""
    if isinstance(node, list):
        return [_moved(part, prefix) for part in node]
    if not isinstance(node, dict):
        return node
    made: Schema = {}
    for key, part in node.items():
        if key == "$ref":
            made[key] = f"#/$defs/{prefix}{part.removeprefix('#/$defs/')}"
        elif key in ("properties", "patternProperties", "dependentSchemas"):
            made[key] = {name: _moved(body, prefix) for name, body in part.items()}
        else:
            made[key] = part if key in ("const", "enum") else _moved(part, prefix)
    return made


def _without_none(**keywords: object) -> Schema:
    return {key: value for key, value in keywords.items() if value is not None}


def _described(made: Schema, doc: str) -> Schema:
    return {**made, "description": doc} if doc else made


def _number(bound: object) -> object:
    """A Decimal bound as a JSON number, where that is exact."""
    if bound is None:
        return None
    number = float(str(json_form(bound)))
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _base64_length(count: int) -> int:
    return (count + 2) // 3 * 4
