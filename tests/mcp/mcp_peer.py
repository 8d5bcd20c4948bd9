"""An MCP server for tests, of either era, over the HTTP peer: what a test does not say is answered as a good server would."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ael.mcp.endpoint import HttpEndpoint
from tests.mcp.http_peer import Asked, HttpPeer, Out

HOSTS = frozenset({"127.0.0.1"})
OLD = "2025-11-25"
NEW = "2026-07-28"
ECHO: dict[str, object] = {
    "name": "echo",
    "description": "Says it again.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
}

Answering = Callable[[Asked, Out], Awaitable[None]]


def result(asked: Asked, value: Mapping[str, object]) -> dict[str, object]:
    """A reply to the request."""
    return {"jsonrpc": "2.0", "id": asked.message["id"], "result": dict(value)}


def error(asked: Asked, code: int, text: str = "no", data: object = None) -> dict[str, object]:
    """An error in reply to the request."""
    return {"jsonrpc": "2.0", "id": asked.message.get("id"), "error": {"code": code, "message": text, "data": data}}


def text(said: str) -> dict[str, object]:
    """The result of a tool that gives text."""
    return {"content": [{"type": "text", "text": said}]}


def params(asked: Asked) -> dict[str, Any]:
    found = asked.message.get("params", {})
    assert isinstance(found, dict)
    return found


class McpPeer:
    """Answers by `on[method]` where there is one (`GET` and `DELETE` too), else by itself. `session` is the id it gives, if any."""

    def __init__(self, version: str = OLD, *, session: str = "", tools: list[dict[str, object]] | None = None) -> None:
        self.version = version
        self.session = session
        self.tools = [ECHO] if tools is None else tools
        self.capabilities: dict[str, object] = {"tools": {}, "resources": {}, "prompts": {}}
        self.on: dict[str, Answering] = {}

    async def __call__(self, asked: Asked, out: Out) -> None:
        method = asked.method if asked.method != "POST" else str(asked.message.get("method", "reply"))
        if method in self.on:
            await self.on[method](asked, out)
        elif method in ("GET", "DELETE"):
            await out.reply(405)
        elif "id" not in asked.message or method == "reply":
            await out.reply(202)
        elif self.version == NEW:
            await self._new(method, asked, out)
        else:
            await self._old(method, asked, out)

    async def _new(self, method: str, asked: Asked, out: Out) -> None:
        lasting = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        match method:
            case "server/discover":
                about = {"io.modelcontextprotocol/serverInfo": {"name": "peer", "version": "1"}}
                found = {**lasting, "supportedVersions": [NEW], "capabilities": self.capabilities, "_meta": about}
                await out.reply(200, result(asked, found))
            case "tools/list":
                await out.reply(200, result(asked, {**lasting, "tools": self.tools}))
            case "tools/call":
                await out.reply(200, result(asked, {"resultType": "complete", **text("ok")}))
            case _:
                await out.reply(404, error(asked, -32601))

    async def _old(self, method: str, asked: Asked, out: Out) -> None:
        match method:
            case "server/discover":
                await out.reply(400, error(asked, -32600))
            case "initialize":
                found = {
                    "protocolVersion": self.version,
                    "capabilities": self.capabilities,
                    "serverInfo": {"name": "peer", "version": "1"},
                }
                given = {"mcp_session_id": self.session} if self.session else {}
                await out.reply(200, result(asked, found), **given)
            case "tools/list":
                await out.reply(200, result(asked, {"tools": self.tools}))
            case "tools/call":
                await out.reply(200, result(asked, text("ok")))
            case "ping":
                await out.reply(200, result(asked, {}))
            case _:
                await out.reply(200, error(asked, -32601))


def endpoint(peer: HttpPeer, **more: Any) -> HttpEndpoint:
    return HttpEndpoint(peer.url, hosts=HOSTS, **more)
