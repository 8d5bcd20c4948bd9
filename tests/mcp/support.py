"""What the tests of the MCP client share: a listener that remembers, running a test, looking at what it left behind."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ael.mcp.endpoint import Endpoint, StdioEndpoint
from ael.mcp.failure import McpError
from ael.mcp.session import Elicitation, ElicitationReply, Session, open_session
from ael.run.ports import RemoteAnswer
from ael.types.fault import FaultKind
from tests.mcp.http_peer import HttpPeer, Respond
from tests.mcp.mcp_peer import endpoint

CHILD = Path(__file__).with_name("child.py")


class Heard:
    """A listener that remembers what it was told, and answers questions by `reply`."""

    def __init__(self, reply: ElicitationReply | None = None) -> None:
        self.changes: list[str] = []
        self.lines: list[tuple[str, str]] = []
        self.questions: list[Elicitation] = []
        self.reply = reply or ElicitationReply("accept", {"ok": True})
        self.before: Callable[[], Awaitable[None]] | None = None
        self.something = asyncio.Event()

    def changed(self, what: str) -> None:
        self.changes.append(what)
        self.something.set()

    def log(self, level: str, text: str) -> None:
        self.lines.append((level, text))
        self.something.set()

    async def elicit(self, question: Elicitation) -> ElicitationReply:
        self.questions.append(question)
        if self.before is not None:
            await self.before()
        return self.reply


def run(test: Coroutine[Any, Any, None]) -> None:
    """Run a test, and see that it leaves no task and no open file."""

    async def main() -> None:
        before = open_files()
        await test
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, left
        for _ in range(200):
            if open_files() <= before:
                break
            await asyncio.sleep(0.01)
        assert open_files() <= before

    asyncio.run(main())


def open_files() -> int:
    """How many files and sockets this process has open."""
    folder = Path("/proc/self/fd") if sys.platform == "linux" else Path("/dev/fd")
    return len(os.listdir(folder))


@asynccontextmanager
async def opened(where: Endpoint, heard: Heard | None = None, **options: Any) -> AsyncIterator[Session]:
    """A session that is closed at the end."""
    session = await open_session(where, heard or Heard(), **{"connect": 30.0, **options})
    try:
        yield session
    finally:
        await session.close()


@asynccontextmanager
async def served(respond: Respond, heard: Heard | None = None, **options: Any) -> AsyncIterator[tuple[Session, HttpPeer]]:
    """A session with a peer over HTTP."""
    async with HttpPeer(respond) as peer, opened(endpoint(peer), heard, **options) as session:
        yield session, peer


def child(*how: str, **more: Any) -> StdioEndpoint:
    """The server of `child.py` as a child process."""
    return StdioEndpoint(sys.executable, ("-S", "-E", str(CHILD), *how), **more)


async def call(session: Session, tool: str = "echo", deadline: float = 20.0, **options: Any) -> RemoteAnswer:
    """Call a tool."""
    return await session.call(
        tool, options.pop("arguments", {"text": "hello"}), meta=options.pop("meta", {}), deadline=deadline, **options
    )


def texts(answer: RemoteAnswer) -> list[str]:
    return [part.text for part in answer.parts]


async def failing(work: Awaitable[object], kind: FaultKind, *, sent: bool | None = None) -> McpError:
    """The failure that `work` ends with."""
    with pytest.raises(McpError) as caught:
        await work
    assert caught.value.kind is kind, caught.value
    if sent is not None:
        assert caught.value.sent is sent, caught.value
    return caught.value
