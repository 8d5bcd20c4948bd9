"""Print the language as data: words, declarations with their clauses, built-in functions, faults, diagnostics, the forms of its tree.

    ael language > language.json
    ael language --format typescript > language.ts

For editors and other tools, which read here what the compiler itself goes by. The same version gives the same text, to the byte; `form` is
another number when a field changes its meaning or goes away. `--format typescript` prints the types of the document. The language server
answers the request `ael/language` with it.
"""

from __future__ import annotations

import argparse
from importlib import import_module


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael language`."""
    parser.add_argument("--format", choices=("json", "typescript"), default="json", help="what to print (default: json)")


def run(args: argparse.Namespace) -> int:
    """Print it."""
    made = import_module("ael.editor.language")
    print(made.text() if args.format == "json" else made.typescript(), end="")
    return 0
