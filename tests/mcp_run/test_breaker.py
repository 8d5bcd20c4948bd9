"""The breaker of one tool: when it opens, what it lets through, and how it closes (A9.20, K45)."""

from __future__ import annotations

import pytest

from ael.run.breaker import Breaker, Open, Pass, Thresholds
from tests.run.fakes import FakeClock


def _bad(breaker: Breaker, times: int) -> None:
    for _ in range(times):
        passed = breaker.admit()
        assert isinstance(passed, Pass)
        breaker.end(passed, "bad")


@pytest.mark.feature("A9.20")
def test_five_failures_open_it_for_thirty_seconds_and_two_successes_close_it() -> None:
    clock = FakeClock()
    breaker = Breaker(clock, Thresholds())
    _bad(breaker, 4)
    assert breaker.state == "closed"
    _bad(breaker, 1)
    refused = breaker.admit()
    assert refused == Open(30.0, 5)
    clock.advance(29.9)
    assert isinstance(breaker.admit(), Open)
    clock.advance(0.2)
    for state in ("half open", "closed"):
        passed = breaker.admit()
        assert isinstance(passed, Pass)
        breaker.end(passed, "good")
        assert breaker.state == state
    _bad(breaker, 4)
    assert breaker.state == "closed", "a closed breaker counts from nothing"


def test_only_failures_in_a_row_count() -> None:
    breaker = Breaker(FakeClock(), Thresholds(failures=2))
    for outcome in ("bad", "good", "bad", "neither", "good", "bad"):
        passed = breaker.admit()
        assert isinstance(passed, Pass)
        breaker.end(passed, outcome)
    assert breaker.state == "closed"


def test_one_probe_at_a_time_and_a_failed_one_opens_it_again() -> None:
    clock = FakeClock()
    breaker = Breaker(clock, Thresholds(failures=1, cooldown=10))
    _bad(breaker, 1)
    clock.advance(10)
    probe = breaker.admit()
    assert probe == Pass(True)
    assert all(isinstance(breaker.admit(), Open) for _ in range(20))
    breaker.end(probe, "bad")
    assert breaker.admit() == Open(10.0, 1)


def test_a_probe_that_was_given_up_lets_the_next_one_through() -> None:
    clock = FakeClock()
    breaker = Breaker(clock, Thresholds(failures=1, cooldown=10))
    _bad(breaker, 1)
    clock.advance(10)
    probe = breaker.admit()
    assert isinstance(probe, Pass)
    breaker.end(probe, "neither")
    assert breaker.admit() == Pass(True)


def test_a_call_from_before_it_opened_changes_nothing() -> None:
    breaker = Breaker(FakeClock(), Thresholds(failures=1))
    early = breaker.admit()
    assert isinstance(early, Pass)
    _bad(breaker, 1)
    breaker.end(early, "good")
    assert breaker.state == "open"


def test_cancels_and_refusals_never_open_it() -> None:
    """K45: 100 cancels and 100 answers of 400."""
    breaker = Breaker(FakeClock(), Thresholds())
    for _ in range(200):
        passed = breaker.admit()
        assert isinstance(passed, Pass)
        breaker.end(passed, "neither")
    assert breaker.state == "closed"


def test_zero_failures_let_nothing_through() -> None:
    assert Breaker(FakeClock(), Thresholds(failures=0)).admit() == Open(None, 0)
