"""Approvals of served runs that are kept: they wait in the store, and whoever decides first wakes the run (A4.5 to A4.12)."""

from __future__ import annotations

import asyncio
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from ael.durable.decide import DecideError, decide, waiting
from ael.durable.execute import execution_of, new_owner
from ael.durable.worker import Worker
from ael.host import open_host
from ael.journal.durable import RunState
from ael.server.desk import Desk, serve
from ael.server.listener import bind
from ael.server.stream import Streams
from ael.server.waiting import mark
from tests.server.kept import BOB, KEY, WHO, Make, ended, make, parked, says, server, store_of
from tests.server.support import TOKEN, modern_meta, opened, serving
from tests.server.test_approval import FORM, go_on
from tests.server.test_approval import MAIN as PAYING
from tests.server.test_callers import bearer
from tests.server.test_calls import result, told

__all__ = ["make", "server"]


@pytest.mark.feature("A4.5", "A4.6", "A4.11", "K27")
def test_an_approval_parks_in_the_store_and_the_client_decides_by_coming_back(make: Make) -> None:
    async def scenario() -> None:
        async with serving(make()) as served:
            asked = result(await served.call("send", {"amount": 5}, None, modern_meta(**FORM)))
            assert asked["resultType"] == "input_required"
            request: Any = asked["inputRequests"]
            assert '"amount": 5' in request["approval"]["params"]["message"]
            [one] = await waiting(store_of(served))
            assert (one.row.state, one.row.owner, one.arguments) == (RunState.PARKED, "", {"amount": 5})
            assert served.service.calls.in_flight == 0, "a run that waits has no task here"
            done = (await go_on(served, str(asked["requestState"]), {"approve": True}))["result"]
            assert done["structuredContent"] == {"result": 5}
            again = (await go_on(served, str(asked["requestState"]), {"approve": True}))["result"]
            assert again["structuredContent"] == {"result": 5}, "a lost reply is given again"
            entries = await store_of(served).entries(one.run)
            assert len([e for e in entries if e.target == "main.pay" and e.state.value == "started"]) == 1

    asyncio.run(scenario())


@pytest.mark.feature("A4.8", "A4.11")
def test_somebody_else_decides_while_the_client_waits_and_it_gets_its_answer(make: Make) -> None:
    async def scenario() -> None:
        async with serving(make()) as served:
            # This client cannot ask anybody: it waits for who can.
            call = asyncio.ensure_future(served.call("send", {"amount": 5}))
            [asked] = await parked(store_of(served))
            assert not call.done()
            await says(store_of(served), asked)
            assert result(await call)["structuredContent"] == {"result": 5}
            denied = asyncio.ensure_future(served.call("send", {"amount": 6}))
            [asked] = await parked(store_of(served))
            await says(store_of(served), asked, approved=False, reason="too much")
            assert "too much" in str(told(await denied)["message"])

    asyncio.run(scenario())


@pytest.mark.feature("A4.8", "A4.11")
def test_a_member_decides_at_the_desk_and_the_client_gets_its_answer(make: Make) -> None:
    async def scenario() -> None:
        async with serving(make(deploy=WHO + 'role finance = ["bob"]\n')) as served:
            call = asyncio.ensure_future(served.call("much", {"amount": 5}, bearer(TOKEN)))
            [asked] = await parked(store_of(served))
            bound = bind("127.0.0.1", 0, known=True)
            streams = Streams(store_of(served), frozenset())
            members = {"finance": ("bob",)}
            desk = Desk(store_of(served), served.service.callers, members, None, lambda: asked.asked, lambda: None, streams)
            task = asyncio.ensure_future(serve(desk, bound))

            def post(token: str) -> int:
                connection = HTTPConnection("127.0.0.1", bound.getsockname()[1], timeout=60)
                try:
                    connection.request("POST", f"/runs/{asked.run}/decision", '{"approved": true}', bearer(token))
                    return connection.getresponse().status
                finally:
                    connection.close()

            assert [await asyncio.to_thread(post, token) for token in (TOKEN, BOB, BOB)] == [409, 200, 409]
            assert result(await call)["structuredContent"] == {"result": 5}
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(scenario())


@pytest.mark.feature("A4.8")
def test_a_worker_never_decides_not_even_what_anybody_may(make: Make) -> None:
    async def scenario() -> None:
        async with serving(make()) as served:
            call = asyncio.ensure_future(served.call("send", {"amount": 5}))
            [asked] = await parked(store_of(served))
            with pytest.raises(DecideError, match="a worker decides nothing"):
                await says(store_of(served), asked, by=new_owner())
            await says(store_of(served), asked)
            await call

    asyncio.run(scenario())


@pytest.mark.feature("A4.10", "A4.11")
def test_what_was_decided_first_holds_and_a_client_that_comes_later_gets_it(make: Make) -> None:
    async def scenario() -> None:
        async with serving(make()) as served:
            first = result(await served.call("send", {"amount": 5}, None, modern_meta(**FORM)))
            [asked] = await parked(store_of(served))
            await says(store_of(served), asked, approved=False, reason="paid already")
            denied = (await go_on(served, str(first["requestState"]), {"approve": True}))["result"]
            assert "paid already" in denied["content"][0]["text"]

    asyncio.run(scenario())


