"""What a server asks during a call (elicitation), brought to the one call that may be asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ael.mcp.session import ElicitationReply
from ael.run.ports import Question, Reply

Ask = Callable[[Question], Awaitable[Reply]]


class Questions:
    """The questions of one call: `ask` reaches its person, and `limit`, the time of the call, stands still meanwhile."""

    __slots__ = ("_ask", "_open", "error", "limit")

    def __init__(self, ask: Ask, limit: asyncio.Timeout) -> None:
        self._ask = ask
        self._open: set[asyncio.Future[Reply]] = set()
        self.limit = limit
        self.error: Exception | None = None
        """What asking failed with on this side; the call raises it."""

    async def put(self, question: Question) -> ElicitationReply:
        """Ask. A failure of this side is to the server as if the person had gone away."""
        loop = asyncio.get_running_loop()
        when = self.limit.when()
        left = None if when is None else when - loop.time()
        self.limit.reschedule(None)
        asked: asyncio.Future[Reply] = asyncio.ensure_future(self._ask(question))
        self._open.add(asked)
        try:
            await asyncio.wait([asked])
        finally:
            self._open.discard(asked)
            if not asked.done():
                asked.cancel()
            if left is not None and not self.limit.expired():
                self.limit.reschedule(loop.time() + left)
        if asked.cancelled():
            return ElicitationReply("cancel", None)
        error = asked.exception()
        if error is not None:
            self.error = error if isinstance(error, Exception) else RuntimeError(type(error).__name__)
            return ElicitationReply("cancel", None)
        answer = asked.result()
        return ElicitationReply("decline", None) if answer is None else ElicitationReply("accept", answer)

    def end(self) -> None:
        """The call is over: nobody waits for an answer any more."""
        for asked in self._open:
            asked.cancel()
