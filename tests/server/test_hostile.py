"""Clients that mean no good, or are broken: each gets a typed refusal, and the next one is served."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from ael.project.program import Opened
from ael.server.connection import MAX_HEAD, Connection
from ael.server.guard import Guard
from tests.server.outside import fresh
from tests.server.support import JSON, NEW, Served, head, modern_meta, opened, read_reply, serving
from tests.server.test_calls import MAIN, ended, result, told

DEPLOY = 'listen = http(body: 64KiB, hosts: ["agents.example.com"], origins: ["https://app.example.com"], sessions: 3)\n'
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    return opened(tmp_path_factory.mktemp("hostile"), MAIN, DEPLOY)


def with_server(program: Opened, scenario: Callable[[Served], Awaitable[None]]) -> None:
    """Run a scenario; afterwards the server still answers, and ends."""

    async def run() -> None:
        async with serving(program) as served:
            await scenario(served)
            assert (await served.request("GET", "/healthz")).status == 200
            assert not result(await served.call("greet", {"name": "Ada"}))["isError"]
            assert served.service.calls.in_flight == 0

    asyncio.run(run())


async def pour(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Send without end: 64 MiB, which is more than two kernels keep between them."""
    try:
        for _ in range(1_000):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()


@pytest.mark.parametrize("chunked", [False, True])
def test_a_huge_body_is_not_read(program: Opened, chunked: bool) -> None:
    async def scenario(served: Served) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", served.port)
        size = {"Transfer-Encoding": "chunked"} if chunked else {"Content-Length": "100000000000"}
        writer.write(head("POST", "/mcp", None, {"Host": f"127.0.0.1:{served.port}", **JSON, **size}))
        with pytest.raises(ConnectionError):
            await pour(writer, b"10000\r\n" + b"x" * 65_536 + b"\r\n" if chunked else b"x" * 65_536)

    with_server(program, scenario)


def test_a_body_that_is_too_large_is_refused(program: Opened) -> None:
    async def scenario(served: Served) -> None:
        reply = await served.post(b'{"x": "' + b"y" * 70_000 + b'"}')
        assert reply.status == 413
        assert reply.json["error"]["message"] == "a request has at most 65,536 bytes"

    with_server(program, scenario)


def test_a_slow_body_is_given_up(program: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Guard, "body_seconds", 0.05)

    async def scenario(served: Served) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(head("POST", "/mcp", None, {"Host": f"127.0.0.1:{served.port}", **JSON, "Content-Length": "100"}) + b"{")
        assert (await read_reply(reader)).status == 408
        writer.close()

    with_server(program, scenario)


def test_a_slow_head_is_given_up(program: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connection, "head_seconds", 0.05)

    async def scenario(served: Served) -> None:
        for first in (b"", b"POST /mcp HTTP/1.1\r\nHost: x", head("GET", "/healthz", None, {"Connection": "keep-alive"})):
            reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
            writer.write(first)
            if first.endswith(b"\r\n\r\n"):
                await reader.readuntil(b"}")
                writer.write(b"GET /healthz HT")
            assert await reader.read() == b""
            writer.close()

    with_server(program, scenario)


def test_a_huge_head_is_not_kept(program: Opened) -> None:
    async def scenario(served: Served) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(b"POST /mcp HTTP/1.1\r\n")
        with pytest.raises(ConnectionError):
            await pour(writer, b"X-Much: " + b"y" * MAX_HEAD + b"\r\n")

    with_server(program, scenario)


