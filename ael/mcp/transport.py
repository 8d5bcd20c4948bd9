"""What a session and its transport say to each other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from ael.mcp.failure import McpError
from ael.mcp.message import BadMessage, Id, Message, Reply
from ael.net.redact import bounded
from ael.types.fault import FaultKind


class Exchange:
    """One request from its sending to its end. Belongs to the task that waits for it; whoever reads replies settles it.

    `sent`: the server may have seen it; `repeat`: seeing it twice does no harm; `stream`: it stays open for long. `limit` is the one
    timer of the wait: its deadline, its idle limit, and what wakes it when the answer comes another way than the one its task reads.
    """

    __slots__ = (
        *("_holds", "_loop", "_waiter", "body", "deadline", "error", "headers", "id", "idle", "limit", "method"),
        *("on_progress", "reading", "repeat", "reply", "sent", "size", "status", "stream"),
    )

    def __init__(self, id: Id, method: str, body: bytes, headers: Sequence[str], deadline: float, idle: float | None) -> None:
        self.id = id
        self.method = method
        self.body = body
        self.headers = headers
        self.deadline = deadline
        self.idle = idle
        self.on_progress: Callable[[float, float | None, str], None] | None = None
        self.stream = False
        self.repeat = False
        self.sent = False
        self.reading = False
        self.status: int | None = None
        self.size = 0
        self.reply: Reply | None = None
        self.error: McpError | None = None
        self.limit: asyncio.Timeout | None = None
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._holds = 0

    @property
    def done(self) -> bool:
        return self.reply is not None or self.error is not None

    @property
    def left(self) -> float:
        """Seconds to the deadline."""
        return self.deadline - self._loop.time()

    def going_out(self) -> None:
        """From now on the server may see it, and its silence counts."""
        self.sent = True
        self.extend()

    def hold(self, more: int) -> None:
        """1: somebody else than the server is waited for (a person, a credential); -1: no longer. Meanwhile only the deadline counts."""
        self._holds += more
        self.extend()

    def due(self) -> float:
        """When the wait ends if nothing happens from now on, in the loop's time."""
        counts = self.idle is not None and self.sent and not self._holds
        return min(self.deadline, self._loop.time() + self.idle) if counts and self.idle is not None else self.deadline

    def extend(self) -> None:
        """Something happened: the idle limit begins anew. The deadline stays (fault kind K23)."""
        if self.idle is not None and self.limit is not None and not self.done and not self.limit.expired():
            self.limit.reschedule(self.due())

    def settle(self, reply: Reply, size: int) -> None:
        """The answer is here, in a message of `size` bytes. A second one is dropped."""
        if not self.done:
            self.reply = reply
            self.size = size
            self.sent = True
            self._wake()

    def fail(self, kind: FaultKind, message: str, sent: bool | None = None) -> None:
        """There will be no answer."""
        if not self.done:
            self.error = McpError(kind, message, sent=self.sent if sent is None else sent)
            self._wake()

    async def wait(self) -> None:
        """Until it is settled or has failed."""
        if not self.done:
            self._waiter = self._loop.create_future()
            await self._waiter

    def _wake(self) -> None:
        if self._waiter is not None:
            if not self._waiter.done():
                self._waiter.set_result(None)
        elif not self.reading and self.limit is not None and not self.limit.expired():
            self.limit.reschedule(self._loop.time())


async def stop(task: asyncio.Task[None] | None) -> None:
    """End a task of a transport, whatever it is at. Bounded; raises nothing but the cancellation of who waits."""
    if task is None:
        return
    task.cancel()
    done, _ = await asyncio.wait((task,), timeout=1.0)
    for one in done:
        if not one.cancelled():
            one.exception()


def shown(transport: Transport, text: str, limit: int = 300) -> str:
    """Outside text as a message may quote it: no credential, one line, at most `limit` characters.

    It is masked before it is cut short, so that no half of a credential is left at the end.
    """
    return bounded(transport.clean(text[: 64 * limit]), limit)


class Receiver(Protocol):
    """What takes what comes in. Nothing here waits or raises."""

    def message(self, message: Message, size: int) -> None:
        """A message of `size` bytes, those of its batch included."""

    def bad(self, problem: BadMessage) -> None:
        """Something came in on a channel that all requests share, and it is no message."""

    def lost(self, kind: FaultKind, message: str) -> None:
        """The channel is gone; `Exchange.sent` of each request is right."""

    def note(self, text: str) -> None:
        """Something worth a line in a log."""


class Transport(Protocol):
    """A way to one server."""

    protocol: str | None
    """The revision that was agreed on, once it was."""

    async def start(self, receiver: Receiver, deadline: float) -> None:
        """Be able to send. `deadline` in seconds. Raises `McpError`."""

    async def send(self, exchange: Exchange) -> None:
        """Send a request; the answer, and what comes before it, goes to the receiver. Raises `McpError`.

        Returns when it is out, or (over HTTP) when it is answered. When cancelled, nothing more of it goes out.
        """

    async def tell(self, method: str, body: bytes, deadline: float) -> None:
        """Send a message that gets no answer. Raises `McpError`."""

    def clean(self, text: str) -> str:
        """The text without any credential that went out."""

    async def close(self) -> None:
        """Let go of everything. Bounded; raises nothing."""
