"""Streamable HTTP, the transport over the network of both eras.

Each request is a POST of its own, read by the task that waits for it; its answer is JSON, or a stream of events that ends with it. A
stream that breaks is taken up again where the server gave its events ids. Nothing is sent a second time here, except what a status says
was not carried out.
"""

from __future__ import annotations

import asyncio
import contextlib
import re

from ael.mcp.endpoint import HttpEndpoint
from ael.mcp.failure import McpError
from ael.mcp.limits import SessionLimits
from ael.mcp.message import BadMessage, Message, Reply, decode
from ael.mcp.transport import Exchange, Receiver, stop
from ael.mcp.version import HEADER_EVENT, HEADER_METHOD, HEADER_SESSION, HEADER_VERSION, METHOD_NOT_FOUND, stateless
from ael.mcp.web import Web
from ael.net.client import Client, header_line
from ael.net.failure import NetError, NetKind
from ael.net.response import Response
from ael.net.sse import EventStream
from ael.types.fault import FaultKind

_SESSION = re.compile(r"[\x21-\x7e]{1,1024}")
_EVENT_ID = re.compile(rb"[\x20-\x7e\x80-\xff]{1,1024}")
_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_GOODBYE = 1.0
_FIRST_WORD = 0.3
_MESSAGE = frozenset((b"", b"message"))


