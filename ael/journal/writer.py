"""One thread that writes: what waits is committed together, so that many runs share the cost of a commit (group commit).

A commit is asked for by *eager* work, which somebody waits for before going on. *Lazy* work (answers) rides on the next commit, and has one
of its own when none comes within `LAZY` seconds.

A run that is alone shares its commits with nobody, and on a quick disk going to the thread and back costs as much as the commit: there the
event loop makes it by itself (`QUICK`).
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar

from ael.journal.durable import StoreError

T = TypeVar("T")

LAZY = 0.02
"""Seconds that an answer waits for a commit to ride on."""
BATCH = 512
"""The most pieces of work in one commit."""
QUICK = 0.001
"""Seconds that commits may take, on the average, for an event loop to make them by itself."""
TURN = 0.01
"""Seconds that an event loop may spend on commits of its own before everything else in it has its turn."""
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
    number: str
    """What gives a new run its number."""

    def rows(self, query: str, *parameters: object) -> list[tuple[Any, ...]]: ...

    def change(self, query: str, *parameters: object) -> int:
        """Run a statement; the number of rows that it touched."""

    def add(self, query: str, rows: Sequence[tuple[object, ...]]) -> None:
        """Run an INSERT for each of these rows."""

    def now(self) -> float:
        """Seconds since the epoch, by the clock that all users of this database share."""

    def ticks(self) -> float:
        """Seconds by a clock that all users of this database share and that nobody sets, where there is one: leases go by it."""

    def alone(self, what: str) -> None:
        """Wait until no other transaction holds this lock, and hold it until the commit."""


class Database(Connection, Protocol):
    """A connection with its transactions. All methods may raise `Unreachable` or `StoreError`."""

    def begin(self) -> None: ...

    def begin_at_once(self) -> bool:
        """Begin a transaction if that takes no waiting for anybody, the network included; else False."""

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def close(self) -> None: ...


Work = Callable[[Connection], T]


class Job:
    """A piece of work, who waits for it, and what became of it. `queued` until a commit takes it.

    `lost` says why it counts as failed all the same: what it was to write went down with work before it.
    """

    __slots__ = ("error", "failed", "future", "lazy", "loop", "lost", "queued", "since", "value", "work")

    def __init__(
        self,
        work: Callable[[Connection], object],
        lazy: bool,
        failed: Callable[[BaseException], None] | None,
        lost: Callable[[], BaseException | None] | None = None,
    ) -> None:
        self.work = work
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.lazy = lazy
        self.since = time.monotonic()
        self.failed = failed
        self.lost = lost
        self.queued = True
        self.value: object = None
        self.error: BaseException | None = None


class Writer:
    """The thread and its queue. Work is done in the order in which it was given; one that fails does not fail its neighbours."""

    def __init__(self, connect: Callable[[], Database], name: str, batch: int = BATCH, patience: float | None = None) -> None:
        """`batch`: the most pieces of work in one commit; 1 where each record is to be a boundary of its own (`ael run --crash-at`).
        `patience`: seconds for which a database that went away is tried again (`PATIENCE`)."""
        self.batch = batch
        self._patience = patience
        self._connect = connect
        self._name = name
        self._database: Database | None = None
        self._queue: deque[Job] = deque()
        self._bell: SimpleQueue[None] = SimpleQueue()
        """Rung for eager work, and for lazy work when the thread sleeps without looking at the clock."""
        self._asleep = False
        self._idle = False
        """Whether nothing came while the thread waited last. Its own."""
        self._eager = 0
        """Eager pieces in the queue."""
        self._lock = threading.Lock()
        """Held while the queue and what is told of it change together."""
        self._using = threading.Lock()
        """Held by whoever uses the database: taken under `_lock` together with the work, so that all work is done in its order."""
        self._thread: threading.Thread | None = None
        self._closing = False
        self._latest: str | None = None
        """The run that asked for a commit last, and will again."""
        self._cost: float | None = None
        """Seconds that a commit takes, averaged over the last ones."""
        self._turn: float | None = None
        """When the first commit was made in this turn of the event loop that made the last one."""

    def submit(
        self,
        work: Work[T],
        *,
        lazy: bool = False,
        failed: Callable[[BaseException], None] | None = None,
        of: str | None = None,
        last: bool = False,
    ) -> asyncio.Future[T]:
        """Queue work for the next commit, of a run (its `last`); the future is done when that commit is. Called from an event loop.

        `failed` is called there with what went wrong, before anybody who waits goes on; then nobody needs to.
        """
        return self.queue(Job(work, lazy, failed), of, last=last).future

    def queue(self, job: Job, of: str | None = None, *, last: bool = False) -> Job:
        """Queue a job, done already where the run `of` is alone in asking for commits, and they are quick. Raises `StoreError`."""
        with self._lock:
            if self._closing:
                raise StoreError("the store of the runs is closed")
            self._queue.append(job)
            if not job.lazy:
                self._eager += 1
            here = self._taken_here(of) if of is not None and not job.lazy else None
            if last:
                self._latest = None
            rings = here is None and (not job.lazy or self._asleep)
            self._asleep = self._asleep and not rings
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        if rings:
            self._bell.put(None)
        elif here is not None:
            self._commit_here(here)
        return job

    def hasten(self, job: Job, of: str) -> None:
        """Make a lazy job that may be in the queue an eager one."""
        with self._lock:
            if not job.queued or not job.lazy:
                return
            job.lazy = False
            self._eager += 1
            self._asleep = False
            here = self._taken_here(of)
        if here is None:
            self._bell.put(None)
        else:
            self._commit_here(here)

    async def close(self) -> None:
        """Write what waits, close the connection, end the thread."""
        with self._lock:
            self._closing = True
            thread = self._thread
        self._bell.put(None)
        if thread is not None:
            await asyncio.get_running_loop().run_in_executor(None, thread.join)

    # --- the event loop ----------------------------------------------------------------------------------------------

    def _taken_here(self, of: str) -> list[Job] | None:
        """All that is queued, for a commit in this thread, with the database; None where the other thread is to make it. Under `_lock`."""
        alone, self._latest = self._latest in (None, of), of
        quick = self._cost is not None and self._cost < QUICK and self._database is not None
        if not (alone and quick and len(self._queue) <= self.batch):
            return None
        now = time.monotonic()
        if self._turn is None:
            self._turn = now
            asyncio.get_running_loop().call_soon(self._turned)
        if now - self._turn < TURN and self._using.acquire(blocking=False):
            return self._take(len(self._queue))
        return None

    def _turned(self) -> None:
        self._turn = None

    def _commit_here(self, batch: list[Job]) -> None:
        """Commit without waiting for anybody; what that cannot settle goes back to the thread."""
        database = self._database
        done = False
        try:
            if database is not None and database.begin_at_once():
                done = self._transact(database, batch)
        except (Unreachable, StoreError):
            self._drop()
        finally:
            if not done:
                with self._lock:
                    self._cost = None
                    self._give_back(batch)
            self._using.release()
        if not done:
            self._bell.put(None)
            return
        here = asyncio.get_running_loop()
        others = [job for job in batch if job.loop is not here]
        if others:
            batch = [job for job in batch if job.loop is here]
            _resolve(others)
        _set(batch)

    def _take(self, count: int) -> list[Job]:
        """The next jobs of the queue. Under `_lock`."""
        batch = [self._queue.popleft() for _ in range(count)]
        for job in batch:
            job.queued = False
            self._eager -= not job.lazy
        return batch

    def _give_back(self, batch: list[Job]) -> None:
        self._queue.extendleft(reversed(batch))
        for job in batch:
            job.queued = True
            self._eager += not job.lazy
        self._asleep = False

    # --- the thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            batch = self._next()
            if not batch:
                break
            try:
                self._write(batch)
            finally:
                self._using.release()
            _resolve(batch)
        if self._database is not None:
            self._database.close()
            self._database = None

    def _next(self) -> list[Job]:
        """What goes into the next commit, with the database; nothing when the store closes."""
        while True:
            wait: float | None = LAZY
            due = False
            with self._lock:
                queue = self._queue
                if queue:
                    wait = queue[0].since + LAZY - time.monotonic()
                    due = self._closing or self._eager > 0 or wait <= 0
                    if due and self._using.acquire(blocking=False):
                        return self._take(min(self.batch, len(queue)))
                elif self._closing:
                    return []
                elif self._idle:
                    # Nothing came for a while: the next piece of work rings, be it lazy.
                    wait = None
                    self._asleep = True
            if due:
                with self._using:  # an event loop is at it: what it leaves is next
                    continue
            try:
                self._bell.get(timeout=wait)
                self._idle = False
            except Empty:
                self._idle = not self._queue

    def _write(self, batch: list[Job]) -> None:
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

    def _together(self, batch: list[Job]) -> bool:
        """Whether the batch was committed. A single job's failure is its own; of several, somebody's: nothing of them is kept."""
        end = time.monotonic() + (PATIENCE if self._patience is None else self._patience)
        pause = 0.05
        while True:
            try:
                database = self._database
                if database is None:
                    database = self._database = self._connect()
                database.begin()
                return self._transact(database, batch)
            except Unreachable as lost:
                self._drop()
                if time.monotonic() >= end or self._closing:
                    raise StoreError(f"the database of the runs cannot be reached: {lost}") from None
                time.sleep(pause)
                pause = min(1.0, pause * 2)

    def _transact(self, database: Database, batch: list[Job]) -> bool:
        """Do the work of a transaction that has begun, and end it. Raises `Unreachable`."""
        began = time.monotonic()
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
        try:
            database.commit()
        except StoreError as error:
            # A full disk may show here. What stands open is taken back: else no later transaction could begin.
            database.rollback()
            if len(batch) == 1:
                batch[0].error = error
                return True
            return False
        took = time.monotonic() - began
        self._cost = took if self._cost is None else self._cost + (took - self._cost) / 4
        return True

    def _drop(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None


def _resolve(batch: list[Job]) -> None:
    """Tell each loop what became of its work, in one call for each loop."""
    loops: dict[asyncio.AbstractEventLoop, list[Job]] = {}
    for job in batch:
        loops.setdefault(job.loop, []).append(job)
    for loop, jobs in loops.items():
        try:
            loop.call_soon_threadsafe(_set, jobs)
        except RuntimeError:  # the loop is closed: nobody waits any more
            continue


def _set(jobs: list[Job]) -> None:
    for job in jobs:
        if job.error is not None and job.failed is not None:
            job.failed(job.error)
        if job.future.done():
            continue
        error = job.error if job.error is not None or job.lost is None else job.lost()
        if error is not None:
            job.future.set_exception(error)
            if job.failed is not None:
                job.future.exception()  # seen: it is not reported as forgotten
        else:
            job.future.set_result(job.value)
