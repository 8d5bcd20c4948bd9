"""The progress of calls over gRPC: methods that stream, and servers that have none."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import message_factory
from grpc import StatusCode, aio

from ael.run.outcome import Value
from ael.server import methods, rpc
from ael.services.messages import grpc_proto
from ael.services.status import TRAILER, restored
from tests.transports.desk import LINES, MAIN, SERVE, desk, served
from tests.transports.places import TOKEN, ledger, opened_in
from tests.transports.test_context import until
from tests.transports.test_progress import TELLING
from tests.types.proto import compiled

BEARER = (("authorization", f"Bearer {TOKEN}"),)


@pytest.mark.feature("A16.5", "A11.1", "A11.2")
def test_a_streaming_method_of_grpc(tmp_path: Path) -> None:
    """A client of protobuf itself, from the exported file: events with their data, then the result; errors as in the unary method."""

    async def scenario() -> None:
        async with (
            served(tmp_path, script=TELLING, grpc=True) as (_, port, _),
            aio.insecure_channel(f"127.0.0.1:{port}") as channel,
        ):
            text = grpc_proto(methods.contract(opened_in(tmp_path / "again", MAIN, LINES + SERVE)))
            assert "rpc OnceStream(NodesOnceRequest) returns (stream NodesOnceEvent);" in text
            pool = compiled(("shop.proto", text))

            def message(name: str) -> Any:
                return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"shop.{name}"))

            def method(name: str) -> Any:
                return channel.unary_stream(
                    f"/shop.Nodes/{name}Stream",
                    request_serializer=message(f"Nodes{name}Request").SerializeToString,
                    response_deserializer=message(f"Nodes{name}Event").FromString,
                )

            found = [one async for one in method("Worker")(message("NodesWorkerRequest")(id="A"), metadata=BEARER, timeout=60)]
            assert found[-1].result.result == "DONE"
            assert [one.event for one in found[:3]] == ["run_started", "node_started", "edge_taken"]
            assert {one.HasField("result") for one in found[:-1]} == {False}
            said = [json.loads(one.data)["text"] for one in found if one.event == "text"]
            assert "".join(said) == "I look at ***, and then I know. done"
            with pytest.raises(aio.AioRpcError) as caught:
                [one async for one in method("Once")(message("NodesOnceRequest")(id=""), metadata=BEARER, timeout=60)]
            assert caught.value.code() is StatusCode.FAILED_PRECONDITION
            ending, told = restored(9, "", dict(caught.value.trailing_metadata())[TRAILER])
            assert told
            assert ending["error"] == "main.Empty"
            with pytest.raises(aio.AioRpcError) as nobody:
                [one async for one in method("Once")(message("NodesOnceRequest")(id="A"), timeout=60)]
            assert nobody.value.code() is StatusCode.UNAUTHENTICATED
            call = method("Once")(message("NodesOnceRequest")(id="wait:never"), metadata=BEARER, timeout=60)
            await call.read()
            await until(lambda: len(ledger(tmp_path)) == 2)
            call.cancel()
            await until(lambda: (tmp_path / "cancelled").exists())

    asyncio.run(scenario())


def test_a_server_without_streaming_methods_is_asked_for_the_result_alone(tmp_path: Path) -> None:
    """Once: from then on it is known. Nothing is done twice."""
    asked: list[str] = []
    real = rpc.Service.service

    def service(self: Any, details: Any) -> Any:
        asked.append(details.method)
        return None if details.method.endswith("Stream") else real(self, details)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rpc.Service, "service", service)

        async def scenario() -> None:
            async with desk("grpc", tmp_path) as program:
                for _ in range(2):
                    outcome = await program.run("strikes", {"id": "A"}, on_event=lambda event: None)
                    assert isinstance(outcome, Value)
                assert len(program.ledger) == 2
                assert asked == ["/shop.Nodes/HitStream", "/shop.Nodes/Hit", "/shop.Nodes/Hit"]

        asyncio.run(scenario())
