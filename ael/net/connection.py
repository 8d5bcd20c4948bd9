"""One connection: HTTP/1.1, one request at a time. The parsing is httptools' (llhttp, strict); see docs/decisions/http.md."""

from __future__ import annotations

import asyncio
import select
import sys
from collections.abc import Sequence
from typing import Protocol

from httptools import HttpParserError, HttpResponseParser

from ael.net.failure import NetError, NetKind
from ael.net.response import Response

MAX_HEAD_BYTES = 64 * 1024
"""A longer status line and headers are refused."""
DRAIN_BYTES = 64 * 1024
DRAIN_SECONDS = 2.0
"""How much of an answer that nobody reads any more is waited for, so that the connection can be used again."""


class Owner(Protocol):
    """What keeps connections."""

    def idle(self, connection: Connection) -> None:
        """The connection can take the next request."""

    def gone(self, connection: Connection) -> None:
        """The connection is closed."""


class Connection(asyncio.Protocol):
    """A connection and the exchange under way on it."""

    __slots__ = (
        "_body_seen",
        "_deadline",
        "_drain",
        "_due",
        "_framed",
        "_head",
        "_head_waiter",
        "_headers",
        "_loop",
        "_owner",
        "_parser",
        "_response",
        "_timer",
        "_timer_at",
        "_transport",
        "_what",
        "answered",
        "closed",
        "idle_since",
        "key",
        "used",
    )  # fmt: skip

    def __init__(self, loop: asyncio.AbstractEventLoop, owner: Owner, key: object) -> None:
        self.key = key
        self.used = False
        self.closed = False
        self.answered = False
        self.idle_since = 0.0
        self._loop = loop
        self._owner = owner
        self._parser: HttpResponseParser | None = HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._response: Response | None = None
        self._head_waiter: asyncio.Future[None] | None = None
        self._headers: dict[bytes, bytes] = {}
        self._head = 0
        self._framed = False
        self._body_seen = 0
        self._drain = -1
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._due = 0.0
        self._deadline = 0.0
        self._what = ""

    # --- the exchange

    async def exchange(self, head: bytes, body: Sequence[bytes], response: Response, first: float, deadline: float) -> None:
        """Send a request and wait until the answer's headers are here. `first` in seconds; `deadline` in the loop's time.

        Raises `NetError`. When cancelled the connection is closed.
        """
        assert self._transport is not None
        self._response = response
        self.answered = False
        self._headers, self._head, self._framed, self._body_seen, self._drain = {}, 0, False, 0, -1
        self._deadline = deadline
        self.wait_for(first, "no answer came")
        self._head_waiter = waiter = self._loop.create_future()
        # One write: the head and a small body leave in one packet.
        self._transport.write(b"".join((head, *body)))
        try:
            await waiter
        except BaseException:
            if self._response is response:
                self.abort()
            raise
        finally:
            # A short answer may be whole before this task runs again, and the connection in another's hands.
            if self._head_waiter is waiter:
                self._head_waiter = None

    def usable(self) -> bool:
        """Whether the next request may go out on this connection."""
        return not self.closed and self._transport is not None and not self._transport.is_closing()

    def silent(self) -> bool:
        """Whether nothing has come from the server that the loop has not seen yet: neither its end, nor bytes that nobody asked for."""
        assert self._transport is not None
        number = self._transport.get_extra_info("socket").fileno()
        if sys.platform == "win32":
            return number >= 0 and not select.select([number], (), (), 0)[0]
        poll = select.poll()
        poll.register(number, select.POLLIN)
        return not poll.poll(0)

    def abort(self) -> None:
        """Close at once, whatever is under way."""
        self._stop_timer()
        if self._transport is not None and not self.closed:
            self._transport.abort()

    # --- what a response asks for

    def pause(self) -> None:
        if self._transport is not None and not self.closed:
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._transport is not None and not self.closed:
            self._transport.resume_reading()

    def wait_for(self, seconds: float, what: str) -> None:
        """One timer serves all limits of an exchange: it is moved only when it would ring too late."""
        self._due = min(self._loop.time() + seconds, self._deadline)
        self._what = what
        if self._timer is None or self._timer_at > self._due:
            self._stop_timer()
            self._timer_at = self._due
            self._timer = self._loop.call_at(self._due, self._ring)

    def settle(self, response: Response, drain: bool) -> None:
        if response is not self._response:
            return
        self._response = None
        if not drain or not self.usable() or not self.answered:
            self.abort()
            return
        # Often only the closing bytes are missing: let them come without anybody waiting.
        self._drain = self._body_seen + DRAIN_BYTES
        self.resume()
        self._deadline = self._loop.time() + DRAIN_SECONDS
        self.wait_for(DRAIN_SECONDS, "")

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ring(self) -> None:
        self._timer = None
        now = self._loop.time()
        response = self._response
        if now + 0.001 < self._due or (response is not None and self.answered and not response.waiting and now < self._deadline):
            # Moved meanwhile; or what came is still being worked on, which is not the server's silence.
            self._timer_at = max(self._due, now + 0.05)
            self._timer = self._loop.call_at(self._timer_at, self._ring)
            return
        what = "the deadline passed" if now >= self._deadline else self._what
        self._fail(NetError(NetKind.TIMEOUT, f"{what} in time", sent=True, received=self.answered))

    def _fail(self, error: NetError) -> None:
        waiter, response = self._head_waiter, self._response
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)
        elif response is not None:
            response.fail(error)
        self.abort()

    # --- asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        response = self._response
        if response is None and self._drain < 0:
            # Bytes that nobody asked for: whatever they are, they must not become the next answer.
            self.abort()
            return
        if not self._framed:
            self._head += len(data)
        assert self._parser is not None
        try:
            self._parser.feed_data(data)
        except HttpParserError as problem:
            cause = problem.__context__
            error = cause if isinstance(cause, NetError) else None
            self._fail(error or NetError(NetKind.MALFORMED, "the answer is not HTTP", sent=True, received=True))
            return
        if not self._framed and self._head > MAX_HEAD_BYTES:
            self._fail(NetError(NetKind.TOO_LARGE, "the answer's headers are longer than allowed", sent=True, received=True))
        elif response is not None:
            response.flush()

    def eof_received(self) -> None:
        return None

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        # The parser holds this object's methods: without this only the collector would free the two.
        self._parser = None
        self._stop_timer()
        self._owner.gone(self)
        response, waiter = self._response, self._head_waiter
        if response is None:
            return
        if self.answered and exc is None and self._until_close():
            response.end()
        elif waiter is not None and not waiter.done():
            waiter.set_exception(
                NetError(NetKind.DISCONNECTED, "the server closed the connection", sent=True, received=self._head > 0)
            )
        else:
            response.fail(
                NetError(NetKind.DISCONNECTED, "the server closed the connection within its answer", sent=True, received=True)
            )

    def _until_close(self) -> bool:
        return b"content-length" not in self._headers and b"transfer-encoding" not in self._headers

    # --- httptools' side

    def on_message_begin(self) -> None:
        if self._response is None:
            raise NetError(NetKind.MALFORMED, "the server sent an answer nobody asked for", sent=True, received=True)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._framed:
            # A trailer says nothing about the body that came before it.
            return
        key = name.lower()
        self._headers[key] = self._headers[key] + b", " + value if key in self._headers else value

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status < 200:
            if status == 101:
                raise NetError(NetKind.MALFORMED, "the server changed to a protocol nobody asked for", sent=True, received=True)
            self._headers = {}
            return
        self._framed = True
        self.answered = True
        response = self._response
        if response is None:
            return
        response.begin(status, self._headers)
        response.touch()
        if self._head_waiter is not None and not self._head_waiter.done():
            self._head_waiter.set_result(None)

    def on_body(self, data: bytes) -> None:
        self._body_seen += len(data)
        if self._response is not None:
            self._response.feed(data)
        elif self._body_seen > self._drain:
            self.abort()

    def on_message_complete(self) -> None:
        if not self._framed:
            return
        self._stop_timer()
        if self._response is not None:
            self._response.end()
        self._drain = -1
        assert self._transport is not None
        assert self._parser is not None
        if self._parser.should_keep_alive() and not self._until_close() and self._transport.get_write_buffer_size() == 0:
            self.used = True
            self._response = None
            self._owner.idle(self)
        else:
            self._transport.close()
