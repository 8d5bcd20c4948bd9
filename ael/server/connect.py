"""The Connect protocol's unary JSON (https://connectrpc.com/docs/protocol): `POST /desk.Orders/GetOrder`, for services and nodes.

A caller is authenticated before anything is decoded. What stands in front, and who asks from where, is the guard's (`ael.server.guard`).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from time import monotonic

from ael.net.decompress import decoder_for
from ael.net.failure import NetError, NetKind
from ael.run.ports import Clock
from ael.server.connection import LEFT, WHOLE, Answer, Leaving, answered
from ael.server.dispatch import Dispatch, Incoming, Reply
from ael.server.ending import RETRY_AFTER, fault
from ael.server.guard import Guard, Receive, Refused, Scope, Send, headers_of, preflight
from ael.server.incoming import incoming, one
from ael.server.methods import Method
from ael.server.metrics import Metrics
from ael.server.progress import Stream, Watch, error_event, value_event, wanted
from ael.services.wire import STATUS, code_of, error
from ael.types.fault import FaultKind
from ael.types.problem import DecodeError

_UNUSUAL = frozenset({"origin", "content-encoding"})
"""Headers of requests that are not answered at once."""
_TIMEOUT = re.compile(r"[0-9]{1,10}")
CODES: Mapping[int, str] = {
    401: "unauthenticated",
    403: "permission_denied",
    404: "unimplemented",
    405: "unimplemented",
    408: "deadline_exceeded",
    413: "resource_exhausted",
    415: "unimplemented",
    503: "unavailable",
}
"""Status of a request that is not let in -> code."""


class Connect:
    """Serves the methods. `trusts`: whoever is let in says for which tenant and caller it works (the program's own processes)."""

    def __init__(
        self,
        methods: Mapping[str, Method],
        dispatch: Dispatch,
        guard: Guard,
        clock: Clock,
        metrics: Metrics | None = None,
        *,
        trusts: bool = False,
    ) -> None:
        self._methods = methods
        self._dispatch = dispatch
        self._guard = guard
        self._clock = clock
        self._metrics = metrics
        self._trusts = trusts
        self._quick = frozenset(method for method in methods.values() if dispatch.quick(method))
        """Those that wait for nothing."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        began = monotonic()
        try:
            headers = headers_of(scope)
            self._guard.room(scope)
            send = self._guard.from_where(headers, send)
            if scope["method"] == "OPTIONS" and "origin" in headers:
                await preflight(send)
                return
            request = self._asked(scope, headers)
            request.body = _unpacked(
                headers, await self._guard.body(headers, receive, encodings=("identity", "gzip")), self._guard.listen.body
            )
        except Refused as refused:
            code = CODES.get(refused.status, "invalid_argument")
            if self._metrics is not None:
                self._metrics.refused("connect", refused.status)
            await answered(send, refused.status, error(code, refused.message, _unbegun(refused)), refused.headers)
            return
        method = request.method
        self._guard.exchanges += 1
        try:
            if wanted(headers):
                reply = await self._streamed(method, request, scope, receive, send)
            else:
                reply = await self._followed(request, scope)
                if reply is not None:
                    scope[WHOLE]()
                    await answered(send, *_answer(method, reply))
        finally:
            self._guard.exchanges -= 1
        if self._metrics is not None:
            self._metrics.call("connect", method.path, None if reply is None else reply.ending, monotonic() - began)

    def at_once(self, scope: Scope, body: bytes) -> Answer | None:
        """The answer to a call that nothing has to be waited for; None for every other request, what is refused too."""
        method = self._methods.get(scope["path"])
        if method not in self._quick:
            return None
        began = monotonic()
        headers = headers_of(scope)
        if _UNUSUAL & headers.keys() or wanted(headers) or len(body) > self._guard.listen.body:
            return None
        try:
            self._guard.room(scope)
            self._guard.known_host(headers)
            request = self._asked(scope, headers)
        except Refused:
            return None
        request.body = body
        reply = self._dispatch.at_once(request)
        if reply is None:
            return None
        if self._metrics is not None:
            self._metrics.call("connect", method.path, reply.ending, monotonic() - began)
        return _answer(method, reply)

    def _asked(self, scope: Scope, headers: Mapping[str, list[str]]) -> Incoming:
        """What is called, by whom, without its body. Raises `Refused`."""
        caller = self._guard.who(headers)
        method = self._methods.get(scope["path"])
        if method is None:
            raise Refused(404, "nothing is served by this path")
        if scope["method"] != "POST":
            raise Refused(405, "a method is called with POST", (("allow", "POST"),))
        if headers.get("content-type", [""])[0].partition(";")[0].strip().lower() != "application/json":
            raise Refused(415, "a method is called with `application/json`", (("accept-post", "application/json"),))
        version = one(headers, "connect-protocol-version")
        if version not in (None, "1"):
            raise Refused(400, "`Connect-Protocol-Version` is 1")
        timeout = one(headers, "connect-timeout-ms", _TIMEOUT)
        deadline = None if timeout is None else self._clock.now() + int(timeout) / 1000
        return incoming(headers, caller, method, deadline, trusts=self._trusts)

    async def _streamed(self, method: Method, request: Incoming, scope: Scope, receive: Receive, send: Send) -> Reply | None:
        """Answer in server-sent events. A call that never began, and of which nothing was told, is refused as without them."""
        stream = Stream(scope, send, Watch(self._dispatch.mask, inside=self._trusts))
        request.follower = stream.watch
        reply = await stream.call(asyncio.ensure_future(self._dispatch.call(request)), receive)
        if reply is not None:
            status, body, headers = _answer(method, reply)
            if reply.run is None and not stream.began:
                await answered(send, status, body, headers)
            else:
                await stream.end(value_event(reply, body) if status == 200 else error_event(reply, status, body))
        return reply

    async def _followed(self, request: Incoming, scope: Scope) -> Reply | None:
        """The reply; None when the client went away before it was there, which gives the call up."""
        task = asyncio.current_task()
        assert task is not None
        leaving: Leaving = scope[LEFT]
        try:
            with leaving.cancels(task):
                return await self._dispatch.call(request)
        except asyncio.CancelledError:
            if not leaving.gone:
                raise
            task.uncancel()
            return None


def _answer(method: Method, reply: Reply) -> Answer:
    """A reply as it is answered."""
    headers = [("ael-taint", ",".join(sorted(reply.taint)))]
    if reply.run is not None:
        headers.append(("ael-run", reply.run))
    if reply.attempts is not None:
        headers.append(("ael-attempts", str(reply.attempts)))
    ending = reply.ending
    if ending.get("outcome") == "value":
        try:
            return 200, method.result.write(ending.get("value")), tuple(headers)
        except DecodeError as problem:
            ending = {"outcome": "fault", "kind": FaultKind.MALFORMED.value, "message": problem.text, "details": {}}
    code = code_of(ending)
    details = ending.get("details")
    after = details.get("retry_after") if isinstance(details, Mapping) else None
    if isinstance(after, int | float):
        headers.append(("retry-after", str(max(1, round(after)))))
    return STATUS[code], error(code, sentence(ending), ending), tuple(headers)


class Front:
    """One server, several protocols: a path of a method goes to `connect`, every other to the guard and what is behind it."""

    def __init__(self, guard: Guard, connect: Connect, own: Callable[[str], bool]) -> None:
        """`own`: whether a path is the guard's."""
        self._guard = guard
        self._connect = connect
        self._own = own

    def at_once(self, scope: Scope, body: bytes) -> Answer | None:
        """The answer to a request that nothing has to be waited for; None for every other."""
        return self._connect.at_once(scope, body)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return
        if self._own(scope["path"]):
            await self._guard(scope, receive, send)
            return
        await self._connect(scope, receive, send)


def sentence(ending: Mapping[str, object]) -> str:
    """An ending in words, for clients that know no more."""
    match ending.get("outcome"):
        case "error":
            return f"the call failed with {str(ending.get('error', '')).rpartition('.')[2]}"
        case "uncertain":
            return f"{ending.get('operation')} may or may not have taken effect (key {ending.get('key')}): look before doing it again"
        case _:
            return f"{ending.get('message')}"


def _unbegun(refused: Refused) -> Mapping[str, object] | None:
    """The ending of a call that found no room. The code alone would leave open whether it was done (`ael.services.wire.foreign`)."""
    if refused.status != 503:
        return None
    return fault(FaultKind.UNAVAILABLE, refused.message, retry_after=RETRY_AFTER, began=False)


def _unpacked(headers: Mapping[str, list[str]], body: bytes, most: int) -> bytes:
    """The body without its compression, at most so many bytes of it (K42). Raises `Refused`."""
    try:
        decoder = decoder_for(headers.get("content-encoding", ["identity"])[0].encode("latin-1"))
        if decoder is None:
            return body
        data = decoder.feed(body, most)
    except NetError as problem:
        raise Refused(413 if problem.kind is NetKind.TOO_LARGE else 400, "the body's compression is not taken") from None
    if not decoder.finished:
        raise Refused(400, "the body's compression is not whole")
    return data
