"""Deciding over HTTP: what waits for a person, and the person's word, by callers that the deployment names (`ael worker --decide PORT`).

    GET  /approvals           what waits in runs of the caller's tenant
    GET  /runs/RUN            where a run is, without its content
    GET  /runs/RUN/events     what happens in it, live, without content (server-sent events)
    POST /runs/RUN/decision   {"approved": true, "reason": "…", "arguments": {…}, "step": "…"}; all but `approved` may be left out
                              (a question of the program's, which `/approvals` shows with its `question`: `arguments` are the answer)
    GET  /metrics             what this process counted, for the token of `listen = http(metrics: secret("SCRAPER"))`

The caller's name is who decides, so it has to be a member of the role; `local` stands for nobody here. Another tenant's run is not there.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import uvicorn

from ael.data import dataclass, field
from ael.durable.decide import DecideError, Open, asked_json, decide, find, waiting
from ael.journal.durable import DurableStore, RunRow, StoreError
from ael.run.masker import Masker
from ael.server.caller import Caller, Callers
from ael.server.connection import Connection
from ael.server.guard import Receive, Scope, Send
from ael.server.listener import Server
from ael.server.metrics import TYPE, Metrics
from ael.server.sides import answer, counted
from ael.server.stream import NotSeen, Streams, TooMany, seen, told_of
from ael.types.json import JsonError, read

MAX_BODY = 256 * 1024
BODY_SECONDS = 20.0
"""How long a request's body may take to arrive."""
_SEEN = 10_000
"""Readers and runs that are remembered."""
_WORDS = frozenset({"approved", "reason", "arguments", "step"})


