"""Clients that nobody here wrote, and our own, over HTTP and over standard input and output, in both eras."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from ael.mcp.endpoint import HttpEndpoint, StdioEndpoint
from ael.mcp.session import Elicitation, ElicitationReply, open_session
from ael.project.program import Opened
from ael.run.ports import RemoteAnswer
from tests.server.support import opened, serving
from tests.server.test_calls import MAIN


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    return opened(tmp_path_factory.mktemp("clients"), MAIN)


def command(program: Opened) -> list[str]:
    return ["-m", "ael", "serve", str(program.project.root), "--mcp", "--stdio"]


ENVIRONMENT = {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
"""So that the program's Python functions, which are the tests' own, are found."""


class Quiet:
    """Nobody is told anything, and nobody answers."""

    def changed(self, what: str) -> None:
        """Nothing changes."""

    async def elicit(self, question: Elicitation) -> ElicitationReply:
        """A no."""
        return ElicitationReply("decline")

    def log(self, level: str, text: str) -> None:
        """Not kept."""


@pytest.mark.feature("A10.1")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("over", ["http", "stdio"])
def test_the_official_client_lists_calls_and_is_told_of_progress(program: Opened, mode: str, over: str) -> None:
    async def scenario(target: object) -> None:
        told: list[tuple[float, str | None]] = []

        async def progress(count: float, total: float | None, message: str | None) -> None:
            told.append((count, message))

        async with Client(target, mode=mode) as client:  # type: ignore[arg-type]
            assert (client.session.protocol_version >= "2026") is (mode == "auto")
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == ["greet", "order", "wait", "broken", "send", "none"]
            hello = await client.call_tool("greet", {"name": "Ada"}, progress_callback=progress)
            assert hello.structured_content == {"result": "Hello, Ada!"}
            assert (await client.call_tool("order", {"id": "A-1"})).structured_content == {"id": "A-1", "total": "12.50"}
            failed = await client.call_tool("order", {"id": "B"})
            assert failed.is_error
            assert (await client.call_tool("greet", {"name": 3})).is_error
            crashed = await client.call_tool("broken", {})
            assert crashed.is_error
            assert "hunter2" not in crashed.model_dump_json()
        assert told == [(1.0, "node greet"), (2.0, "node greet: value")]

    async def over_http() -> None:
        async with serving(program) as served:
            await scenario(served.url)

    async def over_stdio() -> None:
        where = StdioServerParameters(command=sys.executable, args=command(program), env=ENVIRONMENT)
        await scenario(stdio_client(where))

    asyncio.run(over_http() if over == "http" else over_stdio())


@pytest.mark.feature("A10.1")
@pytest.mark.parametrize("over", ["http", "stdio"])
def test_our_own_client_and_server_understand_each_other(program: Opened, over: str) -> None:
    async def talk(endpoint: HttpEndpoint | StdioEndpoint) -> None:
        session = await open_session(endpoint, Quiet())
        try:
            assert session.protocol == "2026-07-28"
            tools = await session.listing("tools", deadline=20.0)
            assert [tool["name"] for tool in tools] == ["greet", "order", "wait", "broken", "send", "none"]
            assert (await call(session, "order", {"id": "A-1"})).structured == {"id": "A-1", "total": "12.50"}
            assert (await call(session, "order", {"id": "B"})).is_error
        finally:
            await session.close()

    async def call(session: object, tool: str, arguments: Mapping[str, object]) -> RemoteAnswer:
        found = await session.call(tool, arguments, meta={}, deadline=20.0)  # type: ignore[attr-defined]
        assert isinstance(found, RemoteAnswer)
        return found

    async def over_http() -> None:
        async with serving(program) as served:
            await talk(HttpEndpoint(served.url, hosts=frozenset({"127.0.0.1"})))

    if over == "http":
        asyncio.run(over_http())
    else:
        asyncio.run(talk(StdioEndpoint(sys.executable, tuple(command(program)), ENVIRONMENT)))
