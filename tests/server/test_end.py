"""The end of a server: calls in flight finish, those that do not are cancelled in time, and nothing new begins."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import write
from tests.server.outside import fresh
from tests.server.support import JSON, head, opened, serving
from tests.server.test_calls import MAIN, result, told
from tests.server.test_clients import ENVIRONMENT


def test_what_is_in_flight_ends_by_itself_and_nothing_new_begins(tmp_path: Path) -> None:
    state = fresh()

    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN)) as served:
            session = await served.open()
            calls = [asyncio.ensure_future(served.call("wait", {}, headers)) for headers in (None, session)]
            while state.inside < 2:
                await asyncio.sleep(0.005)
            served.stop.set()
            while (ready := await served.request("GET", "/readyz")).status == 200:
                await asyncio.sleep(0.005)
            assert ready.json == {"status": "draining"}
            assert (await served.request("GET", "/healthz")).status == 200
            late = told(await served.call("greet", {"name": "x"}, session))
            assert (late["fault"], late["message"]) == ("Unavailable", "the server is shutting down")
            state.release.set()
            for call in calls:
                assert not result(await call)["isError"]
            await served.task
            with pytest.raises(ConnectionRefusedError):
                await served.request("GET", "/healthz")

    asyncio.run(scenario())
    assert state.cancelled == 0


def test_what_does_not_end_is_cancelled_and_answered(tmp_path: Path) -> None:
    state = fresh()

    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN, "listen = http(drain: 50ms, concurrent: 1)\n")) as served:
            first = asyncio.ensure_future(served.call("wait"))
            await state.entered.wait()
            queued = asyncio.ensure_future(served.call("wait"))
            while not served.service.calls.gate._waiting:
                await asyncio.sleep(0.005)
            served.stop.set()
            cancelled = told(await first)
            assert (cancelled["fault"], cancelled["message"]) == ("Cancelled", "the server is shutting down")
            assert told(await queued)["fault"] == "Unavailable"
            await served.task

    asyncio.run(scenario())
    assert state.cancelled == 1


def test_open_streams_do_not_hold_the_end_up(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN)) as served:
            session = await served.open()
            reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
            writer.write(head("GET", "/mcp", None, {"Host": f"127.0.0.1:{served.port}", **JSON, **session}))
            assert b"200 OK" in await reader.readline()
            served.stop.set()
            await served.task
            writer.close()

    asyncio.run(scenario())


def serve(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "ael", "serve", str(folder), "--mcp", *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **ENVIRONMENT},
    )  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_command_well(tmp_path: Path, number: signal.Signals) -> None:
    opened(tmp_path, MAIN)
    with serve(tmp_path, "--port", "0") as process:
        assert process.stderr is not None
        while b"listening on http://127.0.0.1:" not in (line := process.stderr.readline()):
            assert line, "it has ended"
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, b"")
    assert b"Traceback" not in err


def test_a_signal_ends_a_server_on_standard_input_too(tmp_path: Path) -> None:
    opened(tmp_path, MAIN)
    with serve(tmp_path, "--stdio") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"no message\n")
        process.stdin.flush()
        assert b"-32700" in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        # Its input stays open: only the signal ends it.
        code = process.wait(timeout=60)
        out, err = process.communicate()
    assert (code, out) == (0, b"")
    assert b"Traceback" not in err


@pytest.mark.feature("A10.1")
def test_stdout_is_the_protocols_alone_and_noise_is_answered(tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text(
        "import os\n\n\ndef say() -> int:\n    print('noise')\n    os.write(1, b'more noise\\n')\n    return 1\n"
    )
    main = (
        "permission a.b\n\ntool say() -> Int\n  needs a.b\n  repeat idempotent\n  timeout 5s\n"
        '  extern "noisy:say"\n\npub node main() -> Int\n  grants a.b\n{\n  say()\n}\n'
    )
    pack = 'pack noisy {\n  version "1"\n  uses server/mcp\n  extern "noisy"\n}\n'
    write(tmp_path, {"main.ael": main, "pack.ael": pack, "deploy.ael": "listen = http(body: 1KiB)\n"})
    initialize = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines: list[bytes] = [
        b"hello, I am a banner",
        b'{"jsonrpc": "2.0", "id": NaN}',
        b"[]",
        b"",
        b'{"jsonrpc": "2.0", "id": 3}',
        b'"' + b"x" * 5_000 + b'"',
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize}).encode(),
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        b'{"jsonrpc": "2.0", "method": "notifications/nobody/knows"}',
        b'{"jsonrpc": "2.0", "id": 99, "result": {}}',
        b'{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "main", "arguments": {}}}',
    ]
    with serve(tmp_path, "--stdio") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"\n".join(lines) + b"\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(7)]
        out, err = process.communicate(timeout=60)
    assert [answer["error"]["code"] for answer in answers[:5]] == [-32700, -32700, -32600, -32600, -32600]
    assert [answer.get("id") for answer in answers] == [None, None, None, 3, None, 1, 2]
    assert answers[5]["result"]["protocolVersion"] == "2025-11-25"
    assert answers[6]["result"]["structuredContent"] == {"result": 1}
    assert (process.returncode, out) == (0, b"")
    assert b"noise\nmore noise" in err or b"more noise\nnoise" in err
