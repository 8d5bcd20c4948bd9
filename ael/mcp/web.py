"""Requests to an MCP server over HTTP: its headers, its credential, its redirects, and every failure typed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from urllib.parse import urljoin, urlsplit

from ael.mcp.endpoint import HttpEndpoint
from ael.mcp.failure import McpError
from ael.mcp.limits import SessionLimits
from ael.mcp.transport import Exchange
from ael.net.address import AddressRules, Endpoint, parse_endpoint, rules
from ael.net.client import Client, Target, Timeouts, header_line, target
from ael.net.failure import NetError, NetKind
from ael.net.redact import Redactor, bounded
from ael.net.response import Response
from ael.types.fault import FaultKind
from ael.types.value import Secret

EXCERPT = 200
"""Characters of an answer that are quoted where it is not what it should be."""
_AGES = 1e7
_ENDLESS = 1 << 62
_HOPS = 3
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DATE = re.compile(r"[A-Z][a-z]{2}, ([0-9]{2}) ([A-Z][a-z]{2}) ([0-9]{4}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) GMT")
_KINDS = {
    NetKind.ADDRESS: FaultKind.DENIED,
    NetKind.TLS: FaultKind.DENIED,
    NetKind.UNREACHABLE: FaultKind.UNAVAILABLE,
    NetKind.TIMEOUT: FaultKind.TIMEOUT,
    NetKind.DISCONNECTED: FaultKind.DISCONNECTED,
    NetKind.TOO_LARGE: FaultKind.TOO_LARGE,
    NetKind.MALFORMED: FaultKind.MALFORMED,
}
_MAYBE = frozenset((408, 409, 425, 499))
"""Refusals that do not say that nothing was done."""


class Web:
    """What all requests to one server share. `base` is its URL; headers and credential go to that origin and nowhere else."""

    def __init__(self, endpoint: HttpEndpoint, client: Client | None, limits: SessionLimits, connect: float) -> None:
        self.allowed: AddressRules = rules(endpoint.hosts)
        self._endpoint = endpoint
        self._limits = limits
        self._timeouts = Timeouts(connect=connect, first=_AGES, idle=_AGES)
        self._secrets = [value for value in endpoint.headers.values() if isinstance(value, Secret)]
        self._seen: set[str] = set()
        self._redact = Redactor(self._secrets)
        self._targets: dict[tuple[str, str, bool, bool], Target] = {}
        try:
            self.base = Place.of(endpoint.url, self.allowed)
        except NetError as problem:
            raise McpError(FaultKind.DENIED, problem.message) from None
        self._own = client is None
        self._client = client or Client(self.allowed)

    async def ask(
        self,
        method: str,
        body: bytes | None,
        headers: Sequence[str],
        deadline: float,
        *,
        place: Place | None = None,
        endless: bool = False,
        resend: bool = False,
        exchange: Exchange | None = None,
    ) -> Response:
        """Send a request and give its answer, whatever its status but 401 and 403. The caller closes it. `deadline` in seconds.

        `resend`: seeing it twice does no harm (a connection may be closed just as it is used again); `exchange` hears when it goes out,
        and of the time that a credential takes.

        A request that was answered 401 or 403 was not carried out: it goes out again as long as the authorizer has something new (it
        ends that itself; a first token, a nonce and further scopes are three). A redirect within the server's origin that keeps the
        method is followed, for the same reason. Raises `McpError`.
        """
        place = place or self.base
        challenged = 0
        for _ in range(_HOPS + 1):
            with _held(exchange):
                given = await self._credential(method, deadline)
            lines = [*headers, *_lines(given)]
            try:
                where = self._target(method, place, endless, resend)
                going_out = None if exchange is None else exchange.going_out
                response = await self._client.send(where, () if body is None else (body,), lines, going_out=going_out)
            except NetError as problem:
                message = f"{self.base.origin}: {problem.message}" if self.base.origin not in problem.message else problem.message
                raise McpError(_KINDS[problem.kind], self.clean(message), sent=problem.sent) from None
            if response.status in (401, 403):
                with _held(exchange):
                    anew = challenged < _HOPS and await self._challenge(response, given, deadline)
                if not anew:
                    raise await self.refusal(response)
                challenged += 1
            elif response.status in (307, 308) or (response.status in (301, 302) and method == "GET"):
                place = self._redirected(place, response)
            else:
                return response
        raise McpError(FaultKind.DENIED, f"{self.base.origin} redirects in a circle")

    async def close(self) -> None:
        """Close the connections, where they are this side's own."""
        if self._own:
            await self._client.close()

    def clean(self, text: str) -> str:
        """The text without any credential that was sent."""
        return self._redact(self._client.redact(text))

    async def excerpt(self, response: Response) -> str:
        """The beginning of an answer, to be quoted; empty when nothing of it can be had."""
        try:
            data = await response.chunk()
        except NetError:
            data = None
        finally:
            response.close()
        text = bounded(self.clean((data or b"")[: 8 * EXCERPT].decode("utf-8", "replace")), EXCERPT)
        return f": the server says «{text}»" if text else ""

    async def refusal(self, response: Response) -> McpError:
        """What a status that is no success means for the request. Closes the response."""
        status = response.status
        after = retry_after(response.header(b"retry-after"), response.header(b"date"))
        quoted = await self.excerpt(response)
        sent = status >= 500 or status in _MAYBE or status == 303
        match status:
            case 401 | 403:
                kind, what = FaultKind.DENIED, "does not accept the credential" if status == 401 else "forbids the request"
            case _ if 300 <= status < 400:
                kind, what = FaultKind.DENIED, "redirects to another place, which is not followed"
            case 408:
                kind, what = FaultKind.TIMEOUT, "gave up waiting for the request"
            case 413:
                kind, what = FaultKind.TOO_LARGE, "does not take a request of this size"
            case _ if status >= 400:
                kind, what = FaultKind.UNAVAILABLE, "refuses the request" if status < 500 else "cannot answer"
            case _:
                kind, what, sent = FaultKind.MALFORMED, "gives an answer that is none", True
        message = f"{self.base.origin} {what} (HTTP {status}){quoted}"
        return McpError(kind, message, sent=sent, status=status, retry_after=after)

    async def _credential(self, method: str, deadline: float) -> Mapping[str, str | Secret]:
        authorizer = self._endpoint.authorizer
        if authorizer is None:
            return {}
        given = await authorizer.headers(deadline, method=method)
        self._remember(given)
        return given

    def _remember(self, given: Mapping[str, str | Secret]) -> None:
        """Mask what the authorizer gives too, with and without its scheme."""
        for name, value in given.items():
            if not isinstance(value, Secret):
                continue
            text = value.reveal()
            for part in (text, text.partition(" ")[2]):
                if part and part not in self._seen:
                    self._seen.add(part)
                    # A rotated token stays masked for a while: an answer may still quote the old one.
                    self._secrets = [*self._secrets[-64:], Secret(name, part)]
                    self._redact = Redactor(self._secrets)

    async def _challenge(self, response: Response, sent: Mapping[str, str | Secret], deadline: float) -> bool:
        authorizer = self._endpoint.authorizer
        if authorizer is None:
            return False
        challenges = [value] if (value := response.header(b"www-authenticate")) else []
        nonce = response.header(b"dpop-nonce")
        try:
            anew = await authorizer.challenged(response.status, challenges, deadline, sent=sent, nonce=nonce)
        except BaseException:
            response.close()
            raise
        if anew:
            response.close(drain=True)
        return anew

    def _redirected(self, place: Place, response: Response) -> Place:
        location = response.header(b"location")
        response.close(drain=True)
        try:
            there = Place.of(urljoin(place.url, location), self.allowed) if location else None
        except (NetError, ValueError):
            there = None
        if there is None or not there.same_origin(self.base):
            message = f"{self.base.origin} redirects to another place, which is not followed (HTTP {response.status})"
            raise McpError(FaultKind.DENIED, message, status=response.status)
        return there

    def _target(self, method: str, place: Place, endless: bool, resend: bool) -> Target:
        key = (method, place.url, endless, resend)
        found = self._targets.get(key)
        if found is None:
            if len(self._targets) > 32:
                self._targets.clear()
            accept = {"accept": "application/json, text/event-stream" if method == "POST" else "text/event-stream"}
            kind = {"content-type": "application/json"} if method == "POST" else {}
            most = _ENDLESS if endless else self._limits.answer
            headers = {**accept, **kind, **_above(self._endpoint.headers, ("accept", "content-type"))}
            try:
                found = target(
                    place.endpoint, place.suffix, headers, method=method, timeouts=self._timeouts, resend=resend, max_bytes=most
                )
            except ValueError as problem:
                raise McpError(FaultKind.DENIED, self.clean(str(problem))) from None
            self._targets[key] = found
        return found


