"""The connections of one client in one event loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import sys
from collections import deque
from ipaddress import ip_address

from ael.net.address import AddressRules, Endpoint, check_address, parse_host
from ael.net.connection import Connection
from ael.net.failure import NetError, NetKind

if sys.platform != "win32":
    import resource

IDLE_SECONDS = 30.0
"""An unused connection is closed after this time; most servers close it no sooner."""
RESTED_SECONDS = 1.0
"""After this time an unused connection is looked at before it is used again: a loop that was held up has not heard yet of its end."""
NAME_SECONDS = 30.0
"""How long the checked addresses of a name are used for further connections."""

_Peers = list[tuple[int, tuple[object, ...]]]


class Pool:
    """Opens, keeps and closes connections. At most `limit` are open; who comes later waits for one."""

    def __init__(self, loop: asyncio.AbstractEventLoop, allowed: AddressRules, limit: int | None) -> None:
        self._loop = loop
        self._allowed = allowed
        self._limit = limit or default_limit()
        self._idle: dict[Endpoint, list[Connection]] = {}
        self._open: set[Connection] = set()
        self._opening = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._names: dict[tuple[str, int], tuple[float, _Peers]] = {}
        self._lookups: dict[tuple[str, int], asyncio.Task[_Peers]] = {}
        self._keeper: asyncio.Task[None] | None = None
        self._closed: asyncio.Future[None] | None = None

    @property
    def size(self) -> int:
        return len(self._open)

    def reuse(self, endpoint: Endpoint) -> Connection | None:
        """An idle connection, the one used last: the others may then end."""
        idle = self._idle.get(endpoint)
        while idle:
            connection = idle.pop()
            if not connection.usable():
                continue
            if self._loop.time() - connection.idle_since < RESTED_SECONDS or connection.silent():
                return connection
            connection.abort()
        return None

    async def open(self, endpoint: Endpoint, tls: ssl.SSLContext | None, connect: float, until: float, fresh: bool) -> Connection:
        """A new connection, or one that becomes idle while the limit is reached. Raises `NetError`."""
        while len(self._open) + self._opening >= self._limit:
            if self._close_one_idle(None if fresh else endpoint):
                break
            await self._turn(until)
            if not fresh and (connection := self.reuse(endpoint)) is not None:
                return connection
        self._opening += 1
        limit = min(connect, until - self._loop.time())
        try:
            async with asyncio.timeout(limit):
                connection = await self._connect(endpoint, tls, limit)
        except TimeoutError:
            raise NetError(NetKind.TIMEOUT, f"{endpoint.origin} could not be connected to in time") from None
        finally:
            self._opening -= 1
            self._next()
        self._open.add(connection)
        return connection

    async def close(self) -> None:
        """Close everything and wait until the loop has let go of it."""
        if self._keeper is not None:
            self._keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeper
        for lookup in list(self._lookups.values()):
            lookup.cancel()
        self._idle.clear()
        for connection in list(self._open):
            connection.abort()
        if self._open:
            self._closed = self._loop.create_future()
            await self._closed

    # --- what a connection tells

    def idle(self, connection: Connection) -> None:
        connection.idle_since = self._loop.time()
        assert isinstance(connection.key, Endpoint)
        self._idle.setdefault(connection.key, []).append(connection)
        if self._keeper is None or self._keeper.done():
            self._keeper = self._loop.create_task(self._keep(), name="idle connections")
        self._next()

    def gone(self, connection: Connection) -> None:
        self._open.discard(connection)
        assert isinstance(connection.key, Endpoint)
        idle = self._idle.get(connection.key)
        if idle is not None and connection in idle:
            idle.remove(connection)
        if not self._open and self._closed is not None and not self._closed.done():
            self._closed.set_result(None)
        self._next()

    # --- opening

    async def _connect(self, endpoint: Endpoint, tls: ssl.SSLContext | None, limit: float) -> Connection:
        if endpoint.unix:
            return await self._local(endpoint)
        peers = await self._peers(endpoint)
        problem: OSError | None = None
        for left, (family, peer) in zip(range(len(peers), 0, -1), peers, strict=True):
            try:
                # Not the last address: leave time for those after it.
                async with asyncio.timeout(limit / 2 if left > 1 else None):
                    return await self._reach(endpoint, tls, family, peer)
            except ssl.SSLError as failure:
                reason = failure.verify_message if isinstance(failure, ssl.SSLCertVerificationError) else failure.reason
                raise NetError(NetKind.TLS, f"{endpoint.origin} did not prove who it is: {reason}") from None
            except TimeoutError:
                if left == 1:
                    raise
            except OSError as failure:
                problem = failure
        reason = "" if problem is None else f": {problem.strerror or type(problem).__name__}"
        raise NetError(NetKind.UNREACHABLE, f"{endpoint.origin} cannot be reached{reason}")

    async def _local(self, endpoint: Endpoint) -> Connection:
        """Over a socket of this machine."""
        try:
            _, connection = await self._loop.create_unix_connection(lambda: Connection(self._loop, self, endpoint), endpoint.unix)
        except OSError as failure:
            reason = failure.strerror or type(failure).__name__
            raise NetError(NetKind.UNREACHABLE, f"the local socket cannot be reached: {reason}") from None
        return connection

    async def _reach(self, endpoint: Endpoint, tls: ssl.SSLContext | None, family: int, peer: tuple[object, ...]) -> Connection:
        # The address that was checked is the one connected to: no second look-up can answer otherwise.
        connecting = socket.socket(family, socket.SOCK_STREAM)
        try:
            connecting.setblocking(False)
            connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._loop.sock_connect(connecting, peer)
            _, connection = await self._loop.create_connection(
                lambda: Connection(self._loop, self, endpoint),
                sock=connecting,
                ssl=tls,
                server_hostname=endpoint.host if tls is not None else None,
            )
        except BaseException:
            connecting.close()
            raise
        return connection

    async def _peers(self, endpoint: Endpoint) -> _Peers:
        key = (endpoint.host, endpoint.port)
        literal = parse_host(endpoint.host, bracketed=":" in endpoint.host)
        if literal is not None:
            check_address(literal, endpoint.host, endpoint.port, self._allowed)
            return [(socket.AF_INET if literal.version == 4 else socket.AF_INET6, key)]
        known = self._names.get(key)
        if known is not None and known[0] > self._loop.time():
            return known[1]
        lookup = self._lookups.get(key)
        if lookup is None:
            lookup = self._lookups[key] = self._loop.create_task(self._look_up(endpoint), name="look up")
        # Shared by all who wait for it: one of them being cancelled is nothing to the others.
        return await asyncio.shield(lookup)

    async def _look_up(self, endpoint: Endpoint) -> _Peers:
        key = (endpoint.host, endpoint.port)
        try:
            found = await self._loop.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
        except OSError as problem:
            raise NetError(NetKind.UNREACHABLE, f"the host `{endpoint.host}` is not known: {problem.strerror}") from None
        finally:
            self._lookups.pop(key, None)
        peers: _Peers = []
        for family, _, _, _, peer in found:
            if family in (socket.AF_INET, socket.AF_INET6):
                check_address(ip_address(str(peer[0]).partition("%")[0]), endpoint.host, endpoint.port, self._allowed)
                peers.append((family, tuple(peer)))
        if not peers:
            raise NetError(NetKind.UNREACHABLE, f"the host `{endpoint.host}` has no address")
        self._names[key] = (self._loop.time() + NAME_SECONDS, peers)
        return peers

    # --- limits and age

    async def _turn(self, until: float) -> None:
        turn = self._loop.create_future()
        self._waiting.append(turn)
        try:
            async with asyncio.timeout(None if until == float("inf") else until - self._loop.time()):
                await turn
        except TimeoutError:
            raise NetError(NetKind.TIMEOUT, "no connection became free before the deadline") from None
        except BaseException:
            if turn.done() and not turn.cancelled():
                self._next()
            raise
        finally:
            with contextlib.suppress(ValueError):
                self._waiting.remove(turn)

    def _next(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    def _close_one_idle(self, wanted: Endpoint | None) -> bool:
        for endpoint, idle in self._idle.items():
            if idle and endpoint != wanted:
                connection = idle.pop(0)
                self._open.discard(connection)
                connection.abort()
                return True
        return False

    async def _keep(self) -> None:
        """Close idle connections when they are old, and all of them when the loop ends (which cancels this task)."""
        try:
            while any(self._idle.values()):
                await asyncio.sleep(IDLE_SECONDS / 4)
                oldest = self._loop.time() - IDLE_SECONDS
                for idle in self._idle.values():
                    for connection in [one for one in idle if one.idle_since < oldest]:
                        idle.remove(connection)
                        connection.abort()
        except asyncio.CancelledError:
            for connection in list(self._open):
                connection.abort()
            raise


def default_limit() -> int:
    """What the process may open, less what other things need, at most 10,000."""
    if sys.platform == "win32":
        return 10_000
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 10_000 if soft == resource.RLIM_INFINITY else max(16, min(10_000, soft - 128))
