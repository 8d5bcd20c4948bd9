"""Compile a program. With `--emit python` print the Python that a module becomes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ael.cli.report import report
from ael.diagnostics.diagnostic import Bag
from ael.lower.emit import emit
from ael.lower.lower import lower
from ael.project.program import open_program


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael build`."""
    parser.add_argument("path", type=Path, metavar="FILE", help="the program")
    parser.add_argument(
        "--emit", choices=("digest", "python"), default="digest", help="what to print (default: the program's digest)"
    )
    parser.add_argument("--module", help="the module to print (default: the main one)")


def run(args: argparse.Namespace) -> int:
    """Compile."""
    bag = Bag()
    opened = open_program(args.path, bag)
    code = report(bag)
    if opened is None or code:
        return code or 2
    if args.emit == "digest":
        print(lower(opened.program).digest)
        return 0
    module = args.module or opened.program.main
    if module not in opened.program.modules:
        known = ", ".join(f"`{name}`" for name in opened.program.modules)
        print(f"ael build: there is no module `{module}`; there are {known}", file=sys.stderr)
        return 2
    print(emit(opened.program)[module], end="")
    return 0
