"""What stands between a client and its server, and misbehaves: it loses answers, changes them, or closes before anything goes through."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Mangle = Callable[[bytes], bytes]


@dataclass
class Proxy:
    """`plan`: what happens to the next requests, in order; after them everything goes through. Words: `pass`, `lose` (the server has
    answered, and the connection closes), `refuse` (closed before the request is read), `duplicate` (sent to the server twice)."""

    server: int
    plan: list[str] = field(default_factory=list)
    mangle: Mangle | None = None
    """Changes the whole of each answer."""
    requests: list[bytes] = field(default_factory=list)
    port: int = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request on each connection, which is then closed."""
        try:
            word = self.plan.pop(0) if self.plan else "pass"
            if word == "refuse":
                return
            request = await read_message(reader)
            if not request:
                return
            self.requests.append(request)
            answer = b""
            for _ in range(2 if word == "duplicate" else 1):
                answer = await self._forward(request, reader)
            if word == "lose":
                return
            writer.write(self.mangle(answer) if self.mangle is not None else answer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _forward(self, request: bytes, client: asyncio.StreamReader) -> bytes:
        """The server's answer; the server's connection ends with the client's."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server)
        gone = asyncio.ensure_future(client.read())
        reading = asyncio.ensure_future(read_message(reader))
        try:
            writer.write(request)
            await writer.drain()
            await asyncio.wait({gone, reading}, return_when=asyncio.FIRST_COMPLETED)
            return reading.result() if reading.done() else b""
        finally:
            for task in (gone, reading):
                task.cancel()
            await asyncio.gather(gone, reading, return_exceptions=True)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


async def read_message(reader: asyncio.StreamReader) -> bytes:
    """A request or an answer with a declared length."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as cut:
        return cut.partial
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    return head + await reader.readexactly(length)


def between(proxies: list[Proxy]) -> Callable[[int], contextlib.AbstractAsyncContextManager[int]]:
    """For `Setting.through`: puts a proxy before the server, and adds it to `proxies`."""

    @asynccontextmanager
    async def through(port: int) -> AsyncIterator[int]:
        proxy = Proxy(port)
        proxies.append(proxy)
        server = await asyncio.start_server(proxy.handle, "127.0.0.1", 0)
        proxy.port = server.sockets[0].getsockname()[1]
        try:
            yield proxy.port
        finally:
            server.close()
            await server.wait_closed()

    return through
