"""What the keeper of connections needs of a session: the part of `ael.mcp.session.Session` that a run uses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from ael.mcp.failure import McpError
from ael.mcp.listing import Listing, What
from ael.mcp.session import Listener
from ael.run.ports import RemoteAnswer


class Connected(Protocol):
    """A session. Deadlines are seconds from now; what goes wrong is raised as `McpError`."""

    @property
    def protocol(self) -> str: ...

    @property
    def closed(self) -> McpError | None: ...

    async def listing(self, what: What, *, deadline: float) -> Listing: ...

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, object],
        *,
        meta: Mapping[str, object],
        deadline: float,
        idle: float | None = None,
        on_progress: Callable[[float, float | None, str], None] | None = None,
    ) -> RemoteAnswer: ...

    async def read(self, uri: str, *, meta: Mapping[str, object], deadline: float) -> RemoteAnswer: ...

    async def prompt(
        self, name: str, arguments: Mapping[str, str], *, meta: Mapping[str, object], deadline: float
    ) -> RemoteAnswer: ...

    async def close(self) -> None: ...


Opener = Callable[[Listener, str, str], Awaitable[Connected]]
"""Opens a new session of one server for a tenant and a caller. Raises `McpError`."""
