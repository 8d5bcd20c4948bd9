"""What `ael export` prints is what is served: a generated client of the `.proto` calls it, and every schema holds for what crosses."""

from __future__ import annotations

import asyncio
import importlib.resources
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from grpc_tools import protoc

from ael.cli.main import main
from ael.server.exposure import expose, listing
from tests.transports.places import opened_in, serving
from tests.transports.programs import ECHO, SHOP, VALUES
from tests.transports.test_protocol import post

ALL = {
    "text": "ä\n", "whole": 3, "number": 0.5, "money": "1.10", "flag": False, "bytes": "AAE=", "at": "2026-03-01T12:00:00Z",
    "day": "2026-03-01", "length": "PT5S", "any": {"a": [1, None]}, "list": ["0.10"], "map": {"k": {"deep": [{"n": 0}]}},
    "inner": {"deep": []}, "topic": "Refund", "shape": {"kind": "Circle", "radius": 2.0}, "choice": 7, "nothing": None, "As-Is": True,
    "file": {"media": "image/png", "data": "AAE="},
}  # fmt: skip


def exported(form: str, folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What the command prints, twice the same."""
    texts = []
    for _ in range(2):
        assert main(["export", form, str(folder), *words]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    return texts[0]


def generated(text: str, folder: Path) -> Any:
    """The messages of a `.proto`, as a compiler that nobody here wrote makes them: name -> class."""
    (folder / "made.proto").write_text(text)
    own = importlib.resources.files("grpc_tools") / "_proto"
    made = folder / "made.binary"
    words = ["protoc", f"-I{folder}", f"-I{own}", f"--descriptor_set_out={made}", "--include_imports", str(folder / "made.proto")]
    assert protoc.main(words) == 0
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(made.read_bytes()).file:
        pool.Add(file)
    return lambda name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


@pytest.mark.feature("A11.1", "A11.6")
def test_a_generated_client_of_the_proto(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every kind of value goes out and comes back through messages that protobuf's own compiler made of the file."""
    opened_in(tmp_path, ECHO, "")
    messages = generated(exported("proto", tmp_path, capsys), tmp_path)

    async def scenario() -> None:
        async with serving(tmp_path / "server", ECHO, "runs = memory\n") as (_, port, _):
            cases: list[tuple[str, object]] = [
                ("All", ALL), ("Text", ""), ("Whole", 0), ("Whole", -7), ("Money", "0.10"), ("Bytes", ""), ("List", []),
                ("List", ["Dot", {"kind": "Circle", "radius": 0.5}]), ("Map", {}), ("Map", {"a": None, "b": [1, "x"]}), ("Any", None),
                ("Any", {"x": []}), ("Nothing", None), ("Nothing", "x"), ("Topic", "Other"), ("Wide", {"known": 1, "Other-Key": [2]}),
            ]  # fmt: skip
            for name, value in cases:
                request = json_format.ParseDict({"value": value}, messages(f"shop.Echo{name}Request")())
                reply = await post(port, f"/shop.Echo/{name}", json_format.MessageToJson(request).encode())
                assert reply.status == 200, (name, value, reply)
                answer = messages("shop.All" if name == "All" else f"shop.Echo{name}Response")()
                json_format.Parse(reply.body, answer)
                told = json_format.MessageToDict(answer)
                sent = json_format.MessageToDict(json_format.ParseDict({"value": value}, messages(f"shop.Echo{name}Request")()))
                assert (told if name == "All" else told["result"]) == sent["value"], name
            unit = await post(port, "/shop.Echo/Unit", b'{"value": 1}')
            assert unit.json == {}

    asyncio.run(scenario())


@pytest.mark.feature("A11.6", "A10.3")
def test_the_schemas_hold_for_what_crosses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened_in(tmp_path, ECHO, "")
    document = json.loads(exported("openapi", tmp_path, capsys))
    schemas = json.loads(exported("json-schema", tmp_path, capsys))
    assert (
        set(document["paths"]) == set(schemas) == {f"/shop.Echo/{own.strip().partition('(')[0].title()}" for own in operations()}
    )
    content = document["paths"]["/shop.Echo/All"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    whole = {**content, "components": document["components"]}
    jsonschema.Draft202012Validator.check_schema(whole)
    jsonschema.validate({"value": ALL}, whole)
    jsonschema.validate({"value": ALL}, schemas["/shop.Echo/All"]["input"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"value": {**ALL, "more": 1}}, whole)

    async def scenario() -> None:
        async with serving(tmp_path / "server", ECHO, "runs = memory\n") as (_, port, _):
            for path, value in (("All", ALL), ("List", ["Dot"]), ("Nothing", None), ("Wide", {"known": 1})):
                reply = await post(port, f"/shop.Echo/{path}", json.dumps({"value": value}).encode())
                jsonschema.validate(reply.json, schemas[f"/shop.Echo/{path}"]["output"])
                answered = document["paths"][f"/shop.Echo/{path}"]["post"]["responses"]["200"]["content"]["application/json"]
                jsonschema.validate(reply.json, {**answered["schema"], "components": document["components"]})

    asyncio.run(scenario())


def operations() -> list[str]:
    """The lines of the service's operations."""
    return [line for line in VALUES.split("pub service")[1].split("}")[0].splitlines() if "needs" in line]


def test_errors_and_what_cannot_be_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened_in(tmp_path, SHOP, "serve = [Orders, caught]\n")
    schemas = json.loads(exported("json-schema", tmp_path, capsys))
    assert list(schemas["/shop.Orders/Get"]["errors"]) == ["NotFound"]
    assert "/shop.Nodes/Caught" in schemas
    document = json.loads(exported("openapi", tmp_path, capsys, "--only", "Orders"))
    assert "/shop.Nodes/Caught" not in document["paths"]
    assert document["paths"]["/shop.Orders/Pay"]["post"]["x-ael-repeat"] == "never"
    assert main(["export", "proto", str(tmp_path), "--only", "nope"]) == 2
    assert "error[AEL0871]" in capsys.readouterr().err
    opened_in(tmp_path, SHOP, 'serve = [caught]\nserve Orders as "warehouse.Orders"\n')
    assert main(["export", "proto", str(tmp_path)]) == 2
    assert "one file describes one package, and the services are of shop, warehouse" in capsys.readouterr().err


@pytest.mark.feature("A11.1", "A11.6")
def test_a_proto_for_grpc(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another file, whose types are exact; protoc takes it, and its comments say what the operations do and fail with."""
    opened_in(tmp_path, SHOP, "serve = [Orders, caught]\n")
    text = exported("proto", tmp_path, capsys, "--wire", "grpc")
    pool = generated(text, tmp_path)
    assert [field.name for field in pool("shop.Order").DESCRIPTOR.fields] == ["id", "total"]
    assert "  // Fails with NotFound.\n  rpc Get(OrdersGetRequest) returns (Order);\n" in text
    assert "rpc Caught(NodesCaughtRequest) returns (NodesCaughtResponse);" in text
    assert main(["export", "openapi", str(tmp_path), "--wire", "grpc"]) == 2
    assert "`--wire` says whom a `.proto` is for" in capsys.readouterr().err
    opened_in(tmp_path, SHOP, 'serve = [caught]\nserve Orders as "warehouse.Orders"\n')
    assert main(["export", "proto", str(tmp_path), "--wire", "grpc"]) == 2
    assert "one file describes one package" in capsys.readouterr().err


@pytest.mark.feature("A10.1")
def test_what_is_exported_for_mcp_is_what_a_server_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened = opened_in(tmp_path, SHOP.replace("node get(", "pub node get("), "")
    found = json.loads(exported("mcp", tmp_path, capsys))
    assert found == {"tools": listing(expose(opened))}
    assert [tool["name"] for tool in found["tools"]] == ["get"]
    assert [tool["name"] for tool in json.loads(exported("mcp", tmp_path, capsys, "--only", "pay"))["tools"]] == ["pay"]
    assert main(["export", "mcp", str(tmp_path), "--only", "nobody"]) == 2
    assert "AEL0871" in capsys.readouterr().err
