"""The Python of small programs, word for word: what changes here, changes the code of every program."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.lower.golden import FOLDER, python_of

PROGRAMS = sorted(FOLDER.glob("*.ael"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_python_is_as_recorded(path: Path) -> None:
    recorded, found = path.with_suffix(".txt").read_text(encoding="utf-8"), python_of(path)
    # Versions of Python differ in the quotes that they write inside of f-strings, and in nothing that has a meaning.
    if ast.dump(ast.parse(found)) != ast.dump(ast.parse(recorded)):
        assert found == recorded


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_text_is_python(path: Path) -> None:
    assert ast.parse(python_of(path)).body


def test_there_are_programs() -> None:
    assert len(PROGRAMS) >= 5
    assert {p.stem for p in FOLDER.glob("*.txt")} == {p.stem for p in PROGRAMS}
