"""A service or the nodes of a pack that run elsewhere, called over gRPC. Needs the extra `grpc`; loaded where a deployment says so.

A call is sent only on a connection that stands, so that it is known whether the other side may have seen it. The host is looked up here:
exactly the addresses that may be reached are connected to (K42). gRPC's own retries, proxies and remote settings are off.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

import grpc
from grpc import aio

from ael.net.address import AddressRules, Endpoint, check_address
from ael.net.failure import NetError
from ael.run.codec import text_of_form
from ael.run.placement import PlacedAnswer, PlacedCall
from ael.run.ports import Clock
from ael.run.progress import MAX_EVENT
from ael.services.contract import MethodContract
from ael.services.elsewhere import Elsewhere, Exchange, Policy, attempts_of, taint_of
from ael.services.messages import by_path, files, streamed
from ael.services.names import method
from ael.services.status import LONG, TRAILER, restored
from ael.services.wire import MAX_ERROR
from ael.types.definition import Definitions
from ael.types.fault import FaultKind
from ael.types.json import JsonError, read
from ael.types.limits import MAX_DEPTH, Limits
from ael.types.proto import ProtoError, ProtoMethod
from ael.types.proto_build import DATA_FIELD, EVENT_FIELD, RESULT_FIELD
from ael.types.proto_decode import Decoder
from ael.types.proto_encode import Encoder
from ael.types.proto_wire import LEN, Raw, fields_of
from ael.types.value import Secret

_DEEP = Limits(depth=MAX_DEPTH)
_ROOM = 64
_ANSWER = 16 * 1024 * 1024
_OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.compression_enabled_algorithms_bitset", 1),
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
    ("grpc.service_config_disable_resolution", 1),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", _ANSWER),
    ("grpc.max_metadata_size", 2 * MAX_ERROR),
    ("grpc.absolute_max_metadata_size", 2 * MAX_ERROR),
)


class Messages:
    """The messages of one service's methods, by the methods' paths."""

    def __init__(self, contracts: list[MethodContract], definitions: Definitions) -> None:
        [file] = files(contracts, definitions)
        self._methods = by_path(file)
        self.streams = streamed(file)
        """Path of a method -> path of the one that streams what happens in it."""
        self._encoder, self._decoder = Encoder(file, definitions, _DEEP), Decoder(file, _DEEP)

    def request(self, path: str, body: bytes) -> bytes:
        """The message of a JSON object. Raises `ProtoError`."""
        return self._encoder.encode(self._of(path).request, read(body, _DEEP, max_bytes=len(body)))

    def answer(self, path: str, message: bytes) -> bytes:
        """The JSON object of a message. Raises `ProtoError`."""
        return text_of_form(self._decoder.decode(self._of(path).response, message))

    def _of(self, path: str) -> ProtoMethod:
        return self._methods[path]


@dataclass(eq=False)
class _Line:
    """A connection that is kept up. `failed`: it could not be made, and the next call makes another."""

    channel: aio.Channel
    loop: asyncio.AbstractEventLoop
    calls: int = 0
    failed: bool = False
    methods: dict[str, Callable[..., Any]] = field(default_factory=dict)

    def method(self, path: str) -> Callable[..., Any]:
        """A method of bytes."""
        found = self.methods.get(path)
        if found is None:
            found = self.methods[path] = self.channel.unary_unary(path, request_serializer=None, response_deserializer=None)
        return found

    def stream(self, path: str) -> Callable[..., Any]:
        """A method that answers in several messages of bytes."""
        found = self.methods.get(path)
        if found is None:
            found = self.methods[path] = self.channel.unary_stream(path, request_serializer=None, response_deserializer=None)
        return found

    async def stands(self) -> None:
        """Wait until it is connected. Raises `ConnectionError` where it cannot be."""
        while (state := self.channel.get_state(try_to_connect=True)) is not grpc.ChannelConnectivity.READY:
            if self.failed or state in (grpc.ChannelConnectivity.TRANSIENT_FAILURE, grpc.ChannelConnectivity.SHUTDOWN):
                self.failed = True
                raise ConnectionError
            await self.channel.wait_for_state_change(state)

    async def left(self) -> None:
        """A call ended. With its last call, a connection that failed is closed."""
        self.calls -= 1
        if self.failed and not self.calls:
            await self.channel.close()


class Rpc(Elsewhere):
    """Implements `Placement`: the methods of the service `name` (`desk.Orders`), at `endpoint`. With `credentials` over TLS."""

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        messages: Messages,
        policy: Policy | None = None,
        *,
        allowed: AddressRules,
        token: Secret | None = None,
        credentials: grpc.ChannelCredentials | None = None,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(name, policy, token=token, clock=clock, protocol="grpc")
        self._endpoint = endpoint
        self._messages = messages
        self._allowed = allowed
        self._credentials = credentials
        self._line: _Line | None = None
        self._silent: set[str] = set()
        """Methods of which the other side tells nothing but the result."""

    async def close(self) -> None:
        """Close the connection. One of another event loop ended with its loop (K40)."""
        line, self._line = self._line, None
        if line is not None and line.loop is asyncio.get_running_loop():
            await line.channel.close()

    # --- one call -----------------------------------------------------------------------------------------------------

    async def _exchange(self, work: Exchange) -> PlacedAnswer:
        """The one request."""
        call, path = work.call, f"/{self._name}/{method(work.call.target)}"
        try:
            request = self._messages.request(path, call.body)
        except ProtoError as problem:
            raise self._fault(call, FaultKind.BAD_ARGUMENTS, str(problem), sent=False, final=True) from None
        metadata = self._metadata(call)
        stream = None if call.watch is None or path in self._silent else self._messages.streams.get(path)
        line = await self._connected(work)
        try:
            left = max(0.001, work.until - asyncio.get_running_loop().time())
            under_way = (line.method(path) if stream is None else line.stream(stream))(request, timeout=left, metadata=metadata)
            work.sent = True
            call.context.sending(self._protocol)
            answer = await under_way if stream is None else await self._followed(work, under_way)
            trailers = _texts(await under_way.trailing_metadata())
        except aio.AioRpcError as error:
            if stream is None or error.code() is not grpc.StatusCode.UNIMPLEMENTED or _details(error) is not None:
                return await self._failed(work, error)
            # Nothing was done: the other side has the method alone.
            self._silent.add(path)
            answer = None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            work.verdict = "bad"
            raise self._fault(call, FaultKind.DISCONNECTED, "the connection was closed", sent=True) from None
        finally:
            await line.left()
        return await self._exchange(work) if answer is None else self._value(work, path, answer, trailers)

    async def _followed(self, work: Exchange, under_way: Any) -> bytes:
        """The message of the result at the end of a stream, whose events are told. Raises `Fault` for another stream."""
        answer: bytes | None = None
        tell = work.call.watch
        assert tell is not None
        try:
            async for message in under_way:
                found = fields_of(message)
                if RESULT_FIELD in found:
                    answer = _bytes(found, RESULT_FIELD)
                    continue
                name, data = _bytes(found, EVENT_FIELD), _bytes(found, DATA_FIELD)
                with suppress(JsonError):
                    tell(name.decode("latin-1"), read(data, _DEEP, max_bytes=MAX_EVENT))
        except ProtoError as problem:
            work.verdict = "bad"
            raise self._fault(work.call, FaultKind.MALFORMED, f"the answer is no message: {problem}", sent=True) from None
        finally:
            under_way.cancel()
        if answer is None:
            work.verdict = "bad"
            raise self._fault(work.call, FaultKind.MALFORMED, "the stream has no result", sent=True)
        return answer

    def _metadata(self, call: PlacedCall) -> tuple[tuple[str, str], ...]:
        """What goes along. gRPC has names in small letters, and texts of ASCII. Raises `Fault` (nothing was sent)."""
        given = self._headers(call)
        for name, value in given.items():
            if not (value.isascii() and value.isprintable()):
                raise self._fault(call, FaultKind.BAD_ARGUMENTS, f"`{name}` holds what no header does", sent=False, final=True)
        return (*((name.lower(), value) for name, value in given.items()), (LONG, "long"))

    def _value(self, work: Exchange, path: str, answer: bytes, trailers: Mapping[str, str]) -> PlacedAnswer:
        call = work.call
        try:
            body = self._messages.answer(path, answer)
        except ProtoError as problem:
            work.verdict = "bad"
            raise self._fault(call, FaultKind.MALFORMED, f"the answer is no message: {problem}", sent=True) from None
        if len(body) > max(call.most + _ROOM, MAX_ERROR):
            raise self._fault(call, FaultKind.TOO_LARGE, f"the answer has more than {call.most:,} bytes", sent=True)
        work.verdict = "good"
        return PlacedAnswer(body, None, taint_of(trailers.get("ael-taint")), attempts_of(trailers.get("ael-attempts", "")))

    async def _failed(self, work: Exchange, error: aio.AioRpcError) -> PlacedAnswer:
        """What a status means."""
        ending, told = restored(error.code().value[0], error.details() or "", _details(error))
        texts = _texts(error.trailing_metadata())
        taint, attempts = taint_of(texts.get("ael-taint")), attempts_of(texts.get("ael-attempts", ""))
        return await self._told(work, ending, told=told, taint=taint, attempts=attempts)

    # --- the connection -----------------------------------------------------------------------------------------------

    async def _connected(self, work: Exchange) -> _Line:
        """A connection that stands, with a call more on it. Raises `Fault` (nothing was sent)."""
        seconds = min(self._policy.connect, max(0.0, work.until - asyncio.get_running_loop().time()))
        try:
            async with asyncio.timeout(seconds):
                line = self._line
                if line is None or line.failed or line.loop is not asyncio.get_running_loop():
                    line = await self._opened(work.call)
                line.calls += 1
                try:
                    await line.stands()
                except BaseException:
                    await line.left()
                    raise
                return line
        except ConnectionError:
            message = "cannot be reached"
        except TimeoutError:
            message = f"could not be reached within {seconds:.3g} s"
        work.verdict = "bad"
        raise self._fault(work.call, FaultKind.UNAVAILABLE, f"`{self._endpoint.authority}` {message}", sent=False)

    async def _opened(self, call: PlacedCall) -> _Line:
        """Another connection, to the addresses that the host has now."""
        peers = await self._peers(call)
        current = self._line
        if current is not None and not current.failed and current.loop is asyncio.get_running_loop():
            # Another call made one meanwhile.
            return current
        options = [*_OPTIONS, ("grpc.default_authority", self._endpoint.authority)]
        if self._credentials is None:
            channel = aio.insecure_channel(peers, options=options)
        else:
            options.append(("grpc.ssl_target_name_override", self._endpoint.host))
            channel = aio.secure_channel(peers, self._credentials, options=options)
        self._line = _Line(channel, asyncio.get_running_loop())
        return self._line

    async def _peers(self, call: PlacedCall) -> str:
        """The addresses as gRPC takes them, all of one kind. Raises `Fault`."""
        host, port = self._endpoint.host, self._endpoint.port
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
            for _, _, _, _, peer in found:
                check_address(ip_address(str(peer[0]).partition("%")[0]), host, port, self._allowed)
        except OSError as problem:
            message = f"the host `{host}` is not known: {problem.strerror}"
            raise self._fault(call, FaultKind.UNAVAILABLE, message, sent=False) from None
        except NetError as problem:
            raise self._fault(call, FaultKind.UNAVAILABLE, problem.message, sent=False, final=True) from None
        family = found[0][0]
        kind, form = ("ipv6", "[{}]:{}") if family == socket.AF_INET6 else ("ipv4", "{}:{}")
        return f"{kind}:" + ",".join(form.format(peer[0], peer[1]) for one, _, _, _, peer in found if one == family)


def _details(error: aio.AioRpcError) -> bytes | None:
    """What the other side's status says beyond its code."""
    found = error.trailing_metadata() or ()
    return next((value for key, value in found if key == TRAILER and isinstance(value, bytes)), None)


def _bytes(found: Mapping[int, list[Raw]], number: int) -> bytes:
    """A field of bytes, nothing where it is not there. Raises `ProtoError`."""
    kind, value = found.get(number, [(LEN, b"")])[-1]
    if kind != LEN or not isinstance(value, bytes):
        raise ProtoError(f"the field {number} is none of bytes")
    return value


def _texts(metadata: Any) -> dict[str, str]:
    return {key: value for key, value in metadata or () if isinstance(value, str)}
