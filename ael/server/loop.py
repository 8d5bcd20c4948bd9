"""The event loop of a process that serves over HTTP: uvloop's, with which a call waits less, where it is installed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

try:
    from uvloop import new_event_loop
except ImportError:  # Windows, and interpreters other than CPython
    new_event_loop = asyncio.new_event_loop  # type: ignore[assignment]


def run_http(work: Coroutine[Any, Any, int]) -> int:
    """Run to the end, as `asyncio.run` does, in a loop that is good at sockets."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(work)
