"""Time: limits of active time, an absolute deadline, both over an injected clock, and pure code that never awaits (K01, K46)."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from ael.journal.memory import MemoryJournal
from ael.run.bindings import Options
from ael.run.deadline import Deadline, Expired
from ael.types.fault import Fault, FaultKind
from ael.types.spec import BudgetSpec
from tests.run.fakes import FakeClock, call, calls, model, said
from tests.run.helpers import code, engine, fault_of, node, parameter, run, tool, unit, value_of
from tests.run.loops import ASK, Body


@pytest.mark.feature("A7.2", "A13.1")
def test_a_slow_model_call_does_not_outlive_the_deadline() -> None:
    """K01: the limit is not looked at between steps only: the call is cancelled."""
    clock = FakeClock()
    cancelled: list[bool] = []

    async def slow(conversation: Any, number: int) -> Any:
        clock.advance(30)
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    made = unit(nodes=[node("answer", parameter("q"), budget=BudgetSpec(time=1_000))])
    fault = fault_of(run(engine(made, model(slow), clock=clock), "answer", ASK))
    assert (fault.kind, fault.details["limit"], fault.details["spender"]) == (
        FaultKind.DEADLINE_EXCEEDED,
        "time",
        "the node `answer`",
    )
    assert cancelled == [True]


def test_the_innermost_limit_that_passed_is_named() -> None:
    for inner, outer, run_limit, named in (
        (1, 9, 99, "the node `inner`"),
        (99, 1, 99, "the node `main`"),
        (99, 99, 1, "the run"),
    ):
        clock = FakeClock()

        async def body(k: Any, clock: FakeClock = clock) -> object:
            clock.advance(2)
            await asyncio.sleep(3600)
            return ""

        async def main(k: Any) -> object:
            return await k.act(0, "main.inner", ())

        made = unit(
            nodes=[
                code("inner", body, budget=BudgetSpec(time=inner * 1000)),
                code("main", main, budget=BudgetSpec(time=outer * 1000)),
            ]
        )
        outcome = run(engine(made, clock=clock), "main", options=Options(caller="c", budget=BudgetSpec(time=run_limit * 1000)))
        assert fault_of(outcome).details["spender"] == named


def test_a_deadline_of_a_node_can_be_caught_and_the_run_goes_on() -> None:
    clock = FakeClock()

    async def slow(k: Any) -> object:
        clock.advance(2)
        await asyncio.sleep(3600)
        return ""

    async def main(k: Any) -> object:
        try:
            await k.act(0, "main.slow", ())
        except Fault as fault:
            return f"{fault.kind.value} {await k.act(1, 'main.look', ())}"
        return ""

    made = unit(tools=[tool("look", Body("on"))], nodes=[code("slow", slow, budget=BudgetSpec(time=1_000)), code("main", main)])
    assert value_of(run(engine(made, clock=clock), "main")) == "DeadlineExceeded on"


def test_active_time_is_saved_and_continues() -> None:
    """K46: five executions of one run, each near the limit: their sum is what counts."""
    clock = FakeClock()
    store = MemoryJournal()
    seen: list[float] = []

    async def work(k: Any) -> str:
        for site in range(3):
            clock.advance(3)
            await k.act(site, "std.new_id", ())
            seen.append(k.scope.run.active)
        return "done"

    made = unit(nodes=[code("main", work)])
    options = Options(caller="c", run="r1", budget=BudgetSpec(time=10_000))
    assert value_of(run(engine(made, clock=clock, journal=store), "main", options=options)) == "done"
    assert seen == [3, 6, 9]
    clock.advance(10_000)
    fault = fault_of(run(engine(made, clock=clock, journal=store), "main", options=options))
    assert fault.details["spender"] == "the run"
    assert seen[3] == 12, "nine seconds were saved, and neither the pause nor a new start gives them back"


def test_a_clock_that_is_set_back_changes_no_duration() -> None:
    """K46: no negative time, no endless run."""
    clock = FakeClock()

    async def look(k: Any) -> str:
        clock.set_back(3600)
        clock.advance(0.5)
        return "x"

    fake = model(*[calls(call("look", {})) for _ in range(3)], said("done"))
    made = unit(tools=[tool("look", look)], nodes=[node("answer", parameter("q"), tools=["look"], budget=BudgetSpec(time=5_000))])
    outcome = run(engine(made, fake, clock=clock), "answer", ASK)
    assert value_of(outcome) == "done"
    assert outcome.spent.seconds == pytest.approx(1.5)


def test_an_absolute_deadline_that_passed_while_the_run_was_away() -> None:
    """K46: it is typed at the start of the continuation, and nothing runs."""
    clock = FakeClock()
    body = Body("x")
    made = unit(nodes=[code("main", body)])
    outcome = run(engine(made, clock=clock), "main", options=Options(caller="c", deadline=clock.now() - 1))
    fault = fault_of(outcome)
    assert (fault.kind, fault.details["spender"]) == (FaultKind.DEADLINE_EXCEEDED, "the run's deadline")
    assert body.got == []


# --- pure code ------------------------------------------------------------------------------------------------------------------


def spin(unit_: Any) -> None:
    """What compiled code does at its loop back edges."""
    flag = unit_.halt.flag
    until = time.monotonic() + 30
    while time.monotonic() < until:
        if flag[0] is not None:
            raise flag[0]


@pytest.mark.feature("D6")
def test_pure_code_is_stopped_at_its_deadline() -> None:
    """It holds the loop, so no timer can fire: the flag stops it, in bounded time, and the flag is down again."""
    holder: list[Any] = []

    async def main(k: Any) -> str:
        spin(holder[0])
        return "never"

    made = unit(nodes=[code("main", main, budget=BudgetSpec(time=30))])
    holder.append(made)
    began = time.monotonic()
    fault = fault_of(run(engine(made), "main"))
    assert fault.kind is FaultKind.DEADLINE_EXCEEDED
    assert time.monotonic() - began < 20, "it was stopped long before it would have ended by itself"
    assert made.halt.flag[0] is None


def test_pure_code_that_was_stopped_cannot_go_on_by_catching_the_fault() -> None:
    holder: list[Any] = []
    caught: list[str] = []

    async def main(k: Any) -> str:
        for _ in range(3):
            try:
                spin(holder[0])
            except Fault as fault:
                caught.append(fault.kind.value)
        return str(await k.act(0, "main.look", ()))

    body = Body("x")
    made = unit(tools=[tool("look", body)], nodes=[code("main", main, budget=BudgetSpec(time=30))])
    holder.append(made)
    assert fault_of(run(engine(made), "main")).kind is FaultKind.DEADLINE_EXCEEDED
    assert caught == ["DeadlineExceeded"] * 3
    assert body.got == []
    assert made.halt.flag[0] is None


def test_another_run_is_not_stopped_with_it() -> None:
    """Two runs of one program: the flag is for the one whose time is up."""
    holder: list[Any] = []

    async def main(k: Any, q: str) -> str:
        if q == "spin":
            spin(holder[0])
        for _ in range(20):
            await asyncio.sleep(0.005)
            if holder[0].halt.flag[0] is not None:
                raise holder[0].halt.flag[0]
        return "well"

    made = unit(nodes=[code("main", main, parameter("q"))])
    holder.append(made)

    async def both() -> Any:
        shared = engine(made)
        good = shared.start("main", {"q": "fine"})
        bad = shared.start("main", {"q": "spin"}, Options(caller="c", budget=BudgetSpec(time=30)))
        return await good.outcome(), await bad.outcome()

    good, bad = asyncio.run(both())
    assert value_of(good) == "well"
    assert fault_of(bad).kind is FaultKind.DEADLINE_EXCEEDED


def test_pure_code_in_a_branch_is_stopped_too() -> None:
    holder: list[Any] = []

    async def main(k: Any) -> object:
        async def branch(k: Any, item: object) -> object:
            spin(holder[0])
            return ""

        return await k.parallel_for(0, [1, 2], None, branch)

    made = unit(nodes=[code("main", main, budget=BudgetSpec(time=30))])
    holder.append(made)
    assert fault_of(run(engine(made), "main")).kind is FaultKind.DEADLINE_EXCEEDED
    assert made.halt.flag[0] is None


def test_an_interrupt_stops_pure_code() -> None:
    """What a signal handler calls: the flag stops the code of this run, and of no other."""
    holder: list[Any] = []
    begun = threading.Event()

    async def main(k: Any) -> str:
        begun.set()
        spin(holder[0])
        return "never"

    made = unit(nodes=[code("main", main)])
    holder.append(made)

    def later(run: Any) -> None:
        def stop() -> None:
            begun.wait(20)
            run.interrupt()

        threading.Thread(target=stop, daemon=True).start()

    assert fault_of(run(engine(made), "main", during=later)).kind is FaultKind.CANCELLED
    assert made.halt.flag[0] is None


def test_an_interrupt_of_a_run_that_waits_leaves_the_others_alone() -> None:
    """It holds no loop, so there is nothing to stop by the flag: the cancel that follows reaches it."""

    async def main(k: Any) -> object:
        await asyncio.sleep(3600)
        return ""

    made = unit(nodes=[code("main", main)])

    async def stop(started: Any) -> None:
        await asyncio.sleep(0.01)
        started.interrupt()
        assert made.halt.flag[0] is None
        started.cancel("interrupted")

    assert fault_of(run(engine(made), "main", during=stop)).kind is FaultKind.CANCELLED


def test_the_watchdog_goes_when_there_is_nothing_to_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    import ael.run.halt as module

    monkeypatch.setattr(module, "_IDLE", 0.02)

    async def main(k: Any) -> str:
        return "x"

    made = engine(unit(nodes=[code("main", main, budget=BudgetSpec(time=60_000))]))
    assert value_of(run(made, "main")) == "x"
    watchdog = made.world.watchdog
    assert watchdog is not None
    for _ in range(500):
        if watchdog._thread is None:
            break
        time.sleep(0.01)
    assert watchdog._thread is None
    assert value_of(run(made, "main")) == "x"


# --- the block itself -------------------------------------------------------------------------------------------------------------


def test_nested_blocks_each_raise_their_own() -> None:
    async def go() -> list[str]:
        clock = FakeClock()
        order = []
        outer = Deadline(clock, 5, "outer")
        try:
            with outer:
                for seconds in (1, 2):
                    try:
                        with Deadline(clock, seconds, "inner", outer):
                            clock.advance(seconds)
                            await asyncio.sleep(3600)
                    except Expired as expired:
                        order.append(expired.deadline.name)
                clock.advance(2)
                await asyncio.sleep(3600)
        except Expired as expired:
            order.append(expired.deadline.name)
        await asyncio.sleep(0)
        return order

    assert asyncio.run(go()) == ["inner", "inner", "outer"]


def test_a_cancel_from_outside_is_no_expiry() -> None:
    async def inside() -> None:
        with Deadline(FakeClock(), 5, "x"):
            await asyncio.sleep(3600)

    async def go() -> None:
        task = asyncio.create_task(inside())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())


def test_time_left_is_the_least_of_all_and_pauses_add_to_active_limits_only() -> None:
    clock = FakeClock()
    absolute = Deadline(clock, 100, "absolute", None, True)
    node_limit = Deadline(clock, 10, "node", absolute)
    assert node_limit.left() == 10
    node_limit.pause()
    node_limit.pause()
    clock.advance(50)
    assert node_limit.expired() is None
    node_limit.go_on()
    clock.advance(5)
    node_limit.go_on()
    assert node_limit.left() == 10
    assert absolute.left() == 45
    clock.advance(50)
    late = node_limit.expired()
    assert late is not None
    assert late.name == "absolute"
