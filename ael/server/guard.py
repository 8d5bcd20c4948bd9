"""What stands before the protocol on HTTP: who asks from where and for whom, how large and how slow a request may be, and is it JSON.

An ASGI application around another. A caller is authenticated before anything is decoded (services.md). The SDK behind it reads JSON
leniently (`NaN`, a key twice), quotes its parser in errors, waits for a body for ever, and lets the second of two requests with one id
take the answer of the first: so a body is read here, within its size and time, strictly, and handed on whole.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, cast

from ael.project.serving import Listen
from ael.run.clock import SystemClock
from ael.run.deadline import Deadline, Expired, Within
from ael.server.caller import Caller, Callers
from ael.server.connection import CROWDED
from ael.types.json import JsonError, read
from ael.types.limits import MAX_DEPTH, Limits

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PATH = "/mcp"
BODY_SECONDS = 20.0
"""How long a whole request body may take to arrive."""
_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600
_CLOCK = SystemClock()
_REALM = 'Bearer realm="ael"'
_LATER = (("connection", "close"), ("retry-after", "1"))
_DEPTH = Limits(depth=MAX_DEPTH)


@dataclass(frozen=True)
class Refused(Exception):
    """A request that is not let in: the status, a sentence, and headers that belong to the status."""

    status: int
    message: str
    headers: tuple[tuple[str, str], ...] = ()
    code: int = _INVALID_REQUEST
    id: str | int | None = None

    def body(self) -> dict[str, object]:
        """The error, as the protocol says it."""
        return {"jsonrpc": "2.0", "id": self.id, "error": {"code": self.code, "message": self.message}}


class Sides(Protocol):
    """What a server tells at paths of its own."""

    def owns(self, path: str) -> bool: ...

    async def serve(self, guard: Guard, headers: Mapping[str, list[str]], scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose host and origin are known."""


