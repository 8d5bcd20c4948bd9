"""Listings over many pages (features A9.2, A9.24; fault kind K20)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ael.mcp.session import SessionLimits
from ael.types.fault import FaultKind
from tests.mcp.http_peer import Asked, Out
from tests.mcp.mcp_peer import NEW, OLD, McpPeer, params, result
from tests.mcp.support import call, failing, run, served, texts

BOTH = pytest.mark.parametrize("version", [OLD, NEW])


def tool(name: object, **more: object) -> dict[str, object]:
    return {"name": name, "inputSchema": {"type": "object"}, **more}


def paged(version: str, pages: Sequence[Sequence[object]], *, last: object = None) -> McpPeer:
    """A server whose tools come in pages; `last` is the cursor on the last one."""

    async def answer(asked: Asked, out: Out) -> None:
        at = int(str(params(asked).get("cursor", "0")).removeprefix("page "))
        cursor = f"page {at + 1}" if at + 1 < len(pages) else last
        await out.reply(200, result(asked, {"tools": pages[at], **({"nextCursor": cursor} if cursor is not None else {})}))

    peer = McpPeer(version)
    peer.on["tools/list"] = answer
    return peer


@pytest.mark.feature("A9.2")
@BOTH
def test_all_pages_are_read_in_order(version: str) -> None:
    async def test() -> None:
        async with served(paged(version, [[tool("a"), tool("b")], [], [tool("c")]])) as (session, http):
            listing = await session.listing("tools", deadline=20)
            assert [item["name"] for item in listing] == ["a", "b", "c"]
            assert http.methods().count("tools/list") == 3

    run(test())


@pytest.mark.feature("A9.8", "B12")
@pytest.mark.parametrize(
    ("last", "kind"),
    [("page 0", FaultKind.MALFORMED), ("page 1", FaultKind.MALFORMED), (7, FaultKind.MALFORMED), ({}, FaultKind.MALFORMED)],
)
@BOTH
def test_a_cursor_that_does_not_advance_is_refused(version: str, last: object, kind: FaultKind) -> None:
    async def test() -> None:
        async with served(paged(version, [[tool("a")], [tool("b")]], last=last)) as (session, http):
            await failing(session.listing("tools", deadline=20), kind)
            assert http.methods().count("tools/list") <= 5
            if version == OLD:
                assert texts(await call(session)) == ["ok"]
            else:
                # Without the definitions it is not known what goes into headers, so nothing is sent.
                await failing(call(session), kind, sent=False)
                assert "tools/call" not in http.methods()

    run(test())


@pytest.mark.feature("A9.8", "B12")
@pytest.mark.parametrize("limits", [SessionLimits(pages=5), SessionLimits(tools=20), SessionLimits(listing=2_000)])
def test_pages_without_end_are_too_large(limits: SessionLimits) -> None:
    async def endless(asked: Asked, out: Out) -> None:
        at = int(str(params(asked).get("cursor", "0")))
        page = {"tools": [tool(f"t{at}-{n}") for n in range(5)], "nextCursor": str(at + 1)}
        await out.reply(200, result(asked, page))

    async def test() -> None:
        peer = McpPeer()
        peer.on["tools/list"] = endless
        async with served(peer, limits=limits) as (session, http):
            await failing(session.listing("tools", deadline=20), FaultKind.TOO_LARGE)
            assert http.methods().count("tools/list") < 12

    run(test())


def test_a_tool_that_is_listed_twice() -> None:
    """Equal definitions count once, whatever the order of their keys; different ones are refused, and their neighbours stay."""

    async def test() -> None:
        again = {"inputSchema": {"type": "object"}, "name": "a"}
        truthy = [tool("c", x=True), tool("c", x=1)]
        async with served(
            paged(OLD, [[tool("a"), tool("b")], [again, tool("b", description="changed"), tool("b"), *truthy, tool("d")]])
        ) as (
            session,
            _,
        ):
            listing = await session.listing("tools", deadline=20)
            assert [item["name"] for item in listing] == ["a", "d"]
            assert listing.refused.keys() == {"b", "c"}

    run(test())


def test_a_malformed_definition_does_not_hide_its_neighbours() -> None:
    async def test() -> None:
        bad: list[object] = [None, 7, [], {}, {"name": 7}, {"description": "no name"}]
        async with served(paged(OLD, [[tool("a"), *bad, tool("odd", inputSchema="no schema"), tool("b")]])) as (session, _):
            listing = await session.listing("tools", deadline=20)
            assert [item["name"] for item in listing] == ["a", "odd", "b"]
            assert listing.nameless == len(bad)

    run(test())


@pytest.mark.parametrize("answer", [{}, {"tools": None}, {"tools": {}}, {"prompts": []}])
def test_an_answer_that_is_no_listing_is_malformed(answer: dict[str, object]) -> None:
    async def other(asked: Asked, out: Out) -> None:
        await out.reply(200, result(asked, answer))

    async def test() -> None:
        peer = McpPeer()
        peer.on["tools/list"] = other
        async with served(peer) as (session, _):
            await failing(session.listing("tools", deadline=20), FaultKind.MALFORMED)

    run(test())


@pytest.mark.feature("A9.24")
@BOTH
def test_resources_templates_and_prompts_are_listed_too(version: str) -> None:
    async def test() -> None:
        peer = McpPeer(version)
        offered: dict[str, dict[str, object]] = {
            "resources/list": {"resources": [{"uri": "file:///a", "name": "a"}]},
            "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "file:///{x}", "name": "x"}]},
            "prompts/list": {"prompts": [{"name": "p"}]},
        }

        async def answer(asked: Asked, out: Out) -> None:
            await out.reply(200, result(asked, offered[str(asked.message["method"])]))

        peer.on |= dict.fromkeys(offered, answer)
        async with served(peer) as (session, http):
            assert [item["uri"] for item in await session.listing("resources", deadline=20)] == ["file:///a"]
            assert [item["uriTemplate"] for item in await session.listing("resourceTemplates", deadline=20)] == ["file:///{x}"]
            assert [item["name"] for item in await session.listing("prompts", deadline=20)] == ["p"]
            session.capabilities = {"tools": {}}
            asked = len(http.asked)
            assert await session.listing("prompts", deadline=20) == ()
            assert len(http.asked) == asked

    run(test())


def test_the_lifetime_that_a_server_gives_its_listing_is_kept() -> None:
    async def lasting(asked: Asked, out: Out) -> None:
        cursor = {"nextCursor": "2"} if "cursor" not in params(asked) else {}
        await out.reply(
            200, result(asked, {"tools": [], "ttlMs": 5_000 if cursor else 90_000, "cacheScope": "private", **cursor})
        )

    async def test() -> None:
        peer = McpPeer(NEW)
        async with served(peer) as (session, _):
            peer.on["tools/list"] = lasting
            assert (await session.listing("tools", deadline=20)).lifetime == 5.0

    run(test())
