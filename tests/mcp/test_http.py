"""Streamable HTTP: both eras, streams that break, sessions that expire (fault kinds K22, K23, K24, K54)."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Mapping
from typing import Any

import pytest

from ael.mcp.session import ElicitationReply, SessionLimits, open_session
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


# --- answers that are none (K24)

BAD_ANSWERS: Mapping[str, tuple[int, bytes, str, FaultKind]] = {
    "a page": (200, b"<html>\x1b[2J\x00Sign in " + b"x" * 10_000, "text/html", FaultKind.MALFORMED),
    "a page for an error": (502, b"<html>Bad Gateway " + b"x" * 10_000, "text/html", FaultKind.UNAVAILABLE),
    "no content": (204, b"", "text/plain", FaultKind.MALFORMED),
    "accepted": (202, b"", "application/json", FaultKind.MALFORMED),
    "no type": (200, b"{}", "", FaultKind.MALFORMED),
    "not JSON": (200, b"{", "application/json", FaultKind.MALFORMED),
    "not a number": (200, b'{"jsonrpc":"2.0","id":3,"result":{"x":NaN}}', "application/json", FaultKind.MALFORMED),
    "another id": (200, b'{"jsonrpc":"2.0","id":77,"result":{}}', "application/json", FaultKind.MALFORMED),
    "a notification": (200, b'{"jsonrpc":"2.0","method":"x"}', "application/json", FaultKind.MALFORMED),
    "an empty batch": (200, b"[]", "application/json", FaultKind.MALFORMED),
    "a result that is none": (200, b'{"jsonrpc":"2.0","id":ID,"result":7}', "application/json", FaultKind.MALFORMED),
    "no content in it": (200, b'{"jsonrpc":"2.0","id":ID,"result":{}}', "application/json", FaultKind.MALFORMED),
    "busy": (429, b"slow down", "text/plain", FaultKind.UNAVAILABLE),
    "too large": (413, b"", "text/plain", FaultKind.TOO_LARGE),
    "no": (403, b"no", "text/plain", FaultKind.DENIED),
    "who are you": (401, b"", "text/plain", FaultKind.DENIED),
    "broken": (500, b"boom", "text/plain", FaultKind.UNAVAILABLE),
}


@pytest.mark.feature("A9.8", "B12")
@BOTH
@pytest.mark.parametrize("name", BAD_ANSWERS)
def test_what_is_no_answer_is_typed_with_a_bounded_excerpt_and_the_session_lives(name: str, version: str) -> None:
    status, body, kind, fault = BAD_ANSWERS[name]

    async def answer(asked: Asked, out: Out) -> None:
        await out.reply(status, body.replace(b"ID", str(asked.message["id"]).encode()), kind, retry_after="7")

    async def test() -> None:
        peer = McpPeer(version)
        async with served(peer) as (session, http):
            await session.listing("tools", deadline=20)
            peer.on["tools/call"] = answer
            problem = await failing(call(session), fault, sent=status not in (401, 403, 413, 429))
            assert len(problem.message) < 500
            assert problem.message.isprintable()
            if status != 200:
                assert problem.status == status
                assert problem.retry_after == 7.0
            assert http.methods().count("tools/call") == 1
            del peer.on["tools/call"]
            assert texts(await call(session)) == ["ok"]

    run(test())


@pytest.mark.parametrize(
    ("code", "kind", "sent"),
    [
        (-32602, FaultKind.BAD_ARGUMENTS, False),
        (-32601, FaultKind.UNAVAILABLE, False),
        (-32042, FaultKind.DENIED, False),
        (-32603, FaultKind.TOOL_FAILED, True),
        (-32000, FaultKind.TOOL_FAILED, True),
        (7, FaultKind.TOOL_FAILED, True),
    ],
)
@pytest.mark.parametrize("status", [200, 400, 500])
def test_an_error_of_the_server_keeps_its_code_and_a_bounded_text(code: int, kind: FaultKind, sent: bool, status: int) -> None:
    async def refuse(asked: Asked, out: Out) -> None:
        await out.reply(status, error(asked, code, "no\x1b[31m " + "x" * 9_000))

    async def test() -> None:
        peer = McpPeer()
        peer.on["tools/call"] = refuse
        async with served(peer) as (session, _):
            problem = await failing(call(session), kind, sent=sent)
            assert problem.code == code
            assert problem.status == (None if status == 200 else status)
            assert len(problem.message) < 500
            assert problem.message.isprintable()

    run(test())


@pytest.mark.feature("A9.8", "B12")
@BOTH
def test_malformed_events_end_the_call_at_once(version: str) -> None:
    async def stream(asked: Asked, out: Out) -> None:
        await out.stream()
        await out.event('{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}')
        await out.gone()

    async def test() -> None:
        peer = McpPeer(version)
        peer.on["tools/call"] = stream
        async with served(peer) as (session, _):
            problem = await failing(call(session), FaultKind.MALFORMED, sent=True)
            assert "twice" in problem.message

    run(test())


def test_replies_to_nobody_in_a_stream_are_skipped() -> None:
    async def stream(asked: Asked, out: Out) -> None:
        await out.stream()
        await out.event({"jsonrpc": "2.0", "id": 12_345, "result": {}})
        await out.event({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "x"}})
        await out.event(result(asked, text("mine")))

    async def test() -> None:
        heard = Heard()
        peer = McpPeer()
        peer.on["tools/call"] = stream
        async with served(peer, heard) as (session, _):
            assert texts(await call(session)) == ["mine"]
            await heard.something.wait()
            assert heard.lines[0] == ("debug", "a reply to no request of this side was skipped")

    run(test())


# --- sizes


@pytest.mark.feature("A9.8", "B12")
@pytest.mark.parametrize("how", ["json", "stream", "many events", "gzip"])
def test_an_answer_that_is_too_large_is_stopped_at_the_cap(how: str) -> None:
    limits = SessionLimits(message=64 * 1024, answer=256 * 1024)

    async def answer(asked: Asked, out: Out) -> None:
        big = result(asked, text("x" * 1_000_000))
        match how:
            case "json":
                await out.reply(200, big)
            case "gzip":
                await out.reply(200, gzip.compress(bytes(200_000_000), 1), content_encoding="gzip")
            case "stream":
                await out.stream()
                await out.event(big)
            case _:
                await out.stream()
                while True:
                    await out.event({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x" * 10_000}})

    async def test() -> None:
        peer = McpPeer()
        peer.on["tools/call"] = answer
        async with served(peer, limits=limits) as (session, _):
            await failing(call(session), FaultKind.TOO_LARGE, sent=True)
            del peer.on["tools/call"]
            assert texts(await call(session)) == ["ok"]

    run(test())


# --- time


@pytest.mark.feature("B12")
@BOTH
@pytest.mark.parametrize("how", ["no answer", "no body", "no events", "progress for ever", "comments for ever"])
def test_a_hang_ends_at_the_deadline(how: str, version: str) -> None:
    async def hang(asked: Asked, out: Out) -> None:
        match how:
            case "no answer":
                await out.gone()
            case "no body":
                await out.raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{")
                await out.gone()
            case "no events":
                await out.stream()
                await out.gone()
            case _:
                await out.stream()
                token = params(asked)["_meta"]["progressToken"]
                while True:
                    notice = {"progressToken": token, "progress": 1}
                    if how == "comments for ever":
                        await out.raw(b": still here\n\n")
                    else:
                        await out.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": notice})
                    await asyncio.sleep(0.02)

    async def test() -> None:
        peer = McpPeer(version)
        async with served(peer) as (session, _):
            await session.listing("tools", deadline=20)
            peer.on["tools/call"] = hang
            problem = await failing(call(session, deadline=0.3, on_progress=lambda *_: None), FaultKind.TIMEOUT, sent=True)
            assert "deadline" in problem.message
            if how != "progress for ever":
                problem = await failing(call(session, idle=0.1), FaultKind.TIMEOUT, sent=True)
                assert "no sign of life" in problem.message
            del peer.on["tools/call"]
            assert texts(await call(session)) == ["ok"]

    run(test())


@pytest.mark.feature("A9.8")
@BOTH
def test_cancelling_a_call_returns_at_once_and_the_server_learns_it(version: str) -> None:
    gone = asyncio.Event()
    told: list[object] = []
    here = asyncio.Event()

    async def hang(asked: Asked, out: Out) -> None:
        told.append(asked.message["id"])
        here.set()
        await out.gone()
        gone.set()

    async def cancelled(asked: Asked, out: Out) -> None:
        told.append(params(asked)["requestId"])
        await out.reply(202)

    async def test() -> None:
        peer = McpPeer(version)
        peer.on |= {"tools/call": hang, "notifications/cancelled": cancelled}
        async with served(peer) as (session, http):
            waiting = asyncio.ensure_future(call(session))
            await here.wait()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await gone.wait()
            if version == OLD:
                while len(told) < 2:
                    await asyncio.sleep(0.01)
                assert told[0] == told[1]
            await session.ping(20)
            assert ("notifications/cancelled" in http.methods()) is (version == OLD)

    run(test())


def test_closing_wakes_who_waits_and_a_second_close_is_nothing() -> None:
    here = asyncio.Event()

    async def hang(asked: Asked, out: Out) -> None:
        here.set()
        await out.gone()

    async def test() -> None:
        peer = McpPeer()
        peer.on["tools/call"] = hang
        async with served(peer) as (session, _):
            waiting = asyncio.ensure_future(call(session))
            await here.wait()
            await session.close()
            await failing(waiting, FaultKind.DISCONNECTED, sent=True)
            await failing(call(session), FaultKind.DISCONNECTED, sent=False)

    run(test())


@pytest.mark.feature("A9.23")
def test_a_close_that_the_server_does_not_answer_is_bounded() -> None:
    async def hang(asked: Asked, out: Out) -> None:
        await out.gone()

    async def test() -> None:
        peer = McpPeer(session="s-1")
        peer.on["DELETE"] = hang
        async with served(peer) as (_, http):
            pass
        assert "DELETE" in http.methods()

    run(test())


@pytest.mark.feature("A9.23")
def test_a_probe_that_goes_away_does_not_break_the_next() -> None:
    async def test() -> None:
        async with HttpPeer(McpPeer(session="s-1")) as peer:
            for _ in range(3):
                opening = asyncio.ensure_future(open_session(endpoint(peer), Heard()))
                await asyncio.sleep(0)
                opening.cancel()
                await asyncio.wait([opening])
                async with opened(endpoint(peer)) as session:
                    assert texts(await call(session)) == ["ok"]

    run(test())


# --- sessions that are gone (K23)


def expiring(peer: McpPeer) -> None:
    """From now on the server knows only the session that it gives next."""
    peer.session = "s-2"
    usual = {"tools/list": peer._old, "tools/call": peer._old, "ping": peer._old}

    async def check(asked: Asked, out: Out) -> None:
        if asked.headers.get("mcp-session-id") != peer.session:
            await out.reply(
                404, {"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": "Session not found"}}
            )
        else:
            await peer._old(str(asked.message["method"]), asked, out)

    peer.on |= dict.fromkeys(usual, check)


def test_a_session_that_is_gone_is_opened_anew_once_for_a_listing() -> None:
    async def test() -> None:
        peer = McpPeer(session="s-1")
        async with served(peer) as (session, http):
            expiring(peer)
            listings = await asyncio.gather(*(session.listing("tools", deadline=20) for _ in range(5)))
            assert [len(listing) for listing in listings] == [1] * 5
            assert http.methods().count("initialize") == 2
            assert texts(await call(session)) == ["ok"]

    run(test())


def test_a_call_on_a_session_that_is_gone_was_not_carried_out_and_is_not_repeated() -> None:
    async def test() -> None:
        peer = McpPeer(session="s-1")
        async with served(peer) as (session, http):
            expiring(peer)
            problem = await failing(call(session), FaultKind.DISCONNECTED, sent=False)
            assert problem.status == 404
            assert http.methods().count("tools/call") == 1
            assert session.closed is not None
            await failing(call(session), FaultKind.DISCONNECTED, sent=False)

    run(test())


def test_a_session_id_that_no_header_can_carry_is_malformed() -> None:
    async def test() -> None:
        async with HttpPeer(McpPeer(session="s 1 \x7f")) as peer:
            await failing(open_session(endpoint(peer), Heard()), FaultKind.MALFORMED)

    run(test())


# --- what the server says by itself


def test_the_own_stream_of_a_server_carries_changes_and_questions() -> None:
    answered: list[dict[str, object]] = []
    done = asyncio.Event()

    async def own(asked: Asked, out: Out) -> None:
        if asked.headers.get("last-event-id") == "e-2":
            await out.stream()
            await out.gone()
            return
        await out.stream()
        await out.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}, id="e-1", retry=1)
        await out.event("not JSON", id="e-2")
        ask = {"message": "Sure?", "requestedSchema": {"type": "object"}}
        await out.event({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": ask})

    async def replied(asked: Asked, out: Out) -> None:
        answered.append(asked.message)
        await out.reply(202)
        done.set()

    async def test() -> None:
        heard = Heard(ElicitationReply("accept", {"ok": True}))
        peer = McpPeer(session="s-1")
        peer.on |= {"GET": own, "reply": replied}
        async with served(peer, heard, elicitation=True) as (session, http):
            await done.wait()
            assert answered == [{"jsonrpc": "2.0", "id": "q", "result": {"action": "accept", "content": {"ok": True}}}]
            assert heard.changes == ["tools"]
            assert texts(await call(session)) == ["ok"]
            while http.methods().count("GET") < 2:
                await asyncio.sleep(0.01)

    run(test())


def test_changes_in_the_stateless_era_come_by_a_subscription() -> None:
    subscribed: list[object] = []

    async def listen(asked: Asked, out: Out) -> None:
        subscribed.append(params(asked)["notifications"])
        await out.stream()
        id = asked.message["id"]
        meta = {"io.modelcontextprotocol/subscriptionId": id}
        await out.event({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {"_meta": meta}})
        await out.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": meta}})
        await out.gone()

    async def test() -> None:
        heard = Heard()
        peer = McpPeer(NEW)
        peer.capabilities = {"tools": {"listChanged": True}, "prompts": {}}
        peer.on["subscriptions/listen"] = listen
        async with served(peer, heard) as (session, _):
            await heard.something.wait()
            assert heard.changes == ["tools"]
            assert subscribed == [{"toolsListChanged": True}]
            assert texts(await call(session)) == ["ok"]

    run(test())


def test_a_refresh_inside_the_notice_of_a_change_does_not_hold_up_the_call_in_flight() -> None:
    """K21: the listener may ask the server at once."""

    async def stream(asked: Asked, out: Out) -> None:
        await out.stream()
        await out.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await refreshed.wait()
        await out.event(result(asked, text("after the refresh")))

    refreshed = asyncio.Event()

    async def test() -> None:
        peer = McpPeer()
        peer.on["tools/call"] = stream
        tasks: list[asyncio.Task[None]] = []

        class Refreshing(Heard):
            def changed(self, what: str) -> None:
                async def refresh() -> None:
                    await session.listing("tools", deadline=20)
                    refreshed.set()

                tasks.append(asyncio.ensure_future(refresh()))

        async with served(peer, Refreshing()) as (session, _):
            assert texts(await call(session)) == ["after the refresh"]
            await asyncio.gather(*tasks)

    run(test())
