"""gRPC: the same methods over the same calls as the Connect protocol, on a port of its own. Needs the extra `grpc`; loaded where it serves.

Messages go out and come in as bytes, read and written by the types (`ael.types.proto_decode`), so that nothing of a request is looked at
before its caller is known. Reflection tells callers the types, the standard health service tells everybody whether calls are taken.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import grpc
from google.protobuf import descriptor_pool
from grpc import aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

from ael.host import HostError
from ael.project.serving import Listen
from ael.run.codec import text_of_form
from ael.server.connect import CODES, sentence
from ael.server.dispatch import Incoming, Reply
from ael.server.ending import RETRY_AFTER
from ael.server.guard import Guard, Refused
from ael.server.incoming import incoming, one
from ael.server.listener import LAST
from ael.server.methods import Method
from ael.server.metrics import Metrics
from ael.server.progress import Stream, Watch
from ael.server.stop import Stop
from ael.services.contract import Contract
from ael.services.descriptors import file_descriptor
from ael.services.messages import by_path, files, streamed
from ael.services.status import LONG, NUMBERS, SHORT, TRAILER, details_of
from ael.services.wire import code_of
from ael.types.fault import FaultKind
from ael.types.json import read
from ael.types.limits import MAX_DEPTH, Limits
from ael.types.problem import DecodeError
from ael.types.proto import ProtoError, ProtoFile, ProtoMethod
from ael.types.proto_build import DATA_FIELD, EVENT_FIELD, RESULT_FIELD
from ael.types.proto_decode import Decoder
from ael.types.proto_encode import Encoder
from ael.types.proto_wire import framed

HEALTH = "/grpc.health.v1.Health/"
_STATUS = {code.value[0]: code for code in grpc.StatusCode}
_DEEP = Limits(depth=MAX_DEPTH)
_METADATA = 16 * 1024
_ANSWER = 64 * 1024 * 1024
_FOREVER = 366 * 86_400.0
"""Seconds; what gRPC says where a call has no deadline is more."""
Context = Any
"""`grpc.aio.ServicerContext` of bytes."""


@dataclass(frozen=True)
class Calls:
    """What is served: `guard` knows the callers, `call` makes the calls, `now` is the clock's time, `mask` masks secrets in events;
    `metrics` counts."""

    methods: Mapping[str, Method]
    contract: Contract
    guard: Guard
    call: Callable[..., Awaitable[Reply]]
    now: Callable[[], float]
    mask: Callable[[object], object]
    metrics: Metrics | None = None


class Service(grpc.GenericRpcHandler):
    """The methods of all packages."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._handlers: dict[str, Any] = {}
        self.files = files((one for one in calls.contract.methods if one.path in calls.methods), calls.contract.definitions)
        for file in self.files:
            decoder, encoder = Decoder(file, _DEEP), Encoder(file, calls.contract.definitions, _DEEP)
            streams = streamed(file)
            for path, method in by_path(file).items():
                own = _Method(calls, calls.methods[path], method, decoder, encoder)
                self._handlers[path] = grpc.unary_unary_rpc_method_handler(own.call)
                if path in streams:
                    self._handlers[streams[path]] = grpc.unary_stream_rpc_method_handler(own.stream)

    def service(self, handler_call_details: Any) -> Any:
        """The handler of a path; None for one that is not served."""
        return self._handlers.get(handler_call_details.method)


