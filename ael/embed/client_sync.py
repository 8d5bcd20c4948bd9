"""A client for programs without an event loop: the same calls, in a loop of its own in another thread."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import AsyncIterator, Coroutine, Iterator
from datetime import timedelta
from ssl import SSLContext
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, Unpack, overload

from ael.embed.client import Call, CallOptions, Client, Input
from ael.embed.looped import Looped
from ael.embed.outcome import Outcome
from ael.run.events import Event

T = TypeVar("T")
R = TypeVar("R")


class SyncClient:
    """`Client` without `await`: made by `connect_sync`, and used in any thread."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._loop = Looped("client", "with ael.connect_sync(…) as client:")

    def __enter__(self) -> Self:
        """As `Client.__aenter__`."""
        self._loop.start()
        try:
            self._wait(self._client.__aenter__())
        except BaseException:
            self._loop.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """As `Client.close`."""
        if self._loop.running:
            try:
                self._wait(self._client.close())
            finally:
                self._loop.stop()

    def _wait(self, work: Coroutine[Any, Any, R]) -> R:
        return self._loop.wait(work)

    @property
    def asynchronous(self) -> Client:
        """The client whose calls these are."""
        return self._client

    @property
    def methods(self) -> tuple[str, ...]:
        """As `Client.methods`."""
        return self._client.methods

    def ready(self) -> bool:
        """As `Client.ready`."""
        return self._wait(self._client.ready())

    @overload
    def call(self, method: str, input: Input = None, *, result_type: type[T], **asked: Unpack[CallOptions]) -> Outcome[T]: ...
    @overload
    def call(
        self, method: str, input: Input = None, *, result_type: object = None, **asked: Unpack[CallOptions]
    ) -> Outcome[Any]: ...
    def call(self, method: str, input: Input = None, *, result_type: object = None, **asked: Unpack[CallOptions]) -> Outcome[Any]:
        """As `Client.call`. An interrupt (Ctrl-C) gives the call up."""
        return self._wait(self._client.call(method, input, result_type=result_type, **asked))

    @overload
    def start(self, method: str, input: Input = None, *, result_type: type[T], **asked: Unpack[CallOptions]) -> SyncCall[T]: ...
    @overload
    def start(
        self, method: str, input: Input = None, *, result_type: object = None, **asked: Unpack[CallOptions]
    ) -> SyncCall[Any]: ...
    def start(
        self, method: str, input: Input = None, *, result_type: object = None, **asked: Unpack[CallOptions]
    ) -> SyncCall[Any]:
        """As `Client.start`: a call to follow or to cancel."""
        return self._wait(self._started(method, input, result_type, asked))

    stream = start
    """The same, by the name of what it is for: `for event in client.stream(…)`."""

    async def _started(self, method: str, input: Input, result_type: object, asked: CallOptions) -> SyncCall[Any]:
        call: Call[Any] = self._client.start(method, input, result_type=result_type, **asked)
        return SyncCall(self._loop, call)


class SyncCall(Generic[T]):
    """A call under way, followed from a thread without an event loop."""

    def __init__(self, loop: Looped, call: Call[T]) -> None:
        """Called in the loop, before anything was sent: its events are kept from here on."""
        self.key = call.key
        self._loop = loop
        self._call = call
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._pump = asyncio.ensure_future(self._follow(call.events()))

    async def _follow(self, events: AsyncIterator[Event]) -> None:
        try:
            async for event in events:
                self._events.put(event)
        finally:
            self._events.put(None)

    @property
    def done(self) -> bool:
        """Whether its outcome is there."""
        return self._call.done

    def events(self) -> Iterator[Event]:
        """All events, once: each waits until there is one."""
        while (event := self._events.get()) is not None:
            yield event
        self._events.put(None)

    __iter__ = events

    def cancel(self) -> None:
        """As `Call.cancel`."""
        self._loop.wait(self._cancelled())

    async def _cancelled(self) -> None:
        self._call.cancel()

    def outcome(self) -> Outcome[T]:
        """As `Call.outcome`."""
        return self._loop.wait(self._call.outcome())


def connect_sync(
    url: str,
    *,
    token: str | None = None,
    timeout: float | timedelta = 300.0,
    connect: float | timedelta = 10.0,
    attempts: int = 3,
    tls: SSLContext | None = None,
    plain: bool = False,
) -> SyncClient:
    """As `connect`, for a program without an event loop: `with ael.connect_sync(…) as client:`."""
    return SyncClient(Client(url, token=token, timeout=timeout, connect=connect, attempts=attempts, tls=tls, plain=plain))
