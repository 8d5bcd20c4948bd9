"""What the tests of the HTTP client share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from ael.net.address import parse_endpoint, rules
from ael.net.client import Client, Target, target
from ael.net.failure import NetError, NetKind
from ael.net.sse import EventStream
from tests.net.loopback import Answer, Asked, Loopback

ALLOWED = rules(["127.0.0.1"])


def at(server: Loopback, path: str = "/x", **options: Any) -> Target:
    return target(parse_endpoint(server.url, ALLOWED), path, **options)


async def ask(client: Client, where: Target, body: bytes = b"{}", **options: Any) -> tuple[int, bytes]:
    response = await client.send(where, (body,), **options)
    try:
        return response.status, await response.read()
    finally:
        response.close()


async def exhausted(events: EventStream) -> None:
    while await events.batch() is not None:
        pass


def run(handler: Callable[[Asked], Answer], test: Callable[[Loopback, Client], Coroutine[Any, Any, None]]) -> None:
    """Run a test, and see that it leaves neither a task nor a connection."""

    async def main() -> None:
        async with Loopback(handler) as server:
            client = Client(ALLOWED)
            await test(server, client)
            await client.close()
            assert client.open_connections == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def failing(kind: NetKind, **facts: bool) -> Callable[[Target, Client], Coroutine[Any, Any, NetError]]:
    async def check(where: Target, client: Client) -> NetError:
        with pytest.raises(NetError) as caught:
            await ask(client, where)
        assert caught.value.kind is kind
        for name, value in facts.items():
            assert getattr(caught.value, name) is value
        return caught.value

    return check
