"""Budgets, active time and deadlines over several lives of a run, and what a run carries between them (K46, A12.1, A12.3, A12.14)."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ael.durable.execute import Execution, new_owner
from ael.journal.database import DatabaseStore
from ael.journal.durable import RunState
from ael.journal.entry import Ending
from ael.journal.sqlite import SqliteDatabase
from ael.run.bindings import Options
from ael.run.outcome import Outcome, Suspended
from ael.types.spec import BudgetSpec
from ael.types.type import IntType
from tests.durable.shop import Shop, created
from tests.journal.places import Place
from tests.run.fakes import FakeClock, FakeConversation, call, calls, model, said
from tests.run.helpers import code, engine, fault_of, node, parameter, tool, unit, value_of

INT = IntType()


class Lives:
    """A run that is given up after each of its effects, for another worker to go on."""

    def __init__(self, store: DatabaseStore, execution: Execution) -> None:
        self.store = store
        self.execution = execution
        self.count = 0

    async def live(self, options: Options, given: dict[str, object], effects: int) -> Outcome:
        held = self.execution.fresh("main", given, options)
        while True:
            self.count += 1
            run = self.execution.start(held)
            before = len(held.journal.entries())
            append = run.journal.append

            def counted(entry: Any, append: Any = append, run: Any = run, before: int = before) -> Any:
                waiting = append(entry)
                answered = [one for one in run.journal.entries()[before:] if one.state.value == "answered"]
                run.draining = run.draining or len(answered) >= effects
                return waiting

            run.journal = _Journal(run.journal, counted)
            outcome = await self.execution.conclude(held, run)
            if not isinstance(outcome, Suspended):
                return outcome
            again = await self.store.hold(run.id, self.execution.owner, 60.0)
            assert again is not None
            held = again


class _Journal:
    """A journal whose `append` is another."""

    def __init__(self, inner: Any, append: Any) -> None:
        self._inner = inner
        self.append = append

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def slow(clock: FakeClock, seconds: float) -> Any:
    async def pay(n: int) -> int:
        clock.advance(seconds)
        return n

    async def main(k: Any, n: int) -> int:
        for at in range(n):
            await k.act(0, "main.pay", (at,))
        return n

    made = tool("pay", None, parameter("n", INT), result=INT, timeout=-1)
    return unit(tools=[made], nodes=[code("main", main, parameter("n", INT), result=INT)]), {"main.pay": pay}


def test_active_time_is_counted_over_all_lives_and_not_from_anew(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        clock = FakeClock()
        program, externs = slow(clock, 4)
        lives = Lives(store, Execution(engine(program, externs=externs, clock=clock), store, new_owner(), 60.0))
        fault = fault_of(await lives.live(Options(run="r1", budget=BudgetSpec(time=14_000)), {"n": 9}, 1))
        assert fault.kind.value == "DeadlineExceeded"
        row = await store.find("r1")
        assert row is not None
        effects = [entry for entry in await store.entries("r1") if entry.ending is Ending.VALUE]
        assert len(effects) == 4, "four seconds each: the fourth is the last that begins within fourteen"
        assert lives.count == 5
        assert 14 <= row.active < 20

    place.run(body)


def test_time_while_it_waits_is_not_active_time(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        clock = FakeClock()
        program, externs = slow(clock, 4)
        execution = Execution(engine(program, externs=externs, clock=clock), store, new_owner(), 60.0)
        header, input = execution.engine.header("main", {"n": 2}, Options(run="r1", budget=BudgetSpec(time=10_000)))
        await store.create(header, input, execution.pinned(header.entry, Options(budget=BudgetSpec(time=10_000))))
        clock.advance(86_400)
        held = await store.hold("r1", execution.owner, 60.0)
        assert held is not None
        assert value_of(await execution.conclude(held, execution.start(held))) == 2

    place.run(body)


def test_an_absolute_deadline_goes_on_while_a_run_is_with_nobody(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        clock = FakeClock()
        program, externs = slow(clock, 1)
        execution = Execution(engine(program, externs=externs, clock=clock), store, new_owner(), 60.0)
        await execution.create("main", {"n": 2}, Options(run="r1", deadline=clock.now() + 600))
        clock.advance(601)
        held = await store.hold("r1", execution.owner, 60.0)
        assert held is not None
        fault = fault_of(await execution.conclude(held, execution.start(held)))
        assert (fault.kind.value, fault.details["spender"]) == ("DeadlineExceeded", "the run's deadline")

    place.run(body)


@pytest.mark.feature("A12.14")
def test_what_was_spent_in_an_earlier_life_is_spent(place: Place) -> None:
    """A parent that calls a model-driven child: the child's steps are drawn from what is left of the run, over all lives."""

    async def body(store: DatabaseStore) -> None:
        async def main(k: Any, n: int) -> int:
            for _ in range(n):
                await k.act(0, "main.answer", ("q",))
            return n

        asked: list[int] = []

        async def turn(conversation: FakeConversation, at: int) -> Any:
            asked.append(at)
            return said("ok")

        nodes = [code("main", main, parameter("n", INT), result=INT), node("answer", parameter("q"))]
        made = engine(unit(nodes=nodes), model(*[turn] * 9))
        lives = Lives(store, Execution(made, store, new_owner(), 60.0))
        fault = fault_of(await lives.live(Options(run="r1", budget=BudgetSpec(steps=3)), {"n": 5}, 1))
        assert fault.kind.value == "BudgetExhausted"
        assert len(asked) == 3
        assert lives.count >= 3
        row = await store.find("r1")
        assert row is not None
        assert row.outcome["spent"]["steps"] == 3  # type: ignore[index]

    place.run(body)


