"""A queue as a placement: the sender's side, the same over every queue. And what a queue has to be able to do (`Line`)."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Protocol

from ael.run.placement import PlacedAnswer
from ael.run.ports import Clock
from ael.services.elsewhere import Elsewhere, Exchange, Policy
from ael.services.queue import FINAL, Another, Away, Entered, Full, Item, TooLong, Unreadable, answer_of
from ael.types.fault import FaultKind

SETTLE = 2.0
"""Seconds that a call which is given up waits to hear whether anybody had it."""
_AGAIN = (0.05, 1.0)
"""Seconds between tries to put a call where there was no room, or no word of it, at first and at most."""
_SEEN = 4_000
RETRY_AFTER = 1.0


class Taken(Protocol):
    """An item that this worker has, until its lease ends."""

    @property
    def token(self) -> str: ...

    @property
    def item(self) -> Item | None:
        """What is asked; `left` is what is left of its time. None for what cannot be read."""

    async def begin(self, store: str) -> int | None:
        """Say that the runs of `store` have it from now on; how many workers began it, this one included. None: it is over.

        Raises `OtherStore`, `Away`.
        """

    async def extend(self) -> bool:
        """Keep it for another lease. False: somebody else has it. Raises `Away`."""

    @property
    def cancelled(self) -> bool:
        """Whether its sender gave it up, as far as is known here."""

    async def answer(self, text: bytes) -> None:
        """Write the answer, and only then let go of the item. Raises `Away`, `TooLong`."""

    async def give_back(self, after: float) -> None:
        """Leave it for whoever takes it in so many seconds, as if this worker had not begun it. Raises `Away`."""


class Line(Protocol):
    """One queue. All methods raise `Away` where it cannot be reached."""

    async def enter(self, item: Item, seen: int) -> Entered:
        """Put a call into the queue, or find it there (`ael.services.queue.entering`). Doing it twice is doing it once.

        Raises `Full`, `Another`, `TooLong`: then nothing was put.
        """

    async def answered(self, item: Item) -> bytes:
        """Wait for the answer of a turn, while the queue is away too. Cancelling it lets go of it."""

    async def withdraw(self, item: Item) -> bool:
        """Take a turn back. True: nobody had begun it, and nobody ever will. Else whoever has it is told to give it up."""

    async def take(self, most: int, seconds: float) -> Sequence[Taken]:
        """Up to `most` items of this program, the oldest first; waits so many seconds for one."""

    async def waiting(self) -> Mapping[str, int]:
        """Digest of a program -> how many items wait for it."""

    async def close(self) -> None:
        """Let go of the connection. Raises nothing."""


class Queued(Elsewhere):
    """Implements `Placement`: calls wait in a queue for a worker of the same program. `program`: its digest.

    The other side makes one run for a turn and keeps it, so that asking again does no harm and finds the answer: `keeps`.
    """

    keeps = True

    def __init__(self, name: str, line: Line, program: str, policy: Policy, *, clock: Clock | None, protocol: str) -> None:
        super().__init__(name, policy, token=None, clock=clock, protocol=protocol)
        self._line = line
        self._program = program
        self._seen: OrderedDict[str, int] = OrderedDict()
        """Token -> the latest turn that ended here with a fault: asking again is asking anew."""
        self._ends: set[asyncio.Task[bool]] = set()

    async def close(self) -> None:
        """Let go of the queue. What waits in it stays there."""
        if self._ends:
            await asyncio.wait(self._ends, timeout=SETTLE)
        await self._line.close()

    async def _exchange(self, work: Exchange) -> PlacedAnswer:
        call, context = work.call, work.call.context
        left = work.until - asyncio.get_running_loop().time()
        item = Item(
            self._program,
            call.target,
            call.body,
            context.key,
            context.tenant,
            context.caller,
            ceil(left * 1000) / 1000,
            1,
            call.attempts,
            call.via,
            call.grants,
            context.trace_parent,
            call.handed,
        )
        entered = await self._enter(work, item)
        asked = item.at(entered.turn)
        text = entered.answer if entered.answer is not None else await self._answer(work, asked)
        return await self._read(work, asked, text)

    async def _enter(self, work: Exchange, item: Item) -> Entered:
        """Put it there. A full queue holds its sender, as long as that has time."""
        call, loop, wait, doubt = work.call, asyncio.get_running_loop(), _AGAIN[0], False
        while True:
            try:
                return await self._entered(work, item, doubt)
            except Full:
                doubt = False
                self._nothing_sent(work)
                if loop.time() + wait >= work.until:
                    message = "the queue is full"
                    raise self._fault(call, FaultKind.UNAVAILABLE, message, sent=False, retry_after=RETRY_AFTER) from None
            except Another:
                message = "this key names another call: a key is for one request alone"
                raise self._fault(call, FaultKind.BAD_ARGUMENTS, message, sent=False, final=True) from None
            except TooLong as problem:
                raise self._fault(call, FaultKind.TOO_LARGE, str(problem), sent=False, final=True) from None
            except Away as away:
                # Once it may be there, trying again is the way to know: putting it twice is putting it once.
                doubt = doubt or away.put
                if not doubt or loop.time() + wait >= work.until:
                    work.verdict = "bad"
                    raise self._fault(call, FaultKind.UNAVAILABLE, away.message, sent=doubt) from None
            await asyncio.sleep(wait)
            wait = min(_AGAIN[1], wait * 2)

    async def _entered(self, work: Exchange, item: Item, doubt: bool) -> Entered:
        """One try; `doubt`: an earlier one may have put it."""
        # Told before each try: a connection that breaks in the middle leaves open whether the item is there.
        work.sent = True
        work.call.context.sending(self._protocol)
        entering = asyncio.ensure_future(self._line.enter(item, self._seen.get(item.token, 0)))
        try:
            return await asyncio.shield(entering)
        except asyncio.CancelledError:
            # Which turn it is has to be known before it can be taken back.
            await asyncio.wait({entering}, timeout=SETTLE)
            if not entering.done():
                entering.cancel()
            elif (problem := entering.exception()) is None:
                await self._take_back(work, item.at(entering.result().turn))
            elif not (isinstance(problem, Away) and (doubt or problem.put)):
                self._nothing_sent(work)
            raise

    async def _answer(self, work: Exchange, item: Item) -> bytes:
        try:
            return await self._line.answered(item)
        except asyncio.CancelledError:
            await self._take_back(work, item)
            raise

    async def _read(self, work: Exchange, item: Item, text: bytes) -> PlacedAnswer:
        try:
            answer = answer_of(text, work.call.most)
        except Unreadable as problem:
            work.verdict = "bad"
            raise self._fault(work.call, FaultKind.MALFORMED, f"the answer cannot be read: {problem}", sent=True) from None
        if answer.ending is None:
            work.verdict = "good"
            return answer
        if answer.ending.get("outcome") not in FINAL:
            self._seen[item.token] = item.turn
            self._seen.move_to_end(item.token)
            while len(self._seen) > _SEEN:
                self._seen.popitem(last=False)
        return await self._told(work, answer.ending, told=True, taint=answer.taint, attempts=answer.attempts)

    async def _take_back(self, work: Exchange, item: Item) -> None:
        """A call that is given up: where nobody had it, and nobody ever will, nothing was done."""
        end = asyncio.ensure_future(self._line.withdraw(item))
        self._ends.add(end)
        end.add_done_callback(self._ended)
        await asyncio.wait({end}, timeout=SETTLE)
        if end.done() and not end.cancelled() and end.exception() is None and end.result():
            self._nothing_sent(work)

    def _nothing_sent(self, work: Exchange) -> None:
        work.sent = False
        work.call.context.taken_back()

    def _ended(self, end: asyncio.Task[bool]) -> None:
        self._ends.discard(end)
        if not end.cancelled():
            end.exception()  # an item that could not be taken back ends with its time
