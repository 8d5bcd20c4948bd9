"""A small real HTTP server on the loopback address, for tests: it answers as it is told, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

CLOSE = "close"
"""A piece that closes the connection there and then."""

Piece = bytes | float | str


@dataclass(frozen=True)
class Asked:
    """A request as it came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    connection: int


@dataclass(frozen=True)
class Answer:
    """An answer: pieces are bytes to send, seconds to wait, or `CLOSE`. `raw`: the pieces are the whole answer, head and all."""

    pieces: Sequence[Piece] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    chunked: bool = False
    keep: bool = True
    raw: bool = False


def whole(body: bytes, kind: str = "application/json", status: int = 200, **headers: str) -> Answer:
    """An answer with its length told."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer((body,), status, {"content-type": kind, "content-length": str(len(body)), **named})


def repeated(times: int, *pieces: Piece) -> list[Piece]:
    """Pieces, over and over."""
    return list(pieces) * times


def stream(*events: Piece, keep: bool = True) -> Answer:
    """Server-sent events, chunked."""
    return Answer(events, 200, {"content-type": "text/event-stream"}, chunked=True, keep=keep)


class Loopback:
    """`async with Loopback(handler) as server:`; the handler gets each request and gives its answer. `closed` counts ended
    connections.
    """

    def __init__(self, handler: Callable[[Asked], Answer], tls: ssl.SSLContext | None = None) -> None:
        self.handler = handler
        self.tls = tls
        self.asked: list[Asked] = []
        self.connections = 0
        self.closed = 0
        self.broken = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Loopback:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=2048, ssl=self.tls)
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
        return f"http://127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        number = self.connections
        try:
            while await self._one(reader, writer, number):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            self.broken.set()
        except asyncio.CancelledError:
            pass
        finally:
            self.closed += 1
            self._tasks.discard(task)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        asked = Asked(method, path, headers, body, number)
        self.asked.append(asked)
        answer = self.handler(asked)
        if not answer.raw:
            told = dict(answer.headers)
            if answer.chunked:
                told["transfer-encoding"] = "chunked"
            if not answer.keep:
                told["connection"] = "close"
            text = "".join(f"{name}: {value}\r\n" for name, value in told.items())
            writer.write(f"HTTP/1.1 {answer.status} Status\r\n{text}\r\n".encode("latin-1"))
        for piece in answer.pieces:
            if isinstance(piece, bytes):
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if answer.chunked else piece)
                await writer.drain()
            elif isinstance(piece, float | int):
                # Watch for the client going away while nothing is sent.
                try:
                    await asyncio.wait_for(reader.read(1), piece)
                except TimeoutError:
                    continue
                self.broken.set()
                return False
            else:
                return False
        if answer.chunked:
            writer.write(b"0\r\n\r\n")
        await writer.drain()
        return answer.keep
