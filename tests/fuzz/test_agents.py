"""Whatever edges the check takes: the run ends in the finish, a declared error or a typed fault, and goes the same way over its journal."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ael.diagnostics.diagnostic import Bag
from ael.journal.entry import State
from ael.journal.memory import MemoryJournal
from ael.lower.lower import lower
from ael.run.bindings import Options
from ael.run.events import EdgeTaken
from ael.run.outcome import DeclaredError, Faulted, Outcome, Value
from ael.source import Source
from ael.syntax.format import format_module
from ael.syntax.parse import parse_module
from ael.syntax.tree import same
from ael.types.fault import FaultKind
from tests.fuzz.agents import checked, edges, text_of
from tests.run.helpers import Collected, engine, run
from tests.run.test_replay import prefix

SETTINGS = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


def ending(outcome: Outcome) -> tuple[object, ...]:
    """What a run came to, without what it spent."""
    match outcome:
        case Value(value):
            return ("value", value)
        case DeclaredError():
            return ("error", outcome.error, outcome.plain)
        case Faulted():
            return ("fault", outcome.kind, outcome.message)
        case _:
            raise AssertionError(outcome)


@pytest.mark.timeout(600)
@pytest.mark.feature("A7.17", "A12.6", "K28")
def test_what_the_check_takes_ends_and_goes_the_same_way_again() -> None:
    taken: dict[str, int] = {"value": 0, "error": 0, "fault": 0}
    joined: list[int] = []

    @settings(SETTINGS, max_examples=1_500)
    @given(edges(), st.integers(0, 12))
    def explore(lines: list[str], n: int) -> None:
        program, bag = checked(text_of(lines))
        if program is None:
            assert bag.errors
            return
        acted: list[int] = []
        pace = 1

        async def act(n: int) -> int:
            acted.append(n)
            for _ in range(1 + n * pace % 5):
                await asyncio.sleep(0)
            return n + 1

        unit = lower(program)

        def go(journal: MemoryJournal) -> tuple[Outcome, list[str], Any]:
            events = Collected()
            started: list[Any] = []
            acted.clear()
            host = engine(unit, externs={"main.act": act}, journal=journal)
            outcome = run(host, "main", {"n": n}, Options(run="r1", caller="c", on_event=events), during=started.append)
            return outcome, sorted(f"{event.path} {event.edge}" for event in events.of(EdgeTaken)), started[0].journal

        outcome, way, journal = go(MemoryJournal())
        end = ending(outcome)
        taken[str(end[0])] += 1
        joined.append(any(" & " in line for line in lines))
        if isinstance(outcome, Faulted):
            assert outcome.kind is FaultKind.NO_EDGE, end
            assert "waits for" not in outcome.message, "the check says that every join is reached whole"
        for pace in (2, 3):  # which branch is faster changes nothing
            other, other_way, _ = go(MemoryJournal())
            if isinstance(outcome, Value):
                assert (ending(other), other_way) == (end, way), pace
        entries = journal.entries()
        for length in {0, 1, len(entries) // 3, len(entries) // 2, len(entries) - 1, len(entries)} & set(range(len(entries) + 1)):
            again, same_way, _ = go(prefix(entries, length, journal.header))
            assert ending(again) == end, length
            if isinstance(outcome, Value):
                assert same_way == way, length
            done = sum(1 for entry in entries[:length] if entry.state is State.ANSWERED)
            whole = sum(1 for entry in entries if entry.state is State.ANSWERED)
            assert len(acted) <= whole - done, "a finished call was made again"

    explore()
    assert taken["value"] >= 50
    assert taken["error"] >= 15
    assert taken["fault"] >= 2
    assert sum(joined) >= 30


def test_the_formatter_keeps_edges() -> None:
    @settings(SETTINGS, max_examples=200)
    @given(edges())
    def explore(lines: list[str]) -> None:
        text = text_of(lines)
        module = parse_module(Source("main.ael", text), Bag())
        shown = format_module(module)
        again = parse_module(Source("main.ael", shown), Bag())
        assert same(module, again)
        assert format_module(again) == shown

    explore()
