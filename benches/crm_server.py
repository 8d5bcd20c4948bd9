"""The server of the benchmark `mcp`, on the low level of the official Python SDK. It runs in the environment of the peer `mcp_sdk`.

``python -m benches.crm_server CORE stdio VERSION`` serves its standard input and output, in the era of that revision.
``python -m benches.crm_server CORE http`` prints ``{"port": N}`` and serves until its standard input ends: at ``/new`` both eras,
at ``/old`` only the one with a handshake. It keeps to the core that is named: the other one is measured on.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from typing import Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server

from benches.crm import NEW, TOOL, customer


async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool.model_validate(TOOL)])


async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    found = customer(str((params.arguments or {})["id"]))
    return types.CallToolResult(content=[types.TextContent(type="text", text=json.dumps(found))], structured_content=found)


SERVER: Server[Any] = Server("crm", version="1.0.0", on_list_tools=list_tools, on_call_tool=call_tool)


async def over_stdio(version: str) -> None:
    """The SDK's loop lets the client choose the era; the older servers knew only theirs."""
    options = SERVER.create_initialization_options()
    async with stdio_server() as (read, write):
        if version == NEW:
            await SERVER.run(read, write, options)
        else:
            async with SERVER.lifespan(SERVER) as state:
                await serve_loop(SERVER, read, write, lifespan_state=state, init_options=options)


class Eras:
    """The same application at two paths; at ``/old`` it answers the newer era as a server that never heard of it."""

    def __init__(self) -> None:
        self.app = SERVER.streamable_http_app()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            if scope["path"] == "/old" and dict(scope["headers"]).get(b"mcp-protocol-version") == NEW.encode():
                await send({"type": "http.response.start", "status": 400, "headers": [(b"content-type", b"text/plain")]})
                await send({"type": "http.response.body", "body": b"Bad Request: unsupported protocol version"})
                return
            scope = {**scope, "path": "/mcp", "raw_path": b"/mcp"}
        await self.app(scope, receive, send)


def over_http() -> None:
    import uvicorn  # the server over stdio starts without it

    # The protocol is named, so that the loop turns off the delay of small packets on what it accepts.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(Eras(), log_level="error", timeout_graceful_shutdown=1))

        def until_input_ends() -> None:
            sys.stdin.buffer.read()
            server.should_exit = True

        threading.Thread(target=until_input_ends, daemon=True).start()
        print(json.dumps({"port": listening.getsockname()[1]}), flush=True)
        server.run(sockets=[listening])


def main() -> None:
    core, transport, *more = sys.argv[1:]
    os.sched_setaffinity(0, {int(core)})
    if transport == "stdio":
        anyio.run(over_stdio, more[0])
    else:
        over_http()


if __name__ == "__main__":
    main()
