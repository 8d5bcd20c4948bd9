"""gRPC as clients of any language speak it: messages that protoc made, reflection, health, and what is not let in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from grpc import aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from ael.server import methods
from ael.services.descriptors import file_descriptor
from ael.services.messages import files, grpc_proto
from ael.services.status import TRAILER, restored
from ael.types.proto_wire import framed
from tests.transports.places import TOKEN, ledger, opened_in, serving_grpc
from tests.transports.programs import ECHO, SHOP
from tests.types.proto import compiled

BEARER = (("authorization", f"Bearer {TOKEN}"),)


@asynccontextmanager
async def served(folder: Path, main: str = SHOP, deploy: str = "runs = memory\n") -> AsyncIterator[tuple[aio.Channel, Any, int]]:
    """A channel to the program, and its messages: of protobuf's own classes, from the exported file."""
    async with serving_grpc(folder, main, deploy) as (_, port, _stop):
        text = grpc_proto(methods.contract(opened_in(folder / "again", main, deploy)))
        pool = compiled(("shop.proto", text))
        async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield channel, lambda name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"shop.{name}")), port


def method(channel: aio.Channel, messages: Any, name: str, answer: str = "", service: str = "Orders") -> Any:
    """A method as generated code has it."""
    return channel.unary_unary(
        f"/shop.{service}/{name}",
        request_serializer=messages(f"{service}{name}Request").SerializeToString,
        response_deserializer=messages(answer or f"{service}{name}Response").FromString,
    )


def raw(channel: aio.Channel, path: str = "/shop.Orders/Get") -> Any:
    """A method of bytes."""
    return channel.unary_unary(path, request_serializer=None, response_deserializer=None)


async def refused(call: Any) -> aio.AioRpcError:
    """The error with which a call ends."""
    with pytest.raises(aio.AioRpcError) as caught:
        await call
    return caught.value


@pytest.mark.feature("A11.1", "A11.2")
def test_a_client_of_protobuf_itself(tmp_path: Path) -> None:
    """A value, a declared error with its ending in the details, a key that makes a call one, the trace and the time that go along."""

    async def scenario() -> None:
        async with served(tmp_path) as (channel, messages, _):
            get, pay = method(channel, messages, "Get", "Order"), method(channel, messages, "Pay")
            order = await get(messages("OrdersGetRequest")(id="A-1"), metadata=BEARER, timeout=60)
            assert (order.id, order.total) == ("A-1", "3")
            trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
            keyed = (*BEARER, ("idempotency-key", "key-1"), ("traceparent", trace))
            for _ in range(2):
                assert (await pay(messages("OrdersPayRequest")(id="P"), metadata=keyed)).result == "P"
            [paid] = [call for call in ledger(tmp_path) if call["what"] == "P"]
            assert paid["tenant"] == "acme"
            assert paid["trace"].split("-")[1] == trace.split("-")[1]
            missing = await refused(get(messages("OrdersGetRequest")(id="none"), metadata=BEARER))
            assert missing.code() is grpc.StatusCode.NOT_FOUND
            details = dict(missing.trailing_metadata())[TRAILER]
            ending, told = restored(5, "", details)
            assert told
            assert ending["error"] == "main.NotFound"
            assert ending["value"] == {"id": "none", "near": ["A-1", "ä\n"]}
            other = await refused(pay(messages("OrdersPayRequest")(id="Q"), metadata=keyed))
            assert other.code() is grpc.StatusCode.INVALID_ARGUMENT

    asyncio.run(scenario())


