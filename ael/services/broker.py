"""A connection to NATS JetStream, and the two streams of a queue: its items, and the latest state of each token.

A state is written only over the one that was read (`Nats-Expected-Last-Subject-Sequence`), so that of two who change it one finds out.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from math import ceil

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import ConnectionClosedError, MaxPayloadError
from nats.errors import Error as NatsError
from nats.js import JetStreamContext, api
from nats.js.errors import APIError, NotFoundError

from ael.services.queue import Away, Item, Sizes, State, TooLong, Unreadable, state_of
from ael.types.value import Secret

ASK = 5.0
"""Seconds for an answer of the server."""
BACK = 0.25
"""Seconds between tries to be connected again."""
GRACE = 1.0
"""Seconds more for whoever waits for a connection, so that it hears why there is none."""
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


class InClear(NatsError):
    """A server that is to be reached by TLS speaks without."""


class Sealed(Client):
    """Says nothing, no token either, before the connection is encrypted: what tells whether it is comes in the clear."""

    def _connect_command(self) -> bytes:
        if self._server_info.get("tls_required") is not True:
            raise InClear
        return super()._connect_command()


class NoRoom(Exception):
    """The stream holds as many items as it may."""


class Streams:
    """The streams of one queue, over a connection that stands or is made again. `ahead`: how far the server's clock is ahead."""

    def __init__(self, client: Client, queue: str, sizes: Sizes) -> None:
        self.client = client
        self.ahead = 0.0
        self._js = client.jetstream(timeout=ASK)
        self._queue = queue
        self._sizes = sizes
        self._items, self._states = f"ael_{queue}", f"ael_{queue}_states"
        self._subject = f"ael.{queue}"
        self._pull: JetStreamContext.PullSubscription | None = None

    async def make(self) -> None:
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
                await self._js.add_stream(config)
            except APIError as problem:
                if problem.err_code != _NAME_TAKEN:
                    raise
                await self._js.update_stream(config)
        stamp = (await self._info(None)).get("ts")
        if isinstance(stamp, str):
            self.ahead = _seconds(stamp) - datetime.now().timestamp()

    # --- items ----------------------------------------------------------------------------------------------------------

    async def put(self, item: Item) -> None:
        """Put an item that is not there yet. Raises `NoRoom`, `TooLong`."""
        headers = {_ONCE: f"{item.token}-{item.turn}"}
        try:
            await self._js.publish(self._place(item), item.text(), timeout=ASK, headers=headers, msg_ttl=max(1, ceil(item.left)))
        except APIError as problem:
            if problem.err_code != _FULL:
                raise
            if "per subject" not in str(problem.description):
                raise NoRoom from None
            # It is there already: a sender that came back, or a publish whose word was lost.
        except MaxPayloadError:
            raise TooLong(f"the call is longer than the {self.client.max_payload:,} bytes that the queue takes") from None

    async def remove(self, item: Item) -> None:
        """Take an item out that nobody is to have."""
        await self._js.purge_stream(self._items, subject=self._place(item))

    async def take(self, program: str, most: int, seconds: float) -> list[Msg]:
        """Up to so many items of a program, the oldest first."""
        try:
            return await (await self._pulling(program)).fetch(most, timeout=seconds)
        except NotFoundError:
            # It was not used for so long that the server forgot it.
            self._pull = None
            return []

    async def count(self) -> Mapping[str, int]:
        """The beginning of a program's digest -> how many of its items are in the stream."""
        state = (await self._info(f"{self._subject}.item.*.*")).get("state")
        subjects = state.get("subjects") if isinstance(state, dict) else None
        found: dict[str, int] = {}
        for subject, count in (subjects or {}).items():
            program = subject.split(".")[3]
            found[program] = found.get(program, 0) + int(count)
        return found

    def _place(self, item: Item) -> str:
        return f"{self._subject}.item.{_short(item.program)}.{item.token}-{item.turn}"

    async def _pulling(self, program: str) -> JetStreamContext.PullSubscription:
        if self._pull is None:
            name = _short(program)
            config = api.ConsumerConfig(
                durable_name=name,
                filter_subject=f"{self._subject}.item.{name}.*",
                ack_policy=api.AckPolicy.EXPLICIT,
                ack_wait=self._sizes.lease,
                max_ack_pending=self._sizes.in_flight,
                max_deliver=-1,
                inactive_threshold=max(self._sizes.keep, 3_600.0),
            )
            await self._js.add_consumer(self._items, config)
            self._pull = await self._js.pull_subscribe_bind(name, self._items)
        return self._pull

    async def _info(self, subjects: str | None) -> Mapping[str, object]:
        asked = b"" if subjects is None else json.dumps({"subjects_filter": subjects}).encode()
        found = await self.client.request(f"$JS.API.STREAM.INFO.{self._items}", asked, timeout=ASK)
        told = json.loads(found.data)
        return told if isinstance(told, dict) else {}

    # --- states -----------------------------------------------------------------------------------------------------------

    async def state(self, token: str) -> tuple[State | None, int]:
        """What is known of a token, and its place. A state that cannot be read is none, and is written over."""
        try:
            found = await self._js.get_last_msg(self._states, f"{self._subject}.state.{token}")
        except NotFoundError:
            return None, 0
        try:
            return state_of(found.data or b""), found.seq or 0
        except Unreadable:
            return None, found.seq or 0

    async def write(self, token: str, state: State, place: int) -> bool:
        """Write a state over the one at its place. False: somebody else wrote in between. Raises `TooLong`."""
        headers = {_EXPECT: str(place)}
        try:
            await self._js.publish(f"{self._subject}.state.{token}", state.text(), timeout=ASK, headers=headers)
        except APIError as problem:
            if problem.err_code != _WRONG_SEQUENCE:
                raise
            return False
        except MaxPayloadError:
            raise TooLong(f"it is longer than the {self.client.max_payload:,} bytes that the queue takes") from None
        return True

    async def follow(self, token: str, heard: Callable[[Msg], Awaitable[None]]) -> Subscription:
        """Hear of each state of a token that is written from now on."""
        return await self.client.subscribe(f"{self._subject}.state.{token}", cb=heard)