class _Refused(Exception):
    def __init__(self, status: int, message: str, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers


@dataclass(frozen=True)
class Desk:
    """The ASGI application. `limit`: the seconds that a person has; `decided` is called after each decision, `now` gives the time.

    `masker` masks what is shown; what is called is what was proposed. `seen`: who has read the approvals of which run from here.
    """

    store: DurableStore
    callers: Callers
    members: Mapping[str, Sequence[str]]
    limit: float | None
    now: Callable[[], float]
    decided: Callable[[], None]
    streams: Streams
    masker: Masker = field(default_factory=lambda: Masker(()))
    seen: set[tuple[str, str]] = field(default_factory=set)
    metrics: Metrics | None = None
    scrapers: Callers = field(default_factory=lambda: Callers((), {}))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        more: tuple[tuple[bytes, bytes], ...] = ()
        try:
            path = str(scope["path"]).strip("/").split("/")
            if path == ["metrics"] and scope["method"] == "GET" and self.metrics is not None:
                self._who(scope, self.scrapers)
                await answer(send, 200, (await counted(self.metrics, self.store)).encode(), kind=TYPE.encode())
                return
            caller = self._who(scope, self.callers)
            if scope["method"] == "GET" and len(path) == 3 and (path[0], path[2]) == ("runs", "events"):
                await self._follow(caller, path[1], scope, receive, send)
                return
            status, told = 200, await self._answer(caller, path, scope, receive)
        except _Refused as refused:
            status, told, more = refused.status, {"error": refused.message}, refused.headers
        except DecideError as error:
            status, told = 409, {"error": error.message}
        except StoreError:
            status, told = 503, {"error": "the store of the runs cannot be used"}
        data = json.dumps(told, ensure_ascii=False, default=str).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(data)).encode()),
            (b"cache-control", b"no-store"),
            *more,
        ]
        if status == 401:
            headers.append((b"www-authenticate", b'Bearer realm="ael"'))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": data})

    def _who(self, scope: Scope, known: Callers) -> Caller:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        caller = known.of(given[0].decode("latin-1")) if len(given) == 1 else None
        if caller is None:
            raise _Refused(401, "say who you are: `Authorization: Bearer TOKEN`")
        return caller

    async def _answer(self, caller: Caller, path: list[str], scope: Scope, receive: Receive) -> object:
        match (scope["method"], path):
            case ("GET", ["approvals"]):
                found = await waiting(self.store, tenant=caller.tenant, limit=self.limit)
                asked = [one for one in found if one.kind == "approval"]
                await self._noted(caller, {one.run for one in asked})
                return self.masker.value([_told(one) for one in asked])
            case ("GET", ["runs", run]):
                return told_of(await self._row(caller, run))
            case ("POST", ["runs", run, "decision"]):
                return await self._decide(caller, run, await _body(receive))
            case (_, ["approvals"] | ["runs", _] | ["runs", _, "decision" | "events"]):
                raise _Refused(405, "`/approvals`, `/runs/RUN` and its `/events` are read (GET), a decision is posted (POST)")
            case _:
                raise _Refused(404, "there are `/approvals`, `/runs/RUN`, `/runs/RUN/events` and `/runs/RUN/decision`")

    async def _row(self, caller: Caller, run: str) -> RunRow:
        row = await self.store.find(run)
        if row is None or row.header.tenant != caller.tenant:
            raise _Refused(404, f"there is no run {run[:100]}")
        return row

    async def _follow(self, caller: Caller, run: str, scope: Scope, receive: Receive, send: Send) -> None:
        await self._row(caller, run)
        given = [value.decode("latin-1").strip() for name, value in scope["headers"] if name == b"last-event-id"]
        try:
            after, ended = seen(given[0] if given else None)
            with self.streams.place(f"{caller.tenant}/{caller.name}"):
                await self.streams.send(run, after, ended, scope, receive, send)
        except NotSeen:
            raise _Refused(400, "`Last-Event-ID` is the `id` of an event of this stream") from None
        except TooMany as full:
            raise _Refused(503, str(full), (b"retry-after", b"10")) from None

    async def _noted(self, caller: Caller, runs: set[str]) -> None:
        """Record who reads what runs are about: once each, since whoever decides looks again and again."""
        if len(self.seen) > _SEEN:
            self.seen.clear()
        for run in sorted(runs):
            if (caller.name, run) not in self.seen:
                await self.store.read_by(run, caller.name, "GET /approvals")
                self.seen.add((caller.name, run))

    async def _decide(self, caller: Caller, run: str, said: dict[str, object]) -> object:
        approved, reason = said.get("approved"), said.get("reason", "")
        step, arguments = said.get("step"), said.get("arguments")
        unknown = sorted(said.keys() - _WORDS)
        if unknown:
            raise _Refused(400, f"a decision has no `{unknown[0][:80]}`")
        if not isinstance(approved, bool) or not isinstance(reason, str) or not isinstance(step, str | None):
            raise _Refused(400, '`approved` is true or false, `reason` and `step` are texts: {"approved": true}')
        if not isinstance(arguments, dict | None):
            raise _Refused(400, "`arguments` is an object")
        await self._row(caller, run)
        asked = await find(self.store, run, step, "approval", self.limit)
        await decide(
            self.store, asked, approved=approved, by=caller.name, reason=reason, arguments=arguments, members=self.members,
            now=self.now(), here=False,
        )  # fmt: skip
        self.decided()
        return {"run": run, "step": asked.step, "approved": approved, "by": caller.name}


def _told(one: Open) -> dict[str, object]:
    return {
        "run": one.run,
        "step": one.step,
        "target": one.target,
        "role": one.role,
        "reason": one.reason,
        "arguments": one.arguments,
        "preview": one.preview or None,
        "question": asked_json(one),
        "asked": one.asked,
        "due": one.due,
    }


async def _body(receive: Receive) -> dict[str, object]:
    data = b""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise _Refused(400, "the request was cut off")
                data += message.get("body", b"")
                if len(data) > MAX_BODY:
                    raise _Refused(413, f"a decision has at most {MAX_BODY:,} bytes")
                if not message.get("more_body"):
                    break
        value = read(data)
    except TimeoutError:
        raise _Refused(408, "the request took too long") from None
    except JsonError as error:
        raise _Refused(400, f"this is no JSON: {error.message}") from None
    if not isinstance(value, dict):
        raise _Refused(400, 'a decision is an object: {"approved": true}')
    return value


async def serve(desk: Desk, bound: socket.socket) -> None:
    """Answer requests until it is cancelled."""
    config: Any = uvicorn.Config(
        desk, http=Connection, ws="none", lifespan="off", log_config=None, access_log=False, server_header=False, proxy_headers=False,
        limit_concurrency=64 + desk.streams.most, timeout_graceful_shutdown=2,
    )  # fmt: skip
    server = Server(config)
    serving = asyncio.ensure_future(server.serve([bound]))
    try:
        await asyncio.shield(serving)
    finally:
        desk.streams.closing.set()
        server.should_exit = True
        await serving