@pytest.mark.feature("K42", "K43", "A11.1")
def test_what_is_not_let_in(tmp_path: Path) -> None:
    """Nobody who is not known learns anything; bytes that are no message, too many, or compressed are refused with a code."""

    async def scenario() -> None:
        async with served(tmp_path, SHOP, "runs = memory\nlisten = http(body: 2000)\n") as (channel, _, _):
            good = framed(1, b"A")
            nobody = (("authorization", "Bearer no-token-of-anybody"),)
            for metadata in ((), nobody, (*BEARER, *BEARER)):
                error = await refused(raw(channel)(b"\xff", metadata=metadata))
                assert error.code() is grpc.StatusCode.UNAUTHENTICATED, metadata
            assert (await refused(raw(channel, "/shop.Orders/Nope")(b""))).code() is grpc.StatusCode.UNAUTHENTICATED
            cases = [
                (raw(channel, "/shop.Orders/Nope")(good, metadata=BEARER), grpc.StatusCode.UNIMPLEMENTED),
                (raw(channel)(b"\xff", metadata=BEARER), grpc.StatusCode.INVALID_ARGUMENT),
                (raw(channel)(framed(1, b"\xff"), metadata=BEARER), grpc.StatusCode.INVALID_ARGUMENT),
                (raw(channel)(framed(9, b"x"), metadata=BEARER), grpc.StatusCode.INVALID_ARGUMENT),
                (raw(channel)(framed(1, b"x" * 3_000), metadata=BEARER), grpc.StatusCode.RESOURCE_EXHAUSTED),
                (
                    raw(channel)(framed(1, b"x" * 1_000), metadata=BEARER, compression=grpc.Compression.Gzip),
                    grpc.StatusCode.UNIMPLEMENTED,
                ),
                (raw(channel)(good, metadata=(*BEARER, ("idempotency-key", "a b"))), grpc.StatusCode.INVALID_ARGUMENT),
                (raw(channel)(good, metadata=(*BEARER, ("idempotency-key", "k" * 513))), grpc.StatusCode.INVALID_ARGUMENT),
            ]
            for call, code in cases:
                error = await refused(call)
                assert error.code() is code, error
            assert ledger(tmp_path) == []
            assert await raw(channel)(good, metadata=BEARER)

    asyncio.run(scenario())


@pytest.mark.feature("A11.1", "A11.4", "K45")
def test_reflection_and_health(tmp_path: Path) -> None:
    """A client that knows nothing asks for the services and their types, builds a call from them, and makes it; as `grpcurl` does."""

    def reflected(port: int) -> tuple[list[str], dict[str, Any]]:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as plain:
            with pytest.raises(grpc.RpcError) as caught:
                ProtoReflectionDescriptorDatabase(plain).get_services()
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
            channel = grpc.intercept_channel(plain, Known())
            database = ProtoReflectionDescriptorDatabase(channel)
            services = list(database.get_services())
            pool = descriptor_pool.DescriptorPool(database)
            get = pool.FindServiceByName("shop.Orders").FindMethodByName("Get")
            request = message_factory.GetMessageClass(get.input_type)(id="A-9")
            call = channel.unary_unary(f"/{get.containing_service.full_name}/{get.name}", None, None)
            answer = message_factory.GetMessageClass(get.output_type).FromString(call(request.SerializeToString(), timeout=60))
            return services, {field.name: getattr(answer, field.name) for field in answer.DESCRIPTOR.fields}

    async def scenario() -> None:
        async with serving_grpc(tmp_path, SHOP, "runs = memory\nlisten = http(drain: 60s)\n") as (alone, port, stop):
            services, answer = await asyncio.to_thread(reflected, port)
            assert set(services) == {
                "shop.Orders", "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection",
            }  # fmt: skip
            assert answer == {"id": "A-9", "total": "3"}
            async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:
                health = health_pb2_grpc.HealthStub(channel)
                for name in ("", "shop.Orders"):
                    state = await health.Check(health_pb2.HealthCheckRequest(service=name))
                    assert state.status == health_pb2.HealthCheckResponse.SERVING
                waiting = raw(channel)(framed(1, b"wait:go"), metadata=BEARER)
                async with asyncio.timeout(60):
                    while alone.served.dispatch.in_flight == 0:
                        await asyncio.sleep(0.01)
                stop.set()
                async with asyncio.timeout(60):
                    while (await health.Check(health_pb2.HealthCheckRequest())).status == health_pb2.HealthCheckResponse.SERVING:
                        await asyncio.sleep(0.01)
                late = await refused(raw(channel)(framed(1, b"late"), metadata=BEARER))
                assert late.code() is grpc.StatusCode.UNAVAILABLE
                (tmp_path / "go").touch()
                assert await waiting, "what was let in ends by itself"

    asyncio.run(scenario())


class Known(grpc.UnaryUnaryClientInterceptor, grpc.StreamStreamClientInterceptor):  # type: ignore[misc]
    """Says who calls."""

    def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return continuation(client_call_details._replace(metadata=BEARER), request)

    intercept_stream_stream = intercept_unary_unary


@pytest.mark.feature("A11.1", "A11.6")
def test_descriptors_are_what_protoc_makes_of_the_text(tmp_path: Path) -> None:
    contract = methods.contract(opened_in(tmp_path, ECHO, ""))
    [file] = files(contract.methods, contract.definitions)
    ours, theirs = file_descriptor(file), descriptor_pb2.FileDescriptorProto()
    compiled((file.name, grpc_proto(contract))).FindFileByName(file.name).CopyToProto(theirs)
    for message in theirs.message_type:
        for field in (*message.field, *(field for entry in message.nested_type for field in entry.field)):
            field.ClearField("json_name")  # which it makes from the name
    assert str(ours) == str(theirs)
