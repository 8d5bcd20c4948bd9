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
    """The channel of one edge. Where the receiver runs is the receiver's affair: in this process, or wherever a deployment places the edge
    (`Plans.along`, `ael.run.delivery`)."""

    @property
    def room(self) -> int:
        """How many items may be under way at once."""

    async def deliver(self, item: Item, receiver: Receiver) -> object:
        """Hand an item over and wait for what the receiver gives. Raises what that ends with.

        An item that comes again under its key is not acted on again: it gets the same answer.
        """


class _UnderWay:
    """Stands for an answer that has not come, while nobody else waits for it."""


_UNDER_WAY = _UnderWay()


class LocalChannel:
    """A channel whose sender is in the process."""

    __slots__ = ("_answers", "room")

    def __init__(self, room: int = ROOM) -> None:
        self.room = room
        self._answers: dict[str, object] = {}
        """Key -> what was given, or the ending it was: a future while it is under way and waited for again."""

    async def deliver(self, item: Item, receiver: Receiver) -> object:
        key, answers = item.key, self._answers
        if key in answers:
            return await self._again(key)
        answers[key] = _UNDER_WAY
        try:
            value = await receiver(item)
        except (Failure, Fault, Uncertain) as ending:
            self._answer(key, ending)
            raise
        except BaseException:
            # No answer: parked or cancelled. What waits for it goes the same way, and the item may come again.
            waiting = answers.pop(key)
            if isinstance(waiting, asyncio.Future):
                waiting.cancel()
            raise
        self._answer(key, value)
        return value

    def _answer(self, key: str, answer: object) -> None:
        waiting = self._answers[key]
        self._answers[key] = answer
        if isinstance(waiting, asyncio.Future) and not waiting.done():
            waiting.set_result(answer)

    async def _again(self, key: str) -> object:
        answer = self._answers[key]
        if answer is _UNDER_WAY:
            answer = self._answers[key] = asyncio.get_running_loop().create_future()
        if isinstance(answer, asyncio.Future):
            answer = await asyncio.shield(answer)
        if isinstance(answer, Failure | Fault | Uncertain):
            raise answer
        return answer
