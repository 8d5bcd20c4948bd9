"""What a server tells beside its protocols: what it counted, what it serves, and where the runs of a caller are.

    GET /metrics            for Prometheus; see below who may
    GET /contract           what can be called, with all types, for AEL's own clients (`ael.connect`)
    GET /runs/RUN           where a run of the caller is, where runs are kept
    GET /runs/RUN/events    what happens in it, live, without content; goes on after `Last-Event-ID`

Metrics are the operator's. With `listen = http(metrics: secret("SCRAPER"))` they are for whoever has that token. Without it they are there
only where no caller has to say who they are, on this machine alone.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from time import monotonic

from ael.data import dataclass
from ael.journal.durable import DurableStore, RunRow, StoreError
from ael.project.serving import CallerBinding, Serving
from ael.server.caller import Caller, Callers
from ael.server.guard import Guard, Receive, Refused, Scope, Send
from ael.server.metrics import TYPE, Metrics
from ael.server.stream import NotSeen, Streams, TooMany, seen, told_of
from ael.types.value import Secret

STORE_SECONDS = 2.0
"""How long the store of the runs has to answer while metrics are read."""
_FIRST = frozenset({"metrics", "contract", "runs"})


@dataclass(frozen=True)
class Sides:
    """`scrapers`: whose token reads metrics, None where nobody has to say who they are, empty where nobody may. `contract` gives its JSON
    text; `streams` there are where runs are kept."""

    metrics: Metrics
    scrapers: Callers | None
    contract: Callable[[], bytes] | None = None
    store: DurableStore | None = None
    streams: Streams | None = None

    def owns(self, path: str) -> bool:
        """Whether a path is one of these."""
        return path[1:].partition("/")[0] in _FIRST

    def close(self) -> None:
        """End what is told for long."""
        if self.streams is not None:
            self.streams.closing.set()

    async def serve(self, guard: Guard, headers: Mapping[str, list[str]], scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose host and origin are known."""
        try:
            await self._serve(guard, headers, scope, receive, send)
        except Refused as refused:
            more = tuple((name.encode(), value.encode("latin-1")) for name, value in refused.headers)
            await answer(send, refused.status, json.dumps({"error": refused.message}).encode(), *more)
        except StoreError:
            await answer(send, 503, b'{"error":"the store of the runs cannot be used"}', (b"retry-after", b"10"))

    async def _serve(self, guard: Guard, headers: Mapping[str, list[str]], scope: Scope, receive: Receive, send: Send) -> None:
        parts = str(scope["path"])[1:].split("/")
        if parts == ["metrics"] and self.scrapers is not None and not self.scrapers:
            raise Refused(404, "there is nothing here")
        if scope["method"] != "GET":
            raise Refused(405, "this is read with GET", (("allow", "GET"),))
        match parts:
            case ["metrics"]:
                if self.scrapers is not None:
                    guard.known(self.scrapers, headers)
                await answer(send, 200, (await counted(self.metrics, self.store)).encode(), kind=TYPE.encode())
            case ["contract"] if self.contract is not None:
                guard.who(headers)
                await answer(send, 200, self.contract())
            case ["runs", run] if self.store is not None:
                row = await self._own(guard.who(headers), run, self.store)
                await answer(send, 200, json.dumps(told_of(row)).encode())
            case ["runs", run, "events"] if self.store is not None and self.streams is not None:
                caller = guard.who(headers)
                await self._own(caller, run, self.store)
                await self._follow(caller, run, headers, scope, receive, send, self.streams)
            case _:
                guard.who(headers)
                raise Refused(404, "there is nothing here")

    async def _own(self, caller: Caller, run: str, store: DurableStore) -> RunRow:
        """A run of the caller: another's is not there."""
        row = await store.find(run)
        if row is None or (row.header.tenant, row.header.caller) != (caller.tenant, caller.name):
            raise Refused(404, f"there is no run {run[:100]} of yours")
        return row

    async def _follow(
        self,
        caller: Caller,
        run: str,
        headers: Mapping[str, list[str]],
        scope: Scope,
        receive: Receive,
        send: Send,
        streams: Streams,
    ) -> None:
        given = headers.get("last-event-id", [])
        try:
            after, ended = seen(given[0] if given else None)
            with streams.place(f"{caller.tenant}/{caller.name}"):
                await streams.send(run, after, ended, scope, receive, send)
        except NotSeen:
            raise Refused(400, "`Last-Event-ID` is the `id` of an event of this stream") from None
        except TooMany as full:
            raise Refused(503, str(full), (("retry-after", "10"),)) from None


async def counted(metrics: Metrics, store: DurableStore | None) -> str:
    """The metrics. Whoever looks first begins the count."""
    metrics.begin()
    if store is None:
        return metrics.text()
    began, seconds = monotonic(), float("inf")
    try:
        async with asyncio.timeout(STORE_SECONDS):
            await store.find("r0")
            seconds = monotonic() - began
    except (StoreError, TimeoutError):
        pass
    return metrics.text(seconds)


def scrapers_of(serving: Serving, secrets: Mapping[str, Secret]) -> Callers:
    """Who may read the metrics by a token of its own: nobody where the deployment names none. Raises `HostError` (AEL0875)."""
    named = serving.listen.metrics
    return Callers([CallerBinding("metrics", named)] if named else [], secrets)


async def answer(send: Send, status: int, body: bytes, *more: tuple[bytes, bytes], kind: bytes = b"application/json") -> None:
    """A whole answer."""
    headers = [
        (b"content-type", kind),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        *more,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
