"""What schemas become, keyword by keyword: kinds K12, K16 and K17."""

from __future__ import annotations

from typing import Any

import pytest

from ael.types.decode import decoder, encoder
from ael.types.definition import AliasDef, FieldDef, RecordDef
from ael.types.from_schema import SchemaRefused, import_schema
from ael.types.problem import DecodeError
from ael.types.type import (
    AnonymousRecord,
    BoolType,
    CheckedType,
    FloatType,
    IntType,
    JsonType,
    ListType,
    LiteralType,
    MapType,
    Named,
    Never,
    NullType,
    StringType,
    Type,
    UnionType,
    optional,
    union,
)

OBJECT = {"type": "object"}
DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}


def fits(schema: Any, value: object) -> bool:
    made = import_schema(schema, "t.R")
    try:
        decoder(made.type, made.definitions)(value)
    except DecodeError:
        return False
    return True


def refusal(schema: Any) -> tuple[str, str]:
    with pytest.raises(SchemaRefused) as caught:
        import_schema(schema, "t.R")
    assert caught.value.reason
    return caught.value.keyword, caught.value.path


def record(schema: Any) -> RecordDef:
    made = import_schema(schema, "t.R")
    assert isinstance(made.type, Named)
    found = made.definitions[made.type.name]
    assert isinstance(found, RecordDef)
    return found


@pytest.mark.feature("A9.3")
@pytest.mark.parametrize(
    ("schema", "type"),
    [
        (True, JsonType()),
        ({}, JsonType()),
        (False, Never()),
        ({"description": "x", "default": 3, "x-vendor": {"type": "string"}}, JsonType()),
        ({"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^a"}, StringType(1, 9, "^a")),
        ({"type": "string", "format": "date-time"}, StringType(hint="date-time")),
        ({"type": "string", "minLength": 2.0}, StringType(2)),
        ({"type": "integer", "minimum": 0.5, "exclusiveMaximum": 10}, IntType(1, 9)),
        ({"type": "integer", "minimum": 1.0, "exclusiveMinimum": 1}, IntType(2)),
        ({"type": "integer", "multipleOf": 1}, IntType()),
        ({"type": "number", "multipleOf": 1.0}, IntType()),
        ({"type": "number", "minimum": 0, "exclusiveMaximum": 1}, FloatType(0.0, 0.9999999999999999)),
        ({"type": "number", "minimum": 2, "maximum": 1}, Never()),
        ({"type": "boolean"}, BoolType()),
        ({"type": "null"}, NullType()),
        ({"type": ["string", "null"]}, optional(StringType())),
        ({"type": ["null", "integer", "string"]}, union(IntType(), StringType(), NullType())),
        ({"type": ["integer", "number"]}, FloatType()),
        ({"type": "array"}, ListType(JsonType())),
        ({"type": "array", "items": True}, ListType(JsonType())),
        ({"type": "array", "items": {}}, ListType(JsonType())),
        ({"type": "array", "items": False}, ListType(JsonType(), None, 0)),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3}, ListType(StringType(), 1, 3)),
        ({"type": "array", "items": {"type": "string"}, "minItems": 4, "maxItems": 3}, Never()),
        (
            {"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "items": False, "minItems": 2},
            ListType(FloatType(), 2, 2),
        ),
        (OBJECT, MapType(JsonType())),
        ({**OBJECT, "additionalProperties": False}, AnonymousRecord(())),
        ({**OBJECT, "additionalProperties": {"type": "integer"}, "minProperties": 1}, MapType(IntType(), 1)),
        ({**OBJECT, "propertyNames": {"type": "string"}}, MapType(JsonType())),
        ({**OBJECT, "propertyNames": False}, AnonymousRecord(())),
        ({"const": "a"}, LiteralType("a")),
        ({"const": None}, NullType()),
        ({"const": 1.0}, LiteralType(1)),
        ({"const": 1.5}, FloatType(1.5, 1.5)),
        ({"enum": ["a", 1, True, None]}, union(LiteralType("a"), LiteralType(1), LiteralType(True), NullType())),
        ({"type": "string", "enum": ["a", 1, "bcd"], "maxLength": 2}, LiteralType("a")),
        ({"enum": []}, Never()),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, union(StringType(), IntType())),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}]}, UnionType((IntType(), FloatType()), "any")),
        ({"anyOf": [{"type": "integer"}, {}]}, JsonType()),
        ({"anyOf": [{"type": "integer"}, False]}, IntType()),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, UnionType((IntType(), FloatType()), "one")),
        ({"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]}, union(LiteralType("a"), LiteralType("b"))),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, optional(StringType())),
        ({"type": "integer", "allOf": [{"minimum": 1}, {"maximum": 5}]}, IntType(1, 5)),
        ({"allOf": [{"type": "number", "minimum": 0.5}, {"type": "integer"}]}, IntType(1)),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, Never()),
        ({"allOf": [{"enum": ["a", "b", "c"]}, {"enum": ["b", "c", "d"]}]}, union(LiteralType("b"), LiteralType("c"))),
        ({"$ref": "#/$defs/a%25~1b~0c", "$defs": {"a%/b~c": {"type": "string"}}}, StringType()),
        ({"$ref": "#/definitions/a", "definitions": {"a": {"type": "string"}}, "minLength": 2, "type": "string"}, StringType(2)),
        ({"$ref": "#there", "$defs": {"x": {"$anchor": "there", "type": "string"}}}, StringType()),
        ({"$id": "https://a.example/s", "$ref": "b", "$defs": {"x": {"$id": "b", "type": "string"}}}, StringType()),
        ({**DRAFT_7, "$ref": "#/definitions/a", "definitions": {"a": {"type": "string"}}, "minLength": 2}, StringType()),
        ({"not": {}}, Never()),
        ({"type": "string", "not": False}, StringType()),
        ({"type": "string", "if": True, "then": {"minLength": 2}}, StringType(2)),
    ],
)
def test_what_a_schema_becomes(schema: Any, type: Type) -> None:
    made = import_schema(schema, "t.R")
    assert made.type == type
    assert not made.definitions


