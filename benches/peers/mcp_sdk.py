"""The official SDK's own client session (`mcp`). As a program, `python -m benches.peers.mcp_sdk`, it prints the answer to one call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from mcp import Client, ClientSession, StdioServerParameters

from benches.crm import NEW, TOOL, Way, customer, way
from benches.peers.scenario import calls_op


def client(to: Way) -> AbstractAsyncContextManager[Client]:
    """A client in the words of the server's era; without the probe where it could fail, as with an SDK of that time."""
    mode = "auto" if to.protocol == NEW else "legacy"
    if to.url:
        return Client(to.url, mode=mode)
    command, *arguments = to.words
    return Client(StdioServerParameters(command=command, args=arguments, cwd=to.cwd), mode=mode)


async def call(session: ClientSession, id: str) -> Any:
    """One call. The session holds the answer against the tool's output schema, as AEL does."""
    result = await session.call_tool(TOOL["name"], {"id": id})
    assert not result.is_error
    return result.structured_content


async def connected(ready: asyncio.Future[ClientSession]) -> None:
    """Hold a connection, in the one task that may close it."""
    async with client(way()) as opened:
        assert opened.session.protocol_version == way().protocol
        ready.set_result(opened.session)
        await asyncio.Event().wait()


class Calls:
    """Calls on one connection, opened with the first of them."""

    def __init__(self) -> None:
        self.holder: asyncio.Task[None] | None = None
        self.session: ClientSession | None = None

    async def __call__(self, calls: int) -> None:
        assert self.session is not None
        for number in range(calls):
            found = await call(self.session, f"c-{number + 1}")
        assert found == customer(f"c-{calls}")

    async def open(self) -> None:
        ready: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        self.holder = asyncio.ensure_future(connected(ready))
        self.holder.add_done_callback(lambda ended: None if ready.done() else ready.cancel(f"not connected: {ended!r}"))
        self.session = await ready


async def first() -> None:
    """What a script has to do for its first answer."""
    async with client(way()) as opened:
        print(json.dumps(await call(opened.session, "c-1")), flush=True)


def ops() -> Mapping[str, Any]:
    calls = Calls()
    return {"session": calls_op(calls.open, calls)}


if __name__ == "__main__":
    asyncio.run(first())
else:
    OPS = ops()
