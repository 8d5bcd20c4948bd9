"""What the samples of an evaluation come to: by case, by grader, in all; and whether that is enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Literal, cast

from ael.data import dataclass, field
from ael.evals.baseline import Baseline, Compared, Was, compare, output_of
from ael.evals.cases import Case
from ael.evals.lab import Sample
from ael.evals.plan import Thresholds
from ael.evals.schedule import Ran
from ael.evals.statistics import Interval, mean, percentile, wilson

Verdict = Literal["passed", "failed", "drifted", "incomplete", "interrupted"]
EXIT_CODES: Mapping[Verdict, int] = {"passed": 0, "failed": 1, "drifted": 2, "incomplete": 1, "interrupted": 130}
"""Verdict -> exit code of `ael eval`. Bad usage is 2 as well, without a verdict."""


@dataclass(frozen=True)
class CaseResult:
    """All samples of one case. `score` the mean of those judged, None where none was."""

    case: Case
    samples: tuple[Sample, ...]

    @property
    def judged(self) -> tuple[Sample, ...]:
        """Those that say something of the program."""
        return tuple([one for one in self.samples if one.judged])

    @property
    def passed(self) -> int:
        """How many passed."""
        return sum(one.passed for one in self.judged)

    @property
    def rate(self) -> float | None:
        """The share that passed."""
        return self.passed / len(self.judged) if self.judged else None

    @property
    def score(self) -> float | None:
        """The mean score."""
        return mean([one.score for one in self.judged if one.score is not None])

    @property
    def flaky(self) -> bool:
        """Whether its samples disagree among themselves."""
        return 0 < self.passed < len(self.judged)

    @property
    def interval(self) -> Interval:
        """Which true rates go with what was seen."""
        return wilson(self.passed, len(self.judged))


@dataclass(frozen=True)
class Summary:
    """An evaluation that was run. Shares and scores from 0 to 1, None where nothing was judged; money in US dollars, None: unknown."""

    name: str
    entry: str
    deployment: str
    cases: tuple[CaseResult, ...]
    thresholds: Thresholds
    ran: Ran
    compared: Compared | None = None
    graders: Mapping[str, float | None] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def judged(self) -> list[Sample]:
        """All samples that say something."""
        return [sample for case in self.cases for sample in case.judged]

    @property
    def unjudged(self) -> int:
        """How many samples say nothing."""
        return sum(len(case.samples) - len(case.judged) for case in self.cases)

    @property
    def rate(self) -> float | None:
        """The mean of the cases' pass rates: each case counts once, however often it was sampled."""
        return mean([case.rate for case in self.cases if case.rate is not None])

    @property
    def score(self) -> float | None:
        """The mean of the cases' scores."""
        return mean([case.score for case in self.cases if case.score is not None])

    @property
    def flaky(self) -> list[CaseResult]:
        """The cases whose samples disagree."""
        return [case for case in self.cases if case.flaky]

    @property
    def cost(self) -> Decimal | None:
        """What all judged samples cost, kept ones too."""
        costs = [sample.cost for case in self.cases for sample in case.samples]
        return None if None in costs else sum(cast("list[Decimal]", costs), Decimal(0))

    def time(self, share: float) -> float:
        """The percentile of the runs' seconds."""
        return percentile([sample.seen.seconds for sample in self.judged], share)

    @property
    def tokens(self) -> int:
        """Of all runs, without their judges."""
        return sum(sample.seen.tokens for sample in self.judged)

    @property
    def misses(self) -> list[str]:
        """The thresholds that are not met, in words."""
        limit = self.thresholds
        least = limit.passed
        if least is None and limit.score is None and not limit.graders:
            least = 1.0
        found = [
            *_under("the pass rate", self.rate, least),
            *_under("the score", self.score, limit.score),
            *(
                miss
                for name, low in limit.graders.items()
                for miss in _under(f"the score of `{name}`", self.graders.get(name), low)
            ),
        ]
        if limit.cost is not None and (self.cost is None or self.cost > limit.cost):
            told = "is not known" if self.cost is None else f"is ${self.cost}"
            found.append(f"the cost {told}, more than ${limit.cost}")
        if limit.p95 is not None and self.time(0.95) > limit.p95:
            found.append(f"the 95th percentile of the time is {self.time(0.95):.2f} s, more than {limit.p95:g} s")
        if limit.flaky is not None and self.cases and len(self.flaky) / len(self.cases) > limit.flaky:
            found.append(f"{len(self.flaky)} of {len(self.cases)} cases are flaky, more than {limit.flaky:.0%}")
        return found

    @property
    def drifted(self) -> bool:
        """Whether more of the cases drifted from the baseline than may."""
        return self.compared is not None and self.compared.drift > self.thresholds.drift + 1e-9

    @property
    def verdict(self) -> Verdict:
        """What to say of it. Drift goes before failure: it says that the program changed, not only that it is not good enough."""
        if self.interrupted:
            return "interrupted"
        if self.unjudged:
            return "incomplete"
        if self.drifted:
            return "drifted"
        return "failed" if self.misses else "passed"


def _under(what: str, found: float | None, least: float | None) -> list[str]:
    if least is None:
        return []
    if found is None:
        return [f"{what} is not known: nothing was judged"]
    return [f"{what} is {found:.3f}, less than {least:g}"] if found < least - 1e-9 else []


def summarize(
    name: str, entry: str, deployment: str, cases: Sequence[Case], thresholds: Thresholds, ran: Ran,
    *, baseline: Baseline | None = None, golden: bool = False, interrupted: bool = False,
) -> Summary:  # fmt: skip
    """The summary of what was run, compared with a baseline."""
    by: dict[str, list[Sample]] = {}
    for sample in ran.samples:
        by.setdefault(sample.case, []).append(sample)
    results = tuple([CaseResult(case, tuple(by.get(case.id, ()))) for case in cases])
    scores: dict[str, list[float]] = {}
    for result in results:
        own: dict[str, list[float]] = {}
        for sample in result.judged:
            for grade in sample.grades:
                if grade.score is not None:
                    own.setdefault(grade.name, []).append(grade.score)
        for grader, found in own.items():
            scores.setdefault(grader, []).append(sum(found) / len(found))
    compared = None if baseline is None else compare(baseline, now_of(results), golden=golden)
    graders = {grader: mean(found) for grader, found in scores.items()}
    return Summary(name, entry, deployment, results, thresholds, ran, compared, graders, interrupted)


def now_of(results: Sequence[CaseResult]) -> Baseline:
    """What a baseline of these results would be."""
    return Baseline(
        {
            one.case.id: Was(
                one.case.digest, len(one.judged), one.passed, one.score or 0.0,
                tuple(dict.fromkeys(output_of(sample.seen) for sample in one.judged)),
            )
            for one in results
            if one.judged
        }
    )  # fmt: skip
