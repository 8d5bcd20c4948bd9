"""Every method that the server offers is answered, at any place of any text, without a mistake of AEL's own."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest
from lsprotocol import types as lsp

from ael.editor.features import FEATURES
from tests.lsp.client import Editor
from tests.lsp.edits import edit, place

ROOT = Path(__file__).resolve().parents[2]
MISTAKE = -32603
TEXTS = 25


def asked(uri: str, text: str, random: Random) -> dict[str, dict[str, Any]]:
    """The parameters of every method about one place; those that need the answer of another method are not among them."""
    document = {"textDocument": {"uri": uri}}
    at = random.randint(0, len(text))
    position = place(text, at)
    whole = {"start": place(text, 0), "end": place(text, len(text))}
    here = {**document, "position": position}
    return {
        lsp.TEXT_DOCUMENT_HOVER: here,
        lsp.TEXT_DOCUMENT_DEFINITION: here,
        lsp.TEXT_DOCUMENT_DECLARATION: here,
        lsp.TEXT_DOCUMENT_TYPE_DEFINITION: here,
        lsp.TEXT_DOCUMENT_IMPLEMENTATION: here,
        lsp.TEXT_DOCUMENT_REFERENCES: {**here, "context": {"includeDeclaration": True}},
        lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: here,
        lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: document,
        lsp.WORKSPACE_SYMBOL: {"query": text[at : at + 2]},
        lsp.TEXT_DOCUMENT_COMPLETION: here,
        lsp.TEXT_DOCUMENT_SIGNATURE_HELP: here,
        lsp.TEXT_DOCUMENT_RENAME: {**here, "newName": "other"},
        lsp.TEXT_DOCUMENT_PREPARE_RENAME: here,
        lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: document,
        lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA: {**document, "previousResultId": "none"},
        lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: {**document, "range": whole},
        lsp.TEXT_DOCUMENT_INLAY_HINT: {**document, "range": whole},
        lsp.TEXT_DOCUMENT_FOLDING_RANGE: document,
        lsp.TEXT_DOCUMENT_SELECTION_RANGE: {**document, "positions": [position]},
        lsp.TEXT_DOCUMENT_DOCUMENT_LINK: document,
        lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: here,
        lsp.TEXT_DOCUMENT_CODE_ACTION: {**document, "range": whole, "context": {"diagnostics": []}},
        lsp.TEXT_DOCUMENT_FORMATTING: {**document, "options": {"tabSize": 2, "insertSpaces": True}},
        lsp.TEXT_DOCUMENT_RANGE_FORMATTING: {**document, "range": whole, "options": {"tabSize": 2, "insertSpaces": True}},
        lsp.TEXT_DOCUMENT_DIAGNOSTIC: document,
    }


FOLLOWING = {lsp.COMPLETION_ITEM_RESOLVE, lsp.CALL_HIERARCHY_INCOMING_CALLS, lsp.CALL_HIERARCHY_OUTGOING_CALLS}


def test_all_that_is_offered_is_asked_here() -> None:
    assert FEATURES.keys() <= asked("", "", Random()).keys() | FOLLOWING


@pytest.mark.parametrize(("name", "file"), [("support", "main.ael"), ("support", "deploy.real.ael"), ("support", "pack.ael")])
@pytest.mark.feature("C2")
def test_every_method_at_random_places(name: str, file: str, served: Editor, tmp_path: Path) -> None:
    folder = (tmp_path / "p").resolve()
    shutil.copytree(ROOT / "examples" / name, folder)
    original = (folder / file).read_text(encoding="utf-8")
    text, random = original, Random(9)
    uri = served.open(folder / file, text)
    mistakes: list[tuple[str, str]] = []
    for _ in range(TEXTS if file == "main.ael" else 8):
        for method, params in asked(uri, text, random).items():
            number = served.begin(method, params)
            if served.error(number) == MISTAKE:
                mistakes.append((method, text))
        change, text = edit(random, text, original)
        served.change(uri, change)
    served.close(uri)
    assert not mistakes, (mistakes[0][0], b"".join(served.errors[-40:]).decode())


@pytest.mark.feature("C2")
def test_what_follows_an_answer(served: Editor, pack: Path) -> None:
    main = (pack / "main.ael").read_text()
    uri = served.open(pack / "main.ael", main)
    at = {"textDocument": {"uri": uri}, "position": place(main, main.index("twice(price") + 1)}
    (call,) = served.ask(lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY, at)
    (incoming,) = served.ask(lsp.CALL_HIERARCHY_INCOMING_CALLS, {"item": call})
    assert incoming["from"]["name"] == "total"
    assert served.ask(lsp.CALL_HIERARCHY_OUTGOING_CALLS, {"item": call}) in ([], None)
    found = served.ask(lsp.TEXT_DOCUMENT_COMPLETION, {**at, "position": place(main, main.index("price.amount") + 6)})
    (amount,) = [one for one in found["items"] if one["label"] == "amount"]
    assert served.ask(lsp.COMPLETION_ITEM_RESOLVE, amount)["label"] == "amount"
    served.close(uri)
