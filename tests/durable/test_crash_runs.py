"""Generated programs, crashed at every write boundary, after everything that the outside did, and inside of transactions, in both stores.

No finished model turn is asked again, no keyed effect takes place twice, no other is sent twice, no call stays open, no run is lost.
"""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import NamedTuple
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings

from ael.run.outcome import Value
from tests.durable.programs import PLANS, Program, program
from tests.durable.world import Outside, Stage, to_the_end, uncertain, verify
from tests.journal.places import Place

SETTINGS = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


class Amount(NamedTuple):
    """How much is crashed in a store: programs, points of each where a record or an act ends, and statements; at least so many runs."""

    programs: int
    points: int
    statements: int
    crashed: int


AMOUNTS = {"sqlite": Amount(24, 10_000, 8, 1_000), "postgres": Amount(12, 24, 5, 250)}
"""A life takes three times as long in PostgreSQL, since each connects anew."""


class Crasher:
    """Crashes programs everywhere, and counts the crashed runs."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.crashed = 0
        self.doubtful = 0

    def everywhere(self, made: Program, *, parks_uncertain: bool, most: int = 10_000, statements: int = 0) -> None:
        """Crash it at up to about `most` ends of records and acts, and before `statements` statements."""
        stage = Stage(made, parks_uncertain)
        whole = Outside(stage)
        end, entries = to_the_end(self.place, whole, f"r{uuid4().hex}")
        verify(whole, entries)
        assert isinstance(end, Value), end
        points = [("records", at) for at in range(1, whole.records + 1)] + [("acts", at) for at in range(1, whole.acts + 1)]
        points = points[:: max(1, len(points) // most)]
        if statements:
            points += [("statements", at) for at in range(1, whole.statements, max(1, whole.statements // statements))]
        for what, at in points:
            outside = Outside(stage)
            setattr(outside, f"crash_{what}", frozenset({at}))
            self.crash(whole, end, outside)

    def crash(self, whole: Outside, end: Value, outside: Outside) -> None:
        outcome, entries = to_the_end(self.place, outside, f"r{uuid4().hex}")
        verify(outside, entries)
        self.crashed += outside.crashes > 0
        assert isinstance(outcome, Value), outcome
        if uncertain(entries) or outside.settled_as_failed:
            self.doubtful += 1
            return
        assert outside.effects == whole.effects, "effects are lost, or were made twice"
        if outcome.plain is not None:
            assert outcome.plain == end.plain


@pytest.mark.timeout(900)
@pytest.mark.feature("A8.6", "A8.9", "A8.10", "A8.11", "A12.6", "A12.7", "A12.8", "A12.9", "K26", "K27", "K28", "K37")
def test_crashed_everywhere(place: Place) -> None:
    amount = AMOUNTS[place.kind]
    crasher = Crasher(place)
    number = count()

    @settings(SETTINGS, max_examples=amount.programs)
    @given(PLANS)
    def explore(plan: list[tuple[str, object]]) -> None:
        parks = next(number) % 2 == 1
        crasher.everywhere(program(plan), parks_uncertain=parks, most=amount.points, statements=amount.statements)

    explore()
    assert crasher.crashed >= amount.crashed
    assert crasher.doubtful > 0


def test_crashed_again_and_again(place: Place) -> None:
    made = program([("call", "deep"), ("think", [["send", "pay"], ["nest", "ask"]]), ("beside", ["book", "send"]), ("id", None)])
    stage = Stage(made)
    whole = Outside(stage)
    to_the_end(place, whole, "whole")
    found: Counter[int] = Counter()
    for step in range(2, 9):
        outside = Outside(stage, frozenset(range(step, 400, step)))
        _, entries = to_the_end(place, outside, f"r{step}")
        verify(outside, entries)
        found[outside.crashes] += 1
        assert uncertain(entries) or outside.effects == whole.effects
    assert max(found) >= 10
