"""Generated programs, crashed at every write boundary and after everything that the outside did: nothing is paid or done twice, or lost."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings

from ael.run.outcome import Outcome, Value
from tests.durable.programs import PLANS, Program, program
from tests.durable.world import Outside, Stage, to_the_end, uncertain, verify
from tests.journal.places import Place
from tests.postgres import PostgresServer

SETTINGS = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


class Crasher:
    """Crashes programs everywhere, and counts the crashed runs."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.crashed = 0
        self.doubtful = 0

    def everywhere(self, made: Program, *, parks_uncertain: bool, most: int = 10_000) -> None:
        stage = Stage(made, parks_uncertain)
        whole = Outside(stage)
        end, entries = to_the_end(self.place, whole, f"r{uuid4().hex}")
        verify(whole, entries)
        assert isinstance(end, Value), end
        points = [(at, 0) for at in range(1, whole.records + 1)] + [(0, at) for at in range(1, whole.acts + 1)]
        for record, act in points[:: max(1, len(points) // most)]:
            self.crash(whole, end, frozenset({record}), frozenset({act}))

    def crash(self, whole: Outside, end: Outcome, records: frozenset[int], acts: frozenset[int]) -> None:
        outside = Outside(whole.stage, records, acts)
        outcome, entries = to_the_end(self.place, outside, f"r{uuid4().hex}")
        verify(outside, entries)
        self.crashed += outside.crashes > 0
        assert isinstance(outcome, Value), outcome
        if uncertain(entries) or outside.settled_as_failed:
            self.doubtful += 1
            return
        assert outside.effects == whole.effects, "effects are lost, or were made twice"
        if outcome.plain is not None:
            assert outcome.plain == end.plain  # type: ignore[union-attr]


@pytest.mark.timeout(900)
@pytest.mark.feature("A8.6", "A8.9", "A8.10", "A8.11", "A12.6", "A12.7", "A12.8", "A12.9")
def test_crashed_everywhere_in_sqlite(tmp_path: Path) -> None:
    crasher = Crasher(Place("sqlite", tmp_path / "runs.db", ""))
    parks = iter(range(1_000_000))

    @settings(SETTINGS, max_examples=24)
    @given(PLANS)
    def explore(plan: list[tuple[str, object]]) -> None:
        shutil.rmtree(tmp_path, ignore_errors=True)
        crasher.everywhere(program(plan), parks_uncertain=next(parks) % 2 == 1)

    explore()
    assert crasher.crashed >= 1_000
    assert crasher.doubtful > 0


@pytest.mark.timeout(300)
def test_crashed_here_and_there_in_postgres(server: PostgresServer) -> None:
    crasher = Crasher(Place("postgres", None, server.create(f"t{uuid4().hex}")))

    @settings(SETTINGS, max_examples=6)
    @given(PLANS)
    def explore(plan: list[tuple[str, object]]) -> None:
        crasher.everywhere(program(plan), parks_uncertain=False, most=12)

    explore()
    assert crasher.crashed >= 50


def test_crashed_again_and_again(tmp_path: Path) -> None:
    place = Place("sqlite", tmp_path / "runs.db", "")
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
