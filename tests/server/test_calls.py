"""Calls over HTTP: every ending is a typed answer, and nothing of the inside goes out."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from ael.project.program import Opened
from tests.server.outside import fresh
from tests.server.support import NEW, OLD, Reply, modern_meta, opened, serving

MAIN = """\
permission work.do
permission money.send

error NotFound { id: String(max: 40) }

tool hold() -> Int
  needs work.do
  repeat idempotent
  timeout none
  extern "tests.server.outside:hold"

tool crash() -> Int
  needs work.do
  repeat idempotent
  timeout 5s
  extern "tests.server.outside:crash"

tool lost() -> Int
  needs money.send
  repeat never
  timeout 5s
  extern "tests.server.outside:lost"

record Order {
  id: String(pattern: "^[A-Z]-[0-9]+$")
  total: Decimal
}

/// Say hello.
pub node greet(name: String(max: 20)) -> String {
  "Hello, ${name}!"
}

/// Find an order.
pub node order(id: String(max: 40)) -> Order fails NotFound {
  if id == "A-1" {
    return Order(id: "A-1", total: 12.50)
  }
  fail NotFound(id: id)
}

/// Wait.
pub node wait() -> Int
  grants work.do
{
  hold()
}

/// Fail inside.
pub node broken() -> Int
  grants work.do
{
  crash()
}

/// Send money, perhaps.
pub node send() -> Int fails Uncertain
  grants money.send
{
  try lost()
}

/// Get nothing.
pub node none() -> Unit {
  let nothing = 1
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    return opened(tmp_path_factory.mktemp("calls"), MAIN)


def result(reply: Reply) -> dict[str, object]:
    assert reply.status == 200, reply
    assert "result" in reply.json, reply.json
    found = reply.json["result"]
    assert isinstance(found, dict)
    return found


def told(reply: Reply) -> dict[str, object]:
    """What went wrong, as data; the text block and `_meta` say the same."""
    found = result(reply)
    assert found["isError"] is True
    assert "structuredContent" not in found
    content, meta = found["content"], found["_meta"]
    assert isinstance(content, list)
    assert isinstance(meta, dict)
    assert json.loads(content[1]["text"]) == meta["ael/outcome"]
    outcome = meta["ael/outcome"]
    assert isinstance(outcome, dict)
    return {**outcome, "said": content[0]["text"]}


@pytest.mark.feature("A10.1", "A10.4")
def test_a_value_is_structured_content_and_text(program: Opened) -> None:
    async def scenario() -> None:
        async with serving(program) as served:
            for headers in (None, await served.open()):
                hello = result(await served.call("greet", {"name": "Ada"}, headers))
                assert hello["structuredContent"] == {"result": "Hello, Ada!"}
                assert hello["content"] == [{"type": "text", "text": "Hello, Ada!"}]
                order = result(await served.call("order", {"id": "A-1"}, headers))
                assert order["structuredContent"] == {"id": "A-1", "total": "12.50"}
                assert order["content"] == [{"type": "text", "text": '{"id":"A-1","total":"12.50"}'}]
                assert result(await served.call("none", {}, headers))["structuredContent"] == {"result": None}

    asyncio.run(scenario())


@pytest.mark.feature("A10.1")
def test_what_goes_wrong_is_a_typed_error(program: Opened, capsys: pytest.CaptureFixture[str]) -> None:
    async def scenario() -> None:
        async with serving(program) as served:
            for headers in (None, await served.open()):
                error = told(await served.call("order", {"id": "B-2"}, headers))
                assert error == {
                    "outcome": "error", "error": "NotFound", "value": {"id": "B-2"}, "said": "the call failed with NotFound",
                }  # fmt: skip
                lost = told(await served.call("send", {}, headers))
                assert lost["outcome"] == "uncertain"
                assert lost["operation"] == "lost"
                assert lost["key"]
                assert lost["step"] == "send/lost@0"
                assert str(lost["said"]).startswith("UNCERTAIN: lost may or may not have taken effect")
                crash = told(await served.call("broken", {}, headers))
                assert crash["fault"] == "Crashed"
                assert "hunter2" not in json.dumps(crash)
                assert "secret.py" not in json.dumps(crash)
                assert "something inside the program failed; its operator finds it as run r" in str(crash["said"])

    asyncio.run(scenario())
    assert "crashed" in capsys.readouterr().err


@pytest.mark.feature("A10.1")
def test_arguments_that_do_not_fit_are_refused_in_the_words_of_the_era(program: Opened) -> None:
    async def scenario() -> None:
        async with serving(program) as served:
            for headers in (None, await served.open()):
                for arguments, expected in [
                    ({"name": 3}, "`name`: expected String(max: 20), got number 3"),
                    ({"name": "x" * 21}, "at most 20 characters"),
                    ({}, "`name`"),
                    ({"name": "Ada", "extra": 1}, "extra"),
                ]:
                    refused = told(await served.call("greet", arguments, headers))
                    assert refused["fault"] == "BadArguments"
                    assert expected in str(refused["message"])
            older = await served.open("2025-06-18")
            refused = (await served.call("greet", {"name": 3}, older)).json
            assert refused["error"]["code"] == -32602
            assert "expected String(max: 20), got number 3" in refused["error"]["message"]

    asyncio.run(scenario())


def test_what_is_not_there_is_an_error_of_the_protocol(program: Opened) -> None:
    async def scenario() -> None:
        async with serving(program) as served:
            session = await served.open()
            for headers in (None, session):
                unknown = (await served.call("nope", {}, headers)).json
                assert unknown["error"] == {"code": -32602, "message": "Unknown tool: nope"}
            for method in ("prompts/list", "resources/list", "nope/nope"):
                assert (await served.post(served.message(method), session)).json["error"]["code"] == -32601
            malformed = await served.post(served.message("tools/call", {"name": 3}), session)
            assert malformed.json["error"]["code"] == -32602
            assert "pydantic" not in malformed.body.decode()

    asyncio.run(scenario())


def test_listing_and_hints_in_both_eras(program: Opened) -> None:
    async def scenario() -> None:
        async with serving(program) as served:
            session = await served.open()
            old = (await served.post(served.message("tools/list"), session)).json["result"]
            named = {"MCP-Protocol-Version": NEW, "Mcp-Method": "tools/list"}
            new = (await served.post(served.message("tools/list", {"_meta": modern_meta()}), named)).json["result"]
            assert [tool["name"] for tool in old["tools"]] == ["greet", "order", "wait", "broken", "send", "none"]
            assert old["tools"] == new["tools"]
            assert new["cacheScope"] == "private"
            cursor = await served.post(served.message("tools/list", {"cursor": "2"}), session)
            assert cursor.json["error"]["code"] == -32602

    asyncio.run(scenario())


def test_progress_tells_steps_and_no_content(program: Opened) -> None:
    async def scenario() -> None:
        async with serving(program) as served:
            for headers in (None, await served.open()):
                reply = await served.call("greet", {"name": "Ada"}, headers, {"progressToken": "t"})
                told = [m["params"] for m in reply.messages[:-1]]
                assert [m["method"] for m in reply.messages[:-1]] == ["notifications/progress"] * 2
                assert told == [
                    {"progressToken": "t", "progress": 1, "message": "node greet"},
                    {"progressToken": "t", "progress": 2, "message": "node greet: value"},
                ]

    asyncio.run(scenario())


@pytest.mark.parametrize("era", [OLD, NEW])
def test_a_client_that_leaves_cancels_its_run(program: Opened, era: str) -> None:
    state = fresh()

    async def scenario() -> None:
        async with serving(program) as served:
            headers = await served.open() if era == OLD else None
            waiting = asyncio.ensure_future(served.call("wait", {}, headers))
            await state.entered.wait()
            waiting.cancel()
            await ended(served.service.calls)
            assert state.cancelled == 1

    asyncio.run(scenario())


def test_a_cancelled_notification_cancels_the_run(program: Opened) -> None:
    state = fresh()

    async def scenario() -> None:
        async with serving(program) as served:
            session = await served.open()
            waiting = asyncio.ensure_future(served.post(served.message("tools/call", {"name": "wait"}, "the-call"), session))
            await state.entered.wait()
            cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "the-call"}}
            assert (await served.post(cancel, session)).status == 202
            assert (await waiting).json["error"]["message"] == "Request cancelled"
            await ended(served.service.calls)
            assert state.cancelled == 1

    asyncio.run(scenario())


