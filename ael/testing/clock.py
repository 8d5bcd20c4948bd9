"""The clock of a test: `now()` stands still until the test moves it, and nobody waits for anything.

Time limits go on in real time, so that a test whose code hangs ends. A wait that the run time makes (before it tries again, for a person's
answer, a scripted delay) is over as soon as everything else waits too: the clock jumps to what comes first, be it the end of the wait or
of a time limit.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count

from ael.run.clock import SystemClock

START = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
"""What `now()` is when a test begins."""
_QUIET = 8
"""Turns of the event loop without anything to do, after which everything waits."""


class TestClock(SystemClock):
    """Jumps over waits. One for each test; used by one event loop."""

    __test__ = False
    __slots__ = ("_due", "_jumped", "_number", "_settling", "_sleepers")

    def __init__(self) -> None:
        self._jumped = 0.0
        self._due: list[tuple[float, int, _Timer]] = []
        self._number = count()
        self._sleepers = 0
        self._settling = False

    def monotonic(self) -> float:
        return time.monotonic() + self._jumped

    def now(self) -> float:
        return START + self._jumped

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has come so far."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self._add(self.monotonic() + seconds, lambda: None if waiter.done() else waiter.set_result(None), sleeper=True)
        self._settle()
        try:
            await waiter
        finally:
            timer.cancel()

    def call_at(self, when: float, callback: Callable[[], None]) -> _Timer:  # type: ignore[override]
        """Call `callback` once the clock has come to `when`, by a jump or in real time."""
        timer = self._add(when, callback, sleeper=False)
        timer.handle = asyncio.get_running_loop().call_later(max(0.0, when - self.monotonic()), timer.fire)
        return timer

    async def advance(self, seconds: float) -> None:
        """Move the clock on, and let everything happen that is due by then."""
        end = self.monotonic() + seconds
        left = seconds
        while self._due and self._due[0][0] <= end:
            when, _, timer = heapq.heappop(self._due)
            step = min(max(0.0, when - self.monotonic()), left)
            self._jumped += step
            left -= step
            timer.fire()
            await _quiet()
        self._jumped += left
        await _quiet()

    def _add(self, when: float, callback: Callable[[], None], *, sleeper: bool) -> _Timer:
        timer = _Timer(self, callback, sleeper)
        self._sleepers += sleeper
        heapq.heappush(self._due, (when, next(self._number), timer))
        return timer

    def _settle(self, quiet: int = 0) -> None:
        """Jump to what comes first, after some turns in which others may go on."""
        if quiet == 0:
            if self._settling:
                return
            self._settling = True
        if quiet < _QUIET:
            asyncio.get_running_loop().call_soon(self._settle, quiet + 1)
            return
        self._settling = False
        while self._due and self._due[0][2].over:
            heapq.heappop(self._due)
        if self._sleepers and self._due:
            when, _, timer = heapq.heappop(self._due)
            self._jumped += max(0.0, when - self.monotonic())
            timer.fire()
        if self._sleepers:
            self._settle()


class _Timer:
    """One thing that is due: a wait that ends, or the end of a time limit."""

    __slots__ = ("_callback", "_clock", "_sleeper", "handle", "over")

    def __init__(self, clock: TestClock, callback: Callable[[], None], sleeper: bool) -> None:
        self._clock = clock
        self._callback = callback
        self._sleeper = sleeper
        self.handle: asyncio.TimerHandle | None = None
        self.over = False

    def fire(self) -> None:
        """It is due now."""
        if not self.over:
            self.cancel()
            self._callback()

    def cancel(self) -> None:
        """It is due no more."""
        if not self.over:
            self.over = True
            self._clock._sleepers -= self._sleeper
            if self.handle is not None:
                self.handle.cancel()


async def _quiet() -> None:
    for _ in range(_QUIET):
        await asyncio.sleep(0)
