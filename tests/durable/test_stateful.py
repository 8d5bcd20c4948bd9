"""Workers, people and time in any order: see `stateful`."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.durable.stateful import Workers
from tests.journal.places import Place

EXAMPLES = {"sqlite": 40, "postgres": 24}


@pytest.mark.timeout(600)
@pytest.mark.feature("A12.6", "A12.7", "A12.10", "A8.11", "K27", "K29", "K37")
def test_workers_people_and_time_in_any_order(place: Place) -> None:
    examples = EXAMPLES[place.kind]
    machine = type("InStore", (Workers,), {"place": place, "seen": Counter()})
    chosen = settings(
        deadline=None,
        derandomize=True,
        database=None,
        max_examples=examples,
        stateful_step_count=20,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=chosen)
    seen = machine.seen  # type: ignore[attr-defined]
    assert seen["ends"] > 2 * examples
    assert seen["crashed runs"] > examples / 2
    assert seen["deaths"] > examples / 2
    assert seen["takeovers"] > examples / 4
    assert seen["races"] > examples / 4