async def ended(calls: object) -> None:
    """Wait until no run is under way."""
    while getattr(calls, "in_flight", 0):
        await asyncio.sleep(0.005)


def test_a_call_ends_at_the_servers_time_limit(tmp_path: Path) -> None:
    fresh()

    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN, "listen = http(timeout: 50ms)\n")) as served:
            late = told(await served.call("wait"))
            assert late["fault"] == "DeadlineExceeded"

    asyncio.run(scenario())


def test_no_more_calls_than_the_limit_run_at_once(tmp_path: Path) -> None:
    state = fresh()

    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN, "listen = http(concurrent: 4, queue: 3)\n")) as served:
            calls = [asyncio.ensure_future(served.call("wait")) for _ in range(40)]
            refused = 0
            while refused < 33:
                refused = sum(call.done() for call in calls)
                await asyncio.sleep(0.005)
            for call in calls:
                if call.done():
                    full = told(call.result())
                    assert full["fault"] == "Unavailable"
                    assert full["details"] == {"retry_after": 1}
            assert state.inside == 4
            state.release.set()
            answers = [await call for call in calls]
            assert sum(not result(answer)["isError"] for answer in answers) == 7
            assert state.most == 4
            assert served.service.calls.gate.taken == 0
            assert not result(await served.call("wait"))["isError"]

    asyncio.run(scenario())


def test_a_waiting_call_that_is_cancelled_gives_its_place_up(tmp_path: Path) -> None:
    state = fresh()

    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN, "listen = http(concurrent: 1, queue: 1)\n")) as served:
            first = asyncio.ensure_future(served.call("wait"))
            await state.entered.wait()
            second = asyncio.ensure_future(served.call("wait"))
            gate = served.service.calls.gate
            while not gate._waiting:
                await asyncio.sleep(0.005)
            second.cancel()
            while gate._waiting:
                await asyncio.sleep(0.005)
            third = asyncio.ensure_future(served.call("wait"))
            while not gate._waiting:
                await asyncio.sleep(0.005)
            state.release.set()
            assert not result(await first)["isError"]
            assert not result(await third)["isError"]
            assert (gate.taken, state.done) == (0, 2)

    asyncio.run(scenario())
