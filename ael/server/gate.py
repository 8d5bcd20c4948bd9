"""How many calls run at once: a bounded number, a bounded queue before it, a share for each caller and tenant (services.md)."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Mapping

from ael.server.caller import Caller


class Full(Exception):
    """No room for another call. `message` says whose."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Gate:
    """Slots for `limit` calls; `queue` more wait in order. A slot belongs to a run until the run has really ended."""

    def __init__(self, limit: int, queue: int, tenants: Mapping[str, int] | None = None) -> None:
        """`tenants`: the most calls at once of those tenants that have a limit."""
        self._tenants = tenants or {}
        self._of_tenant: Counter[str] = Counter()
        self.limit = limit
        self.queue = queue
        self.taken = 0
        self.shed = 0
        """Calls that found no room."""
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self, caller: Caller, *, wait: bool = True) -> None:
        """Take a slot, or wait for one. Raises `Full`; cancelling gives the place up.

        `wait` False: of a call that comes from inside of one that has a slot, which would wait for itself (feature A13.7).
        """
        if self._caller_full(caller):
            raise self._full(f"the caller `{caller.name}` has {caller.in_flight} calls in flight, as many as are allowed at once")
        if self._tenant_full(caller):
            most = self._tenants[caller.tenant]
            raise self._full(f"the tenant `{caller.tenant}` has {most} calls in flight, as many as are allowed at once")
        if self.take(caller):
            return
        if not wait:
            raise self._full(
                f"{self.taken} calls are in flight, and this one comes from inside of one of them: it would wait for itself"
            )
        if len(self._waiting) >= self.queue:
            raise self._full(f"{self.taken} calls are in flight and {len(self._waiting)} wait, as many as this server takes")
        self._count(caller, 1)
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._hand_on()
            elif turn in self._waiting:
                # Else its turn came, and went on to the next, after it was cancelled and before it woke.
                self._waiting.remove(turn)
            self._count(caller, -1)
            raise
        except Full:
            self._count(caller, -1)
            raise

    def take(self, caller: Caller) -> bool:
        """Take a slot if one is free and the caller may have it, and say whether."""
        if self.taken >= self.limit or self._waiting or self._caller_full(caller) or self._tenant_full(caller):
            return False
        self.taken += 1
        self._count(caller, 1)
        return True

    def _caller_full(self, caller: Caller) -> bool:
        return caller.concurrent is not None and caller.in_flight >= caller.concurrent

    def _tenant_full(self, caller: Caller) -> bool:
        most = self._tenants.get(caller.tenant)
        return most is not None and self._of_tenant[caller.tenant] >= most

    def send_home(self, message: str) -> None:
        """Refuse all who wait, at once. Who has a slot keeps it."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_exception(self._full(message))

    @property
    def waiting(self) -> int:
        """How many wait for a slot."""
        return len(self._waiting)

    def _full(self, message: str) -> Full:
        self.shed += 1
        return Full(message)

    def leave(self, caller: Caller) -> None:
        """Give a slot back: to whoever waits longest, where somebody does."""
        self._count(caller, -1)
        self._hand_on()

    def _count(self, caller: Caller, change: int) -> None:
        caller.in_flight += change
        self._of_tenant[caller.tenant] += change

    def _hand_on(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.taken -= 1
