"""The one HTTP client: requests to endpoints that the deployment named, over pooled connections.

It follows no redirect, keeps no cookie, reads no environment, and repeats nothing by itself, with one exception: a request that
went
out on a connection used before, which the server closed before any byte of an answer, is sent once more on a new connection
when its
`Target` says that it may be (a connection may be closed by the server just as it is taken).
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from ael.net.address import AddressRules, Endpoint
from ael.net.connection import Connection
from ael.net.failure import NetError, NetKind
from ael.net.pool import Pool
from ael.net.redact import Redactor
from ael.net.response import Response
from ael.types.value import Secret

MAX_BODY_BYTES = 32 * 1024 * 1024

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+\-.^_`|~]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_ASKING = (b"GET ", b"HEAD ")
_OWN = frozenset({"host", "content-length", "connection", "transfer-encoding", "accept-encoding"})


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: to connect; to the beginning of an answer, or of its events; between two pieces of an answer that count."""

    connect: float = 10.0
    first: float = 600.0
    idle: float = 300.0


@dataclass(frozen=True, slots=True)
class Target:
    """What is the same for many requests: where, how, with which headers. Made by `target`."""

    endpoint: Endpoint
    head: bytes
    timeouts: Timeouts
    resend: bool
    max_bytes: int


def target(
    endpoint: Endpoint,
    path: str,
    headers: Mapping[str, str | Secret] | None = None,
    *,
    method: str = "POST",
    timeouts: Timeouts | None = None,
    resend: bool = False,
    max_bytes: int = MAX_BODY_BYTES,
    compressed: bool = False,
) -> Target:
    """Describe a request once. `path` is appended to the endpoint's; `resend`: sending it twice does no harm.

    Raises `ValueError` for a header that HTTP cannot carry (its value is not shown).
    """
    query = f"?{endpoint.query}" if endpoint.query else ""
    lines = [f"{method} {endpoint.path}{path}{query} HTTP/1.1", f"host: {endpoint.authority}"]
    lines.append(f"accept-encoding: {'gzip, deflate' if compressed else 'identity'}")
    for name, given in (headers or {}).items():
        lines.append(header_line(name, given.reveal() if isinstance(given, Secret) else given))
    head = "\r\n".join(lines).encode("latin-1") + b"\r\n"
    return Target(endpoint, head, timeouts or Timeouts(), resend, max_bytes)


def header_line(name: str, value: str) -> str:
    """A header as it goes out. Raises `ValueError` when name or value could break out of it."""
    if not _TOKEN.fullmatch(name) or name.lower() in _OWN:
        raise ValueError(f"a request cannot carry a header called `{name[:64]}`")
    if not _VALUE.fullmatch(value):
        raise ValueError(f"the value of the header `{name}` holds a character that a header cannot carry")
    return f"{name}: {value.strip()}"


@dataclass(slots=True)
class _Bound:
    """The pool of one event loop."""

    loop: asyncio.AbstractEventLoop
    pool: Pool = field(repr=False)


class Client:
    """An HTTP client for one set of address rules.

    Connections belong to the event loop that runs when they are made: under another loop (a second `asyncio.run`, or after a
    fork) the
    client starts with none. `secrets` are masked in the text of every error.
    """

    def __init__(
        self,
        allowed: AddressRules | None = None,
        *,
        secrets: Iterable[Secret] = (),
        max_connections: int | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._allowed = allowed or AddressRules()
        self.redact = Redactor(secrets)
        self._max = max_connections
        self._tls = tls
        self._bound: _Bound | None = None

    async def send(
        self,
        where: Target,
        body: Sequence[bytes] = (),
        headers: Sequence[str] = (),
        *,
        deadline: float | None = None,
        going_out: Callable[[], None] | None = None,
    ) -> Response:
        """Send a request; the response comes back as soon as its headers are here. `deadline`: seconds for the whole exchange.

        `headers` are further lines from `header_line`; `going_out` is called just before the first byte leaves, so that who is cancelled
        knows whether the server may have seen it. Raises `NetError`. The caller closes the response.
        """
        loop = asyncio.get_running_loop()
        pool = self._pool(loop)
        until = inf if deadline is None else loop.time() + deadline
        extra = "".join([f"{line}\r\n" for line in headers]).encode("latin-1")
        # A request that asks for something says nothing of a body that it does not have (RFC 9110, 8.6).
        size = b"" if not body and where.head.startswith(_ASKING) else b"content-length: %d\r\n" % sum(map(len, body))
        head = b"%b%b%b\r\n" % (where.head, size, extra)
        try:
            connection = await self._take(pool, where, until)
            if going_out is not None:
                going_out()
            try:
                return await self._exchange(connection, where, head, body, until)
            except NetError as problem:
                stale = connection.used and problem.kind is NetKind.DISCONNECTED and not problem.received
                if not (stale and where.resend):
                    raise
            connection = await self._take(pool, where, until, fresh=True)
            return await self._exchange(connection, where, head, body, until)
        except NetError as problem:
            problem.message = self.redact(problem.message)
            problem.args = (problem.message,)
            raise

    async def close(self) -> None:
        """Close all connections of the running loop, and wait until they are closed."""
        bound, self._bound = self._bound, None
        if bound is not None and bound.loop is asyncio.get_running_loop():
            await bound.pool.close()

    @property
    def open_connections(self) -> int:
        """How many connections the client holds, idle ones too."""
        return 0 if self._bound is None else self._bound.pool.size

    def _pool(self, loop: asyncio.AbstractEventLoop) -> Pool:
        bound = self._bound
        if bound is None or bound.loop is not loop:
            bound = self._bound = _Bound(loop, Pool(loop, self._allowed, self._max))
        return bound.pool

    async def _take(self, pool: Pool, where: Target, until: float, fresh: bool = False) -> Connection:
        if not fresh and (connection := pool.reuse(where.endpoint)) is not None:
            return connection
        tls = self._context() if where.endpoint.tls else None
        return await pool.open(where.endpoint, tls, where.timeouts.connect, until, fresh)

    async def _exchange(
        self, connection: Connection, where: Target, head: bytes, body: Sequence[bytes], until: float
    ) -> Response:
        response = Response(connection, where.max_bytes, where.timeouts.idle, where.timeouts.first)
        await connection.exchange(head, body, response, where.timeouts.first, until)
        return response

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            # Made when it is needed first: reading the system's certificates takes some 20 ms.
            self._tls = ssl.create_default_context()
        return self._tls
