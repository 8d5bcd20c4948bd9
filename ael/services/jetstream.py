"""A queue in NATS JetStream: a stream of items, from which what is answered is removed, and one with the latest state of each token.

A state is written only over the one that was read (`Nats-Expected-Last-Subject-Sequence`), so that of two who change it one finds out.
https://docs.nats.io/nats-concepts/jetstream: a server of version 2.11 or later, since items end with their time there (`Nats-TTL`).
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from math import ceil
from typing import TypeVar

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import ConnectionClosedError, MaxPayloadError
from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeout
from nats.js import JetStreamContext, api
from nats.js.errors import APIError, NotFoundError

from ael.services.queue import (
    Away,
    Entered,
    Full,
    Item,
    OtherStore,
    Sizes,
    Stage,
    State,
    TooLong,
    Unreadable,
    entering,
    item_of,
    state_of,
)
from ael.types.value import Secret

T = TypeVar("T")

_ASK = 5.0
"""Seconds for an answer of the server."""
_AGAIN = 2.0
"""Seconds between looks for an answer where no word came: one may have been missed."""
_BACK = 0.25
"""Seconds between tries to be connected again."""
_WRONG_SEQUENCE = 10071
_FULL = 10077
_NAME_TAKEN = 10058
_DUPLICATES = 120.0
_EXPECT = "Nats-Expected-Last-Subject-Sequence"
_ONCE = "Nats-Msg-Id"


@dataclass(frozen=True)
class Broker:
    """Where NATS is. `connect`: seconds to be connected, and for which one that went away is waited for."""

    url: str
    token: Secret | None = None
    tls: ssl.SSLContext | None = None
    connect: float = 10.0


class _Live:
    """A connection to the streams of the queue. `ahead`: how far the server's clock is ahead."""

    def __init__(self, client: Client, js: JetStreamContext) -> None:
        self.client = client
        self.js = js
        self.ahead = 0.0
        self.pull: JetStreamContext.PullSubscription | None = None


