"""Approvals of served runs: the client's person is asked about exactly these arguments, in the way of each era; else it is a no."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.server.outside import fresh
from tests.server.support import OLD, TOKEN, Served, modern_meta, opened, serving
from tests.server.test_callers import bearer
from tests.server.test_calls import ended, result, told

MAIN = """\
permission money.send
role finance

store sent: Map<String, Int> needs money.send

tool pay(amount: Int) -> Int
  needs money.send
  repeat idempotent
  timeout 5s
  approval required
{
  sent.put("last", amount)
  amount
}

tool pay_much(amount: Int) -> Int
  needs money.send
  repeat idempotent
  timeout 5s
  approval required by finance
{
  amount
}

pub node send(amount: Int) -> Int
  grants money.send
{
  pay(amount)
}

pub node twice(amount: Int) -> List<Int>
  grants money.send
{
  parallel x in [amount, amount + 1] up to 2 {
    pay(x)
  }
}

pub node much(amount: Int) -> Int
  grants money.send
{
  pay_much(amount)
}
"""
FORM: dict[str, dict[str, dict[str, object]]] = {"elicitation": {"form": {}}}


async def start(served: Served, amount: int = 5, tool: str = "send", headers: dict[str, str] | None = None) -> dict[str, Any]:
    """Call in the stateless protocol as a client that can ask."""
    reply = await served.call(tool, {"amount": amount}, headers, modern_meta(**FORM))
    return result(reply)


async def go_on(
    served: Served,
    state: str,
    content: object,
    amount: int = 5,
    tool: str = "send",
    headers: dict[str, str] | None = None,
    **other: object,
) -> dict[str, Any]:
    """Call again with the answer."""
    response = {"approval": {"action": "accept", "content": content}, **other}
    reply = await served.call(
        tool, {"amount": amount}, headers, modern_meta(**FORM), inputResponses=response, requestState=state
    )  # fmt: skip
    found: dict[str, Any] = reply.json
    return found


def test_a_stateless_client_is_sent_away_with_the_question_and_comes_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN)) as served:
            asked = await start(served)
            assert asked["resultType"] == "input_required"
            request = asked["inputRequests"]["approval"]
            assert request["method"] == "elicitation/create"
            assert request["params"]["requestedSchema"]["required"] == ["approve"]
            assert request["params"]["message"].startswith('main.pay needs your approval:\n{\n  "amount": 5\n}')
            assert served.service.calls.in_flight == 1
            done = (await go_on(served, asked["requestState"], {"approve": True}))["result"]
            assert done["structuredContent"] == {"result": 5}
            again = await go_on(served, asked["requestState"], {"approve": True})
            assert again["error"]["message"] == "this requestState is not of a call that waits"
            assert served.service.calls.in_flight == 0

    asyncio.run(scenario())


@pytest.mark.parametrize("content", [{"approve": False, "reason": "too much"}, {}, {"approve": "true"}, {"approve": 1}])
def test_anything_but_a_clear_yes_is_a_no(tmp_path: Path, content: dict[str, object]) -> None:
    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN)) as served:
            asked = await start(served)
            denied = (await go_on(served, asked["requestState"], content))["result"]
            assert denied["_meta"]["ael/outcome"]["fault"] == "ApprovalDenied"
            if "reason" in content:
                assert "too much" in denied["content"][0]["text"]

    asyncio.run(scenario())


def test_an_answer_fits_only_its_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALICE_TOKEN", TOKEN)
    monkeypatch.setenv("BOB_TOKEN", "bob-token-0123456789")
    deploy = (
        'secret A = env("ALICE_TOKEN")\nsecret B = env("BOB_TOKEN")\n'
        'caller alice = bearer(secret("A"))\ncaller bob = bearer(secret("B"))\n'
    )
    alice, bob = bearer(TOKEN), bearer("bob-token-0123456789")

    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN, deploy)) as served:
            asked = await start(served, headers=alice)
            state = asked["requestState"]
            for wrong in [
                await go_on(served, state, {"approve": True}, amount=500, headers=alice),
                await go_on(served, state, {"approve": True}, headers=bob),
                await go_on(served, state, {"approve": True}, tool="much", headers=alice),
                await go_on(served, state + "x", {"approve": True}, headers=alice),
                await go_on(served, "", {"approve": True}, headers=alice),
            ]:
                assert wrong["error"]["code"] == -32602
            done = await go_on(served, state, {"approve": True}, headers=alice)
            assert done["result"]["structuredContent"] == {"result": 5}

    asyncio.run(scenario())


def test_coming_back_without_an_answer_asks_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN)) as served:
            asked = await start(served)
            reply = await served.call("send", {"amount": 5}, None, modern_meta(**FORM), requestState=asked["requestState"])
            again = result(reply)
            assert again["resultType"] == "input_required"
            done = await go_on(served, str(again["requestState"]), {"approve": True}, other={"action": "accept"})
            assert done["result"]["structuredContent"] == {"result": 5}

    asyncio.run(scenario())


def test_approvals_beside_each_other_are_asked_one_after_another(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN)) as served:
            first = await start(served, tool="twice")
            second = (await go_on(served, first["requestState"], {"approve": True}, tool="twice"))["result"]
            assert second["resultType"] == "input_required"
            assert second["requestState"] != first["requestState"]
            done = (await go_on(served, second["requestState"], {"approve": True}, tool="twice"))["result"]
            assert done["structuredContent"] == {"result": [5, 6]}

    asyncio.run(scenario())


def test_a_question_that_nobody_answers_ends_the_run(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN, "listen = http(approval: 30ms)\n")) as served:
            asked = await start(served)
            await ended(served.service.calls)
            late = await go_on(served, asked["requestState"], {"approve": True})
            assert late["error"]["code"] == -32602
            assert served.service.calls.gate.taken == 0

    asyncio.run(scenario())


def test_a_client_that_cannot_ask_is_told_no(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN)) as served:
            for headers, meta in [
                (None, None),
                (None, modern_meta(elicitation={"url": {}})),
                (None, modern_meta(sampling={})),
                (await served.open(), None),
            ]:
                denied = told(await served.call("send", {"amount": 5}, headers, meta))
                assert denied["fault"] == "ApprovalDenied"
                assert "the client cannot ask anybody" in str(denied["message"])

    asyncio.run(scenario())


def test_a_role_decides_and_nobody_with_a_token_is_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALICE_TOKEN", TOKEN)
    who = 'secret A = env("ALICE_TOKEN")\ncaller alice = bearer(secret("A"))\n'
    fresh()

    async def scenario(deploy: str, approved: bool) -> None:
        async with serving(opened(tmp_path, MAIN, deploy)) as served:
            asked = await start(served, tool="much", headers=bearer(TOKEN))
            assert (asked.get("resultType") == "input_required") is approved
            if not approved:
                assert asked["_meta"]["ael/outcome"]["fault"] == "ApprovalDenied"

    asyncio.run(scenario(f'{who}role finance = ["alice"]\n', True))
    asyncio.run(scenario(f'{who}role finance = ["bob"]\n', False))
    asyncio.run(scenario(f'{who}role finance = ["local"]\n', False))


@pytest.mark.parametrize(("action", "approved"), [("accept", True), ("decline", False), ("cancel", False)])
def test_a_client_of_the_older_protocol_is_asked_while_its_call_waits(tmp_path: Path, action: str, approved: bool) -> None:
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client
    from mcp_types import ElicitRequestParams, ElicitResult

    seen: list[str] = []

    async def answer(context: object, params: ElicitRequestParams) -> ElicitResult:
        seen.append(params.message)
        return ElicitResult(action=action, content={"approve": True} if action == "accept" else None)  # type: ignore[arg-type]

    async def scenario() -> None:
        async with (
            serving(opened(tmp_path, MAIN)) as served,
            streamable_http_client(served.url) as streams,
            ClientSession(streams[0], streams[1], elicitation_callback=answer) as session,
        ):
            await session.initialize()
            assert session.protocol_version == OLD
            found = await session.call_tool("send", {"amount": 5})
            assert found.is_error is not approved
            assert len(seen) == 1

    asyncio.run(scenario())
