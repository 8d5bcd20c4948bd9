"""A service or the nodes of a pack that run elsewhere, called over the Connect protocol on kept connections."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable, Mapping
from typing import Protocol

from ael.net.address import AddressRules, Endpoint
from ael.net.client import Client, Target, Timeouts, header_line, target
from ael.net.failure import NetError, NetKind
from ael.net.response import Response
from ael.run.placement import PlacedAnswer, PlacedCall
from ael.run.ports import Clock
from ael.services.elsewhere import GRACE, LONGEST, Elsewhere, Exchange, Policy, attempts_of, taint_of
from ael.services.following import ACCEPT, MAX_STREAM, Followed, followed, streams
from ael.services.names import method
from ael.services.wire import MAX_ERROR, restored
from ael.types.fault import FaultKind
from ael.types.value import Secret

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


class Remote(Elsewhere):
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
        super().__init__(name, policy, token=token, clock=clock, protocol=protocol)
        self.own = protocol == "process"
        self._places = places
        self._client = client or Client(allowed, secrets=[*secrets, *([token] if token is not None else [])], tls=tls)
        self._targets: dict[tuple[Endpoint, str, bool, int, bool], Target] = {}

    # --- the port -----------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Close the connections, and end what was started for it."""
        await self._client.close()
        await self._places.close()

    async def _exchange(self, work: Exchange) -> PlacedAnswer:
        """The one request."""
        call, loop = work.call, asyncio.get_running_loop()
        most = max(call.most + _ROOM, MAX_ERROR)
        endpoint = await self._places.place(call.context.key)
        left = work.until - loop.time()

        def going_out() -> None:
            work.sent = True
            call.context.sending(self._protocol)

        try:
            where = self._target(endpoint, call)
            headers = self._lines(call, left)
            response = await self._client.send(where, (call.body,), headers, deadline=left + GRACE, going_out=going_out)
            try:
                if call.watch is not None and streams(response):
                    found = await followed(response, call.watch, most)
                    response.close(drain=True)
                    return await self._ended(work, found)
                body = await response.read()
            finally:
                response.close()
            if len(body) > most:
                raise NetError(NetKind.TOO_LARGE, "the answer is longer than allowed", sent=True, received=True)
        except NetError as problem:
            work.verdict = "neither" if problem.kind in _NOT_THERE else "bad"
            raise self._fault(call, _KINDS[problem.kind], problem.message, sent=work.sent) from None
        return await self._answer(work, response, body)

    async def _answer(self, work: Exchange, response: Response, body: bytes) -> PlacedAnswer:
        """What the answer says."""
        if response.status == 200 and response.header(b"content-type").partition(";")[0].strip().lower() != "application/json":
            work.verdict = "bad"
            raise self._fault(work.call, FaultKind.MALFORMED, "the answer is no JSON", sent=True)
        return await self._ended(work, Followed(response.status, body, None, _taint(response), _attempts(response)))

    async def _ended(self, work: Exchange, found: Followed) -> PlacedAnswer:
        """The same, however it came."""
        if found.status == 200:
            work.verdict = "good"
            return PlacedAnswer(found.body, None, found.taint, found.attempts)
        ending, told = restored(found.status, found.body)
        if not told:
            work.verdict = "bad"
            raise self._fault(
                work.call, FaultKind(str(ending.get("kind"))), str(ending.get("message")), sent=True, status=found.status
            )  # fmt: skip
        return await self._told(work, ending, told=True, taint=found.taint, attempts=found.attempts)

    # --- what it is made of --------------------------------------------------------------------------------------------

    def _target(self, endpoint: Endpoint, call: PlacedCall) -> Target:
        key = (endpoint, call.target, call.resend, call.most, call.watch is not None)
        found = self._targets.get(key)
        if found is None:
            if len(self._targets) >= _TARGETS:
                self._targets.clear()
            headers: dict[str, str | Secret] = {"content-type": "application/json", "connect-protocol-version": _VERSION}
            most = max(call.most + _ROOM, MAX_ERROR)
            if call.watch is not None:
                headers["accept"] = ACCEPT
                most += MAX_STREAM
            found = self._targets[key] = target(
                endpoint,
                f"/{self._name}/{method(call.target)}",
                headers,
                timeouts=Timeouts(self._policy.connect, LONGEST, LONGEST),
                resend=call.resend,
                max_bytes=most,
            )
        return found

    def _lines(self, call: PlacedCall, left: float) -> list[str]:
        given = {**self._headers(call), "connect-timeout-ms": str(max(1, int(left * 1000)))}
        return [header_line(name, value) for name, value in given.items()]


_TARGETS = 1_000


def _taint(response: Response) -> frozenset[str] | None:
    """The outside data in an answer, where the other side says."""
    if b"ael-taint" not in response.headers:
        return None
    return taint_of(response.header(b"ael-taint"))


def _attempts(response: Response) -> int | None:
    return attempts_of(response.header(b"ael-attempts"))
