"""A connection of the HTTP server with what uvicorn has not: limits of how large and how slow the head of a request may be, a word in the
protocol's own form for those that are too many, a word to whoever answers when the client is gone, and answers that leave in one piece.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

HEAD_SECONDS = 20.0
ABORT = "ael.abort"
"""Key of an ASGI scope: cuts the connection at once, whatever is still to be sent."""
CROWDED = "ael.crowded"
"""Key of an ASGI scope: how many connections are open, where that is more than the server takes."""
WHOLE = "ael.whole"
"""Key of an ASGI scope: says that a head is sent next, and its body right after it."""
LEFT = "ael.left"
"""Key of an ASGI scope: the `Leaving` of its client."""
MAX_HEAD = 64 * 1024
_JSON = (b"content-type", b"application/json")
_NO_STORE = (b"cache-control", b"no-store")
_BEYOND = 2
"""So many times the connections that it takes are there to be told so; more are closed without a word."""


_VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
Headers = tuple[tuple[str, str], ...]
Answer = tuple[int, bytes, Headers]
"""Status, body (JSON), and headers."""


class Connection(HttpToolsProtocol):
    """Closes when a head is not whole in time, or is larger than `MAX_HEAD` bytes. Nothing is answered then: it is no request."""

    head_seconds = HEAD_SECONDS

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # uvicorn would answer in plain text, the health of the server too.
        self._most, self.limit_concurrency = self.limit_concurrency, None
        self._head = 0
        self._timer: asyncio.TimerHandle | None = None
        self._leaving = Leaving()
        self._idle = Idle(self.loop, self.timeout_keep_alive, self.timeout_keep_alive_handler)

        self._heading = False
        self._begun: tuple[RequestResponseCycle, Any] | None = None
        """A request whose head is there, and what serves it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client came: its first head is due."""
        super().connection_made(cast("asyncio.Transport", Joined(transport, self.loop)))
        self._due()
        if self._most is not None and len(self.connections) > _BEYOND * self._most:
            transport.abort()

    def on_message_begin(self) -> None:
        """A request begins, with a scope of its own."""
        super().on_message_begin()
        scope = cast("dict[str, Any]", self.scope)
        scope[ABORT] = self.transport.abort
        scope[WHOLE] = cast("Joined", self.transport).hold
        scope[LEFT] = self._leaving
        if self._most is not None and len(self.connections) > self._most:
            scope[CROWDED] = len(self.connections)

    def data_received(self, data: bytes) -> None:
        """Bytes came; those of a head that is not whole yet are counted."""
        self._idle.end()
        before = cast("RequestResponseCycle | None", self.cycle)
        between = before is None or before.response_complete
        super().data_received(data)
        if self._begun is not None:
            begun, self._begun = self._begun, None
            self._serve(*begun)
        if self.transport.is_closing():
            self._settle()
        elif self.cycle is not before:
            self._settle()
            self._head = 0
        elif between:
            self._head += len(data)
            if self._head > MAX_HEAD:
                self.transport.close()
            elif self._timer is None:
                self._due()

    def on_headers_complete(self) -> None:
        """A head is whole. Its request is served when everything that came with it was read, so that it may be answered at once."""
        self._heading = True
        super().on_headers_complete()
        self._heading = False

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        if self._heading:
            self._begun = (cycle, app)
        else:
            super()._start_asgi_task(cycle, app)

    def _serve(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Answer at once what can be, without a task: it would cost as much as a small call. All else is served in one."""
        data = self._at_once(cycle, app)
        if data is None:
            super()._start_asgi_task(cycle, app)
            return
        cycle.response_started = cycle.response_complete = True
        cast("Joined", self.transport).hold()
        self.transport.write(data)
        if not cycle.keep_alive:
            self.transport.close()
        # What is left behind refers to nothing that refers to it: a server hardly looks for such cycles (`ael.server.garbage`).
        cycle.on_response = _nothing
        self.on_response_complete()

    def _at_once(self, cycle: RequestResponseCycle, app: Any) -> bytes | None:
        """The whole answer to a request that nothing has to be waited for; None for every other, also where the answer failed: then it is
        made anew in a task, which tells of a failure as always, and nothing was done that could be done twice."""
        at_once = getattr(app, "at_once", None)
        if at_once is None or cycle.more_body or self.flow.write_paused or self.transport.is_closing():
            return None
        try:
            answer: Answer | None = at_once(cycle.scope, bytes(cycle.body))
            return None if answer is None else self._written(cycle, *answer)
        except Exception:
            return None

    def _written(self, cycle: RequestResponseCycle, status: int, body: bytes, headers: Headers) -> bytes:
        """An answer as it is sent. Raises `ValueError` for a header that is none."""
        head = [STATUS_LINE[status]]
        for name, value in (*self.server_state.default_headers, *head_of(body, headers)):
            if not _VALUE.fullmatch(value):
                raise ValueError(f"no value of a header: {value!r}")
            head += (name, b": ", value, b"\r\n")
        head.append(b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n")
        return b"".join((*head, body))

    def on_response_complete(self) -> None:
        """An answer is whole, also one without a body. As uvicorn does it, but for a timer for each."""
        cast("Joined", self.transport).flush()
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        else:
            self._idle.begin()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._settle()
        self._idle.stop()
        super().connection_lost(exc)
        self._leaving.leave()

    def _due(self) -> None:
        self._timer = self.loop.call_later(self.head_seconds, self.transport.close)

    def _settle(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _nothing() -> None:
    """Nobody is told."""


class Idle:
    """Tells of a connection that nobody uses for so many seconds: by one timer that looks again, where one for each answer would cost more
    than writing it."""

    __slots__ = ("_loop", "_over", "_seconds", "_since", "_timer")

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float, over: Callable[[], None]) -> None:
        self._loop = loop
        self._seconds = seconds
        self._over = over
        self._since: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Nobody uses it from now on."""
        self._since = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._look)

    def end(self) -> None:
        """Somebody uses it."""
        self._since = None

    def stop(self) -> None:
        """It is gone, and nobody is told any more."""
        self._over = _nothing
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        if self._since is None:
            return
        left = self._since + self._seconds - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._look)
        else:
            self._over()


class Leaving:
    """Tells whoever answers a client that it has gone: cheaper than a task that waits for it."""

    __slots__ = ("_task", "gone")

    def __init__(self) -> None:
        self.gone = False
        self._task: asyncio.Task[Any] | None = None

    def leave(self) -> None:
        """The client is gone."""
        self.gone = True
        if self._task is not None:
            self._task.cancel()

    def cancels(self, task: asyncio.Task[Any]) -> Leaving:
        """A block, entered by the task, which is cancelled when the client goes before its end."""
        self._task = task
        return self

    def __enter__(self) -> None:
        if self.gone and self._task is not None:
            self._task.cancel()

    def __exit__(self, *of: object) -> None:
        self._task = None


class Joined:
    """A transport that sends two things which are written in one turn of the event loop together: a head and its body, in one call."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held: bytes | None = None
        self._more = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def hold(self) -> None:
        """What is written next waits for what follows it, or for `flush`."""
        self._more = True

    def write(self, data: bytes) -> None:
        """Send it: the first at the loop's next turn, or with the second."""
        if self._held is None:
            self._held = data
            if not self._more:
                self._loop.call_soon(self.flush)
            self._more = False
        else:
            held, self._held = self._held, None
            self._transport.write(held + data)

    def close(self) -> None:
        """Close when everything is sent."""
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        """Close at once, and send nothing more."""
        self._held = None
        self._transport.abort()

    def flush(self) -> None:
        """Send what waits."""
        if self._held is not None:
            held, self._held = self._held, None
            self._transport.write(held)


async def answered(send: Callable[[Any], Awaitable[None]], status: int, body: bytes, headers: Headers) -> None:
    """Send a whole answer."""
    await send({"type": "http.response.start", "status": status, "headers": head_of(body, headers)})
    await send({"type": "http.response.body", "body": body})


def head_of(body: bytes, headers: Headers) -> list[tuple[bytes, bytes]]:
    """The headers of an answer, as bytes."""
    own = [_JSON, _NO_STORE, (b"content-length", b"%d" % len(body))]
    return own + [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers]
