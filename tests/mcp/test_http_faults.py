"""HTTP answers that are none, too large, or never come: each is typed, and the session lives on (fault kinds K22, K23, K24)."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ael.mcp.failure import McpError
from ael.mcp.session import SessionLimits, open_session
from ael.types.fault import FaultKind
from tests.mcp.http_peer import Asked, HttpPeer, Out
from tests.mcp.mcp_peer import NEW, OLD, McpPeer, endpoint, error, params, result, text
from tests.mcp.support import Heard, call, failing, opened, run, served, texts

BOTH = pytest.mark.parametrize("version", [OLD, NEW])


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
        await out.event({"jsonrpc": "2.0", "id": None, "result": {}})
        await out.event('{"jsonrpc":"2.0","method":"notifications/message","params":{"data":NaN}}')
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


def test_a_server_that_never_stops_talking_is_left() -> None:
    async def talk(asked: Asked, out: Out) -> None:
        await out.stream()
        while True:
            await out.raw(b'data: {"jsonrpc":"2.0","method":"notifications/nothing"}\n\n' * 100)

    async def test() -> None:
        peer = McpPeer()
        peer.on["tools/call"] = talk
        async with served(peer, limits=SessionLimits(unasked=2_000)) as (session, _):
            problem = await failing(call(session), FaultKind.TOO_LARGE, sent=True)
            assert "2,000" in problem.message
            assert session.closed is not None

    run(test())


class Scenes:
    """Bytes as answers, one after another."""

    def __init__(self) -> None:
        self.body = b""
        self.kind = ""

    async def __call__(self, asked: Asked, out: Out) -> None:
        await out.reply(200, self.body.replace(b"ID", str(asked.message["id"]).encode()), self.kind)


GOOD = json.dumps({"jsonrpc": "2.0", "id": 0, "result": text("ok")}).encode().replace(b'"id": 0', b'"id": ID')


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_whatever_is_answered_a_call_ends_typed_and_the_next_one_works(data: st.DataObject) -> None:
    async def test() -> None:
        scenes = Scenes()
        peer = McpPeer()
        async with served(peer) as (session, _):
            for _ in range(6):
                cut = data.draw(st.integers(0, len(GOOD)))
                body = GOOD[:cut] + data.draw(st.binary(max_size=6)) + GOOD[data.draw(st.integers(cut, len(GOOD))) :]
                wrap = data.draw(
                    st.sampled_from([b"%b", b"data: %b\n\n", b"id: 1\ndata: %b\n\n", b"event: message\r\ndata: %b\r\n\r\n"])
                )
                scenes.body = wrap.replace(b"%b", body)
                scenes.kind = "application/json" if wrap == b"%b" else "text/event-stream"
                peer.on["tools/call"] = scenes
                kind = FaultKind.MALFORMED
                try:
                    await call(session, deadline=10)
                except McpError as problem:
                    kind = problem.kind
                assert kind in (FaultKind.MALFORMED, FaultKind.DISCONNECTED, FaultKind.TOOL_FAILED)
            del peer.on["tools/call"]
            assert texts(await call(session)) == ["ok"]

    run(test())
