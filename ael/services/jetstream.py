"""A queue in NATS JetStream: a stream of items, from which what is answered is removed, and one with the latest state of each token.

https://docs.nats.io/nats-concepts/jetstream: a server of version 2.11 or later, since items end with their time there (`Nats-TTL`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from math import ceil

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeout

from ael.services.broker import ASK, BACK, GRACE, Broker, NoRoom, Streams, connected, reached
from ael.services.queue import (
    Away,
    Entered,
    Full,
    Item,
    OtherStore,
    Sizes,
    Stage,
    State,
    Unreadable,
    entering,
    item_of,
    state_of,
)

_AGAIN = 2.0
"""Seconds between looks for an answer where no word came: one may have been missed."""


class JetStreamLine:
    """Implements `Line`. `queue`: a name of letters, digits and `-`; `program`: the digest of the program whose items are taken here."""

    def __init__(self, broker: Broker, queue: str, program: str, sizes: Sizes) -> None:
        self._broker = broker
        self._queue = queue
        self._sizes = sizes
        self._program = program
        self._streams: Streams | None = None
        self._home: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None
        """The event loop that the connection belongs to (K40), and who makes it there."""
        self._closed = False

    # --- a sender -------------------------------------------------------------------------------------------------------

    async def enter(self, item: Item, seen: int) -> Entered:
        """As `Line`."""
        streams = await self._connected()
        async with reached(put=False):
            state, _ = await streams.state(item.token)
        entered, put = entering(state, item, seen)
        if put:
            async with reached(put=True):
                try:
                    await streams.put(item.at(entered.turn))
                except NoRoom:
                    raise Full from None
        return entered

    async def answered(self, item: Item) -> bytes:
        """As `Line`."""
        while True:
            # While the queue is away, a look waits: the item is where it is.
            with suppress(Away):
                return await self._heard(await self._connected(), item)
            await asyncio.sleep(BACK)

    async def _heard(self, streams: Streams, item: Item) -> bytes:
        """As `answered`, as long as the connection holds."""
        word = asyncio.Event()

        async def heard(message: Msg) -> None:
            word.set()

        async with reached(put=True):
            following = await streams.follow(item.token, heard)
        try:
            while True:
                word.clear()
                async with reached(put=True):
                    state, _ = await streams.state(item.token)
                if state is not None and state.turn >= item.turn and state.answer is not None:
                    return state.answer
                with suppress(TimeoutError):
                    async with asyncio.timeout(_AGAIN):
                        await word.wait()
        finally:
            await _unfollow(following)

    async def withdraw(self, item: Item) -> bool:
        """As `Line`."""
        streams = await self._connected()
        async with reached(put=True):
            while True:
                state, place = await streams.state(item.token)
                if state is not None and state.turn > item.turn:
                    return False
                mine = state if state is not None and state.turn == item.turn else None
                if mine is None:
                    made = State(item.turn, Stage.WITHDRAWN, item.request)
                elif mine.stage is Stage.TAKEN and not mine.cancel:
                    made = replace(mine, cancel=True)
                else:
                    return mine.stage is Stage.WITHDRAWN
                if await streams.write(item.token, made, place):
                    break
            if mine is None:
                # Nobody would begin it; its place is for others.
                with suppress(NatsError):
                    await streams.remove(item)
            return mine is None

    # --- a worker -------------------------------------------------------------------------------------------------------

    async def take(self, most: int, seconds: float) -> Sequence[JetStreamTaken]:
        """As `Line`."""
        streams = await self._connected()
        async with reached(put=True):
            try:
                messages = await streams.take(self._program, most, seconds)
            except NatsTimeout:
                return []
        return [JetStreamTaken(streams, message) for message in messages]

    async def waiting(self) -> Mapping[str, int]:
        """As `Line`: by the beginnings of the digests."""
        streams = await self._connected()
        async with reached(put=True):
            return await streams.count()

    async def close(self) -> None:
        """As `Line`."""
        self._closed = True
        streams, self._streams = self._streams, None
        if streams is not None and self._home is not None and self._home[0] is asyncio.get_running_loop():
            with suppress(NatsError, OSError):
                await streams.client.close()

    async def _connected(self) -> Streams:
        """A connection that stands, made when it is first needed. Raises `Away`: nothing was put."""
        loop = asyncio.get_running_loop()
        if self._home is None or self._home[0] is not loop:
            self._home, self._streams = (loop, asyncio.Lock()), None
        streams = self._streams
        if streams is not None and streams.client.is_connected:
            return streams
        try:
            async with asyncio.timeout(self._broker.connect + GRACE), self._home[1]:
                if self._closed:
                    raise Away("the queue is closed", put=False)
                streams = self._streams
                if streams is None or streams.client.is_closed:
                    streams = self._streams = await connected(self._broker, self._queue, self._sizes)
                while not streams.client.is_connected:
                    await asyncio.sleep(0.02)
                return streams
        except TimeoutError:
            raise Away("the queue cannot be reached: it did not answer in time", put=False) from None


class JetStreamTaken:
    """Implements `Taken`."""

    def __init__(self, streams: Streams, message: Msg) -> None:
        self._streams = streams
        self._message = message
        token, _, turn = message.subject.rpartition(".")[2].rpartition("-")
        self.token = token
        self._turn = int(turn) if turn.isascii() and turn.isdigit() and len(turn) < 10 else 1
        self.item = self._read()
        self.cancelled = False
        self._begun = False
        self._watch: Subscription | None = None

    def _read(self) -> Item | None:
        try:
            item = item_of(self._message.data)
        except Unreadable:
            return None
        # By the server's clock, which stamped it: this machine's may be another.
        now = datetime.now().timestamp() + self._streams.ahead
        waited = max(0.0, now - self._message.metadata.timestamp.timestamp())
        same = (item.token, item.turn) == (self.token, self._turn)
        return item.within(item.left - waited) if same else None

    async def begin(self, store: str) -> int | None:
        """As `Taken`."""
        request = "" if self.item is None else self.item.request
        async with reached(put=True):
            while True:
                state, place = await self._streams.state(self.token)
                mine = state if state is not None and state.turn == self._turn else None
                if (state is not None and state.turn > self._turn) or (mine is not None and mine.stage is not Stage.TAKEN):
                    await self._done()
                    return None
                if mine is not None and mine.store != store:
                    raise OtherStore
                begun = State(self._turn, Stage.TAKEN, request, store) if mine is None else mine
                begun = replace(begun, begun=begun.begun + 1)
                if await self._streams.write(self.token, begun, place):
                    self.cancelled, self._begun = begun.cancel, True
                    self._watch = await self._streams.follow(self.token, self._heard)
                    return begun.begun

    async def extend(self) -> bool:
        """As `Taken`."""
        async with reached(put=True):
            await self._message.in_progress()
            state, _ = await self._streams.state(self.token)
            if state is None:
                return True
            self.cancelled = self.cancelled or state.cancel
            return state.turn == self._turn and state.stage is Stage.TAKEN

    async def answer(self, text: bytes) -> None:
        """As `Taken`."""
        async with reached(put=True):
            while True:
                state, place = await self._streams.state(self.token)
                if state is not None and state.turn < self._turn:
                    state = None
                if state is not None and (state.turn > self._turn or state.stage is not Stage.TAKEN):
                    break
                request = "" if self.item is None else self.item.request
                base = State(self._turn, Stage.TAKEN, request) if state is None else state
                if await self._streams.write(self.token, replace(base, stage=Stage.ANSWERED, answer=text), place):
                    break
            await self._done()

    async def give_back(self, after: float) -> None:
        """As `Taken`."""
        async with reached(put=True):
            while self._begun:
                state, place = await self._streams.state(self.token)
                if state is None or state.turn != self._turn or state.stage is not Stage.TAKEN:
                    break
                if await self._streams.write(self.token, replace(state, begun=max(0, state.begun - 1)), place):
                    break
            await self._unwatch()
            await self._message.nak(delay=after)

    async def _heard(self, message: Msg) -> None:
        """Its sender may give it up."""
        with suppress(Unreadable):
            state = state_of(message.data)
            self.cancelled = self.cancelled or (state.turn == self._turn and state.cancel)

    async def _done(self) -> None:
        await self._unwatch()
        await self._message.ack_sync(timeout=ceil(ASK))

    async def _unwatch(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            await _unfollow(watch)


async def _unfollow(following: Subscription) -> None:
    with suppress(NatsError):
        await following.unsubscribe()
