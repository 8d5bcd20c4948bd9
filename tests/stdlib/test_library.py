"""The standard library as a whole checks without a word, is formatted, and its own tests pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from ael.diagnostics.diagnostic import Bag
from ael.project.program import check_paths, programs
from ael.project.shipped import shipped
from ael.source import read
from ael.syntax.format import format_module
from ael.syntax.parse import parse_module
from ael.testing.runner import run_tests
from tests.programs import brief

STDLIB = shipped("stdlib")
FILES = sorted((STDLIB / "std").glob("*.ael"))


def test_it_checks_without_a_word() -> None:
    bag = Bag()
    assert check_paths([STDLIB], bag) == len(FILES)
    assert [brief(d, STDLIB) for d in bag.sorted()] == []


def test_its_own_tests_pass() -> None:
    bag = Bag()
    results = [result for opened in programs([STDLIB], bag) for result in run_tests(opened)]
    assert [(r.module, r.name, r.problem) for r in results if r.problem is not None] == []
    assert results != []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_is_formatted(file: Path) -> None:
    source = read(file, file.name)
    assert format_module(parse_module(source, Bag())) == source.text
