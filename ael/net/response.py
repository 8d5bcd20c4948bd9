"""The answer to one request, as its bytes arrive."""

from __future__ import annotations

import asyncio
from typing import Protocol

from ael.net.decompress import Decoder, decoder_for
from ael.net.failure import NetError, NetKind

HIGH_WATER = 256 * 1024
"""So many unread bytes stop reading from the socket until they are taken."""


class Wire(Protocol):
    """What a response needs of its connection."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def wait_for(self, seconds: float, what: str) -> None:
        """Fail the exchange unless this is called again (or it ends) within `seconds`."""

    def settle(self, response: Response, drain: bool) -> None:
        """The reader is done with the response before its end: close the connection, or (`drain`) let the end come and reuse
        it.
        """


class Response:
    """Status, headers (lower case names) and body. Belongs to one task; `close` it on every path."""

    __slots__ = (
        *("_by_touch", "_chunks", "_closed", "_collect", "_decoder", "_error", "_first", "_idle", "_paused", "_room", "_size"),
        *("_waiter", "_wire", "complete", "headers", "status"),
    )

    def __init__(self, wire: Wire, max_bytes: int, idle: float, first: float) -> None:
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.complete = False
        self._wire = wire
        self._room = max_bytes
        self._idle = idle
        self._first = first
        self._chunks: list[bytes] = []
        self._size = 0
        self._waiter: asyncio.Future[None] | None = None
        self._error: NetError | None = None
        self._decoder: Decoder | None = None
        self._collect = False
        self._by_touch = False
        self._paused = False
        self._closed = False

    # --- the reader's side

    def header(self, name: bytes) -> str:
        """A header's value as text, empty when absent."""
        return self.headers.get(name, b"").decode("latin-1").strip()

    async def read(self) -> bytes:
        """The whole body. Raises `NetError`."""
        self._collect = True
        if self._paused:
            self._resume()
        while not self.complete and self._error is None:
            await self._wait()
        if self._error is not None:
            raise self._error
        chunks, self._chunks = self._chunks, []
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    async def chunk(self) -> bytes | None:
        """The bytes that have arrived, at least one; None at the end. What arrived before an error comes before it. Raises
        `NetError`.
        """
        while not self._chunks:
            if self._error is not None:
                raise self._error
            if self.complete:
                return None
            await self._wait()
        chunks, self._chunks, self._size = self._chunks, [], 0
        if self._paused:
            self._resume()
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def idle_by_touch(self) -> None:
        """From now on bytes alone do not hold off the idle limit: the reader calls `touch` for those that count.

        Until the first of them the longer limit for an answer to begin holds: a model may think for long behind its headers.
        """
        self._by_touch = True
        if not self.complete:
            self._wire.wait_for(self._first, "no event came")

    def touch(self) -> None:
        """Start the idle limit anew."""
        if not self.complete:
            self._wire.wait_for(self._idle, "nothing more came")

    def close(self, *, drain: bool = False) -> None:
        """The reader wants no more. A connection whose answer is not whole is closed, or with `drain` given a moment to end
        it.
        """
        if not self._closed:
            self._closed = True
            self._chunks = []
            if not self.complete:
                self._wire.settle(self, drain)

    def _resume(self) -> None:
        self._paused = False
        self._wire.resume()

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    # --- the connection's side

    @property
    def waiting(self) -> bool:
        """Whether the reader waits for bytes (it does not while it works on what came)."""
        return self._waiter is not None

    def begin(self, status: int, headers: dict[bytes, bytes]) -> None:
        self.status = status
        self.headers = headers
        self._decoder = decoder_for(headers.get(b"content-encoding", b""))

    def feed(self, data: bytes) -> None:
        """A piece of the body. Raises `NetError` when the body grows over its cap."""
        if self._decoder is not None:
            data = self._decoder.feed(data, self._room)
        self._room -= len(data)
        if self._room < 0:
            raise NetError(NetKind.TOO_LARGE, "the answer is longer than allowed", sent=True, received=True)
        if data:
            self._chunks.append(data)
            self._size += len(data)
            if not self._collect and self._size > HIGH_WATER and not self._paused:
                self._paused = True
                self._wire.pause()
        if not self._by_touch:
            self.touch()

    def flush(self) -> None:
        """Wake the reader, once for all pieces of one arrival."""
        if self._chunks and not self._collect:
            self._wake()

    def end(self) -> None:
        """The body is whole."""
        if self._decoder is not None and not self._decoder.finished and (self._size or self._chunks):
            self.fail(NetError(NetKind.MALFORMED, "the answer's compression ends too early", sent=True, received=True))
            return
        self.complete = True
        if self._paused:
            self._resume()
        self._wake()

    def fail(self, error: NetError) -> None:
        if self._error is None and not self.complete:
            self._error = error
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
