"""A service or the nodes of a pack that run elsewhere, as a run calls them: through a breaker, in line, over kept connections.

It never sends a call twice, but where that does no harm on a connection that was found closed: retries belong to the run time, which
knows repeat safety (runtime.md, section 4).
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Literal, Protocol

from ael.net.address import AddressRules, Endpoint
from ael.net.client import Client, Target, Timeouts, header_line, target
from ael.net.failure import NetError, NetKind
from ael.net.response import Response
from ael.run.breaker import Breaker, Open, Thresholds
from ael.run.clock import SystemClock
from ael.run.placement import PlacedAnswer, PlacedCall
from ael.run.ports import Clock
from ael.run.slots import NoRoom, Slots
from ael.services.names import method
from ael.services.wire import MAX_ERROR, restored
from ael.types.fault import Fault, FaultKind
from ael.types.value import Secret

LONGEST = 600.0
"""Seconds of a call that nothing else limits: an answer is never waited for without end."""
_GRACE = 1.0
"""Seconds after its deadline that a call gets to be ended by the limit of its caller, which knows whose time was up."""
_QUEUE = 8
"""So many times the calls under way may wait in line."""
_ROOM = 64
_VERSION = "1"

_KINDS: Mapping[NetKind, FaultKind] = {
    NetKind.ADDRESS: FaultKind.UNAVAILABLE,
    NetKind.UNREACHABLE: FaultKind.UNAVAILABLE,
    NetKind.TLS: FaultKind.UNAVAILABLE,
    NetKind.TIMEOUT: FaultKind.TIMEOUT,
    NetKind.DISCONNECTED: FaultKind.DISCONNECTED,
    NetKind.TOO_LARGE: FaultKind.TOO_LARGE,
    NetKind.MALFORMED: FaultKind.MALFORMED,
}
_NOT_THERE = frozenset({NetKind.ADDRESS, NetKind.TOO_LARGE})
"""What says nothing of how the other side is."""
Verdict = Literal["good", "bad", "neither"]


@dataclass(frozen=True, slots=True)
class Policy:
    """What a deployment says of a placement: seconds to connect, calls under way at once (a zero refuses), and its breaker."""

    connect: float = 10.0
    concurrent: int = 64
    breaker: Thresholds = field(default_factory=Thresholds)


class Places(Protocol):
    """Where calls go."""

    async def place(self, key: str) -> Endpoint:
        """Where the call with this key goes. Raises `Fault` (`Unavailable`, not sent) where there is nowhere to go."""

    async def close(self) -> None:
        """End what was started for it."""


class Fixed:
    """One address."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    async def place(self, key: str) -> Endpoint:
        return self._endpoint

    async def close(self) -> None:
        """Nothing was started."""


class _Live:
    """What belongs to one event loop (K40)."""

    __slots__ = ("breakers", "loop", "slots")

    def __init__(self, loop: asyncio.AbstractEventLoop, policy: Policy) -> None:
        self.loop = loop
        self.breakers: dict[str, Breaker] = {}
        self.slots = Slots(policy.concurrent, _QUEUE * policy.concurrent)


