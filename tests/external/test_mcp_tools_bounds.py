"""Where a value is refused although a schema allows it: the bounds of every boundary, as docs/mcp-schemas.md lists them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ael.types.decode import decoder, reader
from ael.types.problem import DecodeError
from ael.types.tool_schema import import_schema
from tests.external.mcp_tools_oracle import judge

TEXT: dict[str, Any] = {"type": "string"}
WHOLE: dict[str, Any] = {"type": "integer"}
NUMBER: dict[str, Any] = {"type": "number"}
TREE: dict[str, Any] = {"type": "array", "items": {"$ref": "#"}}


def deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


def taken(schema: dict[str, Any], value: Any) -> bool:
    """Our verdict on a value, which is that on its text."""
    made = import_schema(schema, "main.bounds.Tool")
    verdicts = []
    for look, given in (
        (decoder(made.type, made.definitions), value),
        (reader(made.type, made.definitions, max_bytes=1 << 20), json.dumps(value)),
    ):
        try:
            look(given)
        except DecodeError:
            verdicts.append(False)
        else:
            verdicts.append(True)
    assert verdicts[0] == verdicts[1]
    return verdicts[0]


@pytest.mark.feature("A9.3")
@pytest.mark.parametrize(
    ("schema", "most", "beyond"),
    [
        pytest.param(TEXT, "x" * 65_536, "x" * 65_537, id="text"),
        pytest.param(TEXT, "é" * 32_768, "é" * 32_769, id="bytes of text"),
        pytest.param(TEXT, "\U0001f600", "\ud83d", id="half of a surrogate pair"),
        pytest.param({"type": "array"}, [None] * 10_000, [None] * 10_001, id="entries"),
        pytest.param(
            {"type": "object"}, dict.fromkeys(map(str, range(10_000))), dict.fromkeys(map(str, range(10_001))), id="keys"
        ),
        pytest.param(TREE, deep(32), deep(33), id="nesting"),
        pytest.param({}, deep(32), deep(33), id="nesting of any value"),
        pytest.param(WHOLE, (1 << 4_096) - 1, 1 << 4_096, id="bits of a whole number"),
        pytest.param(WHOLE, float(1 << 53), 1e20, id="a whole number written as a float"),
        pytest.param(NUMBER, 10**308, 10**309, id="a number beyond a float"),
    ],
)
def test_a_bound_holds_where_the_schema_has_none(schema: dict[str, Any], most: Any, beyond: Any) -> None:
    assert judge(schema).is_valid(most)
    assert taken(schema, most)
    if "$ref" not in schema.get("items", ()):
        assert judge(schema).is_valid(beyond)
    assert not taken(schema, beyond)


@pytest.mark.feature("A9.3")
@pytest.mark.parametrize(
    ("schema", "value"),
    [
        pytest.param({"type": "string", "maxLength": 80_000}, "x" * 80_000, id="text"),
        pytest.param({"type": "array", "maxItems": 12_000}, [None] * 12_000, id="entries"),
        pytest.param({"type": "object", "maxProperties": 12_000}, dict.fromkeys(map(str, range(12_000))), id="keys"),
    ],
)
def test_a_bound_of_the_schema_goes_before_the_general_one(schema: dict[str, Any], value: Any) -> None:
    assert taken(schema, value)


@pytest.mark.feature("A9.3")
def test_a_key_that_is_there_twice_is_refused() -> None:
    made = import_schema({"type": "object"}, "main.bounds.Tool")
    read = reader(made.type, made.definitions)
    assert read('{"a": 1, "b": 2}') == {"a": 1, "b": 2}
    with pytest.raises(DecodeError):
        read('{"a": 1, "\\u0061": 2}')


@pytest.mark.feature("A9.3")
def test_a_large_whole_number_is_exact_where_a_whole_number_is_asked_for_and_rounds_elsewhere() -> None:
    whole, number = (import_schema(schema, "main.bounds.Tool") for schema in (WHOLE, NUMBER))
    assert reader(whole.type, whole.definitions)("9007199254740993") == 9_007_199_254_740_993
    assert reader(number.type, number.definitions)("9007199254740993") == 9_007_199_254_740_992.0
