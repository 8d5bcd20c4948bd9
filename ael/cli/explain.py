"""Explain a diagnostic code: what it means, a wrong and a right example.

Without a code, lists them all.
"""

from __future__ import annotations

import argparse
import sys
from difflib import get_close_matches

from ael.diagnostics.codes import TITLES
from ael.project.shipped import shipped


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael explain`."""
    parser.add_argument("code", nargs="?", metavar="CODE", help="such as AEL0203")


def run(args: argparse.Namespace) -> int:
    """Explain."""
    if args.code is None:
        for code, title in sorted(TITLES.items()):
            print(f"{code}  {title}")
        return 0
    code = args.code.upper()
    if not code.startswith("AEL"):
        code = f"AEL{code}"
    page = shipped("errors") / f"{code}.md"
    if code not in TITLES or not page.is_file():
        close = get_close_matches(code, TITLES, 3)
        hint = f"; near it {'is' if len(close) == 1 else 'are'} {', '.join(close)}" if close else ""
        print(f"ael explain: there is no code `{args.code}`{hint}; `ael explain` lists them all", file=sys.stderr)
        return 2
    sys.stdout.write(page.read_text(encoding="utf-8"))
    return 0
