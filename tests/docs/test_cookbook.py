"""The recipes, followed as they are written. `test_docs.py` checks each of their programs and runs its tests."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import KEYS
from tests.docs.pages import DOCS
from tests.docs.typed import Reader
from tests.programs import blocks

RECIPES = sorted((DOCS / "cookbook").glob("[a-z]*.md"))
PARTS = ("Problem", "Program", "Why")


@pytest.mark.parametrize("page", RECIPES, ids=lambda page: page.stem)
def test_a_recipe_is_right_as_it_is_written(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "recipe"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("AEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_COLOR", "1")
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)
    reader = Reader(folder)
    monkeypatch.setitem(sys.modules, "page", reader.module)
    monkeypatch.syspath_prepend(str(folder))
    reader.follow(page)
    assert reader.commands or reader.module.__dict__.keys() - {"__name__", "__doc__"}, "a recipe is tried out"


@pytest.mark.parametrize("page", RECIPES, ids=lambda page: page.stem)
def test_a_recipe_has_its_parts(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert [heading for heading in headings if heading in PARTS] == list(PARTS)
    programs = [block.text for block in blocks(text) if block.language == "ael"]
    assert any("test " in program for program in programs) or "python" in {b.language for b in blocks(text)}, (
        "a recipe has a test"
    )


def test_there_are_recipes_enough() -> None:
    assert len(RECIPES) >= 20
