"""The JSON Schema of types, and the dialects of providers: kinds K17 and K18."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from jsonschema import Draft202012Validator

from ael.types.definition import AliasDef, Definitions, FieldDef, RecordDef
from ael.types.dialect import DIALECTS, Lowered, Unsupported
from ael.types.dialect_openai import MAX_LEVELS
from ael.types.schema import record_schema, schema
from ael.types.type import (
    AnonymousRecord,
    BytesType,
    CheckedType,
    DateType,
    DecimalType,
    FileType,
    FloatType,
    FunctionType,
    IntType,
    JsonType,
    ListType,
    LiteralType,
    MapType,
    Named,
    SecretType,
    StringType,
    TimestampType,
    Type,
    UnionType,
    UnitType,
    Unknown,
    Variable,
    optional,
    union,
)
from tests.types.world import CARD, CASH, OPEN, ORDER, SHAPE, TEXTS, TOPIC, TREE, WORLD

TYPES: list[Type] = [
    StringType(max=5),
    IntType(0, 9),
    JsonType(),
    ListType(JsonType()),
    MapType(IntType()),
    ORDER,
    SHAPE,
    TREE,
    TEXTS,
    TOPIC,
    OPEN,
    UnionType((CARD, CASH)),
    optional(ORDER),
    optional(UnionType((CARD, CASH))),
    FileType(media="image/*"),
    UnitType(),
    ListType(optional(TREE)),
]


@pytest.mark.feature("A1.9")
@pytest.mark.parametrize(
    ("type", "made"),
    [
        (
            StringType(min=1, max=5, pattern="^a", format="email"),
            {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^a", "format": "email"},
        ),
        (IntType(0, 9), {"type": "integer", "minimum": 0, "maximum": 9}),
        (FloatType(max=1.0), {"type": "number", "maximum": 1.0}),
        (TimestampType(), {"type": "string", "format": "date-time"}),
        (DateType(), {"type": "string", "format": "date"}),
        (JsonType(), {}),
        (ListType(JsonType()), {"type": "array", "items": {}}),
        (ListType(IntType(), min=1, max=3), {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3}),
        (MapType(IntType(), max=3), {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 3}),
        (LiteralType("low"), {"type": "string", "const": "low"}),
        (union(LiteralType("low"), LiteralType("high")), {"type": "string", "enum": ["low", "high"]}),
        (union(LiteralType("low"), LiteralType(3)), {"type": ["string", "integer"], "enum": ["low", 3]}),
        (optional(IntType()), {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (UnionType((IntType(), StringType()), "one"), {"oneOf": [{"type": "integer"}, {"type": "string"}]}),
        (TOPIC, {"type": "string", "enum": ["Refund", "Shipping", "Other"], "description": "Refund: Money back."}),
        (OPEN, {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}),
        (
            CASH,
            {
                "type": "object",
                "properties": {"type": {"type": "string", "const": "cash"}, "amount": {"type": "integer"}},
                "required": ["type", "amount"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_the_schema_of_a_type(type: Type, made: object) -> None:
    assert schema(type, WORLD) == made


@pytest.mark.feature("A1.9")
def test_documentation_bounds_defaults_and_wire_names_stand_in_it() -> None:
    made = schema(ORDER, WORLD)
    assert made["description"] == "An order."
    properties = made["properties"]
    assert isinstance(properties, dict)
    assert properties["id"] == {
        "type": "string",
        "maxLength": 8,
        "pattern": "^[A-Z]-[0-9]+$",
        "description": "The public number.",
    }
    assert properties["express"] == {"type": "integer", "default": 5}
    assert "If-Match" in properties
    assert made["required"] == ["id", "count", "total"]


def test_defaults_stand_in_their_json_form() -> None:
    record = RecordDef("r", (FieldDef("a", "a", DecimalType(), default=Decimal("1.10")),))
    made = record_schema(record, {})
    assert made["properties"]["a"]["default"] == "1.10"  # type: ignore[index]


def test_recursion_is_a_reference_and_the_root_stays_an_object() -> None:
    made = schema(TREE, WORLD)
    assert made["type"] == "object"
    assert list(made["$defs"]) == ["Tree"]  # type: ignore[call-overload]
    assert json.dumps(made).count('{"$ref": "#/$defs/Tree"}') == 2


def test_two_types_of_one_short_name_keep_apart() -> None:
    def item(name: str) -> RecordDef:
        return RecordDef(name, (FieldDef("next", "next", Named(name), optional=True),))

    world: Definitions = {"a.Item": item("a.Item"), "b.Item": item("b.Item")}
    made = schema(UnionType((Named("a.Item"), Named("b.Item"))), world)
    assert list(made["$defs"]) == ["a__Item", "b__Item"]  # type: ignore[call-overload]


@pytest.mark.parametrize("type", TYPES)
def test_every_schema_is_valid_and_the_same_each_time(type: Type) -> None:
    made = schema(type, WORLD)
    Draft202012Validator.check_schema(made)
    assert json.dumps(schema(type, dict(WORLD))) == json.dumps(made)


@pytest.mark.parametrize("type", [SecretType(), FunctionType((), IntType()), Variable("T"), Unknown(), ListType(SecretType())])
def test_what_is_no_data_has_no_schema(type: Type) -> None:
    with pytest.raises(TypeError, match="no data"):
        schema(type, WORLD)


class TestK17:
    @pytest.mark.parametrize("type", [ListType(JsonType()), RecordDef("r", ()), RecordDef("r", (), open=True)])
    def test_odd_but_legal_schemas_have_a_meaning_and_decode(self, type: Type | RecordDef) -> None:
        from ael.types.decode import reader

        if isinstance(type, RecordDef):
            made = record_schema(type, {})
            assert made == {"type": "object", "properties": {}} | ({} if type.open else {"additionalProperties": False})
            assert reader(Named("r"), {"r": type})("{}") == {}
        else:
            assert reader(type, {})('[1,{"a":null}]') == [1, {"a": None}]

    def test_constants_without_a_type_of_their_own_keep_their_kind(self) -> None:
        assert schema(union(LiteralType(1), LiteralType(True)), {}) == {"type": ["integer", "boolean"], "enum": [1, True]}

    def test_names_that_are_words_of_the_language_keep_their_wire_name(self) -> None:
        record = RecordDef("r", (FieldDef("type", "type", IntType()), FieldDef("eq", "$eq", IntType())))
        assert list(record_schema(record, {})["properties"]) == ["type", "$eq"]  # type: ignore[call-overload]


OPENAI_STRICT = {
    "type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const", "description", "$ref", "$defs",
    "minimum", "maximum", "minItems", "maxItems", "pattern", "format",
}  # fmt: skip
ANTHROPIC_STRUCTURED = {
    "type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const", "description", "$ref", "$defs",
    "default", "minItems", "format",
}  # fmt: skip
GRAMMAR = OPENAI_STRICT | {"minLength", "maxLength"}


def keywords(node: object, *, names: bool = False) -> set[str]:
    """All keywords of a schema; names of properties are none."""
    if isinstance(node, list):
        return {k for part in node for k in keywords(part)}
    if not isinstance(node, dict):
        return set()
    own = set() if names else set(node)
    for key, part in node.items():
        if key not in ("enum", "const", "default"):
            own |= keywords(part, names=key in ("properties", "$defs") and not names)
    return own


def objects(node: object) -> list[dict[str, object]]:
    if isinstance(node, list):
        return [o for part in node for o in objects(part)]
    if not isinstance(node, dict):
        return []
    own = [node] if node.get("type") == "object" else []
    return own + [o for part in node.values() for o in objects(part)]


class TestK18:
    @pytest.mark.parametrize("type", TYPES)
    @pytest.mark.parametrize(
        ("dialect", "allowed"), [("openai", OPENAI_STRICT), ("anthropic", ANTHROPIC_STRUCTURED), ("compatible", GRAMMAR)]
    )
    def test_only_keywords_of_the_dialect_are_left(self, type: Type, dialect: str, allowed: set[str]) -> None:
        original = schema(type, WORLD)
        before = json.dumps(original)
        made = DIALECTS[dialect].output(original)
        assert json.dumps(original) == before
        if isinstance(made, Lowered):
            assert made.strict
            assert keywords(made.schema) <= allowed
            Draft202012Validator.check_schema(made.schema)
            if dialect == "openai":
                assert made.schema["type"] == "object"
                for node in objects(made.schema):
                    assert node["additionalProperties"] is False
                    assert node.get("required", []) == list(node["properties"])  # type: ignore[call-overload]
        else:
            assert made.reason
            assert made.keyword

    def test_optional_fields_become_nullable_for_a_strict_dialect(self) -> None:
        made = DIALECTS["openai"].tool(schema(ORDER, WORLD))
        assert isinstance(made, Lowered)
        properties = made.schema["properties"]
        assert isinstance(properties, dict)
        assert properties["note"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
        assert properties["express"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
        assert [o["type"] for o in properties["topic"]["anyOf"]] == ["string", "null"]
        assert properties["count"] == {"type": "integer", "minimum": 1, "maximum": 100}

    def test_nested_any_of_with_null_is_lowered(self) -> None:
        made = DIALECTS["openai"].output(schema(optional(UnionType((CARD, CASH))), WORLD))
        assert isinstance(made, Lowered)
        assert made.wrapped
        assert len(made.schema["properties"]["value"]["anyOf"]) == 3  # type: ignore[index]

    @pytest.mark.parametrize("type", [TREE, TEXTS, ListType(optional(TREE))])
    def test_a_recursive_type_for_a_dialect_without_recursion_is_refused_by_name(self, type: Type) -> None:
        made = DIALECTS["anthropic"].output(schema(type, WORLD))
        assert isinstance(made, Unsupported)
        assert (made.keyword, made.path) == ("$ref", "$defs.Tree" if type != TEXTS else "$defs.Texts")
        assert isinstance(DIALECTS["openai"].output(schema(type, WORLD)), Lowered)
        assert isinstance(DIALECTS["compatible"].output(schema(type, WORLD)), Lowered)

    def test_a_map_with_arbitrary_keys_falls_back_to_a_tool_that_is_not_strict(self) -> None:
        of = record_schema(RecordDef("r", (FieldDef("labels", "labels", MapType(StringType())),)), {})
        assert DIALECTS["openai"].tool(of) == Lowered(of, strict=False)
        refused = DIALECTS["openai"].output(of)
        assert isinstance(refused, Unsupported)
        assert (refused.keyword, refused.path) == ("additionalProperties", "properties.labels")
        assert isinstance(DIALECTS["compatible"].output(of), Lowered)

    @pytest.mark.parametrize("type", [OPEN, ListType(JsonType())])
    def test_open_records_and_json_cannot_be_told_to_a_strict_dialect(self, type: Type) -> None:
        for name in ("openai", "anthropic"):
            assert isinstance(DIALECTS[name].output(schema(type, WORLD)), Unsupported)
        assert isinstance(DIALECTS["compatible"].output(schema(type, WORLD)), Lowered)

    @pytest.mark.feature("A3.10")
    @pytest.mark.parametrize("dialect", list(DIALECTS))
    @pytest.mark.parametrize("type", [StringType(), UnionType((CARD, CASH)), ListType(IntType()), SHAPE])
    def test_tools_whose_root_is_no_object_are_refused(self, dialect: str, type: Type) -> None:
        made = DIALECTS[dialect].tool(schema(type, WORLD))
        assert isinstance(made, Unsupported)
        assert "object" in made.reason

    @pytest.mark.parametrize(
        ("dialect", "wrapped"), [("openai", True), ("anthropic", True), ("compatible", False), ("none", False)]
    )
    def test_results_that_are_no_object_are_wrapped_where_the_dialect_asks_for_it(self, dialect: str, wrapped: bool) -> None:
        made = DIALECTS[dialect].output(schema(TOPIC, WORLD))
        assert isinstance(made, Lowered)
        assert made.wrapped is wrapped
        root = made.schema["properties"]["value"] if wrapped else made.schema  # type: ignore[index]
        assert root["enum"] == ["Refund", "Shipping", "Other"]

    def test_documented_sizes_hold(self) -> None:
        deep: Type = IntType()
        for _ in range(MAX_LEVELS + 1):
            deep = ListType(deep)
        many = UnionType(tuple(LiteralType(f"value {n}") for n in range(1_001)))
        long = UnionType(tuple(LiteralType("x" * 100 + str(n)) for n in range(251)))
        wide = RecordDef("r", tuple(FieldDef(f"f{n}", f"f{n}", IntType()) for n in range(5_001)))
        wordy = RecordDef("r", tuple(FieldDef(f"f{n}", "f" * 1_000 + str(n), IntType()) for n in range(130)))
        for type, keyword in ((deep, "properties"), (many, "enum"), (long, "enum")):
            made = DIALECTS["openai"].output(schema(type, {}))
            assert isinstance(made, Unsupported)
            assert made.keyword == keyword
        for record, keyword in ((wide, "properties"), (wordy, "characters")):
            made = DIALECTS["openai"].output(record_schema(record, {}))
            assert isinstance(made, Unsupported)
            assert made.keyword == keyword
            assert DIALECTS["openai"].tool(record_schema(record, {})) == Lowered(record_schema(record, {}))

    def test_anthropic_has_limits_of_its_own(self) -> None:
        loose = RecordDef("r", tuple(FieldDef(f"f{n}", f"f{n}", IntType(), optional=True) for n in range(25)))
        unions = RecordDef("r", tuple(FieldDef(f"f{n}", f"f{n}", optional(IntType())) for n in range(17)))
        for record, keyword in ((loose, "required"), (unions, "anyOf")):
            made = DIALECTS["anthropic"].output(record_schema(record, {}))
            assert isinstance(made, Unsupported)
            assert made.keyword == keyword
            assert isinstance(DIALECTS["anthropic"].tool(record_schema(record, {})), Lowered)

    @pytest.mark.parametrize(
        ("pattern", "kept"),
        [
            ("^[a-z]+$", "^[a-z]+$"),
            ("^[A-Z]-[0-9]{2,}$", "^[A-Z]-[0-9]{2,}$"),
            ("^\\d+\\.\\w*?$", "^[0-9]+\\.[0-9A-Za-z_]*$"),
            ("^(?:a|bc)?d{3}$", "^(a|bc)?d{3}$"),
            ("^(ab)+$", "^(ab)+$"),
            ("^[ab-]\\/x$", "^[ab-][/]x$"),
            ("^a\\-b$", "^a-b$"),
            ("^[^a]$", None),
            ("^.*$", None),
            ('^"$', None),
            ("^\\s$", None),
            ("[a-z]", None),
            ("^a", None),
            ("^a\\$", None),
            ("^(a|)$", None),
            ("^\\p{L}$", None),
            ("^a$|^b$", None),
            ("^(^a)$", None),
            ("^a{2000}$", None),
            ("^(a{100}){100}$", None),
            ("^[\\]x]$", None),
        ],
    )
    def test_a_grammar_takes_patterns_in_their_plainest_form(self, pattern: str, kept: str | None) -> None:
        made = DIALECTS["compatible"].output(schema(StringType(pattern=pattern), {}))
        assert isinstance(made, Lowered)
        assert made.schema.get("pattern") == kept

    def test_a_grammar_is_kept_small(self) -> None:
        made = DIALECTS["compatible"].output(schema(StringType(min=2, max=4_000), {}))
        assert made == Lowered({"type": "string", "minLength": 2}, strict=True)

    def test_a_keyword_from_elsewhere_is_refused_and_not_passed_on(self) -> None:
        odd = {"type": "object", "properties": {"a": {"type": "string", "not": {}}}, "additionalProperties": False}
        made = DIALECTS["openai"].output(odd)
        assert made == Unsupported("not", "properties.a", "the keyword not is not known to the provider")


def test_recursive_aliases_have_a_schema() -> None:
    world: Definitions = {"a.J": AliasDef("a.J", UnionType((IntType(), MapType(Named("a.J")))), "A number or more.")}
    made = schema(ListType(Named("a.J")), world)
    assert made["$defs"]["J"]["description"] == "A number or more."  # type: ignore[index]
    Draft202012Validator(made).validate([1, {"a": {"b": 2}}])


def test_bytes_have_the_length_of_their_text() -> None:
    made = schema(BytesType(min=1, max=4), {})
    assert (made["minLength"], made["maxLength"]) == (4, 8)


def test_what_is_beyond_a_type_stands_apart_and_dialects_leave_it_out() -> None:
    checked = CheckedType(
        Named("a.Row"), '{"$defs":{"r1":{"type":["array"],"uniqueItems":true}},"properties":{"ids":{"$ref":"#/$defs/r1"}}}'
    )
    definitions: Definitions = {
        "a.Row": RecordDef("a.Row", (FieldDef("ids", "ids", ListType(IntType())),), True, extra=IntType())
    }
    row = {
        "type": "object",
        "properties": {"ids": {"type": "array", "items": {"type": "integer"}}},
        "required": ["ids"],
        "additionalProperties": {"type": "integer"},
    }
    made = schema(AnonymousRecord((("row", checked), ("other", checked))), definitions)
    first, second = made["properties"].values()  # type: ignore[attr-defined]
    assert first["allOf"] == [{"properties": {"ids": {"$ref": "#/$defs/checked1_r1"}}}]
    assert second["allOf"] == [{"properties": {"ids": {"$ref": "#/$defs/checked2_r1"}}}]
    assert schema(checked.inner, definitions) == row
    judge = Draft202012Validator(made)
    assert judge.is_valid({"row": {"ids": [1]}, "other": {"ids": [1, 2], "more": 3}})
    assert not judge.is_valid({"row": {"ids": [1]}, "other": {"ids": [1, 1]}})
    lowered = DIALECTS["compatible"].output(schema(checked, definitions))
    assert isinstance(lowered, Lowered)
    assert "allOf" not in json.dumps(lowered.schema)
