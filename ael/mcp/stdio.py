"""A server as a child process: messages are lines on its standard input and output.

The child leads a process group of its own, so that what it starts ends with it. Nothing here waits for the child: what it writes is read as
it comes, what it does not read stays with the request that waits for its turn, and at the end it is asked, told, and killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections import deque

from ael.mcp.endpoint import StdioEndpoint
from ael.mcp.failure import McpError
from ael.mcp.limits import SessionLimits
from ael.mcp.lines import Lines
from ael.mcp.message import BadMessage, decode
from ael.mcp.transport import Exchange, Receiver
from ael.net.redact import Redactor, bounded
from ael.project.environment import environment_of
from ael.types.fault import FaultKind
from ael.types.value import Secret

LAST_WORDS = 8 * 1_024
"""How much of what a child writes to its standard error is kept."""
_QUOTED = 300
_SETTLE = 0.1


class StdioTransport:
    """The way to a server that is a child process."""

    def __init__(self, endpoint: StdioEndpoint, limits: SessionLimits) -> None:
        self.protocol: str | None = None
        self._endpoint = endpoint
        self._limits = limits
        self._redact = Redactor(value for value in endpoint.environment.values() if isinstance(value, Secret))
        self._child: _Child | None = None

    async def start(self, receiver: Receiver, deadline: float) -> None:
        endpoint = self._endpoint
        loop = asyncio.get_running_loop()
        environment = environment_of(endpoint.environment)
        child = _Child(receiver, self._limits, self._redact, endpoint.command)
        try:
            await loop.subprocess_exec(
                lambda: child,
                endpoint.command,
                *endpoint.arguments,
                env=environment,
                cwd=endpoint.folder,
                start_new_session=sys.platform != "win32",
            )
        except (OSError, ValueError) as problem:
            # ValueError: a NUL in an argument. Neither text holds more than the command's name and the system's reason.
            reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else type(problem).__name__
            if endpoint.folder is not None and not endpoint.folder.is_dir():
                reason = f"the folder `{bounded(str(endpoint.folder), 200)}` is not there"
            raise McpError(FaultKind.UNAVAILABLE, f"`{bounded(endpoint.command, 80)}` could not be started: {reason}") from None
        self._child = child

    async def send(self, exchange: Exchange) -> None:
        await self._running().write(exchange.body, exchange)

    async def tell(self, method: str, body: bytes, deadline: float) -> None:
        async with asyncio.timeout(deadline):
            await self._running().write(body, None)

    def clean(self, text: str) -> str:
        return self._redact(text)

    async def close(self) -> None:
        if self._child is not None:
            await self._child.end(self._limits.closing)

    @property
    def pid(self) -> int | None:
        """The child's process id."""
        return None if self._child is None else self._child.pid

    def _running(self) -> _Child:
        if self._child is None:
            raise McpError(FaultKind.UNAVAILABLE, f"`{bounded(self._endpoint.command, 80)}` does not run")
        return self._child


