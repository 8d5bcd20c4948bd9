"""`std/http`: requests to the hosts that the deployment lets a program ask, over the guarded client (fault kind K42)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

from ael.check.url import names_credential
from ael.natives.text import NotText, media_type, text_in
from ael.natives.world import Functions, World
from ael.net.address import rules
from ael.net.client import Client, header_line
from ael.net.failure import NetError, NetKind
from ael.net.reach import Place, listed_hosts, reach
from ael.net.visit import Ask, Visited, Visitor
from ael.project.bind_http import HttpBinding
from ael.run.ports import CallContext
from ael.types.fault import Failure, Fault, FaultKind
from ael.types.value import Secret

TEMPORARY = frozenset({408, 429, 502, 503, 504})
"""Statuses after which the same request may be answered (RFC 9110, RFC 6585)."""
_SAID = 2_000
"""Characters of an answer that is no success, as an error carries them."""
_HEADERS = 64
_HEADER = 4_096
_LOOSE = frozenset(
    {
        "connection", "keep-alive", "te", "trailer", "upgrade", "expect", "via", "forwarded", "origin", "referer",
        "x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip", "fastly-client-ip",
        "x-http-method-override", "x-http-method", "x-method-override", "x-original-url", "x-rewrite-url", "x-original-host",
    }
)  # fmt: skip
"""Headers that are the client's own, claims about who asks, or another method, path or host than the request's, which would make a
request that only reads one that sends: no program sets them."""
_MEDIA = re.compile(r"[A-Za-z0-9!#$&^_.+/-]{1,130}(;[\x20-\x7e]{1,60})?")


@dataclass
class Sent:
    """Whether a byte of the request may have left."""

    out: bool = False

    def going(self) -> None:
        self.out = True


@dataclass(frozen=True)
class Http:
    """The client of one host, and what the deployment says of it."""

    world: World
    binding: HttpBinding
    visitor: Visitor = field(repr=False)

    async def ask(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, media: str, call: CallContext
    ) -> object:
        """One request, its answer as the record `HttpResponse`. Raises `Failure` and `Fault`, as the tools say."""
        safe = method in ("GET", "HEAD")
        given = self._headers(url, headers)
        given.setdefault("user-agent", self.binding.agent)
        if body is not None:
            if not _MEDIA.fullmatch(media):
                raise not_allowed(url, "`media` is no media type: it is written `application/json`")
            given["content-type"] = media
        if not safe:
            given["idempotency-key"] = call.key
        given["traceparent"] = call.trace_parent
        request = Ask(method, url, given, () if body is None else (body,), follow=safe, max_bytes=self.binding.max_bytes)
        allowed = listed_hosts(self.world.hosts) | reach(self.binding.hosts)
        sent = Sent()
        try:
            found = await self.visitor.visit(
                request,
                allowed,
                deadline=left(self.world, call),
                credentials=lambda place: self._credentials(place, call),
                going_out=sent.going,
            )
        except NetError as problem:
            raise failure_of(problem, url, repeated=method not in ("POST", "PATCH")) from None
        except ValueError as problem:
            raise not_allowed(url, str(problem)) from None
        return self._answer(method, found)

    def _headers(self, url: str, headers: Mapping[str, str]) -> dict[str, str | Secret]:
        """The program's headers. Raises `Failure` for one that is not its to set."""
        found: dict[str, str | Secret] = {}
        for name, value in headers.items():
            low = name.lower()
            if low == "idempotency-key":
                raise not_allowed(url, "`idempotency-key` is the key of the call itself, the same for all its attempts")
            if names_credential(name):
                where = f'`http = client(headers: ["HOST": ["{low[:60]}": secret("NAME")]])`'
                raise not_allowed(url, f"the header `{low[:60]}` is a credential, which is the deployment's to send: {where}")
            if low in _LOOSE or low.startswith(("proxy-", "x-forwarded-", "sec-")):
                raise not_allowed(url, f"the header `{low[:60]}` is not a program's to set")
            if low in found:
                raise not_allowed(url, f"the header `{low[:60]}` is there twice")
            try:
                header_line(low, value)
            except ValueError as problem:
                raise not_allowed(url, str(problem)) from None
            found[low] = value
        return found

    def _credentials(self, place: Place, call: CallContext) -> Mapping[str, Secret]:
        """The headers that the deployment has for this host, and for no other."""
        endpoint = place.endpoint
        own = self.binding.headers.get(f"{endpoint.host}:{endpoint.port}") or self.binding.headers.get(endpoint.host.rstrip("."))
        found: dict[str, Secret] = {}
        for name, (lead, secret) in (own or {}).items():
            value = secret_for(self.world, secret, call, endpoint.host)
            found[name] = Secret(value.name, f"{lead}{value.reveal()}")
        return found

    def _answer(self, method: str, found: Visited) -> object:
        status, url = found.status, found.place.url
        if status >= 400:
            raise self._refused(method, found)
        content = found.headers.get("content-type", "")
        try:
            body = text_in(found.body, content)
        except NotText as problem:
            raise unreadable(method, f"what {found.place.endpoint.origin} answered cannot be read: {problem}") from None
        return {
            "status": status,
            "url": url,
            "headers": shown_headers(found.headers),
            "media": media_type(content),
            "body": body,
        }

    def _refused(self, method: str, found: Visited) -> Failure | Fault:
        """An answer that is no success: the other side's word, or a status of something before it (fault kind K26)."""
        status, origin = found.status, found.place.endpoint.origin
        if method in ("POST", "PATCH"):
            if status == 408 or status >= 500:
                return Fault(
                    FaultKind.DISCONNECTED, f"{origin} answered {status}, which does not say if it took effect", status=status
                )
        elif status in TEMPORARY:
            return unavailable(found, self.world.clock.now())
        return http_status(found)