class TestRecords:
    def test_required_and_optional_and_names_that_are_no_identifiers(self) -> None:
        found = record(
            {
                **OBJECT,
                "description": "A person.",
                "properties": {
                    "If-Match": {"type": "string", "description": "The tag."},
                    "$eq": {"type": "integer"},
                    "maxResults": {"type": "integer", "default": "not one"},
                    "true": {"type": "boolean"},
                    "日本": {"type": "null"},
                    "field": {},
                    "URL": {"type": "string"},
                    "2nd": {"type": "string"},
                },
                "required": ["$eq"],
                "additionalProperties": False,
            }
        )
        assert found.doc == "A person."
        assert not found.open
        assert [(f.name, f.wire, f.optional) for f in found.fields] == [
            ("if_match", "If-Match", True),
            ("eq", "$eq", False),
            ("maxResults", "maxResults", True),
            ("field_true", "true", True),
            ("field", "日本", True),
            ("field_2", "field", True),
            ("url", "URL", True),
            ("field_2nd", "2nd", True),
        ]
        assert found.fields[0].doc == "The tag."
        assert all(f.required == (f.wire == "$eq") for f in found.fields)

    def test_open_closed_and_typed_other_keys(self) -> None:
        base = {**OBJECT, "properties": {"a": {"type": "integer"}}}
        assert record(base).other == JsonType()
        assert record({**base, "additionalProperties": True}).other == JsonType()
        assert record({**base, "additionalProperties": False}).other is None
        typed = {**base, "additionalProperties": {"type": "string", "maxLength": 3}}
        assert record(typed).other == StringType(max=3)
        assert fits(typed, {"a": 1, "b": "x"})
        assert not fits(typed, {"a": 1, "b": "long"})
        assert not fits(typed, {"a": 1, "b": 1})

    def test_what_is_required_need_not_be_among_the_properties(self) -> None:
        assert record({**OBJECT, "required": ["x"]}).fields == (FieldDef("x", "x", JsonType()),)
        schema = {**OBJECT, "required": ["x"], "additionalProperties": {"type": "integer"}}
        assert record(schema).fields == (FieldDef("x", "x", IntType()),)
        assert import_schema({**schema, "additionalProperties": False}, "t.R").type == Never()

    def test_a_property_that_may_not_be_there(self) -> None:
        assert fits({**OBJECT, "properties": {"a": False}}, {"b": 1})
        assert not fits({**OBJECT, "properties": {"a": False}}, {"a": 1})
        assert import_schema({**OBJECT, "properties": {"a": False}, "required": ["a"]}, "t.R").type == Never()

    def test_optional_is_not_nullable_and_nullable_is_not_optional(self) -> None:
        schema = {**OBJECT, "properties": {"a": {"type": "string"}, "b": {"type": ["string", "null"]}}, "required": ["b"]}
        assert fits(schema, {"b": None})
        assert not fits(schema, {"a": None, "b": None})
        assert not fits(schema, {})

    def test_nested_records_are_named_after_their_place(self) -> None:
        made = import_schema(
            {
                **OBJECT,
                "properties": {
                    "ship-to": {**OBJECT, "properties": {"street": {}}},
                    "lines": {"type": "array", "items": {**OBJECT, "properties": {"sku": {}}}},
                    "how": {
                        "oneOf": [
                            {**OBJECT, "properties": {"kind": {"const": "card"}, "n": {}}, "required": ["kind"]},
                            {**OBJECT, "properties": {"kind": {"const": "cash"}}, "required": ["kind"]},
                        ]
                    },
                },
            },
            "main.crm.Order",
        )
        assert sorted(made.definitions) == [
            "main.crm.Order",
            "main.crm.OrderHowCard",
            "main.crm.OrderHowCash",
            "main.crm.OrderLinesItem",
            "main.crm.OrderShipTo",
        ]

    def test_all_of_records_is_one_record(self) -> None:
        schema = {
            "$defs": {
                "base": {**OBJECT, "properties": {"id": {"type": "integer"}, "tag": {"type": "string"}}, "required": ["id"]}
            },
            "allOf": [
                {"$ref": "#/$defs/base"},
                {"properties": {"tag": {"maxLength": 3, "type": "string"}, "more": {"type": "boolean"}}, "required": ["more"]},
            ],
            "type": "object",
        }
        made = import_schema(schema, "t.R")
        assert isinstance(made.type, Named)
        found = made.definitions[made.type.name]
        assert isinstance(found, RecordDef)
        assert [(f.wire, f.type, f.optional) for f in found.fields] == [
            ("id", IntType(), False),
            ("tag", StringType(max=3), True),
            ("more", BoolType(), False),
        ]
        closed = {
            "allOf": [{**OBJECT, "properties": {"a": {}}, "additionalProperties": False}, {**OBJECT, "properties": {"b": {}}}]
        }
        assert fits(closed, {"a": 1})
        assert not fits(closed, {"b": 1})


