"""2,000 random edits leave the server with the text of the editor, and with what an analysis from nothing says of it (K51)."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest
from lsprotocol import converters

from ael.editor.analysis import Program, where
from ael.editor.documents import Disk, Document, Overlay
from ael.editor.reports import Reporter
from tests.lsp.client import Editor
from tests.lsp.edits import edit, merged

ROOT = Path(__file__).resolve().parents[2]
EDITS = 2_000
LOOKS = 40
"""Notifications between two comparisons of everything."""


def said(path: Path, text: str) -> list[dict[str, Any]]:
    """The diagnostics of a file with this text, from nothing."""
    documents = {path: Document(path.as_uri(), path, 1, text)}
    place = where(path, Overlay(documents, Disk(), {}))
    snapshot = Program(place, Disk(), "utf-16").analyse(documents)
    plain = converters.get_converter().unstructure(Reporter(documents, "utf-16").all(snapshot.diagnostics.get(path, ())))
    found: list[dict[str, Any]] = plain
    return found


@pytest.mark.parametrize(("program", "seed"), [("support", 1), ("research", 2), ("numbers", 3)])
@pytest.mark.feature("B21")
def test_random_edits(program: str, seed: int, served: Editor, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / program, tmp_path / "p")
    path = (tmp_path / "p" / "main.ael").resolve()
    original = path.read_text(encoding="utf-8")
    text, random = original, Random(seed)
    uri = served.open(path, text)
    count = round_ = 0
    while count < EDITS // 3:
        changes = []
        for _ in range(random.choice((1, 1, 1, 2, 5))):
            change, text = edit(random, text, original)
            changes.append(change)
        version = served.change(uri, *changes)
        count += len(changes)
        round_ += 1
        assert merged(served.ask("ael/viewFileText", {"textDocument": {"uri": uri}})) == text
        if round_ % LOOKS == 0:
            assert served.published(uri, version) == said(path, text)
    served.close(uri)
