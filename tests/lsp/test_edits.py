"""2,000 random edits leave the server with the text of the editor, and with what an analysis from nothing says of it (K51)."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest
from lsprotocol import converters
from lsprotocol import types as lsp

from ael.editor.analysis import Program, where
from ael.editor.documents import Disk, Document, Overlay
from ael.editor.feature import Asked
from ael.editor.features.hover import hover
from ael.editor.features.symbols import document_symbols
from ael.editor.reports import Reporter
from tests.lsp.client import Editor
from tests.lsp.edits import edit, merged, place

ROOT = Path(__file__).resolve().parents[2]
EDITS = 2_000
LOOKS = 40
"""Notifications between two comparisons of everything."""


def said(path: Path, text: str, places: list[int]) -> tuple[Any, ...]:
    """The diagnostics of a file with this text, its symbols, and what is told at some places, all from nothing."""
    documents = {path: Document(path.as_uri(), path, 1, text)}
    program = where(path, Overlay(documents, Disk(), {}))
    snapshot = Program(program, Disk(), "utf-16").analyse(documents)
    asked = Asked(snapshot, snapshot.files[path], lsp.ClientCapabilities(), {})
    about = lsp.TextDocumentIdentifier(path.as_uri())
    lines = asked.file.lines
    found = (
        Reporter(documents, "utf-16").all(snapshot.diagnostics.get(path, ())),
        document_symbols(asked, lsp.DocumentSymbolParams(about)),
        *(hover(asked, lsp.HoverParams(about, lines.position(place))) for place in places),
    )
    return tuple(converters.get_converter().unstructure(one) for one in found)


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
            places = [random.randint(0, len(text)) for _ in range(3)]
            about = {"textDocument": {"uri": uri}}
            assert (
                served.published(uri, version),
                served.ask("textDocument/documentSymbol", about),
                *(served.ask("textDocument/hover", {**about, "position": place(text, at)}) for at in places),
            ) == said(path, text, places)
    served.close(uri)
