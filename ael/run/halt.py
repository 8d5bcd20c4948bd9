"""Pure code stopped at its deadline. It never awaits, so the event loop cannot stop it: a thread sets the flag that compiled code tests.

The thread sleeps until the earliest deadline of the runs under way, and does not exist while there is none.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from ael.lower.unit import Halt
from ael.types.fault import Fault, FaultKind

if TYPE_CHECKING:
    from ael.run.deadline import Deadline
    from ael.run.run import Run

_LATE = 0.02
"""Seconds that the event loop gets to notice a deadline by itself."""
_AGAIN = 0.01
_IDLE = 5.0


class Watchdog:
    """Watches the deadlines of one unit's runs. `watch` and `forget` are called by the loop's thread and cost a dictionary entry."""

    __slots__ = ("_halt", "_lock", "_next", "_tasks", "_thread", "_wake")

    def __init__(self, halt: Halt) -> None:
        self._halt = halt
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._tasks: dict[Deadline, Run] = {}
        self._thread: threading.Thread | None = None
        self._next = float("inf")

    def watch(self, deadline: Deadline, run: Run) -> None:
        """Code of `run` begins that has to end by `deadline` (with a time)."""
        if deadline.when is None:
            return
        self._tasks[deadline] = run
        if self._thread is None:
            self._begin()
        elif deadline.when < self._next:
            self._wake.set()

    def forget(self, deadline: Deadline) -> None:
        """The body has ended."""
        self._tasks.pop(deadline, None)

    def _begin(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="ael-watchdog", daemon=True)
                self._thread.start()

    def _pending(self) -> list[tuple[Deadline, Run]]:
        """What is watched now; the loop's thread goes on adding to it meanwhile."""
        while True:
            try:
                return list(self._tasks.items())
            except RuntimeError:
                continue

    def _run(self) -> None:
        idle_since: float | None = None
        while True:
            now = time.monotonic()
            with self._lock:
                pending = self._pending()
                if pending:
                    idle_since = None
                else:
                    idle_since = idle_since or now
                    if now - idle_since >= _IDLE:
                        self._thread = None
                        if not self._tasks:
                            return
                        self._thread = threading.current_thread()  # something came just now, and took this one for running
                self._next = min((deadline.when or now for deadline, _ in pending), default=now + _IDLE)
                self._wake.clear()
            late = [
                (deadline, run)
                for deadline, run in pending
                if deadline.when is not None and not deadline.paused and now >= deadline.when + _LATE
            ]
            for deadline, run in late:
                self._stop(deadline, run)
            self._wake.wait(_AGAIN if late else max(_AGAIN, min(self._next + _LATE - now, _IDLE)))

    def _stop(self, deadline: Deadline, run: Run) -> None:
        """Set the flag while the late run is the one that holds the loop; take it back when that changed meanwhile."""
        if self._halt.flag[0] is not None or not run.holds_the_loop():
            return
        message = f"the time of {deadline.name} is up"
        self._halt.flag[0] = Fault(FaultKind.DEADLINE_EXCEEDED, message, limit="time", spender=deadline.name, run=run.id)
        if not run.holds_the_loop():
            self._halt.flag[0] = None
