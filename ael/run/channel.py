"""What carries an item along an edge: in order, bounded, at least once, with a key by which the receiver acts once (runtime.md, section 6).

A sender takes its next item when the channel has room, so a slow receiver holds it back. A key is the structural path of the visit that
the item leads to: the same in every execution of a run, and wherever the receiver is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

from ael.types.fault import Failure, Fault, Uncertain

ROOM = 4
"""Items of one edge that are under way at once, and branches of one agent (feature A13.6)."""


class Item(NamedTuple):
    """What goes along an edge: the arguments of one visit, under its key."""

    key: str
    arguments: tuple[object, ...]


Receiver = Callable[[Item], Awaitable[object]]


class Channel(Protocol):
    """The channel of one edge. Where the receiver runs is its affair: in this process, or wherever a deployment places the edge."""

    @property
    def room(self) -> int:
        """How many items may be under way at once."""

    async def deliver(self, item: Item, receiver: Receiver) -> object:
        """Hand an item over and wait for what the receiver gives. Raises what that ends with.

        An item that comes again under its key is not acted on again: it gets the same answer.
        """


class LocalChannel:
    """A channel within the process."""

    __slots__ = ("_answers", "room")

    def __init__(self, room: int = ROOM) -> None:
        self.room = room
        self._answers: dict[str, asyncio.Future[object]] = {}

    async def deliver(self, item: Item, receiver: Receiver) -> object:
        known = self._answers.get(item.key)
        if known is not None:
            return await asyncio.shield(known)
        answer = self._answers[item.key] = asyncio.get_running_loop().create_future()
        try:
            value = await receiver(item)
        except (Failure, Fault, Uncertain) as ending:
            answer.set_exception(ending)
            answer.exception()  # seen: nobody else may be waiting for it
            raise
        except BaseException:
            # No answer: parked or cancelled. What waits for it goes the same way, and the item may come again.
            del self._answers[item.key]
            answer.cancel()
            raise
        answer.set_result(value)
        return value
