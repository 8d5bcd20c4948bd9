"""Run the `test` blocks of programs: scripted models and services, a clock of their own, no key, no network.

    ael test
    ael test main.ael --filter refund --fail-fast
    ael test -j 4 --durations 5 --junit out.xml
    ael test --coverage lcov --coverage-out lcov.info --coverage-min 90
    ael test --record --deploy eu            make the recorded sessions anew, with the deployment's models

Exit code 0 when all pass, 1 when one fails or too little is covered, 2 for a program that does not check or where there is no test.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from ael.cli.progress import clean
from ael.cli.report import report, use_colour
from ael.data import replace
from ael.diagnostics.diagnostic import Bag
from ael.testing.coverage import percent
from ael.testing.coverage_report import FORMATS
from ael.testing.coverage_report import report as coverage_text
from ael.testing.junit import junit
from ael.testing.runner import TIMEOUT, Settings, TestResult
from ael.testing.session import Ended, Plan, Suite, choose, last_failed, run_session


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael test`."""
    parser.add_argument("paths", nargs="*", type=Path, default=[Path()], metavar="PATH", help="files or folders (default: here)")
    which = parser.add_argument_group("which tests")
    which.add_argument("--filter", metavar="TEXT", help="run the tests whose title matches this regular expression")
    which.add_argument("--last-failed", action="store_true", help="run those that failed last; all, if none did")
    which.add_argument("--list", action="store_true", help="print the tests, one a line, and run none")
    which.add_argument("--doc", action="store_true", help="run the examples in doc comments too (not with `--watch`)")
    how = parser.add_argument_group("how")
    how.add_argument("-j", "--parallel", metavar="N", default="1", help="run so many at the same time; `auto`: one for each core")
    how.add_argument("--fail-fast", action="store_true", help="stop after the first that fails")
    how.add_argument("--seed", metavar="N", help="mix the order; `random` takes and tells a new number")
    how.add_argument(
        "--timeout", type=float, metavar="S", default=TIMEOUT, help=f"seconds that one may take (default {TIMEOUT:g})"
    )
    how.add_argument("--watch", action="store_true", help="run again what a change of a file may have broken")
    kept = parser.add_argument_group("what is kept beside the program")
    kept.add_argument("--update-snapshots", action="store_true", help="take the snapshots as they are now")
    kept.add_argument("--record", action="store_true", help="record the sessions of real models anew (needs their keys)")
    kept.add_argument("--deploy", metavar="NAME", help="under `deploy.NAME.ael`, whose models `--record` asks")
    told = parser.add_argument_group("what is told")
    told.add_argument(
        "--format", choices=("text", "json"), default="text", dest="form", help="`json`: a line for each on standard output"
    )
    told.add_argument("--junit", type=Path, metavar="FILE", help="write the results as JUnit XML")
    told.add_argument("--durations", type=int, metavar="N", default=0, help="tell the N that took longest")
    told.add_argument("--coverage", nargs="?", choices=FORMATS, const="text", help="which lines of AEL ran (default: as text)")
    told.add_argument("--coverage-out", type=Path, metavar="FILE", help="write the coverage to a file instead of standard output")
    told.add_argument("--coverage-min", type=float, metavar="PERCENT", help="fail when fewer lines ran")


def run(args: argparse.Namespace) -> int:
    """Run the tests."""
    plan = _plan(args)
    if isinstance(plan, str):
        print(f"ael test: {plan}", file=sys.stderr)
        return 2
    if args.watch:
        _watch(plan, args)
    return _once(plan, args)


def _plan(args: argparse.Namespace) -> Plan | str:
    """What the options ask for; a text says what is wrong with them."""
    try:
        re.compile(args.filter or "")
    except re.error as error:
        return f"`{args.filter}` is no regular expression: {error}"
    jobs = (os.cpu_count() or 1) if args.parallel == "auto" else int(args.parallel) if args.parallel.isdecimal() else 0
    if not 1 <= jobs <= 1_000:
        return "`--parallel` takes a number from 1 on, or `auto`"
    seed: int | None = None
    if args.seed == "random":
        seed = random.SystemRandom().randrange(1_000_000)
        print(f"--seed {seed}", file=sys.stderr)
    elif args.seed is not None:
        if not args.seed.isdecimal() or len(args.seed) > 18:
            return "`--seed` takes a number, or `random`"
        seed = int(args.seed)
    if not 0 < args.timeout < 1e6:
        return "`--timeout` takes seconds above 0"
    if args.coverage_min is not None and not 0 <= args.coverage_min <= 100:
        return "`--coverage-min` takes a percentage from 0 to 100"
    if args.durations < 0:
        return "`--durations` takes a number from 0 on"
    if args.doc and args.watch:
        return "`--doc` and `--watch` do not go together: `ael doc --watch` follows doc comments"
    if args.doc and find_spec("markdown_it") is None:
        return "doc comments are read by a package that is missing: `pip install 'ael-lang[doc]'`"
    if args.deploy is not None and not args.record:
        return "`--deploy` belongs to `--record`: other tests reach nothing of a deployment"
    coverage = args.coverage is not None or args.coverage_out is not None or args.coverage_min is not None
    return Plan(
        tuple(args.paths), args.filter or "", last_failed() or None if args.last_failed else None, jobs, args.fail_fast, seed,
        coverage, args.record, args.deploy, Settings(args.timeout, args.update_snapshots),
    )  # fmt: skip


def _once(plan: Plan, args: argparse.Namespace) -> int:
    bag = Bag()
    suite = Suite(plan.paths, bag, plan.deploy)
    code = report(bag)
    return code or _tested(suite, plan, args)


