"""Accounts that runs share: no two who draw see the same room, whatever is done twice counts once, and what is never settled stays used."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ael.journal import accounts
from ael.journal.book import Amount, Book, Drawn, MemoryBook, Shared, Wanted
from ael.journal.database import DatabaseStore
from ael.journal.sqlite import SqliteDatabase
from ael.journal.writer import Connection
from ael.types.fault import Fault, FaultKind
from ael.types.spec import BudgetSpec
from tests.journal.places import Place

ACME = Shared("the tenant `acme`", "tenant acme", BudgetSpec(tokens=100, cost=Decimal("0.01")))
ANN = Shared("the caller `ann`", "caller acme/ann", BudgetSpec(tokens=60))
FULL = Fault(FaultKind.BUDGET_EXHAUSTED, "full")


def wanting(amount: Amount, limit: int = 100) -> Wanted:
    """Draw `amount` while every account stays within `limit` tokens."""
    return lambda used: FULL if any(one.tokens + amount.tokens > limit for one in used) else amount


async def used_of(book: Book, *shared: Shared) -> tuple[Amount, ...]:
    """What is used of accounts, found out by drawing nothing."""
    found: list[Sequence[Amount]] = []

    def look(used: Sequence[Amount]) -> Amount:
        found.append(used)
        return Amount()

    await book.draw("look", shared, look)
    return tuple(found[-1])


async def drawn(book: Book, amount: Amount, *shared: Shared) -> Drawn:
    made = await book.draw("r1", shared or (ACME,), wanting(amount))
    assert isinstance(made, Drawn), made
    return made


@pytest.mark.feature("A13.2", "K02")
def test_no_number_of_workers_draws_more_than_there_is(place: Place) -> None:
    """Two stores of the same runs, as of two processes, and forty who draw at once: a plain look would let too many through."""

    async def test() -> None:
        async with place.open() as one, place.open() as other:
            wants = [(one if at % 2 else other).book.draw(f"r{at}", (ACME,), wanting(Amount(10))) for at in range(40)]
            made = await asyncio.gather(*wants)
            assert sum(isinstance(each, Drawn) for each in made) == 10
            assert await used_of(one.book, ACME) == (Amount(100),)

    asyncio.run(test())


def test_drawn_from_all_accounts_or_from_none(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        await drawn(store.book, Amount(50, Decimal("0.004"), 1, 2), ANN, ACME)
        refused = await store.book.draw("r2", (ANN, ACME), wanting(Amount(20), 60))
        assert isinstance(refused, Fault)
        whole = Amount(50, Decimal("0.004"), 1, 2)
        assert await used_of(store.book, ANN, ACME) == (whole, whole)

    place.run(body)


def test_what_was_spent_takes_the_place_of_what_was_drawn_once(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        made = await drawn(store.book, Amount(50, Decimal("0.004")), ANN, ACME)
        for _ in range(2):
            store.book.settle(made, 7, Decimal("0.0000123"))
        spent = Amount(7, Decimal("0.0000123"))
        assert await used_of(store.book, ANN, ACME) == (spent, spent)
        assert place.look(lambda db: db.rows("SELECT COUNT(*) FROM ael_draw")) == [(0,)]

    place.run(body)


def test_a_draw_whose_commit_nobody_heard_of_is_made_once(place: Place) -> None:
    """The transaction is done again after the connection broke: it may have been committed."""
    database = place.database()
    try:
        for _ in range(2):
            database.begin()
            made = accounts.draw(database, "d1", "r1", (ACME,), wanting(Amount(60, Decimal("0.001"))))
            database.commit()
            assert isinstance(made, Drawn)
            assert made.amount == Amount(60, Decimal("0.001"))
        database.begin()
        rows = database.rows("SELECT tokens, cost FROM ael_account")
        database.rollback()
        assert [tuple(map(int, row)) for row in rows] == [(60, 1_000_000_000)]
    finally:
        database.close()


def test_what_a_dead_process_drew_stays_used_and_a_forgotten_run_does_not_change_that(place: Place) -> None:
    async def test() -> None:
        async with place.open() as store:
            await drawn(store.book, Amount(30))
        async with place.open() as store:
            assert await used_of(store.book, ACME) == (Amount(30),)
        place.look(lambda db: accounts.forget(db, "r1"))
        async with place.open() as store:
            assert await used_of(store.book, ACME) == (Amount(30),)

    asyncio.run(test())


class At:
    """A connection whose clock is set."""

    def __init__(self, inner: Connection, now: float) -> None:
        self._inner = inner
        self._now = now

    def now(self) -> float:
        return self._now

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


DAILY = Shared("the tenant `acme`", "tenant acme", BudgetSpec(tokens=100), 86_400)


def test_a_period_begins_anew_by_the_clock_of_the_store(place: Place) -> None:
    """And what was drawn in one is settled there, though the next has begun."""
    database = place.database()
    try:
        told = []
        for id, now in (("d1", 86_399.0), ("d2", 86_400.0), ("d3", 172_799.0)):
            database.begin()
            made = accounts.draw(At(database, now), id, "r1", (DAILY,), wanting(Amount(60)))  # type: ignore[arg-type]
            database.commit()
            told.append(isinstance(made, Drawn))
        assert told == [True, True, False]
        database.begin()
        accounts.settle(database, "d1", 5, Decimal(0))
        database.commit()
        database.begin()
        rows = database.rows("SELECT since, tokens FROM ael_account ORDER BY since")
        database.rollback()
        assert [tuple(map(int, row)) for row in rows] == [(0, 5), (86_400, 60)]
    finally:
        database.close()


def test_the_accounts_of_a_process_begin_anew_too() -> None:
    async def test() -> None:
        now = [86_399.0]
        book = MemoryBook(lambda: now[0])
        first = await book.draw("r1", (DAILY,), wanting(Amount(60)))
        assert isinstance(first, Drawn)
        assert isinstance(await book.draw("r2", (DAILY,), wanting(Amount(60))), Fault)
        now[0] += 1
        assert isinstance(await book.draw("r2", (DAILY,), wanting(Amount(60))), Drawn)
        book.settle(first, 5, Decimal(0))
        assert await used_of(book, DAILY) == (Amount(60),)

    asyncio.run(test())


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("draw"), st.integers(0, 60), st.integers(0, 4_000_000)),
        st.tuples(st.just("settle"), st.integers(0, 60), st.integers(0, 4_000_000)),
    ),
    max_size=14,
)


@settings(deadline=None, max_examples=40)
@given(STEPS)
def test_a_store_and_a_process_keep_the_same_accounts(steps: list[tuple[str, int, int]]) -> None:
    """Whatever is drawn and settled in whatever order: the same is refused, and the same is used; nothing drawn goes beyond the limit."""

    async def test(folder: str) -> None:
        store = DatabaseStore(lambda: SqliteDatabase(Path(folder, "runs.db")))
        books: list[Book] = [store.book, MemoryBook(float)]
        opened: list[list[Drawn]] = []
        settled = 0
        try:
            for what, tokens, units in steps:
                cost = Decimal(units) / 10**9
                if what == "draw":
                    made = [await book.draw("r1", (ACME, ANN), wanting(Amount(tokens, cost, 1))) for book in books]
                    assert isinstance(made[0], Fault) == isinstance(made[1], Fault)
                    both = [one for one in made if isinstance(one, Drawn)]
                    if both:
                        opened.append(both)
                        assert all(one.tokens + tokens <= 100 for one in both[0].before)
                elif settled < len(opened):
                    for book, one in zip(books, opened[settled], strict=True):
                        book.settle(one, min(tokens, one.amount.tokens), min(cost, one.amount.cost))
                    settled += 1
                found = [await used_of(book, ACME, ANN) for book in books]
                assert found[0] == found[1]
        finally:
            await store.close()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(test(folder))
