"""Running the samples of an evaluation: some at once, from one budget, until all are done, the budget is used up, or somebody stops it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from decimal import Decimal

from ael.data import dataclass
from ael.evals.cases import Case
from ael.evals.keep import Results
from ael.evals.lab import Lab, Sample
from ael.evals.observe import Observation

Told = Callable[[Sample, bool], None]
"""Hears of each sample as it ends, and whether it was kept from an earlier evaluation."""


@dataclass(frozen=True)
class Ran:
    """What came of all samples, by case and number. `paid`: what this evaluation itself spent, without what was kept; None: a price is
    unknown. `stopped`: why not everything was run, else empty. Seconds of wall time."""

    samples: tuple[Sample, ...]
    paid: Decimal | None
    seconds: float
    kept: int
    stopped: str = ""


async def run_all(lab: Lab, cases: Sequence[Case], samples: int, jobs: int, results: Results | None, told: Told) -> Ran:
    """Run each case so often. What is not run, because the budget is used up or somebody stopped it, is there as not judged.

    Raises what the lab raises: `HostError`, `KeepError`.
    """
    begun = time.perf_counter()
    # Sample by sample, not case by case: where it ends early, each case has been looked at before any is looked at twice.
    queue = [(case, number) for number in range(1, samples + 1) for case in cases]
    order = {
        (case.id, number): index for index, (case, number) in enumerate((c, n) for c in cases for n in range(1, samples + 1))
    }
    queue.reverse()
    done: list[Sample] = []
    paid: list[Decimal | None] = []
    kept = 0

    async def work() -> None:
        nonlocal kept
        while queue:
            case, number = queue.pop()
            found = results.sample(case, number) if results is not None else None
            if found is not None:
                kept += 1
                done.append(found)
                told(found, True)
                continue
            if lab.stopped:
                done.append(not_run(case, number, lab.stopped))
                continue
            earlier = results.observation(case, number) if results is not None else None
            made = await (lab.sample(case, number) if earlier is None else lab.grade(case, number, earlier.seen))
            spent = made.cost
            paid.append(spent if earlier is None or spent is None or earlier.seen.cost is None else spent - earlier.seen.cost)
            if made.seen.limited or _unaffordable(made):
                # What is left of the budget may be enough for a smaller call, and would then choose which cases are looked at.
                lab.finish(made.reason)
            elif results is not None:
                results.keep(case, made)
            done.append(made)
            told(made, False)

    async with asyncio.TaskGroup() as group:
        for _ in range(max(1, min(jobs, len(queue)))):
            group.create_task(work())
    done.sort(key=lambda one: order[one.case, one.number])
    total = None if None in paid else sum((cost for cost in paid if cost is not None), Decimal(0))
    return Ran(tuple(done), total, time.perf_counter() - begun, kept, lab.stopped)


def _unaffordable(sample: Sample) -> bool:
    return not sample.judged and any("BudgetExhausted: the evaluation has used" in grade.reason for grade in sample.grades)


def not_run(case: Case, number: int, reason: str) -> Sample:
    """A sample that was never run."""
    return Sample(case.id, number, Observation("fault", "Cancelled", reason, None, limited=True), (), False, False, None, reason)
