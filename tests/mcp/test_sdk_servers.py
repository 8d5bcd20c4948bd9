"""The same behaviour with servers on the official SDK, over every transport and in both eras (features A9.2, A9.10, A9.24; K54)."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ael.mcp.endpoint import Endpoint, HttpEndpoint, StdioEndpoint
from ael.mcp.session import ElicitationReply
from ael.types.fault import FaultKind
from tests.mcp.mcp_peer import HOSTS, NEW, OLD
from tests.mcp.support import Heard, call, failing, opened, run, texts

SERVER = str(Path(__file__).with_name("sdk_server.py"))
WAYS = pytest.mark.parametrize("way", ["stdio", "/mcp", "/old/mcp", "/sse"])
PROTOCOLS = {"stdio": NEW, "/mcp": NEW, "/old/mcp": OLD, "/sse": OLD}


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of a server that runs for all tests of this page."""
    with subprocess.Popen([sys.executable, SERVER, "http"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            number = int(server.stdout.readline())
            _listening(number)
            yield number
        finally:
            server.terminate()


def _listening(port: int) -> None:
    """Wait until the server takes connections: it tells its port a little earlier."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)


def where(way: str, port: int) -> Endpoint:
    if way == "stdio":
        return StdioEndpoint(sys.executable, (SERVER, "stdio"))
    return HttpEndpoint(f"http://127.0.0.1:{port}{way}", "sse" if way == "/sse" else "http", hosts=HOSTS)


@pytest.mark.feature("A9.2", "A9.10", "A9.24")
@WAYS
def test_a_conversation_with_a_server_on_the_sdk(way: str, port: int) -> None:
    async def test() -> None:
        heard = Heard(ElicitationReply("accept", {"sure": True}))
        async with opened(where(way, port), heard, elicitation=True) as session:
            assert session.protocol == PROTOCOLS[way]
            assert session.server["name"] == "sdk"
            names = [tool["name"] for tool in await session.listing("tools", deadline=20)]
            assert names == ["add", "fail", "slow", "confirm"]
            answers = await asyncio.gather(*(call(session, "add", arguments={"a": n, "b": 1}) for n in range(20)))
            assert [answer.structured for answer in answers] == [{"result": n + 1} for n in range(20)]
            failed = await call(session, "fail", arguments={})
            assert failed.is_error
            told: list[tuple[float, float | None, str]] = []
            steps = await call(session, "slow", arguments={"steps": 3}, on_progress=lambda *facts: told.append(facts))
            assert texts(steps) == ["done"]
            assert told == [(0.0, 3.0, "step 0"), (1.0, 3.0, "step 1"), (2.0, 3.0, "step 2")]
            await failing(call(session, "slow", 0.2, arguments={"steps": 1_000}), FaultKind.TIMEOUT, sent=True)
            [read] = (await session.read("file:///pixel", meta={}, deadline=20)).parts
            assert (read.media, read.data) == ("image/png", b"\x89PNG")
            [message] = (await session.prompt("review", {"code": "x = 1"}, meta={}, deadline=20)).parts
            assert (message.role, message.text) == ("user", "Review x = 1")
            if session.protocol == OLD:
                assert texts(await call(session, "confirm", arguments={})) == ["accept True"]
            await session.ping(20)

    run(test())