@pytest.mark.parametrize(
    ("body", "told_as"),
    [
        (b"", "no JSON that is taken"),
        (b"{", "no JSON that is taken"),
        (b'{"jsonrpc": "2.0", "id": NaN}', "no JSON that is taken"),
        (b'{"id": 1, "id": 2}', "no JSON that is taken"),
        (b'"\xff\xfe"', "no JSON that is taken"),
        (b"[" * 2_000, "no JSON that is taken"),
        (b"[]", "batches are not taken"),
        (b"3", "batches are not taken"),
        (b'{"id": 1, "method": "tools/list"}', None),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "tools/list"}', None),
        (b'{"jsonrpc": "2.0", "id": null, "method": "tools/list"}', None),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 3}', None),
        (b'{"jsonrpc": "2.0", "id": 1, "result": {}}', None),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []}', None),
    ],
)
@pytest.mark.parametrize("era", ["old", "new"])
def test_garbage_is_refused_and_the_session_goes_on(program: Opened, body: bytes, told_as: str | None, era: str) -> None:
    async def scenario(served: Served) -> None:
        headers = await served.open() if era == "old" else {"MCP-Protocol-Version": NEW}
        reply = await served.post(body, headers)
        # Whatever a response answers to: nobody asked, so it is taken and dropped in the older protocol.
        assert reply.status in (400, 202) if b"result" in body else reply.status == 400
        if told_as is not None:
            assert told_as in reply.json["error"]["message"]
        assert "Traceback" not in reply.body.decode()
        assert "pydantic.dev" not in reply.body.decode()
        again = headers if era == "old" else None
        assert not result(await served.call("greet", {"name": "Ada"}, again))["isError"]

    with_server(program, scenario)


def test_compressed_and_mistyped_bodies_are_refused(program: Opened) -> None:
    async def scenario(served: Served) -> None:
        bomb = gzip.compress(b" " * 10_000_000)
        assert (await served.post(bomb, {"Content-Encoding": "gzip"})).status == 415
        for kind in ("text/plain", "", "application/x-www-form-urlencoded", "application/jsonx"):
            assert (await served.post(INITIALIZE, {"Content-Type": kind})).status == 415
        assert (await served.post(INITIALIZE, {"Content-Type": "Application/JSON; charset=utf-8"})).status == 200

    with_server(program, scenario)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:80"}, 403),
        ({"Host": "localhost.evil.example"}, 403),
        ({"Host": "127.0.0.1@evil.example"}, 403),
        ({"Host": ""}, 403),
        ({"Host": "agents.example.com"}, 200),
        ({"Host": "agents.example.com:443"}, 200),
        ({"Host": "LOCALHOST:1234"}, 200),
        ({"Host": "[::1]:1234"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://app.example.com.evil.example"}, 403),
        ({"Origin": "http://app.example.com"}, 403),
        ({"Origin": "https://app.example.com"}, 200),
        ({"Origin": "http://localhost:5173"}, 200),
    ],
)
def test_wrong_hosts_and_origins_are_forbidden(program: Opened, headers: dict[str, str], status: int) -> None:
    async def scenario(served: Served) -> None:
        assert (await served.post(INITIALIZE, headers)).status == status
        meta = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": modern_meta()}}
        new = {"MCP-Protocol-Version": NEW, "Mcp-Method": "server/discover", **headers}
        assert (await served.post(meta, new)).status == status

    with_server(program, scenario)


def test_a_page_of_a_known_origin_may_ask_and_read(program: Opened) -> None:
    async def scenario(served: Served) -> None:
        origin = {"Origin": "https://app.example.com"}
        asked = await served.request("OPTIONS", headers={**origin, "Access-Control-Request-Method": "POST"})
        assert asked.status == 204
        assert asked.headers["access-control-allow-origin"] == "https://app.example.com"
        assert "POST" in asked.headers["access-control-allow-methods"]
        answered = await served.post(INITIALIZE, origin)
        assert answered.headers["access-control-allow-origin"] == "https://app.example.com"
        assert answered.headers["access-control-expose-headers"] == "Mcp-Session-Id"
        stranger = await served.request("OPTIONS", headers={"Origin": "https://evil.example"})
        assert stranger.status == 403
        assert "access-control-allow-origin" not in stranger.headers
        assert "access-control-allow-origin" not in (await served.post(INITIALIZE)).headers

    with_server(program, scenario)


def test_unknown_paths_sessions_and_methods(program: Opened) -> None:
    async def scenario(served: Served) -> None:
        assert (await served.request("GET", "/")).status == 404
        assert (await served.request("GET", "/../etc/passwd")).status == 404
        session = await served.open()
        assert (await served.post(served.message("tools/list"), {**session, "Mcp-Session-Id": "0" * 32})).status == 404
        assert (await served.request("PUT", headers=session)).status == 405
        assert (await served.request("DELETE", headers=session)).status == 200
        assert (await served.post(served.message("tools/list"), session)).status == 404
        assert (await served.post(served.message("tools/list"), {"MCP-Protocol-Version": "v9"})).status == 400

    with_server(program, scenario)


