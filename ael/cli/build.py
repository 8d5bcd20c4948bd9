"""Compile a program. With `--emit python` print the Python that a module becomes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ael.cli.opening import opened_or_told
from ael.lower.emit import emit
from ael.lower.lower import lower


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael build`."""
    parser.add_argument("path", type=Path, metavar="FILE", help="the program")
    parser.add_argument(
        "--emit", choices=("digest", "python"), default="digest", help="what to print (default: the program's digest)"
    )
    parser.add_argument("--module", help="the module to print (default: the main one)")


def run(args: argparse.Namespace) -> int:
    """Compile."""
    opened = opened_or_told(args.path)
    if isinstance(opened, int):
        return opened
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
