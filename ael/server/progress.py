"""What happens in a call, told to whoever made it, beside its answer: bounded, in order, and in nobody's way.

Over HTTP as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), for a request that accepts
`text/event-stream`; over gRPC as the messages of the method's stream (`ael.server.rpc`).
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from typing import Any, ClassVar

from ael.run.events import Event
from ael.run.progress import Crossed, crossing
from ael.server.connection import ABORT
from ael.server.dispatch import Reply
from ael.server.guard import Receive, Scope, Send

EVENTS = "text/event-stream"
_NEVER = re.compile(r"q=0(\.0*)?")
_HEADERS = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")]
_HEAD = {"type": "http.response.start", "status": 200, "headers": _HEADERS}


def wanted(headers: Mapping[str, list[str]]) -> bool:
    """Whether a request accepts server-sent events."""
    for accept in headers.get("accept", ()):
        for one in accept.split(","):
            kind, *parameters = [part.strip().lower() for part in one.split(";")]
            if kind == EVENTS and not any(_NEVER.fullmatch(part) for part in parameters):
                return True
    return False


class Watch:
    """Hears the run of one call, and keeps what its client has not taken yet.

    A client that does not keep up misses what was said (`content`) first, and then, where `most` events or all of `room` are used up, the
    others; it is told how many it missed. The run never waits.
    """

    most: ClassVar[int] = 1_000
    room: ClassVar[int] = 16 * 1024 * 1024
    """Bytes of progress that one call may send altogether."""

    def __init__(self, mask: Callable[[object], object], *, inside: bool) -> None:
        """`inside`: the client is another process of this program, and hears also what is the operator's."""
        self._mask = mask
        self._inside = inside
        self._held: deque[Crossed] = deque()
        self._missed = 0
        self._room = self.room
        self._ready = asyncio.Event()
        self.ended = False

    def put(self, event: Event) -> None:
        """An event of the run."""
        if self.ended:
            return
        crossed = crossing(event, self._mask, inside=self._inside)
        if crossed is None:
            return
        full = len(self._held) >= (self.most // 2 if crossed.content else self.most)
        if full or len(crossed.data) > self._room:
            self._missed += 1
            return
        self._room -= len(crossed.data)
        self._held.append(crossed)
        self._ready.set()

    def close(self) -> None:
        """A run ended; the call goes on to its answer, or to another run."""

    def end(self) -> None:
        """Nothing more is told."""
        self.ended = True
        self._ready.set()

    def take(self) -> list[Crossed]:
        """What has come, and how much was missed."""
        found = list(self._held)
        self._held.clear()
        self._ready.clear()
        if self._missed:
            found.append(Crossed("missed", b'{"events":%d}' % self._missed, False))
            self._missed = 0
        return found

    async def batches(self, quiet: float) -> AsyncIterator[list[Crossed]]:
        """What comes, in pieces, to the end. An empty one: nothing came for `quiet` seconds."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(quiet):
                    await self._ready.wait()
            ended, found = self.ended, self.take()
            if found or not ended:
                yield found
            if ended:
                return


class Stream:
    """Answers one request in server-sent events. `began`: whether its head is out, so that everything else has to be an event."""

    quiet: ClassVar[float] = 15.0
    """Seconds after which a comment says that the stream is alive."""
    slow: ClassVar[float] = 20.0
    """Seconds that a client has to take the rest, when the call has ended."""

    def __init__(self, scope: Scope, send: Send, watch: Watch) -> None:
        self._scope = scope
        self._send = send
        self.watch = watch
        self.began = False

    async def call(self, call: asyncio.Future[Reply], receive: Receive) -> Reply | None:
        """Tell what happens until the call has ended. None: the client went away before, which gives the call up."""
        gone: asyncio.Future[None] = asyncio.ensure_future(_left(receive))
        pump = asyncio.ensure_future(self._pump())
        try:
            waiting: set[asyncio.Future[Any]] = {call, gone}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            self.watch.end()
            if not call.done():
                return None
            async with asyncio.timeout(self.slow):
                await pump
            return call.result()
        except TimeoutError:
            # What is in its buffers is not waited for either.
            self.abort()
            return None
        finally:
            self.watch.end()
            for task in (call, gone, pump):
                task.cancel()
            await asyncio.gather(call, gone, pump, return_exceptions=True)
            self.watch.take()

    async def end(self, ending: bytes) -> None:
        """The last event: how the call ended."""
        try:
            async with asyncio.timeout(self.slow):
                await self._tell(b"event: end\ndata: " + ending + b"\n\n", more=False)
        except TimeoutError:
            self.abort()

    def abort(self) -> None:
        """Cut the connection."""
        abort: Callable[[], None] | None = self._scope.get(ABORT)
        if abort is not None:
            abort()

    async def _pump(self) -> None:
        async for batch in self.watch.batches(self.quiet):
            text = b"".join([b"event: %b\ndata: %b\n\n" % (one.name.encode(), one.data) for one in batch])
            await self._tell(text or b":\n\n")

    async def _tell(self, text: bytes, *, more: bool = True) -> None:
        if not self.began:
            self.began = True
            await self._send(dict(_HEAD))
        await self._send({"type": "http.response.body", "body": text, "more_body": more})


def value_event(reply: Reply, body: bytes) -> bytes:
    """The data of the last event of a call that gave a value: `body` as it is answered without events."""
    return _joined(reply, b'"result":' + body)


def error_event(reply: Reply, status: int, body: bytes) -> bytes:
    """The same of one that did not: the status and the error as they are answered without events."""
    return _joined(reply, b'"status":%d,"error":%b' % (status, body))


def _joined(reply: Reply, rest: bytes) -> bytes:
    head: dict[str, Any] = {"run": reply.run, "taint": sorted(reply.taint)}
    if reply.attempts is not None:
        head["attempts"] = reply.attempts
    return json.dumps(head, separators=(",", ":")).encode()[:-1] + b"," + rest + b"}"


async def _left(receive: Receive) -> None:
    """Wait until the client goes away: after its body it says nothing else."""
    while (await receive())["type"] != "http.disconnect":
        pass
