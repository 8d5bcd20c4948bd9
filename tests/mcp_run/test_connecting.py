"""Keeping connections to one server: what goes with a call, sharing, retry, replacement, closing."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from ael.mcp.failure import McpError
from ael.mcp.lane import Lane, closed
from ael.mcp.remote import LANES, Policy
from ael.run.ports import RemoteAnswer
from ael.types.fault import FaultKind
from ael.types.spec import RemoteSpec
from tests.mcp_run.fakes import GET, FakeSession, alone, context, down, fault_of, remote, text
from tests.run.fakes import FakeClock

GONE = McpError(FaultKind.DISCONNECTED, "gone")


# --- what goes with a call -------------------------------------------------------------------------------------------------


@pytest.mark.feature("A9.7")
def test_a_call_carries_its_key_and_its_trace() -> None:
    async def work() -> None:
        session = FakeSession()
        made, _ = remote(session)
        told: list[str] = []
        call = context()
        answer = await made.call(GET, {"id": "1"}, replace(call, sending=told.append), None)
        assert answer == text()
        [(tool, arguments, meta, deadline)] = session.calls
        assert (tool, arguments) == ("get", {"id": "1"})
        assert meta == {"idempotencyKey": "key-1", "traceparent": call.trace_parent}
        assert 29 < deadline <= 30
        assert told == ["2025-11-25"]
        await made.close()

    alone(work)


@pytest.mark.feature("A9.18")
@pytest.mark.parametrize(("seconds", "limit", "most"), [(30.0, 20.0, 20.0), (5.0, 20.0, 5.0), (float("inf"), None, 600.0)])
def test_the_deadline_is_the_least_of_the_callers_and_the_deployments(seconds: float, limit: float | None, most: float) -> None:
    async def work() -> None:
        session = FakeSession()
        made, _ = remote(session, policy=Policy(timeout=limit))
        await made.call(GET, {}, context(seconds=seconds), None)
        assert most - 1 < session.calls[0][3] <= most
        await made.close()

    alone(work)


def test_resources_and_prompts() -> None:
    async def work() -> None:
        session = FakeSession()
        made, _ = remote(session)
        await made.call(RemoteSpec("main.crm", "resource", "file:///{path}{?q,n}"), {"path": "a b/c", "n": 3}, context(), None)
        await made.call(RemoteSpec("main.crm", "prompt", "code_review"), {"code": "x", "deep": True}, context(), None)
        assert [one[:2] for one in session.calls] == [
            ("file:///a%20b%2Fc?n=3", {}),
            ("code_review", {"code": "x", "deep": "true"}),
        ]
        await made.close()

    alone(work)


# --- sharing ---------------------------------------------------------------------------------------------------------------


def test_runs_of_one_caller_share_a_connection_that_is_opened_once() -> None:
    async def work() -> None:
        made, opening = remote(FakeSession())
        await asyncio.gather(
            *[made.attach("acme", "lin") for _ in range(20)], *[made.call(GET, {}, context(), None) for _ in range(20)]
        )
        assert len(opening.listeners) == 1
        await made.close()

    alone(work)


def test_tenants_and_callers_never_share_one() -> None:
    """K43: two tenants, the same server -> two sessions, and what one gets never comes from the other's."""

    async def work() -> None:
        sessions = [FakeSession([text(name)]) for name in ("a", "b", "c")]
        made, opening = remote(*sessions)
        for tenant, caller, name in (("acme", "lin", "a"), ("umbra", "lin", "b"), ("acme", "mo", "c"), ("acme", "lin", "a")):
            answer = await made.call(GET, {}, context(tenant, caller), None)
            assert answer == text(name)
        assert len(opening.listeners) == 3
        await made.close()
        assert all(session.shut for session in sessions)

    alone(work)


def test_connections_are_bounded_and_the_one_idle_for_longest_makes_room() -> None:
    async def work() -> None:
        sessions = [FakeSession() for _ in range(LANES + 1)]
        clock = FakeClock()
        made, _ = remote(*sessions, clock=clock)
        for number in range(LANES + 1):
            await made.attach("acme", f"c{number}")
            clock.advance(1)
        await asyncio.sleep(0)
        assert [session.shut for session in sessions[:2]] == [True, False]
        await made.close()

    alone(work)


