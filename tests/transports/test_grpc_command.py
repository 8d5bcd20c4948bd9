"""`ael serve --grpc` as a person uses it, and a client that grpcio-tools generates from `ael export proto`."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import grpc
import pytest
from grpc import aio
from grpc_tools import protoc

from ael.cli.main import main
from ael.types.proto_wire import framed
from tests.transports.places import TOKEN, opened_in, serving_grpc
from tests.transports.programs import SHOP
from tests.transports.test_agents import PROGRAM
from tests.transports.test_command import DEPLOY, started
from tests.transports.test_context import until
from tests.transports.test_grpc import BEARER, raw, refused
from tests.transports.test_protocol import post

PACK = 'pack shop {\n  version "1.0.0"\n  uses server/connect, server/grpc, server/mcp\n  extern "outside"\n}\n'

CLIENT = """\
import sys

import grpc
import shop_pb2
import shop_pb2_grpc

with grpc.insecure_channel(sys.argv[1]) as channel:
    nodes = shop_pb2_grpc.NodesStub(channel)
    known = (("authorization", "Bearer " + sys.argv[2]),)
    for n in (48, 8, 3):
        try:
            print(nodes.Worker(shop_pb2.NodesWorkerRequest(n=str(n)), metadata=known, timeout=60).result)
        except grpc.RpcError as error:
            print(error.code().name, error.details())
"""


@pytest.mark.feature("A10.3", "A11.1")
def test_a_generated_client_calls_an_agent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The agent that the other protocols serve: the same answers, and its declared error, for code that grpcio-tools made."""
    opened_in(tmp_path / "described", PROGRAM, "")
    assert main(["export", "proto", str(tmp_path / "described"), "--wire", "grpc"]) == 0
    folder = tmp_path / "client"
    folder.mkdir()
    (folder / "shop.proto").write_text(capsys.readouterr().out)
    made = ["protoc", f"-I{folder}", f"--python_out={folder}", f"--grpc_python_out={folder}", str(folder / "shop.proto")]
    assert protoc.main(made) == 0
    (folder / "client.py").write_text(CLIENT)

    async def scenario() -> str:
        async with serving_grpc(tmp_path / "server", PROGRAM, "runs = memory\n") as (_, port, _stop):
            words = [sys.executable, str(folder / "client.py"), f"127.0.0.1:{port}", TOKEN]
            done = await asyncio.to_thread(subprocess.run, words, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            return done.stdout

    assert asyncio.run(scenario()).splitlines() == ["5", "3", "FAILED_PRECONDITION the call failed with Odd"]


@pytest.mark.feature("A11.1", "A10.3", "K39")
@pytest.mark.parametrize("words", [[], ["--grpc"], ["--connect", "--grpc"]])
def test_serve(words: list[str], tmp_path: Path) -> None:
    """Beside the other protocols, or alone, on a port of its own; the first signal ends all of them."""
    opened_in(tmp_path, SHOP, DEPLOY)
    (tmp_path / "pack.ael").write_text(PACK)
    if words == ["--grpc"]:
        check_alone(tmp_path)
        return
    process, port, said = started(tmp_path, "--grpc-port", "0", *words)
    try:
        [own] = [int(found[1]) for line in said if (found := re.search(r"listening for gRPC on 127\.0\.0\.1:(\d+)", line))]
        assert asyncio.run(called(own))
        assert asyncio.run(post(port)).json == {"id": "A", "total": 3}
    finally:
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=60)
    assert process.returncode == 0, rest
    assert "Traceback" not in rest


def check_alone(folder: Path) -> None:
    """gRPC and nothing else."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "ael", "serve", str(folder), "--grpc", "--grpc-port", str(port)]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env={**os.environ, "ORDERS_TOKEN": TOKEN})
    assert process.stderr is not None
    try:
        said = []
        while "listening" not in (line := process.stderr.readline()):
            assert line, said
            said.append(line)
        assert f"listening for gRPC on 127.0.0.1:{port}" in line
        assert asyncio.run(called(port))
    finally:
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=60)
    assert process.returncode == 0, rest


async def called(port: int) -> bytes:
    """The answer to one call."""
    async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        return bytes(await raw(channel)(framed(1, b"A"), metadata=BEARER, timeout=60))


@pytest.mark.feature("A11.1")
def test_what_is_asked_wrongly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("ORDERS_TOKEN", TOKEN)
    opened_in(tmp_path, SHOP, DEPLOY)
    (tmp_path / "pack.ael").write_text(PACK.replace(", server/grpc", ""))
    assert main(["serve", str(tmp_path), "--grpc"]) == 2
    assert "error[AEL0870]: this program does not use `server/grpc`" in capsys.readouterr().err
    (tmp_path / "pack.ael").write_text(PACK)
    assert main(["serve", str(tmp_path), "--stdio", "--grpc"]) == 2
    assert "`--stdio` is for the Model Context Protocol alone" in capsys.readouterr().err
    assert main(["serve", str(tmp_path), "--grpc-port", "70000"]) == 2
    assert "a port is a number up to 65535" in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["serve", str(tmp_path), "--grpc-port", str(taken.getsockname()[1])]) == 2
        assert "error[AEL0873]: cannot listen on 127.0.0.1" in capsys.readouterr().err
    monkeypatch.setattr("ael.cli.serve.find_spec", lambda name: None if name.startswith("grpc") else object())
    assert main(["serve", str(tmp_path), "--grpc"]) == 2
    assert "pip install 'ael-lang[serve,grpc]'" in capsys.readouterr().err


@pytest.mark.feature("A11.4", "K45")
def test_a_server_takes_so_many_calls_and_no_more(tmp_path: Path) -> None:
    """What finds no room is told so in the program's own words, so that nobody has to doubt whether it was done."""

    async def scenario() -> None:
        deploy = "runs = memory\nlisten = http(connections: 2)\n"
        async with serving_grpc(tmp_path, SHOP, deploy) as (alone, port, _), aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            waiting = [raw(channel)(framed(1, f"wait:go{n}".encode()), metadata=BEARER) for n in range(2)]
            await until(lambda: alone.served.dispatch.in_flight == 2)
            error = await refused(raw(channel)(framed(1, b"A"), metadata=BEARER))
            assert error.code() is grpc.StatusCode.UNAVAILABLE
            assert "2 calls are open" in (error.details() or "")
            assert any(key == "grpc-status-details-bin" for key, _ in error.trailing_metadata())
            for n in range(2):
                (tmp_path / f"go{n}").touch()
            assert all([await call for call in waiting])

    asyncio.run(scenario())


@pytest.mark.feature("K40")
def test_a_defect_of_the_server_tells_nothing_of_itself(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It ends one call; what the exception says stays here."""

    async def scenario() -> None:
        deploy = "runs = memory\n"
        async with serving_grpc(tmp_path, SHOP, deploy) as (alone, port, _), aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            [get] = [one for path, one in alone.served.methods.items() if path == "/shop.Orders/Get"]

            def broken(plain: object) -> bytes:
                raise RuntimeError("the inside of the server")

            monkey = pytest.MonkeyPatch()
            monkey.setattr(type(get.result), "write", lambda self, plain: broken(plain))
            try:
                error = await refused(raw(channel)(framed(1, b"A"), metadata=BEARER))
            finally:
                monkey.undo()
            assert error.code() is grpc.StatusCode.INTERNAL
            assert "inside of the server" not in str(error)
            assert await raw(channel)(framed(1, b"B"), metadata=BEARER)

    asyncio.run(scenario())
    assert "/shop.Orders/Get failed inside: RuntimeError" in capfd.readouterr().err
