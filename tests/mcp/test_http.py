"""Streamable HTTP: both eras, streams that break, sessions that expire (fault kinds K22, K23, K24, K54)."""

from __future__ import annotations

from typing import Any

import pytest

from ael.mcp.session import SessionLimits, open_session
from ael.types.fault import FaultKind
from tests.mcp.http_peer import Asked, HttpPeer, Out
from tests.mcp.mcp_peer import NEW, OLD, McpPeer, endpoint, error, params, result, text
from tests.mcp.support import Heard, call, failing, opened, run, served, texts

ERAS = pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", OLD, NEW])
BOTH = pytest.mark.parametrize("version", [OLD, NEW])


@pytest.mark.feature("A9.2", "A9.10")
@ERAS
def test_lists_and_calls_in_every_revision(version: str) -> None:
    async def test() -> None:
        async with served(McpPeer(version, session="" if version == NEW else "s-1")) as (session, _):
            assert session.protocol == version
            assert session.server == {"name": "peer", "version": "1"}
            listing = await session.listing("tools", deadline=20)
            assert [tool["name"] for tool in listing] == ["echo"]
            assert texts(await call(session)) == ["ok"]
            await session.ping(20)

    run(test())


def test_the_older_era_carries_session_and_revision_and_ends_the_session() -> None:
    async def test() -> None:
        peer_of = McpPeer(session="s-1")
        async with HttpPeer(peer_of) as peer:
            async with opened(endpoint(peer)) as session:
                await call(session, meta={"idempotencyKey": "k"}, on_progress=lambda *_: None)
            assert peer.methods() == ["server/discover", "initialize", "notifications/initialized", "GET", "tools/call", "DELETE"]
            by_method = dict(zip(peer.methods(), peer.asked, strict=True))
            assert "mcp-protocol-version" not in by_method["initialize"].headers
            assert "mcp-session-id" not in by_method["initialize"].headers
            for method in ("notifications/initialized", "GET", "tools/call", "DELETE"):
                assert by_method[method].headers["mcp-session-id"] == "s-1"
                assert by_method[method].headers["mcp-protocol-version"] == OLD
            sent = by_method["tools/call"].message
            assert params(by_method["tools/call"])["_meta"] == {"idempotencyKey": "k", "progressToken": sent["id"]}

    run(test())


def test_the_stateless_era_says_everything_with_each_request() -> None:
    async def test() -> None:
        async with served(McpPeer(NEW), elicitation=True) as (session, peer):
            await call(session, "ünïcode", meta={"idempotencyKey": "k"})
            assert peer.methods() == ["server/discover", "tools/list", "tools/call"]
            asked = peer.asked[-1]
            assert asked.headers["mcp-method"] == "tools/call"
            assert asked.headers["mcp-name"] == "=?base64?w7xuw69jb2Rl?="
            assert asked.headers["mcp-protocol-version"] == NEW
            assert "mcp-session-id" not in asked.headers
            meta = params(asked)["_meta"]
            assert meta["io.modelcontextprotocol/protocolVersion"] == NEW
            assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "ael"
            assert meta["io.modelcontextprotocol/clientCapabilities"] == {"elicitation": {"form": {}, "url": {}}}
            assert meta["idempotencyKey"] == "k"

    run(test())


def test_a_server_without_initialize_and_one_without_discovery_both_work() -> None:
    """K54: the same behaviour with servers of either era."""

    async def only_new(asked: Asked, out: Out) -> None:
        assert asked.message["method"] != "initialize"
        await McpPeer(NEW)(asked, out)

    async def only_old(asked: Asked, out: Out) -> None:
        if asked.method == "POST" and asked.message["method"] == "server/discover":
            await out.reply(400, b"Bad Request: no session", "text/plain")
        else:
            await McpPeer(OLD)(asked, out)

    async def test() -> None:
        for respond in (only_new, only_old):
            async with served(respond) as (session, _):
                assert texts(await call(session)) == ["ok"]

    run(test())


@pytest.mark.parametrize("answer", ["error", "html", "500", "404", "empty result", "cut"])
def test_whatever_is_no_sign_of_the_newer_protocol_leads_to_the_older_one(answer: str) -> None:
    async def discover(asked: Asked, out: Out) -> None:
        match answer:
            case "error":
                await out.reply(200, error(asked, -32601))
            case "html":
                await out.reply(200, b"<html>", "text/html")
            case "500":
                await out.reply(500)
            case "404":
                await out.reply(404, b"Not Found", "text/plain")
            case "empty result":
                await out.reply(200, result(asked, {}))
            case _:
                out.cut()

    async def test() -> None:
        peer = McpPeer()
        peer.on["server/discover"] = discover
        async with served(peer) as (session, _):
            assert session.protocol == OLD

    run(test())


