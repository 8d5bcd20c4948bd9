"""Programs that are served in this process, and clients that speak HTTP by hand: what a library would not send can be sent too."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ael.diagnostics.render import render_all
from ael.project.program import Opened
from ael.server import http, listener
from ael.server.caller import local_caller
from ael.server.serve import Service, prepare
from ael.server.stop import Stop
from tests.programs import open_files

PACK = 'pack served {\n  version "1.0.0"\n  uses server/mcp\n  extern "tests.server.outside"\n}\n'
OLD, NEW = "2025-11-25", "2026-07-28"
TOKEN = "alice-token-0123456789"


def opened(folder: Path, main: str, deploy: str = "") -> Opened:
    """The program, checked, with a pack that lists the package."""
    files = {"pack.ael": PACK, "main.ael": main, **({"deploy.ael": deploy} if deploy else {})}
    found, bag = open_files(folder, files)
    assert found is not None, render_all(bag.sorted())
    return found


@dataclass
class Reply:
    """A response: its status, headers, and body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The one message of the body, JSON or the last event of a stream."""
        return self.messages[-1]

    @property
    def messages(self) -> list[Any]:
        """All messages of the body."""
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            lines = self.body.decode().splitlines()
            return [json.loads(line[5:]) for line in lines if line.startswith("data:") and line[5:].strip()]
        return [json.loads(self.body)] if self.body else []


@dataclass
class Served:
    """A server under test. `closed` is set when it has ended."""

    service: Service
    stop: Stop
    port: int
    task: asyncio.Task[None]
    number: int = 0
    sessions: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def request(
        self, method: str, path: str = "/mcp", body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """One request over a connection of its own."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(head(method, path, body, {"Host": f"127.0.0.1:{self.port}", **(headers or {})}) + (body or b""))
            await writer.drain()
            return await read_reply(reader)
        finally:
            writer.close()

    async def post(self, message: object, headers: Mapping[str, str] | None = None) -> Reply:
        """One message."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return await self.request("POST", body=body, headers={**JSON, **(headers or {})})

    async def open(
        self, version: str = OLD, capabilities: object = None, headers: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """A session of the older protocol; gives the headers that its requests carry."""
        params = {"protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": {"name": "test", "version": "1"}}
        reply = await self.post(self.message("initialize", params), headers)
        assert reply.status == 200, reply
        session = {**(headers or {}), "Mcp-Session-Id": reply.headers["mcp-session-id"], "MCP-Protocol-Version": version}
        done = await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, session)
        assert done.status == 202
        return session

    def message(self, method: str, params: object = None, id: object = None) -> dict[str, object]:
        """A request with the next id."""
        self.number += 1
        return {"jsonrpc": "2.0", "id": self.number if id is None else id, "method": method, "params": params or {}}

    async def call(
        self, tool: str, arguments: object = None, headers: Mapping[str, str] | None = None, meta: object = None, **more: object
    ) -> Reply:
        """A call in the stateless protocol, or in the session that the headers name."""
        params: dict[str, object] = {"name": tool, "arguments": arguments or {}, **more}
        if headers is not None and "Mcp-Session-Id" in headers:
            if meta is not None:
                params["_meta"] = meta
            return await self.post(self.message("tools/call", params), headers)
        params["_meta"] = {**modern_meta(), **(meta if isinstance(meta, dict) else {})}
        named = {"MCP-Protocol-Version": NEW, "Mcp-Method": "tools/call", "Mcp-Name": tool, **(headers or {})}
        return await self.post(self.message("tools/call", params), named)


JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def modern_meta(**capabilities: object) -> dict[str, object]:
    """What every request of 2026-07-28 carries."""
    return {
        "io.modelcontextprotocol/protocolVersion": NEW,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }


def head(method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> bytes:
    """The head of a request; a length is added where there is a body and none is said."""
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items() if value)]
    if body is not None and "Content-Length" not in headers and "Transfer-Encoding" not in headers:
        lines.append(f"Content-Length: {len(body)}")
    if "Connection" not in headers:
        lines.append("Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def read_reply(reader: asyncio.StreamReader) -> Reply:
    """A response, to its end."""
    data = await reader.read()
    first, _, rest = data.partition(b"\r\n\r\n")
    lines = first.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    return Reply(
        int(lines[0].split()[1]), headers, _unchunked(rest) if "chunked" in headers.get("transfer-encoding", "") else rest
    )


def _unchunked(data: bytes) -> bytes:
    whole = b""
    while data:
        size, _, rest = data.partition(b"\r\n")
        length = int(size, 16) if size else 0
        if not length:
            break
        whole += rest[:length]
        data = rest[length + 2 :]
    return whole


@asynccontextmanager
async def serving(program: Opened, *chosen: str) -> AsyncIterator[Served]:
    """Serve on a free port of this machine, and end the server afterwards."""
    service = prepare(program, chosen)
    bound = listener.bind("127.0.0.1", 0, known=False)
    stop = Stop()
    port = bound.getsockname()[1]
    async with service.host:
        task = asyncio.ensure_future(
            http.serve(
                service.protocol, service.calls, service.listen, service.callers, local_caller(), bound, "127.0.0.1", stop,
                sides=service.sides,
            )
        )  # fmt: skip
        try:
            yield Served(service, stop, port, task)
        finally:
            stop.set()
            await task
