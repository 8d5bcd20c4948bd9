"""The older pair over HTTP (revision 2024-11-05): one stream on which everything comes in, and an address for what goes out."""

from __future__ import annotations

import asyncio
from urllib.parse import urljoin

from ael.mcp.endpoint import HttpEndpoint
from ael.mcp.failure import McpError
from ael.mcp.limits import SessionLimits
from ael.mcp.message import BadMessage, decode
from ael.mcp.transport import Exchange, Receiver, stop
from ael.mcp.version import HEADER_VERSION
from ael.mcp.web import Place, Web
from ael.net.client import Client, header_line
from ael.net.failure import NetError
from ael.net.response import Response
from ael.net.sse import EventStream
from ael.types.fault import FaultKind


class SseTransport:
    """The way to a server over a stream of events and a POST address, which it names and which must be of its own origin."""

    def __init__(self, endpoint: HttpEndpoint, client: Client | None, limits: SessionLimits, connect: float) -> None:
        self.protocol: str | None = None
        self._limits = limits
        self._web = Web(endpoint, client, limits, connect)
        self._receiver: Receiver | None = None
        self._there: Place | None = None
        self._named: asyncio.Future[Place] | None = None
        self._reader: asyncio.Task[None] | None = None

    async def start(self, receiver: Receiver, deadline: float) -> None:
        self._receiver = receiver
        response = await self._web.ask("GET", None, (), deadline, endless=True, resend=True)
        kind = response.header(b"content-type").partition(";")[0].strip().lower()
        if response.status != 200 or kind != "text/event-stream":
            raise await self._web.refusal(response)
        loop = asyncio.get_running_loop()
        self._named = loop.create_future()
        self._reader = loop.create_task(self._read(response), name="MCP: the stream of events")
        self._there = await self._named

    async def send(self, exchange: Exchange) -> None:
        await self._post(exchange.body, exchange.left, exchange)

    async def tell(self, method: str, body: bytes, deadline: float) -> None:
        await self._post(body, deadline, None)

    def clean(self, text: str) -> str:
        return self._web.clean(text)

    async def close(self) -> None:
        await stop(self._reader)
        await self._web.close()

    async def _post(self, body: bytes, deadline: float, exchange: Exchange | None) -> None:
        headers = [] if self.protocol is None else [header_line(HEADER_VERSION, self.protocol)]
        repeat = exchange is None or exchange.repeat
        response = await self._web.ask("POST", body, headers, deadline, place=self._there, resend=repeat, exchange=exchange)
        if response.status not in (200, 202, 204):
            raise await self._web.refusal(response)
        response.close(drain=True)

    async def _read(self, response: Response) -> None:
        kind, message = FaultKind.DISCONNECTED, f"{self._web.base.origin} closed the stream of events"
        try:
            stream = EventStream(response, self._limits.message)
            while (batch := await stream.batch()) is not None:
                for event in batch:
                    self._event(event.name, event.data)
        except NetError as problem:
            if problem.received:
                message = self._web.clean(f"{self._web.base.origin}: {problem.message}")
        except McpError as problem:
            kind, message = problem.kind, problem.message
        finally:
            response.close()
            assert self._named is not None
            assert self._receiver is not None
            if not self._named.done():
                self._named.set_exception(McpError(kind, message))
            self._receiver.lost(kind, message)

    def _event(self, name: bytes, data: bytes) -> None:
        assert self._named is not None
        assert self._receiver is not None
        if name == b"endpoint":
            if not self._named.done():
                self._named.set_result(self._place(data))
            return
        if name not in (b"", b"message") or not data:
            return
        try:
            for message in decode(data, self._limits.message):
                self._receiver.message(message, len(data))
        except BadMessage as problem:
            self._receiver.bad(problem)

    def _place(self, data: bytes) -> Place:
        """Where to post to. The credential goes there too, so it must be the same origin."""
        try:
            place = Place.of(urljoin(self._web.base.url, data.decode("ascii").strip()), self._web.allowed)
        except (NetError, ValueError):
            place = None
        if place is None or not place.same_origin(self._web.base):
            raise McpError(FaultKind.DENIED, f"{self._web.base.origin} names an address for requests that is not its own")
        return place
