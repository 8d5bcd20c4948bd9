"""One execution of an entry: tenant, caller, rights, budget, deadline, journal, and what it has told. Runs share nothing here."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

from ael.journal.entry import Entry, Kind, State
from ael.journal.store import RunJournal
from ael.run.budget import Account, Dimension
from ael.run.deadline import Deadline
from ael.run.events import BudgetReached, Event, Text
from ael.run.outcome import Faulted, Outcome, Spent
from ael.run.permission import Rights
from ael.run.ports import ModelProvider
from ael.run.trace import Trace, trace_parent
from ael.types.fault import Fault, FaultKind, Uncertain

if TYPE_CHECKING:
    from ael.run.conversation import Talk
    from ael.run.desk import Desk
    from ael.run.handed import Handed
    from ael.run.purse import Purse
    from ael.run.world import World

GRACE = 10.0
"""Seconds that started calls get to end after a cancel, before the run ends without them (runtime.md, section 5)."""

_FEED_LIMIT = 10_000


class Run:
    """A run under way. Made by `Engine.start`; read by the host, and by what runs inside.

    `outcome()` waits for its end; `events()` follows it; `cancel()` ends it with the fault `Cancelled`.
    """

    __slots__ = (
        "_begun",
        "_feeds",
        "_given_parent",
        "_grace",
        "_here",
        "_interrupted",
        "_near",
        "_on_event",
        "_outcome",
        "_over",
        "_pending",
        "_started",
        "_task",
        "_then",
        "_trace_parent",
        "_waiting",
        "account",
        "active_before",
        "arguments",
        "attached",
        "caller",
        "cancelled",
        "clean",
        "deadline",
        "desk",
        "draining",
        "entry",
        "followed",
        "handed",
        "id",
        "inspect",
        "journal",
        "listening",
        "lost",
        "overrides",
        "parks",
        "parks_uncertain",
        "purse",
        "rights",
        "root",
        "seen",
        "tell",
        "tenant",
        "trace",
        "uncertain",
        "under_way",
        "unwritten",
        "via",
        "workers",
        "world",
    )

    def __init__(
        self,
        world: World,
        run_id: str,
        entry: str,
        tenant: str,
        caller: str,
        rights: Rights,
        account: Account,
        deadline: Deadline,
        journal: RunJournal,
        arguments: tuple[object, ...],
        trace: Trace | None,
        trace_parent: str | None,
        on_event: Callable[[Event], None] | None,
    ) -> None:
        self.world = world
        self.id = run_id
        self.root = run_id.partition("~")[0]
        """The id without its attempt (`~2`): all attempts at one call from outside send the same keys."""
        self.entry = entry
        self.tenant = tenant
        self.caller = caller
        self.rights = rights
        self.account = account
        self.deadline = deadline
        self.journal = journal
        self.arguments = arguments
        self.trace = trace
        self._given_parent = trace_parent
        self._trace_parent: str | None = None
        self.cancelled: str | None = None
        self.active_before = journal.active
        self.overrides: dict[str, ModelProvider] = {}
        self.desk: Desk | None = world.bindings.desk
        """Who stands beside the run of a test."""
        self.attached: set[str] = set()
        self.uncertain: dict[tuple[str, str], str] = {}
        """The calls of which nobody knows what became: name and digest of the arguments, with the place of the first."""
        self.lost: list[Uncertain] = []
        self.draining = False
        """Whether the run is to be given up where its next effect would begin, for another worker to go on."""
        self.inspect: Callable[[str, Talk], None] | None = None
        """Hears, with its place in the run, of each request to a model before it is made or replayed: to show what was asked."""
        self.parks = False
        self.parks_uncertain = False
        self.under_way = False
        """Whether its task has begun: one that is cancelled before runs no code, and ends as it would later."""
        self.purse: Purse | None = None
        """The accounts that the run shares with others; None where it has none."""
        self.via: tuple[str, ...] = ()
        self.seen: frozenset[str] = frozenset()
        """The outside data that had a hand in the outcome, when the run has ended."""
        self.clean: frozenset[str] | None = None
        self.handed: Handed | None = None
        """What the run that called this one from elsewhere says of the arguments; None where they are the caller's own word."""
        self.workers: set[asyncio.Task[None]] = set()
        self.listening = on_event is not None
        """Whether anybody hears events."""
        self.followed = self.listening
        """Whether somebody follows the run, wherever it goes."""
        self.tell = self.tell_budget if self.listening else None
        self._on_event = on_event
        self._feeds: list[Follower] = []
        self._near: list[Follower] = []
        self._pending: set[asyncio.Future[Any]] = set()
        self.unwritten: asyncio.Future[Any] | None = None
        """The newest record whose commit nobody waits for: commits keep the order, so what came before is written with it."""
        self._started = world.clock.monotonic()
        self._task: asyncio.Task[Outcome] | None = None
        self._here = False
        """Whether it runs now, without a task of its own."""
        self._over = False
        """Whether it ended without a task of its own."""
        self._outcome: Outcome | None = None
        self._waiting: list[asyncio.Future[Outcome]] = []
        self._then: list[Callable[[], None]] = []
        self._interrupted: str | None = None
        """Why pure code of this run is to stop."""
        self._grace: asyncio.TimerHandle | None = None
        self._begun: frozenset[str] | None = None

    def began(self, path: str) -> bool:
        """Whether earlier executions of this run left records of what happens inside of the visit at `path`."""
        if self._begun is None:
            places = (entry.path.split("/") for entry in self.journal.entries())
            self._begun = frozenset("/".join(parts[:at]) for parts in places for at in range(1, len(parts)))
        return path in self._begun

    # --- for the host ---------------------------------------------------------------------------------------------

    async def outcome(self) -> Outcome:
        """How the run ended. Cancelling the waiter does not cancel the run."""
        if self._outcome is not None:
            return self._outcome
        waiter: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        return await waiter

    @property
    def ended(self) -> Outcome | None:
        """How it ended; None: not yet."""
        return self._outcome

    @property
    def here(self) -> bool:
        """Whether it runs to its end now, without a task of its own: nothing in it may wait, and branches go one after the other."""
        return self._here

    def when_ended(self, call: Callable[[], None]) -> None:
        """Have `call`, which raises nothing, called when the run has ended; at once where it has."""
        if self._outcome is not None:
            call()
        else:
            self._then.append(call)

    def events(self) -> AsyncIterator[Event]:
        """All events from now to the end of the run. Called before the first `await` after the start, it misses none."""
        feed = Feed()
        self.follow(feed)
        return feed

    def follow(self, follower: Follower, *, near: bool = False) -> None:
        """Tell a follower all events from now on, and the end of the run. `near`: nothing of what others run, and no text."""
        if not self.done:
            (self._near if near else self._feeds).append(follower)
            self.listening = True
            self.followed = self.followed or not near
            self.tell = self.tell_budget
        else:
            follower.close()

    def cancel(self, reason: str = "cancelled by the caller") -> None:
        """Cancel: what is in flight is told to stop and joined; the outcome is the fault `Cancelled`. A second time changes nothing."""
        if self._task is None or self._task.done() or self.cancelled is not None:
            return
        self.cancelled = reason
        self.note_end(reason)
        if self.under_way:
            self._task.cancel()
        self._grace = self._task.get_loop().call_later(GRACE, self._abandon)

    def interrupt(self, reason: str = "interrupted") -> None:
        """Stop pure code of this run where it holds the loop. For a signal handler or another thread, which then has the loop call
        `cancel`."""
        if self._here or (self._task is not None and not self._task.done()):
            self._interrupted = reason
            if self.holds_the_loop():
                flag = self.world.unit.halt.flag
                flag[0] = Fault(FaultKind.CANCELLED, reason, run=self.id)
                if not self.holds_the_loop():
                    flag[0] = None  # seen from another thread: the loop has gone on to another run

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return self._over or (self._task is not None and self._task.done())

    @property
    def spent(self) -> Spent:
        """What was used so far."""
        account = self.account
        cost: Decimal | None = None if account.unpriced else account.cost
        return Spent(
            account.steps,
            account.tool_calls,
            account.meter.attempts,
            account.meter.usage(),
            cost,
            self.world.clock.monotonic() - self._started,
        )

    # --- for what runs inside -------------------------------------------------------------------------------------

    def begin(self, work: Coroutine[Any, Any, Outcome]) -> None:
        """Start the task of this run, in the running loop."""
        self._task = asyncio.get_running_loop().create_task(self._worked(work))
        self._task.add_done_callback(self._finish)

    def complete(self, work: Coroutine[Any, Any, Outcome]) -> None:
        """Run `work`, which never waits, to its end, here and now: a task of its own would cost more than the work."""
        self._here = True
        try:
            work.send(None)
        except StopIteration as ended:
            self._end(ended.value)
        else:
            work.close()
            raise RuntimeError("plain code waited for something")
        finally:
            self._here, self._over = False, True
            self._close()

    async def _worked(self, work: Coroutine[Any, Any, Outcome]) -> Outcome:
        """The task. Whoever waits is told by it, not in a later turn of the loop."""
        outcome = await work
        self._end(outcome)
        return outcome

    def _end(self, outcome: Outcome) -> None:
        """The one outcome: what comes later changes nothing."""
        if self._outcome is not None:
            return
        self._outcome = outcome
        waiting, self._waiting, then, self._then = self._waiting, [], self._then, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(outcome)
        for call in then:
            call()

    def _finish(self, task: asyncio.Task[Outcome]) -> None:
        """Its task has ended: no event follows."""
        if self._grace is not None:
            self._grace.cancel()
        if task.cancelled():
            self._end(Faulted(FaultKind.CANCELLED, self.cancelled or "the event loop ended", {}, self.spent))
        self._close()

    def _close(self) -> None:
        """No event follows."""
        for feed in (*self._feeds, *self._near):
            feed.close()
        self._feeds.clear()

    def _abandon(self) -> None:
        """What was told to stop did not: the run ends without it."""
        message = f"{self.cancelled}; something did not stop within {GRACE:g} s"
        self._end(Faulted(FaultKind.CANCELLED, message, {"abandoned": True}, self.spent))

    def emit(self, event: Event, *, own: bool = True) -> None:
        """Tell an event; `own`: of this program, whichever process it runs in. A listener that fails changes nothing; ask `listening`
        before making one."""
        if self._on_event is not None:
            try:
                self._on_event(event)
            except Exception:
                self._on_event = None
        for feed in self._feeds:
            feed.put(event)
        for follower in self._near if own else ():
            follower.put(event)

    def tell_budget(self, account: Account, dimension: Dimension, percent: int) -> None:
        self.emit(BudgetReached(self.id, account.path, account.name, dimension, percent))

    @property
    def trace_parent(self) -> str:
        """The W3C `traceparent` of this run, made when something first goes out."""
        if self._trace_parent is None:
            self._trace_parent = trace_parent(self._given_parent, self.id) if self.trace is None else self.trace.context
        return self._trace_parent

    def holds_the_loop(self) -> bool:
        """Whether code of this run is what its event loop is running now. Asked by the watchdog's thread."""
        if self._task is None:
            return self._here
        task = asyncio.current_task(self._task.get_loop())
        return task is not None and (task is self._task or task in self.workers)

    def note_end(self, reason: str) -> None:
        """Journal that the run was told to end: a cancel, or a time limit."""
        path = f"end@{self.active:.6f}"
        with suppress(Exception):  # a run ends where nothing is kept of it any more, too
            self.note(Entry(path, State.PROPOSED, Kind.CANCEL, "", "", "", reason, None, self.world.clock.now(), self.active))

    @property
    def active(self) -> float:
        """Seconds of work, those of earlier executions of the same run included."""
        return self.active_before + self.world.clock.monotonic() - self._started

    def note(self, entry: Entry) -> None:
        """Journal a record that nothing waits for."""
        waiting = self.journal.append(entry)
        if waiting is not None:
            self.unwritten = asyncio.ensure_future(waiting)

    def hold(self, future: asyncio.Future[Any]) -> None:
        """Something started outside that has to end before the run does: it is joined, for at most `GRACE` seconds."""
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)

    async def join(self) -> int:
        """Wait for what was started; the number of calls that did not end in time."""
        unwritten = self.unwritten
        pending = self._pending if unwritten is None or unwritten.done() else {*self._pending, unwritten}
        if not pending:
            return 0
        self.journal.hurry()
        _, open_calls = await asyncio.wait(pending, timeout=GRACE)
        return len(open_calls)

    def checkpoint(self, deadline: Deadline) -> None:
        """Raise when the time of `deadline` is up, or the run was interrupted, though pure code kept the loop from saying so."""
        flag = self.world.unit.halt.flag
        if flag[0] is not None:
            flag[0] = None
        if self._interrupted is not None:
            raise Fault(FaultKind.CANCELLED, self.cancelled or self._interrupted)
        late = deadline.expired()
        if late is not None:
            raise Fault(FaultKind.DEADLINE_EXCEEDED, f"the time of {late.name} is up", limit="time", spender=late.name)

    def clear(self) -> None:
        """Code of this run was left: the flag that was to stop it comes down, before anything else runs."""
        flag = self.world.unit.halt.flag
        raised = flag[0]
        if isinstance(raised, Fault) and raised.details.get("run") == self.id:
            flag[0] = None


class Follower(Protocol):
    """Hears a run. It waits for nothing and raises nothing."""

    def put(self, event: Event) -> None: ...

    def close(self) -> None:
        """The run has ended."""


class Feed:
    """Events of one follower, in order. When it does not keep up, pieces of text are left out, never another event."""

    __slots__ = ("_closed", "_events", "_waiter", "left_out")

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._closed = False
        self._waiter: asyncio.Future[None] | None = None
        self.left_out = 0

    def put(self, event: Event) -> None:
        if len(self._events) >= _FEED_LIMIT and type(event) is Text:
            self.left_out += 1
            return
        self._events.append(event)
        self._wake()

    def close(self) -> None:
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def __aiter__(self) -> Feed:
        return self

    async def __anext__(self) -> Event:
        while not self._events:
            if self._closed:
                raise StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._events.popleft()
