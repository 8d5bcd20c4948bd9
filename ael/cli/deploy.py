"""Check a deployment, and say what it binds to what, and what is left to the defaults.

    ael deploy check
    ael deploy check examples/support/deploy.real.ael
    ael deploy check examples/support --deploy real --format json

Every mistake is told, as `ael check` tells those of a program. Nothing is connected, no key is needed, and no secret is shown: only
whether a variable is set.
Exit code 0, or 2 with a mistake.
"""

from __future__ import annotations

import argparse
import json
from importlib import import_module
from pathlib import Path

from ael.cli.report import report
from ael.diagnostics.diagnostic import Bag
from ael.project.program import open_program


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael deploy`."""
    parser.add_argument("action", choices=("check",), help="what to do")
    parser.add_argument(
        "path",
        type=Path,
        nargs="?",
        default=Path(),
        metavar="FILE",
        help="a deployment, a source file, or a folder with a `main.ael`",
    )
    parser.add_argument("--deploy", metavar="NAME", help="check `deploy.NAME.ael`")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to say it (default: text)")


def run(args: argparse.Namespace) -> int:
    """Check."""
    path, name = args.path, args.deploy
    if path.is_file() and path.name.startswith("deploy.") and path.suffix == ".ael":
        name = path.name.removeprefix("deploy").removesuffix(".ael").strip(".") or None
        path = path.parent
    opened = open_program(path, bag := Bag(), deploy=name)
    if opened is None or bag.errors:
        return report(bag, args.format) or 2
    report(bag)
    rows = import_module("ael.hosting.summary").summary(opened)
    if args.format == "json":
        print(json.dumps([row.plain() for row in rows], ensure_ascii=False, indent=2))
        return 0
    wide = max((len(f"{row.kind} {row.name}".strip()) for row in rows), default=0)
    for row in rows:
        print(f"{f'{row.kind} {row.name}'.strip():<{wide}}  {row.bound}{'' if row.said else '  (default)'}")
    return 0
