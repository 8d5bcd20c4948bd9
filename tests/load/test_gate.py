"""The gate by itself: a place in line that is given up at the very moment its turn comes, and a line that is sent home."""

from __future__ import annotations

import asyncio

import pytest

from ael.server.caller import local_caller
from ael.server.gate import Full, Gate


@pytest.mark.feature("A11.4", "A13.7", "K39")
def test_a_turn_that_comes_to_somebody_who_just_left() -> None:
    """Cancelled, and passed over before it could wake: it goes as one that was cancelled, and its caller has its share back."""

    async def scenario() -> None:
        gate, caller = Gate(1, 4), local_caller()
        await gate.enter(caller)
        waiting = [asyncio.ensure_future(gate.enter(caller)) for _ in range(2)]
        await asyncio.sleep(0)
        assert (gate.taken, gate.waiting, caller.in_flight) == (1, 2, 3)
        waiting[0].cancel()
        gate.leave(caller)
        assert isinstance((await asyncio.gather(waiting[0], return_exceptions=True))[0], asyncio.CancelledError)
        await waiting[1]
        assert (gate.taken, gate.waiting, caller.in_flight) == (1, 0, 1)
        gate.leave(caller)
        assert (gate.taken, gate.waiting, caller.in_flight) == (0, 0, 0)

    asyncio.run(scenario())


@pytest.mark.feature("A11.4", "K39")
def test_a_turn_that_came_to_somebody_who_leaves() -> None:
    """Had, and not taken any more: it goes to the next in line."""

    async def scenario() -> None:
        gate, caller = Gate(1, 4), local_caller()
        await gate.enter(caller)
        waiting = [asyncio.ensure_future(gate.enter(caller)) for _ in range(2)]
        await asyncio.sleep(0)
        gate.leave(caller)
        waiting[0].cancel()
        assert isinstance((await asyncio.gather(waiting[0], return_exceptions=True))[0], asyncio.CancelledError)
        await waiting[1]
        gate.leave(caller)
        assert (gate.taken, gate.waiting, caller.in_flight) == (0, 0, 0)

    asyncio.run(scenario())


@pytest.mark.feature("A11.4", "A12.12")
def test_who_waits_when_the_server_ends_is_told_at_once() -> None:
    """Not when a place comes free, which may be at the end of the drain; who has a place keeps it."""

    async def scenario() -> None:
        gate, caller = Gate(1, 4), local_caller()
        await gate.enter(caller)
        waiting = [asyncio.ensure_future(gate.enter(caller)) for _ in range(4)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        gate.send_home("the server is shutting down")
        waiting[1].cancel()
        ends = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(end) for end in ends] == [asyncio.CancelledError, asyncio.CancelledError, Full, Full]
        assert {str(end) for end in ends[2:]} == {"the server is shutting down"}
        assert (gate.taken, gate.waiting, caller.in_flight) == (1, 0, 1)

    asyncio.run(scenario())
