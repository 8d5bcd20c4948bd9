"""`docs/embedding.md`, run as it is written: its program, its Python from top to bottom in one process, and what that prints."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ael.run.bindings import system_user
from tests.docs.pages import DOCS
from tests.docs.typed import Reader
from tests.programs import blocks

PAGE = DOCS / "embedding.md"


@pytest.mark.feature("B22", "D4")
def test_the_page_is_right_as_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reader, compared = Reader(tmp_path), 0
    monkeypatch.setitem(sys.modules, "page", reader.module)
    for block in blocks(PAGE.read_text(encoding="utf-8")):
        if block.language == "text":
            assert reader.printed.replace(f"`{system_user()}`", "`root`") == block.text, f"line {block.line}"
            compared += 1
        else:
            reader.take(block, f"embedding.md, line {block.line}")
    assert compared == 5
