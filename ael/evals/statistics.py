"""The numbers of an evaluation: intervals, percentiles, agreement. Plain functions of plain numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

Z95 = 1.959963984540054
"""The normal quantile of a two-sided interval of 95 %."""


class Interval(NamedTuple):
    """A closed interval."""

    low: float
    high: float

    def overlaps(self, other: Interval) -> bool:
        """Whether they have a point in common."""
        return self.low <= other.high and other.low <= self.high


def wilson(passed: int, count: int, z: float = Z95) -> Interval:
    """The Wilson score interval of a share: which true shares go with `passed` of `count`. Everything, for a count of 0."""
    if count <= 0:
        return Interval(0.0, 1.0)
    share, square = passed / count, z * z
    middle = share + square / (2 * count)
    spread = z * math.sqrt(share * (1 - share) / count + square / (4 * count * count))
    below = 1 + square / count
    return Interval(max(0.0, (middle - spread) / below), min(1.0, (middle + spread) / below))


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile: the smallest value that `share` of them do not exceed. 0 for none."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def mean(values: Sequence[float]) -> float | None:
    """The arithmetic mean; None for none."""
    return math.fsum(values) / len(values) if values else None


class Confusion(NamedTuple):
    """How often a judge and a person said yes: both, the judge alone, the person alone, neither."""

    both: int
    judge: int
    person: int
    neither: int

    @property
    def compared(self) -> int:
        """How many were compared."""
        return self.both + self.judge + self.person + self.neither

    @property
    def agreement(self) -> float:
        """The share on which they agree; 0 for none."""
        return (self.both + self.neither) / self.compared if self.compared else 0.0

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa: the agreement beyond what chance would give. None where it means nothing: both always said the same one thing."""
        if not self.compared:
            return None
        judge = (self.both + self.judge) / self.compared
        person = (self.both + self.person) / self.compared
        chance = judge * person + (1 - judge) * (1 - person)
        return None if chance >= 1 else (self.agreement - chance) / (1 - chance)


def confusion(scores: Sequence[float], labels: Sequence[bool], least: float) -> Confusion:
    """How a judge that passes from `least` on stands to the labels."""
    pairs = [(score >= least - 1e-9, label) for score, label in zip(scores, labels, strict=True)]
    return Confusion(*(pairs.count(kind) for kind in ((True, True), (True, False), (False, True), (False, False))))


def best_threshold(scores: Sequence[float], labels: Sequence[bool]) -> float | None:
    """The threshold of most agreement with the labels: half way between two scores, the middle one of equals. None for no scores."""
    if not scores:
        return None
    ordered = sorted(set(scores))
    candidates = [ordered[0], *((low + high) / 2 for low, high in pairwise(ordered))]
    if ordered[-1] < 1:
        candidates.append((ordered[-1] + 1) / 2)
    agreed = [confusion(scores, labels, one).agreement for one in candidates]
    best = [one for one, agreement in zip(candidates, agreed, strict=True) if agreement >= max(agreed) - 1e-12]
    return best[(len(best) - 1) // 2]
