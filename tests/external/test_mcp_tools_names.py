"""Names of real tools, parameters and properties: legal and distinct for providers and in AEL, in whatever order they are seen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

import pytest

from ael.types.definition import FieldDef, RecordDef
from ael.types.naming import wire_name, wire_names
from ael.types.signature import ParameterDef
from ael.types.tool_schema import SchemaRefused
from tests.external.mcp_tools_compare import all_types
from tests.external.mcp_tools_corpus import corpus, servers, tools

FOLDER = corpus()
needs_corpus = pytest.mark.skipif(
    FOLDER is None, reason="not run: the names of 2,591 real tools (set AEL_CORPUS to the folder with `mcp-tools`)"
)
LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")
IDENTIFIER = re.compile(r"(?!(?:true|false|null)$)[a-z][A-Za-z0-9_]*")


@needs_corpus
@pytest.mark.feature("A9.22")
def test_every_tool_has_a_legal_name_for_providers_that_no_other_has() -> None:
    assert FOLDER is not None
    names = [f"server{at}.{tool.definition['name']}" for at, listed in enumerate(servers(FOLDER).values()) for tool in listed]
    found = wire_names(names)
    assert sorted(found.values()) == sorted(names)
    assert all(LEGAL.fullmatch(wire) for wire in found)
    assert len({tool.definition["name"] for tool in tools(FOLDER)}) < len(names)
    assert sum(re.fullmatch(r"server\d+__[\w-]+", wire) is not None for wire in found) > 0.9 * len(found)


@needs_corpus
@pytest.mark.feature("A9.22")
def test_the_order_of_servers_and_tools_changes_no_name() -> None:
    assert FOLDER is not None
    names = [f"s.{tool.definition['name']}" for tool in tools(FOLDER)]
    Random(0).shuffle(names)
    assert dict(wire_names(names)) == {wire_name(name): name for name in sorted(names)}


@needs_corpus
@pytest.mark.feature("A9.3")
def test_parameters_and_fields_have_distinct_names_of_the_language_and_keep_their_keys() -> None:
    assert FOLDER is not None
    changed = 0
    for tool in tools(FOLDER):
        types = all_types(FOLDER)[tool.id]
        if isinstance(types, SchemaRefused):
            continue
        groups: list[Sequence[ParameterDef | FieldDef]] = [types.parameters]
        groups += [made.fields for made in types.definitions.values() if isinstance(made, RecordDef)]
        for group in groups:
            assert all(IDENTIFIER.fullmatch(one.name) for one in group), (tool.id, [one.name for one in group])
            assert len({one.name for one in group}) == len(group), tool.id
            changed += sum(one.name != one.wire for one in group)
        for group in groups[1:]:
            assert len({one.wire for one in group}) == len(group), tool.id
    assert changed > 150


@needs_corpus
@pytest.mark.feature("A9.3")
def test_a_tool_takes_the_properties_of_its_schema_as_parameters() -> None:
    assert FOLDER is not None
    for tool in tools(FOLDER):
        types = all_types(FOLDER)[tool.id]
        schema = tool.definition["inputSchema"]
        if isinstance(types, SchemaRefused):
            continue
        keys = [one.wire for one in types.parameters if one.name != types.extra]
        assert sorted(keys) == sorted(schema.get("properties", {})), tool.id
        needed = [one.wire for one in types.parameters if one.required]
        assert sorted(needed) == sorted(set(schema.get("required", ())) & set(keys)), tool.id
        assert (types.extra is not None) == (schema.get("additionalProperties", False) is not False), tool.id
        assert types.text == ("outputSchema" not in tool.definition), tool.id
