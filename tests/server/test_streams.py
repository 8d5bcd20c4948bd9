"""Streams that are long, slow, or cut: a call's progress never holds up the call, and a client that leaves ends what it began."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.programs import write
from tests.server.outside import fresh
from tests.server.support import JSON, NEW, OLD, head, modern_meta, opened, serving
from tests.server.test_calls import MAIN, ended
from tests.server.test_end import serve

CHATTY = """\
node step(number: Int) -> Int {
  number + 1
}

/// Make many steps.
pub node steps(count: Int(0..5_000)) -> Int {
  var sum = 0
  for number in 1..count {
    sum = sum + step(number)
  }
  sum
}
"""


@pytest.mark.parametrize("era", [OLD, NEW])
def test_a_thousand_notifications_and_a_reply(tmp_path: Path, era: str) -> None:
    async def scenario() -> None:
        async with serving(opened(tmp_path, CHATTY, "listen = http(timeout: 60s)\n")) as served:
            headers = await served.open() if era == OLD else None
            reply = await served.call("steps", {"count": 500}, headers, {"progressToken": 7})
            assert reply.json["result"]["structuredContent"] == {"result": 125_750}
            counts = [message["params"]["progress"] for message in reply.messages[:-1]]
            assert counts == sorted(set(counts))
            assert counts[:3] == [1, 2, 3]

    asyncio.run(scenario())


@pytest.mark.parametrize("era", [OLD, NEW])
def test_a_client_that_never_reads_holds_nobody_up(tmp_path: Path, era: str) -> None:
    async def scenario() -> None:
        async with serving(opened(tmp_path, CHATTY, "listen = http(concurrent: 1, queue: 4)\n")) as served:
            session = (
                await served.open()
                if era == OLD
                else {"MCP-Protocol-Version": NEW, "Mcp-Method": "tools/call", "Mcp-Name": "steps"}
            )
            meta = {"progressToken": 1, **({} if era == OLD else modern_meta())}
            message = served.message("tools/call", {"name": "steps", "arguments": {"count": 5_000}, "_meta": meta})
            body = json.dumps(message).encode()
            _, writer = await asyncio.open_connection("127.0.0.1", served.port, limit=1_024)
            writer.write(head("POST", "/mcp", body, {"Host": f"127.0.0.1:{served.port}", **JSON, **session}) + body)
            other = await served.call("steps", {"count": 3})
            assert other.json["result"]["structuredContent"] == {"result": 9}
            await ended(served.service.calls)
            writer.transport.abort()

    asyncio.run(scenario())


def test_the_end_of_standard_input_cancels_what_is_in_flight(tmp_path: Path) -> None:
    opened(tmp_path, MAIN)
    # Long enough that only a cancel can end the call in the time of a test.
    write(tmp_path, {"deploy.ael": "listen = http(drain: 1h)\n"})
    initialize = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    call = {"name": "wait", "arguments": {}, "_meta": {"progressToken": 1}}
    with serve(tmp_path, "--stdio") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in (
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
        ):
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
        while b"notifications/progress" not in process.stdout.readline():
            pass
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"Traceback" not in err


def test_calls_beside_each_other_in_one_session_answer_each_their_own(tmp_path: Path) -> None:
    state = fresh()

    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN)) as served:
            session = await served.open()
            waiting = [asyncio.ensure_future(served.call("wait", {}, session)) for _ in range(5)]
            while state.inside < 5:
                await asyncio.sleep(0.005)
            names = [f"n{number}" for number in range(20)]
            replies = await asyncio.gather(*(served.call("greet", {"name": name}, session) for name in names))
            assert [reply.json["result"]["structuredContent"]["result"] for reply in replies] == [f"Hello, {n}!" for n in names]
            state.release.set()
            found = sorted([(await call).json["result"]["structuredContent"]["result"] for call in waiting])
            assert found == [1, 2, 3, 4, 5]

    asyncio.run(scenario())