class JetStreamLine:
    """Implements `Line`. `queue`: a name of letters, digits and `-`; `program`: the digest of the program whose items are taken here."""

    def __init__(self, broker: Broker, queue: str, program: str, sizes: Sizes) -> None:
        self._broker = broker
        self._sizes = sizes
        self._program = program
        self._items, self._states = f"ael_{queue}", f"ael_{queue}_states"
        self._subject = f"ael.{queue}"
        self._live: _Live | None = None
        self._home: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None
        """The event loop that the connection belongs to (K40), and who makes it there."""
        self._closed = False

    # --- a sender -------------------------------------------------------------------------------------------------------

    async def enter(self, item: Item, seen: int) -> Entered:
        """As `Line`."""
        live = await self._connected()
        async with _reached(put=False):
            state, _ = await self._state(live, item.token)
        entered, put = entering(state, item, seen)
        if not put:
            return entered
        asked = item.at(entered.turn)
        subject = f"{self._subject}.item.{_short(item.program)}.{item.token}-{asked.turn}"
        headers = {_ONCE: f"{item.token}-{asked.turn}"}
        async with _reached(put=True):
            try:
                await live.js.publish(subject, asked.text(), timeout=_ASK, headers=headers, msg_ttl=max(1, ceil(item.left)))
            except APIError as problem:
                if problem.err_code != _FULL:
                    raise
                if "per subject" not in str(problem.description):
                    raise Full from None
                # It is there already: a sender that came back, or a publish whose word was lost.
            except MaxPayloadError:
                raise TooLong(f"the call is longer than the {live.client.max_payload:,} bytes that the queue takes") from None
        return entered

    async def answered(self, item: Item) -> bytes:
        """As `Line`."""
        while True:
            # While the queue is away, a look waits: the item is where it is.
            with suppress(Away):
                return await self._heard(await self._connected(), item)
            await asyncio.sleep(_BACK)

    async def _heard(self, live: _Live, item: Item) -> bytes:
        """As `answered`, as long as the connection holds."""
        word = asyncio.Event()

        async def heard(message: Msg) -> None:
            word.set()

        async with self._listening(live, f"{self._subject}.state.{item.token}", heard):
            while True:
                word.clear()
                async with _reached(put=True):
                    state, _ = await self._state(live, item.token)
                if state is not None and state.turn >= item.turn and state.answer is not None:
                    return state.answer
                with suppress(TimeoutError):
                    async with asyncio.timeout(_AGAIN):
                        await word.wait()

    async def withdraw(self, item: Item) -> bool:
        """As `Line`."""
        live = await self._connected()
        async with _reached(put=True):
            while True:
                state, sequence = await self._state(live, item.token)
                if state is not None and state.turn > item.turn:
                    return False
                mine = state if state is not None and state.turn == item.turn else None
                if mine is None:
                    made = State(item.turn, Stage.WITHDRAWN, item.request)
                elif mine.stage is Stage.TAKEN and not mine.cancel:
                    made = replace(mine, cancel=True)
                else:
                    return mine.stage is Stage.WITHDRAWN
                if await self._write(live, item.token, made, sequence):
                    return mine is None

    # --- a worker -------------------------------------------------------------------------------------------------------

    async def take(self, most: int, seconds: float) -> Sequence[JetStreamTaken]:
        """As `Line`."""
        live = await self._connected()
        async with _reached(put=True):
            pull = await self._pulling(live)
            try:
                messages = await pull.fetch(most, timeout=seconds)
            except NatsTimeout:
                return []
            except NotFoundError:
                # Somebody removed it, or it was not used for long.
                live.pull = None
                return []
        return [JetStreamTaken(self, live, message) for message in messages]

    async def waiting(self) -> Mapping[str, int]:
        """As `Line`: by the beginnings of the digests."""
        live = await self._connected()
        async with _reached(put=True):
            info = await self._info(live, f"{self._subject}.item.*.*")
        state = info.get("state")
        subjects = state.get("subjects") if isinstance(state, dict) else None
        found: dict[str, int] = {}
        for subject, count in (subjects or {}).items():
            program = subject.split(".")[3]
            found[program] = found.get(program, 0) + int(count)
        return found

    async def close(self) -> None:
        """As `Line`."""
        self._closed = True
        live, self._live = self._live, None
        if live is not None and self._home is not None and self._home[0] is asyncio.get_running_loop():
            with suppress(NatsError, OSError):
                await live.client.close()

    # --- the connection ---------------------------------------------------------------------------------------------------

    async def _connected(self) -> _Live:
        """A connection that stands, made when it is first needed. Raises `Away`: nothing was put."""
        loop = asyncio.get_running_loop()
        if self._home is None or self._home[0] is not loop:
            self._home, self._live = (loop, asyncio.Lock()), None
        live = self._live
        if live is not None and live.client.is_connected:
            return live
        try:
            async with asyncio.timeout(self._broker.connect), self._home[1]:
                if self._closed:
                    raise Away("the queue is closed", put=False)
                live = self._live
                if live is None or live.client.is_closed:
                    live = self._live = await self._open()
                while not live.client.is_connected:
                    await asyncio.sleep(0.02)
                return live
        except (TimeoutError, NatsError, OSError, ssl.SSLError) as problem:
            raise Away(f"the queue cannot be reached: {_told(problem)}", put=False) from None

    async def _open(self) -> _Live:
        broker = self._broker
        client = await nats.connect(
            broker.url,
            name="ael",
            token=None if broker.token is None else broker.token.reveal(),
            tls=broker.tls,
            connect_timeout=ceil(broker.connect),
            max_reconnect_attempts=-1,
            reconnect_time_wait=_BACK,
            error_cb=_unheard,
        )
        live = _Live(client, client.jetstream(timeout=_ASK))
        try:
            await self._streams(live)
            stamp = (await self._info(live, None)).get("ts")
            if isinstance(stamp, str):
                live.ahead = _seconds(stamp) - datetime.now().timestamp()
        except BaseException:
            await client.close()
            raise
        return live

    async def _streams(self, live: _Live) -> None:
        """Make the streams, or have them as this deployment says."""
        sizes = self._sizes
        items = api.StreamConfig(
            name=self._items,
            subjects=[f"{self._subject}.item.*.*"],
            retention=api.RetentionPolicy.WORK_QUEUE,
            storage=api.StorageType.FILE,
            # What is taken stays in the stream until it is answered.
            max_msgs=sizes.room + sizes.in_flight,
            max_msgs_per_subject=1,
            discard=api.DiscardPolicy.NEW,
            discard_new_per_subject=True,
            allow_msg_ttl=True,
            duplicate_window=_DUPLICATES,
        )
        states = api.StreamConfig(
            name=self._states,
            subjects=[f"{self._subject}.state.*"],
            storage=api.StorageType.FILE,
            max_msgs_per_subject=1,
            max_age=max(sizes.keep, _DUPLICATES),
            duplicate_window=_DUPLICATES,
        )
        for config in (items, states):
            try:
                await live.js.add_stream(config)
            except APIError as problem:
                if problem.err_code != _NAME_TAKEN:
                    raise
                await live.js.update_stream(config)

    async def _info(self, live: _Live, subjects: str | None) -> Mapping[str, object]:
        asked = b"" if subjects is None else json.dumps({"subjects_filter": subjects}).encode()
        found = await live.client.request(f"$JS.API.STREAM.INFO.{self._items}", asked, timeout=_ASK)
        told = json.loads(found.data)
        return told if isinstance(told, dict) else {}

    async def _pulling(self, live: _Live) -> JetStreamContext.PullSubscription:
        if live.pull is None:
            name = _short(self._program)
            config = api.ConsumerConfig(
                durable_name=name,
                filter_subject=f"{self._subject}.item.{name}.*",
                ack_policy=api.AckPolicy.EXPLICIT,
                ack_wait=self._sizes.lease,
                max_ack_pending=self._sizes.in_flight,
                max_deliver=-1,
                inactive_threshold=max(self._sizes.keep, 3_600.0),
            )
            await live.js.add_consumer(self._items, config)
            live.pull = await live.js.pull_subscribe_bind(name, self._items)
        return live.pull

    @asynccontextmanager
    async def _listening(self, live: _Live, subject: str, heard: Callable[[Msg], Awaitable[None]]) -> AsyncIterator[None]:
        async with _reached(put=True):
            subscription: Subscription = await live.client.subscribe(subject, cb=heard)
        try:
            yield
        finally:
            with suppress(NatsError):
                await subscription.unsubscribe()

    # --- states -----------------------------------------------------------------------------------------------------------

    async def _state(self, live: _Live, token: str) -> tuple[State | None, int]:
        """What is known of a token, and its place. A state that cannot be read is none, and is written over."""
        try:
            found = await live.js.get_last_msg(self._states, f"{self._subject}.state.{token}")
        except NotFoundError:
            return None, 0
        try:
            return state_of(found.data or b""), found.seq or 0
        except Unreadable:
            return None, found.seq or 0

    async def _write(self, live: _Live, token: str, state: State, sequence: int) -> bool:
        """Write a state over the one at its place. False: somebody else wrote in between."""
        headers = {_EXPECT: str(sequence)}
        try:
            await live.js.publish(f"{self._subject}.state.{token}", state.text(), timeout=_ASK, headers=headers)
        except APIError as problem:
            if problem.err_code != _WRONG_SEQUENCE:
                raise
            return False
        except MaxPayloadError:
            raise TooLong(f"it is longer than the {live.client.max_payload:,} bytes that the queue takes") from None
        return True


