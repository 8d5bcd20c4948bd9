"""What results hold (features A9.8, A9.24; fault kind K25)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ael.mcp.failure import McpError
from ael.mcp.results import prompt_answer, resource_answer, tool_answer
from ael.run.ports import RemoteAnswer, RemotePart
from ael.types.fault import FaultKind
from tests.mcp.http_peer import Asked, Out
from tests.mcp.mcp_peer import NEW, OLD, McpPeer, result
from tests.mcp.support import failing, run, served

PIXEL = b64encode(b"\x89PNG12345").decode()
FIXED = settings(max_examples=200, deadline=None, derandomize=True, database=None)


def test_text_is_kept_and_everything_else_is_a_marker() -> None:
    content = [
        {"type": "text", "text": "Grüße", "annotations": {"audience": ["user"]}},
        {"type": "image", "data": PIXEL, "mimeType": "image/png"},
        {"type": "audio", "data": PIXEL, "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/css", "text": "a {}"}},
        {"type": "resource", "resource": {"uri": "file:///b", "blob": PIXEL}},
        {"type": "resource_link", "uri": "file:///c", "name": "c", "size": 12, "mimeType": "text/html"},
        {"type": "hologram\x1b[2J", "depth": 3},
    ]
    assert tool_answer({"content": content}).parts == (
        RemotePart("text", "Grüße", "text/plain", 7),
        RemotePart("image", "", "image/png", 9),
        RemotePart("audio", "", "audio/wav", 9),
        RemotePart("resource", "file:///a", "text/css", 4),
        RemotePart("resource", "file:///b", "application/octet-stream", 9),
        RemotePart("resource_link", "file:///c", "text/html", 12),
        RemotePart("hologram�[2J", "", "application/octet-stream", 0),
    )


def test_structured_values_and_errors() -> None:
    assert tool_answer({"content": [], "structuredContent": {"n": 1}}) == RemoteAnswer((), {"n": 1}, False)
    assert tool_answer({"structuredContent": [1]}) == RemoteAnswer((), [1], False)
    assert tool_answer({"isError": True}) == RemoteAnswer((), None, True)
    assert tool_answer({"isError": True, "content": [], "structuredContent": 7}) == RemoteAnswer((), 7, True)


@pytest.mark.feature("A9.8")
@pytest.mark.parametrize(
    "found",
    [
        {},
        {"content": {}},
        {"content": [7]},
        {"content": [{}]},
        {"content": [{"type": 7}]},
        {"content": [{"type": "text"}]},
        {"content": [{"type": "text", "text": 7}]},
        {"content": [{"type": "image", "mimeType": "image/png"}]},
        {"content": [{"type": "resource"}]},
        {"content": [{"type": "resource", "resource": {"uri": "x"}}]},
        {"content": [{"type": "resource", "resource": {"text": "x"}}]},
        {"content": [{"type": "resource_link"}]},
        {"content": [], "isError": "yes"},
        {"content": [], "isError": None},
    ],
)
def test_a_result_that_is_not_as_mcp_says_is_malformed(found: Mapping[str, object]) -> None:
    with pytest.raises(McpError) as caught:
        tool_answer(found)
    assert caught.value.kind is FaultKind.MALFORMED
    assert caught.value.sent


@pytest.mark.feature("A9.24")
def test_resources_give_text_and_bytes() -> None:
    contents = [
        {"uri": "file:///a", "text": "a"},
        {"uri": "file:///b", "mimeType": "image/png", "blob": PIXEL},
        {"uri": "file:///c", "text": "", "mimeType": "text/html"},
    ]
    assert resource_answer({"contents": contents}).parts == (
        RemotePart("text", "a", "text/plain", 1),
        RemotePart("blob", "", "image/png", 9, data=b"\x89PNG12345"),
        RemotePart("text", "", "text/html", 0),
    )
    for bad in (
        {},
        {"contents": [{"uri": "x"}]},
        {"contents": [{"text": "x"}]},
        {"contents": [{"uri": "x", "blob": "not base64!"}]},
    ):
        with pytest.raises(McpError):
            resource_answer(bad)


@pytest.mark.feature("A9.24")
def test_prompts_give_messages_with_their_roles() -> None:
    messages = [
        {"role": "user", "content": {"type": "text", "text": "Review this"}},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "Sure"}, {"type": "image", "data": PIXEL, "mimeType": "image/png"}],
        },
    ]
    assert prompt_answer({"messages": messages}).parts == (
        RemotePart("text", "Review this", "text/plain", 11, "user"),
        RemotePart("text", "Sure", "text/plain", 4, "assistant"),
        RemotePart("image", "", "image/png", 9, "assistant"),
    )
    for bad in (
        {},
        {"messages": [{"role": "system", "content": {"type": "text", "text": "x"}}]},
        {"messages": [{"role": "user"}]},
    ):
        with pytest.raises(McpError):
            prompt_answer(bad)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["text", "image", "resource", "user"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["type", "text", "data", "resource", "uri", "blob", "role", "content", "x"]), inner, max_size=5
        )
    ),
    max_leaves=12,
)


@FIXED
@given(
    st.dictionaries(st.sampled_from(["content", "contents", "messages", "structuredContent", "isError"]), anything, max_size=5),
    st.sampled_from([tool_answer, resource_answer, prompt_answer]),
)
def test_any_result_is_an_answer_or_malformed(
    found: dict[str, object], read: Callable[[Mapping[str, object]], RemoteAnswer]
) -> None:
    kind = FaultKind.MALFORMED
    try:
        read(found)
    except McpError as problem:
        kind = problem.kind
    assert kind is FaultKind.MALFORMED


@pytest.mark.feature("A9.24")
@pytest.mark.parametrize("version", [OLD, NEW])
def test_reading_a_resource_and_getting_a_prompt(version: str) -> None:
    async def read(asked: Asked, out: Out) -> None:
        await out.reply(200, result(asked, {"contents": [{"uri": "file:///ä", "text": "hello"}]}))

    async def get(asked: Asked, out: Out) -> None:
        await out.reply(200, result(asked, {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]}))

    async def test() -> None:
        peer = McpPeer(version)
        peer.on |= {"resources/read": read, "prompts/get": get}
        async with served(peer) as (session, http):
            assert [part.text for part in (await session.read("file:///ä", meta={}, deadline=20)).parts] == ["hello"]
            assert [part.role for part in (await session.prompt("p", {"code": "x"}, meta={}, deadline=20)).parts] == ["user"]
            if version == NEW:
                assert http.asked[-2].headers["mcp-name"] == "=?base64?ZmlsZTovLy/DpA==?="
                assert http.asked[-1].headers["mcp-name"] == "p"
            del peer.on["resources/read"]
            await failing(session.read("x", meta={}, deadline=20), FaultKind.UNAVAILABLE)

    run(test())
