"""Arguments that are repeated as headers (revision 2026-07-28)."""

from __future__ import annotations

import re
from base64 import b64decode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ael.mcp.mirror import BadMark, header_value, marks, request_headers
from ael.net.client import header_line
from tests.mcp.mcp_peer import NEW, OLD, McpPeer
from tests.mcp.support import call, run, served

FIXED = settings(max_examples=200, deadline=None, derandomize=True, database=None)
REGION = {"type": "string", "x-mcp-header": "Region"}


def schema(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties}


def test_marks_are_found_by_the_path_of_their_argument() -> None:
    inner = schema(zone={"type": "integer", "x-mcp-header": "Zone"})
    assert marks(schema(region=REGION, place=inner, other={"type": "string"})) == {
        ("region",): "Region",
        ("place", "zone"): "Zone",
    }
    assert marks(None) == marks(True) == marks({}) == {}
    # Data is not a schema, and no reference is followed.
    assert marks({"default": {"x-mcp-header": "A"}, "enum": [REGION], "$ref": "https://example.com/schema"}) == {}


@pytest.mark.parametrize(
    "bad",
    [
        {"x-mcp-header": "Root", "type": "string"},
        schema(a={"type": "string", "x-mcp-header": ""}),
        schema(a={"type": "string", "x-mcp-header": "two words"}),
        schema(a={"type": "string", "x-mcp-header": "a:b"}),
        schema(a={"type": "string", "x-mcp-header": "a\r\nb"}),
        schema(a={"type": "string", "x-mcp-header": "Région"}),
        schema(a={"type": "string", "x-mcp-header": 7}),
        schema(a={"type": "number", "x-mcp-header": "A"}),
        schema(a={"type": "object", "x-mcp-header": "A"}),
        schema(a={"type": ["string", "null"], "x-mcp-header": "A"}),
        schema(a={"x-mcp-header": "A"}),
        schema(a=REGION, b={"type": "string", "x-mcp-header": "region"}),
        schema(a={"type": "array", "items": REGION}),
        schema(a={"anyOf": [REGION]}),
        {"allOf": [schema(a=REGION)]},
        {"$defs": {"a": REGION}},
        {"additionalProperties": REGION},
        {"patternProperties": {"x": REGION}},
    ],
)
def test_a_mark_that_is_not_allowed_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(BadMark):
        marks(bad)


def test_a_schema_that_is_nested_deep_is_walked_to_its_end() -> None:
    deep: dict[str, object] = dict(REGION)
    for _ in range(5_000):
        deep = {"not": deep}
    with pytest.raises(BadMark):
        marks(deep)


def test_the_headers_of_a_request() -> None:
    marked = marks(
        schema(
            a=REGION,
            n={"type": "integer", "x-mcp-header": "N"},
            b={"type": "boolean", "x-mcp-header": "B"},
            x=schema(z=REGION | {"x-mcp-header": "Z"}),
        )
    )
    params = {"name": "t", "arguments": {"a": " padded", "n": 42, "b": False, "x": None}}
    assert request_headers(NEW, "tools/call", params, marked) == [
        f"MCP-Protocol-Version: {NEW}",
        "Mcp-Method: tools/call",
        "Mcp-Name: t",
        "Mcp-Param-Region: =?base64?IHBhZGRlZA==?=",
        "Mcp-Param-N: 42",
        "Mcp-Param-B: false",
    ]


@FIXED
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60) | st.just("=?base64?eA==?="))
def test_any_text_can_be_carried_and_read_again(text: str) -> None:
    packed = header_value(text)
    assert header_line("Mcp-Name", packed) == f"Mcp-Name: {packed}"
    found = re.fullmatch(r"=\?base64\?(.*)\?=", packed)
    assert (packed if found is None else b64decode(found[1], validate=True).decode()) == text


def test_a_marked_argument_goes_into_a_header_also_when_nobody_listed_the_tools() -> None:
    async def test() -> None:
        peer = McpPeer(NEW, tools=[{"name": "echo", "inputSchema": schema(text=REGION)}])
        async with served(peer) as (session, http):
            await call(session, arguments={"text": "eu"})
            assert http.asked[-1].headers["mcp-param-region"] == "eu"
            assert http.methods() == ["server/discover", "tools/list", "tools/call"]

    run(test())


def test_a_definition_with_a_mark_that_is_not_allowed_is_refused_and_its_neighbours_stay() -> None:
    async def test() -> None:
        tools: list[dict[str, object]] = [
            {"name": "bad", "inputSchema": schema(a={"type": "number", "x-mcp-header": "A"})},
            {"name": "good", "inputSchema": schema(text=REGION)},
        ]
        async with served(McpPeer(NEW, tools=tools)) as (session, _):
            listing = await session.listing("tools", deadline=20)
            assert [tool["name"] for tool in listing] == ["good"]
            assert listing.refused.keys() == {"bad"}
        # In the older era the mark means nothing.
        async with served(McpPeer(OLD, tools=tools)) as (session, http):
            assert len(await session.listing("tools", deadline=20)) == 2
            await call(session, "good")
            assert "mcp-param-region" not in http.asked[-1].headers

    run(test())
