"""The end of a server: a first signal lets the calls in flight end, a second ends the process at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class Stop:
    """Set once, by a signal or by code."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.signal: signal.Signals | None = None

    async def wait(self) -> None:
        """Wait for the end to be asked for."""
        await self._event.wait()

    def set(self) -> None:
        """Ask for the end."""
        self._event.set()

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Listen for SIGINT and SIGTERM, where the platform's loop can."""
        loop = asyncio.get_running_loop()
        caught = []
        for number in (signal.SIGINT, signal.SIGTERM):
            if sys.platform != "win32":  # Ctrl-C comes as KeyboardInterrupt there
                loop.add_signal_handler(number, self._signalled, number)
                caught.append(number)
        try:
            yield
        finally:
            for number in caught:
                loop.remove_signal_handler(number)

    def _signalled(self, number: signal.Signals) -> None:
        if self.signal is not None:
            os._exit(128 + number)
        self.signal = number
        os.write(2, b"\nael serve: ending; once more ends at once\n")
        self.set()