class Place:
    """A URL that may be asked, in two parts as the HTTP client takes it: a slash at its end counts."""

    __slots__ = ("endpoint", "suffix", "url")

    def __init__(self, url: str, endpoint: Endpoint) -> None:
        self.url = url
        self.endpoint = endpoint
        self.suffix = "/" if not endpoint.path or urlsplit(url).path.endswith("/") else ""

    @staticmethod
    def of(url: str, allowed: AddressRules) -> Place:
        """Raises `NetError` for a URL that is not allowed."""
        return Place(url, parse_endpoint(url, allowed))

    @property
    def origin(self) -> str:
        return self.endpoint.origin

    def same_origin(self, other: Place) -> bool:
        """Whether scheme, host and port are equal."""
        return self.origin == other.origin


def retry_after(value: str, date: str) -> float | None:
    """Seconds of a `Retry-After`; one that is a time counts from the answer's own `Date`, since no two clocks agree."""
    if value.isascii() and value.isdigit():
        return float(value) if len(value) < 8 else None
    there, now = _time(value), _time(date)
    return None if there is None or now is None else max(0.0, (there - now).total_seconds())


def _time(text: str) -> datetime | None:
    """A time as HTTP writes it (RFC 9110, 5.6.7). The standard library's reader of it costs 10 ms to import."""
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    day, month, year, hour, minute, second = found.groups()
    try:
        return datetime(int(year), _MONTHS.index(month) + 1, int(day), int(hour), int(minute), min(int(second), 59), tzinfo=UTC)
    except ValueError:
        return None


@contextmanager
def _held(exchange: Exchange | None) -> Iterator[None]:
    """While a credential is waited for, the server's silence does not count."""
    if exchange is None:
        yield
        return
    exchange.hold(1)
    try:
        yield
    finally:
        exchange.hold(-1)


def _above(given: Mapping[str, str | Secret], own: Sequence[str]) -> dict[str, str | Secret]:
    return {name: value for name, value in given.items() if name.lower() not in own}


def _lines(headers: Mapping[str, str | Secret]) -> list[str]:
    try:
        return [header_line(name, value.reveal() if isinstance(value, Secret) else value) for name, value in headers.items()]
    except ValueError as problem:
        raise McpError(FaultKind.DENIED, str(problem)) from None
