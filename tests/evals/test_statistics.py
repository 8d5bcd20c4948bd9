"""Intervals, percentiles and agreement against values that were worked out by hand, and against what must hold of all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.evals.baseline import Was, change
from ael.evals.statistics import Interval, best_threshold, confusion, mean, percentile, wilson


@pytest.mark.parametrize(
    ("passed", "count", "low", "high"),
    [
        (0, 0, 0.0, 1.0),
        (0, 1, 0.0, 0.7935),
        (1, 1, 0.2065, 1.0),
        (5, 10, 0.2366, 0.7634),
        (8, 10, 0.4902, 0.9433),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_the_wilson_interval_of_known_shares(passed: int, count: int, low: float, high: float) -> None:
    found = wilson(passed, count)
    assert found.low == pytest.approx(low, abs=6e-5)
    assert found.high == pytest.approx(high, abs=6e-5)


@given(st.integers(0, 500), st.integers(1, 500))
def test_a_wilson_interval_holds_the_share_and_is_symmetric(passed: int, more: int) -> None:
    count = passed + more
    found, other = wilson(passed, count), wilson(more, count)
    assert 0 <= found.low <= passed / count <= found.high <= 1
    assert found.low == pytest.approx(1 - other.high)
    assert wilson(passed * 10, count * 10).high - wilson(passed * 10, count * 10).low <= found.high - found.low + 1e-12


def test_intervals_overlap_where_they_have_a_point_in_common() -> None:
    assert Interval(0, 0.5).overlaps(Interval(0.5, 1))
    assert not Interval(0, 0.4).overlaps(Interval(0.5, 1))
    assert Interval(0, 1).overlaps(Interval(0.2, 0.3))


@pytest.mark.parametrize(("share", "value"), [(0.0, 1), (0.5, 3), (0.95, 5), (1.0, 5), (0.2, 1), (0.21, 2)])
def test_percentiles_by_nearest_rank(share: float, value: float) -> None:
    assert percentile([5, 1, 4, 2, 3], share) == value


def test_of_nothing_there_is_no_mean() -> None:
    assert mean([]) is None
    assert percentile([], 0.5) == 0.0
    assert mean([0.1] * 10) == 0.1


@pytest.mark.feature("A18.6")
def test_cohens_kappa_of_a_known_table() -> None:
    # The example of the textbooks: 50 grants, 20 twice yes, 15 twice no, 5 and 10 between.
    scores = [1.0] * 25 + [0.0] * 25
    labels = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    table = confusion(scores, labels, 0.5)
    assert table == (20, 5, 10, 15)
    assert table.agreement == pytest.approx(0.7)
    assert table.kappa == pytest.approx(0.4)


def test_there_is_no_kappa_where_both_always_say_the_same_one_thing() -> None:
    assert confusion([1.0, 1.0], [True, True], 0.5).kappa is None
    assert confusion([], [], 0.5).kappa is None
    assert confusion([1.0, 0.0], [False, True], 0.5).kappa == pytest.approx(-1.0)


def test_the_threshold_of_most_agreement_lies_between_the_two_kinds() -> None:
    assert best_threshold([0.2, 0.4, 0.8, 1.0], [False, False, True, True]) == pytest.approx(0.6)
    assert best_threshold([], []) is None
    low = best_threshold([0.5, 0.6], [False, False])
    assert low is not None
    assert confusion([0.5, 0.6], [False, False], low).agreement == 1


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=30))
def test_no_threshold_agrees_more_than_the_suggested_one(pairs: list[tuple[float, bool]]) -> None:
    scores, labels = [score for score, _ in pairs], [label for _, label in pairs]
    best = best_threshold(scores, labels)
    assert best is not None
    found = confusion(scores, labels, best).agreement
    assert all(confusion(scores, labels, one).agreement <= found + 1e-9 for one in scores)


def was(passed: int, count: int, *outputs: str) -> Was:
    return Was("digest", count, passed, passed / count, outputs)


@pytest.mark.feature("A18.6")
@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ((5, 5), (5, 5), "same"),
        ((5, 5), (4, 5), "flaky"),
        ((5, 5), (0, 5), "drifted"),
        ((1, 1), (0, 1), "drifted"),
        ((0, 5), (5, 5), "improved"),
        ((0, 1), (0, 1), "same"),
        ((3, 6), (3, 6), "flaky"),
        ((50, 50), (20, 50), "drifted"),
        ((20, 50), (50, 50), "improved"),
        ((25, 50), (20, 50), "flaky"),
        ((2, 4), (0, 4), "same"),
    ],
)
def test_flaky_is_told_from_drifted(before: tuple[int, int], now: tuple[int, int], told: str) -> None:
    assert change(was(*before), was(*now)) == told


@pytest.mark.feature("A18.6")
def test_goldens_drift_where_all_samples_agree_on_something_new() -> None:
    assert change(was(3, 3, "a"), was(3, 3, "b")) == "same"
    assert change(was(3, 3, "a"), was(3, 3, "b"), golden=True) == "drifted"
    assert change(was(3, 3, "a", "b"), was(3, 3, "b"), golden=True) == "same"
    assert change(was(3, 3, "a"), was(3, 3, "b", "c"), golden=True) == "same"


@given(st.integers(0, 40), st.integers(1, 40), st.integers(0, 40), st.integers(1, 40))
def test_nothing_that_stayed_the_same_drifted(a: int, b: int, c: int, d: int) -> None:
    one = was(min(a, b), b)
    assert change(one, one) in ("same", "flaky")
    other = was(min(c, d), d)
    there, back = change(one, other), change(other, one)
    assert (there == "drifted") == (back == "improved")
