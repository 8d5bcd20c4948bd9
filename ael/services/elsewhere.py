"""What calls to another place have in common, whatever carries them: deadlines, a breaker for each operation, a bounded line.

It never sends a call twice, but where that does no harm on a connection that was found closed: retries belong to the run time, which
knows repeat safety (runtime.md, section 4).
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Literal

from ael.run.breaker import Breaker, Open, Thresholds
from ael.run.clock import SystemClock
from ael.run.placement import PlacedAnswer, PlacedCall
from ael.run.ports import Clock
from ael.run.slots import NoRoom, Slots
from ael.types.fault import Fault, FaultKind
from ael.types.value import Secret

LONGEST = 600.0
"""Seconds of a call that nothing else limits: an answer is never waited for without end."""
GRACE = 1.0
"""Seconds after its deadline that a call gets to be ended by the limit of its caller, which knows whose time was up."""
_QUEUE = 8
"""So many times the calls under way may wait in line."""
Verdict = Literal["good", "bad", "neither"]


@dataclass(frozen=True, slots=True)
class Policy:
    """What a deployment says of a placement: seconds to connect, calls under way at once (a zero refuses), and its breaker."""

    connect: float = 10.0
    concurrent: int = 64
    breaker: Thresholds = field(default_factory=Thresholds)


class _Live:
    """What belongs to one event loop (K40)."""

    __slots__ = ("breakers", "loop", "slots")

    def __init__(self, loop: asyncio.AbstractEventLoop, policy: Policy) -> None:
        self.loop = loop
        self.breakers: dict[str, Breaker] = {}
        self.slots = Slots(policy.concurrent, _QUEUE * policy.concurrent)


@dataclass(slots=True)
class Exchange:
    """A call under way. `until` in the loop's time."""

    call: PlacedCall
    until: float
    sent: bool = False
    verdict: Verdict = "neither"


