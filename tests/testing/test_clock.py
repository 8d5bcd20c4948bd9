"""The clock of a test: waits are jumped over in their order, and time limits hold."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from ael.run.deadline import Deadline, Expired
from ael.testing.clock import START, TestClock


def run(work: Callable[[TestClock], Awaitable[None]]) -> TestClock:
    clock = TestClock()

    async def whole() -> None:
        await asyncio.wait_for(work(clock), 30)

    asyncio.run(whole())
    return clock


def test_nobody_waits_and_the_program_sees_the_whole_time() -> None:
    async def work(clock: TestClock) -> None:
        await clock.sleep(86_400)

    clock = run(work)
    assert START + 86_400 - 1 <= clock.now() <= START + 86_400


def test_time_stands_still_until_somebody_waits() -> None:
    async def work(clock: TestClock) -> None:
        for _ in range(50):
            await asyncio.sleep(0)
        assert clock.now() == START

    run(work)


def test_waits_end_in_the_order_of_their_times() -> None:
    seen: list[str] = []

    async def work(clock: TestClock) -> None:
        async def one(name: str, seconds: float) -> None:
            await clock.sleep(seconds)
            seen.append(name)

        await asyncio.gather(one("long", 300), one("short", 2), one("middle", 60), one("none", 0))

    run(work)
    assert seen == ["none", "short", "middle", "long"]


def test_a_time_limit_is_over_before_a_longer_wait() -> None:
    async def work(clock: TestClock) -> None:
        with pytest.raises(Expired), Deadline(clock, 5, "the test"):
            await clock.sleep(3_600)
        assert START + 4 < clock.now() < START + 6

    run(work)


def test_a_wait_that_is_given_up_holds_nobody() -> None:
    async def work(clock: TestClock) -> None:
        waiting = asyncio.ensure_future(clock.sleep(1_000_000))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await clock.sleep(1)

    assert run(work).now() < START + 2


def test_moving_the_clock_ends_what_is_due_by_then() -> None:
    seen: list[str] = []

    async def work(clock: TestClock) -> None:
        clock.call_at(clock.monotonic() + 10, lambda: seen.append("ten"))
        clock.call_at(clock.monotonic() + 30, lambda: seen.append("thirty"))
        await clock.advance(20)
        assert seen == ["ten"]
        assert START + 19 < clock.now() <= START + 20
        await clock.advance(20)
        assert seen == ["ten", "thirty"]

    run(work)


def test_a_time_limit_ends_in_real_time_too() -> None:
    async def work(clock: TestClock) -> None:
        with pytest.raises(Expired), Deadline(clock, 0.05, "the test"):
            await asyncio.Event().wait()

    run(work)
