"""Apply the fixes that `ael check` knows, or show what they would change.

    ael fix                          the safe ones, here
    ael fix --plan                   what would change, as a diff; nothing is written
    ael fix --plan --format json     the same as data
    ael fix --code AEL1102           those of one code alone
    ael fix --ask                    the others too, each after a yes: what a misspelt name was to be, say

All fixes are applied in memory and checked again before a file is written. Exit code 0; with `--check` 1 when there is something to fix;
2 for bad usage, and for a program that would not check afterwards either.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from ael.cli.progress import clean
from ael.diagnostics.codes import TITLES
from ael.diagnostics.diagnostic import Bag, Diagnostic, Fix, Severity
from ael.diagnostics.fix import Wanted
from ael.project.mend import Changed, Mended, mend, write
from ael.project.program import check_paths


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael fix`."""
    parser.add_argument("paths", nargs="*", type=Path, default=[Path()], metavar="PATH", help="files or folders (default: here)")
    parser.add_argument("--plan", action="store_true", help="show what would change, as a diff, and change nothing")
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 1 when there is something to fix")
    parser.add_argument(
        "--code", action="append", metavar="CODE", dest="codes", help="apply fixes of this code alone; may be given again"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--unsafe", action="store_true", help="apply those too that guess what was meant")
    which.add_argument("--ask", action="store_true", help="ask before each of those that guess what was meant")
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", dest="form", help="how the plan is printed (default: text)"
    )


def run(args: argparse.Namespace) -> int:
    """Fix."""
    codes = {code.upper() for code in args.codes or ()}
    unknown = sorted(code for code in codes if code not in TITLES)
    if unknown:
        print(f"ael fix: there is no code `{clean(unknown[0])[:40]}`; `ael explain` lists them", file=sys.stderr)
        return 2
    if args.ask and not sys.stdin.isatty():
        print("ael fix: `--ask` needs somebody at a terminal; `--unsafe` applies all", file=sys.stderr)
        return 2
    modules = 0

    def look() -> Sequence[Diagnostic]:
        nonlocal modules
        bag = Bag()
        modules = check_paths(args.paths, bag)
        return bag.sorted()

    mended = mend(look, _wanted(args, codes))
    if not modules and not mended.left:
        print("there is no `.ael` file here", file=sys.stderr)
        return 2
    return _told(args, mended)


def _told(args: argparse.Namespace, mended: Mended) -> int:
    writes = not (args.plan or args.check)
    if args.plan or args.form == "json":
        sys.stdout.write(_plan(mended) if args.form == "json" else "".join(change.diff() for change in mended.changes))
    if writes:
        try:
            write(mended.changes)
        except Changed as error:
            print(f"ael fix: `{error}` changed meanwhile; nothing was written", file=sys.stderr)
            return 2
        for change in mended.changes:
            print(f"fixed {change.before.name}", file=sys.stderr)
    errors = sum(one.severity is Severity.ERROR for one in mended.left)
    warnings = len(mended.left) - errors
    print(_summary(mended, errors, warnings, writes=writes), file=sys.stderr)
    if args.check and mended.changes:
        return 1
    return 2 if errors else 0


def _summary(mended: Mended, errors: int, warnings: int, *, writes: bool) -> str:
    done = len(mended.applied)
    files = len(mended.changes)
    word = "applied" if writes else "to apply"
    text = f"{_count(done, 'fix', 'fixes')} {word} in {_count(files, 'file', 'files')}" if done else "nothing to fix"
    left = [_count(errors, "error", "errors")] * bool(errors) + [_count(warnings, "warning", "warnings")] * bool(warnings)
    return f"{text}; {' and '.join(left)} left, which `ael check` tells" if left else text


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def _wanted(args: argparse.Namespace, codes: set[str]) -> Wanted:
    answers: dict[tuple[str, str, str, str], bool] = {}

    def wanted(found: Diagnostic, fix: Fix) -> bool:
        if codes and found.code not in codes:
            return False
        if fix.safe or args.unsafe:
            return True
        return bool(args.ask) and _asked(found, fix, answers)

    return wanted


def _asked(found: Diagnostic, fix: Fix, answers: dict[tuple[str, str, str, str], bool]) -> bool:
    """Whether somebody wants a fix; each is asked about once, wherever others move it to."""
    source = found.place.source
    at = source.position(found.place.span.start)
    key = (found.code, source.name, found.message, re.sub(r"\s+", "", source.line(at.line)))
    if key not in answers:
        print(f"{clean(source.name)}:{at.line}:{at.column}: {clean(found.message)}", file=sys.stderr)
        print(f"  {clean(source.line(at.line).strip())}", file=sys.stderr)
        print(f"{clean(fix.title)}? [y]es, [n]o: ", end="", file=sys.stderr, flush=True)
        answers[key] = sys.stdin.readline().strip().lower() in ("y", "yes")
    return answers[key]


def _plan(mended: Mended) -> str:
    """`{"changes": […], "fixes": […], "left": […]}`."""
    changes = [{"file": one.before.name, "diff": one.diff(), "text": one.text} for one in mended.changes]
    data = {"changes": changes, "fixes": [_fix(one) for one in mended.applied], "left": [_problem(one) for one in mended.left]}
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def _problem(found: Diagnostic) -> dict[str, object]:
    at = found.place.source.position(found.place.span.start)
    return {
        "code": found.code, "severity": found.severity.value, "message": found.message, "file": found.place.source.name,
        "line": at.line, "column": at.column,
    }  # fmt: skip


def _fix(found: Diagnostic) -> dict[str, object]:
    assert found.fix is not None
    return {**_problem(found), "title": found.fix.title, "safe": found.fix.safe}
