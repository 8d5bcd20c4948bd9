"""Asking for a page: redirects are followed hop by hop, each checked as the first address was, without what belongs to another origin."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ael.net.address import AddressRules
from ael.net.client import Client, Timeouts, target
from ael.net.failure import NetError, NetKind
from ael.net.reach import Place, Reach, joined, read_place
from ael.types.value import Secret

MAX_HOPS = 5
"""Redirects that one request follows."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_EVERYWHERE = frozenset({"accept", "accept-language", "user-agent"})
"""Headers that go to whatever origin a redirect leads to; all others are for the first alone (fault kind K42)."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A request. `headers` go out as they are; `follow`: redirects are followed (of `GET` and `HEAD` alone); sizes in bytes."""

    method: str
    url: str
    headers: Mapping[str, str | Secret] = field(default_factory=dict)
    body: Sequence[bytes] = ()
    follow: bool = True
    max_bytes: int = 1 << 20
    upgrade: bool = False


@dataclass(frozen=True, slots=True)
class Visited:
    """An answer, whole. `place` is where it came from in the end; header names are lower case."""

    place: Place
    status: int
    headers: Mapping[str, str]
    body: bytes
    hops: int


_TIMEOUTS = Timeouts(connect=10.0, first=30.0, idle=15.0)


@dataclass(frozen=True)
class Visitor:
    """Asks through one client. `listed`: hosts that may be private or without TLS, as the client has them."""

    client: Client
    listed: AddressRules

    def place(self, ask: Ask, allowed: Reach) -> Place:
        """Where `ask` leads first. Raises `NetError`; nothing was sent."""
        return read_place(ask.url, self.listed, allowed, upgrade=ask.upgrade)

    async def visit(
        self,
        ask: Ask,
        allowed: Reach,
        *,
        deadline: float,
        credentials: Callable[[Place], Mapping[str, Secret]] = lambda place: {},
        going_out: Callable[[], None] | None = None,
    ) -> Visited:
        """Ask. `credentials` are the headers of the deployment's for the first place; `deadline`: seconds for everything together.

        Raises `NetError`, and `ValueError` for a header that HTTP cannot carry.
        """
        place = self.place(ask, allowed)
        origin = place.endpoint.origin
        headers: dict[str, str | Secret] = {**ask.headers, **credentials(place)}
        loop = asyncio.get_running_loop()
        end = loop.time() + deadline
        hops = 0
        while True:
            found = await self._once(ask, place, headers, hops, end - loop.time(), going_out)
            location = found.headers.get("location", "")
            if not (ask.follow and found.status in _REDIRECTS and location):
                return found
            hops += 1
            if hops > MAX_HOPS:
                raise NetError(NetKind.MALFORMED, f"{origin} redirects more than {MAX_HOPS} times", sent=True, received=True)
            before, place = place, read_place(joined(place, location), self.listed, allowed, upgrade=ask.upgrade)
            if before.endpoint.tls and not place.endpoint.tls:
                raise NetError(NetKind.ADDRESS, f"{before.endpoint.origin} redirects to an address without TLS")
            if place.endpoint.origin != origin:
                # Never again: an origin in between could choose where to lead back to.
                headers = {name: value for name, value in headers.items() if name.lower() in _EVERYWHERE}
                origin = place.endpoint.origin

    async def _once(
        self,
        ask: Ask,
        place: Place,
        headers: Mapping[str, str | Secret],
        hops: int,
        left: float,
        going_out: Callable[[], None] | None,
    ) -> Visited:
        if left <= 0:
            raise NetError(NetKind.TIMEOUT, f"{place.endpoint.origin} did not answer in time", sent=hops > 0)
        safe = ask.method in ("GET", "HEAD")
        where = target(
            place.endpoint, place.path, headers, method=ask.method, timeouts=_TIMEOUTS, resend=safe,
            max_bytes=ask.max_bytes, compressed=True,
        )  # fmt: skip
        response = await self.client.send(where, ask.body, deadline=left, going_out=going_out)
        try:
            # A redirect's own page is read by nobody; neither is what the answer to `HEAD` says it would have.
            body = b"" if ask.method == "HEAD" or (ask.follow and response.status in _REDIRECTS) else await response.read()
        finally:
            response.close()
        said = {name.decode("latin-1"): response.header(name) for name in response.headers}
        return Visited(place, response.status, said, body, hops)
