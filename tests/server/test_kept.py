"""Calls whose runs are kept: a key finds its run again, whoever executes it, and a client that goes away leaves it (A4.11, A8.9)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ael.durable.decide import waiting
from tests.server.kept import BOB, KEY, WHO, Make, alone, ended, make, parked, says, server, store_of, until
from tests.server.outside import fresh
from tests.server.support import TOKEN, modern_meta, opened, serving
from tests.server.test_approval import FORM, go_on
from tests.server.test_approval import MAIN as PAYING
from tests.server.test_callers import bearer
from tests.server.test_calls import MAIN, result, told

__all__ = ["make", "server"]


@pytest.mark.feature("A8.9")
def test_the_same_key_gives_the_recorded_answer_from_another_server(make: Make) -> None:
    state = fresh()
    state.release.set()

    async def scenario() -> None:
        program = make(MAIN)
        async with serving(program) as served:
            first = result(await served.call("wait", {}, None, KEY))
            lost = told(await served.call("send", {}, None, {"idempotencyKey": "s"}))
            broken = told(await served.call("broken", {}, None, {"idempotencyKey": "b"}))
        async with serving(program) as served:
            again = result(await served.call("wait", {}, await served.open(), KEY))
            assert again["structuredContent"] == first["structuredContent"] == {"result": 1}
            assert again["_meta"]["ael/run"] == first["_meta"]["ael/run"]  # type: ignore[index]
            assert told(await served.call("send", {}, None, {"idempotencyKey": "s"})) == lost
            assert lost["outcome"] == "uncertain"
            # A fault stands as well: what was done before it would be done again under another try.
            assert told(await served.call("broken", {}, None, {"idempotencyKey": "b"})) == broken
            for tool, arguments in (("wait", {}), ("greet", {"name": "Bob"})):
                other = await served.call(tool, arguments, None, {"idempotencyKey": "s"})
                assert "this key names another call" in str(told(other)["message"])
        assert state.done == 1

    asyncio.run(scenario())


@pytest.mark.feature("A8.9", "K27")
def test_many_at_once_with_one_key_are_one_call_over_two_servers(make: Make) -> None:
    state = fresh()

    async def scenario() -> None:
        program = make(MAIN)
        async with serving(program) as one, serving(program) as other:
            calls = [asyncio.ensure_future((one, other)[n % 2].call("wait", {}, None, KEY)) for n in range(8)]
            await state.entered.wait()
            state.release.set()
            assert {str(result(await call)["structuredContent"]) for call in calls} == {"{'result': 1}"}
            assert (state.most, state.done) == (1, 1)

    asyncio.run(scenario())


@pytest.mark.feature("A8.9")
def test_a_client_that_goes_away_finds_its_run_by_its_key(make: Make) -> None:
    state = fresh()

    async def scenario() -> None:
        async with serving(make(MAIN)) as served:
            first = asyncio.ensure_future(served.call("wait", {}, None, KEY))
            await state.entered.wait()
            first.cancel()
            await alone(served)
            state.release.set()
            assert result(await served.call("wait", {}, None, KEY))["structuredContent"] == {"result": 1}
            assert (state.cancelled, state.done) == (0, 1)

    asyncio.run(scenario())


def test_without_a_key_a_client_that_goes_away_ends_its_run(make: Make) -> None:
    state = fresh()

    async def scenario() -> None:
        async with serving(make(MAIN)) as served:
            first = asyncio.ensure_future(served.call("wait"))
            await state.entered.wait()
            first.cancel()

            async def gone() -> bool:
                return state.cancelled == 1

            await until(gone)

    asyncio.run(scenario())


@pytest.mark.feature("A4.11")
@pytest.mark.parametrize("key", [KEY, {}])
def test_a_parked_run_survives_its_client(make: Make, key: dict[str, object]) -> None:
    async def scenario() -> None:
        async with serving(make()) as served:
            first = asyncio.ensure_future(served.call("send", {"amount": 5}, None, key))
            [asked] = await parked(store_of(served))
            first.cancel()
            await alone(served)
            assert [one.run for one in await waiting(store_of(served))] == [asked.run]
            await says(store_of(served), asked)
            row = await ended(store_of(served), asked.run)
            assert row.ending == "value"
            if key:
                assert result(await served.call("send", {"amount": 5}, None, key))["structuredContent"] == {"result": 5}

    asyncio.run(scenario())


def test_a_client_that_cancels_ends_its_run_parked_or_not(make: Make) -> None:
    async def scenario() -> None:
        async with serving(make()) as served:
            session = await served.open()
            message = served.message("tools/call", {"name": "send", "arguments": {"amount": 5}, "_meta": KEY})
            call = asyncio.ensure_future(served.post(message, session))
            [asked] = await parked(store_of(served))
            await served.post(
                {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": message["id"]}}, session
            )
            row = await ended(store_of(served), asked.run)
            assert isinstance(row.outcome, dict)
            assert (row.outcome["kind"], row.outcome["message"]) == ("Cancelled", "the client cancelled the call")
            call.cancel()

    asyncio.run(scenario())


@pytest.mark.feature("A12.12", "K27")
def test_the_end_of_a_server_gives_its_runs_to_another(make: Make) -> None:
    state = fresh()

    async def scenario() -> None:
        program = make(MAIN, "listen = http(drain: 50ms)\n")
        async with serving(program) as served:
            call = asyncio.ensure_future(served.call("wait", {}, None, KEY))
            await state.entered.wait()
            served.stop.set()
            left = told(await call)
            assert left["outcome"] == "running"
            assert "Do not do it again" in str(left["said"])
        state.release.set()
        async with serving(program) as served:
            assert result(await served.call("wait", {}, None, KEY))["structuredContent"] == {"result": 1}
        assert state.done == 1

    asyncio.run(scenario())


def test_a_deployment_that_says_nothing_keeps_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(opened(tmp_path, PAYING)) as served:
            result(await served.call("send", {"amount": 5}, None, modern_meta(**FORM)))
        assert not (tmp_path / ".ael").exists()

    asyncio.run(scenario())


@pytest.mark.feature("A5.1")
def test_a_callers_budget_is_one_over_all_servers_and_a_parked_run_is_booked_once(make: Make) -> None:
    deploy = WHO.replace('"acme")\ncaller bob', '"acme") budget tool_calls 2\ncaller bob')

    async def scenario() -> None:
        program = make(deploy=deploy)
        meta = modern_meta(**FORM)
        async with serving(program) as served:
            asked = result(await served.call("send", {"amount": 5}, bearer(TOKEN), meta))
            done = (await go_on(served, str(asked["requestState"]), {"approve": True}, headers=bearer(TOKEN)))["result"]
            assert done["structuredContent"] == {"result": 5}
        async with serving(program) as served:
            assert result(await served.call("send", {"amount": 5}, bearer(TOKEN), meta))["resultType"] == "input_required"
            assert told(await served.call("send", {"amount": 5}, bearer(TOKEN), meta))["fault"] == "BudgetExhausted"
            assert result(await served.call("send", {"amount": 5}, bearer(BOB), meta))["resultType"] == "input_required"

    asyncio.run(scenario())


def test_what_was_forgotten_is_told_and_not_done_again(make: Make) -> None:
    fresh().release.set()

    async def scenario() -> None:
        async with serving(make(MAIN)) as served:
            assert result(await served.call("wait", {}, None, KEY))["structuredContent"] == {"result": 1}
            store = store_of(served)
            assert await store.forget_content(float("inf")) == 1
            again = told(await served.call("wait", {}, None, KEY))
            assert (again["outcome"], again["ending"]) == ("forgotten", "value")

    asyncio.run(scenario())


def test_a_client_is_told_how_far_a_kept_run_is_also_when_it_goes_on(make: Make) -> None:
    async def scenario() -> None:
        async with serving(make()) as served:
            meta = {"progressToken": "p"}
            call = asyncio.ensure_future(served.call("send", {"amount": 5}, await served.open(), meta))
            [asked] = await parked(store_of(served))
            await says(store_of(served), asked)
            said = [message["params"]["message"] for message in (await call).messages if "params" in message]
            assert said == [
                *("node send", "tool pay: waits for an approval", "node send: parked"),
                *("node send", "node send: value"),
            ]

    asyncio.run(scenario())
