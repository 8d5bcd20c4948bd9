"""Garbage collection of a process whose answers people wait for: it is done while nobody types.

Looking through the trees and tables of a large program takes longer than analysing it again. What an analysis leaves behind in cycles is
about half a megabyte, so that it can wait for a pause.
"""

from __future__ import annotations

import asyncio
import gc

PAUSE = 1.0
"""Seconds without a change after which garbage is collected."""
MOST = 150
"""Analyses after which it is collected without a pause."""


class Collector:
    """Collects in pauses. Nothing happens until `take_over`."""

    def __init__(self) -> None:
        self._mine = False
        self._analyses = 0
        self._timer: asyncio.TimerHandle | None = None

    def take_over(self) -> None:
        """From now on garbage is collected in pauses alone."""
        gc.disable()
        self._mine = True

    def analysed(self) -> None:
        """There was an analysis: called on the event loop."""
        if not self._mine:
            return
        self._analyses += 1
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(0.0 if self._analyses >= MOST else PAUSE, self._collect)

    def _collect(self) -> None:
        self._timer = None
        self._analyses = 0
        gc.collect()