class _Child(asyncio.SubprocessProtocol):
    """One child process: asyncio calls it as things happen."""

    def __init__(self, receiver: Receiver, limits: SessionLimits, redact: Redactor, command: str) -> None:
        self.pid: int | None = None
        self._receiver = receiver
        self._limits = limits
        self._redact = redact
        self._command = bounded(command, 80)
        self._loop = asyncio.get_running_loop()
        self._lines = Lines(limits.message)
        self._noise = 0
        self._noise_lines = 0
        self._last_words = b""
        self._transport: asyncio.SubprocessTransport | None = None
        self._input: asyncio.WriteTransport | None = None
        self._turns: deque[asyncio.Future[None]] = deque()
        self._blocked: Exchange | None = None
        self._paused = False
        self._gone: str | None = None
        self._dying: asyncio.TimerHandle | None = None
        self._exited = self._loop.create_future()

    # --- writing

    async def write(self, body: bytes, exchange: Exchange | None) -> None:
        """Write a line when it is its turn. Whoever is cancelled while waiting has written nothing. Raises `McpError`."""
        while self._paused and self._gone is None:
            turn = self._loop.create_future()
            self._turns.append(turn)
            try:
                await turn
            finally:
                with contextlib.suppress(ValueError):
                    self._turns.remove(turn)
                if not self._paused:
                    self._next()
        if self._gone is not None or self._input is None or self._input.is_closing():
            raise McpError(FaultKind.DISCONNECTED, self._gone or f"`{self._command}` has ended")
        if exchange is not None:
            exchange.going_out()
        self._input.write(body + b"\n")
        if self._input.get_write_buffer_size():
            self._blocked = exchange
        else:
            self._next()

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self._blocked = None
        self._next()

    def _next(self) -> None:
        while self._turns and not self._paused:
            turn = self._turns.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    # --- reading

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport
        self.pid = transport.get_pid()
        pipe = transport.get_pipe_transport(0)
        assert isinstance(pipe, asyncio.WriteTransport)
        # One line at a time: then it is known which were written whole.
        pipe.set_write_buffer_limits(high=0)
        self._input = pipe

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._last_words = (self._last_words + data)[-LAST_WORDS:]
            return
        for line in self._lines.feed(data):
            if self._gone is not None:
                return
            try:
                if line.cut:
                    text = f"a message is longer than {self._limits.message:,} bytes"
                    raise BadMessage.unread(text, line.data, too_large=True)
                messages = decode(line.data, self._limits.message)
            except BadMessage as problem:
                self._bad(problem, len(line.data))
                continue
            self._noise = self._noise_lines = 0
            for message in messages:
                self._receiver.message(message, len(line.data))

    def _bad(self, problem: BadMessage, size: int) -> None:
        if problem.meant or problem.id is not None:
            self._receiver.bad(problem)
            return
        # A banner or a line of a log on the wrong stream (fault kind K24).
        self._noise += size
        self._noise_lines += 1
        if self._noise_lines == 1:
            self._receiver.note(f"`{self._command}` writes what is no message to its standard output; it is skipped")
        if self._noise > self._limits.noise or self._noise_lines > self._limits.noise_lines:
            self._lose(f"`{self._command}` writes too much to its standard output that is no message", FaultKind.MALFORMED)

    # --- the end

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd != 2 and self._gone is None and self._dying is None:
            # Its exit code is known in a moment, and says more.
            self._dying = self._loop.call_later(_SETTLE, self._ended)

    def process_exited(self) -> None:
        if not self._exited.done():
            self._exited.set_result(None)
        if self._gone is None:
            if self._dying is not None:
                self._dying.cancel()
            # What it wrote before it ended is still to be read.
            self._dying = self._loop.call_later(_SETTLE / 2, self._ended)

    def _ended(self) -> None:
        code = None if self._transport is None else self._transport.get_returncode()
        if code is None:
            how = "closed its standard input or output"
        elif code < 0:
            how = f"was ended by signal {-code}"
        else:
            how = f"ended with exit code {code}"
        words = bounded(self._redact(self._last_words.decode("utf-8", "replace"))[-_QUOTED:], _QUOTED)
        self._lose(f"`{self._command}` {how}" + (f"; its last words: «{words}»" if words else ""))

    def _lose(self, message: str, kind: FaultKind = FaultKind.DISCONNECTED) -> None:
        if self._gone is not None:
            return
        self._gone = message
        if self._blocked is not None:
            # Its line never went out whole, so the server cannot have acted on it.
            self._blocked.sent = False
        self._lose_turns()
        out = None if self._transport is None else self._transport.get_pipe_transport(1)
        if isinstance(out, asyncio.ReadTransport) and not out.is_closing():
            # It may talk on; nobody listens.
            out.pause_reading()
        self._receiver.lost(kind, message)

    async def end(self, seconds: float) -> None:
        """Close its input, then ask it to end, then kill it and all that it started; at most `seconds`."""
        if self._gone is None:
            self._gone = f"`{self._command}` was closed"
        if self._dying is not None:
            self._dying.cancel()
        self._lose_turns()
        if self._input is not None and not self._input.is_closing():
            # What it has not read by now it need not read.
            if self._paused:
                self._input.abort()
            else:
                self._input.close()
        try:
            for sign, share in ((None, 0.4), (signal.SIGTERM, 0.4), (getattr(signal, "SIGKILL", signal.SIGTERM), 0.2)):
                if sign is not None:
                    self._signal(sign)
                await asyncio.wait((self._exited,), timeout=seconds * share)
                if self._exited.done():
                    break
        finally:
            # Also what it started and left behind, and also when this task is cancelled.
            self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))
            if self._transport is not None:
                self._transport.close()

    def _lose_turns(self) -> None:
        while self._turns:
            turn = self._turns.popleft()
            if not turn.done():
                turn.set_result(None)

    def _signal(self, sign: int) -> None:
        if self.pid is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform != "win32":
                os.killpg(self.pid, sign)
            elif self._transport is not None:
                self._transport.send_signal(sign)
