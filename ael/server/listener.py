"""An ASGI application on a socket that is bound already, until it is told to end: uvicorn, with an end that finishes what is in flight."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import uvicorn

from ael.data import replace
from ael.host import HostError
from ael.net.tls import unusable
from ael.project.serving import Listen
from ael.server.connection import Connection
from ael.server.guard import Guard
from ael.server.stop import Stop

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
LAST = 2
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


def probed(host: str, port: int, *, known: bool) -> int:
    """A port that a server of another kind can bind in a moment, looked at as by `bind`. Raises `HostError`."""
    with bind(host, port, known=known) as bound:
        return int(bound.getsockname()[1])


def certified(listen: Listen, folder: Path) -> Listen:
    """The same, with its files found from the deployment's folder and looked at. Raises `HostError` (AEL0878)."""
    if not listen.certificate:
        return listen
    certificate, key = str(folder / listen.certificate), str(folder / listen.key)
    clients = str(folder / listen.clients) if listen.clients else ""
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        if clients:
            context.load_verify_locations(clients)
    except (OSError, ssl.SSLError) as error:
        reason = unusable(error, [Path(file) for file in (certificate, key, clients) if file])
        note = "they are files in the form PEM, found from the deployment's folder"
        raise HostError("AEL0878", f"the certificate of the server cannot be used: {reason}", note) from None
    return replace(listen, certificate=certificate, key=key, clients=clients)


def shown(listen: Listen, name: str, bound: socket.socket) -> str:
    """Where a server is, for people."""
    host = f"[{name}]" if ":" in name else name
    return f"{'https' if listen.certificate else 'http'}://{host}:{bound.getsockname()[1]}"


def names_of(host: str, bound: socket.socket, listen: Listen) -> frozenset[str]:
    """The hosts that requests may name: this machine's own names on loopback, what was asked for, and what the deployment says."""
    shown = f"[{host}]" if ":" in host else host.lower()
    own = LOOPBACK if ip_address(bound.getsockname()[0]).is_loopback else ()
    return frozenset({*own, shown, *listen.hosts})


class Server(uvicorn.Server):
    """Signals are this program's: a first one drains, see `ael.server.stop`."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def server_of(app: Any, listen: Listen) -> Server:
    """A server of the application, with the deployment's limits."""
    config = uvicorn.Config(
        app,
        http=Connection, ws="none", lifespan="off", log_config=None, access_log=False, server_header=False, proxy_headers=False,
        limit_concurrency=listen.connections, timeout_graceful_shutdown=LAST,
        ssl_certfile=listen.certificate or None, ssl_keyfile=listen.key or None, ssl_ca_certs=listen.clients or None,
        ssl_cert_reqs=ssl.CERT_REQUIRED if listen.clients else ssl.CERT_NONE,
    )  # fmt: skip
    return Server(config)


async def serve(
    app: Any,
    guard: Guard,
    listen: Listen,
    bound: socket.socket,
    stop: Stop,
    ready: Callable[[], None],
    close: Callable[[], Awaitable[None]],
    around: AbstractAsyncContextManager[None] | None = None,
    *,
    handed_on: bool = False,
) -> None:
    """Serve until `stop`, then `close` what is in flight, and return. `ready` is called when connections are taken; `around` is what they
    are served in, and ends before they do. `handed_on`: another process has the socket too, so from `stop` on new connections are its."""
    server = server_of(app, listen)
    serving = asyncio.ensure_future(server.serve([bound]))
    stopped = asyncio.ensure_future(stop.wait())
    try:
        async with around or nullcontext():
            await _started(server, serving)
            ready()
            await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if handed_on:
                for listening in server.servers:
                    listening.close()
            await close()
            await _written(guard)
            guard.closed = True
    finally:
        stopped.cancel()
        server.should_exit = True
        await serving


async def _started(server: Server, serving: asyncio.Future[None]) -> None:
    """Wait until connections are taken."""
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)


async def _written(guard: Guard) -> None:
    """Wait until the answers of the calls that ended are out, for a short time."""
    until = asyncio.get_running_loop().time() + LAST
    while guard.exchanges and asyncio.get_running_loop().time() < until:
        await asyncio.sleep(0.01)
