"""The report for a terminal: a line for each case that is not simply good, the graders, the cost, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from ael.evals.summary import CaseResult, Summary

MOST_CASES = 200
WORDS = {"passed": "pass", "failed": "FAIL", "flaky": "flaky", "unjudged": "not judged"}


def money(cost: Decimal | None) -> str:
    """Money, as short as it can be said: `$0.0123`, or that it is not known."""
    if cost is None:
        return "unknown"
    if not cost:
        return "$0"
    text = f"{cost:.2f}" if cost >= 1 else f"{cost:.6f}".rstrip("0")
    return f"${text}" if Decimal(text) else "less than $0.000001"


def share(value: float | None) -> str:
    """A share or score: `0.875`, or that there is none."""
    return "-" if value is None else f"{value:.3f}"


def count(number: int, what: str) -> str:
    """`1 case`, `2 cases`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def word_of(case: CaseResult) -> str:
    """What to say of a case in one word."""
    if len(case.judged) < len(case.samples):
        return WORDS["unjudged"]
    if case.flaky:
        return WORDS["flaky"]
    return WORDS["passed"] if case.judged and case.passed == len(case.judged) else WORDS["failed"]


def reason_of(case: CaseResult) -> str:
    """Why the first sample that did not pass did not."""
    return next((one.reason for one in case.samples if not one.passed and one.reason), "")


def lines(summary: Summary, *, every: bool = False, outline: bool = False) -> Iterator[str]:
    """The report; `every`: with the cases that are good too, `outline`: without times."""
    found = [case for case in summary.cases if every or word_of(case) != WORDS["passed"]]
    width = max((len(case.case.id) for case in found[:MOST_CASES]), default=0)
    for case in found[:MOST_CASES]:
        change = summary.compared.changes.get(case.case.id) if summary.compared is not None else None
        told = f"  {word_of(case):<10}  {case.case.id:<{width}}  {case.passed}/{len(case.judged)}  {share(case.score)}"
        yield f"{told}  {change}" if change is not None and change != "same" else told
        reason = reason_of(case)
        if reason:
            yield from (f"              {line}" for line in reason.splitlines()[:6])
    if len(found) > MOST_CASES:
        yield f"  and {len(found) - MOST_CASES} more (`--html FILE` or `--format json` has all)"
    if found:
        yield ""
    for name, score in summary.graders.items():
        yield f"  {name:<20} {share(score)}"
    if summary.graders:
        yield ""
    judged = len(summary.judged)
    kept = f", {summary.ran.kept} kept" if summary.ran.kept else ""
    looked = f"{count(len(summary.cases), 'case')}, {count(judged, 'sample')} judged{kept}"
    yield f"{looked}; pass rate {share(summary.rate)}, score {share(summary.score)}"
    spent = f"cost {money(summary.cost)}, {summary.tokens:,} tokens"
    if summary.ran.kept:
        spent += f" (paid now: {money(summary.ran.paid)})"
    if not outline:
        spent += f"; time of a run: {summary.time(0.5):.2f} s median, {summary.time(0.95):.2f} s p95; {summary.ran.seconds:.1f} s in all"
    yield spent
    if summary.flaky:
        yield (
            f"{len(summary.flaky)} flaky: its samples disagree"
            if len(summary.flaky) == 1
            else (f"{len(summary.flaky)} flaky: their samples disagree")
        )
    yield from compared_lines(summary)
    if summary.unjudged:
        why = f": {summary.ran.stopped}" if summary.ran.stopped else ""
        yield f"{count(summary.unjudged, 'sample')} not judged{why}"
    yield from summary.misses if summary.verdict in ("failed", "drifted") else ()
    yield f"verdict: {summary.verdict}"


def compared_lines(summary: Summary) -> Iterator[str]:
    """How it stands to the baseline."""
    compared = summary.compared
    if compared is None:
        return
    counts = {kind: len(compared.of(kind)) for kind in ("drifted", "improved", "flaky", "new", "gone", "changed")}
    told = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count) or "nothing changed"
    yield f"against the baseline: {told}; drift {compared.drift:.1%}"
    if counts["drifted"] and any(len(one.judged) == 1 for one in summary.cases):
        yield "with one sample of a case, flaky cannot be told from drifted: `--samples 3`"
    if counts["improved"] and not counts["drifted"]:
        yield "what improved is no failure; `--save-baseline` makes it what is compared with"
