"""Check programs and report every problem, in source order.

Exit code 0 when there is no error, else 2.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Iterable
from difflib import unified_diff
from pathlib import Path
from typing import NoReturn

from ael.cli.report import FORMATS, report
from ael.diagnostics.diagnostic import Bag
from ael.diagnostics.fix import apply
from ael.project.cache import CheckCache
from ael.project.program import check_paths, source_files
from ael.project.shipped import cache_folder

_ROUNDS = 8
"""How often fixes are applied and the result checked again: one fix may uncover the next."""


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


def _looked_at(args: argparse.Namespace, bag: Bag) -> int:
    """How many modules were checked. What a cache knows of files holds for one look at them."""
    evaluations = [path for path in args.paths if path.name.startswith("eval.") and path.is_file()]
    paths = [path for path in args.paths if path not in evaluations]
    evaluations += [file for path in paths if path.is_dir() for file in source_files(path) if file.name.startswith("eval.")]
    modules = check_paths(paths, bag, None if args.no_cache else CheckCache(cache_folder()))
    if evaluations and not bag.errors:
        # What reads evaluations is loaded where there is one.
        from ael.evals.opening import open_evaluation

        for file in evaluations:
            open_evaluation(file, bag)
    return modules or len(evaluations)


def _once(args: argparse.Namespace, fixed: list[Path] | None = None) -> int:
    """Check once; `fixed` collects the files that were written."""
    bag = Bag()
    modules = _looked_at(args, bag)
    if args.plan:
        _plan(bag)
    elif args.fix:
        for _ in range(_ROUNDS):
            changed = apply(bag.sorted())
            if not changed:
                break
            for source, text in changed.items():
                if source.path is not None:
                    source.path.write_text(text, encoding="utf-8", newline="")
                    if fixed is not None:
                        fixed.append(source.path)
                    print(f"fixed {source.name}", file=sys.stderr)
            bag = Bag()
            modules = _looked_at(args, bag)
    code = report(bag, args.form)
    if args.form == "text" and not bag.sorted():
        if modules:
            print(f"{modules} {'module' if modules == 1 else 'modules'} checked, no problems", file=sys.stderr)
        else:
            print("there is no `.ael` file here", file=sys.stderr)
            return 2
    return code


def _plan(bag: Bag) -> None:
    """Print what the first round of fixes would change."""
    for source, text in apply(bag.sorted()).items():
        lines = unified_diff(source.text.splitlines(keepends=True), text.splitlines(keepends=True), source.name, source.name)
        sys.stdout.writelines(line if line.endswith("\n") else f"{line}\n" for line in lines)


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
