"""A session for programs without an event loop: the same runs, in a loop of its own in another thread."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, Unpack, overload

from ael.embed.looped import Looped
from ael.embed.options import Asked, OnEvent
from ael.embed.outcome import Outcome
from ael.embed.run import Run
from ael.embed.session import Input, Session
from ael.run.events import Event
from ael.run.outcome import Spent

T = TypeVar("T")
R = TypeVar("R")


class SyncSession:
    """`Session` without `await`: made by `Program.open_sync`, and used in any thread. Coroutines that are bound run in its own loop."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._loop = Looped("session", "with program.open_sync() as session:")

    def __enter__(self) -> Self:
        """Open it. Raises `OpenError`."""
        self._loop.start()
        try:
            self._wait(self._session.__aenter__())
        except BaseException:
            self._loop.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Stop what is under way, and release everything. A second time does nothing."""
        if self._loop.running:
            try:
                self._wait(self._session.close())
            finally:
                self._loop.stop()

    def _wait(self, work: Coroutine[Any, Any, R]) -> R:
        return self._loop.wait(work)

    @property
    def warnings(self) -> tuple[str, ...]:
        """As `Session.warnings`."""
        return self._session.warnings

    @overload
    def run(
        self, node: str | None = None, input: Input = None, *, result_type: type[T], **asked: Unpack[Asked]
    ) -> Outcome[T]: ...
    @overload
    def run(
        self, node: str | None = None, input: Input = None, *, result_type: object = None, **asked: Unpack[Asked]
    ) -> Outcome[Any]: ...
    def run(
        self, node: str | None = None, input: Input = None, *, result_type: object = None, **asked: Unpack[Asked]
    ) -> Outcome[Any]:
        """As `Session.run`. An interrupt (Ctrl-C) cancels the run."""
        return self._wait(self._session.run(node, input, result_type=result_type, **asked))

    @overload
    def start(
        self, node: str | None = None, input: Input = None, *, result_type: type[T], **asked: Unpack[Asked]
    ) -> SyncRun[T]: ...
    @overload
    def start(
        self, node: str | None = None, input: Input = None, *, result_type: object = None, **asked: Unpack[Asked]
    ) -> SyncRun[Any]: ...
    def start(
        self, node: str | None = None, input: Input = None, *, result_type: object = None, **asked: Unpack[Asked]
    ) -> SyncRun[Any]:
        """As `Session.start`: a run to follow or to cancel."""
        return self._wait(self._started(node, input, result_type, asked))

    async def _started(self, node: str | None, input: Input, result_type: object, asked: Asked) -> SyncRun[Any]:
        run: Run[Any] = self._session.start(node, input, result_type=result_type, **asked)
        return SyncRun(self, run)

    @overload
    def resume(
        self, run_id: str, *, result_type: type[T], tenant: str | None = None, on_event: OnEvent | None = None
    ) -> Outcome[T]: ...
    @overload
    def resume(
        self, run_id: str, *, result_type: object = None, tenant: str | None = None, on_event: OnEvent | None = None
    ) -> Outcome[Any]: ...
    def resume(
        self, run_id: str, *, result_type: object = None, tenant: str | None = None, on_event: OnEvent | None = None
    ) -> Outcome[Any]:
        """As `Session.resume`."""
        return self._wait(self._session.resume(run_id, result_type=result_type, tenant=tenant, on_event=on_event))

    def decide(
        self,
        run_id: str,
        approved: bool,
        *,
        by: str | None = None,
        reason: str = "",
        arguments: Mapping[str, object] | None = None,
        step: str | None = None,
        tenant: str | None = None,
    ) -> None:
        """As `Session.decide`."""
        self._wait(self._session.decide(run_id, approved, by=by, reason=reason, arguments=arguments, step=step, tenant=tenant))

    def settle(
        self,
        run_id: str,
        *,
        happened: bool,
        result: object = None,
        by: str | None = None,
        step: str | None = None,
        tenant: str | None = None,
    ) -> None:
        """As `Session.settle`."""
        self._wait(self._session.settle(run_id, happened=happened, result=result, by=by, step=step, tenant=tenant))

    def work(self, *, slots: int | None = None, until_idle: bool = False) -> None:
        """As `Session.work`."""
        self._wait(self._session.work(slots=slots, until_idle=until_idle))


class SyncRun(Generic[T]):
    """A run under way, followed from a thread without an event loop."""

    def __init__(self, session: SyncSession, run: Run[T]) -> None:
        """Called in the loop, before the run has done anything: its events are kept from here on."""
        self._session = session
        self._run = run
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._pump = asyncio.ensure_future(self._follow(run.events()))

    async def _follow(self, events: AsyncIterator[Event]) -> None:
        try:
            async for event in events:
                self._events.put(event)
        finally:
            self._events.put(None)

    @property
    def id(self) -> str:
        """The run's id, under which a kept one is found again."""
        return self._run.id

    @property
    def done(self) -> bool:
        """Whether it has ended, or is parked."""
        return self._run.done

    @property
    def spent(self) -> Spent:
        """What was used so far."""
        return self._run.spent

    def events(self) -> Iterator[Event]:
        """All events from the start to the end, once: each waits until there is one."""
        while (event := self._events.get()) is not None:
            yield event
        self._events.put(None)

    def cancel(self, reason: str = "cancelled by the caller") -> None:
        """As `Run.cancel`."""
        self._session._wait(self._cancelled(reason))

    async def _cancelled(self, reason: str) -> None:
        self._run.cancel(reason)

    def outcome(self) -> Outcome[T]:
        """As `Run.outcome`."""
        return self._session._wait(self._run.outcome())
