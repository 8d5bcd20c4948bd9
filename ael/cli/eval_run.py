"""Running an evaluation for the command line: samples as they come, signals, reports. Loaded only where there is something to run."""

from __future__ import annotations

import argparse
import asyncio
import re
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from ael.cli.eval_words import Misused, misused
from ael.cli.progress import clean
from ael.cli.report import tell, use_colour
from ael.cli.whom import whom
from ael.data import replace
from ael.evals import calibrate, report_data, report_html, report_text
from ael.evals.baseline import Baseline, BaselineError, load
from ael.evals.cases import Case, CasesError, Reader
from ael.evals.keep import KeepError, Results, keys_of
from ael.evals.known import known_of
from ael.evals.lab import Lab, Sample
from ael.evals.opening import OpenedEvaluation
from ael.evals.plan import Evaluation, Judge
from ael.evals.schedule import Ran, run_all
from ael.evals.summary import EXIT_CODES, Summary, now_of, summarize
from ael.hosting.failure import HostError
from ael.lower.lower import lower
from ael.lower.unit import CompiledUnit

T = TypeVar("T")


def evaluate(opened: OpenedEvaluation, args: argparse.Namespace) -> int:
    """Evaluate, or calibrate, and print what came of it. Gives the exit code."""
    try:
        opened = with_words(opened, args)
        cases = _cases(opened, args)
        if args.check:
            told = f"{report_text.count(len(cases), 'case')}, {report_text.count(len(opened.evaluation.graders), 'grader')}"
            print(f"{opened.evaluation.name}: {told}, no problems", file=sys.stderr)
            return 0
        if args.calibrate:
            return _calibrate(opened, cases, args)
        return _evaluate(opened, cases, args)
    except Misused as error:
        return misused(error)
    except CasesError as error:
        for code, message in error.problems:
            tell(code, clean(message))
        if error.more > 0:
            print(f"and {error.more} more", file=sys.stderr)
        return 2
    except (BaselineError, KeepError) as error:
        tell("AEL0955", clean(str(error)))
        return 2
    except HostError as error:
        tell(error.code, error.message, *error.notes)
        return 2
    except BaseExceptionGroup as group:
        for one in _flat(group):
            if isinstance(one, KeepError):
                tell("AEL0955", clean(str(one)))
                return 2
            if isinstance(one, HostError):
                tell(one.code, one.message, *one.notes)
                return 2
        raise


def _flat(group: BaseExceptionGroup[Any]) -> list[BaseException]:
    found: list[BaseException] = []
    for one in group.exceptions:
        found += _flat(one) if isinstance(one, BaseExceptionGroup) else [one]
    return found


def with_words(opened: OpenedEvaluation, args: argparse.Namespace) -> OpenedEvaluation:
    """The evaluation as the words of the command line make it. Raises `Misused`."""
    evaluation = opened.evaluation
    limits = evaluation.thresholds
    names = {one.name for one in evaluation.graders}
    by = dict(limits.graders)
    score = limits.score
    for name, least in args.min_score:
        if not name:
            score = least
        elif name in names:
            by[name] = least
        else:
            told = ", ".join(f"`{one}`" for one in sorted(names)) or "none"
            raise Misused(f"there is no grader `{name}`; the evaluation has {told}")
    limits = replace(
        limits, score=score, graders=by,
        passed=_said(args.min_pass, limits.passed), cost=_said(args.max_cost, limits.cost), p95=_said(args.max_p95, limits.p95),
        drift=_said(args.max_drift, limits.drift), flaky=_said(args.max_flaky, limits.flaky),
    )  # fmt: skip
    budget = evaluation.budget
    if args.budget is not None:
        # The command line can only tighten what the file allows.
        budget = replace(budget, cost=args.budget if budget.cost is None else min(args.budget, budget.cost))
    approvals = "approve" if args.approve else "deny" if args.deny else evaluation.approvals
    changed: Evaluation = replace(
        evaluation, thresholds=limits, budget=budget, approvals=approvals, golden=evaluation.golden or args.golden,
        samples=args.samples or evaluation.samples, jobs=args.jobs or evaluation.jobs,
    )  # fmt: skip
    return replace(opened, evaluation=changed)


def _said(word: T | None, else_: T) -> T:
    return else_ if word is None else word


def _cases(opened: OpenedEvaluation, args: argparse.Namespace) -> list[Case]:
    """The cases that are meant. Raises `CasesError` and `Misused`."""
    unit: CompiledUnit = lower(opened.graded.program)
    reader = Reader(opened, unit, known_of(opened))
    if args.calibrate:
        found = reader.read(args.labels, labelled=True)
        if args.check:
            found += reader.read(opened.cases)
    else:
        found = reader.read(opened.cases)
    wanted = re.compile(args.filter or "")
    chosen = [one for one in found if wanted.search(one.id) and (not args.tag or set(args.tag) & set(one.tags))]
    if not chosen:
        raise Misused("no case is meant: `--filter` and `--tag` leave none")
    return chosen


