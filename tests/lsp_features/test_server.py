"""Each capability through the real server, over its pipes, as an editor asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ael.editor.features import FEATURES
from tests.lsp.client import Editor, Failed
from tests.lsp_features.marked import CURSOR

pytestmark = pytest.mark.feature("C2")

MAIN = """\
//! 😀 A shop.
use ./prices.{price_of}

permission shop.read

record Order { id: String(max: 64), total: Int }

/// Read it.
tool load(id: String(max: 64), deep: Bool) -> Order
  needs shop.read
  repeat idempotent
{
  Order(id: id, total: price_of("😀" + id))
}

fn twice(order: Order) -> Int {
  let both = order.total + order.total
  both
}
"""
PRICES = "/// The price.\npub fn price_of(id: String) -> Int { id.length() }\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("shop").resolve()
    for name, text in {"pack.ael": "pack shop {}\n", "main.ael": MAIN, "prices.ael": PRICES}.items():
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def editor(folder: Path) -> Iterator[Editor]:
    made = Editor()
    try:
        made.capabilities = made.start(folder, capabilities=CLIENT)  # type: ignore[attr-defined]
        made.open((folder / "main.ael").as_uri(), MAIN)
        yield made
    finally:
        made.kill()


CLIENT = {
    "textDocument": {
        "completion": {"completionItem": {"snippetSupport": True}},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "hover": {"contentFormat": ["markdown"]},
        "rename": {"prepareSupport": True},
        "semanticTokens": {
            "requests": {"full": {"delta": True}, "range": True},
            "tokenTypes": [],
            "tokenModifiers": [],
            "formats": [],
        },
    }
}


def _at(marked: str) -> dict[str, int]:
    """The place of the cursor in a part of the text that stands there once, in UTF-16."""
    plain = marked.replace(CURSOR, "")
    assert MAIN.count(plain) == 1, marked
    before = MAIN[: MAIN.index(plain) + marked.index(CURSOR)]
    line = before.rpartition("\n")[2]
    return {"line": before.count("\n"), "character": len(line.encode("utf-16-le")) // 2}


def _ask(editor: Editor, folder: Path, method: str, marked: str = "", **more: Any) -> Any:
    params: dict[str, Any] = {"textDocument": {"uri": (folder / "main.ael").as_uri()}, **more}
    if marked:
        params["position"] = _at(marked)
    return editor.ask(method, params)


def _range(first: tuple[int, int], last: tuple[int, int]) -> dict[str, Any]:
    return {"start": {"line": first[0], "character": first[1]}, "end": {"line": last[0], "character": last[1]}}


def test_every_feature_is_announced(editor: Editor) -> None:
    said = editor.capabilities  # type: ignore[attr-defined]
    for name in (
        "hoverProvider", "definitionProvider", "typeDefinitionProvider", "implementationProvider", "referencesProvider",
        "documentHighlightProvider", "documentSymbolProvider", "workspaceSymbolProvider", "completionProvider", "signatureHelpProvider",
        "renameProvider", "semanticTokensProvider", "inlayHintProvider", "foldingRangeProvider", "selectionRangeProvider",
        "documentLinkProvider", "callHierarchyProvider",
    ):  # fmt: skip
        assert said.get(name), name
    assert said["renameProvider"]["prepareProvider"] is True
    assert said["completionProvider"]["resolveProvider"] is True
    assert "." in said["completionProvider"]["triggerCharacters"]
    assert said["semanticTokensProvider"]["full"] == {"delta": True}
    assert said["semanticTokensProvider"]["range"] is True
    assert said["declarationProvider"]
    assert all(
        method.partition("/")[0] in ("textDocument", "workspace", "completionItem", "callHierarchy") for method in FEATURES
    )


def test_hover(editor: Editor, folder: Path) -> None:
    told = _ask(editor, folder, "textDocument/hover", 'price‸_of("😀" + id)')
    assert "pub fn" not in told["contents"]["value"]
    assert "fn price_of(id: String) -> Int" in told["contents"]["value"]
    assert "The price." in told["contents"]["value"]
    assert told["range"] == _range((12, 23), (12, 31))


def test_places(editor: Editor, folder: Path) -> None:
    (place,) = _ask(editor, folder, "textDocument/definition", 'price‸_of("😀" + id)')
    assert place == {"uri": (folder / "prices.ael").as_uri(), "range": _range((1, 7), (1, 15))}
    (place,) = _ask(editor, folder, "textDocument/definition", 'price_of("😀" + i‸d)')
    assert place["range"] == _range((8, 10), (8, 12))
    (place,) = _ask(editor, folder, "textDocument/typeDefinition", "‸order.total + order.total")
    assert place["range"]["start"]["line"] == 5
    assert _ask(editor, folder, "textDocument/implementation", "tool lo‸ad(")
    found = _ask(editor, folder, "textDocument/references", 'price‸_of("😀" + id)', context={"includeDeclaration": True})
    assert sorted((one["uri"].rpartition("/")[2], one["range"]["start"]["line"]) for one in found) == [
        ("main.ael", 1), ("main.ael", 12), ("prices.ael", 1),
    ]  # fmt: skip
    assert len(_ask(editor, folder, "textDocument/documentHighlight", "let bo‸th")) == 2
    (link,) = _ask(editor, folder, "textDocument/documentLink")
    assert link["target"] == (folder / "prices.ael").as_uri()


def test_symbols(editor: Editor, folder: Path) -> None:
    tree = _ask(editor, folder, "textDocument/documentSymbol")
    assert [one["name"] for one in tree] == ["shop.read", "Order", "load", "twice"]
    assert [one["name"] for one in tree[1]["children"]] == ["id", "total"]
    assert "price_of" in [one["name"] for one in editor.ask("workspace/symbol", {"query": "price"})]


def test_completion_and_signatures(editor: Editor, folder: Path) -> None:
    text = MAIN.replace("  both\n", "  order.\n")
    uri = (folder / "main.ael").as_uri()
    editor.change(uri, {"text": text})
    answer = editor.ask("textDocument/completion", {"textDocument": {"uri": uri}, "position": {"line": 17, "character": 8}})
    item = next(one for one in answer["items"] if one["label"] == "total")
    assert "A field of `Order`." in editor.ask("completionItem/resolve", item)["documentation"]["value"]
    editor.change(uri, {"text": MAIN.replace("  both\n", '  load("😀", \n')})
    shown = editor.ask("textDocument/signatureHelp", {"textDocument": {"uri": uri}, "position": {"line": 17, "character": 13}})
    assert shown["signatures"][0]["label"] == "load(id: String(max: 64), deep: Bool) -> Order"
    assert shown["activeParameter"] == 1
    editor.change(uri, {"text": MAIN})


def test_renaming(editor: Editor, folder: Path) -> None:
    there = _ask(editor, folder, "textDocument/prepareRename", 'price‸_of("😀" + id)')
    assert there["placeholder"] == "price_of"
    edit = _ask(editor, folder, "textDocument/rename", 'price‸_of("😀" + id)', newName="cost_of")
    assert {uri.rpartition("/")[2]: len(many) for uri, many in edit["changes"].items()} == {"main.ael": 2, "prices.ael": 1}
    with pytest.raises(Failed, match="is a word of the language") as refused:
        _ask(editor, folder, "textDocument/rename", 'price‸_of("😀" + id)', newName="let")
    assert refused.value.code == -32803
    with pytest.raises(Failed, match="belongs to the language"):
        _ask(editor, folder, "textDocument/prepareRename", "record Order { id: Stri‸ng")


def test_the_look_of_a_file(editor: Editor, folder: Path) -> None:
    whole = _ask(editor, folder, "textDocument/semanticTokens/full")
    assert len(whole["data"]) % 5 == 0
    same = _ask(editor, folder, "textDocument/semanticTokens/full/delta", previousResultId=whole["resultId"])
    assert same["edits"] == []
    part = _ask(editor, folder, "textDocument/semanticTokens/range", range=_range((5, 0), (6, 0)))
    assert 0 < len(part["data"]) < len(whole["data"])
    hints = _ask(editor, folder, "textDocument/inlayHint", range=_range((0, 0), (30, 0)))
    assert [one["label"] for one in hints] == [": Int"]
    folds = _ask(editor, folder, "textDocument/foldingRange")
    assert (11, 12) in [(one["startLine"], one["endLine"]) for one in folds]
    (chain,) = _ask(editor, folder, "textDocument/selectionRange", positions=[_at("order.to‸tal + order.total")])
    assert chain["range"] == _range((16, 19), (16, 24))


def test_calls(editor: Editor, folder: Path) -> None:
    (item,) = _ask(editor, folder, "textDocument/prepareCallHierarchy", 'price‸_of("😀" + id)')
    assert item["name"] == "price_of"
    (call,) = editor.ask("callHierarchy/incomingCalls", {"item": item})
    assert call["from"]["name"] == "load"
    (back,) = editor.ask("callHierarchy/outgoingCalls", {"item": call["from"]})
    assert back["to"]["name"] == "price_of"
