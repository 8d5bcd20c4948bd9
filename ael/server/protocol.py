"""The Model Context Protocol on the official SDK's low-level server: `tools/list` and `tools/call`, in both eras.

The SDK does the framing, the handshake, sessions, versions and the wire form of results. It validates no arguments and no results, knows
no unknown tool, and one of its paths sends the text of exceptions: all of that is done here and in `ael.server.calls`.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Mapping
from time import monotonic
from typing import Any, cast

import mcp_types as types
from mcp.server import Server
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from ael import __version__
from ael.server.answer import OUTCOME_META
from ael.server.caller import Caller
from ael.server.calls import APPROVAL, Answered, Calls, InputRequired, StaleState
from ael.server.exposure import ExposedTool, listing
from ael.server.flight import Elicit, Report, Request, Unasked
from ael.server.guard import EXCHANGE, Exchange
from ael.server.metrics import Metrics
from ael.server.once import LONGEST_KEY
from ael.types.canonical import EncodeError, digest

Context = ServerRequestContext[Any, Any]
ARGUMENTS_ARE_RESULTS = "2025-11-25"
"""From this version on, arguments that do not fit are an error result, which a model can act on; before, an error of the protocol."""
LISTING_MILLISECONDS = 60_000
"""How long a client may keep the list of tools, which does not change while the server runs."""
CALLER = "ael.caller"
"""Key of an ASGI scope: who was authenticated."""


class Protocol:
    """The handlers. `local` calls where the transport authenticates nobody (stdio)."""

    def __init__(
        self, name: str, tools: Mapping[str, ExposedTool], calls: Calls, local: Caller | None, metrics: Metrics | None = None
    ) -> None:
        self.tools = tools
        self._calls = calls
        self._local = local
        self._metrics = metrics
        self._listing = listing(tools)
        self.server: Server[Any] = Server(name, version=__version__, on_list_tools=self._list, on_call_tool=self._call)  # type: ignore[arg-type]
        self.server.get_tool_input_schema = self._input_schema
        # What the SDK would trace carries arguments; runs have traces of their own.
        self.server.middleware[:] = [_without_insides]

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        tool = self.tools.get(name)
        return None if tool is None else cast("Mapping[str, Any]", tool.definition["inputSchema"])

    async def _list(self, ctx: Context, params: types.PaginatedRequestParams | None) -> dict[str, object]:
        if params is not None and params.cursor is not None:
            raise MCPError(code=types.INVALID_PARAMS, message="there is one page of tools, and no cursor")
        listed: dict[str, object] = {"tools": self._listing}
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            listed |= {"resultType": "complete", "ttlMs": LISTING_MILLISECONDS, "cacheScope": "private"}
        return listed

    async def _call(self, ctx: Context, params: types.CallToolRequestParams) -> dict[str, object]:
        tool = self.tools.get(params.name)
        if tool is None:
            raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown tool: {params.name[:128]}")
        arguments = params.arguments or {}
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        if ctx.protocol_version < ARGUMENTS_ARE_RESULTS:
            problem = self._calls.misfit(tool, arguments)
            if problem is not None:
                raise MCPError(code=types.INVALID_PARAMS, message=f"the arguments do not fit: {problem}")
        request = Request(
            self._caller(ctx),
            tool,
            arguments,
            _digest(tool, arguments),
            _report(ctx),
            None if modern else _elicit(ctx),
            modern and _can_elicit(ctx),
            _trace_parent(ctx),
            key=_key(ctx),
        )
        exchange = ctx.request.scope.get(EXCHANGE) if ctx.request is not None else None
        if isinstance(exchange, Exchange):
            # What becomes of a run whose client loses its connection is for the calls to say; the SDK would go on with one of the older
            # protocol, and cancel one of the newer.
            exchange.tell(request.presence.leave)
        given = ctx.params or {}
        state = given.get("requestState") if modern else None
        if state is None:
            return _wire(await self._counted(tool, self._calls.call(request)), modern=modern)
        responses = given.get("inputResponses")
        try:
            response = responses.get(APPROVAL) if isinstance(responses, Mapping) else None
            return _wire(await self._counted(tool, self._calls.go_on(str(state), request, response)), modern=modern)
        except StaleState:
            raise MCPError(code=types.INVALID_PARAMS, message="this requestState is not of a call that waits") from None

    async def _counted(self, tool: ExposedTool, work: Awaitable[Answered]) -> Answered:
        began = monotonic()
        answered: Answered | None = None
        try:
            answered = await work
            return answered
        finally:
            if self._metrics is not None:
                self._metrics.call("mcp", tool.name, _ending(answered), monotonic() - began)

    def _caller(self, ctx: Context) -> Caller:
        caller = ctx.request.scope.get(CALLER) if ctx.request is not None else self._local
        if not isinstance(caller, Caller):
            raise MCPError(code=types.INVALID_REQUEST, message="nobody is authenticated")
        return caller


async def _without_insides(ctx: Context, call_next: CallNext) -> HandlerResult:
    """No text of an exception goes out: what is no error of the protocol is told on standard error, and as an internal error."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except Exception as error:
        print(f"ael serve: {ctx.method} failed inside: {type(error).__name__}", file=sys.stderr)
        raise MCPError(code=types.INTERNAL_ERROR, message="Internal error") from None


