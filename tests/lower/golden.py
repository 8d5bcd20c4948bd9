"""Writes the expected Python of the programs in `tests/golden`: `python -m tests.lower.golden`, then look at the difference."""

from __future__ import annotations

from pathlib import Path

from ael.lower.emit import emit
from tests.lower.helpers import checked

FOLDER = Path(__file__).parent.parent / "golden"


def python_of(path: Path) -> str:
    """The Python that a program of the folder becomes."""
    return emit(checked(path.read_text(encoding="utf-8")))["main"]


if __name__ == "__main__":
    for program in sorted(FOLDER.glob("*.ael")):
        program.with_suffix(".txt").write_text(python_of(program), encoding="utf-8")
