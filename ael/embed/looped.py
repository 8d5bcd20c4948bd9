"""An event loop in a thread of its own, for programs without one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from ael.embed.error import RequestError

R = TypeVar("R")


class Looped:
    """The loop, between `start` and `stop`. `what` is open meanwhile (`session`), and `how` says how one is opened."""

    def __init__(self, what: str, how: str) -> None:
        self._what = what
        self._how = how
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """Whether it is started."""
        return self._loop is not None

    def start(self) -> None:
        """Start it. Raises `RequestError` where it runs already."""
        if self._loop is not None:
            raise RequestError("AEL0893", f"this {self._what} is open already")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"ael-{self._what}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End it, with everything that is under way in it."""
        loop, self._loop = self._loop, None
        assert loop is not None
        assert self._thread is not None
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join()
        # What `asyncio.run` does at its end.
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True) if left else asyncio.sleep(0))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()

    def wait(self, work: Coroutine[Any, Any, R]) -> R:
        """Do it in the loop. What interrupts this thread cancels it there."""
        if self._loop is None:
            work.close()
            raise RequestError("AEL0893", f"this {self._what} is not open", f"use it inside of `{self._how}`")
        if threading.current_thread() is self._thread:
            work.close()
            raise RequestError(
                "AEL0893",
                "this waits for the loop that it is called in",
                f"a function of a run cannot wait for a run of its {self._what}",
            )
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise
