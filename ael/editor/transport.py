"""How an editor reaches the language server: two pipes, or a port of this machine. The connection's end is the server's."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Callable
from typing import BinaryIO

from ael.editor.protocol import Frames, Lost, connection
from ael.editor.server import Server

logger = logging.getLogger(__name__)

_ALIVE = 2.0
"""Seconds between two looks at whether the editor is still there."""


def serve_stdio(source: BinaryIO, target: BinaryIO) -> int:
    """Serve the editor at the other end of two pipes. Gives the exit code of the standard: 0 after `shutdown`, else 1."""
    return asyncio.run(_stdio(Server(), source, target))


async def _stdio(server: Server, source: BinaryIO, target: BinaryIO) -> int:
    loop, protocol = asyncio.get_running_loop(), server.protocol
    over: asyncio.Future[int] = loop.create_future()

    def ended(code: int) -> None:
        if not over.done():
            over.set_result(code)

    def heard(body: bytes | None) -> None:
        if body is None:
            ended(1)
        elif not over.done():
            protocol.receive(body)

    def listen() -> None:
        frames = Frames()
        try:
            while data := os.read(source.fileno(), 64 * 1024):
                for body in frames.feed(data):
                    loop.call_soon_threadsafe(heard, body)
        except (Lost, OSError) as error:
            logger.error("the connection cannot go on: %s", error)
        except RuntimeError:  # the loop is closed
            return
        try:
            loop.call_soon_threadsafe(heard, None)
        except RuntimeError:
            return

    server.session.collector.take_over()
    protocol.ended = ended
    protocol.set_writer(_Pipe(target, ended))
    threading.Thread(target=listen, name="ael-lsp-input", daemon=True).start()
    watch = asyncio.ensure_future(_watch(server, ended))
    try:
        return await over
    finally:
        watch.cancel()
        server.session.stop()


class _Pipe:
    """Writes to the editor; one that does not listen any more ends the connection."""

    def __init__(self, target: BinaryIO, ended: Callable[[int], None]) -> None:
        self._target = target
        self._ended = ended

    def write(self, data: bytes) -> None:
        try:
            self._target.write(data)
            self._target.flush()
        except (OSError, ValueError):
            self._ended(1)

    def close(self) -> None:
        """The process ends; nothing is to be closed."""


async def _watch(server: Server, ended: Callable[[int], None]) -> None:
    """End when the editor's process is gone; look at the files where the editor does not watch them."""
    while True:
        await asyncio.sleep(_ALIVE)
        if server.parent is not None and not _alive(server.parent):
            logger.error("the editor is gone")
            ended(1)
        if not server.watches:
            await server.session.look()


def _alive(process: int) -> bool:
    """Whether a process is there. Where that cannot be asked without harm, the end of the input tells."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def serve_tcp(port: int) -> int:
    """Serve one editor that connects to a port of this machine (0: any free one, which is told on standard error)."""
    return asyncio.run(_tcp(Server(), port))


async def _tcp(server: Server, port: int) -> int:
    protocol = server.protocol
    over: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def ended(code: int) -> None:
        if not over.done():
            over.set_result(code)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if protocol.writer is not None:
            writer.close()  # one editor at a time
            return
        protocol.set_writer(_Stream(writer))
        try:
            await connection(protocol, reader)
        except (Lost, OSError) as error:
            logger.error("the connection cannot go on: %s", error)
        ended(1)

    server.session.collector.take_over()
    protocol.ended = ended
    watch = asyncio.ensure_future(_watch(server, ended))
    listener = await asyncio.start_server(connected, "127.0.0.1", port)
    try:
        print(f"ael lsp: listening on 127.0.0.1:{listener.sockets[0].getsockname()[1]}", file=sys.stderr, flush=True)
        return await over
    finally:
        # Not waited for: from Python 3.12 on that would be until the editor closes its end.
        listener.close()
        watch.cancel()
        server.session.stop()


class _Stream:
    """Writes to a connection."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def write(self, data: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(data)

    def close(self) -> None:
        self._writer.close()
