"""An MCP server as a run uses it: connections by tenant and caller, a breaker for each tool, limits, and what a failed call ends with.

It never sends a call twice: retries belong to the run time, which knows repeat safety (runtime.md, section 4).
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Literal

from ael.mcp.failure import McpError
from ael.mcp.lane import CLOSING, Held, Lane
from ael.mcp.manifest import Uses
from ael.mcp.port import Opener
from ael.mcp.question import Ask, Questions
from ael.mcp.uri import expanded, plain
from ael.mcp.version import META_LOG_LEVEL, stateless
from ael.run.breaker import Breaker, Open, Thresholds
from ael.run.clock import SystemClock
from ael.run.ports import CallContext, Clock, RemoteAnswer
from ael.run.slots import NoRoom, Slots
from ael.types.fault import Fault, FaultKind
from ael.types.spec import RemoteSpec

LANES = 64
"""Connections to one server; beyond, the one that was idle for longest is closed."""
LONGEST = 600.0
"""Seconds of a call where neither program nor deployment limits it: a read timeout is always set."""
_GRACE = 1.0
"""Seconds after its deadline that a session gets to say itself that the time is up."""
_SLACK = 0.05
"""Seconds by which the caller's limit may be sooner."""
_BAD = frozenset({FaultKind.TIMEOUT, FaultKind.DISCONNECTED, FaultKind.UNAVAILABLE, FaultKind.MALFORMED})


@dataclass(frozen=True, slots=True)
class Policy:
    """What a deployment says of a server. Seconds and counts; a zero refuses, except that a `manifest` of zero is never believed."""

    connect: float = 60.0
    timeout: float | None = None
    idle: float | None = None
    concurrent: int = 8
    retries: int = 2
    manifest: float = 300.0
    elicitation: bool = False
    breaker: Thresholds = field(default_factory=Thresholds)


class _Live:
    """What belongs to one event loop (K40)."""

    __slots__ = ("breakers", "lanes", "loop", "slots", "tasks")

    def __init__(self, loop: asyncio.AbstractEventLoop, policy: Policy) -> None:
        self.loop = loop
        self.lanes: dict[tuple[str, str], Lane] = {}
        self.breakers: dict[tuple[str, str], Breaker] = {}
        self.slots = Slots(policy.concurrent, 8 * policy.concurrent)
        self.tasks: set[asyncio.Task[None]] = set()


