"""What a fork has otherwise, and whose it is (features A12.16, B7)."""

from __future__ import annotations

from typing import Any

import pytest

from ael.data import replace
from ael.durable.change import ChangeError
from ael.durable.fork import Answer, Changes
from ael.durable.forking import forked
from ael.journal.database import DatabaseStore
from ael.journal.entry import Ending, State
from ael.types.signature import Repeat
from ael.types.spec import BudgetSpec
from tests.durable.forks import INT, World, gone_on, original, step, total
from tests.journal.places import Place
from tests.run.helpers import fault_of, parameter, tool, value_of


@pytest.mark.feature("A12.16")
def test_an_answer_can_be_replaced_and_everything_before_it_is_replayed(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        world = World(total)
        execution = world.execution(store)
        row = await original(execution)
        pay = await step(store, "pay")
        outcome, journal = await gone_on(
            execution, await forked(execution, row, pay, changes=Changes({pay: Answer(Ending.VALUE, 777)}), allow=["mail"])
        )
        assert value_of(outcome) == 777
        assert world.seen == {"rate": [1], "pay": [2], "mail": [102, 777]}
        assert journal.unseen == set()

    place.run(body)


@pytest.mark.feature("A12.16", "B7")
def test_a_fork_of_a_fork_serves_what_was_served(place: Place) -> None:
    async def crossed(k: Any, n: int) -> int:
        rated = int(await k.act(0, "main.rate", (n,)))
        for place, number in enumerate((rated, 5 - rated)):
            await k.act(place, "main.pay", (number,))
        return int(await k.act(9, "main.mail", (rated,))) if rated == 2 else 0

    async def body(store: DatabaseStore) -> None:
        world = World(crossed)
        execution = world.execution(store)
        row = await original(execution)
        assert world.seen == {"rate": [1], "pay": [2, 3], "mail": [2]}
        world.rate = 3
        first = await forked(execution, row, await step(store, "rate"))
        outcome, journal = await gone_on(execution, first)
        assert (value_of(outcome), len(journal.served), journal.blocked) == (0, 2, []), (
            "in another order, each served by the other's record"
        )
        again = await store.find(first)
        assert again is not None
        pays = [
            entry.path for entry in await store.entries(first) if entry.target == "main.pay" and entry.state is State.ANSWERED
        ]
        second = await forked(execution, again, pays[1])
        outcome, journal = await gone_on(execution, second)
        assert (value_of(outcome), journal.served, journal.blocked) == (0, [pays[1]], [])
        assert world.seen["pay"] == [2, 3]

    place.run(body)


@pytest.mark.feature("A12.16", "A12.10")
def test_a_fork_that_its_maker_keeps_is_taken_by_no_worker(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        world = World(total)
        execution = world.execution(store)
        row = await original(execution)
        run = await forked(execution, row, await step(store, "rate"), keep=True)
        programs = [world.unit.digest]
        assert await store.claim("another", programs, 5, 60.0) == []
        assert await store.hold(run, "another", 60.0) is None
        outcome, _ = await gone_on(execution, run)
        assert value_of(outcome) == 102
        left = await forked(execution, row, await step(store, "rate"))
        assert [held.row.header.run for held in await store.claim("another", programs, 5, 60.0)] == [left]

    place.run(body)


@pytest.mark.feature("A12.16", "B7")
def test_an_answer_inside_of_a_call_is_replaced_where_the_call_is_run_anew_and_nowhere_else(place: Place) -> None:
    async def quote(k: Any, n: int) -> int:
        return 10 * int(await k.act(0, "main.rate", (n,)))

    async def main(k: Any, n: int) -> int:
        return int(await k.act(0, "main.quote", (n,))) + int(await k.act(1, "main.order", (n,)))

    async def body(store: DatabaseStore) -> None:
        world = World(main)
        inner = [
            tool("quote", quote, parameter("n", INT), result=INT, repeat=Repeat.IDEMPOTENT),
            tool("order", quote, parameter("n", INT), result=INT, repeat=Repeat.NEVER),
        ]
        world.unit = replace(world.unit, tools={**world.unit.tools, **{one.spec.name: one for one in inner}})
        execution = world.execution(store)
        row = await original(execution)
        rates = [
            entry.path for entry in await store.entries("r1") if entry.target == "main.rate" and entry.state is State.ANSWERED
        ]
        assert len(rates) == 2
        run = await forked(execution, row, "", changes=Changes({rates[0]: Answer(Ending.VALUE, 7)}))
        outcome, journal = await gone_on(execution, run)
        assert value_of(outcome) == 70 + 20, "`quote` has its answer in the record, and is run again for what changed in it"
        assert (journal.served, journal.blocked, journal.unseen) == ([], [], set())
        changed = Changes({rates[1]: Answer(Ending.VALUE, 7)})
        with pytest.raises(ChangeError, match="is inside of a call of `order`, which is served or blocked as a whole"):
            await forked(execution, row, "", changes=changed)
        run = await forked(execution, row, "", changes=changed, allow=["order"])
        assert value_of((await gone_on(execution, run))[0]) == 20 + 70
        assert world.seen["rate"] == [1, 1]

    place.run(body)


@pytest.mark.feature("A12.16")
def test_the_input_and_the_budget_of_a_fork_are_its_own(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        world = World(total)
        execution = world.execution(store)
        row = await original(execution)
        first = await step(store, "rate")
        more = await forked(
            execution, row, first, changes=Changes(input={"n": 4}, budget=BudgetSpec(tool_calls=1)), allow=["pay"]
        )
        assert fault_of((await gone_on(execution, more))[0]).kind.value == "BudgetExhausted"
        given = await store.given(more)
        assert given is not None
        assert (given[0], given[1]["budget"]) == ({"n": 4}, {"tool_calls": 1})
        assert world.seen == {"rate": [1, 4], "pay": [2], "mail": [102]}
        with pytest.raises(ChangeError, match="does not fit the parameters"):
            await forked(execution, row, first, changes=Changes(input={"n": "four"}))

    place.run(body)
