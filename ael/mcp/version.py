"""The revisions of the protocol that AEL speaks, and the names they use on the wire (https://modelcontextprotocol.io/specification).

Up to 2025-11-25 a connection begins with `initialize`, and over HTTP may have a session. From 2026-07-28 on there is neither: each request
carries version, client and capabilities in its `_meta`, and `server/discover` says what the server can do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ael import __version__

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = ("2026-07-28",)

CLIENT: Mapping[str, object] = {"name": "ael", "version": __version__}
"""What this side calls itself."""

META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CLIENT = "io.modelcontextprotocol/clientInfo"
META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_LOG_LEVEL = "io.modelcontextprotocol/logLevel"
META_SERVER = "io.modelcontextprotocol/serverInfo"

HEADER_VERSION = "MCP-Protocol-Version"
HEADER_SESSION = "Mcp-Session-Id"
HEADER_METHOD = "Mcp-Method"
HEADER_NAME = "Mcp-Name"
HEADER_PARAM = "Mcp-Param-"
HEADER_EVENT = "Last-Event-ID"

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
BUSY = -32000
RESOURCE_NOT_FOUND = -32002
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
URL_ELICITATION_REQUIRED = -32042

REFUSED = frozenset(
    (
        *(PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS),
        *(HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION, URL_ELICITATION_REQUIRED),
    )
)
"""Errors that mean by their definition that the request was turned down before anything was done."""


def stateless(protocol: str) -> bool:
    """Whether the revision has no handshake and no session."""
    return protocol in STATELESS


def newest(offered: Iterable[object], known: tuple[str, ...]) -> str | None:
    """The newest revision that both sides speak. Revisions are names in a list, not dates that compare."""
    named = set(filter(lambda one: isinstance(one, str), offered))
    return next((version for version in reversed(known) if version in named), None)


def client_capabilities(elicitation: bool) -> dict[str, object]:
    """What this side can do for a server: ask a person, if the deployment allows it, and nothing else."""
    return {"elicitation": {"form": {}, "url": {}}} if elicitation else {}


def envelope(protocol: str, capabilities: Mapping[str, object]) -> dict[str, object]:
    """The `_meta` of every request in the stateless protocol."""
    return {META_VERSION: protocol, META_CLIENT: dict(CLIENT), META_CAPABILITIES: dict(capabilities)}
