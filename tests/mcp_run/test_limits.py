"""How many calls run at once, how long they may take, and when a breaker lets none through."""

from __future__ import annotations

import asyncio

import pytest

from ael.mcp.failure import McpError
from ael.mcp.remote import Policy
from ael.run.breaker import Thresholds
from ael.run.ports import RemoteAnswer
from ael.types.fault import Fault, FaultKind
from tests.mcp_run.fakes import GET, PUT, FakeSession, alone, context, down, fault_of, remote, text
from tests.run.fakes import FakeClock


@pytest.mark.feature("A9.18")
def test_only_so_many_calls_run_at_once_and_the_line_is_bounded() -> None:
    async def work() -> None:
        session = FakeSession()
        gate = asyncio.Event()

        async def wait() -> RemoteAnswer:
            await gate.wait()
            return text()

        session.doing = [wait]
        made, _ = remote(session, policy=Policy(concurrent=2))
        going = [asyncio.ensure_future(made.call(GET, {}, context(), None)) for _ in range(30)]
        while session.running < 2:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        full = [task for task in going if task.done()]
        assert len(full) == 30 - 2 - 16
        for task in full:
            fault = task.exception()
            assert isinstance(fault, Fault)
            assert (fault.kind, fault.details["sent"]) == (FaultKind.UNAVAILABLE, False)
        gate.set()
        await asyncio.gather(*going, return_exceptions=True)
        assert session.most == 2
        await made.close()

    alone(work)


@pytest.mark.feature("A9.18")
def test_waiting_in_line_ends_at_the_deadline() -> None:
    async def work() -> None:
        session = FakeSession()
        gate = asyncio.Event()

        async def wait() -> RemoteAnswer:
            await gate.wait()
            return text()

        session.doing = [wait]
        made, _ = remote(session, policy=Policy(concurrent=1))
        first = asyncio.ensure_future(made.call(GET, {}, context(), None))
        while not session.calls:
            await asyncio.sleep(0)
        waiting = asyncio.ensure_future(made.call(GET, {}, context(seconds=-0.9), None))
        assert (await fault_of(waiting)).kind is FaultKind.TIMEOUT
        late = asyncio.ensure_future(made.call(GET, {}, context(seconds=0.01), None))
        late_fault = await fault_of(late)
        assert (late_fault.kind, late_fault.details["sent"]) == (FaultKind.TIMEOUT, False)
        gate.set()
        await first
        await made.close()

    alone(work)


def test_zero_calls_at_once_refuse_all() -> None:
    async def work() -> None:
        made, opening = remote(FakeSession(), policy=Policy(concurrent=0))
        assert (await fault_of(made.call(GET, {}, context(), None))).kind is FaultKind.UNAVAILABLE
        assert opening.listeners == []
        await made.close()

    alone(work)


@pytest.mark.feature("A9.20", "B12")
def test_the_breaker_of_one_tool_leaves_the_others_alone() -> None:
    async def work() -> None:
        clock = FakeClock()
        session = FakeSession([down()])
        made, _ = remote(session, policy=Policy(breaker=Thresholds(failures=5, cooldown=30)), clock=clock)
        for _ in range(5):
            await fault_of(made.call(GET, {}, context(now=clock.now()), None))
        fault = await fault_of(made.call(GET, {}, context(now=clock.now()), None))
        assert (fault.details["final"], fault.details["retry_after"], fault.details["sent"]) == (True, 30.0, False)
        assert len(session.calls) == 5
        session.doing = [text()]
        assert await made.call(PUT, {}, context(now=clock.now()), None) == text()
        clock.advance(30)
        for _ in range(2):
            assert await made.call(GET, {}, context(now=clock.now()), None) == text()
        await made.close()

    alone(work)


@pytest.mark.parametrize(
    "doing",
    [
        RemoteAnswer((), None, True),
        McpError(FaultKind.BAD_ARGUMENTS, "no", sent=True, code=-32602),
        McpError(FaultKind.UNAVAILABLE, "slow down", sent=True, status=429, retry_after=1.0),
        McpError(FaultKind.DENIED, "no", sent=True, status=403),
        McpError(FaultKind.TOOL_FAILED, "no", sent=True, code=-32603),
    ],
)
def test_what_is_not_the_servers_failure_does_not_trip_the_breaker(doing: RemoteAnswer | McpError) -> None:
    """K45."""

    async def work() -> None:
        made, _ = remote(session := FakeSession([doing]), policy=Policy(breaker=Thresholds(failures=2)))
        for _ in range(20):
            await asyncio.gather(made.call(GET, {}, context(), None), return_exceptions=True)
        assert len(session.calls) == 20
        await made.close()

    alone(work)


def test_cancelled_calls_do_not_trip_the_breaker_and_give_their_place_back() -> None:
    async def work() -> None:
        session = FakeSession()

        async def hang() -> RemoteAnswer:
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

        session.doing = [hang]
        made, _ = remote(session, policy=Policy(concurrent=1, breaker=Thresholds(failures=1)))
        for count in range(1, 4):
            task = asyncio.ensure_future(made.call(GET, {}, context(), None))
            while len(session.calls) < count:
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        session.doing = [text()]
        assert await made.call(GET, {}, context(), None) == text()
        await made.close()

    alone(work)


@pytest.mark.feature("A9.8", "B12")
def test_a_session_that_does_not_keep_its_deadline_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ael.mcp.remote._GRACE", 0.02)

    async def work() -> None:
        session = FakeSession()

        async def hang() -> RemoteAnswer:
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

        session.doing = [hang]
        made, _ = remote(session, policy=Policy(timeout=0.02))
        fault = await fault_of(made.call(GET, {}, context(), None))
        assert (fault.kind, fault.details["sent"]) == (FaultKind.TIMEOUT, True)
        await made.close()

    alone(work)


@pytest.mark.feature("A9.20")
def test_a_call_that_its_callers_limit_cuts_off_counts_as_too_slow() -> None:
    async def work() -> None:
        session = FakeSession()

        async def hang() -> RemoteAnswer:
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

        session.doing = [hang]
        made, _ = remote(session, policy=Policy(breaker=Thresholds(failures=1)))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.03):
                await made.call(GET, {}, context(seconds=0.03), None)
        assert (await fault_of(made.call(GET, {}, context(), None))).details["final"] is True
        await made.close()

    alone(work)