class Remote:
    """Implements `Placement`: the methods of the service `name` (`desk.Orders`), at `places`.

    `token` says who asks. `tells`: the other side is this program's own, and hears for which tenant and caller it works.
    """

    def __init__(
        self,
        name: str,
        places: Places,
        policy: Policy | None = None,
        *,
        token: Secret | None = None,
        allowed: AddressRules | None = None,
        tls: ssl.SSLContext | None = None,
        client: Client | None = None,
        clock: Clock | None = None,
        secrets: Iterable[Secret] = (),
        protocol: str = "connect",
    ) -> None:
        self._name = name
        self._places = places
        self._policy = policy or Policy()
        self._token = token
        self._client = client or Client(allowed, secrets=[*secrets, *([token] if token is not None else [])], tls=tls)
        self._clock = clock or SystemClock()
        self._protocol = protocol
        self._targets: dict[tuple[Endpoint, str, bool, int], Target] = {}
        self._bound: _Live | None = None

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
        work = _Exchange(call, asyncio.get_running_loop().time() + seconds)
        try:
            async with asyncio.timeout(seconds + _GRACE):
                return await self._in_line(live, work, seconds)
        except TimeoutError:
            raise self._fault(call, FaultKind.TIMEOUT, "its turn did not come in time", sent=work.sent) from None
        except asyncio.CancelledError:
            # Whose limit cut it off is the same to the other side: it was too slow.
            if work.sent and asyncio.get_running_loop().time() >= work.until - _GRACE / 20:
                work.verdict = "bad"
            raise
        finally:
            breaker.end(passed, work.verdict)

    async def close(self) -> None:
        """Close the connections, and end what was started for it."""
        await self._client.close()
        await self._places.close()

    # --- one call -----------------------------------------------------------------------------------------------------

    async def _in_line(self, live: _Live, work: _Exchange, seconds: float) -> PlacedAnswer:
        """Take a place among the calls under way."""
        call = work.call
        if self._policy.concurrent <= 0:
            raise self._fault(call, FaultKind.UNAVAILABLE, "the deployment lets no call run", sent=False, final=True)
        try:
            async with live.slots:
                return await self._exchange(work)
        except NoRoom:
            message = f"{self._policy.concurrent} calls are under way and the line is full"
            raise self._fault(call, FaultKind.UNAVAILABLE, message, sent=False, retry_after=0.1) from None

    async def _exchange(self, work: _Exchange) -> PlacedAnswer:
        """The one request."""
        call, loop = work.call, asyncio.get_running_loop()
        endpoint = await self._places.place(call.context.key)
        left = work.until - loop.time()

        def going_out() -> None:
            work.sent = True
            call.context.sending(self._protocol)

        try:
            where = self._target(endpoint, call)
            headers = self._headers(call, left)
            response = await self._client.send(where, (call.body,), headers, deadline=left + _GRACE, going_out=going_out)
            try:
                body = await response.read()
            finally:
                response.close()
        except NetError as problem:
            work.verdict = "neither" if problem.kind in _NOT_THERE else "bad"
            raise self._fault(call, _KINDS[problem.kind], problem.message, sent=work.sent) from None
        return await self._answer(work, response, body)

    async def _answer(self, work: _Exchange, response: Response, body: bytes) -> PlacedAnswer:
        """What the answer says."""
        call = work.call
        if response.status == 200:
            if response.header(b"content-type").partition(";")[0].strip().lower() != "application/json":
                work.verdict = "bad"
                raise self._fault(call, FaultKind.MALFORMED, "the answer is no JSON", sent=True)
            work.verdict = "good"
            return PlacedAnswer(body, None, _taint(response), _attempts(response))
        ending, told = restored(response.status, body)
        kind = ending.get("kind")
        if not told:
            work.verdict = "bad"
            raise self._fault(call, FaultKind(str(kind)), str(ending.get("message")), sent=True, status=response.status)
        work.verdict = "neither" if kind == FaultKind.UNAVAILABLE else "good"
        if kind == FaultKind.TIMEOUT and work.until - asyncio.get_running_loop().time() < _GRACE:
            # The other side kept to this call's own deadline: whose it was is known here, in a moment.
            await asyncio.sleep(2 * _GRACE)
        return PlacedAnswer(None, ending, _taint(response), _attempts(response))

    # --- what it is made of --------------------------------------------------------------------------------------------

    def _live(self) -> _Live:
        loop = asyncio.get_running_loop()
        live = self._bound
        if live is None or live.loop is not loop:
            live = self._bound = _Live(loop, self._policy)
        return live

    def _target(self, endpoint: Endpoint, call: PlacedCall) -> Target:
        key = (endpoint, call.target, call.resend, call.most)
        found = self._targets.get(key)
        if found is None:
            if len(self._targets) >= _TARGETS:
                self._targets.clear()
            headers: dict[str, str | Secret] = {"content-type": "application/json", "connect-protocol-version": _VERSION}
            found = self._targets[key] = target(
                endpoint,
                f"/{self._name}/{method(call.target)}",
                headers,
                timeouts=Timeouts(self._policy.connect, LONGEST, LONGEST),
                resend=call.resend,
                max_bytes=max(call.most + _ROOM, MAX_ERROR),
            )
        return found

    def _headers(self, call: PlacedCall, left: float) -> list[str]:
        context = call.context
        given = {**context.headers, "connect-timeout-ms": str(max(1, int(left * 1000)))}
        if self._token is not None:
            given["authorization"] = f"Bearer {self._token.reveal()}"
        if call.attempts is not None:
            given["ael-attempts"] = str(call.attempts)
        if call.grants is not None:
            given["ael-grants"] = ",".join(call.grants) or "-"
        if call.via:
            given["ael-via"] = ",".join(call.via)
        given["ael-tenant"], given["ael-caller"] = _quoted(context.tenant), _quoted(context.caller)
        return [header_line(name, value) for name, value in given.items()]

    def _open(self, call: PlacedCall, passed: Open) -> Fault:
        if passed.wait is None:
            return self._fault(call, FaultKind.UNAVAILABLE, "the deployment lets no call through", sent=False, final=True)
        message = f"its circuit is open after {passed.failures} failures in a row; again in {passed.wait:.3g} s"
        return self._fault(
            call, FaultKind.UNAVAILABLE, message, sent=False, final=True, retry_after=round(passed.wait, 3)
        )  # fmt: skip

    def _fault(self, call: PlacedCall, kind: FaultKind, message: str, **details: object) -> Fault:
        return Fault(kind, f"`{self._name}.{call.target}`: {message}", **details)


@dataclass(slots=True)
class _Exchange:
    """A call under way. `until` in the loop's time."""

    call: PlacedCall
    until: float
    sent: bool = False
    verdict: Verdict = "neither"


_TARGETS = 1_000
_SAFE = frozenset(range(0x21, 0x7F)) - frozenset(b"%,")


def _quoted(text: str) -> str:
    """A name as a header carries it: percent-encoded where it has to be."""
    return "".join(chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))


def _taint(response: Response) -> frozenset[str] | None:
    """The outside data in an answer, where the other side says."""
    if b"ael-taint" not in response.headers:
        return None
    return frozenset(part for part in response.header(b"ael-taint").split(",") if part)


def _attempts(response: Response) -> int | None:
    given = response.header(b"ael-attempts")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else None
