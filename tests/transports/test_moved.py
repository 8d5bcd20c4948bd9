"""A run that dies in a call and goes on after its service was moved: what began at one place is not begun at another (K26)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from ael.durable.pinned import bound_of
from ael.journal.entry import Entry, State
from ael.journal.memory import MemoryJournal
from ael.run.bindings import Options
from ael.run.outcome import Faulted, Outcome, Unsettled, Value
from ael.types.fault import FaultKind
from tests.transports.places import placed
from tests.transports.programs import SHOP


async def moved(before: str, after: str, folder: Path, entry: str, until: Callable[[Entry], bool]) -> tuple[Outcome, list[str]]:
    """A run at `before` that died with the first record that `until` names, and goes on at `after`: how it ended, and what the second
    life did outside."""
    async with AsyncExitStack() as stack:
        old = await stack.enter_async_context(placed(before, folder / "old", SHOP))
        options = Options(caller="tester", tenant="acme", run="moved")
        first = old.host.engine.start(entry, {"id": "A"}, options)
        assert isinstance(await first.outcome(), Value)
        new = await stack.enter_async_context(placed(after, folder / "new", SHOP))
        new.host.engine._journal = crashed = MemoryJournal()
        left = crashed.open(first.journal.header)
        for record in first.journal.entries():
            left.append(record)
            if until(record):
                break
        for program in (old, new):
            (program.folder / "ledger").unlink(missing_ok=True)
        outcome = await new.host.engine.start(entry, {"id": "A"}, options).outcome()
        return outcome, [call["what"] for program in (old, new) for call in program.ledger]


def started(name: str) -> Callable[[Entry], bool]:
    return lambda record: record.state is State.STARTED and record.target == f"main.{name}"


def answered(name: str) -> Callable[[Entry], bool]:
    return lambda record: record.state is State.ANSWERED and record.target == f"main.{name}"


@pytest.mark.feature("A11.2", "A8.5", "K26")
@pytest.mark.parametrize("place", ["process", "https"])
def test_a_call_that_was_sent_is_not_made_here(place: str, tmp_path: Path) -> None:
    """Nobody can be asked what became of it: `Uncertain`, or `Unavailable` where it may be repeated. What was answered is replayed."""

    async def scenario() -> None:
        outcome, done = await moved(place, "in process", tmp_path / "pay", "pay", started("Orders.pay"))
        assert isinstance(outcome, Unsettled)
        assert (outcome.operation, done) == ("Orders.pay", [])
        outcome, done = await moved(place, "in process", tmp_path / "get", "retried", started("Orders.retried"))
        assert isinstance(outcome, Faulted)
        assert (outcome.kind, done) == (FaultKind.UNAVAILABLE, [])
        assert "`Orders.retried` was begun where the deployment placed it then" in outcome.message
        outcome, done = await moved(place, "in process", tmp_path / "had", "pay", answered("Orders.pay"))
        assert isinstance(outcome, Value)
        assert done == []

    asyncio.run(scenario())


@pytest.mark.feature("A11.2", "A8.5", "K26")
@pytest.mark.parametrize("place", ["process", "https"])
def test_a_call_that_had_begun_here_goes_on_here(place: str, tmp_path: Path) -> None:
    """Over the records of what it did, under their keys; and what must not be done twice is not sent away either."""

    async def scenario() -> None:
        for what, until in (("act", started("act")), ("done", answered("act"))):
            outcome, done = await moved("in process", place, tmp_path / what, "retried", until)
            assert isinstance(outcome, Value)
            assert done == (["A"] if what == "act" else [])
        outcome, done = await moved("in process", place, tmp_path / "pay", "pay", started("strike"))
        assert isinstance(outcome, Unsettled)
        assert done == []

    asyncio.run(scenario())


@pytest.mark.feature("A11.2", "A12.6", "K26")
@pytest.mark.parametrize("place", ["process", "https"])
def test_a_run_may_call_what_it_reaches_wherever_that_is(place: str, tmp_path: Path) -> None:
    """What a run keeps of the names that it can call is the same with its service elsewhere: the service may come here while it lives."""

    async def reached(where: str) -> object:
        async with placed(where, tmp_path / where, SHOP) as program:
            return bound_of(program.host.opened).kept("main.get")["calls"]

    async def scenario() -> None:
        calls = await reached("in process")
        assert await reached(place) == calls
        assert isinstance(calls, list)
        assert {"main.Orders.get", "main.act"} <= set(calls)

    asyncio.run(scenario())
