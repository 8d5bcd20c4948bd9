"""The heartbeat of held runs, in a thread of its own: code that computes for long has the event loop, and keeps its runs all the same.

A process that stands still has no thread that goes on: its leases end, and its runs are taken over.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from ael.journal.durable import DurableStore, Held, Pulse
from ael.run.run import Run

BEATS = 3
"""Heartbeats in the time of a lease: two may be late before the run is taken for abandoned."""
LINGER = 1.0
"""Seconds for which the thread waits for another run before it ends."""
_LEAST = 0.05
TAKEN = "another worker has this run"


class _Beating:
    """A run whose lease is extended. `run` once it is executed."""

    __slots__ = ("held", "loop", "run")

    def __init__(self, held: Held, loop: asyncio.AbstractEventLoop) -> None:
        self.held = held
        self.loop = loop
        self.run: Run | None = None


class Heart:
    """Extends the leases of the runs that an owner holds, and tells them that they are to end, or are somebody else's.

    `add`, `attach` and `remove` are called by the loop that executes the run, and cost a dictionary entry. `trouble` hears, from the
    thread, of a loop that one run has had for a whole lease.
    """

    def __init__(self, store: DurableStore, owner: str, lease: float) -> None:
        self._store = store
        self._owner = owner
        self._lease = lease
        self._lock = threading.Lock()
        """Held while the runs and the thread change together."""
        self._runs: dict[str, _Beating] = {}
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._asked: float | None = None
        """Since when a loop owes a sign of life."""
        self._told = False
        self.trouble: Callable[[str], None] | None = None

    def add(self, held: Held) -> None:
        """The lease of a run that was claimed just now is extended from here on."""
        one = _Beating(held, asyncio.get_running_loop())
        with self._lock:
            self._runs[held.row.header.run] = one
            if self._thread is None:
                self._thread = threading.Thread(target=self._beat_on, name="ael-heart", daemon=True)
                self._thread.start()

    def attach(self, run: Run) -> None:
        """A run that was added is executed: it hears of cancels."""
        self._runs[run.id].run = run

    def remove(self, run: str) -> None:
        """The run ended, parked, or is given up."""
        with self._lock:
            self._runs.pop(run, None)
            if not self._runs:
                self._wake.set()

    # --- the thread --------------------------------------------------------------------------------------------------

    def _beat_on(self) -> None:
        period = max(_LEAST, self._lease / BEATS)
        due = time.monotonic() + period
        while True:
            idle = not self._runs
            self._wake.wait(LINGER if idle else max(0.0, due - time.monotonic()))
            with self._lock:
                self._wake.clear()
                if idle and not self._runs:
                    self._thread = None
                    return
                beating = dict(self._runs)
            if beating and time.monotonic() >= due:
                # A database that is away, or a loop that has ended: the next beat tries again.
                with suppress(Exception):
                    self._beat(beating)
                due = time.monotonic() + period

    def _beat(self, beating: dict[str, _Beating]) -> None:
        self._watch(beating)
        # A run that the store does not know yet has no lease.
        epochs = {name: one.held.row.epoch for name, one in beating.items() if one.held.journal.begun}
        if not epochs:
            return
        pulse: Pulse = asyncio.run(self._pulse(epochs))
        for name in pulse.lost:
            _end(beating[name], TAKEN)
        for name, reason in pulse.cancel.items():
            _end(beating[name], reason)

    async def _pulse(self, epochs: dict[str, int]) -> Pulse:
        return await self._store.pulse(self._owner, epochs, self._lease)

    def _watch(self, beating: dict[str, _Beating]) -> None:
        """Ask the loop for a sign of life; where it has owed one for a lease, tell which run has it."""
        now = time.monotonic()
        if self._asked is None:
            self._asked = now
            next(iter(beating.values())).loop.call_soon_threadsafe(self._answered)
        elif now - self._asked >= self._lease and not self._told and self.trouble is not None:
            self._told = True
            busy = next((name for name, one in beating.items() if one.run is not None and one.run.holds_the_loop()), None)
            who = "something" if busy is None else f"the run {busy}"
            self.trouble(
                f"{who} has computed for {now - self._asked:.0f} s without an effect, and no other run goes on here meanwhile"
            )

    def _answered(self) -> None:
        self._asked = None
        self._told = False


def _end(one: _Beating, reason: str) -> None:
    """Have a run end: also where it computes, and hears nothing."""
    run = one.run
    if run is None or run.cancelled is not None:
        return
    run.interrupt(reason)
    one.loop.call_soon_threadsafe(run.cancel, reason)