def test_two_event_loops_one_after_the_other() -> None:
    """K40."""
    made, opening = remote(FakeSession())

    async def work() -> None:
        await made.call(GET, {}, context(), None)

    alone(work)
    alone(work)
    assert len(opening.listeners) == 2


# --- connecting ------------------------------------------------------------------------------------------------------------


@pytest.mark.feature("A9.18")
def test_a_connection_is_tried_again_with_backoff_twice() -> None:
    async def work() -> None:
        clock = FakeClock()
        made, opening = remote(down(False), down(False), FakeSession(), clock=clock)
        await made.call(GET, {}, context(now=clock.now()), None)
        assert len(opening.listeners) == 3
        assert len(clock.slept) == 2
        assert clock.slept[0] < clock.slept[1] <= 0.4
        await made.close()

    alone(work)


@pytest.mark.feature("A9.18", "A9.8")
def test_a_server_that_is_not_there_is_unavailable_after_the_declared_attempts() -> None:
    async def work() -> None:
        clock = FakeClock()
        made, opening = remote(down(False, status=503, retry_after=2.0), clock=clock)
        fault = await fault_of(made.call(GET, {}, context(now=clock.now()), None))
        assert fault.kind is FaultKind.UNAVAILABLE
        assert fault.details["sent"] is False
        assert (fault.details["status"], fault.details["retry_after"], fault.details["final"]) == (503, 2.0, True)
        assert len(opening.listeners) == 3
        assert clock.slept == [2.0, 2.0]
        await made.close()

    alone(work)


@pytest.mark.parametrize("kind", [FaultKind.DENIED, FaultKind.MALFORMED])
def test_what_another_try_cannot_change_is_not_tried_again(kind: FaultKind) -> None:
    async def work() -> None:
        made, opening = remote(McpError(kind, "no"))
        assert (await fault_of(made.attach("acme", "lin"))).kind is kind
        assert len(opening.listeners) == 1
        await made.close()

    alone(work)


def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    async def work() -> None:
        clock = FakeClock()
        made, _ = remote(down(False, retry_after=3600.0), clock=clock)
        fault = await fault_of(made.call(GET, {}, context(seconds=5, now=clock.now()), None))
        assert (fault.details["retry_after"], clock.slept) == (3600.0, [])
        await made.close()

    alone(work)


@pytest.mark.feature("A9.8")
def test_connecting_that_hangs_ends_at_the_callers_deadline_and_is_given_up() -> None:
    """K22: cancelled while connecting -> cleaned, and nothing was sent."""

    async def work() -> None:
        made, opening = remote(FakeSession())
        opening.gate = asyncio.Event()
        fault = await fault_of(made.call(GET, {}, context(seconds=0.05), None))
        assert (fault.kind, fault.details["sent"]) == (FaultKind.TIMEOUT, False)
        await asyncio.sleep(0)
        assert opening.given_up == 1
        opening.gate.set()
        assert await made.call(GET, {}, context(), None) == text()
        await made.close()

    alone(work)


def test_who_gives_up_does_not_disturb_who_waits_on() -> None:
    async def work() -> None:
        made, opening = remote(FakeSession())
        opening.gate = asyncio.Event()
        impatient = asyncio.ensure_future(made.call(GET, {}, context(), None))
        patient = asyncio.ensure_future(made.call(GET, {}, context(), None))
        await asyncio.sleep(0)
        impatient.cancel()
        await asyncio.sleep(0)
        opening.gate.set()
        assert await patient == text()
        assert (impatient.cancelled(), opening.given_up, len(opening.listeners)) == (True, 0, 1)
        await made.close()

    alone(work)


# --- a session that dies ---------------------------------------------------------------------------------------------------