class HttpTransport:
    """The way to a server over streamable HTTP. `session` is the id that it gave, if it did."""

    def __init__(self, endpoint: HttpEndpoint, client: Client | None, limits: SessionLimits, connect: float) -> None:
        self.protocol: str | None = None
        self.session: str | None = None
        self._limits = limits
        self._web = Web(endpoint, client, limits, connect)
        self._receiver: Receiver | None = None
        self._listening: asyncio.Task[None] | None = None
        self._heard = asyncio.Event()

    async def start(self, receiver: Receiver, deadline: float) -> None:
        self._receiver = receiver

    async def send(self, exchange: Exchange) -> None:
        session = self.session
        # In the stateless era a request brings all of its headers itself.
        headers = exchange.headers or self._headers()
        response = await self._web.ask(
            "POST", exchange.body, headers, exchange.left, endless=exchange.stream, resend=exchange.repeat, exchange=exchange
        )
        try:
            if response.status != 200:
                refused = await self._refused(exchange, response, session)
                if refused is not None:
                    raise refused
                return
            if exchange.method == "initialize":
                self._take_session(response)
            kind = response.header(b"content-type").partition(";")[0].strip().lower()
            if kind == "text/event-stream":
                await self._events(exchange, response)
            elif kind == "application/json":
                self._json(exchange, await self._body(response))
            else:
                quoted = await self._web.excerpt(response)
                named = f"`{self._web.clean(kind[:80])}`" if kind.isascii() and kind.isprintable() and kind else "no known type"
                message = f"{self._web.base.origin} answers with {named}, neither JSON nor a stream of events{quoted}"
                raise McpError(FaultKind.MALFORMED, message, sent=True, status=200)
        finally:
            # One that was given up is closed there and then: in the stateless era that is what tells the server.
            response.close(drain=exchange.done)

    async def tell(self, method: str, body: bytes, deadline: float) -> None:
        headers = self._headers()
        if self.protocol is not None and stateless(self.protocol):
            headers.append(header_line(HEADER_METHOD, method))
        response = await self._web.ask("POST", body, headers, deadline, resend=True)
        if response.status >= 300:
            raise await self._web.refusal(response)
        response.close(drain=True)

    async def listen(self) -> None:
        """Keep a stream open on which the server speaks by itself (the older era, servers with sessions).

        What a server says while nobody listens is lost, its questions too: so this waits a moment for the stream to be there.
        """
        self._stop_listening()
        if self.session is not None:
            self._heard.clear()
            self._listening = asyncio.get_running_loop().create_task(self._listen(), name="MCP: what the server says by itself")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_FIRST_WORD):
                    await self._heard.wait()

    def forget(self) -> None:
        """The session is gone."""
        self.session = None
        self.protocol = None
        self._stop_listening()

    def clean(self, text: str) -> str:
        return self._web.clean(text)

    async def close(self) -> None:
        await stop(self._listening)
        if self.session is not None:
            with contextlib.suppress(McpError, NetError, TimeoutError):
                async with asyncio.timeout(_GOODBYE):
                    (await self._web.ask("DELETE", None, self._headers(), _GOODBYE, resend=True)).close(drain=True)
        await self._web.close()

    # --- one answer

    async def _refused(self, exchange: Exchange, response: Response, session: str | None) -> McpError | None:
        """A status other than 200; None: the body had an error in the words of JSON-RPC, which settled the exchange."""
        status = response.status
        reply = await self._error_body(response) if status >= 400 else None
        if reply is not None and reply.id not in (None, exchange.id) and type(reply.id) is int:
            reply = None
        code = None if reply is None or reply.error is None else reply.error.code
        if (
            status == 404
            and session is not None
            and not (code == METHOD_NOT_FOUND and reply is not None and reply.id is not None)
        ):
            message = f"{self._web.base.origin} no longer knows the session (HTTP 404)"
            return McpError(FaultKind.DISCONNECTED, message, status=404)
        if reply is None:
            return await self._web.refusal(response)
        exchange.status = status
        exchange.settle(Reply(exchange.id, None, reply.error), 0)
        return None

    async def _error_body(self, response: Response) -> Reply | None:
        if not response.header(b"content-type").lower().startswith("application/json"):
            return None
        try:
            [reply] = decode(await response.read(), self._limits.message)
        except (BadMessage, NetError, ValueError):
            return None
        return reply if isinstance(reply, Reply) and reply.error is not None else None

    async def _body(self, response: Response) -> bytes:
        try:
            return await response.read()
        except NetError as problem:
            raise self._broken(problem) from None

    def _json(self, exchange: Exchange, body: bytes) -> None:
        try:
            messages = decode(body, self._limits.message)
        except BadMessage as problem:
            raise self._bad(problem) from None
        if len(messages) == 1 and isinstance(reply := messages[0], Reply) and reply.id is None and reply.error is not None:
            # The server could not read the id; here it is known which request it was.
            exchange.settle(reply, len(body))
        self._hand_on(exchange, messages, len(body))
        if not exchange.done:
            message = f"{self._web.base.origin} answers, but not the request that was sent"
            raise McpError(FaultKind.MALFORMED, message, sent=True)

    async def _events(self, exchange: Exchange, response: Response) -> None:
        """The events of an answer up to the reply, over as many streams as the server makes of it."""
        trail = _Trail()
        while True:
            stream = EventStream(response, self._limits.message)
            try:
                problem = await self._read(exchange, stream)
            finally:
                response.close(drain=exchange.done)
            if exchange.done:
                return
            trail.follow(stream)
            response = await self._again(trail, problem)

    async def _again(self, trail: _Trail, problem: NetError | None) -> Response:
        """The stream taken up again behind the last event. Raises `McpError` where that cannot be."""
        resumable = trail.last is not None and self.protocol is not None and not stateless(self.protocol)
        while resumable and trail.failures < self._limits.resumes:
            trail.failures += 1
            await asyncio.sleep(trail.pause)
            try:
                return await self._open(trail.last)
            except McpError as refused:
                resumable = refused.kind in (FaultKind.UNAVAILABLE, FaultKind.DISCONNECTED) and refused.status is None
        if problem is not None:
            raise self._broken(problem)
        message = f"{self._web.base.origin} ended its answer before it was whole"
        raise McpError(FaultKind.DISCONNECTED, message, sent=True)

    async def _read(self, exchange: Exchange, stream: EventStream) -> NetError | None:
        """Events until the exchange is settled, the stream ends (None), or it breaks."""
        while not exchange.done:
            try:
                batch = await stream.batch()
            except NetError as problem:
                return problem
            if batch is None:
                return None
            for event in batch:
                if event.data and event.name in _MESSAGE:
                    try:
                        self._deliver(exchange, event.data)
                    except BadMessage as problem:
                        if problem.reply:
                            raise self._bad(problem) from None
                        assert self._receiver is not None
                        self._receiver.bad(problem)
        return None

    def _deliver(self, exchange: Exchange | None, data: bytes) -> None:
        """Hand what came on to the session. Raises `BadMessage`."""
        self._hand_on(exchange, decode(data, self._limits.message), len(data))

    def _hand_on(self, exchange: Exchange | None, messages: list[Message], size: int) -> None:
        assert self._receiver is not None
        for message in messages:
            if exchange is None:
                self._receiver.message(message, size)
                continue
            exchange.reading = True
            self._receiver.message(message, size)
            exchange.reading = False

    # --- what the server says by itself

    async def _listen(self) -> None:
        trail = _Trail()
        while trail.failures <= self._limits.resumes:
            try:
                try:
                    response = await self._open(trail.last)
                finally:
                    self._heard.set()
            except McpError as refused:
                if refused.status is not None:
                    # Not offered (405), or the session is gone: the next request finds out.
                    return
                trail.failures += 1
            else:
                stream = EventStream(response, self._limits.message)
                try:
                    await self._hear(stream)
                finally:
                    response.close()
                trail.follow(stream)
            await asyncio.sleep(trail.pause)

    async def _hear(self, stream: EventStream) -> None:
        while True:
            try:
                batch = await stream.batch()
            except NetError:
                return
            if batch is None:
                return
            for event in batch:
                if event.data and event.name in _MESSAGE:
                    try:
                        self._deliver(None, event.data)
                    except BadMessage as problem:
                        assert self._receiver is not None
                        self._receiver.note(f"what the server said by itself was not understood: {problem.text}")

    async def _open(self, last: bytes | None) -> Response:
        headers = self._headers()
        if last is not None:
            headers.append(header_line(HEADER_EVENT, last.decode("latin-1")))
        response = await self._web.ask("GET", None, headers, _LONGEST_PAUSE, endless=True, resend=True)
        kind = response.header(b"content-type").partition(";")[0].strip().lower()
        if response.status != 200 or kind != "text/event-stream":
            raise await self._web.refusal(response)
        return response

    def _stop_listening(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            self._listening = None

    # --- small things

    def _headers(self) -> list[str]:
        lines = []
        if self.session is not None:
            lines.append(header_line(HEADER_SESSION, self.session))
        if self.protocol is not None:
            lines.append(header_line(HEADER_VERSION, self.protocol))
        return lines

    def _take_session(self, response: Response) -> None:
        given = response.header(HEADER_SESSION.lower().encode())
        if given and not _SESSION.fullmatch(given):
            message = f"{self._web.base.origin} gives a session an id that no header can carry"
            raise McpError(FaultKind.MALFORMED, message, sent=True)
        self.session = given or None

    def _broken(self, problem: NetError) -> McpError:
        kinds = {
            NetKind.TOO_LARGE: FaultKind.TOO_LARGE,
            NetKind.MALFORMED: FaultKind.MALFORMED,
            NetKind.TIMEOUT: FaultKind.TIMEOUT,
        }
        message = self._web.clean(f"{self._web.base.origin}: {problem.message}")
        return McpError(kinds.get(problem.kind, FaultKind.DISCONNECTED), message, sent=True)

    def _bad(self, problem: BadMessage) -> McpError:
        kind = FaultKind.TOO_LARGE if problem.too_large else FaultKind.MALFORMED
        return McpError(kind, self._web.clean(f"{self._web.base.origin}: {problem.text}"), sent=True)


class _Trail:
    """How far a stream came, and how to take it up again."""

    def __init__(self) -> None:
        self.last: bytes | None = None
        self.pause = _PAUSE
        self.failures = 0

    def follow(self, stream: EventStream) -> None:
        """The stream ended; a new event on it is progress."""
        if stream.retry is not None:
            self.pause = min(stream.retry / 1000, _LONGEST_PAUSE)
        if stream.last_id is not None and stream.last_id != self.last and _EVENT_ID.fullmatch(stream.last_id):
            self.last = stream.last_id
            self.failures = 0
        else:
            self.failures += 1
