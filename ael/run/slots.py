"""How many calls to one server are under way at once; who finds no room waits in line, and the line is bounded (A9.18)."""

from __future__ import annotations

import asyncio


class NoRoom(Exception):
    """The line is full."""


class Slots:
    """`async with slots:`. Raises `NoRoom` when `waiting` callers wait already. Belongs to one event loop."""

    __slots__ = ("_free", "_most", "_waiting", "running")

    def __init__(self, concurrent: int, waiting: int) -> None:
        self._free = asyncio.Semaphore(concurrent)
        self._most = waiting
        self._waiting = 0
        self.running = 0

    async def __aenter__(self) -> None:
        if self._free.locked() and self._waiting >= self._most:
            raise NoRoom
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        self.running += 1

    async def __aexit__(self, *ended: object) -> None:
        self.running -= 1
        self._free.release()
