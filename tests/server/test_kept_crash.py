"""A server that is killed: its run goes on elsewhere, with its caller's rights, and the same call finds it by its key (K27)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import pytest

from tests.programs import write
from tests.server.support import JSON, NEW, OLD, TOKEN, modern_meta

MAIN = """\
permission shop.act
permission shop.refund

tool charge() -> Int
  needs shop.act
  repeat never
  timeout 60s
  extern "work:charge"

tool hold() -> Int
  needs shop.act
  repeat idempotent
  timeout none
  extern "work:hold"

tool refund() -> Int
  needs shop.refund
  repeat never
  timeout 60s
  extern "work:refund"

/// Charge, wait, and give the money back where that is allowed.
pub node order() -> String
  grants shop.act, shop.refund
{
  let charged = try charge() catch {
    Uncertain u => 0
  }
  let held = hold()
  let refunded = try refund() catch {
    Uncertain u => 9
    Fault f => 0
  }
  "${charged} ${held} ${refunded}"
}
"""
WORK = """\
import time
from pathlib import Path

FOLDER = Path(__file__).parent


def note(what, call):
    with (FOLDER / "ledger").open("a") as file:
        file.write(f"{what} {call.key} {call.caller} {call.tenant}\\n")
    return 1


def charge(*, call):
    return note("charge", call)


def refund(*, call):
    return note("refund", call)


def hold(*, call):
    note("hold", call)
    while not (FOLDER / "release").exists():
        time.sleep(0.01)
    return 1
"""
FILES = {
    "pack.ael": 'pack shop {\n  version "1.0.0"\n  uses server/mcp\n  extern "work"\n}\n',
    "main.ael": MAIN,
    "work.py": WORK,
    "deploy.ael": (
        'runs = sqlite("runs.db", lease: 1s)\nsecret A = env("ALICE_TOKEN")\n'
        'caller alice = bearer(secret("A"), tenant: "acme") grants shop.act\n'
    ),
}


ENVIRONMENT = {**os.environ, "ALICE_TOKEN": TOKEN, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}


def ael(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "ael", words[0], str(folder), *words[1:]]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)


@contextmanager
def serving(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A server in a process of its own, and its port."""
    with ael(folder, "serve", "--mcp", "--port", "0") as process:
        assert process.stderr is not None
        while b"listening on http://127.0.0.1:" not in (line := process.stderr.readline()):
            assert line, "it has ended"
        reader = threading.Thread(target=process.stderr.read, daemon=True)
        reader.start()
        try:
            yield process, int(line.partition(b"127.0.0.1:")[2].partition(b"/")[0])
        finally:
            process.kill()
            reader.join()


def call(port: int) -> Any:
    """Call the node under one key; the result."""
    meta = {**modern_meta(), "idempotencyKey": "order-1"}
    message = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "order", "arguments": {}, "_meta": meta},
    }  # fmt: skip
    named = {"MCP-Protocol-Version": NEW, "Mcp-Method": "tools/call", "Mcp-Name": "order", "Authorization": f"Bearer {TOKEN}"}
    connection = HTTPConnection("127.0.0.1", port, timeout=110)
    try:
        connection.request("POST", "/mcp", json.dumps(message), {**JSON, **named})
        answer = connection.getresponse()
        body = answer.read().decode()
    finally:
        connection.close()
    lines = [line[5:] for line in body.splitlines() if line.startswith("data:") and line[5:].strip()]
    return json.loads(lines[-1] if lines else body)["result"]


def ledger(folder: Path) -> list[list[str]]:
    file = folder / "ledger"
    return [line.split() for line in file.read_text().splitlines()] if file.exists() else []


def until_held(folder: Path, times: int) -> None:
    end = time.monotonic() + 100
    while [line[0] for line in ledger(folder)].count("hold") < times:
        assert time.monotonic() < end, ledger(folder)
        time.sleep(0.02)


@pytest.mark.feature("A12.12")
def test_the_end_of_standard_input_gives_a_keyed_run_back(tmp_path: Path) -> None:
    """The client may come back with its key, to another server on the same store."""
    deploy = FILES["deploy.ael"].replace("caller alice", "// caller alice") + "listen = http(drain: 100ms)\n"
    write(tmp_path, {**FILES, "deploy.ael": deploy})
    initialize = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    again = {"name": "order", "arguments": {}, "_meta": {"idempotencyKey": "order-1"}}

    def begun() -> subprocess.Popen[bytes]:
        process = ael(tmp_path, "serve", "--mcp", "--stdio")
        assert process.stdin is not None
        for message in (
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": again},
        ):
            process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        return process

    with begun() as process:
        until_held(tmp_path, 1)
        process.communicate(timeout=100)
        assert process.returncode == 0
    (tmp_path / "release").touch()
    with begun() as process:
        assert process.stdout is not None
        lines = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.communicate(timeout=100)
    # Without callers it is the system's user, who may do all that is declared.
    assert lines[1]["result"]["structuredContent"] == {"result": "1 1 1"}
    assert [line[0] for line in ledger(tmp_path)] == ["charge", "hold", "hold", "refund"]


@pytest.mark.feature("A4.4", "A8.9", "A12.6", "K27")
@pytest.mark.parametrize("taker", ["serve", "worker"])
def test_after_kill_9_the_same_call_joins_its_run_wherever_it_goes_on(tmp_path: Path, taker: str) -> None:
    write(tmp_path, FILES)
    with serving(tmp_path) as (process, port):
        lost: list[BaseException] = []

        def first() -> None:
            try:
                call(port)
            except (OSError, HTTPException) as error:
                lost.append(error)

        client = threading.Thread(target=first)
        client.start()
        until_held(tmp_path, 1)
        process.send_signal(signal.SIGKILL)
        client.join()
        assert lost, "the client lost its reply"
    if taker == "worker":
        with ael(tmp_path, "worker") as worker:
            until_held(tmp_path, 2)
            (tmp_path / "release").touch()
            with serving(tmp_path) as (_, port):
                found = call(port)
            worker.send_signal(signal.SIGTERM)
            worker.communicate(timeout=60)
    else:
        with serving(tmp_path) as (_, port):
            joined: list[Any] = []
            client = threading.Thread(target=lambda: joined.append(call(port)))
            client.start()
            until_held(tmp_path, 2)
            (tmp_path / "release").touch()
            client.join()
            [found] = joined
            assert call(port) == found, "from then on it is the recorded answer"
    # The caller may not refund, whoever has taken its run; nothing was charged twice, and what was sent again has its key.
    assert found["structuredContent"] == {"result": "1 1 0"}
    done = ledger(tmp_path)
    assert [line[0] for line in done] == ["charge", "hold", "hold"]
    assert done[1] == done[2]
    assert {(caller, tenant) for _, _, caller, tenant in done} == {("alice", "acme")}
