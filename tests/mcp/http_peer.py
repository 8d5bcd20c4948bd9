"""A real HTTP server on the loopback address whose answers are written by a function, piece by piece."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Asked:
    """A request as it came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def message(self) -> dict[str, object]:
        """The body as JSON."""
        value = json.loads(self.body)
        assert isinstance(value, dict)
        return value


class Out:
    """Where an answer is written to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self.begun = False
        self.keep = True

    async def reply(self, status: int = 200, body: object = b"", kind: str = "application/json", **headers: str) -> None:
        """A whole answer; what is not bytes is sent as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        told = {"content-type": kind, "content-length": str(len(data)), **named}
        if status == 204:
            told = named
        await self._head(status, told)
        self.writer.write(data)
        await self.writer.drain()

    async def stream(self, **headers: str) -> None:
        """Begin a stream of events, which ends with the connection."""
        self.keep = False
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        await self._head(200, {"content-type": "text/event-stream", "connection": "close", **named})

    async def event(self, data: object, *, name: str = "", id: str = "", retry: int | None = None) -> None:
        """One event; what is not text is sent as JSON."""
        text = data if isinstance(data, str) else json.dumps(data)
        lines = [f"event: {name}"] * bool(name) + [f"id: {id}"] * bool(id) + [f"retry: {retry}"] * (retry is not None)
        self.writer.write(("\n".join([*lines, f"data: {text}"]) + "\n\n").encode())
        await self.writer.drain()

    async def raw(self, data: bytes) -> None:
        """Bytes as they are."""
        self.begun = True
        self.writer.write(data)
        await self.writer.drain()

    def cut(self) -> None:
        """Reset the connection."""
        self.begun, self.keep = True, False
        self.writer.transport.abort()

    async def gone(self) -> None:
        """Until the client goes away."""
        self.keep = False
        await self._reader.read()

    async def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self.begun = True
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.writer.write(f"HTTP/1.1 {status} Status\r\n{lines}\r\n".encode("latin-1"))
        await self.writer.drain()


Respond = Callable[[Asked, Out], Awaitable[None]]


class HttpPeer:
    """`async with HttpPeer(respond) as peer:`; `asked` is all that came in, `open` how many connections there are."""

    def __init__(self, respond: Respond) -> None:
        self.respond = respond
        self.asked: list[Asked] = []
        self.open = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> HttpPeer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def methods(self) -> list[str]:
        """The JSON-RPC methods that were asked for, and the HTTP methods of what was no POST."""
        return [str(asked.message.get("method", "reply")) if asked.method == "POST" else asked.method for asked in self.asked]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.open += 1
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.open -= 1
            self._tasks.discard(task)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        asked = Asked(method, path, headers, body)
        self.asked.append(asked)
        out = Out(reader, writer)
        await self.respond(asked, out)
        if not out.begun:
            await out.reply(500)
        return out.keep
