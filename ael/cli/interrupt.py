"""Signals while a run runs: the first cancels it, the second ends the process."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from ael.run.run import Run

_PIPES = sys.platform != "win32"
"""Whether a signal can wake an event loop."""


def caught(number: signal.Signals, interrupt: Callable[[int, FrameType | None], None]) -> Any:
    """Have `interrupt` called for a signal; gives what was called before.

    The loop's own handler would wait for pure code, and a plain one for whatever wakes an idle loop when another thread took the
    signal. So the loop's is set, which wakes it by a pipe, and the plain one takes its place.
    """
    before = signal.getsignal(number)
    if _PIPES:
        asyncio.get_running_loop().add_signal_handler(number, lambda: None)
    signal.signal(number, interrupt)
    return before


def released(before: Mapping[signal.Signals, Any]) -> None:
    """Have signals call what they called before `caught`."""
    for number, handler in before.items():
        if _PIPES:
            asyncio.get_running_loop().remove_signal_handler(number)
        signal.signal(number, handler)


class Interrupt:
    """The first signal cancels the run, in pure code too; the second ends the process (feature A12.13)."""

    def __init__(self, run: Run, loop: asyncio.AbstractEventLoop) -> None:
        self.run = run
        self.loop = loop
        self.told: signal.Signals | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.told is not None:
            os._exit(128 + number)
        self.told = signal.Signals(number)
        # Not `print`: the signal may have come in the middle of one, and its buffer takes no second writer.
        os.write(2, b"\ncancelling; once more ends at once\n")
        self.run.interrupt()
        self.loop.call_soon_threadsafe(self.run.cancel, "interrupted")
