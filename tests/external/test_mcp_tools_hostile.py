"""What a hostile server lists: each definition becomes a type or is refused by name, nothing crashes, and the work is bounded."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from ael.types.decode import decoder
from ael.types.problem import DecodeError
from ael.types.schema import schema
from ael.types.tool_schema import Imported, SchemaRefused, ToolTypes, import_schema, tool_types
from tests.external.mcp_tools_corpus import corpus, tools
from tests.external.mcp_tools_generate import Generator
from tests.external.mcp_tools_hostile import DEEP, broken, families, nested, root, steps
from tests.external.mcp_tools_mutate import spoiled
from tests.external.mcp_tools_oracle import judge, same

FOLDER = corpus()
needs_corpus = pytest.mark.skipif(
    FOLDER is None,
    reason="not run: hostile variants of 2,591 real tool definitions (set AEL_CORPUS to the folder with `mcp-tools`)",
)
FIXED = settings(
    max_examples=100,
    derandomize=True,
    deadline=None,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
SOME: tuple[Any, ...] = (None, True, 0, 1.5, "", "text", [], {}, {"a": "x"}, {"a": None}, {"a": [1, "x"]}, {"a": {"a": "x"}})


def imported(raw: Any) -> Imported | SchemaRefused:
    """The type of a schema, or why it is refused; anything else that is raised is a failure."""
    try:
        return import_schema(raw, "main.hostile.Tool")
    except SchemaRefused as error:
        refused = error
    assert refused.keyword
    assert refused.reason
    assert refused.path == "" or refused.path.startswith("/")
    assert len(refused.reason) < 1_000
    return refused


def looks(made: Imported, values: list[Any]) -> list[bool]:
    """The verdict on each value; schema and decoder of what was accepted can be made."""
    json.dumps(schema(made.type, made.definitions))
    decode = decoder(made.type, made.definitions)
    verdicts = []
    for value in values:
        try:
            decode(value)
        except DecodeError:
            verdicts.append(False)
        else:
            verdicts.append(True)
    return verdicts


def reference(raw: Any, values: list[Any]) -> list[bool] | None:
    """The judge's verdicts; None where it has none, because the schema is none or sends it round in circles."""
    try:
        Draft202012Validator.check_schema(raw)
        theirs = judge(raw)
        return [theirs.is_valid(value) for value in values]
    except (SchemaError, RecursionError):
        return None


@needs_corpus
@pytest.mark.feature("A9.4")
@pytest.mark.parametrize("part", range(4))
def test_broken_variants_of_real_schemas_are_refused_or_mean_what_a_validator_says(part: int) -> None:
    assert FOLDER is not None
    accepted = refused = 0
    for tool in tools(FOLDER)[part::40]:
        for kind, original in tool.schemas():
            random = Random(f"{tool.id} {kind}")
            for times in (1, 1, 1, 2, 3, 5):
                raw = broken(original, random, times)
                made = imported(raw)
                if isinstance(made, SchemaRefused):
                    refused += 1
                    continue
                accepted += 1
                values = [*SOME, *_values(original, random)]
                expected = reference(raw, values)
                if expected is not None:
                    assert looks(made, values) == expected, (tool.id, raw)
    assert accepted > 50
    assert refused > 50


def _values(original: dict[str, Any], random: Random) -> list[Any]:
    try:
        generator = Generator(original, random)
        made = generator.value()
    except ValueError:
        return []
    return [made.value, *(value for _, value in spoiled(made, generator, random, 8))]


