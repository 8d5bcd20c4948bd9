"""Requests of an authorization: to metadata, registration and token endpoints. Short, bounded, without redirects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlencode

from ael.mcp.failure import McpError
from ael.mcp.oauth.document import MAX_BYTES, Document, document
from ael.mcp.oauth.place import Place, denied
from ael.net.address import AddressRules
from ael.net.client import Client, Timeouts, target
from ael.net.failure import NetError, NetKind
from ael.net.redact import Redactor, bounded
from ael.types.fault import FaultKind
from ael.types.json import encode
from ael.types.value import Secret

TIMEOUTS = Timeouts(connect=10.0, first=30.0, idle=10.0)
_KINDS = {
    NetKind.ADDRESS: FaultKind.DENIED,
    NetKind.UNREACHABLE: FaultKind.DISCONNECTED,
    NetKind.TLS: FaultKind.DISCONNECTED,
    NetKind.TIMEOUT: FaultKind.TIMEOUT,
    NetKind.DISCONNECTED: FaultKind.DISCONNECTED,
    NetKind.TOO_LARGE: FaultKind.TOO_LARGE,
    NetKind.MALFORMED: FaultKind.MALFORMED,
}
Fields = Sequence[tuple[str, str | Secret]]
"""A form: names and values, what must not be shown as secrets."""
_REFUSALS = frozenset({400, 401, 403})


@dataclass(frozen=True)
class Reply:
    """An answer. `kind` is its media type, `nonce` its `DPoP-Nonce`."""

    status: int
    kind: str
    body: bytes = field(repr=False)
    retry_after: float | None
    nonce: str

    @property
    def is_json(self) -> bool:
        return self.kind == "application/json" or self.kind.endswith("+json")


class Exchange:
    """The requests of one flow. `secrets` grows with what must not be shown: codes, verifiers, tokens."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._secrets: list[Secret] = []

    def hide(self, value: str) -> None:
        """Never show this value, in whatever form it comes back."""
        self._secrets.append(Secret("authorization", value))

    async def metadata(self, where: Place, what: str) -> Document | None:
        """A metadata document; None where there is none (4xx, or an answer that is no JSON: sites answer any path with a page)."""
        reply = await self._send(where, "GET", (), {"accept": "application/json"}, what)
        if 300 <= reply.status < 400:
            raise denied(f"{what} at {where.origin} is a redirect, which is not followed")
        if reply.status >= 500 or reply.status == 429:
            raise _unavailable(what, where, reply)
        if reply.status != 200 or not reply.is_json:
            return None
        return document(reply.body, f"{what} of {where.origin}")

    async def form(self, where: Place, fields: Fields, headers: Mapping[str, str | Secret], what: str) -> Reply:
        """Post a form, whose secrets are hidden from now on. The caller reads the reply with `accepted`."""
        kinds = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
        for value in (*(value for _, value in fields), *headers.values()):
            if isinstance(value, Secret):
                self.hide(value.reveal())
                # A header's value without its scheme.
                self.hide(value.reveal().partition(" ")[2])
        shown = [(name, value.reveal() if isinstance(value, Secret) else value) for name, value in fields]
        return await self._send(where, "POST", (urlencode(shown).encode(),), {**kinds, **headers}, what)

    async def json(self, where: Place, value: Mapping[str, object], what: str) -> Document:
        """Post a JSON document, read the one that answers."""
        kinds = {"content-type": "application/json", "accept": "application/json"}
        return self.accepted(await self._send(where, "POST", (encode(dict(value)),), kinds, what), where, what)

    def accepted(self, reply: Reply, where: Place, what: str) -> Document:
        """The document of a reply that grants something. Raises `McpError`: `Denied` with the server's reason, or what went wrong."""
        if reply.status in (200, 201):
            return document(reply.body, f"{what} of {where.origin}")
        if reply.status in _REFUSALS:
            raise denied(f"{where.origin} refused {what} with status {reply.status}{self._reason(reply)}")
        if 300 <= reply.status < 400:
            raise denied(f"{what} of {where.origin} is a redirect, which is not followed")
        raise _unavailable(what, where, reply)

    def error_of(self, reply: Reply) -> str:
        """The `error` code of a refusal, empty where it has none."""
        if reply.status in _REFUSALS and reply.is_json:
            try:
                return document(reply.body, "the refusal").text("error") or ""
            except McpError:
                return ""
        return ""

    def outside(self, text: str) -> str:
        """Text from outside for a message: without what is secret, then short. In this order: half a secret would be shown."""
        return bounded(Redactor(self._secrets)(text), 200)

    def _reason(self, reply: Reply) -> str:
        if not reply.is_json:
            return ""
        try:
            told = document(reply.body, "the refusal")
            parts = [part for part in (told.text("error"), told.text("error_description")) if part is not None]
        except McpError:
            return ""
        return f" (it says: {self.outside(': '.join(parts))!r})" if parts else ""

    async def _send(
        self, where: Place, method: str, body: tuple[bytes, ...], headers: Mapping[str, str | Secret], what: str
    ) -> Reply:
        try:
            to = target(where.endpoint, where.path, headers, method=method, timeouts=TIMEOUTS, max_bytes=MAX_BYTES)
            response = await self._client.send(to, body)
            try:
                data = await response.read()
            finally:
                response.close()
        except NetError as problem:
            raise McpError(_KINDS[problem.kind], f"{what} of {where.origin}: {self.outside(problem.message)}") from None
        except ValueError as problem:
            raise denied(f"{what} of {where.origin} cannot be asked for: {self.outside(str(problem))}") from None
        kind = response.header(b"content-type").partition(";")[0].strip().lower()
        return Reply(
            response.status, kind, data, _retry_after(response.header(b"retry-after")), response.header(b"dpop-nonce")[:256]
        )


@asynccontextmanager
async def exchange(allowed: AddressRules) -> AsyncIterator[Exchange]:
    """Requests over connections that are closed at the end: flows are rare, and nothing is left behind by them."""
    client = Client(allowed, max_connections=4)
    try:
        yield Exchange(client)
    finally:
        await client.close()


@asynccontextmanager
async def within(seconds: float) -> AsyncIterator[None]:
    """Raises `McpError` (`Timeout`) when the body takes longer."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise McpError(FaultKind.TIMEOUT, "no token was granted in time") from None


def _unavailable(what: str, where: Place, reply: Reply) -> McpError:
    return McpError(
        FaultKind.UNAVAILABLE,
        f"{what} of {where.origin} was answered with status {reply.status}",
        status=reply.status,
        retry_after=reply.retry_after,
    )


def _retry_after(value: str) -> float | None:
    return float(value) if value.isascii() and value.isdigit() and len(value) <= 6 else None
