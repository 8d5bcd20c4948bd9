"""Check programs and report every problem, in source order.

Exit code 0 when there is no error, else 2.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from ael.cli.report import FORMATS, report
from ael.diagnostics.diagnostic import Bag, Diagnostic
from ael.project.cache import CheckCache
from ael.project.program import check_paths, source_files
from ael.project.shipped import cache_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael check`."""
    parser.add_argument("paths", nargs="*", type=Path, default=[Path()], metavar="PATH", help="files or folders (default: here)")
    parser.add_argument("--fix", action="store_true", help="apply the fixes that are safe")
    parser.add_argument("--plan", action="store_true", help="show what `--fix` would change, as a diff, and change nothing")
    parser.add_argument(
        "--against-runs", action="store_true", help="say which live runs the programs would break as they are now (exit code 1)"
    )
    parser.add_argument("--watch", action="store_true", help="check again whenever a file changes")
    parser.add_argument(
        "--no-cache", action="store_true", help="check everything, also what did not change since it was checked last"
    )
    parser.add_argument("--format", choices=FORMATS, default="text", dest="form", help="how problems are printed")


def run(args: argparse.Namespace) -> int:
    """Check."""
    if args.watch:
        _watch(args)
    if args.against_runs:
        # Loaded here: looking at runs needs what runs them.
        from ael.cli.check_runs import against_runs

        return against_runs(args.paths)
    # Trees and tables live to the end: looking for garbage among them costs a tenth to a half of the work.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _once(args)
    finally:
        if collecting:
            gc.enable()


def _looked_at(args: argparse.Namespace, bag: Bag, *, cached: bool = True) -> int:
    """How many modules were checked. What a cache knows of files holds for one look at them."""
    evaluations = [path for path in args.paths if path.name.startswith("eval.") and path.is_file()]
    paths = [path for path in args.paths if path not in evaluations]
    evaluations += [file for path in paths if path.is_dir() for file in source_files(path) if file.name.startswith("eval.")]
    modules = check_paths(paths, bag, CheckCache(cache_folder()) if cached and not args.no_cache else None)
    if evaluations and not bag.errors:
        # What reads evaluations is loaded where there is one.
        from ael.evals.opening import open_evaluation

        for file in evaluations:
            open_evaluation(file, bag)
    return modules or len(evaluations)


def _once(args: argparse.Namespace, fixed: list[Path] | None = None) -> int:
    """Check once; `fixed` collects the files that were written."""
    bag = Bag()
    modules = _mended(args, bag, fixed) if args.fix or args.plan else _looked_at(args, bag)
    code = report(bag, args.form)
    if args.form == "text" and not bag.sorted():
        if modules:
            print(f"{modules} {'module' if modules == 1 else 'modules'} checked, no problems", file=sys.stderr)
        else:
            print("there is no `.ael` file here", file=sys.stderr)
            return 2
    return code


def _mended(args: argparse.Namespace, bag: Bag, fixed: list[Path] | None) -> int:
    """Apply the fixes that are safe, or show what they would change; then the bag has what is wrong afterwards, or is still."""
    # What applies fixes is loaded where somebody wants it.
    from ael.project.mend import Changed, mend, write

    looked: list[int] = []
    told: list[Sequence[Diagnostic]] = []

    def look() -> Sequence[Diagnostic]:
        # What a cache knows is of the files on the disk.
        found = Bag()
        looked.append(_looked_at(args, found, cached=False))
        told.append(found.sorted())
        return told[-1]

    mended = mend(look)
    if args.plan:
        sys.stdout.write("".join(change.diff() for change in mended.changes))
    else:
        try:
            write(mended.changes)
        except Changed as error:
            print(f"ael check: `{error}` changed meanwhile; nothing was written", file=sys.stderr)
            mended.left = told[0]
        else:
            for change in mended.changes:
                if fixed is not None:
                    fixed.append(change.path)
                print(f"fixed {change.before.name}", file=sys.stderr)
    for diagnostic in told[0] if args.plan else mended.left:
        bag.add(diagnostic)
    return looked[-1]


def _watch(args: argparse.Namespace) -> NoReturn:
    """Check, and again after every change, until it is interrupted."""
    # What follows dependencies is loaded where somebody watches.
    from ael.cli.watching import watch

    def act(changed: frozenset[Path]) -> Iterable[Path]:
        fixed: list[Path] = []
        _once(args, fixed)
        # What a fix wrote is no change of the user's.
        return fixed

    watch(args.paths, act, again="checking again")
