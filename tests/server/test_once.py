"""Calls with a key: one effect, however often the client asks."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ael.project.program import Opened
from ael.server import keys
from ael.server.memory import MemoryCalls
from tests.server.outside import Now, fresh
from tests.server.support import modern_meta, opened, serving
from tests.server.test_approval import FORM
from tests.server.test_approval import MAIN as PAYING
from tests.server.test_calls import MAIN, ended, result, told


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    return opened(tmp_path_factory.mktemp("once"), MAIN)


KEY = {"idempotencyKey": "k-1"}


@pytest.mark.feature("A8.9")
def test_the_same_key_gives_the_recorded_answer(program: Opened) -> None:
    state = fresh()
    state.release.set()

    async def scenario() -> None:
        async with serving(program) as served:
            first = result(await served.call("wait", {}, None, KEY))
            again = result(await served.call("wait", {}, await served.open(), KEY))
            assert first["structuredContent"] == again["structuredContent"] == {"result": 1}
            assert first["_meta"]["ael/run"] == again["_meta"]["ael/run"]  # type: ignore[index]
            assert result(await served.call("wait", {}, None, {"idempotencyKey": "k-2"}))["structuredContent"] == {"result": 2}
            assert result(await served.call("wait"))["structuredContent"] == {"result": 3}
            assert state.done == 3

    asyncio.run(scenario())


def test_many_at_once_with_one_key_are_one_call(program: Opened) -> None:
    state = fresh()

    async def scenario() -> None:
        async with serving(program) as served:
            calls = [asyncio.ensure_future(served.call("wait", {}, None, KEY)) for _ in range(10)]
            await state.entered.wait()
            state.release.set()
            assert {str(result(await call)["structuredContent"]) for call in calls} == {"{'result': 1}"}
            assert (state.most, state.done) == (1, 1)

    asyncio.run(scenario())


def test_another_call_with_the_same_key_is_refused(program: Opened) -> None:
    async def scenario() -> None:
        async with serving(program) as served:
            assert not result(await served.call("greet", {"name": "Ada"}, None, KEY))["isError"]
            for tool, arguments in (("greet", {"name": "Bob"}), ("order", {"id": "A-1"})):
                refused = told(await served.call(tool, arguments, None, KEY))
                assert refused["fault"] == "BadArguments"
                assert "this key names another call" in str(refused["message"])
            for key in (3, "", "x" * 600):
                assert (await served.call("greet", {"name": "Ada"}, None, {"idempotencyKey": key})).json["error"][
                    "code"
                ] == -32602

    asyncio.run(scenario())


def test_declared_errors_and_uncertain_endings_are_recorded_and_faults_are_tried_again(program: Opened) -> None:
    async def scenario() -> None:
        async with serving(program) as served:
            for tool, arguments in (("order", {"id": "B"}), ("send", {})):
                first, again = [told(await served.call(tool, arguments, None, {"idempotencyKey": tool})) for _ in range(2)]
                assert first == again
            first, again = [result(await served.call("broken", {}, None, {"idempotencyKey": "b"})) for _ in range(2)]
            # The same run, so that what is inside has the same keys, but another try.
            assert first["_meta"]["ael/run"] == again["_meta"]["ael/run"]  # type: ignore[index]

    asyncio.run(scenario())


def test_a_call_that_was_cancelled_is_made_again_with_the_same_keys(program: Opened) -> None:
    state = fresh()

    async def scenario() -> None:
        async with serving(program) as served:
            first = asyncio.ensure_future(served.call("wait", {}, None, KEY))
            await state.entered.wait()
            first.cancel()
            await ended(served.service.calls)
            Now.state.release.set()
            assert result(await served.call("wait", {}, None, KEY))["structuredContent"] == {"result": 1}
            assert (state.cancelled, state.done) == (1, 1)

    asyncio.run(scenario())


def test_a_call_that_waits_for_a_person_asks_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(opened(tmp_path, PAYING)) as served:
            meta = {**modern_meta(**FORM), **KEY}
            first, again = [result(await served.call("send", {"amount": 5}, None, meta)) for _ in range(2)]
            assert first["requestState"] == again["requestState"]
            assert served.service.calls.in_flight == 1
            response = {"approval": {"action": "accept", "content": {"approve": True}}}
            done = await served.call(
                "send", {"amount": 5}, None, meta, inputResponses=response, requestState=again["requestState"]
            )  # fmt: skip
            assert result(done)["structuredContent"] == {"result": 5}

    asyncio.run(scenario())


def test_only_so_many_keys_are_kept(program: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "KEPT", 3)

    async def scenario() -> None:
        async with serving(program) as served:
            for number in range(8):
                await served.call("greet", {"name": "Ada"}, None, {"idempotencyKey": f"n{number}"})
            assert isinstance(served.service.calls, MemoryCalls)
            assert len(served.service.calls._once._answers) == 3
            assert not served.service.calls._once._under_way

    asyncio.run(scenario())


TWICE = """\
permission world.act

tool strike() -> Int
  needs world.act
  repeat never
  timeout none
  extern "tests.server.outside:hold"

pub node strikes() -> Int fails Uncertain
  grants world.act
{
  try strike()
}
"""


@pytest.mark.feature("A8.9", "A8.5", "K26")
def test_what_must_not_be_done_twice_is_in_doubt_once_its_client_left(tmp_path: Path) -> None:
    """The same key again gives the doubt, and not the act; after so many others that it is forgotten, it says so."""
    state = fresh()

    async def scenario() -> None:
        async with serving(opened(tmp_path, TWICE)) as served:
            first = asyncio.ensure_future(served.call("strikes", {}, None, KEY))
            await state.entered.wait()
            first.cancel()
            await ended(served.service.calls)
            state.release.set()
            again = told(await served.call("strikes", {}, None, KEY))
            assert (again["outcome"], again["operation"]) == ("uncertain", "strike")
            assert (state.cancelled, state.done) == (1, 0)
            assert result(await served.call("strikes", {}, None, {"idempotencyKey": "k-2"}))["structuredContent"] == {"result": 1}
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(keys, "KEPT", 1)
                await served.call("strikes", {}, None, {"idempotencyKey": "k-3"})
            assert told(await served.call("strikes", {}, None, {"idempotencyKey": "k-2"}))["outcome"] == "forgotten"
            assert state.done == 2

    asyncio.run(scenario())
