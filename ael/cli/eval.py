"""Evaluate a program: run its cases against its deployment, grade what comes, compare it with a baseline, and say if it is enough.

    ael eval examples/evals
    ael eval examples/evals --samples 5 --min-score 0.8 --html report.html
    ael eval . --baseline base.json --results run.jsonl --resume
    ael eval calibrate . --labels labels.jsonl

What is evaluated stands in `eval.ael` beside the program (`--eval NAME`: `eval.NAME.ael`): cases, graders, thresholds.

Exit code 0 for the verdict `passed`; 1 for `failed` (a threshold is not met) and `incomplete` (not everything could be judged); 2 for
`drifted` (consistently otherwise than the baseline), and for bad usage and a program that does not check, which have no verdict; 130 for
`interrupted`, after a report of what was done.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from pathlib import Path

from ael.cli.eval_words import duration, money, share, shares
from ael.cli.report import report
from ael.diagnostics.diagnostic import Bag

FORMATS = ("text", "json", "junit", "markdown")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael eval`."""
    parser.add_argument(
        "words",
        nargs="*",
        metavar="PATH",
        help="the program, or its `eval.ael` (default: here); `calibrate PATH` measures its judges",
    )
    what = parser.add_argument_group("what is run")
    what.add_argument("--eval", metavar="NAME", dest="name", help="the evaluation `eval.NAME.ael`")
    what.add_argument("--deploy", metavar="NAME", help="use `deploy.NAME.ael`, whatever the evaluation says")
    what.add_argument("--filter", metavar="TEXT", help="the cases whose id matches this regular expression")
    what.add_argument(
        "--tag", action="append", default=[], metavar="TAG", help="the cases with this tag (several: with any of them)"
    )
    what.add_argument("--samples", type=_count(1_000), metavar="N", help="how often each case is run")
    what.add_argument("--jobs", type=_count(256), metavar="N", help="how many run at once")
    what.add_argument("--budget", type=money, metavar="MONEY", help="what all of it may cost, judges included (`$2`)")
    what.add_argument("--tenant", metavar="NAME", help="whose runs they are")
    what.add_argument("--caller", metavar="NAME", help="on whose behalf: a caller of the deployment")
    answer = what.add_mutually_exclusive_group()
    answer.add_argument("--approve", action="store_true", help="approve every call that needs it")
    answer.add_argument("--deny", action="store_true", help="deny every call that needs an approval")
    what.add_argument("--check", action="store_true", help="check the evaluation and its cases, and run nothing")
    enough = parser.add_argument_group("what is enough")
    enough.add_argument(
        "--min-pass", type=share, metavar="SHARE", help="the least pass rate (default 1, if nothing else is said)"
    )
    enough.add_argument(
        "--min-score", type=shares, action="append", default=[], metavar="[GRADER=]SCORE", help="the least mean score"
    )
    enough.add_argument("--max-cost", type=money, metavar="MONEY", help="the most that it may have cost")
    enough.add_argument(
        "--max-p95", type=duration, metavar="TIME", help="the most for the 95th percentile of a run's time (`30s`)"
    )
    enough.add_argument("--max-drift", type=share, metavar="SHARE", help="the share of cases that may drift (default 0)")
    enough.add_argument("--max-flaky", type=share, metavar="SHARE", help="the share of cases that may be flaky")
    kept = parser.add_argument_group("baselines and kept results")
    kept.add_argument("--baseline", type=Path, metavar="FILE", help="compare with this baseline")
    kept.add_argument("--save-baseline", type=Path, metavar="FILE", help="write the results as a baseline")
    kept.add_argument(
        "--golden", action="store_true", help="compare outputs with the baseline too, not only whether they are good"
    )
    kept.add_argument("--results", type=Path, metavar="FILE", help="keep each sample in this file as it comes")
    kept.add_argument("--resume", action="store_true", help="go on with `--results`: what did not change is not run again")
    shown = parser.add_argument_group("reports")
    shown.add_argument("--format", choices=FORMATS, default="text", dest="form", help="how the result is printed")
    shown.add_argument("--html", type=Path, metavar="FILE", help="write the report as a page")
    shown.add_argument("--outline", action="store_true", help="leave out what differs from run to run: times")
    shown.add_argument("--all", action="store_true", help="list the cases that passed too")
    shown.add_argument("--quiet", "-q", action="store_true", help="print nothing while it runs")
    shown.add_argument(
        "--watch", action="store_true", help="evaluate again whenever a file of the program changes, until interrupted"
    )
    parser.add_argument("--labels", type=Path, metavar="FILE", help="with `calibrate`: the labelled outputs (JSON lines, or CSV)")


def _count(most: int) -> type[int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,6}", text) or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"`{text}` is no number from 1 to {most}")
        return int(text)

    return read  # type: ignore[return-value]


def run(args: argparse.Namespace) -> int:
    """Evaluate."""
    from ael.cli.eval_words import Misused, misused

    words = list(args.words)
    args.calibrate = words[:1] == ["calibrate"]
    places = words[1:] if args.calibrate else words
    try:
        if len(places) > 1:
            raise Misused("it takes one program")
        args.path = Path(places[0]) if places else Path()
        _agree(args)
    except Misused as error:
        return misused(error)
    if not args.watch:
        return _once(args)
    # What watches is loaded where somebody watches.
    from ael.cli.watching import watch

    def act(changed: frozenset[Path]) -> Iterable[Path]:
        _once(args)
        return ()

    written = [file for file in (args.html, args.results, args.save_baseline) if file is not None]
    return watch([args.path], act, again="evaluating again", also=_beside(args), ignored=written)


def _agree(args: argparse.Namespace) -> None:
    from ael.cli.eval_words import Misused

    if args.calibrate != (args.labels is not None):
        raise Misused("`calibrate` takes the labelled outputs: `ael eval calibrate PATH --labels FILE`")
    if args.resume and args.results is None:
        raise Misused("`--resume` goes on with the file of `--results`")
    if args.golden and args.baseline is None:
        raise Misused("`--golden` belongs to `--baseline`")
    if args.filter is not None:
        try:
            re.compile(args.filter)
        except re.error as error:
            raise Misused(f"`{args.filter}` is no regular expression: {error}") from None
    if args.watch and args.results is not None and not args.resume:
        raise Misused("`--watch` with `--results` needs `--resume`")


def _beside(args: argparse.Namespace) -> list[Path]:
    """The files of cases, which may have any ending."""
    from ael.evals.opening import open_evaluation

    opened = open_evaluation(args.path, Bag(), name=args.name, deploy=args.deploy)
    files = [] if opened is None else [opened.cases]
    return files if args.labels is None else [*files, args.labels]


def _once(args: argparse.Namespace) -> int:
    from ael.evals.opening import open_evaluation

    bag = Bag()
    opened = open_evaluation(args.path, bag, name=args.name, deploy=args.deploy)
    code = report(bag)
    if opened is None or code:
        return code or 2
    # What runs is loaded only for an evaluation that checks.
    from ael.cli.eval_run import evaluate

    return evaluate(opened, args)
