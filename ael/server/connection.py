"""A connection of the HTTP server with what uvicorn has not: limits of how large and how slow the head of a request may be, a word in the
protocol's own form for those that are too many, a word to whoever answers when the client is gone, and answers that leave in one piece.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

HEAD_SECONDS = 20.0
ABORT = "ael.abort"
"""Key of an ASGI scope: cuts the connection at once, whatever is still to be sent."""
CROWDED = "ael.crowded"
"""Key of an ASGI scope: how many connections are open, where that is more than the server takes."""
LEFT = "ael.left"
"""Key of an ASGI scope: the `Leaving` of its client."""
MAX_HEAD = 64 * 1024
_BEYOND = 2
"""So many times the connections that it takes are there to be told so; more are closed without a word."""


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
        scope[LEFT] = self._leaving
        if self._most is not None and len(self.connections) > self._most:
            scope[CROWDED] = len(self.connections)

    def data_received(self, data: bytes) -> None:
        """Bytes came; those of a head that is not whole yet are counted."""
        before = cast("RequestResponseCycle | None", self.cycle)
        between = before is None or before.response_complete
        super().data_received(data)
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

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._settle()
        super().connection_lost(exc)
        self._leaving.leave()

    def _due(self) -> None:
        self._timer = self.loop.call_later(self.head_seconds, self.transport.close)

    def _settle(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


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

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send it: the first at the loop's next turn, or with the second."""
        if self._held is None:
            self._held = data
            self._loop.call_soon(self._flush)
        else:
            held, self._held = self._held, None
            self._transport.write(held + data)

    def close(self) -> None:
        """Close when everything is sent."""
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Close at once, and send nothing more."""
        self._held = None
        self._transport.abort()

    def _flush(self) -> None:
        if self._held is not None:
            held, self._held = self._held, None
            self._transport.write(held)
