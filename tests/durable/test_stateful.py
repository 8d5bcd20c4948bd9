"""Workers, people and time in any order: see `stateful`."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.durable.stateful import Workers, seen


@pytest.mark.timeout(600)
@pytest.mark.feature("A12.6", "A12.7", "A8.11")
def test_workers_people_and_time_in_any_order() -> None:
    chosen = settings(
        deadline=None,
        derandomize=True,
        database=None,
        max_examples=40,
        stateful_step_count=20,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Workers, settings=chosen)
    assert seen["deaths"] > 40
    assert seen["takeovers"] > 20
    assert seen["ends"] > 80