def _tested(suite: Suite, plan: Plan, args: argparse.Namespace) -> int:
    if args.list:
        return _listed(suite, plan, args)
    printer = _Json() if args.form == "json" else _Printer(use_colour())
    ended = run_session(suite, plan, printer)
    results = [*ended.results, *(_documented(plan, printer) if args.doc else ())]
    if args.junit is not None:
        args.junit.write_text(junit(results), encoding="utf-8")
    if not results:
        print("there is no test here" if args.filter is None else f"no test matches `{args.filter}`", file=sys.stderr)
        return 2
    for file, test, name in ended.orphans:
        print(f"unused: the snapshot `{clean(name)}` of the test `{clean(test)}` in {clean(file)}", file=sys.stderr)
    if ended.orphans:
        print("  = `ael test --update-snapshots` takes away what no test asks for", file=sys.stderr)
    _slowest(results, args.durations)
    failed, left = sum(one.problem is not None for one in results), ended.chosen - len(ended.results)
    more = f", {left} not run" if left else ""
    print(f"{len(results) - failed} passed, {failed} failed{more}", file=sys.stderr)
    return max(_covered(ended, plan, args), 1 if failed else 0)


def _documented(plan: Plan, told: Callable[[TestResult], None]) -> list[TestResult]:
    """Run the examples in doc comments whose title is chosen."""
    # What reads doc comments is loaded where somebody wants it.
    from ael.documenting.tests import run_documented

    wanted = re.compile(plan.pattern)
    return run_documented(plan.paths, Bag(), lambda name: wanted.search(name) is not None, told)


def _covered(ended: Ended, plan: Plan, args: argparse.Namespace) -> int:
    """Tell the coverage that was asked for; 1 where it is too little."""
    if not plan.coverage:
        return 0
    found = list(ended.coverage)
    if args.coverage is not None or args.coverage_out is not None:
        text = coverage_text(found, args.coverage or "text")
        if args.coverage_out is not None:
            args.coverage_out.write_text(text, encoding="utf-8")
        else:
            sys.stdout.write(text)
    share = percent(found)
    if args.coverage_min is not None and share < args.coverage_min:
        print(f"ael test: {int(share * 100) / 100:g}% of the lines ran, fewer than {args.coverage_min:g}%", file=sys.stderr)
        return 1
    return 0


def _listed(suite: Suite, plan: Plan, args: argparse.Namespace) -> int:
    tests = choose(suite, plan)
    for test in tests:
        if args.form == "json":
            print(json.dumps({"id": test.id, "name": test.name, "file": test.file, "line": test.line}, ensure_ascii=False))
        else:
            print(clean(test.id))
    if not tests:
        print("there is no test here" if args.filter is None else f"no test matches `{args.filter}`", file=sys.stderr)
    return 0 if tests else 2


def _slowest(results: Sequence[TestResult], most: int) -> None:
    for one in sorted(results, key=lambda one: -one.seconds)[:most]:
        print(f"{one.seconds:>8.3f} s  {clean(one.id)}", file=sys.stderr)


# --- watching ----------------------------------------------------------------------------------------------------------------


def _watch(plan: Plan, args: argparse.Namespace) -> NoReturn:
    """Run all, then after each change the tests of the programs that use what changed, and those that failed."""
    from ael.cli.watching import watch

    failed: set[str] = set()

    def act(changed: frozenset[Path]) -> list[Path]:
        bag = Bag()
        suite = Suite(plan.paths, bag, plan.deploy)
        if report(bag):
            return []
        narrowed = plan
        if changed:
            near = frozenset(test.id for test in suite.tests() if suite.uses(test, changed) or test.id in failed)
            wanted = near if plan.only is None else near & plan.only
            if not choose(suite, replace(plan, only=wanted)):
                print("no test uses what changed", file=sys.stderr)
                return []
            narrowed = replace(plan, only=wanted)
        printer = _Json() if args.form == "json" else _Printer(use_colour())

        def told(result: TestResult) -> None:
            printer(result)
            if result.problem is None:
                failed.discard(result.id)
            else:
                failed.add(result.id)

        ended = run_session(suite, narrowed, told)
        bad = len(ended.failed)
        print(f"{len(ended.results) - bad} passed, {bad} failed", file=sys.stderr)
        return []

    watch(plan.paths, act, again="testing again")


# --- telling -----------------------------------------------------------------------------------------------------------------


class _Printer:
    """For people, on standard error."""

    def __init__(self, colour: bool) -> None:
        self.good, self.bad, self.off = ("\x1b[32m", "\x1b[31m", "\x1b[0m") if colour else ("", "", "")

    def __call__(self, result: TestResult) -> None:
        if result.problem is None:
            print(f"{self.good}ok{self.off}    {clean(result.name)}", file=sys.stderr, flush=True)
            return
        print(f"{self.bad}FAIL{self.off}  {clean(result.name)}  ({result.file}:{result.line})", file=sys.stderr)
        for line in result.problem.splitlines():
            print(f"      {clean(line)}", file=sys.stderr, flush=True)


class _Json:
    """For other programs: a line for each test, on standard output."""

    def __call__(self, result: TestResult) -> None:
        told = {
            "id": result.id, "name": result.name, "file": Path(result.file).as_posix(), "line": result.line,
            "outcome": "passed" if result.problem is None else "failed", "seconds": round(result.seconds, 6), "problem": result.problem,
        }  # fmt: skip
        print(json.dumps(told, ensure_ascii=False), flush=True)
