"""Clients of a served node, one for each protocol: they try nothing again, and say how each call ended."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

import grpc
from grpc import aio

from ael.services.status import TRAILER, restored
from ael.services.wire import restored as restored_over_http
from ael.types.proto_wire import fields_of, framed
from tests.load.served import Command
from tests.server.support import JSON, NEW, Reply, head, modern_meta
from tests.transports.places import TOKEN

BEARER = (("authorization", f"Bearer {TOKEN}"),)
PROTOCOLS = ("connect", "grpc", "mcp")


@dataclass(frozen=True)
class End:
    """How a call ended. `kind`: `value`; `refused` (a typed answer that it was not let in); `fault`, `uncertain` (typed answers of one
    that was); `unreached` (nothing was sent); `lost` (sent, and no answer came)."""

    kind: str
    value: int = 0
    said: str = ""
    after: float = 0.0
    """Seconds after which a refused call may come again, as the protocol's own header and AEL's ending both say."""


class Client(ABC):
    """A client on connections of its own."""

    def __init__(self, served: Command) -> None:
        self.served = served

    @abstractmethod
    async def score(self, n: int) -> End:
        """Call the node once."""

    @abstractmethod
    async def close(self) -> None:
        """Close the connections."""


class Connect(Client):
    """The Connect protocol, over one connection that is kept."""

    def __init__(self, served: Command) -> None:
        super().__init__(served)
        self._open: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def score(self, n: int) -> End:
        own = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json", "Idempotency-Key": f"n{n}"}
        reply = await self._post("/shop.Nodes/Score", json.dumps({"n": n}).encode(), own)
        if isinstance(reply, End):
            return reply
        if reply.status == 200:
            return End("value", int(reply.json["result"]))
        ending, told = restored_over_http(reply.status, reply.body)
        assert told, f"no word of the server's own: {reply}"
        after = float(reply.headers.get("retry-after", 0))
        return ended(ending, after if reply.status == 503 else 0.0)

    async def _post(self, path: str, body: bytes, headers: dict[str, str]) -> Reply | End:
        """One request on the kept connection; a new one, where it was closed."""
        sent = False
        try:
            if self._open is None or self._open[0].at_eof():
                await self.close()
                self._open = await asyncio.open_connection("127.0.0.1", self.served.port)
            reader, writer = self._open
            host = {"Host": f"127.0.0.1:{self.served.port}", "Connection": "keep-alive"}
            sent = True
            writer.write(head("POST", path, body, {**host, **headers}) + body)
            await writer.drain()
            reply = await read_kept(reader)
            if reply.headers.get("connection") == "close":
                await self.close()
            return reply
        except (OSError, asyncio.IncompleteReadError) as error:
            await self.close()
            return End("lost" if sent else "unreached", said=type(error).__name__)

    async def close(self) -> None:
        opened, self._open = self._open, None
        if opened is not None:
            opened[1].close()
            with suppress(OSError):
                await opened[1].wait_closed()


class Mcp(Connect):
    """The stateless protocol of MCP, over one connection that is kept."""

    async def score(self, n: int) -> End:
        own = {**JSON, "Authorization": f"Bearer {TOKEN}"}
        own |= {"MCP-Protocol-Version": NEW, "Mcp-Method": "tools/call", "Mcp-Name": "score"}
        meta = {**modern_meta(), "idempotencyKey": f"n{n}"}
        params = {"name": "score", "arguments": {"n": n}, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params}
        reply = await self._post("/mcp", json.dumps(message).encode(), own)
        if isinstance(reply, End):
            return reply
        if reply.status == 503:
            return End("refused", said=str(reply.json["error"]["message"]), after=float(reply.headers.get("retry-after", 0)))
        assert reply.status == 200, reply
        found = reply.json["result"]
        if not found["isError"]:
            return End("value", int(found["structuredContent"]["result"]))
        outcome = found["_meta"]["ael/outcome"]
        details = outcome.get("details", {})
        return ended({**outcome, "kind": outcome.get("fault")}, float(details.get("retry_after", 0)))


class Grpc(Client):
    """gRPC, over one channel that is kept."""

    def __init__(self, served: Command) -> None:
        super().__init__(served)
        # A pool of its own: the channels of a process to one address share a connection else.
        options = [("grpc.use_local_subchannel_pool", 1)]
        self._channel = aio.insecure_channel(f"127.0.0.1:{served.rpc}", options=options)
        self._score = self._channel.unary_unary("/shop.Nodes/Score", request_serializer=None, response_deserializer=None)

    async def score(self, n: int) -> End:
        try:
            key = ("idempotency-key", f"n{n}")
            answer = await self._score(framed(1, str(n).encode()), metadata=(*BEARER, key), timeout=120)
        except aio.AioRpcError as error:
            details = next((value for key, value in error.trailing_metadata() or () if key == TRAILER), None)
            ending, told = restored(error.code().value[0], error.details() or "", details if isinstance(details, bytes) else None)
            if not told:
                return End("lost", said=error.details() or "")
            named = ending.get("details")
            after = named.get("retry_after", 0) if isinstance(named, dict) else 0
            return ended(ending, float(after) if error.code() is grpc.StatusCode.UNAVAILABLE else 0.0)
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            return End("lost", said="the channel was closed")
        [(_, value)] = fields_of(answer)[1]
        assert isinstance(value, bytes)
        return End("value", int(value))

    async def close(self) -> None:
        await self._channel.close()


def ended(ending: object, after: float) -> End:
    """A typed ending that is no value."""
    assert isinstance(ending, dict)
    said = str(ending.get("message", ""))
    if ending.get("outcome") != "fault":
        return End(str(ending.get("outcome")), said=said)
    details = ending.get("details")
    known = isinstance(details, dict) and details.get("retry_after") == after
    if ending.get("kind") == "Unavailable" and known:
        return End("refused", said=said, after=after)
    return End("fault", said=f"{ending.get('kind')}: {said}")


async def read_kept(reader: asyncio.StreamReader) -> Reply:
    """A response on a connection that stays open."""
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}
    body = b""
    if headers.get("transfer-encoding") == "chunked":
        while size := int(await reader.readuntil(b"\r\n"), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readexactly(2)
    else:
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Reply(int(lines[0].split()[1]), headers, body)


def client(protocol: str, served: Command) -> Client:
    """A client of a protocol."""
    return {"connect": Connect, "grpc": Grpc, "mcp": Mcp}[protocol](served)


@dataclass
class Load:
    """Clients that call one after the other without a pause, each number once. `ends`: number -> how the call ended."""

    clients: list[Client]
    ends: dict[int, End] = field(default_factory=dict)
    stopped: bool = False
    _next: int = 0

    def count(self, kind: str) -> int:
        """Calls that ended so."""
        return Counter(end.kind for end in self.ends.values())[kind]

    def numbers(self, kind: str) -> list[int]:
        """The calls that ended so."""
        return sorted(n for n, end in self.ends.items() if end.kind == kind)

    async def run(self, most: int) -> None:
        """Call until so many calls were made, or until stopped."""
        await asyncio.gather(*(self._work(one, most) for one in self.clients))

    async def _work(self, one: Client, most: int) -> None:
        while self._next < most and not self.stopped:
            self._next += 1
            n = self._next
            self.ends[n] = await one.score(n)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.stopped = True
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.gather(*(one.close() for one in self.clients))
