"""Calibration of a judge: what it says of outputs that people have labelled, and how far the two agree."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from ael.data import dataclass
from ael.evals.cases import Case
from ael.evals.grade import Grade
from ael.evals.lab import Lab
from ael.evals.observe import Observation
from ael.evals.plan import Grader, Judge
from ael.evals.report_text import count
from ael.evals.statistics import Confusion, best_threshold, confusion, mean


@dataclass(frozen=True)
class Calibrated:
    """One judge against the labels. `scores`: by case, None where it could not be asked. `suggested`: the `min` of most agreement, as the
    judge counts (`of` its best score); None without scores. `error`: the mean distance of scores from labels that are numbers."""

    grader: Grader
    scores: Mapping[str, float | None]
    reasons: Mapping[str, str]
    table: Confusion
    suggested: float | None
    at_suggested: Confusion | None
    error: float | None

    @property
    def of(self) -> float:
        """The best score of the judge."""
        return self.grader.check.of if isinstance(self.grader.check, Judge) else 1.0

    def plain(self) -> dict[str, object]:
        """As JSON."""
        table = self.table
        return {
            "grader": self.grader.name,
            "min": self.grader.least * self.of,
            "compared": table.compared,
            "unjudged": sum(score is None for score in self.scores.values()),
            "agreement": table.agreement,
            "kappa": table.kappa,
            "confusion": table._asdict(),
            "error": self.error,
            "suggested_min": None if self.suggested is None else self.suggested * self.of,
            "suggested_agreement": None if self.at_suggested is None else self.at_suggested.agreement,
            "scores": dict(self.scores),
            "reasons": dict(self.reasons),
        }


async def calibrate(lab: Lab, cases: Sequence[Case], jobs: int) -> list[Calibrated]:
    """Ask every judge of the evaluation about every labelled case."""
    judges = [one for one in lab.evaluation.graders if isinstance(one.check, Judge)]
    return [await _one(lab, judge, cases, jobs) for judge in judges]


async def _one(lab: Lab, judge: Grader, cases: Sequence[Case], jobs: int) -> Calibrated:
    alone = asyncio.Semaphore(max(1, jobs))
    found: dict[str, Grade] = {}

    async def ask(case: Case) -> None:
        async with alone:
            seen = Observation("value", "", "", case.output)
            found[case.id] = await lab.judge(judge, case, seen)

    async with asyncio.TaskGroup() as group:
        for case in cases:
            group.create_task(ask(case))
    scores = {case.id: found[case.id].score for case in cases}
    return compared(judge, cases, scores, {case.id: found[case.id].reason for case in cases})


def compared(
    judge: Grader, cases: Sequence[Case], scores: Mapping[str, float | None], reasons: Mapping[str, str] | None = None
) -> Calibrated:
    """The judge's scores against the labels; those that it could not give are left out."""
    pairs = [(score, case.label) for case in cases if (score := scores[case.id]) is not None]
    given = [score for score, _ in pairs]
    good = [label if isinstance(label, bool) else float(str(label)) >= judge.least - 1e-9 for _, label in pairs]
    numbers = [abs(score - float(str(label))) for score, label in pairs if not isinstance(label, bool)]
    best = best_threshold(given, good)
    table = confusion(given, good, judge.least)
    return Calibrated(
        judge, scores, reasons or {}, table, best, None if best is None else confusion(given, good, best), mean(numbers)
    )


def lines(one: Calibrated) -> list[str]:
    """The report for a terminal."""
    table, of = one.table, one.of
    unjudged = sum(score is None for score in one.scores.values())
    kappa = (
        "none: there is no variety to agree on" if table.kappa is None else f"{table.kappa:.3f} ({word_of_kappa(table.kappa)})"
    )
    told = [
        f"{one.grader.name}: {count(table.compared, 'output')}, min {one.grader.least * of:g}",
        f"  agreement {table.agreement:.3f}, Cohen's kappa {kappa}",
        f"  {'':<12} person yes  person no",
        f"  {'judge yes':<12} {table.both:>10}  {table.judge:>9}",
        f"  {'judge no':<12} {table.person:>10}  {table.neither:>9}",
    ]
    if one.error is not None:
        told.append(f"  mean distance of the scores {one.error:.3f}")
    if unjudged:
        told.append(f"  {count(unjudged, 'output')} not judged: {next(iter(filter(None, one.reasons.values())), '')}")
    if one.suggested is not None and one.at_suggested is not None:
        told.append(f"  most agreement ({one.at_suggested.agreement:.3f}) with `min: {one.suggested * of:.3g}`")
    return told


def word_of_kappa(kappa: float) -> str:
    """How a kappa is read (Landis and Koch, 1977)."""
    for least, word in ((0.8, "almost perfect"), (0.6, "substantial"), (0.4, "moderate"), (0.2, "fair"), (0.0, "slight")):
        if kappa > least:
            return word
    return "none"
