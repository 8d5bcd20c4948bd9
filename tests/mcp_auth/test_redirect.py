"""The address that a browser comes back to: open on this machine for as long as a user takes, to whatever finds it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import quote

import pytest

from ael.mcp.failure import McpError
from ael.mcp.oauth.redirect import RedirectReceiver
from ael.types.fault import FaultKind
from tests.mcp_auth.authority import fetch
from tests.mcp_auth.support import fault

STATE = "the-state-4711"


def receiving(test: Callable[[RedirectReceiver, asyncio.Task[dict[str, str]]], Awaitable[None]], seconds: float = 5.0) -> None:
    async def main() -> None:
        async with RedirectReceiver() as receiver:
            waiting = asyncio.create_task(receiver.answer("https://as/authorize", STATE, lambda url: None, seconds))
            await asyncio.sleep(0)
            try:
                await test(receiver, waiting)
            finally:
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_the_right_answer_is_taken_and_told_to_the_user() -> None:
    async def test(receiver: RedirectReceiver, waiting: asyncio.Task[dict[str, str]]) -> None:
        status, headers, body = await fetch(f"{receiver.uri}?code=c%2Bd&state={STATE}&iss=https%3A%2F%2Fas")
        assert status == 200
        assert b"close this page" in body
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["content-security-policy"] == "default-src 'none'"
        assert await waiting == {"code": "c+d", "state": STATE, "iss": "https://as"}
        # It comes once.
        status, _, _ = await fetch(f"{receiver.uri}?code=other&state={STATE}")
        assert status == 400

    receiving(test)


@pytest.mark.parametrize(
    "target",
    [
        "/callback?code=stolen",
        "/callback?code=stolen&state=",
        "/callback?code=stolen&state=wrong",
        f"/callback?code=stolen&state={STATE}x",
        f"/callback?code=stolen&state={STATE}&state=other",
        f"/callback?code=stolen&code=second&state={STATE}",
        f"/callback?state={STATE}&" + "&".join(f"p{number}=1" for number in range(100)),
        f"/callback?code&state={STATE}",
        f"/other?code=stolen&state={STATE}",
        f"/callback/?code=stolen&state={STATE}",
        f"//callback?code=stolen&state={STATE}",
        f"/callback?code=stolen&state={quote('ä')}",
        "/",
        "/favicon.ico",
    ],
)
def test_what_is_not_the_answer_changes_nothing(target: str) -> None:
    async def test(receiver: RedirectReceiver, waiting: asyncio.Task[dict[str, str]]) -> None:
        status, _, body = await fetch(f"http://127.0.0.1:{receiver.port}{target}")
        assert status in (400, 404)
        assert b"stolen" not in body
        assert not waiting.done()
        await fetch(f"{receiver.uri}?code=right&state={STATE}")
        assert (await waiting)["code"] == "right"

    receiving(test)


@pytest.mark.parametrize(
    "raw",
    [
        "POST /callback?code=stolen&state={state} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n",
        "GET /callback?code=stolen&state={state} HTTP/1.1\r\nhost: evil.example.com\r\n\r\n",
        "GET /callback?code=stolen&state={state} HTTP/1.1\r\nhost: localhost:{port}\r\n\r\n",
        "GET /callback?code=stolen&state={state} HTTP/1.1\r\n\r\n",
        "GET /callback?code=stolen&state={state} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nhost: 127.0.0.1:{port}\r\n\r\n",
        "GET /callback?code=stolen&state={state}\r\nhost: 127.0.0.1:{port}\r\n\r\n",
        "nonsense\r\n\r\n",
        "GET /" + "x" * 100_000 + " HTTP/1.1\r\n\r\n",
        "",
    ],
)
def test_strangers_on_the_port(raw: str) -> None:
    """A page that rebinds its name to this address, another program, a scanner."""

    async def test(receiver: RedirectReceiver, waiting: asyncio.Task[dict[str, str]]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
        try:
            writer.write(raw.replace("{state}", STATE).replace("{port}", str(receiver.port)).encode())
            writer.write_eof()
            answer = await reader.read()
        except ConnectionError:
            answer = b""
        finally:
            writer.transport.abort()
        assert not answer.startswith(b"HTTP/1.1 200")
        assert not waiting.done()

    receiving(test)


def test_one_who_holds_the_connection_does_not_hold_the_flow() -> None:
    async def test(receiver: RedirectReceiver, waiting: asyncio.Task[dict[str, str]]) -> None:
        silent = [await asyncio.open_connection("127.0.0.1", receiver.port) for _ in range(20)]
        await fetch(f"{receiver.uri}?code=right&state={STATE}")
        assert (await waiting)["code"] == "right"
        for _, writer in silent:
            writer.transport.abort()

    receiving(test)


def test_the_deadline() -> None:
    async def test(receiver: RedirectReceiver, waiting: asyncio.Task[dict[str, str]]) -> None:
        await fault(waiting, FaultKind.TIMEOUT)

    receiving(test, seconds=0.05)


def test_the_port_of_an_earlier_flow_is_used_again_unless_it_is_taken() -> None:
    async def main() -> None:
        async with RedirectReceiver() as first:
            port = first.port
            async with RedirectReceiver(port) as other:
                assert other.port != port
        async with RedirectReceiver(port) as again:
            assert again.port == port

    asyncio.run(main())


def test_it_listens_on_this_machine_alone() -> None:
    async def main() -> None:
        async with RedirectReceiver() as receiver:
            assert receiver._server is not None
            assert [socket.getsockname()[0] for socket in receiver._server.sockets] == ["127.0.0.1"]

    asyncio.run(main())


def test_an_error_of_the_page_is_passed_on() -> None:
    async def refuse(url: str) -> None:
        raise McpError(FaultKind.DENIED, "no browser here")

    async def main() -> None:
        async with RedirectReceiver() as receiver:
            problem = await fault(receiver.answer("https://as", STATE, refuse, 5.0))
            assert problem.message == "no browser here"

    asyncio.run(main())
