"""The connection to a server for one tenant and caller: opened once for all who wait for it, compared with the pins, replaced when dead.

Opening runs in a task of its own, so that a caller that gives up changes nothing for the others; when nobody waits for it any more it is
given up too.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping

from ael.mcp.failure import McpError
from ael.mcp.listing import What
from ael.mcp.manifest import Changed, Kind, Uses, compare, refusal
from ael.mcp.port import Connected, Opener
from ael.mcp.question import Questions
from ael.mcp.session import Elicitation, ElicitationReply
from ael.run.ports import Clock, Question
from ael.run.repeat import TEMPORARY, wait_before
from ael.types.fault import Fault, FaultKind
from ael.types.spec import RetrySpec

CLOSING = 5.0
"""Seconds that closing one connection may take; then it is left to itself."""
LEVELS = frozenset({"info", "notice", "warning", "error", "critical", "alert", "emergency"})
"""What a server logs for others than its makers. (This side's own remarks on what it skipped are `debug`.)"""
_BACKOFF = RetrySpec(attempts=0, base=200, cap=10_000)
_LISTS: Mapping[Kind, What] = {"tool": "tools", "prompt": "prompts"}


class Held:
    """A session, and how many calls use it: one that was replaced is closed when the last of them has ended."""

    __slots__ = ("retired", "session", "users")

    def __init__(self, session: Connected) -> None:
        self.session = session
        self.users = 0
        self.retired = False


class Lane:
    """One connection, of one event loop. It is the listener of its sessions.

    `retries` after a connection that failed; `manifest` seconds for which a listing is believed; `connect` seconds to connect, and again
    to list. What is closed beside the calls is put into `tasks`.
    """

    def __init__(
        self,
        uses: Uses,
        opener: Opener,
        tenant: str,
        caller: str,
        clock: Clock,
        random: Callable[[], float],
        retries: int,
        manifest: float,
        connect: float,
        tasks: set[asyncio.Task[None]],
    ) -> None:
        self.used = clock.monotonic()
        self.asking = asyncio.Lock()
        """Held by the call that may be asked: with two of them nobody could tell whose person a question is for."""
        self.questions: Questions | None = None
        self._hearing: list[Callable[[str, str], None]] = []
        self._uses = uses
        self._opener = opener
        self._tenant = tenant
        self._caller = caller
        self._clock = clock
        self._random = random
        self._retries = retries
        self._manifest = manifest
        self._connect_time = connect
        self._tasks = tasks
        self._held: Held | None = None
        self._opening: asyncio.Task[None] | None = None
        self._waiting = 0
        self._closed = False
        self._latest = 0.0
        self._compared_at: float | None = None
        self._changed: tuple[Changed, ...] = ()

    # --- the listener of its sessions -----------------------------------------------------------------------------------

    def changed(self, what: str) -> None:
        """The server says that a list has changed. It is read again before the next call, never in here (K21)."""
        if any(what in (kind, _LISTS[kind]) for kind in self._uses.kinds):
            self._compared_at = None

    async def elicit(self, elicitation: Elicitation) -> ElicitationReply:
        """The server asks a person. Where no call under way may be asked, it is declined."""
        if self.questions is None:
            return ElicitationReply("decline", None)
        return await self.questions.put(Question(elicitation.message, elicitation.schema, elicitation.url))

    def log(self, level: str, text: str) -> None:
        """What a server logs goes to the calls under way: of one connection nobody can tell which of them it is about."""
        if level in LEVELS:
            for logged in list(self._hearing):
                logged(level, text)

    @contextlib.asynccontextmanager
    async def heard_by(self, logged: Callable[[str, str], None] | None) -> AsyncIterator[None]:
        """Tell `logged` what the server logs meanwhile."""
        if logged is None:
            yield
            return
        self._hearing.append(logged)
        try:
            try:
                yield
            finally:
                # What was read together with the answer is told by the session's own task, which has its turn now.
                await asyncio.sleep(0)
        finally:
            self._hearing.remove(logged)

    # --- being connected ----------------------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Whether nobody uses it or waits for it."""
        return self._waiting == 0 and not self.asking.locked() and (self._held is None or self._held.users == 0)

    async def attach(self) -> None:
        """Be connected and compared; where listings are not believed, by a new one."""
        if self._manifest <= 0:
            self._compared_at = None
        await self._ready(self._loop_time() + self._connect_time)

    async def acquire(self, until: float) -> Held:
        """The session, for one call; `until` in the loop's time. Raises `Fault`, and nothing was sent then."""
        held = await self._ready(until)
        held.users += 1
        self.used = self._clock.monotonic()
        return held

    def release(self, held: Held) -> None:
        """The call has ended."""
        held.users -= 1
        self.used = self._clock.monotonic()
        if held.retired and held.users == 0:
            self._close_beside(held.session)

    def retire(self, held: Held) -> None:
        """Use this session for no further call."""
        if self._held is held:
            self._held = None
        if not held.retired:
            held.retired = True
            if held.users == 0:
                self._close_beside(held.session)

    def reset(self) -> None:
        """The next call connects anew and reads the lists again (A9.19)."""
        self._compared_at = None
        if self._held is not None:
            self.retire(self._held)

    async def close(self) -> None:
        """Close what is open. Bounded; raises nothing."""
        self._closed = True
        opening, self._opening = self._opening, None
        if opening is not None:
            opening.cancel()
            await asyncio.wait([opening], timeout=CLOSING)
        held, self._held = self._held, None
        if held is not None and not held.retired:
            held.retired = True
            await closed(held.session)

    async def _ready(self, until: float) -> Held:
        """A session that lives, on a server whose definitions are those of the lock."""
        self._latest = max(self._latest, until)
        held = self._current()
        for _ in range(2):
            if held is not None:
                return self._checked(held)
            await self._opened(until)
            held = self._current()
        # The second opening began after this call did: a server that tells of changes without an end is believed as of then.
        held = self._held
        if held is None or held.session.closed is not None:
            raise self._fault(FaultKind.DISCONNECTED, "the connection ends as soon as it is made")
        return self._checked(held)

    def _current(self) -> Held | None:
        """The session, where it can be used as it is: alive, and compared recently enough."""
        held = self._held
        if held is None or held.session.closed is not None or self._outdated():
            return None
        return held

    def _outdated(self) -> bool:
        """Whether the lists have to be read (again). With no manifest kept at all, that is what `attach` does."""
        if not self._uses.definitions:
            return False
        if self._compared_at is None:
            return True
        return self._manifest > 0 and self._clock.monotonic() >= self._compared_at + self._manifest

    def _checked(self, held: Held) -> Held:
        if self._changed:
            raise refusal(self._uses, self._changed)
        return held

    async def _opened(self, until: float) -> None:
        """Wait for the one task that opens. Raises what it fails with."""
        if self._closed:
            raise self._fault(FaultKind.DISCONNECTED, "the connection was closed on this side")
        task = self._opening
        if task is None or task.done():
            task = self._opening = asyncio.create_task(self._open(), name=f"ael-mcp-{self._uses.server}")
            task.add_done_callback(_seen)
        self._waiting += 1
        try:
            await asyncio.wait([task], timeout=max(0.0, until - self._loop_time()))
        finally:
            self._waiting -= 1
            if self._waiting == 0:
                self._latest = 0.0
                if not task.done():
                    task.cancel()
                    self._opening = None
        if not task.done():
            raise self._fault(FaultKind.TIMEOUT, "it was not connected in time")
        if not task.cancelled() and (error := task.exception()) is not None:
            # One failure for all who waited: each gets an exception of its own.
            raise Fault(error.kind, error.message, **error.details) if isinstance(error, Fault) else error

    async def _open(self) -> None:
        held = self._held
        fresh = held is None or held.session.closed is not None
        if fresh:
            held = await self._replaced()
        assert held is not None
        if not self._outdated():
            return
        try:
            await self._compare(held)
        except McpError as error:
            lost = held.session.closed is not None or error.status == 404
            if fresh or not lost:
                raise self._fault_of(error) from None
            # The session of before is gone: opened again once (K23).
            held = await self._replaced()
            try:
                await self._compare(held)
            except McpError as again:
                raise self._fault_of(again) from None

    async def _replaced(self) -> Held:
        """A new session in place of the one before, whose lists nobody knows yet."""
        if self._held is not None:
            self.retire(self._held)
        attempt = 1
        while True:
            try:
                session = await self._opener(self, self._tenant, self._caller)
                break
            except McpError as error:
                fault = self._fault_of(error)
                if error.kind not in TEMPORARY or attempt > self._retries:
                    raise fault from None
                wait = wait_before(attempt, _BACKOFF, self._random, error.retry_after)
                if self._loop_time() + wait >= self._latest:
                    raise fault from None
                await self._clock.sleep(wait)
                attempt += 1
        self._held = Held(session)
        self._compared_at = None
        return self._held

    async def _compare(self, held: Held) -> None:
        """Read the lists that the program uses something of, and compare. A change that is told meanwhile counts as a new one."""
        before = self._compared_at = self._clock.monotonic()
        try:
            lists = {kind: await held.session.listing(_LISTS[kind], deadline=self._connect_time) for kind in self._uses.kinds}
        except BaseException:
            self._compared_at = None
            raise
        self._changed = compare(self._uses, lists)
        if self._compared_at == before:
            self._compared_at = self._clock.monotonic()

    # --- small things ---------------------------------------------------------------------------------------------------

    def _fault(self, kind: FaultKind, message: str) -> Fault:
        return Fault(kind, f"`{self._uses.server.rpartition('.')[2]}`: {message}", sent=False, server=self._uses.server)

    def _fault_of(self, error: McpError) -> Fault:
        """A connection that failed. Its attempts are used up, so the retries of a call do not multiply with them (K34)."""
        fault = self._fault(error.kind, error.message)
        for name in ("status", "code", "retry_after"):
            if (value := getattr(error, name)) is not None:
                fault.details[name] = value
        if self._retries > 0:
            fault.details["final"] = True
        return fault

    def _close_beside(self, session: Connected) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # a call that was dropped with its event loop: the connection has ended with it
        task = loop.create_task(closed(session))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @staticmethod
    def _loop_time() -> float:
        return asyncio.get_running_loop().time()


async def closed(session: Connected) -> None:
    """Close a session within a time, whatever it does (A9.23)."""
    with contextlib.suppress(Exception):
        async with asyncio.timeout(CLOSING):
            await session.close()


def _seen(task: asyncio.Task[None]) -> None:
    """Whoever waits raises what it failed with; when nobody does, it is of no interest."""
    if not task.cancelled():
        task.exception()
