"""Who calls: tokens, rights, tenants, sessions of one's own, and budgets that hold over runs beside each other."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ael.host import HostError
from ael.server.caller import Caller
from ael.server.gate import Full, Gate
from ael.server.serve import prepare
from tests.server.outside import fresh
from tests.server.support import TOKEN, opened, serving
from tests.server.test_calls import MAIN, result, told

BOB = "bob-token-0123456789"
SECRETS = 'secret ALICE = env("ALICE_TOKEN")\nsecret BOB = env("BOB_TOKEN")\n'
DEPLOY = SECRETS + 'caller alice = bearer(secret("ALICE"), tenant: "acme")\ncaller bob = bearer(secret("BOB"), concurrent: 1)\n'


@pytest.fixture(autouse=True)
def _tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALICE_TOKEN", TOKEN)
    monkeypatch.setenv("BOB_TOKEN", BOB)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.feature("A10.1")
def test_nobody_without_a_token_is_served(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN, DEPLOY)) as served:
            for headers, said in [
                ({}, 'Bearer realm="ael"'),
                ({"Authorization": "Basic YTpi"}, 'Bearer realm="ael", error="invalid_token"'),
                (bearer("wrong"), 'Bearer realm="ael", error="invalid_token"'),
                (bearer(TOKEN + "x"), 'Bearer realm="ael", error="invalid_token"'),
                (bearer(""), 'Bearer realm="ael", error="invalid_token"'),
            ]:
                refused = await served.call("greet", {"name": "Ada"}, headers)
                assert refused.status == 401
                assert refused.headers["www-authenticate"] == said
                assert TOKEN not in refused.body.decode()
                # Before anything is decoded: a broken body is of no interest yet.
                assert (await served.post(b"{{{", headers)).status == 401
                assert (await served.request("GET", headers=headers)).status == 401
            assert (await served.request("GET", "/healthz")).status == 200
            assert not result(await served.call("greet", {"name": "Ada"}, bearer(TOKEN)))["isError"]
            lower = {"Authorization": f"bearer {TOKEN}"}
            assert not result(await served.call("greet", {"name": "Ada"}, lower))["isError"]

    asyncio.run(scenario())


def test_caller_and_tenant_stand_in_every_run(tmp_path: Path) -> None:
    state = fresh()
    state.release.set()

    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN, DEPLOY)) as served:
            await served.call("wait", {}, bearer(TOKEN))
            await served.call("wait", {}, await served.open(headers=bearer(BOB)))
            assert state.callers == [("alice", "acme"), ("bob", "local")]

    asyncio.run(scenario())


def test_a_session_is_its_openers_alone(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN, DEPLOY)) as served:
            session = await served.open(headers=bearer(TOKEN))
            stolen = {**session, **bearer(BOB)}
            assert (await served.call("greet", {"name": "x"}, stolen)).status == 404
            assert (await served.request("DELETE", headers=stolen)).status == 404
            assert not result(await served.call("greet", {"name": "x"}, session))["isError"]

    asyncio.run(scenario())


def test_a_callers_share_of_the_calls_at_once(tmp_path: Path) -> None:
    state = fresh()

    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN, DEPLOY)) as served:
            first = asyncio.ensure_future(served.call("wait", {}, bearer(BOB)))
            await state.entered.wait()
            second = told(await served.call("wait", {}, bearer(BOB)))
            assert second["fault"] == "Unavailable"
            assert "`bob` has 1 calls in flight" in str(second["message"])
            others = [asyncio.ensure_future(served.call("wait", {}, bearer(TOKEN))) for _ in range(3)]
            while state.inside < 4:
                await asyncio.sleep(0.005)
            state.release.set()
            for call in (first, *others):
                assert not result(await call)["isError"]

    asyncio.run(scenario())


def test_rights_of_a_caller_hold_for_what_the_node_may_do(tmp_path: Path) -> None:
    deploy = SECRETS + 'caller alice = bearer(secret("ALICE")) grants money.send\ncaller bob = bearer(secret("BOB"))\n'
    fresh().release.set()

    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN, deploy)) as served:
            denied = told(await served.call("wait", {}, bearer(TOKEN)))
            assert denied["fault"] == "Denied"
            assert "the caller `alice`" in str(denied["message"])
            assert not result(await served.call("wait", {}, bearer(BOB)))["isError"]

    asyncio.run(scenario())


def test_a_budget_is_one_for_all_runs_of_a_caller_at_once(tmp_path: Path) -> None:
    deploy = SECRETS + 'caller alice = bearer(secret("ALICE")) budget tool_calls 5\ncaller bob = bearer(secret("BOB"))\n'
    state = fresh()

    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN, deploy)) as served:
            calls = [asyncio.ensure_future(served.call("wait", {}, bearer(TOKEN))) for _ in range(12)]
            while sum(call.done() for call in calls) < 7:
                await asyncio.sleep(0.005)
            over = [told(call.result()) for call in calls if call.done()]
            assert {one["fault"] for one in over} == {"BudgetExhausted"}
            assert "the caller `alice` has used 5 of 5 tool calls" in str(over[0]["message"])
            assert over[0]["details"] == {"limit": "tool_calls", "spender": "the caller `alice`", "used": 5, "of": 5}
            state.release.set()
            answers = [result(await call) for call in calls]
            assert sum(not answer["isError"] for answer in answers) == 5
            assert not result(await served.call("wait", {}, bearer(BOB)))["isError"]

    asyncio.run(scenario())


def test_a_place_of_a_tenant_is_given_back() -> None:
    """Whoever of the tenant had it, and also when a call gives up while it waits."""

    async def scenario() -> None:
        gate = Gate(1, 5, {"acme": 2})
        ann, bob, eve = Caller("ann", "acme"), Caller("bob", "acme"), Caller("eve", "beta")
        await gate.enter(ann)
        waiting = asyncio.ensure_future(gate.enter(bob))
        await asyncio.sleep(0)
        with pytest.raises(Full, match="the tenant `acme` has 2 calls in flight"):
            await gate.enter(Caller("col", "acme"))
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        gate.leave(ann)
        await gate.enter(bob)
        gate.leave(bob)
        await gate.enter(eve)
        gate.leave(eve)
        assert gate.taken == 0

    asyncio.run(scenario())


@pytest.mark.feature("K43")
def test_the_calls_of_a_tenant_have_a_share_and_another_tenants_go_on(tmp_path: Path) -> None:
    """Of a tenant that may have two at once, whoever calls for it."""
    deploy = SECRETS + (
        'caller alice = bearer(secret("ALICE"), tenant: "acme")\ncaller bob = bearer(secret("BOB"), tenant: "beta")\n'
        "tenant acme {\n  limit concurrent 2\n}\ntenant beta {\n}\n"
    )
    state = fresh()

    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN, deploy)) as served:
            calls = [asyncio.ensure_future(served.call("wait", {}, bearer(TOKEN))) for _ in range(3)]
            while state.inside < 2 or not any(call.done() for call in calls):
                await asyncio.sleep(0.005)
            [over] = [told(call.result()) for call in calls if call.done()]
            assert over["fault"] == "Unavailable"
            assert "the tenant `acme` has 2 calls in flight" in str(over["message"])
            other = asyncio.ensure_future(served.call("wait", {}, bearer(BOB)))
            while state.inside < 3:
                await asyncio.sleep(0.005)
            state.release.set()
            assert not result(await other)["isError"]
            assert [result(answer)["isError"] for answer in await asyncio.gather(*calls)].count(False) == 2

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("tokens", "code"),
    [
        (("short", BOB), "AEL0875"),
        (("with space in it all", BOB), "AEL0875"),
        (("ünïcödé-token-0123456789", BOB), "AEL0875"),
        ((BOB, BOB), "AEL0876"),
    ],
)
def test_tokens_that_protect_nothing_are_refused(
    tmp_path: Path, tokens: tuple[str, str], code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALICE_TOKEN", tokens[0])
    monkeypatch.setenv("BOB_TOKEN", tokens[1])
    with pytest.raises(HostError) as caught:
        prepare(opened(tmp_path, MAIN, DEPLOY))
    assert caught.value.code == code
    assert tokens[0] not in str(caught.value)


def test_a_token_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BOB_TOKEN")
    with pytest.raises(HostError, match="BOB_TOKEN, which is not set") as caught:
        prepare(opened(tmp_path, MAIN, DEPLOY))
    assert caught.value.code == "AEL0831"


def test_a_token_in_a_result_is_masked(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(opened(tmp_path, MAIN, DEPLOY)) as served:
            hello = result(await served.call("order", {"id": TOKEN}, bearer(TOKEN)))
            assert TOKEN not in str(hello)
            assert "***" in str(hello)

    asyncio.run(scenario())