def test_a_server_of_revisions_that_nobody_here_speaks_is_unavailable() -> None:
    async def refuse(asked: Asked, out: Out) -> None:
        await out.reply(400, error(asked, -32022, "no", {"supported": ["2031-01-01"], "requested": NEW}))

    async def test() -> None:
        peer = McpPeer()
        peer.on["server/discover"] = refuse
        async with HttpPeer(peer) as http:
            problem = await failing(open_session(endpoint(http), Heard()), FaultKind.UNAVAILABLE)
            assert "2031-01-01" in problem.message
        peer = McpPeer("1999-01-01")
        async with HttpPeer(peer) as http:
            await failing(open_session(endpoint(http), Heard()), FaultKind.UNAVAILABLE)

    run(test())


def test_a_server_that_is_not_there_is_unavailable_and_nothing_was_sent() -> None:
    async def test() -> None:
        async with HttpPeer(McpPeer()) as peer:
            where = endpoint(peer)
        await failing(open_session(where, Heard()), FaultKind.UNAVAILABLE, sent=False)

    run(test())


# --- answers as streams


@BOTH
def test_an_answer_may_be_a_stream_with_progress_before_it(version: str) -> None:
    async def stream(asked: Asked, out: Out) -> None:
        await out.stream()
        await out.raw(b": keep alive\n\n")
        token = params(asked)["_meta"]["progressToken"]
        notice = {"progressToken": token, "progress": 1, "total": 2, "message": "half\x1b[31m"}
        await out.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": notice}, name="message")
        await out.event({"jsonrpc": "2.0", "method": "notifications/of/a/kind/nobody/knows"})
        await out.event("not for us", name="other")
        await out.event(result(asked, text("streamed")))

    async def test() -> None:
        told: list[tuple[float, float | None, str]] = []
        peer = McpPeer(version)
        peer.on["tools/call"] = stream
        async with served(peer) as (session, _):
            assert texts(await call(session, on_progress=lambda *facts: told.append(facts))) == ["streamed"]
            assert told == [(1.0, 2.0, "half�[31m")]

    run(test())


@pytest.mark.feature("B12")
def test_a_stream_that_breaks_is_taken_up_again_behind_its_last_event() -> None:
    waiting: dict[str, Any] = {}

    async def begin(asked: Asked, out: Out) -> None:
        waiting["asked"] = asked
        await out.stream()
        await out.event("", id="e-1", retry=10)

    async def go_on(asked: Asked, out: Out) -> None:
        if "last-event-id" not in asked.headers:
            await out.reply(405)
            return
        seen.append(asked.headers["last-event-id"])
        await out.stream()
        if len(seen) < 3:
            await out.event("", id=f"e-{len(seen) + 1}")
        else:
            await out.event(result(waiting["asked"], text("at last")))

    seen: list[str] = []

    async def test() -> None:
        peer = McpPeer(session="s-1")
        peer.on |= {"tools/call": begin, "GET": go_on}
        async with served(peer) as (session, http):
            assert texts(await call(session)) == ["at last"]
            assert seen == ["e-1", "e-2", "e-3"]
            assert http.methods().count("tools/call") == 1

    run(test())


@pytest.mark.feature("A9.8", "B12")
@BOTH
def test_a_stream_that_breaks_and_cannot_be_taken_up_is_disconnected(version: str) -> None:
    async def begin(asked: Asked, out: Out) -> None:
        await out.stream()
        await out.event("", id="e-1", retry=1)
        out.cut()

    async def without(asked: Asked, out: Out) -> None:
        await out.stream()

    async def test() -> None:
        peer = McpPeer(version)
        async with served(peer) as (session, http):
            for broken in (begin, without):
                peer.on["tools/call"] = broken
                await failing(call(session), FaultKind.DISCONNECTED, sent=True)
            assert http.methods().count("tools/call") == 2
            del peer.on["tools/call"]
            assert texts(await call(session)) == ["ok"]

    run(test())


def test_a_stream_that_gives_nothing_new_is_given_up() -> None:
    async def begin(asked: Asked, out: Out) -> None:
        await out.stream()
        await out.event("", id="e-1", retry=1)

    async def go_on(asked: Asked, out: Out) -> None:
        await out.stream()

    async def test() -> None:
        peer = McpPeer(session="s-1")
        async with served(peer) as (session, http):
            peer.on |= {"tools/call": begin, "GET": go_on}
            before = http.methods().count("GET")
            await failing(call(session), FaultKind.DISCONNECTED, sent=True)
            assert 0 < http.methods().count("GET") - before <= SessionLimits().resumes + 1

    run(test())