def natives(world: World) -> Functions:
    """The functions of `std/http`."""
    http = open_http(world)

    def asking(method: str) -> Callable[..., object]:
        async def ask(*, url: str, headers: Mapping[str, str] | None = None, call: CallContext) -> object:
            return await http.ask(method, url, headers or {}, None, "", call)

        return ask

    def sending(method: str) -> Callable[..., object]:
        async def send(*, url: str, body: str, media: str, headers: Mapping[str, str] | None = None, call: CallContext) -> object:
            return await http.ask(method, url, headers or {}, body.encode(), media, call)

        return send

    return {
        "get": asking("GET"),
        "head": asking("HEAD"),
        "delete": asking("DELETE"),
        "put": sending("PUT"),
        "post": sending("POST"),
        "patch": sending("PATCH"),
    }


def open_http(world: World) -> Http:
    """The client, which the host closes at its end."""
    binding = world.bindings.get("http")
    bound = binding if isinstance(binding, HttpBinding) else HttpBinding()
    listed = rules(world.hosts)
    client = Client(listed)
    world.keep(client)
    return Http(world, bound, Visitor(client, listed))


# --- what every native over HTTP says in the same way ------------------------------------------------------------------


def left(world: World, call: CallContext) -> float:
    """Seconds that a call has."""
    return max(0.0, min(call.deadline - world.clock.now(), 600.0))


def secret_for(world: World, name: str, call: CallContext, host: str) -> Secret:
    """The caller's own secret, else the tenant's, else the common one. Raises `Fault` where this machine has none."""
    try:
        return world.secrets.get(name, call.tenant, call.caller)
    except Exception as problem:  # a keyring, a file, a variable: whatever the host's own error is, it names no value
        raise Fault(FaultKind.UNAVAILABLE, f"the credential for `{host}` cannot be had: {problem}", final=True) from None


def not_allowed(url: str, reason: str) -> Failure:
    return Failure("NotAllowed", {"url": url[:4_096], "reason": reason})


def http_status(found: Visited) -> Failure:
    """The declared error for an answer that is no success."""
    try:
        said = text_in(found.body[: 4 * _SAID], found.headers.get("content-type", ""), lenient=True)
    except NotText:
        said = ""
    return Failure("HttpStatus", {"status": found.status, "url": found.place.url, "body": said[:_SAID]})


def unreadable(method: str, message: str) -> Fault:
    """An answer that came, and says nothing: for what may be repeated, that is all; for what may not, its effect is open (K26)."""
    return Fault(FaultKind.DISCONNECTED if method in ("POST", "PATCH") else FaultKind.MALFORMED, message)


def failure_of(problem: NetError, url: str, *, repeated: bool = True) -> Failure | Fault:
    """What a request ended with that got no whole answer. `repeated`: it may be sent twice without harm.

    What was sent and must not be repeated is a lost reply, whatever the reason: the run time makes `Uncertain` of it.
    """
    match problem.kind:
        case NetKind.ADDRESS if repeated or not problem.sent:
            return not_allowed(url, problem.message)
        case NetKind.UNREACHABLE:
            return Fault(FaultKind.UNAVAILABLE, problem.message)
        case NetKind.TLS:
            return Fault(FaultKind.UNAVAILABLE, problem.message, final=True)
        case NetKind.TIMEOUT | NetKind.DISCONNECTED if not problem.sent:
            return Fault(FaultKind.UNAVAILABLE, problem.message)
        case NetKind.TOO_LARGE if repeated:
            return Fault(FaultKind.TOO_LARGE, problem.message)
        case NetKind.MALFORMED if repeated:
            return Fault(FaultKind.MALFORMED, problem.message)
        case NetKind.TIMEOUT:
            return Fault(FaultKind.TIMEOUT, problem.message)
        case _:
            return Fault(FaultKind.DISCONNECTED, problem.message)


def shown_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that a program gets: none that are a credential, bounded in number and size."""
    kept = [
        (name, value) for name, value in headers.items() if "cookie" not in name and len(value) <= _HEADER and len(name) <= 100
    ]
    return {name: "".join(c if c.isprintable() else "�" for c in value) for name, value in kept[:_HEADERS]}


def retry_after(text: str, now: float) -> float | None:
    """Seconds from `now` that the other side asks to wait, at most a day: a number, or a date (RFC 9110, 10.2.3)."""
    if text.isascii() and text.isdigit():
        seconds = float(text[:9])
    else:
        try:
            seconds = parsedate_to_datetime(text[:64]).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return min(max(seconds, 0.0), 86_400.0)


def unavailable(found: Visited, now: float) -> Fault:
    """A status after which the same request may be answered."""
    after = retry_after(found.headers.get("retry-after", ""), now)
    more: dict[str, object] = {} if after is None else {"retry_after": after}
    return Fault(FaultKind.UNAVAILABLE, f"{found.place.endpoint.origin} answered {found.status}", status=found.status, **more)
