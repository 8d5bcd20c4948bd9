"""What a run is pinned to, its journal holds it to: what it may call, and its budget (runtime.md, section 5)."""

from __future__ import annotations

from decimal import Decimal

import pytest

from ael.journal.database import DatabaseStore
from ael.journal.durable import Held
from ael.journal.entry import Ending, Entry, Kind, State
from ael.journal.terms import NotBound, OverBudget
from tests.journal.places import Place
from tests.journal.test_store import entry, header, written

TURN = {"usage": [30, 5, 5, 8, 2, False], "paid": "0.25"}


def model(at: int, state: State) -> Entry:
    value = TURN if state is State.ANSWERED else None
    ending = Ending.VALUE if state is State.ANSWERED else None
    return Entry(f"main/turn{at}", state, Kind.MODEL, "main.fast", "h", "", value, ending, 5.0, 0.5)


def call(at: int, target: str = "main.refund") -> tuple[Entry, ...]:
    return tuple(entry(f"a/t#{at}", state)._replace(target=target) for state in (State.PROPOSED, State.STARTED))


async def pinned(store: DatabaseStore, **terms: object) -> Held:
    await store.create(header(), {}, terms)
    held = await store.hold("r1", "w1", 60)
    assert held is not None
    return held


async def again(store: DatabaseStore, held: Held) -> Held:
    """The next holder, which knows the records from the store alone."""
    await store.release("r1", held.row.epoch)
    found = await store.hold("r1", "w2", 60)
    assert found is not None
    return found


@pytest.mark.feature("A12.7", "K29")
def test_nothing_begins_that_the_run_cannot_call(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        held = await pinned(store, calls=["main.refund", "main.book.get"])
        await written(held, *call(0))
        got = entry("a/s#0", State.PROPOSED, kind=Kind.STORE)._replace(target="main.book.get")
        await written(held, got, got._replace(state=State.STARTED))
        with pytest.raises(NotBound, match="is nothing that this run can call"):
            await written(held, *call(1, "main.burn"))
        # A model may make up a name: that is told to it, and the journal has it.
        held.journal.append(entry("a/t#1", State.ANSWERED, "no such tool")._replace(target="main.burn"))
        await written(await again(store, held), *call(2))
        assert [one.path for one in await store.entries("r1") if one.state is State.STARTED] == ["a/t#0", "a/s#0", "a/t#2"]

    place.run(body)


@pytest.mark.feature("A12.7")
def test_a_run_of_an_older_release_names_nothing_and_may_call_anything(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        await written(await pinned(store), *call(0), *call(1, "main.burn"))

    place.run(body)


@pytest.mark.feature("A12.7", "K11")
def test_no_more_turns_and_calls_than_the_budget_has_over_all_lives(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        held = await pinned(store, budget={"steps": 2, "tool_calls": 2})
        await written(held, model(1, State.STARTED), model(1, State.ANSWERED), *call(0))
        held = await again(store, held)
        await written(held, model(2, State.STARTED), model(2, State.ANSWERED), *call(1))
        for more in ((model(3, State.STARTED),), call(2)):
            with pytest.raises(OverBudget, match="beyond the budget of the run"):
                await written(held, *more)

    place.run(body)


@pytest.mark.feature("A12.7", "K11")
@pytest.mark.parametrize("budget", [{"tokens": 90}, {"cost": Decimal("0.40")}])
def test_no_turn_after_the_one_that_went_beyond_tokens_or_money(place: Place, budget: dict[str, object]) -> None:
    async def body(store: DatabaseStore) -> None:
        held = await pinned(store, budget=budget)
        await written(held, model(1, State.STARTED), model(1, State.ANSWERED), model(2, State.STARTED), model(2, State.ANSWERED))
        with pytest.raises(OverBudget, match="has spent its budget"):
            await written(held, model(3, State.STARTED))
        with pytest.raises(OverBudget, match="has spent its budget"):
            await written(await again(store, held), model(3, State.STARTED))

    place.run(body)