class _Method:
    """One method, as gRPC calls it."""

    def __init__(self, calls: Calls, method: Method, messages: ProtoMethod, decoder: Decoder, encoder: Encoder) -> None:
        self._calls = calls
        self._method = method
        self._messages = messages
        self._decoder = decoder
        self._encoder = encoder

    async def call(self, request: bytes, context: Context) -> bytes:
        """Answer a request."""
        return await self._counted(context, self._answered(request, context))

    async def stream(self, request: bytes, context: Context) -> None:
        """Answer a request in messages: what happens in its call, and then the result."""
        await self._counted(context, self._streamed(request, context))

    async def _counted(self, context: Context, work: Coroutine[Any, Any, bytes]) -> bytes:
        """Do it among the calls that are open."""
        guard = self._calls.guard
        if guard.exchanges >= guard.listen.connections:
            # Told in AEL's words: a code of gRPC alone would leave open whether it was done.
            work.close()
            message = f"{guard.exchanges} calls are open, as many as the server takes"
            return await _ended(
                context, Reply(_fault(FaultKind.UNAVAILABLE, message, retry_after=RETRY_AFTER, began=False)), long=True
            )
        guard.exchanges += 1
        try:
            return await work
        except (aio.AbortError, Refused):
            raise
        except Exception as error:
            # gRPC would tell the client what the exception says.
            print(f"ael serve: {self._method.path} failed inside: {type(error).__name__}", file=sys.stderr)
            await context.abort(grpc.StatusCode.INTERNAL, "Internal error")
            raise
        finally:
            guard.exchanges -= 1

    async def _answered(self, request: bytes, context: Context) -> bytes:
        began = monotonic()
        made = await self._admitted(request, context, began)
        try:
            reply = await self._calls.call(made)
        except asyncio.CancelledError:
            self._count(None, began)
            raise
        self._count(reply, began)
        return await self._message(reply, context)

    def _count(self, reply: Reply | None, began: float) -> None:
        if self._calls.metrics is not None:
            self._calls.metrics.call("grpc", self._method.path, None if reply is None else reply.ending, monotonic() - began)

    async def _streamed(self, request: bytes, context: Context) -> bytes:
        began = monotonic()
        made = await self._admitted(request, context, began)
        watch = Watch(self._calls.mask, inside=False)
        made.follower = watch
        call = asyncio.ensure_future(self._calls.call(made))
        pump = asyncio.ensure_future(_pump(watch, context))
        try:
            try:
                await asyncio.wait({call})
            except asyncio.CancelledError:
                self._count(None, began)
                raise
            watch.end()
            self._count(call.result(), began)
            async with asyncio.timeout(Stream.slow):
                await pump
                answer = await self._message(call.result(), context)
                await context.write(framed(RESULT_FIELD, answer))
        except TimeoutError:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "what happened in the call was not read")
        finally:
            watch.end()
            for task in (call, pump):
                task.cancel()
            await asyncio.gather(call, pump, return_exceptions=True)
            watch.take()
        return b""

    async def _admitted(self, request: bytes, context: Context, began: float) -> Incoming:
        """The call that a request asks for, of somebody who is known. Ends the call where there is none."""
        headers = headers_of(context.invocation_metadata())
        try:
            caller = self._calls.guard.who(headers)
            left = context.time_remaining()
            deadline = None if left is None or left > _FOREVER else self._calls.now() + max(0.0, left)
            made = incoming(headers, caller, self._method, deadline, trusts=False)
        except Refused as refused:
            if self._calls.metrics is not None:
                self._calls.metrics.refused("grpc", refused.status)
            await _refuse(context, refused)
            raise
        try:
            made.body = text_of_form(self._decoder.decode(self._messages.request, request))
        except (ProtoError, DecodeError) as problem:
            ending = _fault(FaultKind.BAD_ARGUMENTS, f"the arguments do not fit: {problem}", final=True)
            self._count(Reply(ending), began)
            await _ended(context, Reply(ending), long=LONG in headers)
        return made

    async def _message(self, reply: Reply, context: Context) -> bytes:
        """The message of a result, its trailers set. Ends the call where there is none."""
        long = LONG in headers_of(context.invocation_metadata())
        if reply.ending.get("outcome") != "value":
            return await _ended(context, reply, long=long)
        try:
            text = self._method.result.write(reply.ending.get("value"))
            answer = self._encoder.encode(self._messages.response, read(text, _DEEP, max_bytes=len(text)))
        except (ProtoError, DecodeError) as problem:
            ending = _fault(FaultKind.MALFORMED, str(problem))
            return await _ended(context, Reply(ending, reply.run, reply.taint, reply.attempts), long=long)
        context.set_trailing_metadata(_trailers(reply))
        return answer


async def _pump(watch: Watch, context: Context) -> None:
    """Send what is told. A client that is gone cancels the call itself."""
    async for batch in watch.batches(Stream.quiet):
        for told in batch:
            await context.write(framed(EVENT_FIELD, told.name.encode()) + framed(DATA_FIELD, told.data))


class Doorkeeper(aio.ServerInterceptor):
    """Lets in who is known, before any message is read. Health is for everybody, as `/healthz` is."""

    def __init__(self, guard: Guard, metrics: Metrics | None) -> None:
        self._guard = guard
        self._metrics = metrics

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], handler_call_details: Any) -> Any:
        """The handler of a call, or one that refuses it."""
        if handler_call_details.method.startswith(HEALTH):
            return await continuation(handler_call_details)
        try:
            headers = headers_of(handler_call_details.invocation_metadata)
            self._guard.who(headers)
            one(headers, "authorization")
        except Refused as refused:
            found = refused
            if self._metrics is not None:
                self._metrics.refused("grpc", refused.status)

            async def refuse(_: object, context: Context) -> None:
                await _refuse(context, found)

            return grpc.unary_unary_rpc_method_handler(refuse)
        return await continuation(handler_call_details)