class JetStreamTaken:
    """Implements `Taken`."""

    def __init__(self, line: JetStreamLine, live: _Live, message: Msg) -> None:
        self._line = line
        self._live = live
        self._message = message
        token, _, turn = message.subject.rpartition(".")[2].rpartition("-")
        self.token = token
        self._turn = int(turn) if turn.isdigit() and len(turn) < 10 else 1
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
        now = datetime.now().timestamp() + self._live.ahead
        waited = max(0.0, now - self._message.metadata.timestamp.timestamp())
        same = (item.token, item.turn) == (self.token, self._turn)
        return item.within(item.left - waited) if same else None

    async def begin(self, store: str) -> int | None:
        """As `Taken`."""
        line, request = self._line, "" if self.item is None else self.item.request
        async with _reached(put=True):
            while True:
                state, sequence = await line._state(self._live, self.token)
                mine = state if state is not None and state.turn == self._turn else None
                if (state is not None and state.turn > self._turn) or (mine is not None and mine.stage is not Stage.TAKEN):
                    await self._done()
                    return None
                if mine is not None and mine.store != store:
                    raise OtherStore
                begun = State(self._turn, Stage.TAKEN, request, store) if mine is None else mine
                begun = replace(begun, begun=begun.begun + 1)
                if await line._write(self._live, self.token, begun, sequence):
                    self.cancelled, self._begun = begun.cancel, True
                    await self._follow()
                    return begun.begun

    async def extend(self) -> bool:
        """As `Taken`."""
        async with _reached(put=True):
            await self._message.in_progress()
            state, _ = await self._line._state(self._live, self.token)
            if state is None:
                return True
            self.cancelled = self.cancelled or state.cancel
            return state.turn == self._turn and state.stage is Stage.TAKEN

    async def answer(self, text: bytes) -> None:
        """As `Taken`."""
        line = self._line
        async with _reached(put=True):
            while True:
                state, sequence = await line._state(self._live, self.token)
                if state is not None and (state.turn > self._turn or state.stage is not Stage.TAKEN):
                    break
                request = "" if self.item is None else self.item.request
                base = State(self._turn, Stage.TAKEN, request) if state is None or state.turn < self._turn else state
                made = replace(base, stage=Stage.ANSWERED, answer=text)
                if await line._write(self._live, self.token, made, sequence):
                    break
            await self._done()

    async def give_back(self, after: float) -> None:
        """As `Taken`."""
        line = self._line
        async with _reached(put=True):
            while self._begun:
                state, sequence = await line._state(self._live, self.token)
                if state is None or state.turn != self._turn or state.stage is not Stage.TAKEN:
                    break
                if await line._write(self._live, self.token, replace(state, begun=max(0, state.begun - 1)), sequence):
                    break
            await self._unfollow()
            await self._message.nak(delay=after)

    async def _follow(self) -> None:
        """Hear of a sender that gives it up."""

        async def heard(message: Msg) -> None:
            with suppress(Unreadable):
                state = state_of(message.data)
                self.cancelled = self.cancelled or (state.turn == self._turn and state.cancel)

        self._watch = await self._live.client.subscribe(f"{self._line._subject}.state.{self.token}", cb=heard)

    async def _unfollow(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            with suppress(NatsError):
                await watch.unsubscribe()

    async def _done(self) -> None:
        await self._unfollow()
        await self._message.ack_sync(timeout=ceil(_ASK))


def _short(program: str) -> str:
    """A digest as it stands in subjects."""
    return program[:16]


def _seconds(stamp: str) -> float:
    """Seconds since the epoch of a time as the server writes it, with nanoseconds."""
    head, _, rest = stamp.rstrip("Z").partition(".")
    return datetime.fromisoformat(f"{head}+00:00").timestamp() + float(f"0.{rest or 0}")


@asynccontextmanager
async def _reached(*, put: bool) -> AsyncIterator[None]:
    """What goes wrong on the way is `Away`."""
    try:
        yield
    except (NatsError, OSError, TimeoutError, ValueError) as problem:
        if isinstance(problem, Unreadable):
            raise
        raise Away(f"the queue cannot be reached: {_told(problem)}", put=put) from None


def _told(problem: BaseException) -> str:
    """A sentence without what stands in addresses."""
    if isinstance(problem, APIError):
        return str(problem.description or "it refuses")
    if isinstance(problem, ConnectionClosedError):
        return "the connection is closed"
    if isinstance(problem, TimeoutError):
        return "it did not answer in time"
    return (
        type(problem).__name__
        if isinstance(problem, NatsError)
        else (getattr(problem, "strerror", None) or type(problem).__name__)
    )


async def _unheard(problem: Exception) -> None:
    """What the client says of itself; whoever waits for it hears what became of that."""
