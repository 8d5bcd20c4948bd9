"""The Connect protocol as clients of any language speak it: by hand, and by the `connectrpc` package, which nobody here wrote."""

from __future__ import annotations

import asyncio
import gzip
import json
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from connectrpc.client import ConnectClient
from connectrpc.code import Code
from connectrpc.codec import proto_json_codec
from connectrpc.errors import ConnectError
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from protobuf.wkt.google.protobuf.struct_pb import Struct

from ael.services.wire import DETAIL, STATUS
from tests.server.support import Reply, head, read_reply
from tests.transports.places import TOKEN, ledger, serving
from tests.transports.programs import SHOP
from tests.transports.test_context import until

GET = "/shop.Orders/Get"
OWN = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}


async def post(
    port: int, path: str = GET, body: bytes = b'{"id": "A"}', headers: Mapping[str, str] | None = None, method: str = "POST"
) -> Reply:
    """One request over a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(head(method, path, body, {"Host": f"127.0.0.1:{port}", **OWN, **(headers or {})}) + body)
        await writer.drain()
        return await read_reply(reader)
    finally:
        writer.close()


def code(reply: Reply) -> str:
    """The code of an error, whose status fits it."""
    said = reply.json["code"]
    assert isinstance(said, str)
    assert reply.headers["content-type"] == "application/json"
    return said


@pytest.mark.feature("A11.1", "A11.4", "K42")
def test_a_call_by_hand(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(tmp_path, SHOP, "runs = memory\n") as (_, port, _):
            reply = await post(port)
            assert (reply.status, reply.json) == (200, {"id": "A", "total": 3})
            assert reply.headers["ael-run"].startswith("r")
            assert reply.headers["ael-taint"] == "tool:act"
            for headers in ({"Content-Type": "application/json; charset=utf-8"}, {"Connect-Protocol-Version": "1"}):
                assert (await post(port, headers=headers)).status == 200
            packed = await post(port, body=gzip.compress(b'{"id": "Z"}'), headers={"Content-Encoding": "gzip"})
            assert packed.json == {"id": "Z", "total": 3}
            missing = await post(port, body=b'{"id": "none"}')
            assert (missing.status, code(missing)) == (STATUS["not_found"], "not_found")
            [detail] = missing.json["details"]
            assert detail["type"] == DETAIL
            assert detail["debug"]["error"] == "main.NotFound"
            text = b64decode(detail["value"] + "==")
            assert json.loads(text[text.index(b"{") :]) == detail["debug"]
            node = await post(port, "/shop.Nodes/Get")
            assert node.status == 404, "no node is public here, and none is named"
            for path in ("/healthz", "/readyz"):
                assert (await post(port, path, b"", method="GET")).json == {"status": "ok"}

    asyncio.run(scenario())


BOMB = gzip.compress(b'{"id": "' + b"x" * 50_000_000 + b'"}')
REFUSED: list[tuple[dict[str, Any], int, str]] = [
    ({"headers": {"Authorization": ""}}, 401, "unauthenticated"),
    ({"headers": {"Authorization": "Bearer nobody-knows-this-token"}}, 401, "unauthenticated"),
    ({"headers": {"Authorization": "Bearer nobody-knows-this-token"}, "body": b"not JSON"}, 401, "unauthenticated"),
    ({"headers": {"Host": "attacker.example"}}, 403, "permission_denied"),
    ({"headers": {"Origin": "https://attacker.example"}}, 403, "permission_denied"),
    ({"path": "/shop.Orders/Nope"}, 404, "unimplemented"),
    ({"path": "/../etc/passwd"}, 404, "unimplemented"),
    ({"method": "GET"}, 405, "unimplemented"),
    ({"headers": {"Content-Type": "application/proto"}}, 415, "unimplemented"),
    ({"headers": {"Content-Encoding": "br"}}, 415, "unimplemented"),
    ({"headers": {"Content-Encoding": "gzip"}}, 400, "invalid_argument"),
    ({"headers": {"Content-Encoding": "gzip"}, "body": BOMB}, 413, "resource_exhausted"),
    ({"headers": {"Content-Length": "2000000"}, "body": b"{}"}, 413, "resource_exhausted"),
    ({"headers": {"Connect-Protocol-Version": "2"}}, 400, "invalid_argument"),
    ({"headers": {"Connect-Timeout-Ms": "soon"}}, 400, "invalid_argument"),
    ({"headers": {"Connect-Timeout-Ms": "12345678901"}}, 400, "invalid_argument"),
    ({"headers": {"Idempotency-Key": "x" * 600}}, 400, "invalid_argument"),
    ({"body": b""}, 400, "invalid_argument"),
    ({"body": b"[]"}, 400, "invalid_argument"),
    ({"body": b'{"id": 1}'}, 400, "invalid_argument"),
    ({"body": b'{"id": "a", "id": "b"}'}, 400, "invalid_argument"),
    ({"body": b'{"id": "a", "more": 1}'}, 400, "invalid_argument"),
    ({"body": b'{"id": NaN}'}, 400, "invalid_argument"),
    ({"body": b'{"id": "\\ud800"}'}, 400, "invalid_argument"),
    ({"body": b"[" * 100_000}, 400, "invalid_argument"),
]


@pytest.mark.feature("A11.6", "K42", "K20", "K21", "K43")
def test_what_is_not_let_in(tmp_path: Path) -> None:
    """Each with the code and the status of the protocol, and nothing is done; who asks is known before anything is read."""

    async def scenario() -> None:
        async with serving(tmp_path, SHOP, "runs = memory\n") as (_, port, _):
            for request, status, said in REFUSED:
                reply = await post(port, **request)
                assert (reply.status, code(reply)) == (status, said), (request, reply)
            reply = await post(port, headers={"Idempotency-Key": "one", "idempotency-key": "two"})
            assert (reply.status, code(reply)) == (400, "invalid_argument")
        assert not ledger(tmp_path)

    asyncio.run(scenario())


@pytest.mark.feature("A11.4", "A8.6", "K43")
def test_a_key_is_its_callers_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same key of another caller is another call; of the same caller with another request it is refused."""
    monkeypatch.setenv("OTHER_TOKEN", "other-token-0123456789")
    deploy = 'runs = memory\nsecret O = env("OTHER_TOKEN")\ncaller other = bearer(secret("O"), tenant: "beta")\n'

    async def scenario() -> None:
        async with serving(tmp_path, SHOP, deploy) as (_, port, _):
            key = {"Idempotency-Key": "k-1"}
            first, again = await post(port, headers=key), await post(port, headers=key)
            assert first.json == again.json
            assert first.headers["ael-run"] == again.headers["ael-run"]
            other = await post(port, headers={**key, "Authorization": "Bearer other-token-0123456789"})
            assert other.headers["ael-run"] != first.headers["ael-run"]
            assert [call["tenant"] for call in ledger(tmp_path)] == ["acme", "beta"]
            refused = await post(port, body=b'{"id": "B"}', headers=key)
            assert (refused.status, code(refused)) == (400, "invalid_argument")
            assert "this key names another call" in refused.json["message"]
            assert (await post(port, body=b'{ "id":"A" }', headers=key)).headers["ael-run"] == first.headers["ael-run"]

    asyncio.run(scenario())