class Remote:
    """Implements `RemoteServer`. Everything that it is made of stays as it was when it was made (A9.16)."""

    def __init__(
        self,
        uses: Uses,
        opener: Opener,
        policy: Policy | None = None,
        clock: Clock | None = None,
        seed: random.Random | None = None,
    ) -> None:
        self._uses = uses
        self._short = uses.server.rpartition(".")[2]
        self._opener = opener
        self._policy = policy or Policy()
        self._clock = clock or SystemClock()
        self._random = (seed or random.Random()).random
        self._bound: _Live | None = None

    # --- the port -----------------------------------------------------------------------------------------------------

    async def attach(self, tenant: str, caller: str) -> None:
        """Be connected for them, every definition that the program uses equal to its pin. Raises `Fault`; nothing was sent."""
        await self._lane(tenant, caller).attach()

    async def call(self, spec: RemoteSpec, arguments: Mapping[str, object], call: CallContext, ask: Ask | None) -> RemoteAnswer:
        """Call a tool, read a resource, get a prompt. Raises `Fault` with the detail `sent`."""
        seconds = self._seconds(call)
        if seconds <= 0:
            raise self._fault(spec, FaultKind.TIMEOUT, "no time was left to call it", sent=False)
        work = _Call(spec, arguments, call, ask if self._policy.elicitation else None)
        # A session says itself when the time is up; this limit is for one that does not, and stands still while a person is asked.
        try:
            async with asyncio.timeout(seconds if work.ask is not None else seconds + _GRACE) as limit:
                work.until = asyncio.get_running_loop().time() + seconds
                return await self._guarded(work, limit)
        except TimeoutError:
            message = "it did not answer in time" if work.sent else "its turn did not come in time"
            raise self._fault(spec, FaultKind.TIMEOUT, message, sent=work.sent) from None

    async def close(self) -> None:
        """Close every connection, all at once. Bounded; raises nothing."""
        live, self._bound = self._bound, None
        if live is None or live.loop is not asyncio.get_running_loop():
            return
        closing = [asyncio.ensure_future(lane.close()) for lane in live.lanes.values()]
        open_tasks = [*closing, *live.tasks]
        if open_tasks:
            _, left = await asyncio.wait(open_tasks, timeout=2 * CLOSING)
            for task in left:
                task.cancel()

    def reconnect(self) -> None:
        """The next call connects anew, and reads the definitions again; calls under way end as they would (A9.19)."""
        if self._bound is not None:
            for lane in self._bound.lanes.values():
                lane.reset()

    # --- one call -----------------------------------------------------------------------------------------------------

    async def _guarded(self, work: _Call, limit: asyncio.Timeout) -> RemoteAnswer:
        """Through the breaker, in line, on a connection."""
        breaker = self._breaker(work.spec)
        passed = breaker.admit()
        if isinstance(passed, Open):
            details: dict[str, object] = {} if passed.wait is None else {"retry_after": round(passed.wait, 3)}
            after = (
                f"its circuit is open after {passed.failures} failures in a row; again in {passed.wait:.3g} s"
                if passed.wait
                else ""
            )
            raise self._fault(
                work.spec,
                FaultKind.UNAVAILABLE,
                after or "the deployment lets no call through",
                sent=False,
                final=True,
                **details,
            )
        outcome: Literal["good", "bad", "neither"] = "neither"
        try:
            async with self._turn(work):
                lane = self._lane(work.context.tenant, work.context.caller)
                async with self._asked(lane, work, limit):
                    try:
                        held = await lane.acquire(work.until)
                    except Fault as fault:
                        outcome = _verdict(fault.kind, fault.details.get("status"))
                        raise
                    try:
                        async with lane.heard_by(work.context.logged):
                            answer = await self._sent(held, work)
                        outcome = "good"
                        return answer
                    except McpError as error:
                        outcome = _verdict(error.kind, error.status)
                        if held.session.closed is not None or error.status == 404:
                            lane.retire(held)
                        raise self._fault_of(work.spec, error) from None
                    finally:
                        lane.release(held)
        except asyncio.CancelledError:
            # Whose limit cut it off, the caller's or this one's, is the same to the server: it was too slow.
            if work.sent and (limit.expired() or asyncio.get_running_loop().time() >= work.until - _SLACK):
                outcome = "bad"
            raise
        finally:
            breaker.end(passed, outcome)

    @contextlib.asynccontextmanager
    async def _turn(self, work: _Call) -> AsyncIterator[None]:
        """A place among the calls that run at once."""
        if self._policy.concurrent <= 0:
            raise self._fault(work.spec, FaultKind.UNAVAILABLE, "the deployment lets no call run", sent=False, final=True)
        slots = self._live().slots
        try:
            async with slots:
                yield
        except NoRoom:
            message = f"{self._policy.concurrent} calls run and the line is full"
            raise self._fault(work.spec, FaultKind.UNAVAILABLE, message, sent=False, retry_after=0.1) from None

    @contextlib.asynccontextmanager
    async def _asked(self, lane: Lane, work: _Call, limit: asyncio.Timeout) -> AsyncIterator[None]:
        """Let the server ask during this call: one such call at a time on a connection."""
        if work.ask is None:
            yield
            return
        async with lane.asking:
            questions = lane.questions = Questions(work.ask, limit)
            try:
                yield
            finally:
                lane.questions = None
                questions.end()
            if questions.error is not None:
                raise questions.error

    async def _sent(self, held: Held, work: _Call) -> RemoteAnswer:
        """The one request of a call."""
        session, spec, context = held.session, work.spec, work.context
        # With a person in between, the pausable limit around this counts; the session's own deadline does not stand still.
        left = LONGEST * 1000 if work.ask is not None else max(0.001, work.until - asyncio.get_running_loop().time())
        meta = {"idempotencyKey": context.key, "traceparent": context.trace_parent}
        if context.logged is not None and stateless(session.protocol):
            # Said for each request in this era, else a server logs nothing.
            meta[META_LOG_LEVEL] = "info"
        work.sent = True
        context.sending(session.protocol)
        match spec.kind:
            case "tool":
                idle = self._policy.idle
                return await session.call(
                    spec.wire, work.arguments, meta=meta, deadline=left, idle=idle, on_progress=context.progress
                )
            case "resource":
                return await session.read(expanded(spec.wire, work.arguments), meta=meta, deadline=left)
            case "prompt":
                given = {name: plain(value) for name, value in work.arguments.items()}
                return await session.prompt(spec.wire, given, meta=meta, deadline=left)

    # --- what it is made of --------------------------------------------------------------------------------------------

    def _seconds(self, call: CallContext) -> float:
        """How long a call may take: what is left to its caller, and what the deployment allows."""
        left = call.deadline - self._clock.now() if call.deadline != inf else inf
        return min(left, LONGEST if self._policy.timeout is None else self._policy.timeout)

    def _live(self) -> _Live:
        loop = asyncio.get_running_loop()
        live = self._bound
        if live is None or live.loop is not loop:
            live = self._bound = _Live(loop, self._policy)
        return live

    def breakers(self) -> Mapping[str, str]:
        """What was called, by its name there -> the state of its breaker."""
        return {} if self._bound is None else {name: breaker.state for (_, name), breaker in self._bound.breakers.items()}

    def _breaker(self, spec: RemoteSpec) -> Breaker:
        breakers = self._live().breakers
        key = (spec.kind, spec.wire)
        if key not in breakers:
            breakers[key] = Breaker(self._clock, self._policy.breaker)
        return breakers[key]

    def _lane(self, tenant: str, caller: str) -> Lane:
        """The connection of a tenant's caller. Where there are too many, the one idle for longest makes room."""
        live = self._live()
        key = (tenant, caller)
        lane = live.lanes.get(key)
        if lane is not None:
            return lane
        if len(live.lanes) >= LANES:
            idle = [(one.used, other) for other, one in live.lanes.items() if one.idle]
            if not idle:
                message = f"`{self._short}`: {LANES} connections are in use"
                raise Fault(FaultKind.UNAVAILABLE, message, sent=False, retry_after=1.0, server=self._uses.server)
            gone = live.lanes.pop(min(idle)[1])
            task = asyncio.create_task(gone.close())
            live.tasks.add(task)
            task.add_done_callback(live.tasks.discard)
        policy = self._policy
        lane = live.lanes[key] = Lane(
            self._uses,
            self._opener,
            tenant,
            caller,
            self._clock,
            self._random,
            policy.retries,
            policy.manifest,
            policy.connect,
            live.tasks,
        )
        return lane

    def _fault(self, spec: RemoteSpec, kind: FaultKind, message: str, **details: object) -> Fault:
        return Fault(kind, f"`{self._short}`, {spec.kind} {spec.wire[:200]}: {message}", server=self._uses.server, **details)

    def _fault_of(self, spec: RemoteSpec, error: McpError) -> Fault:
        details: dict[str, object] = {"sent": error.sent}
        for name in ("status", "code", "retry_after"):
            if (value := getattr(error, name)) is not None:
                details[name] = value
        return self._fault(spec, error.kind, error.message, **details)


@dataclass
class _Call:
    """A call under way. `until` in the loop's time; `sent`: it was handed to a session."""

    spec: RemoteSpec
    arguments: Mapping[str, object]
    context: CallContext
    ask: Ask | None
    until: float = 0.0
    sent: bool = False


def _verdict(kind: FaultKind, status: object) -> Literal["bad", "neither"]:
    """Whether a failure is the server's: what it refuses (a status of 4xx) is not (K45)."""
    refused = isinstance(status, int) and 400 <= status < 500
    return "bad" if kind in _BAD and not refused else "neither"
