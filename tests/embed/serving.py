"""A program that is served in a thread of its own, while another one asks it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ael.project.program import Opened
from ael.server import listener
from ael.server.served import prepare
from ael.server.stop import Stop


@contextmanager
def served_in_a_thread(opened: Opened) -> Iterator[str]:
    """Serve over the Connect protocol on this machine, until the block ends. Gives the address."""
    alone = prepare(opened)
    bound, stop = listener.bind("127.0.0.1", 0, known=bool(alone.callers)), Stop()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with alone.served.host:
            await alone.run(bound, "127.0.0.1", stop)

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()
