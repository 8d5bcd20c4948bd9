"""How many calls run at once: a bounded number, a bounded queue before it, and a share for each caller (services.md: backpressure)."""

from __future__ import annotations

import asyncio
from collections import deque

from ael.server.caller import Caller


class Full(Exception):
    """No room for another call. `message` says whose."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Gate:
    """Slots for `limit` calls; `queue` more wait in order. A slot belongs to a run until the run has really ended."""

    def __init__(self, limit: int, queue: int) -> None:
        self.limit = limit
        self.queue = queue
        self.taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self, caller: Caller, *, wait: bool = True) -> None:
        """Take a slot, or wait for one. Raises `Full`; cancelling gives the place up.

        `wait` False: of a call that comes from inside of one that has a slot, which would wait for itself (feature A13.7).
        """
        if caller.concurrent is not None and caller.in_flight >= caller.concurrent:
            raise Full(f"the caller `{caller.name}` has {caller.in_flight} calls in flight, as many as are allowed at once")
        if self.taken < self.limit and not self._waiting:
            self.taken += 1
            caller.in_flight += 1
            return
        if not wait:
            raise Full(
                f"{self.taken} calls are in flight, and this one comes from inside of one of them: it would wait for itself"
            )
        if len(self._waiting) >= self.queue:
            raise Full(f"{self.taken} calls are in flight and {len(self._waiting)} wait, as many as this server takes")
        caller.in_flight += 1
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._hand_on()
            else:
                self._waiting.remove(turn)
            caller.in_flight -= 1
            raise

    def leave(self, caller: Caller) -> None:
        """Give a slot back: to whoever waits longest, where somebody does."""
        caller.in_flight -= 1
        self._hand_on()

    def _hand_on(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.taken -= 1
