"""The types of real tools as JSON Schema again: each provider's dialect tells them, or says why not."""

from __future__ import annotations

import json
from collections import Counter
from random import Random

import pytest

from ael.types.arguments import ArgumentReader, argument_reader
from ael.types.definition import RecordDef
from ael.types.dialect import DIALECTS, Lowered, Unsupported
from ael.types.partial import MISSING, partial
from ael.types.problem import DecodeError
from ael.types.schema import record_schema, schema
from ael.types.tool_schema import SchemaRefused, ToolTypes, tool_types
from tests.external.mcp_tools import shards
from tests.external.mcp_tools_compare import all_types
from tests.external.mcp_tools_corpus import Tool, corpus
from tests.external.mcp_tools_features import nodes
from tests.external.mcp_tools_generate import Generator
from tests.external.mcp_tools_oracle import judge, same

FOLDER = corpus()
needs_corpus = pytest.mark.skipif(
    FOLDER is None,
    reason="not run: 2,591 real tool definitions (set AEL_CORPUS to the folder with `mcp-tools`)",
)
SHARDS = 4
OPENAI = frozenset({
    "type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "description", "$ref", "$defs", "minimum",
    "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "pattern", "format",
})  # fmt: skip
"""The keywords of OpenAI's strict dialect (its guide to structured outputs)."""
GRAMMAR = (OPENAI - {"exclusiveMinimum", "exclusiveMaximum", "multipleOf"}) | {"minLength", "maxLength", "prefixItems"}
"""Those that llama.cpp makes a grammar of."""
STRUCTURED = frozenset({
    "type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "description", "$ref", "$defs", "minItems",
    "format", "default",
})  # fmt: skip
"""Those of Anthropic's structured outputs."""


def accepted(shard: int) -> list[tuple[Tool, ToolTypes]]:
    assert FOLDER is not None
    made = [(tool, all_types(FOLDER)[tool.id]) for tool in shards(FOLDER, SHARDS)[shard]]
    return [(tool, types) for tool, types in made if not isinstance(types, SchemaRefused)]


@needs_corpus
@pytest.mark.feature("A9.3")
@pytest.mark.parametrize("shard", range(SHARDS))
def test_each_dialect_tells_a_tool_in_its_own_keywords_or_says_what_it_cannot_tell(shard: int) -> None:
    refused: Counter[str] = Counter()
    for tool, types in accepted(shard):
        record = RecordDef("main.server.Tool", tuple(one.as_field() for one in types.parameters))
        told = record_schema(record, types.definitions)
        for dialect in DIALECTS.values():
            made = dialect.tool(told)
            if isinstance(made, Unsupported):
                assert made.keyword, tool.id
                assert made.reason, tool.id
                refused[dialect.name] += 1
                continue
            # both services refuse a request with alternatives at the root of a tool
            assert not made.schema.keys() & {"anyOf", "oneOf", "allOf", "enum", "not", "$ref"}, (tool.id, dialect.name)
            if made.strict:
                assert keywords(made) <= (OPENAI if dialect.name == "openai" else GRAMMAR), (tool.id, dialect.name)
            else:
                assert json.loads(json.dumps(made.schema)) == json.loads(json.dumps(told)), (tool.id, dialect.name)
        output = DIALECTS["anthropic"].output(told)
        assert isinstance(output, Unsupported) or keywords(output) <= STRUCTURED, tool.id
    assert not refused.keys() & {"openai", "anthropic", "none"}


def keywords(lowered: Lowered) -> set[str]:
    return {key for node in nodes(lowered.schema) if isinstance(node, dict) for key in node}


@needs_corpus
@pytest.mark.feature("A9.3")
@pytest.mark.parametrize("shard", range(SHARDS))
def test_what_a_tool_takes_is_taken_by_what_a_provider_is_told(shard: int) -> None:
    looked = 0
    for tool, types in accepted(shard):
        told = schema(types.input, types.definitions)
        try:
            value = Generator(dict(tool.schemas())["input"], Random(tool.id)).value().value
        except ValueError:
            continue
        assert judge(told).is_valid(value), (tool.id, value)
        for name in ("anthropic", "compatible"):
            made = DIALECTS[name].tool(told)
            if isinstance(made, Lowered):
                assert judge(made.schema).is_valid(value), (tool.id, name, value)
                looked += 1
    assert looked > 1_000


