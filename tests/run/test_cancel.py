"""Cancelling: a typed outcome in bounded time, inner work first, everything joined, nothing left behind (K39)."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import pytest

from ael.journal.entry import Kind
from ael.run.bindings import Options
from ael.run.events import RunFinished, ToolFinished
from ael.run.outcome import Faulted, Value
from ael.types.fault import Fault, FaultKind
from ael.types.signature import Repeat
from tests.run.fakes import call, calls, model, said
from tests.run.helpers import Collected, code, engine, fault_of, node, parameter, run, tool, unit, value_of
from tests.run.loops import ASK, Body


class Hang:
    """A body that waits for ever and notes how it ended."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self.log = log
        self.running = asyncio.Event()

    async def __call__(self, k: Any, *arguments: object) -> str:
        self.running.set()
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            self.log.append(self.name)
            raise
        return ""


async def soon(started: Any) -> None:
    await asyncio.sleep(0.01)
    started.cancel("enough")


@pytest.mark.feature("B15", "A7.2")
def test_a_cancel_reaches_a_tool_in_a_node_in_a_node_the_inner_first() -> None:
    log: list[str] = []
    hang = Hang("tool", log)

    async def outer(k: Any, q: str) -> object:
        try:
            return await k.act(0, "main.answer", (q,))
        finally:
            log.append("node")

    fake = model(calls(call("hang", {})))
    made = unit(
        tools=[tool("hang", hang)], nodes=[node("answer", parameter("q"), tools=["hang"]), code("main", outer, parameter("q"))]
    )
    fault = fault_of(run(engine(made, fake), None, ASK, during=soon))
    assert (fault.kind, fault.message) == (FaultKind.CANCELLED, "enough")
    assert log == ["tool", "node"]


def test_a_cancel_reaches_a_model_call() -> None:
    """K39: the request under way is cancelled, which closes it."""
    closed: list[str] = []

    async def hang(conversation: Any, number: int) -> Any:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            closed.append("closed")
            raise

    made = unit(nodes=[node("answer", parameter("q"))])
    assert fault_of(run(engine(made, model(hang)), "answer", ASK, during=soon)).kind is FaultKind.CANCELLED
    assert closed == ["closed"]


def test_the_same_tool_twice_beside_each_other_both_are_cancelled() -> None:
    """K39: nothing is known by name alone."""
    log: list[str] = []
    hang = Hang("tool", log)
    fake = model(calls(call("hang", {}, "1"), call("hang", {}, "2")))
    made = unit(tools=[tool("hang", hang, parallel=True)], nodes=[node("answer", parameter("q"), tools=["hang"])])
    assert fault_of(run(engine(made, fake), "answer", ASK, during=soon)).kind is FaultKind.CANCELLED
    assert log == ["tool", "tool"]


def test_cancelling_twice_or_after_the_end_changes_nothing() -> None:
    async def main(k: Any) -> str:
        return "x"

    made = engine(unit(nodes=[code("main", main)]))

    async def whole() -> None:
        started = made.start("main")
        assert isinstance(await started.outcome(), Value)
        started.cancel()
        assert isinstance(await started.outcome(), Value)
        assert started.done

    asyncio.run(whole())


def test_waiting_for_the_outcome_is_not_the_run() -> None:
    """A waiter that gives up does not cancel the run."""
    release: list[asyncio.Event] = []

    async def main(k: Any) -> str:
        release.append(asyncio.Event())
        await release[0].wait()
        return "x"

    made = engine(unit(nodes=[code("main", main)]))

    async def whole() -> None:
        started = made.start("main")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await started.outcome()
        release[0].set()
        assert isinstance(await started.outcome(), Value)

    asyncio.run(whole())