class TestK16:
    def test_recursion(self) -> None:
        tree = {
            "$ref": "#/$defs/node",
            "$defs": {
                "node": {
                    **OBJECT,
                    "properties": {"name": {"type": "string"}, "below": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
                    "required": ["name"],
                }
            },
        }
        made = import_schema(tree, "t.R")
        assert made.type == Named("t.RNode")
        assert list(made.definitions) == ["t.RNode"]
        assert fits(tree, {"name": "a", "below": [{"name": "b", "below": []}]})
        assert not fits(tree, {"name": "a", "below": [{"below": []}]})

    def test_recursion_through_lists_and_unions_is_an_alias(self) -> None:
        schema = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#"}}]}
        made = import_schema({"type": "array", "items": {"$ref": "#/$defs/a"}, "$defs": {"a": schema | {"$id": "x"}}}, "t.R")
        assert isinstance(made.type, ListType)
        (alias,) = made.definitions.values()
        assert isinstance(alias, AliasDef)
        nested = {"type": "array", "items": {"$ref": "#/$defs/a"}, "$defs": {"a": schema | {"$id": "x"}}}
        assert fits(nested, ["a", ["b", [["c"]]]])
        assert not fits(nested, ["a", [["c", 1]]])

    def test_pointers_into_properties_and_lists(self) -> None:
        schema = {
            **OBJECT,
            "properties": {
                "a": {"type": "array", "items": {"type": "string", "maxLength": 2}},
                "b": {"$ref": "#/properties/a/items"},
                "c": {"anyOf": [{"type": "integer"}, {"$ref": "#/properties/c/anyOf/0"}]},
            },
        }
        assert fits(schema, {"a": ["x"], "b": "xx", "c": 1})
        assert not fits(schema, {"b": "xxx"})

    @pytest.mark.feature("A9.4")
    @pytest.mark.parametrize(
        ("schema", "place"),
        [
            ({"$ref": "#/$defs/gone"}, ("$ref", "/$ref")),
            ({**OBJECT, "properties": {"a": {"$ref": "#gone"}}}, ("$ref", "/properties/a/$ref")),
            ({"$ref": "https://other.example/schema"}, ("$ref", "/$ref")),
            ({"$ref": "file:///etc/passwd"}, ("$ref", "/$ref")),
            ({"$ref": "other.json#/a"}, ("$ref", "/$ref")),
            ({"$ref": 3}, ("$ref", "/$ref")),
            ({"$ref": "#/type", "type": "string"}, ("$ref", "/$ref")),
            ({"$ref": "#"}, ("$ref", "")),
            ({"anyOf": [{"$ref": "#"}, {"type": "null"}]}, ("$ref", "")),
            (
                {"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}},
                ("$ref", "/$defs/a"),
            ),
            ({"$dynamicRef": "#x"}, ("$dynamicRef", "/$dynamicRef")),
            ({"$schema": "http://json-schema.org/draft-04/schema#"}, ("$schema", "/$schema")),
            ({"$vocabulary": {}}, ("$vocabulary", "/$vocabulary")),
            ({"type": "strin"}, ("type", "/type")),
            ({"type": []}, ("type", "/type")),
            ({"type": "string", "minLength": -1}, ("minLength", "/minLength")),
            ({"type": "string", "maxLength": "5"}, ("maxLength", "/maxLength")),
            ({"type": "number", "exclusiveMinimum": True}, ("exclusiveMinimum", "/exclusiveMinimum")),
            ({"type": "number", "multipleOf": 0}, ("multipleOf", "/multipleOf")),
            ({**OBJECT, "required": True}, ("required", "/required")),
            ({**OBJECT, "properties": {"a/b": {"required": ["x", 1]}}}, ("required", "/properties/a~1b/required")),
            ({**OBJECT, "properties": []}, ("properties", "/properties")),
            ({**OBJECT, "properties": {"a": "string"}}, ("properties", "/properties/a")),
            ({"enum": "a"}, ("enum", "/enum")),
            ({"anyOf": []}, ("anyOf", "/anyOf")),
            ({"anyOf": {}}, ("anyOf", "/anyOf")),
            ({"type": "array", "uniqueItems": "yes"}, ("uniqueItems", "/uniqueItems")),
            ({"dependencies": {"a": ["b"]}}, ("dependencies", "/dependencies")),
            ({"type": "string", "pattern": "(?<=a)b"}, ("pattern", "/pattern")),
            ({"type": "string", "pattern": "(a)\\1"}, ("pattern", "/pattern")),
            ({"not": {"pattern": "("}}, ("pattern", "/not/pattern")),
            ({**OBJECT, "patternProperties": {"^(?!a)": {}}}, ("patternProperties", "/patternProperties/^(?!a)")),
            ({**OBJECT, "patternProperties": {"(": {}}}, ("patternProperties", "/patternProperties")),
            ({"$defs": {"a": {"$id": "x"}, "b": {"$id": "x"}}}, ("$id", "/$defs/a/$id")),
            ([], ("schema", "")),
            (None, ("schema", "")),
        ],
    )
    def test_what_is_refused_is_named_with_its_place(self, schema: Any, place: tuple[str, str]) -> None:
        assert refusal(schema) == place

    def test_what_nothing_refers_to_is_no_reason_to_refuse(self) -> None:
        assert fits({"type": "string", "$defs": {"unused": {"$ref": "#/nowhere"}}}, "a")


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer", "multipleOf": 3}, [3, 6.0, 0], [1, "3"]),
        ({"type": "number", "multipleOf": 0.01}, [4.35, 0.07, 19.99], [0.001]),
        (
            {"type": "array", "uniqueItems": True},
            [[1, True, "1", [1], {"a": 1}], []],
            [[1, 1.0], [{"a": 1, "b": 2}, {"b": 2, "a": 1.0}]],
        ),
        ({"type": "array", "contains": {"const": 2}, "minContains": 2}, [[2, 2.0]], [[2], [True, 1]]),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
            [["a", 1, None], ["a"], []],
            [[1], ["a", "b"]],
        ),
        ({"const": {"a": [1, None]}}, [{"a": [1.0, None]}], [{"a": [True, None]}, {"a": [1, None], "b": 1}]),
        ({"const": [1, {"a": 2}]}, [[1.0, {"a": 2}]], [[1], [1, {"a": 3}], [1, {"a": 2}, 3]]),
        ({"enum": [{"a": 1}, [1], 3]}, [{"a": 1}, [1.0], 3.0], [{}, [2], [True], 4]),
        ({"not": {"type": "string"}}, [1, None, []], ["a"]),
        ({"minLength": 3}, ["abc", 5, None, [], {"a": 1}], ["ab"]),
        ({"required": ["a"]}, [{"a": 1}, [], 3], [{}]),
        ({"minimum": 3}, [3, "a"], [2.5]),
        ({"if": {"type": "integer"}, "then": {"minimum": 3}, "else": {"type": "string"}}, [3, "a"], [2, None]),
        (
            {**OBJECT, "properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}},
            [{"a": 1, "b": 2}, {"b": 1}, {}],
            [{"a": 1}],
        ),
        (
            {**DRAFT_7, **OBJECT, "dependencies": {"a": ["b"], "c": {"minProperties": 3}}},
            [{"a": 1, "b": 2}],
            [{"a": 1}, {"c": 1}],
        ),
        ({**OBJECT, "patternProperties": {"^x-": {"type": "integer"}}}, [{"x-a": 1, "y": "s"}], [{"x-a": "s"}]),
        (
            {**OBJECT, "patternProperties": {"^\\d+$": {"type": "integer"}}, "additionalProperties": False},
            [{"1": 1}],
            [{"1": "a"}, {"a": 1}, {"١": 1}, {"1\n": 1}],
        ),
        ({**OBJECT, "propertyNames": {"maxLength": 2}}, [{"ab": 1}], [{"abc": 1}]),
        ({**OBJECT, "properties": {"a": {}}, "minProperties": 2}, [{"a": 1, "b": 2}], [{"a": 1}]),
        (
            {**OBJECT, "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            [{"a": 1}, {"b": 1}, {"a": 1, "b": 1}],
            [{}, {"c": 1}],
        ),
        (
            {**OBJECT, "properties": {"a": {}, "b": {}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            [{"a": 1}, {"b": 1}],
            [{}, {"a": 1, "b": 1}],
        ),
        ({"oneOf": [{"type": "string", "maxLength": 3}, {"type": "string", "pattern": "^a"}]}, ["b", "aaaa"], ["a", "bbbb"]),
        ({"anyOf": [{"type": "string", "maxLength": 3}, {"type": "string", "pattern": "^a"}]}, ["b", "aaaa", "a"], ["bbbb"]),
        ({"oneOf": [{"type": "integer"}, {"type": "integer"}]}, [], [1]),
        ({"allOf": [{"pattern": "a", "type": "string"}, {"pattern": "b"}]}, ["ab"], ["a", "b"]),
        (
            {**OBJECT, "allOf": [{"properties": {"a": {"type": "integer"}}}], "unevaluatedProperties": False},
            [{"a": 1}, {}],
            [{"b": 1}],
        ),
        ({"type": "number", "exclusiveMinimum": 2**53}, [2**53 + 1, 1e300], [2**53, 1]),
        ({"type": "number", "maximum": 2**60 + 1}, [2**60 + 1, 0.5], [2**60 + 2**10]),
        ({"type": "string", "pattern": "^(?!a)(?=.*c).b"}, ["bbc", "cb"], ["abc", "bb"]),
        ({"pattern": "^(?!a)(?=.*c).b", "allOf": [{"minLength": 3}]}, ["bbc", 1], ["abc", "cb"]),
        ({"not": {"pattern": "^(?!a)"}}, ["ab"], ["b", 1]),
        ({**DRAFT_7, "type": "array", "items": [{"type": "string"}], "additionalItems": False}, [["a"], []], [["a", 1], [1]]),
        ({"type": "array", "items": [{"type": "string"}], "additionalItems": False}, [["a"], []], [["a", 1], [1]]),
    ],
)
def test_what_is_beyond_a_type_is_decided_exactly(schema: Any, good: list[object], bad: list[object]) -> None:
    assert [value for value in good if not fits(schema, value)] == []
    assert [value for value in bad if fits(schema, value)] == []


class TestK12:
    def test_whole_numbers_are_integers_however_they_are_written(self) -> None:
        made = import_schema({"type": "array", "items": {"type": "integer"}}, "t.R")
        assert repr(decoder(made.type, {})([1.0, 1e3, 2**60])) == f"[1, 1000, {2**60}]"

    def test_true_is_no_number_and_one_is_one(self) -> None:
        assert not fits({"const": 1}, True)
        assert not fits({"const": True}, 1)
        assert not fits({"enum": [0, 1]}, False)
        assert fits({"enum": [0, 1]}, 1.0)
        assert not fits({"type": "integer"}, True)


CLOCK = {
    **OBJECT,
    "properties": {"h": {"type": "integer", "multipleOf": 2}},
    "required": ["h"],
    "additionalProperties": False,
}


class TestPredicates:
    def test_the_type_keeps_its_shape_and_the_predicate_stands_on_top(self) -> None:
        made = import_schema(CLOCK, "t.R")
        assert isinstance(made.type, CheckedType)
        assert made.type.inner == Named("t.R")
        assert made.definitions["t.R"] == RecordDef("t.R", (FieldDef("h", "h", IntType()),))

    def test_a_refusal_says_where_and_why(self) -> None:
        made = import_schema(CLOCK, "t.R")
        with pytest.raises(DecodeError) as caught:
            decoder(made.type, made.definitions)({"h": 3})
        (problem,) = caught.value.problems
        assert problem.path == "h"
        assert "does not fit `multipleOf` of the schema" in problem.message

    def test_they_hold_on_the_way_out(self) -> None:
        made = import_schema(CLOCK, "t.R")
        write = encoder(made.type, made.definitions)
        assert write({"h": 4}) == {"h": 4}
        with pytest.raises(DecodeError):
            write({"h": 3})

    def test_the_text_is_one_for_one_meaning(self) -> None:
        first = import_schema({"type": "string", "not": {"const": "a"}, "title": "T", "x": 1}, "t.R").type
        second = import_schema({"not": {"const": "a"}, "type": ["string"], "description": "d"}, "u.S").type
        assert isinstance(first, CheckedType)
        assert isinstance(second, CheckedType)
        assert first.schema == second.schema == '{"not":{"const":"a"},"type":["string"]}'