@pytest.mark.feature("A4.5", "A4.11")
def test_a_decision_wakes_the_run_on_any_server_and_any_worker(make: Make) -> None:
    async def scenario() -> None:
        program = make()
        async with serving(program) as first:
            asked = result(await first.call("send", {"amount": 5}, None, modern_meta(**FORM)))
            state = str(asked["requestState"])
        # The server that began it is gone: another one takes the client's answer, and goes on.
        async with serving(program) as second:
            done = (await go_on(second, state, {"approve": True}))["result"]
            assert done["structuredContent"] == {"result": 5}
            asked = result(await second.call("send", {"amount": 7}, None, modern_meta(**FORM)))
            run = str(asked["requestState"]).partition(".")[0]
        async with open_host(program, durable=True) as host:
            assert host.store is not None
            await says(host.store, (await parked(host.store))[0])
            await Worker({host.unit.digest: execution_of(host)}, 1).until_idle()
            assert (await ended(host.store, run)).ending == "value"

    asyncio.run(scenario())


@pytest.mark.feature("A4.8", "A4.11")
@pytest.mark.parametrize("action", ["accept", "decline", "elsewhere"])
def test_a_client_of_the_older_protocol_is_asked_over_its_stream(make: Make, action: str) -> None:
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client
    from mcp_types import ElicitRequestParams, ElicitResult

    seen: list[str] = []

    async def scenario() -> None:
        never = asyncio.Event()

        async def answer(context: object, params: ElicitRequestParams) -> ElicitResult:
            seen.append(params.message)
            if action == "elsewhere":
                await never.wait()
            return ElicitResult(action=action, content={"approve": True} if action == "accept" else None)  # type: ignore[arg-type]

        async with (
            serving(make()) as served,
            streamable_http_client(served.url) as streams,
            ClientSession(streams[0], streams[1], elicitation_callback=answer) as session,
        ):
            await session.initialize()
            call = asyncio.ensure_future(session.call_tool("send", {"amount": 5}))
            if action == "elsewhere":
                [asked] = await parked(store_of(served))
                while not seen:
                    await asyncio.sleep(0.01)
                await says(store_of(served), asked)
            found = await call
            assert found.is_error is (action == "decline")
            assert len(seen) == 1
            never.set()

    asyncio.run(scenario())


@pytest.mark.feature("A4.8")
def test_only_members_of_the_role_are_asked_and_decide(make: Make) -> None:
    deploy = WHO + 'role finance = ["bob"]\nlisten = http(approval: 200ms)\n'

    async def scenario() -> None:
        async with serving(make(deploy=deploy)) as served:
            meta = {**modern_meta(**FORM), **KEY}
            waits = told(await served.call("much", {"amount": 5}, bearer(TOKEN), meta))
            assert (waits["outcome"], waits["waits"]) == ("parked", ["approval"])
            assert "goes on without this call" in str(waits["said"])
            [one] = await parked(store_of(served))
            assert one.row.header.caller == "alice"
            # Alice makes the state up that she would have been given, had she been asked.
            forged = await go_on(
                served, f"{one.run}.{mark(one)}", {"approve": True}, tool="much", headers=bearer(TOKEN)
            )  # fmt: skip
            assert forged["error"]["code"] == -32602
            assert await waiting(store_of(served)) == [one]
            await decide(
                store_of(served), one, approved=True, by="bob", reason="", arguments=None, members={"finance": ("bob",)},
                now=one.asked, here=False,
            )  # fmt: skip
            assert result(await served.call("much", {"amount": 5}, bearer(TOKEN), meta))["structuredContent"] == {"result": 5}

    asyncio.run(scenario())


@pytest.mark.feature("K30")
def test_a_state_fits_only_its_caller_tool_and_arguments(make: Make) -> None:
    async def scenario() -> None:
        async with serving(make(deploy=WHO)) as served:
            asked = result(await served.call("send", {"amount": 5}, bearer(TOKEN), modern_meta(**FORM)))
            state = str(asked["requestState"])
            for wrong in [
                await go_on(served, state, {"approve": True}, amount=500, headers=bearer(TOKEN)),
                await go_on(served, state, {"approve": True}, headers=bearer(BOB)),
                await go_on(served, state, {"approve": True}, tool="much", headers=bearer(TOKEN)),
                await go_on(served, "r0.x", {"approve": True}, headers=bearer(TOKEN)),
                await go_on(served, "", {"approve": True}, headers=bearer(TOKEN)),
            ]:
                assert wrong["error"]["code"] == -32602
            # Of the run, but of no question that is open: it is asked again.
            again = (await go_on(served, f"{state.partition('.')[0]}.x", {"approve": True}, headers=bearer(TOKEN)))["result"]
            assert again["requestState"] == state
            done = await go_on(served, state, {"approve": True}, headers=bearer(TOKEN))
            assert done["result"]["structuredContent"] == {"result": 5}

    asyncio.run(scenario())


@pytest.mark.feature("A4.5")
def test_approvals_beside_each_other_are_asked_one_after_another(make: Make) -> None:
    async def scenario() -> None:
        async with serving(make()) as served:
            first = result(await served.call("twice", {"amount": 5}, None, modern_meta(**FORM)))
            second = (await go_on(served, str(first["requestState"]), {"approve": True}, tool="twice"))["result"]
            assert second["resultType"] == "input_required"
            assert second["requestState"] != first["requestState"]
            done = (await go_on(served, second["requestState"], {"approve": True}, tool="twice"))["result"]
            assert done["structuredContent"] == {"result": [5, 6]}

    asyncio.run(scenario())


@pytest.mark.feature("A4.10")
def test_after_the_time_for_a_decision_the_run_goes_on_with_a_no(tmp_path: Path) -> None:
    async def scenario() -> None:
        deploy = 'runs = sqlite("runs.db", approval: 1s)\n'
        async with serving(opened(tmp_path, PAYING, deploy)) as served:
            denied = told(await served.call("send", {"amount": 5}))
            assert denied["fault"] == "ApprovalDenied"
            assert "there was no decision within 1 s" in str(denied["message"])

    asyncio.run(scenario())
