"""Server-sent events, bounded (https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation)."""

from __future__ import annotations

from dataclasses import dataclass

from ael.net.failure import NetError, NetKind
from ael.net.response import Response

MAX_EVENT_BYTES = 4 * 1024 * 1024
"""A longer event ends the stream as too large: nothing a model sends in one piece comes near it."""

KEEP_ALIVE = frozenset({b"ping"})
"""Events that say only that the connection lives. Like comments they do not hold off the idle limit (fault kind K35)."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name (empty: `message`) and its data, lines joined by a newline."""

    name: bytes
    data: bytes


class EventParser:
    """Bytes in, whole events out; what is unfinished is kept, up to the limit.

    `last_id` is the id of the last whole event that had one; `retry` the milliseconds that the server last asked to wait before the
    stream is opened again.
    """

    __slots__ = ("_held", "_last", "_limit", "_parts", "_size", "_start", "last_id", "retry")

    def __init__(self, limit: int = MAX_EVENT_BYTES) -> None:
        self.last_id: bytes | None = None
        self.retry: int | None = None
        self._limit = limit
        self._start = True
        self._held = b""
        self._parts: list[bytes] = []
        self._size = 0
        self._last = b""

    def feed(self, data: bytes) -> list[Event]:
        """The events that `data` completes, in time linear in what comes. Raises `NetError` when one grows over the limit."""
        if self._held:
            data, self._held = self._held + data, b""
        if self._start:
            if len(data) < 3 and b"\xef\xbb\xbf".startswith(data):
                self._held = data
                return []
            self._start = False
            data = data.removeprefix(b"\xef\xbb\xbf")
        if b"\r" in data:
            if data.endswith(b"\r"):
                # Its line feed may come with the next piece.
                data, self._held = data[:-1], b"\r"
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if not data:
            return []
        # Only a blank line ends an event, so until there is one the pieces wait as they are.
        ends = b"\n\n" in data or (self._last == b"\n" and data.startswith(b"\n"))
        self._last = data[-1:]
        self._parts.append(data)
        self._size += len(data)
        if not ends:
            if self._size > self._limit:
                raise self._too_long()
            return []
        *blocks, rest = b"".join(self._parts).split(b"\n\n")
        self._parts, self._size = [rest], len(rest)
        if len(rest) > self._limit or any(len(block) > self._limit for block in blocks):
            raise self._too_long()
        events = []
        for block in blocks:
            if block.startswith(b"data: ") and b"\n" not in block:
                events.append(Event(b"", block[6:]))
            elif (event := self._event(block)) is not None:
                events.append(event)
        return events

    def _too_long(self) -> NetError:
        message = f"an event of the stream is longer than {self._limit} bytes"
        return NetError(NetKind.TOO_LARGE, message, sent=True, received=True)

    def _event(self, block: bytes) -> Event | None:
        name, data = b"", []
        for line in block.split(b"\n"):
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            match field:
                case b"data":
                    data.append(value)
                case b"event":
                    name = value
                case b"id" if b"\0" not in value:
                    self.last_id = value
                case b"retry" if value.isdigit() and len(value) < 10:
                    self.retry = int(value)
        return Event(name, b"\n".join(data)) if data else None


class EventStream:
    """The events of a response, in batches as they arrive."""

    __slots__ = ("_parser", "_response")

    def __init__(self, response: Response, limit: int = MAX_EVENT_BYTES) -> None:
        self._response = response
        self._parser = EventParser(limit)
        response.idle_by_touch()

    @property
    def last_id(self) -> bytes | None:
        """The id of the last event that had one."""
        return self._parser.last_id

    @property
    def retry(self) -> int | None:
        """Milliseconds that the server wants to be left alone before the stream is opened again."""
        return self._parser.retry

    async def batch(self) -> list[Event] | None:
        """The next events, at least one; None at the end of the response. Raises `NetError`, also when only keep-alives come."""
        while (data := await self._response.chunk()) is not None:
            events = self._parser.feed(data)
            if events:
                if any(event.name not in KEEP_ALIVE for event in events):
                    self._response.touch()
                return events
        return None