_TYPES = ["string", "integer", "number", "boolean", "null", "array", "object", "nonsense"]
_LEAVES = st.sampled_from(_TYPES).map(lambda name: {"type": name})
_TEXTS = st.sampled_from(["a", "b", "a-b", "a_b", "A", "$ref", "", "type", "1", "ключ", "__proto__"])
_REFERENCES = st.sampled_from(
    ["#", "#/$defs/a", "#/$defs/b", "#/properties/a", "#/properties/a/items", "#/$defs/none", "http://a/b"]
).map(lambda pointer: {"$ref": pointer})
_NODES: st.SearchStrategy[Any] = st.recursive(
    _LEAVES | _REFERENCES | st.booleans() | st.just({}),
    lambda inner: st.one_of(
        st.dictionaries(_TEXTS, inner, max_size=3).map(lambda made: {"type": "object", "properties": made}),
        st.tuples(st.dictionaries(_TEXTS, inner, max_size=3), st.lists(_TEXTS, max_size=2), inner).map(
            lambda made: {"properties": made[0], "required": made[1], "additionalProperties": made[2]}
        ),
        st.tuples(st.sampled_from(["anyOf", "oneOf", "allOf", "prefixItems"]), st.lists(inner, max_size=3)).map(
            lambda made: {made[0]: made[1]}
        ),
        st.tuples(st.sampled_from(["items", "not", "if", "contains", "propertyNames"]), inner).map(
            lambda made: {made[0]: made[1]}
        ),
        st.tuples(inner, inner).map(
            lambda both: {**both[0], **both[1]} if all(isinstance(one, dict) for one in both) else both[0]
        ),
        st.tuples(
            st.sampled_from(
                ["enum", "const", "minLength", "maximum", "pattern", "uniqueItems", "multipleOf", "type", "required"]
            ),
            st.recursive(
                st.none() | st.booleans() | st.integers(-2, 9) | _TEXTS, lambda part: st.lists(part, max_size=3), max_leaves=4
            ),
        ).map(lambda made: {made[0]: made[1]}),
    ),
    max_leaves=12,
)


@FIXED
@given(_NODES, _NODES, _NODES)
def test_any_tree_of_keywords_is_refused_or_means_what_a_validator_says(body: Any, first: Any, second: Any) -> None:
    raw = {**root(a=body, b=first), "$defs": {"a": first, "b": second}}
    made = imported(raw)
    if isinstance(made, SchemaRefused):
        return
    expected = reference(raw, list(SOME))
    verdicts = looks(made, list(SOME))
    assert expected is None or verdicts == expected


@FIXED
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda part: st.lists(part, max_size=3) | st.dictionaries(_TEXTS, part, max_size=3),
    )
)
def test_a_definition_of_any_shape_is_refused_or_accepted(junk: Any) -> None:
    for definition in (
        {"name": "x", "inputSchema": junk},
        {"name": "x", "inputSchema": root(), "outputSchema": junk},
        {"name": junk},
    ):
        try:
            made: ToolTypes | SchemaRefused = tool_types(definition, "main.hostile.Tool")
        except SchemaRefused as refused:
            made = refused
        assert isinstance(made, ToolTypes) or (made.keyword and made.reason)


@pytest.mark.parametrize("name", [name for name, _ in families(2)])
def test_work_grows_no_faster_than_a_schema(name: str) -> None:
    small, large = 40, 160
    counted = []
    for size in (small, large):
        raw = dict(families(size))[name]
        count, _ = steps(lambda raw=raw: _whole(raw))  # type: ignore[misc]
        counted.append(count)
    # four times the schema: some six times the work at most, or less than what a fixed budget allows
    assert counted[1] < max(6 * counted[0], 200_000), counted
    assert counted[1] < 1_000_000, counted


def _whole(raw: Any) -> None:
    """Import, the decoder, one value, and the schema to tell others."""
    made = imported(raw)
    if isinstance(made, Imported):
        looks(made, [{"a": "x"}, {"a": {"a": "x"}}])


@pytest.mark.parametrize("depth", [20, 200, 5_000])
@pytest.mark.parametrize("name", list(DEEP))
def test_a_schema_that_is_nested_deep_is_refused_or_accepted(name: str, depth: int) -> None:
    made = imported(nested(DEEP[name], depth))
    if isinstance(made, Imported):
        looks(made, list(SOME))
    if depth == 5_000:
        assert isinstance(made, SchemaRefused)


def test_a_value_that_was_accepted_comes_back_equal_for_every_family() -> None:
    for name, raw in families(5):
        made = imported(raw)
        if isinstance(made, SchemaRefused):
            continue
        values = list(SOME)
        expected = reference(raw, values)
        verdicts = looks(made, values)
        assert expected is None or verdicts == expected, name
        decode = decoder(made.type, made.definitions)
        assert all(same(decode(value), value) for value, fits in zip(values, verdicts, strict=True) if fits), name
