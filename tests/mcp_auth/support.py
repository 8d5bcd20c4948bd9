"""What the tests of credentials share."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ael.mcp import oauth
from ael.mcp.endpoint import Authorizer
from ael.mcp.failure import McpError
from ael.types.fault import FaultKind
from ael.types.value import Secret
from tests.mcp_auth.authority import HOSTS, Site, fetch, visit

SECRET = Secret("ROBOT", "robot-secret-4711")


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def facts(site: Site, **more: Any) -> oauth.ServerFacts:
    return oauth.ServerFacts(site.mcp, **{"hosts": HOSTS, **more})


def robot(site: Site, **more: Any) -> oauth.OAuthAuthorizer:
    return oauth.client_credentials(facts(site, **more), "robot", secret=SECRET)


def user(site: Site, open_url: Any = visit, **more: Any) -> oauth.OAuthAuthorizer:
    options = {name: more.pop(name) for name in ("id", "secret", "document", "seconds") if name in more}
    return oauth.authorization_code(facts(site, **more), open_url, **options)


async def ask(site: Site, authorizer: Authorizer, times: int = 2) -> dict[str, Any]:
    """A request to the endpoint, as a transport makes it: once more (at most `times`) when the authorizer has something new."""
    for _ in range(times + 1):
        sent = await authorizer.headers(10.0)
        lines = {name: value.reveal() if isinstance(value, Secret) else value for name, value in sent.items()}
        status, headers, body = await fetch(site.mcp, **lines)
        if status == 200:
            answer: dict[str, Any] = json.loads(body)
            return answer
        challenges = [headers["www-authenticate"]] if "www-authenticate" in headers else []
        if not await authorizer.challenged(status, challenges, 10.0, sent=sent):
            break
    raise Refused(status)


class Refused(Exception):
    """The endpoint did not take the credential, and there is no other."""


async def fault(asking: Awaitable[object], kind: FaultKind = FaultKind.DENIED) -> McpError:
    """The error that this ends with."""
    with pytest.raises(McpError) as caught:
        await asking
    assert caught.value.kind is kind, caught.value.message
    assert not caught.value.sent
    return caught.value


def run(test: Callable[[Site], Awaitable[None]], site: Site | None = None) -> None:
    """Run a test against a site, and see that it leaves no task behind."""

    async def main() -> None:
        async with site or Site() as running:
            await test(running)
        for _ in range(3):
            await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
