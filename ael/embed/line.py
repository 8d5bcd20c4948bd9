"""What carries the calls of a client to its server: one request or several, as far as another does no harm.

A call has a key, so that a server of AEL makes it once. It is sent again when nothing of it went out, or when the server says that it never
began; after an answer that was lost only where the method may be repeated, whoever kept the key (services.md).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from ssl import SSLContext
from urllib.parse import urlsplit

from ael.data import dataclass
from ael.embed.error import OpenError
from ael.net.address import AddressRules, Endpoint, parse_endpoint, rules
from ael.net.client import Client, Target, Timeouts, header_line, target
from ael.net.failure import NetError, NetKind
from ael.services.contract import MethodContract
from ael.services.following import ACCEPT, MAX_STREAM, Followed, followed, streams
from ael.services.offered import MAX_CONTRACT, Offered, offered
from ael.services.wire import MAX_ERROR, restored
from ael.types.fault import FaultKind
from ael.types.portable import PortableError
from ael.types.signature import Repeat
from ael.types.value import Secret

MAX_RESULT = 16 * 1024 * 1024
"""Bytes of a result."""
GRACE = 1.0
"""Seconds beyond its deadline that an answer has to arrive, since the server keeps to that as well."""
_BASE, _MOST_WAIT = 0.2, 5.0
"""Seconds before a call is sent again: twice as many each time, and a part of it by chance."""
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_KINDS: Mapping[NetKind, FaultKind] = {
    NetKind.ADDRESS: FaultKind.UNAVAILABLE, NetKind.UNREACHABLE: FaultKind.UNAVAILABLE, NetKind.TLS: FaultKind.UNAVAILABLE,
    NetKind.TIMEOUT: FaultKind.TIMEOUT, NetKind.DISCONNECTED: FaultKind.DISCONNECTED, NetKind.TOO_LARGE: FaultKind.TOO_LARGE,
    NetKind.MALFORMED: FaultKind.MALFORMED,
}  # fmt: skip


def _unheard() -> None:
    """Nobody asks whether something went out."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One call: its method, the JSON of its arguments, its key, and until when in the loop's time. `told` hears what happens in it,
    `sending` that something of it goes out."""

    method: MethodContract
    body: bytes
    key: str
    until: float
    trace_parent: str | None = None
    told: Callable[[str, object], None] | None = None
    sending: Callable[[], None] = _unheard

    @property
    def repeatable(self) -> bool:
        """Whether a second time does no harm, even where the first is not known any more."""
        return self.method.repeat in (Repeat.IDEMPOTENT, Repeat.PURE)


@dataclass(frozen=True, slots=True)
class Answer:
    """The body of a result, or how the call ended (`outcome.to_json`). `lost`: nobody knows whether it was done."""

    run: str = ""
    body: bytes | None = None
    ending: Mapping[str, object] | None = None
    lost: bool = False


def place(url: str, *, plain: bool) -> tuple[Endpoint, AddressRules]:
    """Where a server is. Raises `OpenError`: no address, or one without TLS that is not on this machine."""
    try:
        host = (urlsplit(url).hostname or "").lower()
    except ValueError:
        host = ""
    note = "write `https://…`; `plain=True` takes `http://` of a network that nobody listens to"
    try:
        endpoint, listed = parse_endpoint(url, rules([host])), rules([host])
    except NetError as problem:
        raise OpenError("AEL0894", f"this is no address of a server: {problem.message}", note) from None
    if not (endpoint.tls or plain or host in _LOOPBACK):
        raise OpenError("AEL0894", f"this is no address of a server: `{host}` would be asked without TLS", note)
    return endpoint, listed


class Line:
    """The connections to one server. `attempts`: how often a call is sent at most."""

    def __init__(
        self, url: str, token: str | None, tls: SSLContext | None, *, plain: bool, attempts: int, connect: float
    ) -> None:
        self.endpoint, listed = place(url, plain=plain)
        self._token = None if token is None else Secret("token", token)
        known = [] if self._token is None else [self._token]
        self._client = Client(listed, secrets=known, tls=tls)
        self._attempts = attempts
        self._connect = connect
        self._targets: dict[tuple[str, bool, bool], Target] = {}

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def contract(self) -> Offered:
        """What the server offers. Raises `OpenError`."""
        try:
            status, body = await self._get("/contract", MAX_CONTRACT)
            if status == 200:
                return offered(body)
            said = {401: "it does not know the token", 403: "it does not go by this host", 404: "it tells no contract"}
            why = said.get(status, f"it answers with the status {status}")
        except NetError as problem:
            why = problem.message
        except PortableError as problem:
            why = f"its contract is of no use: {problem}"
        note = "`ael serve --connect` serves a program; a deployment with `caller` lines wants the token of one"
        raise OpenError("AEL0894", f"the server at {self.endpoint.origin} cannot be asked: {why}", note)

    async def ready(self) -> bool:
        """Whether the server takes calls now."""
        try:
            return (await self._get("/readyz", MAX_ERROR))[0] == 200
        except NetError:
            return False

    async def ask(self, asked: Asked) -> Answer:
        """Call, and call again where that does no harm. Never raises for what the network or the server does."""
        loop, attempt = asyncio.get_running_loop(), 0
        while True:
            attempt += 1
            answer, wait = await self._once(asked)
            if wait is None or attempt >= self._attempts:
                return answer
            wait = max(wait, min(_MOST_WAIT, _BASE * 2 ** (attempt - 1)) * (0.5 + random.random() / 2))
            if loop.time() + wait >= asked.until:
                return answer
            await asyncio.sleep(wait)

    async def _once(self, asked: Asked) -> tuple[Answer, float | None]:
        """One request: its answer, and the least seconds before another; None where there may be none."""
        sent = False

        def going_out() -> None:
            nonlocal sent
            sent = True
            asked.sending()

        try:
            found = await self._exchange(asked, going_out)
        except NetError as problem:
            lost = Answer(ending=_fault(_KINDS[problem.kind], problem.message), lost=sent)
            if problem.kind in (NetKind.ADDRESS, NetKind.TOO_LARGE):
                return lost, None
            return lost, 0.0 if asked.repeatable or not sent else None
        run = found.run or ""
        if found.status == 200:
            return Answer(run, found.body), None
        ending, told = restored(found.status, found.body)
        if not told:
            return Answer(run, None, ending, lost=True), 0.0 if asked.repeatable else None
        return Answer(run, None, ending), _again(ending, began=bool(run), repeatable=asked.repeatable)

    async def _exchange(self, asked: Asked, going_out: Callable[[], None]) -> Followed:
        left = asked.until - asyncio.get_running_loop().time()
        if left <= 0:
            raise NetError(NetKind.TIMEOUT, "no time was left to ask")
        given = {"idempotency-key": asked.key, "connect-timeout-ms": str(max(1, int(left * 1000)))}
        if asked.trace_parent is not None:
            given["traceparent"] = asked.trace_parent
        where = self._target(asked.method.path, resend=asked.repeatable, events=asked.told is not None)
        lines = [header_line(name, value) for name, value in given.items()]
        response = await self._client.send(where, (asked.body,), lines, deadline=left + GRACE, going_out=going_out)
        try:
            if asked.told is not None and streams(response):
                found = await followed(response, asked.told, MAX_RESULT)
                response.close(drain=True)
                return found
            body = await response.read()
        finally:
            response.close()
        if len(body) > MAX_RESULT:
            raise NetError(NetKind.TOO_LARGE, "the answer is longer than allowed", sent=True, received=True)
        kind = response.header(b"content-type").partition(";")[0].strip().lower()
        if response.status == 200 and kind != "application/json":
            raise NetError(NetKind.MALFORMED, "the answer is no JSON", sent=True, received=True)
        return Followed(response.status, body, response.header(b"ael-run") or None, None, None)

    async def _get(self, path: str, most: int) -> tuple[int, bytes]:
        """Read something. Raises `NetError`."""
        where = target(self.endpoint, path, self._own({}), method="GET", timeouts=self._times(30.0), resend=True, max_bytes=most)
        response = await self._client.send(where, deadline=60.0)
        try:
            return response.status, await response.read()
        finally:
            response.close()

    def _target(self, path: str, *, resend: bool, events: bool) -> Target:
        key = (path, resend, events)
        found = self._targets.get(key)
        if found is None:
            headers: dict[str, str | Secret] = {"content-type": "application/json", "connect-protocol-version": "1"}
            if events:
                headers["accept"] = ACCEPT
            found = self._targets[key] = target(
                self.endpoint, path, self._own(headers), timeouts=self._times(_LONGEST), resend=resend,
                max_bytes=MAX_RESULT + (MAX_STREAM if events else 0),
            )  # fmt: skip
        return found

    def _own(self, headers: dict[str, str | Secret]) -> dict[str, str | Secret]:
        if self._token is not None:
            headers["authorization"] = Secret("token", f"Bearer {self._token.reveal()}")
        return headers

    def _times(self, seconds: float) -> Timeouts:
        return Timeouts(self._connect, seconds, seconds)


_LONGEST = 24 * 3_600.0
"""Seconds; the deadline of a call ends it before."""


def _again(ending: Mapping[str, object], *, began: bool, repeatable: bool) -> float | None:
    """The seconds before a call may be sent again that the server itself refused or ended; None where it may not."""
    details = ending.get("details")
    given = details if isinstance(details, Mapping) else {}
    if ending.get("kind") != FaultKind.UNAVAILABLE or given.get("final") or (began and not repeatable):
        return None
    after = given.get("retry_after")
    return max(0.0, after) if isinstance(after, int | float) else 0.0


def _fault(kind: FaultKind, message: str) -> dict[str, object]:
    return {"outcome": "fault", "kind": kind.value, "message": message, "details": {}}
