"""Opening a program for a command: checked and bound, or told why not."""

from __future__ import annotations

from pathlib import Path

from ael.cli.report import report
from ael.diagnostics.diagnostic import Bag
from ael.project.program import Opened, open_program


def opened_or_told(path: Path, deploy: str | None = None) -> Opened | int:
    """The program at `path` under the deployment `deploy`. Its problems are printed; with errors, the exit code."""
    bag = Bag()
    opened = open_program(path, bag, deploy=deploy)
    code = report(bag)
    return code or 2 if opened is None or code else opened
