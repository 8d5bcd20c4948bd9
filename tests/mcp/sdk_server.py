"""A server on the official Python SDK, as a child process: `stdio`, or `http`, which prints the port it listens on.

Over HTTP `/mcp` speaks both eras, `/old/mcp` only the older one, `/sse` the older pair.
"""

import socket
import sys
from typing import Any

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send


class Sure(BaseModel):
    """What a person is asked."""

    sure: bool


server = MCPServer("sdk", instructions="for tests")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("it went wrong")


@server.tool()
async def slow(steps: int, ctx: Context) -> str:
    """Tells of its progress."""
    for at in range(steps):
        await ctx.report_progress(at, steps, f"step {at}")
        await anyio.sleep(0.01)
    return "done"


@server.tool()
async def confirm(ctx: Context) -> str:
    """Asks a person, the older way."""
    answer = await ctx.elicit("Sure?", Sure)
    return f"{answer.action} {answer.data.sure if answer.action == 'accept' else ''}"


@server.resource("file:///readme")
def readme() -> str:
    """Text."""
    return "hello"


@server.resource("file:///pixel", mime_type="image/png")
def pixel() -> bytes:
    """Bytes."""
    return b"\x89PNG"


@server.prompt()
def review(code: str) -> str:
    """Asks for a review."""
    return f"Review {code}"


class Both:
    """Sends requests to the app that their path names."""

    def __init__(self) -> None:
        self.web = server.streamable_http_app()
        self.pair = server.sse_app()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        if path.startswith("/old"):
            version = dict(scope["headers"]).get(b"mcp-protocol-version", b"")
            if version == b"2026-07-28":
                await send({"type": "http.response.start", "status": 400, "headers": [(b"content-type", b"text/plain")]})
                await send({"type": "http.response.body", "body": b"Bad Request: unsupported protocol version"})
                return
            scope = {**scope, "path": "/mcp", "raw_path": b"/mcp"}
        app: Any = self.pair if path.startswith(("/sse", "/messages")) else self.web
        await app(scope, receive, send)


def main() -> None:
    if sys.argv[1] == "stdio":
        server.run("stdio")
        return
    # The protocol is named, so that the loop turns off the delay of small packets on what it accepts.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        print(listening.getsockname()[1], flush=True)
        config = uvicorn.Config(Both(), log_level="error", timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
