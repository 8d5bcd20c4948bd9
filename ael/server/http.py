"""Serving over streamable HTTP: the guard, the SDK's sessions behind it, uvicorn below, and an end that finishes what is in flight."""

from __future__ import annotations

import asyncio
import socket
import sys

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from ael.project.serving import Listen
from ael.server import listener
from ael.server.caller import Caller, Callers
from ael.server.calls import Calls
from ael.server.guard import PATH, Guard, Scope
from ael.server.inherited import Inherited
from ael.server.listener import names_of, shown
from ael.server.protocol import CALLER, Protocol
from ael.server.served import Served
from ael.server.sides import Sides
from ael.server.stop import Stop


async def serve(
    protocol: Protocol,
    calls: Calls,
    listen: Listen,
    callers: Callers,
    local: Caller,
    bound: socket.socket,
    host: str,
    stop: Stop,
    served: Served | None = None,
    *,
    sides: Sides | None = None,
    connect: bool = True,
    given: Inherited | None = None,
) -> None:
    """Serve until `stop`, then end the calls in flight, and return. `served`: services and nodes beside it, over the Connect protocol
    where `connect` says so. `given`: this process takes over from another."""
    manager = StreamableHTTPSessionManager(
        app=protocol.server,
        max_sessions=listen.sessions,
        max_request_body_size=listen.body,
        # Who asks from where is the guard's.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    guard = Guard(
        manager.handle_request, listen, callers, local, names_of(host, bound, listen), _admit, lambda: not calls.draining
    )  # fmt: skip
    guard.sides = sides
    app = served.beside(guard, PATH) if served is not None and connect else guard

    def ready() -> None:
        print(f"ael serve: listening on {shown(listen, host, bound)}{PATH}", file=sys.stderr, flush=True)
        if given is not None:
            given.told()

    async def close() -> None:
        if sides is not None:
            sides.close()
        await asyncio.gather(calls.close(), *(() if served is None else (served.dispatch.close(),)))

    await calls.open()
    # The sessions, with the streams that they keep open, end before the connections do.
    await listener.serve(app, guard, listen, bound, stop, ready, close, manager.run(), handed_on=given is not None)


def _admit(scope: Scope, caller: Caller) -> None:
    """The SDK binds a session to its user: another caller's session is not there (K43)."""
    scope[CALLER] = caller
    scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=f"{caller.tenant}/{caller.name}", scopes=[]))