class Elsewhere(ABC):
    """Implements `Placement` but for the one exchange. `name` is the service there (`desk.Orders`); `token` says who asks."""

    keeps = False
    own = False

    def __init__(self, name: str, policy: Policy | None, *, token: Secret | None, clock: Clock | None, protocol: str) -> None:
        self._name = name
        self._policy = policy or Policy()
        self._token = token
        self._clock = clock or SystemClock()
        self._protocol = protocol
        self._bound: _Live | None = None

    @abstractmethod
    async def close(self) -> None:
        """Close the connections, and end what was started for it."""

    @abstractmethod
    async def _exchange(self, work: Exchange) -> PlacedAnswer:
        """The one request. Tells `sent` before bytes go out, and the verdict. Raises `Fault`."""

    def breakers(self) -> Mapping[str, str]:
        """Operation -> the state of its breaker, of those that were called."""
        return {} if self._bound is None else {name: breaker.state for name, breaker in self._bound.breakers.items()}

    # --- the port -----------------------------------------------------------------------------------------------------

    async def call(self, call: PlacedCall) -> PlacedAnswer:
        """Carry one attempt. Raises `Fault` with the detail `sent`."""
        seconds = min(LONGEST, inf if call.context.deadline == inf else call.context.deadline - self._clock.now())
        if seconds <= 0:
            raise self._fault(call, FaultKind.TIMEOUT, "no time was left to call it", sent=False)
        live = self._live()
        breaker = live.breakers.get(call.target)
        if breaker is None:
            breaker = live.breakers[call.target] = Breaker(self._clock, self._policy.breaker)
        passed = breaker.admit()
        if isinstance(passed, Open):
            raise self._open(call, passed)
        work = Exchange(call, asyncio.get_running_loop().time() + seconds)
        try:
            async with asyncio.timeout(seconds + GRACE):
                return await self._in_line(live, work, seconds)
        except TimeoutError:
            raise self._fault(call, FaultKind.TIMEOUT, "its turn did not come in time", sent=work.sent) from None
        except asyncio.CancelledError:
            # Whose limit cut it off is the same to the other side: it was too slow.
            if work.sent and asyncio.get_running_loop().time() >= work.until - GRACE / 20:
                work.verdict = "bad"
            raise
        finally:
            breaker.end(passed, work.verdict)

    # --- one call -----------------------------------------------------------------------------------------------------

    async def _in_line(self, live: _Live, work: Exchange, seconds: float) -> PlacedAnswer:
        """Take a place among the calls under way."""
        call = work.call
        if self._policy.concurrent <= 0:
            raise self._fault(call, FaultKind.UNAVAILABLE, "the deployment lets no call run", sent=False, final=True)
        try:
            async with live.slots:
                return await self._exchange(work)
        except NoRoom:
            message = f"{self._policy.concurrent} calls are under way and the line is full"
            raise self._fault(call, FaultKind.UNAVAILABLE, message, sent=False, began=False, retry_after=0.1) from None

    async def _told(
        self, work: Exchange, ending: Mapping[str, object], *, told: bool, taint: frozenset[str] | None, attempts: int | None
    ) -> PlacedAnswer:
        """What another ending than a value means. Raises `Fault` where nobody knows what was done."""
        kind = ending.get("kind")
        late = kind == FaultKind.TIMEOUT and work.until - asyncio.get_running_loop().time() < GRACE
        if not told:
            work.verdict = "bad"
        else:
            work.verdict = "neither" if kind == FaultKind.UNAVAILABLE else "good"
        if late:
            # The other side kept to this call's own deadline: whose it was is known here, in a moment.
            await asyncio.sleep(2 * GRACE)
        if not told:
            raise self._fault(work.call, FaultKind(str(kind)), str(ending.get("message")), sent=True)
        return PlacedAnswer(None, ending, taint, attempts)

    # --- what it is made of --------------------------------------------------------------------------------------------

    def _live(self) -> _Live:
        loop = asyncio.get_running_loop()
        live = self._bound
        if live is None or live.loop is not loop:
            live = self._bound = _Live(loop, self._policy)
        return live

    def _headers(self, call: PlacedCall) -> dict[str, str]:
        """What goes along with a call, in whatever stands before it."""
        context = call.context
        given = dict(context.headers)
        if self._token is not None:
            given["authorization"] = f"Bearer {self._token.reveal()}"
        if call.attempts is not None:
            given["ael-attempts"] = str(call.attempts)
        if call.grants is not None:
            given["ael-grants"] = ",".join(call.grants) or "-"
        if call.handed:
            given["ael-given"] = _quoted(call.handed)
        if call.via:
            given["ael-via"] = ",".join(call.via)
        given["ael-tenant"], given["ael-caller"] = _quoted(context.tenant), _quoted(context.caller)
        return given

    def _open(self, call: PlacedCall, passed: Open) -> Fault:
        if passed.wait is None:
            return self._fault(call, FaultKind.UNAVAILABLE, "the deployment lets no call through", sent=False, final=True)
        message = f"its circuit is open after {passed.failures} failures in a row; again in {passed.wait:.3g} s"
        return self._fault(
            call, FaultKind.UNAVAILABLE, message, sent=False, final=True, retry_after=round(passed.wait, 3)
        )  # fmt: skip

    def _fault(self, call: PlacedCall, kind: FaultKind, message: str, **details: object) -> Fault:
        return Fault(kind, f"`{self._name}.{call.target}`: {message}", **details)


_SAFE = frozenset(range(0x21, 0x7F)) - frozenset(b"%,")


def _quoted(text: str) -> str:
    """A name as a header carries it: percent-encoded where it has to be."""
    return "".join(chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))


def taint_of(told: str | None) -> frozenset[str] | None:
    """The outside data in an answer, None where the other side does not say."""
    return None if told is None else frozenset(part for part in told.split(",") if part)


def attempts_of(told: str) -> int | None:
    """The retries that are left, where the other side says."""
    return int(told) if told.isascii() and told.isdigit() and len(told) < 10 else None