@pytest.mark.feature("A12.1")
def test_a_model_is_never_asked_inside_of_a_transaction(tmp_path: Path) -> None:
    place = Place("sqlite", tmp_path / "runs.db", "")
    written: list[str] = []

    async def turn(conversation: FakeConversation, at: int) -> Any:
        # Whoever holds a transaction open would keep this writer out.
        with closing(sqlite3.connect(tmp_path / "runs.db", timeout=0.0, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            written.append(str(other.execute("SELECT state FROM ael_entry ORDER BY seq DESC LIMIT 1").fetchone()[0]))
            other.execute("COMMIT")
        return calls(call("look", {"n": 1})) if len(written) == 1 else said("done")

    async def look(n: int) -> str:
        return "found"

    async def body(store: DatabaseStore) -> None:
        program = unit(tools=[tool("look", None, parameter("n", INT))], nodes=[node("answer", parameter("q"), tools=["look"])])
        made = engine(program, model(turn, turn), externs={"main.look": look})
        execution = Execution(made, store, new_owner(), 60.0)
        held = execution.fresh("answer", {"q": "x"}, Options(run="r1"))
        assert value_of(await execution.conclude(held, execution.start(held))) == "done"

    place.run(body)
    assert written == ["started", "started"], "what is asked is in the store before it is asked"
    assert isinstance(place.database(), SqliteDatabase)


@pytest.mark.feature("A12.3")
def test_a_run_made_twice_under_one_id_is_one_run(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        shop = Shop()
        execution = shop.execution(store)
        assert await execution.create("main", {"n": 1}, Options(run="order-42")) == ("order-42", True)
        assert await execution.create("main", {"n": 3}, Options(run="order-42")) == ("order-42", False)
        assert len(await store.rows()) == 1
        given = await store.given("order-42")
        assert given is not None
        assert given[0] == {"n": 1}, "the first one stays as it is"

    place.run(body)


@pytest.mark.feature("A12.3", "A8.6")
def test_key_and_trace_context_are_the_same_in_every_life(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        seen: list[tuple[str, str]] = []
        parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

        async def pay(n: int, *, call: Any) -> int:
            seen.append((call.key, call.trace_parent))
            return n

        async def main(k: Any, n: int) -> int:
            for at in range(n):
                await k.act(0, "main.pay", (at,))
            return n

        made = tool("pay", None, parameter("n", INT), result=INT)
        program = unit(tools=[made], nodes=[code("main", main, parameter("n", INT), result=INT)])
        lives = Lives(store, Execution(engine(program, externs={"main.pay": pay}), store, new_owner(), 60.0))
        assert value_of(await lives.live(Options(run="r1", trace_parent=parent), {"n": 3}, 1)) == 3
        assert lives.count == 3
        assert {re.split("-", trace)[1] for _, trace in seen} == {"0af7651916cd43dd8448eb211c80319c"}
        kept = [entry.key for entry in await store.entries("r1") if entry.state.value == "started"]
        assert [key for key, _ in seen] == kept
        assert len(set(kept)) == 3

    place.run(body)


@pytest.mark.feature("A12.12")
def test_a_cancel_of_a_run_that_waits_ends_it_with_the_next_worker(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        shop = Shop()
        execution = shop.execution(store)
        await created(execution, "r1")
        assert await store.cancel("r1", "the customer left")
        held = await store.hold("r1", execution.owner, 60.0)
        assert held is not None
        fault = fault_of(await execution.conclude(held, execution.start(held)))
        assert (fault.kind.value, fault.message) == ("Cancelled", "the customer left")
        assert not shop.paid
        row = await store.find("r1")
        assert row is not None
        assert row.state is RunState.ENDED

    place.run(body)
