"""Printing diagnostics, in the format that was asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Literal

from ael import __version__
from ael.diagnostics.diagnostic import Bag, Diagnostic
from ael.diagnostics.render import render_all

Format = Literal["text", "json", "sarif", "github"]
FORMATS: tuple[Format, ...] = ("text", "json", "sarif", "github")


def report(bag: Bag, form: Format = "text") -> int:
    """Print everything in the bag: text to standard error, the other formats to standard output. Gives the exit code, 0 or 2."""
    found = bag.sorted()
    if form == "text":
        text = render_all(found, colour=use_colour())
        if text:
            print(text, file=sys.stderr)
    else:
        print(_machine(found, form))
    return 2 if bag.errors else 0


def told(code: str, message: str, *notes: str) -> str:
    """An error that has no place in a source, as every command prints it. A note that begins with blanks is a quotation."""
    return "\n".join([f"error[{code}]: {message}", *(f"  {note}" if note.startswith("  ") else f"  = {note}" for note in notes)])


def tell(code: str, message: str, *notes: str) -> None:
    """Print such an error on standard error."""
    print(told(code, message, *notes), file=sys.stderr)


def _machine(found: Sequence[Diagnostic], form: Format) -> str:
    from ael.diagnostics.export import to_github, to_json, to_sarif

    if form == "json":
        return to_json(found)
    return to_sarif(found, __version__) if form == "sarif" else to_github(found)


def use_colour() -> bool:
    """Whether standard error is a terminal that wants colour (https://no-color.org)."""
    return sys.stderr.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
