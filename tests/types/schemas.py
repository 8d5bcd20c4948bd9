"""Strategies for the property tests of schemas: types that schemas can say exactly, schemas as others write them, and values."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ael.types.definition import Definition, FieldDef, RecordDef
from ael.types.type import (
    AnonymousRecord,
    BoolType,
    FloatType,
    IntType,
    JsonType,
    ListType,
    LiteralType,
    MapType,
    Named,
    NullType,
    StringType,
    Type,
)
from ael.types.type_union import any_of, one_of

KEYS = ("a", "b", "c", "x-y")
PATTERNS = ("^a", "b$", "^[a-c]{1,2}$", "c|d")
TEXTS = ("", "a", "ab", "abc", "b", "cc", "d", "\U0001f600")
NUMBERS = (0, 1, 2, 3, 5, -1, 1.0, 2.0, 0.5, 1.5, -0.0, 10**18)

scalars = st.sampled_from((None, True, False, *NUMBERS, *TEXTS))
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from((*KEYS, "kind", "z")), inner, max_size=3),
    max_leaves=8,
)


def _bounds(low: int, high: int) -> st.SearchStrategy[tuple[int | None, int | None]]:
    return st.tuples(st.none() | st.integers(low, (low + high) // 2), st.none() | st.integers((low + high) // 2, high))


_strings = st.builds(
    lambda bounds, pattern: StringType(bounds[0] or None, bounds[1], pattern),
    _bounds(0, 4),
    st.none() | st.sampled_from(PATTERNS),
)
_floats = st.builds(lambda bounds: FloatType(*(None if bound is None else bound / 2 for bound in bounds)), _bounds(-3, 8))
leaves: st.SearchStrategy[Type] = st.one_of(
    _strings,
    _bounds(-2, 5).map(lambda bounds: IntType(*bounds)),
    _floats,
    st.sampled_from((BoolType(), NullType(), JsonType(), AnonymousRecord(()))),
    st.sampled_from((*TEXTS, 1, 2, 3, True, False)).map(LiteralType),
)  # fmt: skip


class World:
    """Types of a program that grows with them."""

    def __init__(self) -> None:
        self.definitions: dict[str, Definition] = {}

    def record(self, fields: list[FieldDef], other: Type | None) -> Type:
        """A declared record."""
        name = f"w.R{len(self.definitions)}"
        extra = None if other is None or isinstance(other, JsonType) else other
        self.definitions[name] = RecordDef(name, tuple(fields), other is not None, extra=extra)
        return Named(name)


@st.composite
def typed(draw: st.DrawFn) -> tuple[Type, dict[str, Definition]]:
    """A type that a schema can say exactly, and its definitions; records may contain themselves."""
    world = World()
    world.definitions["w.Self"] = RecordDef(
        "w.Self", (FieldDef("n", "n", draw(leaves)), FieldDef("below", "a", ListType(Named("w.Self")), optional=True))
    )
    return _type(draw, world, draw(st.integers(0, 3))), world.definitions


def _type(draw: st.DrawFn, world: World, depth: int) -> Type:
    kind = draw(st.sampled_from(("leaf", "list", "map", "record", "any", "one", "self"))) if depth else "leaf"
    match kind:
        case "self":
            return Named("w.Self")
        case "list":
            low, high = draw(_bounds(0, 3))
            return ListType(_type(draw, world, depth - 1), low or None, high)
        case "map":
            low, high = draw(_bounds(0, 3))
            return MapType(_type(draw, world, depth - 1), low or None, high)
        case "record":
            keys = draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique=True))
            fields = [FieldDef(f"f{at}", key, _type(draw, world, depth - 1), draw(st.booleans())) for at, key in enumerate(keys)]
            other = draw(st.sampled_from(("closed", "open", "typed")))
            extra = None if other == "closed" else JsonType() if other == "open" else _type(draw, world, depth - 1)
            return world.record(fields, extra)
        case "any" | "one":
            members = [_type(draw, world, depth - 1) for _ in range(draw(st.integers(2, 3)))]
            one = one_of(members, world.definitions) if kind == "one" else None
            return any_of(members, world.definitions) if one is None else one
        case _:
            return draw(leaves)


_KINDS = ("null", "boolean", "integer", "number", "string", "array", "object")


@st.composite
def written(draw: st.DrawFn) -> Any:
    """A schema as others write them: any keywords, whether or not they go together."""
    schema = _schema(draw, draw(st.integers(0, 3)))
    if isinstance(schema, dict):
        schema["$defs"] = {"d": _schema(draw, 2), "e": {"type": "array", "items": {"$ref": "#/$defs/d"}, "maxItems": 2}}
    return schema


def _schema(draw: st.DrawFn, depth: int) -> Any:
    if draw(st.integers(0, 19)) == 0:
        return draw(st.booleans())
    made: dict[str, Any] = {}
    if draw(st.integers(0, 3)):
        kinds = draw(st.lists(st.sampled_from(_KINDS), min_size=1, max_size=2, unique=True))
        made["type"] = kinds[0] if len(kinds) == 1 else kinds
    for keyword in draw(st.lists(st.sampled_from(_FLAT if not depth else (*_FLAT, *_DEEP)), max_size=3, unique=True)):
        made[keyword] = _word(draw, keyword, depth)
    return made


_FLAT = ("minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems",
         "maxItems", "uniqueItems", "minProperties", "maxProperties", "required", "dependentRequired", "const", "enum", "format",
         "title", "default")  # fmt: skip
_DEEP = ("items", "prefixItems", "contains", "properties", "properties", "additionalProperties", "patternProperties",
         "propertyNames", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "unevaluatedProperties",
         "dependentSchemas")  # fmt: skip


def _word(draw: st.DrawFn, keyword: str, depth: int) -> Any:
    match keyword:
        case "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties":
            return draw(st.integers(0, 3))
        case "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum":
            return draw(st.sampled_from((-1, 0, 1, 1.5, 2, 3.0)))
        case "multipleOf":
            return draw(st.sampled_from((1, 2, 0.5)))
        case "pattern":
            return draw(st.sampled_from(PATTERNS))
        case "uniqueItems":
            return draw(st.booleans())
        case "required":
            return draw(st.lists(st.sampled_from(KEYS), max_size=2, unique=True))
        case "dependentRequired":
            return {draw(st.sampled_from(KEYS)): draw(st.lists(st.sampled_from(KEYS), max_size=2, unique=True))}
        case "const" | "default":
            return draw(values)
        case "enum":
            return draw(st.lists(values, min_size=1, max_size=4))
        case "format" | "title":
            return draw(st.sampled_from(("date-time", "email", "Thing")))
        case "prefixItems" | "allOf" | "anyOf" | "oneOf":
            return [_schema(draw, depth - 1) for _ in range(draw(st.integers(1, 3)))]
        case "properties" | "dependentSchemas":
            return {key: _schema(draw, depth - 1) for key in draw(st.lists(st.sampled_from(KEYS), max_size=3, unique=True))}
        case "patternProperties":
            return {draw(st.sampled_from(PATTERNS)): _schema(draw, depth - 1)}
        case "$ref":
            return draw(st.sampled_from(("#/$defs/d", "#/$defs/e")))
        case _:
            return _schema(draw, depth - 1)