@asynccontextmanager
async def serving(
    calls: Calls, listen: Listen, host: str, port: int, stop: Stop, *, handed_on: bool = False
) -> AsyncIterator[int]:
    """Serve on a port (0: a free one) while the block lasts; gives the port. From `stop` on, health says that no more calls are taken.
    `handed_on`: another process of this program may have the same port, and from `stop` on new calls are its.

    Raises `HostError` (AEL0873).
    """
    service = Service(calls)
    server = aio.server(
        interceptors=[Doorkeeper(calls.guard, calls.metrics)],
        options=[
            # Nobody else may have the port, unless another process follows this one; and nothing is unpacked that could be large when it
            # is (K42).
            ("grpc.so_reuseport", int(handed_on)),
            ("grpc.compression_enabled_algorithms_bitset", 1),
            ("grpc.max_receive_message_length", listen.body),
            ("grpc.max_send_message_length", _ANSWER),
            ("grpc.max_metadata_size", _METADATA),
            ("grpc.absolute_max_metadata_size", _METADATA),
        ],
        maximum_concurrent_rpcs=2 * listen.connections,
    )
    server.add_generic_rpc_handlers((service,))
    names = [f"{file.package}.{one.name}" for file in service.files for one in file.services]
    alive = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(alive, server)
    reflection.enable_server_reflection([*names, health.SERVICE_NAME, reflection.SERVICE_NAME], server, pool=_pool(service.files))
    shown = f"[{host}]" if ":" in host else host
    try:
        bound = _listen(server, listen, f"{shown}:{port}")
    except RuntimeError:
        note = "say another with `--host` and `--grpc-port`"
        raise HostError("AEL0873", f"cannot listen on {host}, port {port}: it is taken, or not of this machine", note) from None
    await server.start()
    for name in ("", *names):
        await alive.set(name, health_pb2.HealthCheckResponse.SERVING)
    ending = asyncio.ensure_future(_ending(stop, alive, server if handed_on else None))
    print(f"ael serve: listening for gRPC on {shown}:{bound}", file=sys.stderr, flush=True)
    try:
        yield bound
    finally:
        ending.cancel()
        await asyncio.wait({ending})
        await server.stop(LAST)


async def _ending(stop: Stop, alive: health.aio.HealthServicer, server: Any) -> None:
    await stop.wait()
    await alive.enter_graceful_shutdown()
    if server is not None:
        await server.stop(_FOREVER)


def _listen(server: Any, listen: Listen, address: str) -> int:
    """Bind the address, with the deployment's certificates where it has such. Raises `RuntimeError`."""
    if not listen.certificate:
        return int(server.add_insecure_port(address))
    clients = Path(listen.clients).read_bytes() if listen.clients else None
    pair = (Path(listen.key).read_bytes(), Path(listen.certificate).read_bytes())
    return int(server.add_secure_port(address, grpc.ssl_server_credentials([pair], clients, clients is not None)))


def _pool(found: Sequence[ProtoFile]) -> descriptor_pool.DescriptorPool:
    """The types of what is served, and of health and reflection."""
    pool = descriptor_pool.DescriptorPool()
    for other in (health_pb2.DESCRIPTOR, reflection_pb2.DESCRIPTOR):
        pool.AddSerializedFile(other.serialized_pb)
    for file in found:
        pool.AddSerializedFile(file_descriptor(file).SerializeToString())
    return pool


def headers_of(metadata: Any) -> dict[str, list[str]]:
    """Metadata of texts by name."""
    found: dict[str, list[str]] = {}
    for name, value in metadata or ():
        if isinstance(value, str):
            found.setdefault(name, []).append(value)
    return found


async def _refuse(context: Context, refused: Refused) -> None:
    """End a call that is not let in."""
    code = CODES.get(refused.status, "invalid_argument")
    await context.abort(_STATUS[NUMBERS[code]], refused.message)


async def _ended(context: Context, reply: Reply, *, long: bool) -> bytes:
    """End a call that gave no value, with its ending in the trailers."""
    code, message = code_of(reply.ending), sentence(reply.ending)
    details = details_of(code, message, reply.ending)
    more = ((TRAILER, details),) if long or len(details) <= SHORT else ()
    await context.abort(_STATUS[NUMBERS[code]], message[:1_000], (*_trailers(reply), *more))
    return b""


def _fault(kind: FaultKind, message: str, **details: object) -> dict[str, object]:
    return {"outcome": "fault", "kind": kind.value, "message": message, "details": details}


def _trailers(reply: Reply) -> tuple[tuple[str, str], ...]:
    found = [("ael-taint", ",".join(sorted(reply.taint)))]
    if reply.run is not None:
        found.append(("ael-run", reply.run))
    if reply.attempts is not None:
        found.append(("ael-attempts", str(reply.attempts)))
    return tuple(found)
