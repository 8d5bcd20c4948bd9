"""Run the `test` blocks of programs, with scripted models: no key, no network.

Exit code 0 when all pass, 1 when one fails, 2 for a program that does not check or where there is no test.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from ael.cli.progress import clean
from ael.cli.report import report, use_colour
from ael.diagnostics.diagnostic import Bag
from ael.project.program import programs
from ael.testing.junit import junit
from ael.testing.runner import TestResult, run_tests


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael test`."""
    parser.add_argument("paths", nargs="*", type=Path, default=[Path()], metavar="PATH", help="files or folders (default: here)")
    parser.add_argument("--filter", metavar="TEXT", help="run the tests whose title matches this regular expression")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write the results as JUnit XML")


def run(args: argparse.Namespace) -> int:
    """Run the tests."""
    bag = Bag()
    opened = list(programs(args.paths, bag))
    code = report(bag)
    if code:
        return code
    try:
        wanted = re.compile(args.filter or "")
    except re.error as error:
        print(f"ael test: `{args.filter}` is no regular expression: {error}", file=sys.stderr)
        return 2
    printer = _Printer(use_colour())
    results = [r for one in opened for r in run_tests(one, lambda name: wanted.search(name) is not None, printer)]
    if args.junit is not None:
        args.junit.write_text(junit(results), encoding="utf-8")
    failed = sum(r.problem is not None for r in results)
    if not results:
        print("there is no test here" if args.filter is None else f"no test matches `{args.filter}`", file=sys.stderr)
        return 2
    print(f"{len(results) - failed} passed, {failed} failed", file=sys.stderr)
    return 1 if failed else 0


class _Printer:
    def __init__(self, colour: bool) -> None:
        self.good, self.bad, self.off = ("\x1b[32m", "\x1b[31m", "\x1b[0m") if colour else ("", "", "")

    def __call__(self, result: TestResult) -> None:
        if result.problem is None:
            print(f"{self.good}ok{self.off}    {clean(result.name)}", file=sys.stderr)
            return
        print(f"{self.bad}FAIL{self.off}  {clean(result.name)}  ({result.file}:{result.line})", file=sys.stderr)
        for line in result.problem.splitlines():
            print(f"      {clean(line)}", file=sys.stderr)