async def connected(broker: Broker, queue: str, sizes: Sizes) -> Streams:
    """A new connection, with the streams of a queue. Raises `Away`."""
    last: list[Exception] = []

    async def heard(problem: Exception) -> None:
        # A refusal is what there is to know: the connection that ends after it is not.
        if not (last and _refuses(last[0])):
            last[:] = [problem]

    client = Sealed() if broker.url.startswith("tls://") else Client()
    try:
        async with asyncio.timeout(broker.connect):
            await client.connect(
                [broker.url],
                name="ael",
                token=None if broker.token is None else broker.token.reveal(),
                tls=broker.tls,
                connect_timeout=ceil(broker.connect),
                max_reconnect_attempts=-1,
                reconnect_time_wait=BACK,  # type: ignore[arg-type]  # it is slept for
                error_cb=heard,
            )
            streams = Streams(client, queue, sizes)
            await streams.make()
            return streams
    except BaseException as problem:
        with suppress(Exception):
            await client.close()
        if isinstance(problem, NatsError | OSError | TimeoutError | ValueError):
            why = last[0] if last and isinstance(problem, TimeoutError) else problem
            raise Away(f"the queue cannot be reached: {told(why)}", put=False) from None
        raise


@asynccontextmanager
async def reached(*, put: bool) -> AsyncIterator[None]:
    """What goes wrong on the way is `Away`."""
    try:
        yield
    except (NatsError, OSError, TimeoutError, json.JSONDecodeError) as problem:
        raise Away(f"the queue cannot be reached: {told(problem)}", put=put) from None


def told(problem: BaseException) -> str:
    """A sentence without what stands in addresses."""
    if isinstance(problem, APIError):
        return str(problem.description or "it refuses")
    if isinstance(problem, ConnectionClosedError):
        return "the connection is closed"
    if isinstance(problem, TimeoutError):
        return "it did not answer in time"
    if isinstance(problem, InClear):
        return "it does not speak TLS"
    if _refuses(problem):
        return "it does not let this deployment in"
    return getattr(problem, "strerror", None) or type(problem).__name__


def _refuses(problem: BaseException) -> bool:
    return isinstance(problem, InClear) or "authorization" in str(problem).lower()


def _short(program: str) -> str:
    """A digest as it stands in subjects."""
    return program[:16]


def _seconds(stamp: str) -> float:
    """Seconds since the epoch of a time as the server writes it, with nanoseconds."""
    head, _, rest = stamp.rstrip("Z").partition(".")
    return datetime.fromisoformat(f"{head}+00:00").timestamp() + float(f"0.{rest or 0}")