def _evaluate(opened: OpenedEvaluation, cases: list[Case], args: argparse.Namespace) -> int:
    baseline: Baseline | None = None if args.baseline is None else load(args.baseline)
    evaluation = opened.evaluation
    options = whom(opened.program.deployment, args)
    results = None if args.results is None else Results(args.results, keys_of(opened), resume=args.resume)
    told = Teller(len(cases) * evaluation.samples, quiet=args.quiet)

    async def go() -> tuple[Ran, int]:
        lab = Lab(opened, options, evaluation.budget)
        for warning in lab.host.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        try:
            ran, interrupted = await stoppable(
                lab, lambda: run_all(lab, cases, evaluation.samples, evaluation.jobs, results, told)
            )
        finally:
            await lab.close()
        return ran, interrupted

    try:
        ran, interrupted = asyncio.run(go())
    finally:
        told.end()
        if results is not None:
            results.close()
    deployment = opened.program.deployment.name
    summary = summarize(
        evaluation.name, evaluation.entry.partition(".")[2], deployment, cases, evaluation.thresholds, ran,
        baseline=baseline, golden=evaluation.golden, interrupted=bool(interrupted),
    )  # fmt: skip
    _save(summary, args.save_baseline)
    _print(summary, args)
    return 128 + interrupted if interrupted else EXIT_CODES[summary.verdict]


async def stoppable(lab: Lab, work: Callable[[], Coroutine[Any, Any, T]]) -> tuple[T, int]:
    """Do it; a signal stops the lab, so that what is done can be reported. Which one came, else 0; a second one ends at once."""
    loop = asyncio.get_running_loop()
    seen: list[int] = []

    def stop(number: int, frame: object) -> None:
        seen.append(number)
        if len(seen) > 1:
            raise KeyboardInterrupt
        loop.call_soon_threadsafe(lab.stop, "interrupted")

    before: dict[int, Any] = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            before[number] = signal.signal(number, stop)
        except ValueError:  # not in the main thread: whoever runs it there stops it
            continue
    try:
        return await work(), next(iter(seen), 0)
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _save(summary: Summary, file: Path | None) -> None:
    if file is None:
        return
    if summary.unjudged or summary.interrupted:
        print("ael eval: not everything was judged, so no baseline was saved", file=sys.stderr)
        return
    now_of(summary.cases).write(file, summary.name)
    print(f"wrote the baseline {file}", file=sys.stderr)


def _print(summary: Summary, args: argparse.Namespace) -> None:
    if args.html is not None:
        args.html.write_text(report_html.as_html(summary), encoding="utf-8")
        print(f"wrote {args.html}", file=sys.stderr)
    match args.form:
        case "json":
            print(report_data.as_json(summary))
        case "junit":
            sys.stdout.write(report_data.as_junit(summary))
        case "markdown":
            sys.stdout.write(report_data.as_markdown(summary))
        case _:
            for line in report_text.lines(summary, every=args.all, outline=args.outline):
                print(clean(line))


def _calibrate(opened: OpenedEvaluation, cases: list[Case], args: argparse.Namespace) -> int:
    if not any(isinstance(one.check, Judge) for one in opened.evaluation.graders):
        raise Misused("the evaluation has no judge to calibrate: `grader NAME = judge(NODE)`")
    options = whom(opened.program.deployment, args)

    async def go() -> tuple[list[calibrate.Calibrated], int]:
        lab = Lab(opened, options, opened.evaluation.budget)
        try:
            return await stoppable(lab, lambda: calibrate.calibrate(lab, cases, opened.evaluation.jobs))
        finally:
            await lab.close()

    found, interrupted = asyncio.run(go())
    if args.form == "json":
        import json

        print(json.dumps([one.plain() for one in found], ensure_ascii=False, indent=2))
    else:
        for one in found:
            for line in calibrate.lines(one):
                print(clean(line))
    if interrupted:
        return 128 + interrupted
    return 1 if any(None in one.scores.values() for one in found) else 0


class Teller:
    """Tells of each sample on standard error: one line that is written over on a terminal, a line for each failure elsewhere."""

    def __init__(self, count: int, *, quiet: bool) -> None:
        self._count = count
        self._quiet = quiet
        self._live = sys.stderr.isatty() and use_colour()
        self._done = 0
        self._failed = 0

    def __call__(self, sample: Sample, kept: bool) -> None:
        self._done += 1
        self._failed += not sample.passed
        if self._quiet:
            return
        if self._live:
            sys.stderr.write(f"\r\x1b[K{self._done}/{self._count} samples, {self._failed} not passed")
            sys.stderr.flush()
        elif not sample.passed:
            word = "fail" if sample.judged else "not judged"
            print(f"{word}  {clean(sample.case)} #{sample.number}: {clean(sample.reason)[:300]}", file=sys.stderr)

    def end(self) -> None:
        """Clear the line."""
        if self._live and not self._quiet:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