def test_a_cancel_is_journaled_and_told() -> None:
    events = Collected()
    started: list[Any] = []

    async def stop(run: Any) -> None:
        started.append(run)
        await soon(run)

    fake = model(calls(call("hang", {})))
    made = unit(tools=[tool("hang", Hang("x", []))], nodes=[node("answer", parameter("q"), tools=["hang"])])
    run(engine(made, fake), "answer", ASK, Options(caller="c", on_event=events), during=stop)
    assert [event.ending for event in events.of(RunFinished)] == ["fault"]
    assert any(entry.kind is Kind.CANCEL and entry.value == "enough" for entry in started[0].journal.entries())
    assert events.of(ToolFinished) == []


@pytest.mark.feature("A2.11")
def test_started_calls_are_joined_before_the_run_ends() -> None:
    """A function in a thread cannot be stopped: it is told, and the run's end waits for it."""
    ended: list[str] = []
    begun, over = threading.Event(), threading.Event()

    def slow(*, call: Any) -> str:
        begun.set()
        while not call.cancelled():
            threading.Event().wait(0.005)
        # It takes its time to end: a run that did not wait for it would be over long before.
        over.wait(1)
        ended.append("thread")
        return ""

    async def main(k: Any) -> object:
        return await k.act(0, "main.slow", ())

    async def stop(run: Any) -> None:
        while not begun.is_set():
            await asyncio.sleep(0.005)
        run.cancel()

    made = unit(tools=[tool("slow", None)], nodes=[code("main", main)])
    outcome = run(engine(made, externs={"main.slow": slow}), "main", during=stop)
    at_the_end = list(ended)
    over.set()
    assert fault_of(outcome).kind is FaultKind.CANCELLED
    assert at_the_end == ["thread"]


def test_what_does_not_stop_is_left_behind_after_the_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """K39: bounded time, whatever the code inside does with a cancellation."""
    import ael.run.run as module

    monkeypatch.setattr(module, "GRACE", 0.05)
    release: list[asyncio.Event] = []

    async def stubborn(k: Any) -> object:
        release.append(asyncio.Event())
        while not release[0].is_set():
            try:
                await release[0].wait()
            except asyncio.CancelledError:
                continue
        return "x"

    made = engine(unit(nodes=[code("main", stubborn)]))

    async def whole() -> None:
        started = made.start("main")
        await asyncio.sleep(0.01)
        started.cancel()
        outcome = await started.outcome()
        assert isinstance(outcome, Faulted)
        assert outcome.details["abandoned"]
        release[0].set()
        await asyncio.sleep(0.01)

    asyncio.run(whole())


def test_two_hundred_cycles_leave_no_task_thread_or_object() -> None:
    """K39: cancelled in the middle of a tool, again and again."""
    turn = calls(call("hang", {}, "1"), call("hang", {}, "2"))

    async def whole() -> tuple[int, int]:
        hang = Hang("x", [])
        fake = model(turn, forever=True)
        shared = engine(
            unit(tools=[tool("hang", hang, parallel=True)], nodes=[node("answer", parameter("q"), tools=["hang"])]), fake
        )
        counts = []
        for cycle in range(200):
            hang.running.clear()
            started = shared.start("answer", ASK)
            await hang.running.wait()
            started.cancel()
            assert isinstance(await started.outcome(), Faulted)
            if cycle == 20:
                gc.collect()
                counts.append(len([o for o in gc.get_objects() if type(o).__name__ in ("Run", "Scope", "RunFrame", "Account")]))
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        del started
        fake.asked.clear()
        fake.conversations.clear()
        gc.collect()
        counts.append(len([o for o in gc.get_objects() if type(o).__name__ in ("Run", "Scope", "RunFrame", "Account")]))
        return counts[0], counts[1]

    early, late = asyncio.run(whole())
    assert late <= early


def test_two_loops_in_one_process_both_work() -> None:
    """K40: nothing is bound to the first event loop."""
    fake = model(said("x"), forever=True)
    made = engine(unit(nodes=[node("answer", parameter("q"))]), fake)
    for _ in range(2):
        assert value_of(run(made, "answer", ASK)) == "x"


def test_an_event_loop_that_ends_cancels_its_runs() -> None:
    log: list[str] = []

    async def main(k: Any) -> object:
        return await Hang("x", log)(k)

    made = engine(unit(nodes=[code("main", main)]))

    async def whole() -> Any:
        started = made.start("main")
        await asyncio.sleep(0.01)
        return started

    asyncio.run(whole())
    assert log == ["x"]


