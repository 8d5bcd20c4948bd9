"""Sessions over HTTP that expire or whose connections go, and what a server says by itself (fault kinds K21, K22, K23)."""

from __future__ import annotations

import asyncio
import math

import pytest

from ael.mcp.session import ElicitationReply, open_session
from ael.types.fault import FaultKind
from tests.mcp.http_peer import Asked, HttpPeer, Out
from tests.mcp.mcp_peer import NEW, McpPeer, endpoint, params, result, text
from tests.mcp.support import Heard, call, failing, opened, run, served, texts

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


def test_a_call_in_flight_lives_on_when_another_finds_the_session_gone() -> None:
    here, go_on = asyncio.Event(), asyncio.Event()

    async def slow(asked: Asked, out: Out) -> None:
        if params(asked)["name"] == "slow":
            here.set()
            await go_on.wait()
            await out.reply(200, result(asked, text("late, but there")))
        else:
            await out.reply(404)

    async def test() -> None:
        peer = McpPeer(session="s-1")
        peer.on["tools/call"] = slow
        async with served(peer) as (session, _):
            waiting = asyncio.ensure_future(call(session, "slow"))
            await here.wait()
            await failing(call(session), FaultKind.DISCONNECTED, sent=False)
            go_on.set()
            assert texts(await waiting) == ["late, but there"]

    run(test())


@pytest.mark.feature("B12")
def test_twenty_calls_are_all_woken_when_the_server_goes() -> None:
    async def hang(asked: Asked, out: Out) -> None:
        await out.gone()

    async def test() -> None:
        peer = McpPeer()
        peer.on["tools/call"] = hang
        async with HttpPeer(peer) as http, opened(endpoint(http)) as session:
            waiting = [asyncio.ensure_future(call(session)) for _ in range(20)]
            while http.methods().count("tools/call") < 20:
                await asyncio.sleep(0.01)
            await http.__aexit__()
            for one in waiting:
                await failing(one, FaultKind.DISCONNECTED, sent=True)

    run(test())


def test_a_kept_connection_that_the_server_closes_as_it_is_used() -> None:
    """A read goes out once more on a new connection; a call does not: it may have been carried out."""

    async def test() -> None:
        peer = McpPeer()
        cuts: list[str] = []

        async def respond(asked: Asked, out: Out) -> None:
            method = str(asked.message.get("method"))
            if method in ("tools/list", "tools/call") and method not in cuts:
                cuts.append(method)
                out.cut()
            else:
                await peer(asked, out)

        async with served(respond) as (session, http):
            assert len(await session.listing("tools", deadline=20)) == 1
            assert http.methods().count("tools/list") == 2
            await failing(call(session), FaultKind.DISCONNECTED, sent=True)
            assert http.methods().count("tools/call") == 1
            assert texts(await call(session)) == ["ok"]

    run(test())


def test_an_error_without_an_id_in_the_answer_to_a_request_is_its_answer() -> None:
    async def refuse(asked: Asked, out: Out) -> None:
        await out.reply(200, {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "cannot read it"}})

    async def test() -> None:
        peer = McpPeer()
        peer.on["tools/call"] = refuse
        async with served(peer) as (session, _):
            problem = await failing(call(session), FaultKind.UNAVAILABLE, sent=False)
            assert problem.code == -32700

    run(test())


@pytest.mark.parametrize("value", [math.nan, math.inf, {1}, "\ud800", b"ok".hex])
def test_what_is_no_json_is_refused_before_anything_is_sent(value: object) -> None:
    async def test() -> None:
        async with served(McpPeer()) as (session, http):
            await failing(call(session, arguments={"x": [value]}), FaultKind.BAD_ARGUMENTS, sent=False)
            assert "tools/call" not in http.methods()

    run(test())


def test_the_exact_value_of_a_large_number_goes_out_and_comes_back() -> None:
    """K12: no rounding through a float on the way."""

    async def back(asked: Asked, out: Out) -> None:
        found = params(asked)["arguments"]
        await out.reply(200, result(asked, {"content": [], "structuredContent": found}))

    async def test() -> None:
        peer = McpPeer()
        peer.on["tools/call"] = back
        sent = {"n": 2**53 + 1, "m": -(2**200), "x": 0.1}
        async with served(peer) as (session, _):
            assert (await call(session, arguments=sent)).structured == sent

    run(test())
