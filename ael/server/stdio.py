"""Serving one client over standard input and output: messages alone on standard output, everything else on standard error (K24).

A line is read within the size of a request and strictly; what is no message is answered with an error, and the session goes on.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from ael.server.calls import Calls
from ael.server.guard import Refused, strict
from ael.server.protocol import Protocol
from ael.server.stop import Stop

_BLOCK = 65_536
_ENDED = b""
_TOO_LONG = None


@contextmanager
def claimed() -> Iterator[tuple[int, int]]:
    """Standard input and output for the protocol alone: what the program prints goes to standard error, and it reads nothing."""
    source, target = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    try:
        yield source, target
    finally:
        os.dup2(source, 0)
        os.dup2(target, 1)
        os.close(target)
        # `source` stays open: the reading thread may wait on it until the process ends.


async def serve(protocol: Protocol, calls: Calls, size: int, source: int, target: int, stop: Stop) -> None:
    """Serve until the client closes its end or `stop`. `size`: bytes of a message at most."""
    inward, reading = anyio.create_memory_object_stream[SessionMessage | Exception](16)
    writing, outward = anyio.create_memory_object_stream[SessionMessage](16)
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes | None] = asyncio.Queue(maxsize=16)
    reader = threading.Thread(target=_read, args=(source, size, loop, lines), daemon=True)
    reader.start()
    options = protocol.server.create_initialization_options()
    await calls.open()
    writer = asyncio.ensure_future(_write(outward, target))
    feeder = asyncio.ensure_future(_feed(lines, inward, writing.clone(), size, calls.leave))
    server = asyncio.ensure_future(protocol.server.run(reading, writing, options))
    stopped = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({server, stopped}, return_when=asyncio.FIRST_COMPLETED)
        await calls.close()
    finally:
        for task in (stopped, feeder):
            task.cancel()
        inward.close()
        with suppress(Exception):
            await asyncio.wait_for(asyncio.shield(server), 2.0)
        server.cancel()
        writing.close()
        with suppress(Exception):
            await asyncio.wait_for(writer, 2.0)


async def _feed(
    lines: asyncio.Queue[bytes | None],
    inward: MemoryObjectSendStream[SessionMessage | Exception],
    answers: MemoryObjectSendStream[SessionMessage],
    size: int,
    ended: Callable[[], None],
) -> None:
    """Messages into the server; what is none is answered here. `ended` is called when the client has closed its end."""
    async with inward, answers:
        while True:
            line = await lines.get()
            if line is _TOO_LONG:
                await _complain(answers, types.INVALID_REQUEST, f"a message has at most {size:,} bytes")
                continue
            if line == _ENDED:
                # Told before the SDK hears of it: what it cancels then was not cancelled by the client.
                ended()
                return
            assert line is not None
            if not line.strip():
                continue
            try:
                found = strict(line.strip(), size)
                message = types.jsonrpc_message_adapter.validate_python(found, by_name=False)
            except Refused as refused:
                await _complain(answers, refused.code, refused.message, refused.id)
            except ValidationError:
                await _complain(answers, types.INVALID_REQUEST, "no message of JSON-RPC 2.0")
            else:
                await inward.send(SessionMessage(message))


async def _complain(
    answers: MemoryObjectSendStream[SessionMessage], code: int, message: str, id: str | int | None = None
) -> None:
    error = types.JSONRPCError(jsonrpc="2.0", id=id, error=types.ErrorData(code=code, message=message))
    await answers.send(SessionMessage(error))


async def _write(outward: MemoryObjectReceiveStream[SessionMessage], target: int) -> None:
    """One message a line. A client that does not read holds its own answers up, in a thread, and nobody else."""
    async with outward:
        async for message in outward:
            data = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
            try:
                await asyncio.to_thread(_write_all, target, data)
            except OSError:
                return


def _write_all(target: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(target, view) :]


def _read(source: int, size: int, loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[bytes | None]) -> None:
    """Lines of at most `size` bytes into the queue, in a thread; None for one that was longer, empty bytes at the end."""
    buffer = bytearray()
    skipping = False

    def put(line: bytes | None) -> None:
        asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()

    with suppress(RuntimeError):  # the loop has ended
        while True:
            try:
                block = os.read(source, _BLOCK)
            except OSError:
                block = b""
            start = 0
            while (end := block.find(b"\n", start)) >= 0:
                buffer += block[start:end]
                put(_TOO_LONG if skipping or len(buffer) > size else bytes(buffer) or b" ")
                buffer.clear()
                skipping, start = False, end + 1
            buffer += block[start:]
            if len(buffer) > size:
                skipping = True
                buffer.clear()
            if not block:
                if buffer:
                    put(bytes(buffer))
                put(_ENDED)
                return
