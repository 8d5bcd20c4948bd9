"""What stands between a client and a server and injects faults: which one befalls a request is decided by a seed, the request's key and how
often the key came by, so that it does not depend on what runs beside it."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import grpc
from grpc import aio

from tests.load.clients import read_kept
from tests.transports.proxy import read_message

WORDS = (*["pass"] * 11, "delay", "before", "half", "middle", "lose", "lose", "cut", "twice", "late")
"""`before`: reset before the request was read; `half`: half of it goes on, then reset; `middle`: all of it goes on, then reset; `lose`:
reset after the server answered; `cut`: half of the answer, then reset; `twice`: sent to the server twice at once; `late`: sent once more,
when everything else is over; `delay`: a little later."""
_KEY = re.compile(rb"\r\nidempotency-key: ([^\r]+)", re.IGNORECASE)
_SOON = 0.003


@dataclass
class Weather:
    """The faults of one place. `did`: key -> what befell its requests, in order."""

    seed: int
    words: Sequence[str] = WORDS
    did: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    late: list[Any] = field(default_factory=list)

    def word(self, key: str) -> str:
        """What befalls the next request with this key."""
        drawn = hashlib.sha256(f"{self.seed}/{key}/{len(self.did[key])}".encode()).digest()
        word = self.words[int.from_bytes(drawn[:4], "big") % len(self.words)]
        self.did[key].append(word)
        return word

    @property
    def counts(self) -> Counter[str]:
        """How often each fault was injected."""
        return Counter(word for words in self.did.values() for word in words)


class Reset(Exception):
    """The connection of the client is to be reset."""


@dataclass
class Http:
    """A proxy of HTTP/1.1 that keeps connections on both sides."""

    weather: Weather
    server: int
    idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = field(default_factory=list)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The requests of one connection."""
        try:
            while request := await read_message(reader):
                await self._one(request, writer)
        except (Reset, ConnectionError, asyncio.IncompleteReadError):
            writer.transport.abort()
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _one(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        found = _KEY.search(request)
        word = self.weather.word(found[1].decode()) if found is not None else "pass"
        if word == "before":
            raise Reset
        if word in ("half", "middle"):
            await self._abandon(request[: len(request) // 2] if word == "half" else request)
            raise Reset
        if word == "delay":
            await asyncio.sleep(_SOON)
        answers = await asyncio.gather(*(self.forward(request) for _ in range(2 if word == "twice" else 1)))
        if word == "late":
            self.weather.late.append(request)
        if word == "lose":
            raise Reset
        writer.write(answers[0][: len(answers[0]) // 2] if word == "cut" else answers[0])
        await writer.drain()
        if word == "cut":
            raise Reset

    async def _abandon(self, data: bytes) -> None:
        """Send to the server, and reset the connection."""
        _, writer = await asyncio.open_connection("127.0.0.1", self.server)
        writer.write(data)
        await asyncio.sleep(_SOON)
        writer.transport.abort()

    async def forward(self, request: bytes) -> bytes:
        """The server's answer, on a kept connection; on a new one where that was closed before."""
        while True:
            fresh = not self.idle
            reader, writer = await asyncio.open_connection("127.0.0.1", self.server) if fresh else self.idle.pop()
            try:
                writer.write(request)
                reply = await read_kept(reader)
            except (ConnectionError, asyncio.IncompleteReadError):
                writer.close()
                if fresh:
                    raise
                continue
            self.idle.append((reader, writer))
            lines = [f"HTTP/1.1 {reply.status} X", *(f"{name}: {value}" for name, value in reply.headers.items())]
            return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + reply.body

    async def repeat_late(self) -> None:
        """Send what comes late."""
        for request in self.weather.late:
            await self.forward(request)

    async def close(self) -> None:
        """Close what is kept."""
        for _, writer in self.idle:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


@asynccontextmanager
async def http(weather: Weather, server: int) -> AsyncIterator[tuple[Http, int]]:
    """A proxy before a server of HTTP, and its port."""
    proxy = Http(weather, server)
    listening = await asyncio.start_server(proxy.handle, "127.0.0.1", 0)
    try:
        yield proxy, listening.sockets[0].getsockname()[1]
    finally:
        listening.close()
        await listening.wait_closed()
        await proxy.close()


class Grpc(grpc.GenericRpcHandler):  # type: ignore[misc]
    """A proxy of unary calls of gRPC. Its resets are those of streams: `UNAVAILABLE`, and nothing that the server said."""

    def __init__(self, weather: Weather, channel: aio.Channel) -> None:
        self._weather = weather
        self._channel = channel

    def service(self, handler_call_details: Any) -> Any:
        """The handler of every method."""
        forward = self._channel.unary_unary(handler_call_details.method, request_serializer=None, response_deserializer=None)

        async def one(request: bytes, context: Any) -> bytes:
            metadata = tuple((name, value) for name, value in context.invocation_metadata() if name != "user-agent")
            return await self._one(forward, request, metadata, context)

        return grpc.unary_unary_rpc_method_handler(one)

    async def _one(self, forward: Any, request: bytes, metadata: Any, context: Any) -> bytes:
        word = self._weather.word(str(dict(metadata).get("idempotency-key")))
        left = context.time_remaining()
        if word in ("before", "half"):
            await context.abort(grpc.StatusCode.UNAVAILABLE, "reset")
        if word == "middle":
            call = forward(request, metadata=metadata, timeout=left)
            await asyncio.sleep(_SOON)
            call.cancel()
            await context.abort(grpc.StatusCode.UNAVAILABLE, "reset")
        if word == "delay":
            await asyncio.sleep(_SOON)
        calls = [forward(request, metadata=metadata, timeout=left) for _ in range(2 if word == "twice" else 1)]
        if word == "late":
            self._weather.late.append((forward, request, metadata))
        ends = await asyncio.gather(*(self._end(call) for call in calls))
        if word in ("lose", "cut"):
            await context.abort(grpc.StatusCode.UNAVAILABLE, "reset")
        answer, error, trailers = ends[0]
        if error is not None:
            await context.abort(error.code(), error.details() or "", trailers)
        context.set_trailing_metadata(trailers)
        return bytes(answer)

    async def _end(self, call: Any) -> tuple[bytes, Any, Any]:
        try:
            return await call, None, tuple(await call.trailing_metadata())
        except aio.AioRpcError as error:
            return b"", error, tuple(error.trailing_metadata() or ())

    async def repeat_late(self) -> None:
        """Send what comes late."""
        for forward, request, metadata in self._weather.late:
            await self._end(forward(request, metadata=metadata, timeout=60))


@asynccontextmanager
async def rpc(weather: Weather, server: int) -> AsyncIterator[tuple[Grpc, int]]:
    """A proxy before a server of gRPC, and its port."""
    async with aio.insecure_channel(f"127.0.0.1:{server}", options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        proxy = Grpc(weather, channel)
        listening = aio.server(options=[("grpc.so_reuseport", 0)])
        listening.add_generic_rpc_handlers((proxy,))
        port = listening.add_insecure_port("127.0.0.1:0")
        await listening.start()
        try:
            yield proxy, port
        finally:
            await listening.stop(None)
