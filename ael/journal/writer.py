"""One thread that writes: what waits is committed together, so that many runs share the cost of a commit (group commit).

A commit is asked for by *eager* work, which somebody waits for before going on. *Lazy* work (answers) rides on the next commit, and has one
of its own when none comes within `LAZY` seconds.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar

from ael.journal.durable import StoreError

T = TypeVar("T")

LAZY = 0.02
"""Seconds that an answer waits for a commit to ride on."""
BATCH = 512
"""The most pieces of work in one commit."""
PATIENCE = 30.0
"""Seconds for which a database that went away is tried again, before what waits for it fails."""


class Unreachable(Exception):
    """The connection broke: nothing is known of the transaction, and everything in it may be done again."""


class Connection(Protocol):
    """A database as the work in a transaction sees it. Parameters stand as `?`."""

    share: str
    """What a SELECT ends with so that what it saw holds until the commit."""
    skip: str
    """What a SELECT ends with to claim rows that no other transaction is claiming."""
    seen: dict[object, object]
    """What the work of this transaction has found out, and the transaction itself keeps true; empty when it begins."""

    def rows(self, query: str, *parameters: object) -> list[tuple[Any, ...]]: ...

    def change(self, query: str, *parameters: object) -> int:
        """Run a statement; the number of rows that it touched."""

    def now(self) -> float:
        """Seconds since the epoch, by the clock that all users of this database share."""

    def ticks(self) -> float:
        """Seconds by a clock that all users of this database share and that nobody sets, where there is one: leases go by it."""

    def alone(self, what: str) -> None:
        """Wait until no other transaction holds this lock, and hold it until the commit."""


class Database(Connection, Protocol):
    """A connection with its transactions. All methods may raise `Unreachable` or `StoreError`."""

    def begin(self) -> None: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def close(self) -> None: ...


Work = Callable[[Connection], T]


class _Job:
    """A piece of work, who waits for it, and what became of it."""

    __slots__ = ("error", "failed", "future", "lazy", "loop", "since", "value", "work")

    def __init__(
        self,
        work: Callable[[Connection], object],
        loop: asyncio.AbstractEventLoop,
        future: asyncio.Future[Any],
        lazy: bool,
        since: float,
        failed: Callable[[BaseException], None] | None,
    ) -> None:
        self.work = work
        self.loop = loop
        self.future = future
        self.lazy = lazy
        self.since = since
        self.failed = failed
        self.value: object = None
        self.error: BaseException | None = None


class Writer:
    """The thread and its queue. Work is done in the order in which it was given; one that fails does not fail its neighbours."""

    def __init__(self, connect: Callable[[], Database], name: str, batch: int = BATCH) -> None:
        """`batch`: the most pieces of work in one commit; 1 where each record is to be a boundary of its own (`ael run --crash-at`)."""
        self._connect = connect
        self._name = name
        self._batch = batch
        self._database: Database | None = None
        self._queue: deque[_Job] = deque()
        self._bell: SimpleQueue[None] = SimpleQueue()
        """Rung for eager work, and for lazy work when the thread sleeps without looking at the clock."""
        self._asleep = False
        self._idle = False
        """Whether nothing came while the thread waited last. Its own."""
        self._eager = 0
        """Eager pieces in the queue."""
        self._lock = threading.Lock()
        """Held while the queue and what is told of it change together."""
        self._thread: threading.Thread | None = None
        self._closing = False

    def submit(
        self, work: Work[T], *, lazy: bool = False, failed: Callable[[BaseException], None] | None = None
    ) -> asyncio.Future[T]:
        """Queue work for the next commit; the future is done when that commit is. Called from an event loop.

        `failed` is called there with what went wrong, before anybody who waits goes on; then nobody needs to.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        job = _Job(work, loop, future, lazy, time.monotonic(), failed)
        with self._lock:
            if self._closing:
                raise StoreError("the store of the runs is closed")
            self._queue.append(job)
            if not lazy:
                self._eager += 1
            rings = not lazy or self._asleep
            self._asleep = False
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        if rings:
            self._bell.put(None)
        return future

    async def close(self) -> None:
        """Write what waits, close the connection, end the thread."""
        with self._lock:
            self._closing = True
            thread = self._thread
        self._bell.put(None)
        if thread is not None:
            await asyncio.get_running_loop().run_in_executor(None, thread.join)

    # --- the thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            batch = self._next()
            if not batch:
                break
            self._write(batch)
            _resolve(batch)
        if self._database is not None:
            self._database.close()
            self._database = None

    def _next(self) -> list[_Job]:
        """What goes into the next commit; nothing when the store closes."""
        while True:
            wait: float | None = LAZY
            with self._lock:
                queue = self._queue
                if queue:
                    wait = queue[0].since + LAZY - time.monotonic()
                    if self._closing or self._eager or wait <= 0:
                        batch = [queue.popleft() for _ in range(min(self._batch, len(queue)))]
                        self._eager -= sum([not job.lazy for job in batch])
                        return batch
                elif self._closing:
                    return []
                elif self._idle:
                    # Nothing came for a while: the next piece of work rings, be it lazy.
                    wait = None
                    self._asleep = True
            try:
                self._bell.get(timeout=wait)
                self._idle = False
            except Empty:
                self._idle = not self._queue

    def _write(self, batch: list[_Job]) -> None:
        """One transaction for all; where one of them fails, one for each."""
        waiting = batch
        try:
            if self._together(batch):
                return
            while waiting:
                self._together(waiting[:1])
                waiting = waiting[1:]
        except Exception as error:
            for job in waiting:
                job.error = error

    def _together(self, batch: list[_Job]) -> bool:
        """Whether the batch was committed. A single job's failure is its own; of several, somebody's: nothing of them is kept."""
        end = time.monotonic() + PATIENCE
        pause = 0.05
        while True:
            try:
                database = self._database
                if database is None:
                    database = self._database = self._connect()
                database.begin()
                database.seen.clear()
                for job in batch:
                    try:
                        job.value = job.work(database)
                    except Unreachable:
                        raise
                    except Exception as error:
                        database.rollback()
                        if len(batch) == 1:
                            job.error = error
                            return True
                        return False
                database.commit()
                return True
            except Unreachable as lost:
                self._drop()
                if time.monotonic() >= end or self._closing:
                    raise StoreError(f"the database of the runs cannot be reached: {lost}") from None
                time.sleep(pause)
                pause = min(1.0, pause * 2)

    def _drop(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None


def _resolve(batch: list[_Job]) -> None:
    """Tell each loop what became of its work, in one call for each loop."""
    loops: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
    for job in batch:
        loops.setdefault(job.loop, []).append(job)
    for loop, jobs in loops.items():
        try:
            loop.call_soon_threadsafe(_set, jobs)
        except RuntimeError:  # the loop is closed: nobody waits any more
            continue


def _set(jobs: list[_Job]) -> None:
    for job in jobs:
        if job.error is not None and job.failed is not None:
            job.failed(job.error)
        if job.future.done():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
            if job.failed is not None:
                job.future.exception()  # seen: it is not reported as forgotten
        else:
            job.future.set_result(job.value)
