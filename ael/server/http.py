"""Serving over streamable HTTP: the guard, the SDK's sessions behind it, uvicorn below, and an end that finishes what is in flight."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address

import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from ael.host import HostError
from ael.project.serving import Listen
from ael.server.caller import Caller, Callers
from ael.server.calls import Calls
from ael.server.connection import Connection
from ael.server.guard import PATH, Guard, Scope
from ael.server.protocol import CALLER, Protocol
from ael.server.stop import Stop

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_LAST = 2
"""Seconds for answers to be written when everything has ended."""


def bind(host: str, port: int, *, known: bool) -> socket.socket:
    """A listening socket. `known`: callers have to say who they are; else only this machine's own addresses are taken.

    Raises `HostError`: open to others without callers (AEL0872), or no such address here, or a port that is taken (AEL0873).
    """
    try:
        family, kind, number, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        if not known and not ip_address(address[0]).is_loopback:
            note = 'name who may call: `caller alice = bearer(secret("ALICE_TOKEN"))` in the deployment'
            raise HostError("AEL0872", f"a server on {host} is open to others, and no caller is named", note)
        bound = socket.socket(family, kind, number)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen(128)
        except OSError:
            bound.close()
            raise
    except (OSError, UnicodeError, OverflowError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        note = "say another with `--host` and `--port`"
        raise HostError("AEL0873", f"cannot listen on {host}, port {port}: {reason.lower()}", note) from None
    bound.setblocking(False)
    return bound


def names_of(host: str, bound: socket.socket, listen: Listen) -> frozenset[str]:
    """The hosts that requests may name: this machine's own names on loopback, what was asked for, and what the deployment says."""
    shown = f"[{host}]" if ":" in host else host.lower()
    own = LOOPBACK if ip_address(bound.getsockname()[0]).is_loopback else ()
    return frozenset({*own, shown, *listen.hosts})


async def serve(
    protocol: Protocol, calls: Calls, listen: Listen, callers: Callers, local: Caller, bound: socket.socket, host: str, stop: Stop
) -> None:
    """Serve until `stop`, then end the calls in flight, and return."""
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
    config = uvicorn.Config(
        guard,
        http=Connection, ws="none", lifespan="off", log_config=None, access_log=False, server_header=False, proxy_headers=False,
        limit_concurrency=listen.connections, timeout_graceful_shutdown=_LAST,
    )  # fmt: skip
    server = Server(config)
    await calls.open()
    serving = asyncio.ensure_future(server.serve([bound]))
    stopped = asyncio.ensure_future(stop.wait())
    try:
        # The sessions, with the streams that they keep open, end before the connections do.
        async with manager.run():
            while not server.started and not serving.done():
                await asyncio.sleep(0.01)
            shown = f"[{host}]" if ":" in host else host
            print(f"ael serve: listening on http://{shown}:{bound.getsockname()[1]}{PATH}", file=sys.stderr, flush=True)
            await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
            await calls.close()
            await _written(guard)
            guard.closed = True
    finally:
        stopped.cancel()
        server.should_exit = True
        await serving


async def _written(guard: Guard) -> None:
    """Wait until the answers of the calls that ended are out, for a short time."""
    until = asyncio.get_running_loop().time() + _LAST
    while guard.exchanges and asyncio.get_running_loop().time() < until:
        await asyncio.sleep(0.01)


class Server(uvicorn.Server):
    """Signals are this program's: a first one drains, see `ael.server.stop`."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def _admit(scope: Scope, caller: Caller) -> None:
    """The SDK binds a session to its user: another caller's session is not there (K43)."""
    scope[CALLER] = caller
    scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=f"{caller.tenant}/{caller.name}", scopes=[]))
