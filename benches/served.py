"""What `serve` measures: a node that takes an order, checks it by its type and gives a receipt, and the load that is put on it.

It is the client's side: each connection sends its next call when the last was answered. Standard library only.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from typing import Any

from benches.programs.order import order

RECEIPT = {"id": "A-42", "lines": 2, "total": 1234.5}
_TICKS = os.sysconf("SC_CLK_TCK")


def request(path: str, argument: str) -> bytes:
    """One call as bytes. `argument`: the name under which the order is in the body; none where it is the body."""
    body = order("small")
    if argument:
        body = b'{"%s":%s}' % (argument.encode(), body)
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nuser-agent: bench\r\naccept: */*\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Caller(asyncio.Protocol):
    """A connection that calls, and calls again when the answer is there, while calls are left."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected: the first call goes out."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._next()

    def data_received(self, data: bytes) -> None:
        """Bytes of an answer: the whole of one is counted, and the next call goes out."""
        self._data += data
        head, found, body = self._data.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return
        self._data = b""
        self._load.answered(head.startswith(b"HTTP/1.1 200 ") and body)
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        """A server that closes before all is done ends the measurement."""
        self._load.closed()

    def _next(self) -> None:
        if self._load.take():
            self._transport.write(self._load.request)


class Load:
    """So many calls over all connections together."""

    def __init__(self, request: bytes, calls: int) -> None:
        self.request = request
        self._left = self._missing = calls
        self._known: set[bytes] = set()
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def take(self) -> bool:
        """Whether another call is to be made."""
        self._left -= 1
        return self._left >= 0

    def answered(self, body: bytes | bool) -> None:
        """An answer came; it has to be the receipt."""
        if body not in self._known and not self.done.done():
            if isinstance(body, bool) or json.loads(body) != RECEIPT:
                self.done.set_exception(RuntimeError(f"the server answered {body!r}"))
                return
            self._known.add(body)
        self._missing -= 1
        if self._missing == 0 and not self.done.done():
            self.done.set_result(None)

    def closed(self) -> None:
        """A connection is gone."""
        if not self.done.done():
            self.done.set_exception(RuntimeError("the server closed a connection"))


async def put(port: int, request: bytes, connections: int, calls: int) -> float:
    """Make the calls; the seconds that they took."""
    loop = asyncio.get_running_loop()
    load = Load(request, calls)
    began = loop.time()
    transports = [(await loop.create_connection(lambda: Caller(load), "127.0.0.1", port))[0] for _ in range(connections)]
    await load.done
    seconds = loop.time() - began
    for transport in transports:
        transport.abort()
    return seconds


def cpu(pid: int) -> float:
    """Seconds of CPU that a process has had, all of its threads (Linux)."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def load(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """The operation `load`: microseconds of the server's CPU a call, and calls a second on the clock."""
    pid, calls = int(asked["pid"]), int(asked["calls"])
    before = cpu(pid)
    call = request(str(asked["path"]), str(asked["argument"]))
    seconds = asyncio.run(put(int(asked["port"]), call, int(asked["connections"]), calls))
    return {"us": (cpu(pid) - before) * 1e6 / calls, "rate": calls / seconds}


OPS = {"load": load}
