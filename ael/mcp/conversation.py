"""A conversation with one MCP server, the same for its callers whatever the transport and whichever era of the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from itertools import count
from math import inf

from ael.mcp import message, results
from ael.mcp.background import Background
from ael.mcp.failure import McpError
from ael.mcp.http import HttpTransport
from ael.mcp.limits import SessionLimits
from ael.mcp.listener import Listener
from ael.mcp.listing import CAPABILITY, METHODS, Listing, Pages, What
from ael.mcp.message import BadMessage, Id, Message, Notice, RemoteError, Reply, Request
from ael.mcp.mirror import BadMark, Marks, marks, request_headers
from ael.mcp.transport import Exchange, Transport, shown
from ael.mcp.version import (
    INVALID_PARAMS,
    MISSING_CAPABILITY,
    REFUSED,
    STATELESS,
    URL_ELICITATION_REQUIRED,
    client_capabilities,
    envelope,
    stateless,
)
from ael.run.ports import RemoteAnswer
from ael.types.canonical import EncodeError
from ael.types.fault import FaultKind

Progress = Callable[[float, float | None, str], None]
"""Told of progress: how far, of how much, and what the server says of it (outside text)."""


class ServerError(McpError):
    """The server answered with an error in the words of JSON-RPC. `data` is an outside value."""

    def __init__(self, kind: FaultKind, text: str, error: RemoteError, status: int | None) -> None:
        # An error that says by its definition that nothing was done is no lost answer.
        super().__init__(kind, text, sent=error.code not in REFUSED, status=status, code=error.code)
        self.data = error.data


class Session:
    """Made by `open_session`. Safe for many callers of one event loop; each waits in its own task.

    `protocol` is the revision in use; `server` and `capabilities` are what the server says of itself; `closed` is why it can be used no
    more (None while it can).
    """

    def __init__(self, transport: Transport, listener: Listener, limits: SessionLimits, *, elicitation: bool) -> None:
        self.protocol = ""
        self.server: Mapping[str, object] = {}
        self.capabilities: Mapping[str, object] = {}
        self.client_capabilities: Mapping[str, object] = client_capabilities(elicitation)
        self.closed: McpError | None = None
        self.limits = limits
        self.transport = transport
        self._ids = count(1)
        self._pending: dict[Id, Exchange] = {}
        self._background = Background(listener, limits, transport, self._hold, elicitation=elicitation)
        self._marks: dict[str, Marks] | None = None
        self._unasked = 0
        self._reopening: asyncio.Task[None] | None = None
        self.reopen: Callable[[float], asyncio.Task[None]] | None = None

    # --- what callers ask

    async def listing(self, what: What, *, deadline: float) -> Listing:
        """All that the server offers of a kind; nothing where it does not have that kind. `deadline` in seconds. Raises `McpError`."""
        until = asyncio.get_running_loop().time() + deadline
        if CAPABILITY[what] not in self.capabilities:
            return Listing()
        pages = Pages(what, self.limits)
        params: dict[str, object] = {}
        while True:
            page, size = await self._ask(METHODS[what], params, until, repeat=True)
            cursor = pages.add(page, size)
            if cursor is None:
                break
            params = {"cursor": cursor}
        if what == "tools" and self._mirrors:
            self._read_marks(pages)
        return pages.listing()

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, object],
        *,
        meta: Mapping[str, object],
        deadline: float,
        idle: float | None = None,
        on_progress: Progress | None = None,
    ) -> RemoteAnswer:
        """Call a tool, once. `deadline` and `idle` (without a sign of life) in seconds. Raises `McpError`."""
        until = asyncio.get_running_loop().time() + deadline
        if self._mirrors and self._marks is None:
            # What goes into headers is known only from the definitions.
            try:
                await self.listing("tools", deadline=deadline)
            except McpError as problem:
                problem.sent = False
                raise
        params = {"name": tool, "arguments": dict(arguments)}
        return results.tool_answer(await self._rounds("tools/call", params, meta, until, idle=idle, on_progress=on_progress))

    async def read(self, uri: str, *, meta: Mapping[str, object], deadline: float) -> RemoteAnswer:
        """Read a resource. Raises `McpError`."""
        until = asyncio.get_running_loop().time() + deadline
        return results.resource_answer(await self._rounds("resources/read", {"uri": uri}, meta, until, repeat=True))

    async def prompt(
        self, name: str, arguments: Mapping[str, str], *, meta: Mapping[str, object], deadline: float
    ) -> RemoteAnswer:
        """Get a prompt. Raises `McpError`."""
        until = asyncio.get_running_loop().time() + deadline
        params = {"name": name, "arguments": dict(arguments)}
        return results.prompt_answer(await self._rounds("prompts/get", params, meta, until, repeat=True))

    async def ping(self, deadline: float) -> None:
        """See that the server answers. Raises `McpError`."""
        until = asyncio.get_running_loop().time() + deadline
        await self._ask("server/discover" if stateless(self.protocol) else "ping", {}, until, repeat=True)

    async def close(self) -> None:
        """End the conversation and wake all who wait for an answer. Bounded; raises nothing."""
        self.end(FaultKind.DISCONNECTED, "the connection to the server was closed on this side")
        await self._background.close()
        await self.transport.close()

    def start(self, work: Coroutine[None, None, None], name: str) -> None:
        """Work that ends with the session at the latest."""
        self._background.start(work, name)

    def tell_changed(self, what: str) -> None:
        """A listing may have changed."""
        self._background.changed(what)

    # --- one request

    async def request(
        self,
        method: str,
        params: Mapping[str, object],
        until: float,
        *,
        meta: Mapping[str, object] | None = None,
        protocol: str | None = None,
        idle: float | None = None,
        on_progress: Progress | None = None,
        repeat: bool = False,
        stream: bool = False,
        quiet: bool = False,
    ) -> tuple[Mapping[str, object], int]:
        """One request and its result, with the result's rough size. `until` in the loop's time; `protocol`: that of this request.

        `repeat`: seeing it twice does no harm; `stream`: it stays open for long; `quiet`: the server need not be told that it was given
        up. Raises `McpError`.
        """
        if self.closed is not None:
            raise McpError(self.closed.kind, self.closed.message)
        exchange = self._exchange(
            method,
            params,
            until,
            meta,
            protocol or self.protocol,
            idle,
            not quiet and (on_progress is not None or idle is not None),
        )
        exchange.on_progress = on_progress
        exchange.stream = stream
        exchange.repeat = repeat
        if self._background.asking:
            exchange.hold(self._background.asking)
        self._pending[exchange.id] = exchange
        try:
            async with asyncio.timeout_at(None if until == inf else until) as limit:
                exchange.limit = limit
                await self.transport.send(exchange)
                await exchange.wait()
        except TimeoutError:
            if not exchange.done:
                self._give_up(exchange, quiet)
                passed = exchange.left <= 0.001
                what = "before the deadline" if passed else f"for {exchange.idle:g} seconds"
                text = f"the server did not answer {what}" if passed else f"the server gave no sign of life {what}"
                raise McpError(FaultKind.TIMEOUT, text, sent=exchange.sent) from None
        except asyncio.CancelledError:
            self._give_up(exchange, quiet)
            raise
        finally:
            self._pending.pop(exchange.id, None)
        return self._outcome(exchange)

    def _exchange(
        self,
        method: str,
        params: Mapping[str, object],
        until: float,
        meta: Mapping[str, object] | None,
        protocol: str,
        idle: float | None,
        progress: bool,
    ) -> Exchange:
        id = next(self._ids)
        about: dict[str, object] = dict(meta or {})
        if progress:
            about["progressToken"] = id
        headers: list[str] = []
        if stateless(protocol):
            about |= envelope(protocol, self.client_capabilities)
        if about:
            params = {**params, "_meta": about}
        try:
            body = message.request(id, method, params or None)
        except EncodeError as problem:
            raise McpError(FaultKind.BAD_ARGUMENTS, f"what is to be sent is no JSON: {problem}") from None
        if stateless(protocol):
            marked = (self._marks or {}).get(str(params.get("name")), {}) if method == "tools/call" else {}
            headers = request_headers(protocol, method, params, marked)
        return Exchange(id, method, body, headers, until, idle)

    def _outcome(self, exchange: Exchange) -> tuple[Mapping[str, object], int]:
        if exchange.error is not None:
            raise exchange.error
        reply = exchange.reply
        assert reply is not None
        if reply.error is not None:
            raise self._server_error(reply.error, exchange.status)
        assert reply.result is not None
        return reply.result, exchange.size

    def _server_error(self, error: RemoteError, status: int | None) -> ServerError:
        match error.code:
            case code if code == INVALID_PARAMS:
                kind = FaultKind.BAD_ARGUMENTS
            case code if code in (URL_ELICITATION_REQUIRED, MISSING_CAPABILITY):
                kind = FaultKind.DENIED
            case code if code in REFUSED:
                kind = FaultKind.UNAVAILABLE
            case _:
                kind = FaultKind.TOOL_FAILED
        said = shown(self.transport, error.message)
        return ServerError(kind, f"the server answers with error {error.code}: «{said}»", error, status)

    def _give_up(self, exchange: Exchange, quiet: bool) -> None:
        """Tell the server that nobody waits any more. Over HTTP in the stateless era the closed answer says it."""
        if quiet or not exchange.sent or self.closed is not None:
            return
        if stateless(self.protocol) and isinstance(self.transport, HttpTransport):
            return
        body = message.notice("notifications/cancelled", {"requestId": exchange.id, "reason": "given up"})
        self._background.tell("notifications/cancelled", body)

    async def _ask(
        self,
        method: str,
        params: Mapping[str, object],
        until: float,
        *,
        repeat: bool,
        meta: Mapping[str, object] | None = None,
        idle: float | None = None,
        on_progress: Progress | None = None,
    ) -> tuple[Mapping[str, object], int]:
        """A request; one that may be repeated goes out anew on a new session where the server no longer knew the old one."""
        for again in (repeat, False):
            if self._reopening is not None and not self._reopening.done():
                await self._reopened()
            try:
                return await self.request(method, params, until, meta=meta, idle=idle, on_progress=on_progress, repeat=repeat)
            except McpError as problem:
                if not _session_gone(problem, self.transport):
                    raise
                if not again or self.reopen is None:
                    # Not carried out, and for the caller to repeat: on a new connection whose definitions are compared first.
                    self.retire(problem)
                    raise
            # Once for all who found it gone.
            if self._reopening is None or self._reopening.done():
                self._reopening = self.reopen(until)
            await self._reopened()
        raise AssertionError("the second turn returns or raises")

    async def _reopened(self) -> None:
        assert self._reopening is not None
        try:
            await asyncio.shield(self._reopening)
        except McpError as problem:
            raise McpError(problem.kind, problem.message, status=problem.status, retry_after=problem.retry_after) from None

    async def _rounds(
        self,
        method: str,
        params: Mapping[str, object],
        meta: Mapping[str, object],
        until: float,
        *,
        repeat: bool = False,
        idle: float | None = None,
        on_progress: Progress | None = None,
    ) -> Mapping[str, object]:
        """A request that the server may answer by asking a person first: as often as the limits allow.

        In the stateless era by a result that wants input; in both by the error -32042, which says that nothing was done and names
        addresses that a person has to open before the request is made again.
        """
        more: Mapping[str, object] = {}
        sent = False
        for _ in range(self.limits.rounds + 1):
            asked = {**params, **more}
            try:
                result, _size = await self._ask(
                    method, asked, until, repeat=repeat, meta=meta, idle=idle, on_progress=on_progress
                )
            except ServerError as error:
                if error.code != URL_ELICITATION_REQUIRED or not await self._background.opened(error.data, until):
                    raise
                continue
            sent = True
            kind = result.get("resultType", "complete")
            if not stateless(self.protocol) or kind == "complete":
                return result
            if kind != "input_required":
                raise McpError(FaultKind.MALFORMED, "the server gives a kind of result that AEL does not know", sent=True)
            more = await self._background.inputs(result, until)
        raise McpError(FaultKind.MALFORMED, f"the server asked more than {self.limits.rounds} times in one call", sent=sent)

    # --- what comes in

    def message(self, message: Message, size: int) -> None:
        if self._floods():
            return
        match message:
            case Reply():
                exchange = None if message.id is None else self._pending.get(message.id)
                if exchange is None:
                    self._background.note("a reply to no request of this side was skipped")
                else:
                    self._unasked = 0
                    exchange.settle(message, size)
            case Notice(method="notifications/progress"):
                self._progress(message.params)
            case Notice():
                self._background.notice(message)
            case Request():
                self._background.request(message, answerable=not self._mirrors)

    def _floods(self) -> bool:
        """Count what was not asked for; whether it was too much, and the session has ended with that."""
        self._unasked += 1
        if self._unasked <= self.limits.unasked:
            return False
        # Each is cheap, and there is no end of them.
        self.end(FaultKind.TOO_LARGE, f"the server sent more than {self.limits.unasked:,} messages that nobody asked for")
        if self._unasked == self.limits.unasked + 1:
            self._background.start(self.transport.close(), "MCP: a server that floods")
        return True

    def bad(self, problem: BadMessage) -> None:
        if self._floods():
            return
        kind = FaultKind.TOO_LARGE if problem.too_large else FaultKind.MALFORMED
        exchange = None if problem.id is None else self._pending.get(problem.id)
        if exchange is not None:
            exchange.fail(kind, problem.text, sent=True)
        elif problem.meant and problem.reply and problem.id is None:
            # It may have been the answer to any of them, and none will come a second time.
            for waiting in list(self._pending.values()):
                if waiting.sent and not waiting.stream:
                    waiting.fail(kind, problem.text, sent=True)
        else:
            self._background.note(f"what came in was skipped: {problem.text}")

    def lost(self, kind: FaultKind, message: str) -> None:
        self.end(kind, message)

    def note(self, text: str) -> None:
        self._background.note(text)

    def retire(self, problem: McpError) -> None:
        """It can be used no more; what is under way may still end well."""
        if self.closed is None:
            self.closed = problem

    def end(self, kind: FaultKind, text: str) -> None:
        """It can be used no more: whoever waits for an answer learns it now."""
        if self.closed is None:
            self.closed = McpError(kind, text)
        for exchange in list(self._pending.values()):
            exchange.fail(kind, text)

    def _progress(self, params: Mapping[str, object]) -> None:
        token = params.get("progressToken")
        exchange = self._pending.get(token) if isinstance(token, int | str) and type(token) is not bool else None
        if exchange is None:
            return
        exchange.extend()
        how_far, of, what = params.get("progress"), params.get("total"), params.get("message")
        if exchange.on_progress is not None and isinstance(how_far, int | float) and not isinstance(how_far, bool):
            total = float(of) if isinstance(of, int | float) and not isinstance(of, bool) else None
            try:
                exchange.on_progress(float(how_far), total, shown(self.transport, what) if isinstance(what, str) else "")
            except Exception as problem:
                self._background.note(f"what follows progress failed: {type(problem).__name__}")

    def _hold(self, more: int) -> None:
        """A person is asked, or no longer: the silence of a server that waits for the answer is not idleness."""
        for exchange in self._pending.values():
            exchange.hold(more)

    @property
    def _mirrors(self) -> bool:
        return isinstance(self.transport, HttpTransport) and self.protocol in STATELESS

    def _read_marks(self, pages: Pages) -> None:
        self._marks = {}
        for name, item in list(pages.items.items()):
            try:
                self._marks[name] = marks(item.get("inputSchema"))
            except BadMark as problem:
                pages.refuse(name, problem.reason)


def _session_gone(problem: McpError, transport: Transport) -> bool:
    return problem.status == 404 and problem.kind is FaultKind.DISCONNECTED and isinstance(transport, HttpTransport)