def _ending(answered: Answered | None) -> Mapping[str, object] | None:
    """How a call ended; None where nobody waited for it to the end."""
    if answered is None:
        return None
    if isinstance(answered, InputRequired):
        return {"outcome": "asked"}
    meta = answered.get("_meta")
    found = meta.get(OUTCOME_META) if isinstance(meta, Mapping) else None
    return found if isinstance(found, Mapping) else {"outcome": "value"}


def _wire(answered: dict[str, object] | InputRequired, *, modern: bool) -> dict[str, object]:
    if not isinstance(answered, InputRequired):
        return {**answered, "resultType": "complete"} if modern else answered
    params = {"mode": "form", "message": answered.message, "requestedSchema": dict(answered.schema)}
    asked = {APPROVAL: {"method": "elicitation/create", "params": params}}
    return {"resultType": "input_required", "inputRequests": asked, "requestState": answered.state}


def _digest(tool: ExposedTool, arguments: Mapping[str, object]) -> str:
    try:
        return digest({"tool": tool.name, "arguments": dict(arguments)})
    except EncodeError:
        raise MCPError(code=types.INVALID_PARAMS, message="the arguments are no JSON") from None


def _report(ctx: Context) -> Report | None:
    if ctx.meta is None or ctx.meta.get("progress_token", ctx.meta.get("progressToken")) is None:
        return None

    async def report(count: int, said: str) -> None:
        await ctx.session.report_progress(count, None, said)

    return report


def _can_elicit(ctx: Context) -> bool:
    capabilities = ctx.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    # A client that names no mode supports forms.
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def _elicit(ctx: Context) -> Elicit | None:
    """Asks over the stream of the very request that waits."""
    if not _can_elicit(ctx) or not ctx.session.can_send_request:
        return None

    async def elicit(message: str, schema: Mapping[str, object]) -> Mapping[str, object] | None:
        try:
            found = await ctx.session.elicit_form(message, cast("dict[str, Any]", dict(schema)), ctx.request_id)
        except (MCPError, NoBackChannelError, ValidationError):
            raise Unasked from None
        return found.content or {} if found.action == "accept" else None

    return elicit


def _key(ctx: Context) -> str | None:
    key = (ctx.meta or {}).get("idempotencyKey")
    if key is None:
        return None
    if not isinstance(key, str) or not 0 < len(key) <= LONGEST_KEY:
        raise MCPError(code=types.INVALID_PARAMS, message=f"`idempotencyKey` is a text of at most {LONGEST_KEY} characters")
    return key


def _trace_parent(ctx: Context) -> str | None:
    parent = (ctx.meta or {}).get("traceparent")
    if parent is None and ctx.request is not None:
        parent = ctx.request.headers.get("traceparent")
    return parent if isinstance(parent, str) else None