# --- parallel -----------------------------------------------------------------------------------------------------------------


@pytest.mark.feature("B15")
def test_the_first_failure_cancels_the_rest_and_is_what_it_fails_with() -> None:
    log: list[str] = []
    hang = Hang("other", log)

    async def main(k: Any) -> object:
        async def broken(k: Any) -> object:
            await asyncio.sleep(0.005)
            raise Fault(FaultKind.UNAVAILABLE, "first")

        return await k.parallel_record(0, [("a", broken), ("b", hang), ("c", hang)])

    fault = fault_of(run(engine(unit(nodes=[code("main", main)])), "main"))
    assert (fault.kind, fault.message) == (FaultKind.UNAVAILABLE, "first")
    assert log == ["other", "other"]


@pytest.mark.parametrize("limit", [None, 1, 2, 3, 7])
def test_parallel_keeps_the_order_of_the_items_and_its_width(limit: int | None) -> None:
    running, most = 0, 0

    async def main(k: Any) -> object:
        async def body(k: Any, item: Any) -> object:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.001 * (5 - item))
            running -= 1
            return str(item)

        return ",".join(await k.parallel_for(0, [0, 1, 2, 3, 4], limit, body))

    assert value_of(run(engine(unit(nodes=[code("main", main)])), "main")) == "0,1,2,3,4"
    assert most == min(limit or 5, 5)


def test_a_cancel_reaches_every_branch() -> None:
    log: list[str] = []

    async def main(k: Any) -> object:
        return await k.parallel_for(0, [1, 2, 3], None, Hang("branch", log))

    assert fault_of(run(engine(unit(nodes=[code("main", main)])), "main", during=soon)).kind is FaultKind.CANCELLED
    assert log == ["branch"] * 3


def test_each_branch_has_a_path_of_its_own() -> None:
    """Parallel work replays in any order: paths name item and branch, never a counter over the run."""
    started: list[Any] = []

    async def main(k: Any) -> object:
        async def body(k: Any, item: Any) -> object:
            await asyncio.sleep(0.001 * (3 - item))
            return await k.act(0, "main.look", ())

        await k.parallel_for(0, [0, 1, 2], None, body)
        await k.parallel_record(
            1, [("left", lambda k: k.act(0, "main.look", ())), ("right", lambda k: k.act(0, "main.look", ()))]
        )
        inner = k.enter(2)
        await inner.act(5, "main.look", ())
        await inner.act(5, "main.look", ())
        return ""

    made = unit(tools=[tool("look", Body("x"), repeat=Repeat.IDEMPOTENT)], nodes=[code("main", main)])
    value_of(run(engine(made), "main", during=started.append))
    paths = {entry.path for entry in started[0].journal.entries()}
    assert paths == {
        "main/each@0[0]/look@0",
        "main/each@0[1]/look@0",
        "main/each@0[2]/look@0",
        "main/both@1.left/look@0",
        "main/both@1.right/look@0",
        "main/@2/look@5",
        "main/@2/look@5#2",
    }


@pytest.mark.feature("B16", "A1.15")
def test_writes_are_serial_and_parallel_tools_run_beside_each_other() -> None:
    log: list[str] = []

    def noting(name: str) -> Any:
        async def body(k: Any) -> str:
            log.append(f"{name}+")
            await asyncio.sleep(0.002)
            log.append(f"{name}-")
            return name

        return body

    fake = model(calls(*[call(name, {}) for name in ("read", "read", "write", "write", "read")]), said("done"))
    made = unit(
        tools=[tool("read", noting("r"), parallel=True), tool("write", noting("w"))],
        nodes=[node("answer", parameter("q"), tools=["read", "write"])],
    )
    assert value_of(run(engine(made, fake), "answer", ASK)) == "done"
    assert log == ["r+", "r+", "r-", "r-", "w+", "w-", "w+", "w-", "r+", "r-"]
