"""The older pair of a stream and a POST address (features A9.10, A9.8; fault kinds K22, K42)."""

from __future__ import annotations

import asyncio

import pytest

from ael.mcp.endpoint import HttpEndpoint
from ael.mcp.session import open_session
from ael.types.fault import FaultKind
from tests.mcp.http_peer import Asked, HttpPeer, Out
from tests.mcp.mcp_peer import HOSTS, McpPeer, params, result, text
from tests.mcp.support import Heard, call, failing, opened, run, texts


class Pair:
    """A server of the older pair: answers go to the stream."""

    def __init__(self, address: str = "messages?s=1") -> None:
        self.address = address
        self.peer = McpPeer("2024-11-05")
        self.stream: Out | None = None
        self.ended = asyncio.Event()

    async def __call__(self, asked: Asked, out: Out) -> None:
        if asked.method == "GET":
            self.stream = out
            await out.stream()
            await out.event(self.address, name="endpoint")
            await self.ended.wait()
            return
        assert self.stream is not None
        await out.reply(202, b"Accepted", "text/plain")
        if "id" not in asked.message:
            return
        match asked.message["method"]:
            case "initialize":
                facts = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {"name": "pair"}}
                await self.stream.event(result(asked, facts), name="message")
            case "tools/list":
                await self.stream.event(result(asked, {"tools": self.peer.tools}))
            case "tools/call" if params(asked)["name"] == "hang":
                pass
            case "tools/call" if params(asked)["name"] == "end":
                self.ended.set()
            case "tools/call" if params(asked)["name"] == "reset":
                self.stream.cut()
            case "tools/call":
                await self.stream.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
                await self.stream.event(result(asked, text("over the stream")))


def where(peer: HttpPeer) -> HttpEndpoint:
    return HttpEndpoint(peer.url.replace("/mcp", "/sse"), "sse", hosts=HOSTS)


@pytest.mark.feature("A9.10", "A9.2")
@pytest.mark.parametrize("address", ["messages?s=1", "/messages?s=1", "ABSOLUTE"])
def test_lists_and_calls(address: str) -> None:
    async def test() -> None:
        pair = Pair(address)
        heard = Heard()
        async with HttpPeer(pair) as peer:
            if address == "ABSOLUTE":
                pair.address = f"http://127.0.0.1:{peer.port}/messages?s=1"
            async with opened(where(peer), heard) as session:
                assert session.protocol == "2024-11-05"
                assert [tool["name"] for tool in await session.listing("tools", deadline=20)] == ["echo"]
                assert texts(await call(session)) == ["over the stream"]
                await heard.something.wait()
                assert heard.changes == ["tools"]
            assert {asked.path for asked in peer.asked} == {"/sse", "/messages?s=1"}
            assert "server/discover" not in peer.methods()

    run(test())


@pytest.mark.feature("A9.13")
@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1:1/messages", "https://evil.example/messages", "//169.254.169.254/x", "file:///etc/passwd", "\\\\x", "/ü"],
)
def test_an_address_of_another_origin_is_denied(address: str) -> None:
    async def test() -> None:
        async with HttpPeer(Pair(address)) as peer:
            await failing(open_session(where(peer), Heard(), connect=10), FaultKind.DENIED, sent=False)
            assert peer.methods() == ["GET"]

    run(test())


@pytest.mark.feature("A9.8", "B12")
@pytest.mark.parametrize("how", ["end", "reset"])
def test_a_stream_that_ends_wakes_every_call(how: str) -> None:
    async def test() -> None:
        async with HttpPeer(Pair()) as peer, opened(where(peer)) as session:
            waiting = [asyncio.ensure_future(call(session, "hang")) for _ in range(20)]
            while peer.methods().count("tools/call") < 20:
                await asyncio.sleep(0.01)
            await failing(call(session, how), FaultKind.DISCONNECTED, sent=True)
            for one in waiting:
                await failing(one, FaultKind.DISCONNECTED, sent=True)
            assert session.closed is not None

    run(test())


def test_a_server_that_names_no_address_or_gives_no_stream() -> None:
    async def silent(asked: Asked, out: Out) -> None:
        await out.stream()
        await out.gone()

    async def ends(asked: Asked, out: Out) -> None:
        await out.stream()

    async def page(asked: Asked, out: Out) -> None:
        await out.reply(404, b"<html>", "text/html")

    async def test() -> None:
        for respond, kind in ((silent, FaultKind.TIMEOUT), (ends, FaultKind.DISCONNECTED), (page, FaultKind.UNAVAILABLE)):
            async with HttpPeer(respond) as peer:
                await failing(open_session(where(peer), Heard(), connect=0.3 if respond is silent else 10), kind)

    run(test())


def test_cancelling_and_deadlines_work_as_elsewhere() -> None:
    async def test() -> None:
        async with HttpPeer(Pair()) as peer, opened(where(peer)) as session:
            await failing(call(session, "hang", 0.2), FaultKind.TIMEOUT, sent=True)
            while "notifications/cancelled" not in peer.methods():
                await asyncio.sleep(0.01)
            assert texts(await call(session)) == ["over the stream"]

    run(test())