@pytest.mark.feature("K34", "A11.4")
def test_a_server_does_not_try_again_for_its_caller(tmp_path: Path) -> None:
    """Retries are the caller's: what an operation declares is done once for each request."""

    async def scenario() -> None:
        async with serving(tmp_path, SHOP, "runs = memory\n") as (_, port, _):
            reply = await post(port, "/shop.Orders/Retried", b'{"id": "lose"}')
            assert (reply.status, code(reply)) == (500, "internal")
            assert reply.json["details"][0]["debug"]["kind"] == "Disconnected"
            assert len(ledger(tmp_path)) == 1

    asyncio.run(scenario())


def method(name: str, service: str = "shop.Orders") -> MethodInfo[Struct, Struct]:
    """A method as the package knows it."""
    return MethodInfo(
        name=name,
        service_name=service,
        input=Struct,
        output=Struct,
        idempotency_level=IdempotencyLevel.UNKNOWN,
        stream_type=StreamType.UNARY,
    )


@pytest.mark.feature("A11.1", "A11.4", "A16.1")
def test_a_client_that_nobody_here_wrote(tmp_path: Path) -> None:
    """The `connectrpc` package calls an operation and a node: values, errors with their code and detail, its timeout, a cancel."""
    deploy = "runs = memory\nserve = [Orders, caught]\n"

    async def scenario() -> None:
        async with (
            serving(tmp_path, SHOP, deploy) as (_, port, _),
            ConnectClient(f"http://127.0.0.1:{port}", codec=proto_json_codec()) as client,
        ):

            async def call(name: str, id: str, service: str = "shop.Orders", timeout: int | None = None) -> Any:
                request = Struct.from_json(json.dumps({"id": id}))
                own = {"Authorization": f"Bearer {TOKEN}"}
                found = await client.execute_unary(request=request, method=method(name, service), headers=own, timeout_ms=timeout)
                return json.loads(found.to_json())

            assert await call("Get", "A-1") == {"id": "A-1", "total": 3}
            assert await call("Caught", "none", "shop.Nodes") == {"result": "not found: none A-1,ä\n"}
            assert await call("Retried", "x") == {"result": "x"}
            with pytest.raises(ConnectError) as missing:
                await call("Get", "none")
            assert missing.value.code is Code.NOT_FOUND
            assert missing.value.details[0].type_name == DETAIL
            assert b"main.NotFound" in missing.value.details[0].message_bytes
            with pytest.raises(ConnectError) as unknown:
                await call("Nope", "A")
            assert unknown.value.code is Code.UNIMPLEMENTED
            with pytest.raises(ConnectError) as late:
                await call("Get", "wait:never", timeout=500)
            assert late.value.code is Code.DEADLINE_EXCEEDED
            given_up = asyncio.ensure_future(call("Get", "wait:given-up"))
            await until(lambda: any(one["what"] == "wait:given-up" for one in ledger(tmp_path)))
            given_up.cancel()
            with pytest.raises(ConnectError):
                await given_up
            marks = tmp_path / "cancelled"
            await until(lambda: marks.exists() and "wait:given-up" in marks.read_text())

    asyncio.run(scenario())