@dataclass(eq=False)
class Guard:
    """`callers` empty: whoever reaches this server is `local`. `admit` makes the inner application's scope know the caller.

    `names` are the hosts that the server goes by, lower case, with or without a port. `ready` says whether new calls are taken.
    """

    inner: App
    listen: Listen
    callers: Callers
    local: Caller
    names: frozenset[str]
    admit: Callable[[Scope, Caller], None]
    ready: Callable[[], bool]
    body_seconds: ClassVar[float] = BODY_SECONDS
    exchanges: int = 0
    """Requests with a body that are being answered."""
    closed: bool = False
    """Whether everything has ended, and nothing is let in any more."""
    sides: Sides | None = None
    """What is told at other paths."""
    _open: set[tuple[str, str]] = field(default_factory=set)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return
        # The server below leaves spaces around values, which are no part of them (RFC 9110, section 5.5).
        scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        headers = headers_of(scope)
        try:
            if scope["path"] in ("/healthz", "/readyz"):
                up = scope["path"] == "/healthz" or self.ready()
                await _reply(send, 200 if up else 503, {"status": "ok" if up else "draining"})
                return
            self.room(scope)
            sides = self.sides if self.sides is not None and self.sides.owns(scope["path"]) else None
            if sides is None and scope["path"] != PATH:
                raise Refused(404, f"there is nothing here; the Model Context Protocol is at {PATH}")
            send = self.from_where(headers, send)
            if scope["method"] == "OPTIONS" and "origin" in headers:
                await preflight(send)
                return
            if sides is not None:
                await sides.serve(self, headers, scope, receive, send)
                return
            self.admit(scope, self.who(headers))
            if scope["method"] != "POST":
                await self.inner(scope, receive, send)
                return
            body = await self.body(headers, receive)
        except Refused as refused:
            await _reply(send, refused.status, refused.body(), refused.headers)
            return
        await self._post(scope, body, receive, send)

    def room(self, scope: Scope) -> None:
        """Whether there is room for one more to ask. Raises `Refused` (503): nothing of the request was looked at."""
        if self.closed:
            raise Refused(503, "the server has ended", _LATER)
        if CROWDED in scope:
            raise Refused(503, f"{scope[CROWDED]} connections are open, more than the server takes", _LATER)

    # --- who and from where -------------------------------------------------------------------------------------------

    def from_where(self, headers: Mapping[str, list[str]], send: Send) -> Send:
        """A page in a browser cannot reach a server on this machine under a name of its own (rebinding). Raises `Refused` (403).

        A page from an origin that is known may read the answers: what is sent says so to its browser.
        """
        self.known_host(headers)
        origins = headers.get("origin", [])
        for origin in origins:
            scheme, _, host = origin.lower().partition("://")
            own = scheme in ("http", "https") and _known(host, self.names)
            if not own and origin.lower() not in self.listen.origins:
                raise Refused(403, "requests from that origin are not taken; `listen = http(origins: […])` names those that are")
        return _readable(send, origins[0]) if len(origins) == 1 else send

    def known_host(self, headers: Mapping[str, list[str]]) -> None:
        """Whether the server goes by the host that is asked. Raises `Refused` (403)."""
        hosts = headers.get("host", [])
        if len(hosts) != 1 or not _known(hosts[0].lower(), self.names):
            raise Refused(403, "this server does not go by that host; `listen = http(hosts: […])` names those that it does")

    def who(self, headers: Mapping[str, list[str]]) -> Caller:
        """Who asks. Raises `Refused` (401) for nobody who is known."""
        return self.known(self.callers, headers) if self.callers else self.local

    def known(self, callers: Callers, headers: Mapping[str, list[str]]) -> Caller:
        """Which of them asks. Raises `Refused` (401) for none."""
        given = headers.get("authorization", [])
        if len(given) == 0:
            raise Refused(401, "say who you are: `Authorization: Bearer TOKEN`", (("www-authenticate", _REALM),))
        caller = callers.of(given[0]) if len(given) == 1 else None
        if caller is None:
            said = f'{_REALM}, error="invalid_token"'
            raise Refused(401, "this token is nobody's", (("www-authenticate", said),))
        return caller

    # --- the body -----------------------------------------------------------------------------------------------------

    async def body(
        self, headers: Mapping[str, list[str]], receive: Receive, *, encodings: tuple[str, ...] = ("identity",)
    ) -> bytes:
        """The body as it came, whole, within its size and its time; `encodings` are those that are taken. Raises `Refused`."""
        limit = self.listen.body
        close = (("connection", "close"),)
        if headers.get("content-encoding", ["identity"]) not in [[one] for one in encodings]:
            said = (
                "a request body is not compressed" if len(encodings) == 1 else f"a request body is one of {', '.join(encodings)}"
            )
            raise Refused(415, said, close)
        kind = headers.get("content-type", [""])[0].partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refused(415, "a request body is `application/json`", close)
        declared = headers.get("content-length", [""])[0]
        if declared.isdecimal() and int(declared) > limit:
            raise Refused(413, f"a request has at most {limit:,} bytes", close)
        try:
            within = Deadline(_CLOCK, self.body_seconds, "the body")
            return cast("bytes", await Within(self._whole(receive), within))
        except Expired:
            raise Refused(408, f"the request's body did not come within {self.body_seconds:g} s", close) from None

    async def _whole(self, receive: Receive) -> bytes:
        """All of a body. Raises `Refused`."""
        close = (("connection", "close"),)
        parts: list[bytes] = []
        size = 0
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                raise Refused(400, "the request ended before its body", close)
            part = message.get("body", b"")
            parts.append(part)
            size += len(part)
            if size > self.listen.body:
                raise Refused(413, f"a request has at most {self.listen.body:,} bytes", close)
            more = message.get("more_body", False)
        return b"".join(parts)

    async def _post(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        try:
            message = strict(body, self.listen.body)
        except Refused as refused:
            await _reply(send, refused.status, refused.body())
            return
        key = _key(scope, message)
        if key is not None and key in self._open:
            same = Refused(400, "a request with this id is still open", id=identity(message))
            await _reply(send, same.status, same.body())
            return
        if key is not None:
            self._open.add(key)
        # The SDK compares this one letter by letter.
        scope["headers"] = [(n, b"application/json" if n.lower() == b"content-type" else v) for n, v in scope["headers"]]
        exchange = Exchange(body, receive, send)
        scope[EXCHANGE] = exchange
        self.exchanges += 1
        try:
            await self.inner(scope, exchange.receive, exchange.send)
        finally:
            self.exchanges -= 1
            if key is not None:
                self._open.discard(key)
            exchange.over()


EXCHANGE = "ael.exchange"
"""Key of an ASGI scope: the `Exchange` of this request."""


class Exchange:
    """One request and its answer."""

    def __init__(self, body: bytes, receive: Receive, send: Send) -> None:
        self._body: bytes | None = body
        self._receive = receive
        self._send = send
        self.complete = False
        self.left = False
        """Whether the client went before it had the whole answer."""
        self._on_left: Callable[[], None] | None = None

    async def receive(self) -> Message:
        """The body at once, then what the client does: nothing but leave."""
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        message = await self._receive()
        if message["type"] == "http.disconnect":
            # Told before the SDK hears of it: what it cancels then was not cancelled by the client.
            self._leave()
        return message

    def tell(self, on_left: Callable[[], None]) -> None:
        """Have `on_left` called when the client goes before it has the whole answer."""
        self._on_left = on_left
        if self.left:
            on_left()

    def _leave(self) -> None:
        if self.complete or self.left:
            return
        self.left = True
        if self._on_left is not None:
            self._on_left()

    async def send(self, message: Message) -> None:
        """Pass a part of the answer on."""
        await self._send(message)
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self.complete = True

    def over(self) -> None:
        """The exchange has ended, one way or another."""
        self._leave()


def strict(body: bytes, limit: int) -> dict[str, Any]:
    """The one message of a body. Raises `Refused`."""
    try:
        message = read(body, _DEPTH, max_bytes=limit)
    except JsonError as error:
        raise Refused(400, f"no JSON that is taken: {error.message}", code=_PARSE_ERROR) from None
    if not isinstance(message, dict):
        raise Refused(400, "a body is one message; batches are not taken")
    wrong = _misshapen(message)
    if wrong is not None:
        raise Refused(400, f"no message of JSON-RPC 2.0: {wrong}", id=identity(message))
    return message


def _misshapen(message: Mapping[str, Any]) -> str | None:
    """What keeps an object from being a request, a notification or a response."""
    if message.get("jsonrpc") != "2.0":
        return '`jsonrpc` is "2.0"'
    if "id" in message and identity(message) is None:
        return "`id` is a text or a whole number"
    if "method" in message:
        if not isinstance(message["method"], str):
            return "`method` is a text"
        return None if isinstance(message.get("params", {}), dict) else "`params` is an object"
    if "id" not in message:
        return "it has neither a `method` nor an `id`"
    if ("result" in message) == ("error" in message):
        return "it has a `method`, a `result` or an `error`"
    return None if isinstance(message.get("result", message.get("error")), dict) else "`result` and `error` are objects"


def identity(message: Mapping[str, Any]) -> str | int | None:
    """The id of a message, where it has one that is valid."""
    found = message.get("id")
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def _key(scope: Scope, message: Mapping[str, Any]) -> tuple[str, str] | None:
    """Of a request within a session of the older protocol: what no other open request may have."""
    session = headers_of(scope).get("mcp-session-id", [""])[0]
    given = identity(message)
    return (session, str(given)) if session and "method" in message and given is not None else None


def _known(host: str, names: frozenset[str]) -> bool:
    """Whether a host, which may carry a port, is one of the names; a name without a port stands for every port."""
    if host in names:
        return True
    bare, colon, port = host.rpartition(":")
    return bool(colon) and port.isdecimal() and bare in names


def headers_of(scope: Scope) -> dict[str, list[str]]:
    """The headers of a request, by lower case name.

    The server below leaves spaces around values, which are no part of them (RFC 9110, section 5.5).
    """
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1").strip(" \t"))
    return found


_PREFLIGHT = (
    ("access-control-allow-methods", "GET, POST, DELETE"),
    ("access-control-allow-headers", "*, Authorization"),
    ("access-control-max-age", "600"),
)


def _readable(send: Send, origin: str) -> Send:
    """Let the page of an origin read what is sent, and the session in its headers."""
    own = [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", b"Mcp-Session-Id"),
        (b"vary", b"Origin"),
    ]

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *own]}
        await send(message)

    return sending


async def preflight(send: Send) -> None:
    """Tell the browser of a page whose origin is known that it may ask."""
    await send({"type": "http.response.start", "status": 204, "headers": [(k.encode(), v.encode()) for k, v in _PREFLIGHT]})
    await send({"type": "http.response.body", "body": b""})


async def _reply(send: Send, status: int, body: Mapping[str, object], headers: tuple[tuple[str, str], ...] = ()) -> None:
    data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
    own = [("content-type", "application/json"), ("content-length", str(len(data))), ("cache-control", "no-store"), *headers]
    await send({"type": "http.response.start", "status": status, "headers": [(k.encode(), v.encode("latin-1")) for k, v in own]})
    await send({"type": "http.response.body", "body": data})
