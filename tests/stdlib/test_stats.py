"""What lists of numbers say, against Python's `statistics`."""

from __future__ import annotations

import statistics
from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.stdlib.functions import module

stats = module("stats")
pytestmark = [pytest.mark.feature("A15.9")]
STEPS = st.integers(-1_000, 1_000).map(lambda n: n / 8)
"""Numbers whose sums are exact."""
LISTS = st.lists(STEPS, min_size=1, max_size=30)
PAIRS = st.lists(st.tuples(STEPS, STEPS), min_size=2, max_size=30)


def near(wanted: float) -> object:
    return pytest.approx(wanted, rel=1e-9, abs=1e-9)


@given(LISTS)
def test_middle_and_spread(numbers: list[float]) -> None:
    assert stats.sum(numbers) == sum(numbers)
    assert stats.mean(numbers) == statistics.mean(numbers)
    assert stats.median(numbers) == near(statistics.median(numbers))
    assert stats.variance(numbers) == near(statistics.pvariance(numbers))
    assert stats.deviation(numbers) == near(statistics.pstdev(numbers))
    assert stats.modes(numbers) == sorted(statistics.multimode(numbers))
    if len(numbers) > 1:
        assert stats.sample_variance(numbers) == near(statistics.variance(numbers))
        assert stats.sample_deviation(numbers) == near(statistics.stdev(numbers))


@given(st.lists(STEPS, min_size=2, max_size=30), st.integers(1, 99))
def test_percentiles(numbers: list[float], percent: int) -> None:
    cuts = statistics.quantiles(numbers, n=100, method="inclusive")
    assert stats.percentile(numbers, float(percent)) == near(cuts[percent - 1])
    assert stats.percentile(numbers, 0.0) == min(numbers)
    assert stats.percentile(numbers, 100.0) == max(numbers)
    told = stats.summary(numbers)
    assert (told["min"], told["max"], told["count"]) == (min(numbers), max(numbers), len(numbers))
    assert [told["lower"], told["median"], told["upper"]] == near([cuts[24], cuts[49], cuts[74]])  # type: ignore[arg-type]


@given(PAIRS)
def test_two_lists(pairs: list[tuple[float, float]]) -> None:
    xs, ys = [x for x, _ in pairs], [y for _, y in pairs]
    assert stats.covariance(xs, ys) == near(statistics.covariance(xs, ys) * (len(xs) - 1) / len(xs))
    if len(set(xs)) == 1:
        assert stats.linear_regression(xs, ys) is None
        assert stats.correlation(xs, ys) is None
        return
    line = stats.linear_regression(xs, ys)
    wanted = statistics.linear_regression(xs, ys)
    assert (line["slope"], line["intercept"]) == near((wanted.slope, wanted.intercept))  # type: ignore[arg-type]
    assert 0.0 <= line["fit"] <= 1.0
    assume(len(set(ys)) > 1)
    assert stats.correlation(xs, ys) == near(statistics.correlation(xs, ys))
    assert stats.rank_correlation(xs, ys) == near(statistics.correlation(ranked(xs), ranked(ys)))


def ranked(numbers: list[float]) -> list[float]:
    return [sum(y < x for y in numbers) + (sum(y == x for y in numbers) + 1) / 2 for x in numbers]


@given(LISTS)
def test_ranks_and_scores(numbers: list[float]) -> None:
    assert stats.ranks(numbers) == ranked(numbers)
    scores = stats.z_scores(numbers)
    if len(set(numbers)) == 1:
        assert scores is None
    else:
        assert stats.mean(scores) == near(0.0)
        assert stats.deviation(scores) == near(1.0)


@given(LISTS, st.integers(1, 12))
def test_a_histogram_counts_each_number_once(numbers: list[float], parts: int) -> None:
    bins = stats.histogram(numbers, parts)
    assert sum(one["count"] for one in bins) == len(numbers)
    assert (bins[0]["low"], bins[-1]["high"]) == (min(numbers), max(numbers))
    for one in bins[:-1]:
        assert one["count"] == sum(one["low"] <= x < one["high"] for x in numbers)


@given(LISTS, st.integers(1, 8))
def test_the_moving_average_is_that_of_each_window(numbers: list[float], size: int) -> None:
    windows = [numbers[i : i + size] for i in range(len(numbers) - size + 1)]
    assert stats.moving_average(numbers, size) == [statistics.mean(window) for window in windows]


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=12))
def test_other_means(numbers: list[float]) -> None:
    assert stats.geometric_mean(numbers) == near(statistics.geometric_mean(numbers))
    weights = [float(i + 1) for i in range(len(numbers))]
    assert stats.weighted_mean(numbers, weights) == near(statistics.fmean(numbers, weights))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=8))
def test_any_numbers_end_in_a_number_or_null(numbers: list[float]) -> None:
    for name in (
        "sum",
        "mean",
        "median",
        "variance",
        "sample_variance",
        "deviation",
        "geometric_mean",
        "summary",
        "ranks",
        "modes",
    ):
        getattr(stats, name)(numbers)
    stats.correlation(numbers, numbers[::-1])
    stats.linear_regression(numbers, numbers[::-1])
    assert sum(one["count"] for one in stats.histogram(numbers, 7)) == len(numbers)
    assert Counter(map(len, [stats.moving_average(numbers, 2)])) == {max(len(numbers) - 1, 0): 1}