@needs_corpus
@pytest.mark.feature("A3.8")
@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_models_arguments_arrive_as_they_were_sent_and_an_object_sent_as_text_is_unwrapped_once(shard: int) -> None:
    unwrapped = 0
    for tool, types in accepted(shard):
        fields = tuple(one.as_field() for one in types.parameters if one.name != types.extra)
        read = argument_reader(RecordDef("main.server.Tool", fields), types.definitions)
        made = Generator(dict(tool.schemas())["input"], Random(tool.id)).value(full=True).value
        sent = {key: value for key, value in made.items() if any(field.wire == key for field in fields)}
        arrived = read(json.dumps(sent))
        assert same(arrived.value, sent), tool.id
        assert arrived.notes == (), tool.id
        for key, value in sent.items():
            if value and isinstance(value, dict | list) and not takes_text(read, {**sent, key: "text"}):
                again = read(json.dumps({**sent, key: json.dumps(value)}))
                assert same(again.value, sent), (tool.id, key)
                assert [note.what for note in again.notes] == ["unwrapped"], (tool.id, key)
                unwrapped += 1
    assert unwrapped > 100


@needs_corpus
@pytest.mark.feature("A9.3")
@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_growing_result_of_any_real_type_is_shown_and_the_whole_text_is_the_value(shard: int) -> None:
    for tool, types in accepted(shard)[::4]:
        for kind, said in tool.schemas():
            type = types.input if kind == "input" else types.result
            value = Generator(said, Random(tool.id)).value(full=True).value
            text = json.dumps(value)
            for cut in (0, 1, len(text) // 3, len(text) // 2, len(text) - 1):
                partial(text[:cut], type, types.definitions)
            assert partial(text, type, types.definitions) is not MISSING, (tool.id, kind)


def takes_text(read: ArgumentReader, arguments: dict[str, object]) -> bool:
    """Whether the changed argument may be a text: then it stays one."""
    try:
        read(arguments)
    except DecodeError:
        return False
    return True


@pytest.mark.feature("A3.10")
@pytest.mark.parametrize("key", ["filter[id]", "$top", "@odata.type", "two words", "k" * 65])
def test_a_key_that_a_provider_does_not_take_is_refused_for_that_tool_alone(key: str) -> None:
    types = tool_types(
        {"name": "x", "inputSchema": {"type": "object", "properties": {key: {"type": "string"}}}}, "main.server.Tool"
    )
    told = record_schema(RecordDef("main.server.Tool", tuple(one.as_field() for one in types.parameters)), types.definitions)
    made = DIALECTS["anthropic"].tool(told)
    assert isinstance(made, Unsupported)
    assert made.path == f"properties.{key}"
    assert isinstance(DIALECTS["openai"].tool(told), Lowered)


@pytest.mark.feature("A9.3")
def test_arguments_and_growing_results_of_exclusive_alternatives_end() -> None:
    kinds = [
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]},
    ]
    said = {"type": "object", "properties": {"one": {"oneOf": kinds}, "many": {"type": "array", "items": {"oneOf": kinds}}}}
    types = tool_types({"name": "x", "inputSchema": said, "outputSchema": said}, "main.server.Tool")
    read = argument_reader(RecordDef("main.server.Tool", tuple(one.as_field() for one in types.parameters)), types.definitions)
    value = {"one": {"a": "x"}, "many": [{"b": "y"}]}
    assert read(json.dumps(value)).value == value
    assert [note.what for note in read(json.dumps({"one": json.dumps(value["one"])})).notes] == ["unwrapped"]
    assert partial(json.dumps(value), types.result, types.definitions) == value
