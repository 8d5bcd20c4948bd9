"""A session that answers as it is told, and what opens it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from ael.mcp.failure import McpError
from ael.mcp.listing import Listing, What
from ael.mcp.manifest import Expected, Uses
from ael.mcp.remote import Policy, Remote
from ael.mcp.session import Listener
from ael.run.ports import CallContext, Clock, RemoteAnswer, RemotePart
from ael.types.fault import Fault, FaultKind
from ael.types.pin import pin_digest
from ael.types.spec import RemoteSpec

TOOL: dict[str, object] = {
    "name": "get",
    "description": "Get it.",
    "inputSchema": {"type": "object", "properties": {"id": {"type": "string", "maxLength": 64}}, "required": ["id"]},
}
GET = RemoteSpec("main.crm", "tool", "get", text=True)
PUT = RemoteSpec("main.crm", "tool", "put", text=True)
USES = Uses("main.crm", (Expected("tool", "get", pin_digest(TOOL), TOOL),))

Doing = RemoteAnswer | McpError | Callable[[], Awaitable[RemoteAnswer]]


def text(said: str = "ok") -> RemoteAnswer:
    return RemoteAnswer((RemotePart("text", said),))


def down(sent: bool = True, **details: float | int) -> McpError:
    """A server that is not there."""
    return McpError(FaultKind.UNAVAILABLE, "gone", sent=sent, **details)  # type: ignore[arg-type]  # a test's own keywords


@dataclass
class FakeSession:
    """Answers calls by `doing` (the last one again and again); lists `tools` and `prompts`."""

    doing: list[Doing] = field(default_factory=lambda: [text()])
    tools: Sequence[Mapping[str, object]] = field(default_factory=lambda: [TOOL])
    prompts: list[Mapping[str, object]] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    listing_error: list[McpError] = field(default_factory=list)
    close_hangs: bool = False
    protocol: str = "2025-11-25"
    closed: McpError | None = None
    calls: list[tuple[str, dict[str, object], dict[str, object], float]] = field(default_factory=list)
    lists: int = 0
    shut: bool = False
    running: int = 0
    most: int = 0
    on_list: Callable[[], None] | None = None

    async def listing(self, what: What, *, deadline: float) -> Listing:
        self.lists += 1
        await asyncio.sleep(0)
        if self.on_list is not None:
            self.on_list()
        if self.listing_error:
            raise self.listing_error.pop(0)
        return Listing(self.tools if what == "tools" else self.prompts, self.refused)

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, object],
        *,
        meta: Mapping[str, object],
        deadline: float,
        idle: float | None = None,
        on_progress: Callable[[float, float | None, str], None] | None = None,
    ) -> RemoteAnswer:
        self.calls.append((tool, dict(arguments), dict(meta), deadline))
        return await self._do()

    async def read(self, uri: str, *, meta: Mapping[str, object], deadline: float) -> RemoteAnswer:
        self.calls.append((uri, {}, dict(meta), deadline))
        return await self._do()

    async def prompt(
        self, name: str, arguments: Mapping[str, str], *, meta: Mapping[str, object], deadline: float
    ) -> RemoteAnswer:
        self.calls.append((name, dict(arguments), dict(meta), deadline))
        return await self._do()

    async def _do(self) -> RemoteAnswer:
        doing = self.doing.pop(0) if len(self.doing) > 1 else self.doing[0]
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if isinstance(doing, McpError):
                raise doing
            return doing if isinstance(doing, RemoteAnswer) else await doing()
        finally:
            self.running -= 1

    async def close(self) -> None:
        self.shut = True
        if self.close_hangs:
            await asyncio.Event().wait()


@dataclass
class Opening:
    """Gives the sessions in their order (the last one again and again); a failure is raised. `listeners` are who opened."""

    sessions: list[FakeSession | McpError] = field(default_factory=list)
    listeners: list[Listener] = field(default_factory=list)
    gate: asyncio.Event | None = None
    given_up: int = 0

    async def __call__(self, listener: Listener, tenant: str, caller: str) -> FakeSession:
        self.listeners.append(listener)
        if self.gate is not None:
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.given_up += 1
                raise
        one = self.sessions.pop(0) if len(self.sessions) > 1 else self.sessions[0]
        if isinstance(one, McpError):
            raise one
        return one


def remote(
    *sessions: FakeSession | McpError, policy: Policy | None = None, clock: Clock | None = None, uses: Uses = USES
) -> tuple[Remote, Opening]:
    opening = Opening(list(sessions))
    return Remote(uses, opening, policy, clock), opening


def context(tenant: str = "acme", caller: str = "lin", seconds: float = 30.0, now: float | None = None) -> CallContext:
    """A call's context; `now` where the clock is not the system's."""
    start = time.time() if now is None else now
    return CallContext("r1", "main/x", "key-1", tenant, caller, "crm.read", start + seconds, f"00-{'a' * 32}-{'b' * 16}-01")


def alone(work: Callable[[], Awaitable[None]]) -> None:
    """In a loop of its own, which has no task left at its end."""

    async def whole() -> None:
        await work()
        await asyncio.sleep(0)
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert not left, left

    asyncio.run(whole())


async def fault_of(work: Awaitable[object]) -> Fault:
    with pytest.raises(Fault) as raised:
        await work
    return raised.value