def test_two_open_requests_with_one_id_are_not_mixed_up(program: Opened) -> None:
    state = fresh()

    async def scenario(served: Served) -> None:
        session = await served.open()
        first = asyncio.ensure_future(served.post(served.message("tools/call", {"name": "wait"}, 7), session))
        await state.entered.wait()
        for same in (7, "7"):
            second = await served.post(served.message("tools/call", {"name": "greet", "arguments": {"name": "x"}}, same), session)
            assert second.status == 400
            assert second.json["error"]["message"] == "a request with this id is still open"
        other = await served.open()
        third = await served.post(served.message("tools/call", {"name": "greet", "arguments": {"name": "x"}}, 7), other)
        assert result(third)["structuredContent"] == {"result": "Hello, x!"}
        state.release.set()
        assert result(await first)["structuredContent"] == {"result": 1}

    with_server(program, scenario)


def test_sessions_are_bounded(program: Opened) -> None:
    async def scenario(served: Served) -> None:
        opened_sessions = [await served.open() for _ in range(3)]
        assert (await served.post(INITIALIZE)).status == 503
        assert (await served.request("DELETE", headers=opened_sessions[0])).status == 200
        await served.open()

    with_server(program, scenario)


async def greeted(served: Served) -> bool:
    """Whether a call is let in; a server that still counts connections which are gone closes this one."""
    try:
        return (await served.call("greet", {"name": "Ada"})).status == 200
    except (ConnectionError, IndexError):
        return False


@pytest.mark.feature("A11.4", "K45")
def test_more_connections_than_the_limit_are_turned_away(tmp_path: Path) -> None:
    deploy = "listen = http(connections: 8)\n"

    async def run() -> None:
        async with serving(opened(tmp_path, MAIN, deploy)) as served:
            idle = [await asyncio.open_connection("127.0.0.1", served.port) for _ in range(12)]
            refused = await served.call("greet", {"name": "Ada"})
            assert (refused.status, refused.headers["retry-after"], refused.headers["connection"]) == (503, "1", "close")
            assert "13 connections are open, more than the server takes" in refused.json["error"]["message"]
            assert (await served.request("GET", "/healthz")).status == 200, "a server that is full is alive"
            idle += [await asyncio.open_connection("127.0.0.1", served.port) for _ in range(5)]
            with suppress(ConnectionError):
                assert await idle[-1][0].read() == b"", "far too many are closed without a word"
            for _, writer in idle:
                writer.close()
            while not await greeted(served):
                await asyncio.sleep(0.01)

    asyncio.run(run())


def test_clients_that_leave_in_the_middle_leave_nothing_behind(program: Opened) -> None:
    state = fresh()

    async def scenario(served: Served) -> None:
        for number in range(20):
            session = await served.open() if number % 8 == 0 else None
            _, writer = await asyncio.open_connection("127.0.0.1", served.port)
            message: dict[str, object] = {"name": "wait", "_meta": {"progressToken": 1} if session else modern_meta()}
            body = json.dumps(served.message("tools/call", message)).encode()
            named = session or {"MCP-Protocol-Version": NEW, "Mcp-Method": "tools/call", "Mcp-Name": "wait"}
            state.entered.clear()
            writer.write(head("POST", "/mcp", body, {"Host": f"127.0.0.1:{served.port}", **JSON, **named}) + body)
            await state.entered.wait()
            writer.transport.abort()
        await ended(served.service.calls)
        assert (state.cancelled, state.inside) == (20, 0)

    descriptors = len(os.listdir("/proc/self/fd"))
    with_server(program, scenario)
    assert len(os.listdir("/proc/self/fd")) <= descriptors + 1


def test_a_flood_is_answered_and_forgotten(tmp_path: Path) -> None:
    state = fresh()

    async def run() -> None:
        async with serving(opened(tmp_path, MAIN, "listen = http(concurrent: 2, queue: 2)\n")) as served:
            calls = [asyncio.ensure_future(served.call("wait")) for _ in range(150)]
            while sum(call.done() for call in calls) < 146:
                await asyncio.sleep(0.01)
            assert {told(call.result())["fault"] for call in calls if call.done()} == {"Unavailable"}
            state.release.set()
            await asyncio.gather(*calls)
            assert (state.most, state.done) == (2, 4)

    asyncio.run(run())
