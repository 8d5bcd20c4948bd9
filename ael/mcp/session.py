"""Opening a session with an MCP server: which revision of the protocol both sides speak, and what the server can do.

The newer protocol is tried first, by `server/discover`; whatever is no sign of it leads to the older one's `initialize`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from math import inf

from ael.mcp import message
from ael.mcp.conversation import Progress, ServerError, Session
from ael.mcp.endpoint import Endpoint, HttpEndpoint, StdioEndpoint
from ael.mcp.failure import McpError
from ael.mcp.http import HttpTransport
from ael.mcp.limits import DEFAULT_SESSION_LIMITS, SessionLimits
from ael.mcp.listener import Elicitation, ElicitationReply, Listener
from ael.mcp.listing import Listing
from ael.mcp.sse import SseTransport
from ael.mcp.stdio import StdioTransport
from ael.mcp.transport import Transport
from ael.mcp.version import CLIENT, HANDSHAKE, META_SERVER, STATELESS, UNSUPPORTED_VERSION, newest
from ael.net.client import Client
from ael.net.redact import bounded
from ael.types.fault import FaultKind

__all__ = [
    "Elicitation",
    "ElicitationReply",
    "Listener",
    "Listing",
    "Progress",
    "ServerError",
    "Session",
    "SessionLimits",
    "open_session",
]

_SUBSCRIPTIONS = {"tools": "toolsListChanged", "resources": "resourcesListChanged", "prompts": "promptsListChanged"}
_PAUSE = 1.0
_TRIES = 5


async def open_session(
    endpoint: Endpoint,
    listener: Listener,
    *,
    limits: SessionLimits = DEFAULT_SESSION_LIMITS,
    connect: float = 60.0,
    client: Client | None = None,
    elicitation: bool = False,
) -> Session:
    """A session with the server at `endpoint`, ready for calls. The caller closes it. Raises `McpError`.

    `connect`: seconds until it is ready; `client`: the HTTP client to use (it stays open), else the session has its own;
    `elicitation`: whether the server is told that it may ask a person. Nothing is left behind when this fails or is cancelled.
    """
    until = asyncio.get_running_loop().time() + connect
    probe = not (isinstance(endpoint, HttpEndpoint) and endpoint.kind == "sse")
    session = _session(endpoint, listener, limits, connect, client, elicitation)
    try:
        await _begin(session, until, probe=probe)
    except McpError as problem:
        # Some older servers end at a first word that they do not know: those are begun anew in the older words.
        if not (isinstance(endpoint, StdioEndpoint) and problem.kind is FaultKind.DISCONNECTED and session.protocol == ""):
            raise
        session = _session(endpoint, listener, limits, connect, client, elicitation)
        await _begin(session, until, probe=False)
    return session


def _session(
    endpoint: Endpoint, listener: Listener, limits: SessionLimits, connect: float, client: Client | None, elicitation: bool
) -> Session:
    transport: Transport
    match endpoint:
        case StdioEndpoint():
            transport = StdioTransport(endpoint, limits)
        case HttpEndpoint(kind="sse"):
            transport = SseTransport(endpoint, client, limits, connect)
        case HttpEndpoint():
            transport = HttpTransport(endpoint, client, limits, connect)
    return Session(transport, listener, limits, elicitation=elicitation)


async def _begin(session: Session, until: float, *, probe: bool) -> None:
    try:
        async with asyncio.timeout_at(until):
            await session.transport.start(session, until - asyncio.get_running_loop().time())
            if not (probe and await _discover(session, until)):
                await _initialize(session, until, probed=probe)
    except TimeoutError:
        await session.close()
        raise McpError(FaultKind.TIMEOUT, "the server was not ready before the connect limit") from None
    except BaseException:
        await session.close()
        raise


# --- the stateless era


async def _discover(session: Session, until: float, version: str = STATELESS[-1], *, again: bool = True) -> bool:
    """Whether the server speaks the stateless protocol; then the session does. Raises `McpError` where nothing can be reached."""
    try:
        result, _ = await session.request(
            "server/discover", {}, until, protocol=version, idle=session.limits.probe, repeat=True, quiet=True
        )
    except McpError as problem:
        offered = _offered(problem)
        mutual = newest(offered, STATELESS)
        if mutual is not None and again:
            return await _discover(session, until, mutual, again=False)
        if offered and newest(offered, HANDSHAKE) is None:
            raise McpError(FaultKind.UNAVAILABLE, _no_common(offered), code=problem.code) from None
        reached = problem.code is not None or problem.status is not None or problem.kind is not FaultKind.UNAVAILABLE
        if session.closed is not None or problem.kind is FaultKind.DENIED or not reached:
            raise
        return False
    supported, capabilities = result.get("supportedVersions"), result.get("capabilities")
    if type(supported) is not list or type(capabilities) is not dict:
        return False
    mutual = newest(supported, STATELESS)
    if mutual is None:
        return False
    about = result.get("_meta")
    server = about.get(META_SERVER) if type(about) is dict else None
    _adopt(session, mutual, capabilities, server if type(server) is dict else result.get("serverInfo"))
    wanted = {key: True for what, key in _SUBSCRIPTIONS.items() if _tells(capabilities, what)}
    if wanted:
        session.start(_subscribe(session, wanted), "MCP: what the server says by itself")
    return True


async def _subscribe(session: Session, wanted: Mapping[str, object]) -> None:
    """Keep a stream of changes open. What happened between two of them is not told, so a new one counts as a change."""
    for attempt in range(_TRIES):
        loop = asyncio.get_running_loop()
        began = loop.time()
        if attempt:
            for what, key in _SUBSCRIPTIONS.items():
                if key in wanted:
                    session.tell_changed(what)
        try:
            await session.request("subscriptions/listen", {"notifications": wanted}, inf, repeat=True, stream=True, quiet=True)
        except McpError as problem:
            if problem.code is not None or problem.status is not None or session.closed is not None:
                return
        await asyncio.sleep(_PAUSE * 2**attempt if loop.time() - began < _PAUSE * 60 else _PAUSE)


# --- the era with a handshake


async def _initialize(session: Session, until: float, *, probed: bool) -> None:
    loop = asyncio.get_running_loop()
    params = {"protocolVersion": HANDSHAKE[-1], "capabilities": session.client_capabilities, "clientInfo": CLIENT}
    try:
        result, _ = await session.request("initialize", params, until, repeat=True, quiet=True)
    except ServerError as problem:
        # A slow server may have taken the first word after all, and now knows only the newer ones.
        mutual = newest(_offered(problem), STATELESS)
        if not (probed and mutual is not None and await _discover(session, until, mutual, again=False)):
            raise
        return
    version, capabilities, server = result.get("protocolVersion"), result.get("capabilities"), result.get("serverInfo")
    if type(version) is not str or type(capabilities) is not dict:
        raise McpError(FaultKind.MALFORMED, "the server's answer to `initialize` has no version or no capabilities", sent=True)
    if version not in HANDSHAKE:
        raise McpError(FaultKind.UNAVAILABLE, _no_common([version]), sent=True)
    _adopt(session, version, capabilities, server)
    method = "notifications/initialized"
    await session.transport.tell(method, message.notice(method), until - loop.time())
    if isinstance(session.transport, HttpTransport):
        await session.transport.listen()
        session.reopen = lambda until: loop.create_task(_reopen(session, until), name="MCP: a new session")


async def _reopen(session: Session, until: float) -> None:
    assert isinstance(session.transport, HttpTransport)
    session.transport.forget()
    await _initialize(session, until, probed=False)
    # It may be another server by now: what was listed before is to be read, and compared, again.
    for what in _SUBSCRIPTIONS:
        session.tell_changed(what)


# --- both


def _adopt(session: Session, protocol: str, capabilities: Mapping[str, object], server: object) -> None:
    session.protocol = protocol
    session.transport.protocol = protocol
    session.capabilities = capabilities
    session.server = server if isinstance(server, Mapping) else {}


def _tells(capabilities: Mapping[str, object], what: str) -> bool:
    value = capabilities.get(what)
    return type(value) is dict and value.get("listChanged") is True


def _offered(problem: McpError) -> list[object]:
    """The versions that an error says the server speaks."""
    if not isinstance(problem, ServerError) or problem.code != UNSUPPORTED_VERSION or type(problem.data) is not dict:
        return []
    supported = problem.data.get("supported")
    return supported if type(supported) is list else []


def _no_common(offered: list[object]) -> str:
    named = ", ".join(bounded(str(version), 40) for version in offered[:8])
    return f"the server speaks revisions of MCP that AEL does not: {named}; AEL speaks {', '.join((*HANDSHAKE, *STATELESS))}"
