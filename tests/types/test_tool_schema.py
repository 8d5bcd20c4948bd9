"""The types of MCP tools and prompts: kinds K16, K17 and K25."""

from __future__ import annotations

from typing import Any

import pytest

from ael.types.decode import checker, decoder
from ael.types.definition import RecordDef
from ael.types.problem import DecodeError
from ael.types.tool_schema import SchemaRefused, ToolTypes, prompt_parameters, tool_types
from ael.types.type import BoolType, CheckedType, IntType, JsonType, MapType, Named, StringType, union

OBJECT: dict[str, Any] = {"type": "object"}


def of(schema: Any, **more: Any) -> ToolTypes:
    return tool_types({"name": "get", "inputSchema": schema, **more}, "main.crm.Get")


def taken(types: ToolTypes, value: object) -> bool:
    try:
        checker(types.input, types.definitions)(value)
    except DecodeError:
        return False
    return True


def refusal(definition: dict[str, Any]) -> tuple[str, str]:
    with pytest.raises(SchemaRefused) as caught:
        tool_types(definition, "main.crm.Get")
    return caught.value.keyword, caught.value.path


@pytest.mark.feature("A9.3")
class TestParameters:
    def test_properties_are_parameters(self) -> None:
        types = of(
            {
                **OBJECT,
                "properties": {
                    "user-id": {"type": "string", "description": "Who."},
                    "limit": {"type": "integer", "default": "no"},
                },
                "required": ["user-id"],
            }
        )
        first, second = types.parameters
        assert (first.name, first.wire, first.type, first.optional, first.doc) == (
            "user_id",
            "user-id",
            StringType(),
            False,
            "Who.",
        )
        assert (second.name, second.type, second.optional, second.required) == ("limit", IntType(), True, False)
        assert types.extra is None
        assert types.input == Named("main.crm.GetInput")
        assert taken(types, {"user-id": "a"})
        assert not taken(types, {"limit": 3})

    @pytest.mark.parametrize("schema", [OBJECT, {}, {**OBJECT, "properties": {}}, {**OBJECT, "additionalProperties": False}])
    def test_no_properties_are_no_parameters(self, schema: Any) -> None:
        types = of(schema)
        assert types.parameters == ()
        assert types.extra is None
        assert taken(types, {})

    def test_keys_of_other_names_are_a_parameter_only_where_the_schema_speaks_of_them(self) -> None:
        assert of({**OBJECT, "properties": {"a": {}}}).extra is None
        types = of({**OBJECT, "properties": {"extra": {}}, "additionalProperties": {"type": "integer"}})
        assert types.extra == "extra_arguments"
        parameter = types.parameters[-1]
        assert (parameter.name, parameter.type, parameter.optional) == ("extra_arguments", MapType(IntType()), True)
        assert of({**OBJECT, "additionalProperties": True}).parameters[0].type == MapType(JsonType())
        referred = {"$ref": "#/$defs/a", "$defs": {"a": {**OBJECT, "additionalProperties": True}}}
        assert of(referred).extra == "extra"

    def test_alternatives_at_the_root_are_the_parameters_of_all_and_the_input_says_which(self) -> None:
        types = of(
            {
                **OBJECT,
                "oneOf": [
                    {"properties": {"id": {"type": "integer"}, "deep": {"type": "boolean"}}, "required": ["id"]},
                    {"properties": {"id": {"type": "string"}, "name": {"type": "string"}}, "required": ["id", "name"]},
                ],
            }
        )
        assert [(p.name, p.type, p.optional) for p in types.parameters] == [
            ("id", union(IntType(), StringType()), False),
            ("deep", BoolType(), True),
            ("name", StringType(), True),
        ]
        assert isinstance(types.input, CheckedType)
        assert taken(types, {"id": 1})
        assert taken(types, {"id": "a", "name": "b"})
        assert not taken(types, {"id": "a"})

    def test_properties_that_hang_together(self) -> None:
        types = of({**OBJECT, "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})
        assert [(p.name, p.optional) for p in types.parameters] == [("a", True), ("b", True)]
        assert not taken(types, {})
        assert taken(types, {"b": 1})

    def test_a_root_that_refers_to_itself_in_a_property(self) -> None:
        types = of({**OBJECT, "properties": {"name": {"type": "string"}, "child": {"$ref": "#"}}, "required": ["name"]})
        assert [p.name for p in types.parameters] == ["name", "child"]
        assert taken(types, {"name": "a", "child": {"name": "b"}})
        assert not taken(types, {"name": "a", "child": {}})


@pytest.mark.feature("A9.3")
class TestK25:
    def test_a_tool_without_an_output_schema_gives_text(self) -> None:
        types = of(OBJECT)
        assert types.text
        assert types.result == StringType()

    def test_the_result_is_of_the_declared_type(self) -> None:
        types = of(OBJECT, outputSchema={**OBJECT, "properties": {"id": {"type": "integer"}}, "required": ["id"]})
        assert not types.text
        assert types.result == Named("main.crm.GetResult")
        assert isinstance(types.definitions["main.crm.GetResult"], RecordDef)
        decode = decoder(types.result, types.definitions)
        assert decode({"id": 1.0, "more": None}) == {"id": 1, "more": None}
        with pytest.raises(DecodeError):
            decode({"id": "1"})

    def test_an_empty_output_schema_is_any_value(self) -> None:
        assert of(OBJECT, outputSchema={}).result == JsonType()


@pytest.mark.feature("A9.4")
class TestK17:
    @pytest.mark.parametrize(
        ("definition", "place"),
        [
            ({"name": "a"}, ("inputSchema", "/inputSchema")),
            ({"name": "a", "inputSchema": None}, ("inputSchema", "/inputSchema")),
            ({"name": "a", "inputSchema": True}, ("inputSchema", "/inputSchema")),
            ({"name": "a", "inputSchema": {"type": "string"}}, ("type", "/inputSchema/type")),
            ({"name": "a", "inputSchema": {"type": ["object", "null"]}}, ("type", "/inputSchema/type")),
            (
                {"name": "a", "inputSchema": {**OBJECT, "properties": {"a": False}, "required": ["a"]}},
                ("inputSchema", "/inputSchema"),
            ),
            (
                {"name": "a", "inputSchema": {**OBJECT, "properties": {"a": {"$ref": "#/gone"}}}},
                ("$ref", "/inputSchema/properties/a/$ref"),
            ),
            ({"name": "a", "inputSchema": OBJECT, "outputSchema": []}, ("outputSchema", "/outputSchema")),
            ({"name": "a", "inputSchema": OBJECT, "outputSchema": {"type": "x"}}, ("type", "/outputSchema/type")),
            (
                {"name": "a", "inputSchema": OBJECT, "execution": {"taskSupport": "required"}},
                ("taskSupport", "/execution/taskSupport"),
            ),
        ],
    )
    def test_what_is_refused_is_named_with_its_place_in_the_definition(
        self, definition: dict[str, Any], place: tuple[str, str]
    ) -> None:
        assert refusal(definition) == place

    def test_tasks_that_are_only_possible_are_no_obstacle(self) -> None:
        assert of(OBJECT, execution={"taskSupport": "optional"}).parameters == ()


class TestPrompts:
    def test_arguments_are_texts(self) -> None:
        made = prompt_parameters(
            {"arguments": [{"name": "code-text", "required": True, "description": "What."}, {"name": "style"}]}
        )
        assert [(p.name, p.wire, p.type, p.optional, p.doc) for p in made] == [
            ("code_text", "code-text", StringType(), False, "What."),
            ("style", "style", StringType(), True, ""),
        ]

    def test_none(self) -> None:
        assert prompt_parameters({"name": "x"}) == ()

    @pytest.mark.parametrize("arguments", [{}, "a", [1], [{}], [{"name": ""}], [{"name": "a"}, {"name": "a"}]])
    def test_malformed_ones_are_refused(self, arguments: object) -> None:
        with pytest.raises(SchemaRefused):
            prompt_parameters({"arguments": arguments})
