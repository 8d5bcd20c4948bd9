"""Time as the run time sees it: always injected, never read from the system elsewhere (K46)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


class SystemClock:
    """The real clock. `call_at` counts in `monotonic` seconds, as the event loop does."""

    __slots__ = ()

    monotonic = staticmethod(time.monotonic)
    now = staticmethod(time.time)
    sleep = staticmethod(asyncio.sleep)

    def call_at(self, when: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        """Call `callback` once `monotonic` reaches `when`; the handle's `cancel` takes it back."""
        return asyncio.get_running_loop().call_at(when, callback)