@pytest.mark.feature("A9.8")
def test_a_dead_session_is_replaced_for_the_next_call_and_the_definitions_are_compared_again() -> None:
    """K22: the server restarts between two calls."""

    async def work() -> None:
        first, second = FakeSession(), FakeSession([text("again")])
        made, opening = remote(first, second)
        await made.call(GET, {}, context(), None)
        first.closed = GONE
        assert await made.call(GET, {}, context(), None) == text("again")
        assert (len(opening.listeners), second.lists, first.shut) == (2, 1, True)
        await made.close()

    alone(work)


def test_a_call_whose_connection_dies_is_never_sent_again() -> None:
    async def work() -> None:
        first, second = FakeSession(), FakeSession()

        async def die() -> RemoteAnswer:
            first.closed = GONE
            raise McpError(FaultKind.DISCONNECTED, "the connection ended", sent=True)

        first.doing = [die]
        made, _ = remote(first, second)
        fault = await fault_of(made.call(GET, {}, context(), None))
        assert (fault.kind, fault.details["sent"]) == (FaultKind.DISCONNECTED, True)
        assert second.calls == []
        assert await made.call(GET, {}, context(), None) == text()
        await made.close()

    alone(work)


def test_a_lost_session_found_while_listing_is_opened_again_once() -> None:
    """K23: 404 for the session on tools/list."""

    async def work() -> None:
        lost = McpError(FaultKind.DISCONNECTED, "no such session", sent=True, status=404)
        first, second = FakeSession(), FakeSession()
        made, opening = remote(first, second)
        await made.call(GET, {}, context(), None)
        opening.listeners[0].changed("tools")
        first.listing_error = [lost]
        assert await made.call(GET, {}, context(), None) == text()
        assert (len(opening.listeners), second.lists) == (2, 1)
        second.listing_error = [lost]
        opening.listeners[1].changed("tools")
        opening.sessions = [FakeSession(listing_error=[lost])]
        assert (await fault_of(made.call(GET, {}, context(), None))).kind is FaultKind.DISCONNECTED
        assert len(opening.listeners) == 3
        await made.close()

    alone(work)


def test_a_session_that_dies_at_once_each_time_ends_the_call() -> None:
    async def work() -> None:
        made, opening = remote(FakeSession(closed=GONE))
        fault = await fault_of(made.call(GET, {}, context(), None))
        assert (fault.kind, fault.details["sent"]) == (FaultKind.DISCONNECTED, False)
        assert len(opening.listeners) == 2
        await made.close()

    alone(work)


# --- closing -----------------------------------------------------------------------------------------------------------------


@pytest.mark.feature("A9.23")
def test_closing_never_hangs_and_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ael.mcp.lane.CLOSING", 0.05)

    class Broken(FakeSession):
        async def close(self) -> None:
            raise OSError("cannot be closed")

    async def work() -> None:
        sessions = [FakeSession(close_hangs=True), Broken(), FakeSession()]
        made, _ = remote(*sessions)
        for caller in "abc":
            await made.attach("acme", caller)
        await made.close()
        await made.close()
        assert sessions[2].shut

    alone(work)


def test_closing_while_it_connects_ends_that_too() -> None:
    async def work() -> None:
        made, opening = remote(FakeSession())
        opening.gate = asyncio.Event()
        waiting = asyncio.ensure_future(made.attach("acme", "lin"))
        while not opening.listeners:
            await asyncio.sleep(0)
        await made.close()
        assert (await fault_of(waiting)).kind is FaultKind.DISCONNECTED

    alone(work)


def test_the_listener_is_the_lane() -> None:
    async def work() -> None:
        made, opening = remote(FakeSession())
        await made.attach("acme", "lin")
        [listener] = opening.listeners
        assert isinstance(listener, Lane)
        listener.log("info", "noise")
        await made.close()

    alone(work)


@pytest.mark.feature("A9.23")
def test_a_session_that_does_not_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """K22."""
    monkeypatch.setattr("ael.mcp.lane.CLOSING", 0.02)

    async def work() -> None:
        session = FakeSession(close_hangs=True)
        async with asyncio.timeout(10):
            await closed(session)
        assert session.shut

    alone(work)
