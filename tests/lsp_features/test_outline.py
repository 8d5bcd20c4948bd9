"""Symbols, folding, selections, colours and hints: what is shown of a whole file, also of one that does not parse."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from lsprotocol import types as lsp

from ael.editor.features import semantic_tokens as tokens
from ael.editor.features.folding import folds, grown, selection_ranges
from ael.editor.features.inlay_hints import groups, hints, inlay_hints
from ael.editor.features.legend import LEGEND, MODIFIERS, TYPES
from ael.editor.features.symbols import KINDS, distance, document_symbols, matching, workspace_symbols
from ael.editor.snapshot import File, Snapshot
from ael.editor.words import words
from ael.source import Span
from ael.syntax import nodes as n
from ael.syntax.words import NAME, WORDS
from tests.lsp_features.marked import SHOP, Place, place

pytestmark = pytest.mark.feature("C2")

# --- symbols -----------------------------------------------------------------------------------------------------------------


def _outline(found: Place) -> dict[str, tuple[str, list[str]]]:
    able = lsp.ClientCapabilities(
        text_document=lsp.TextDocumentClientCapabilities(
            document_symbol=lsp.DocumentSymbolClientCapabilities(hierarchical_document_symbol_support=True)
        )
    )
    made = document_symbols(found.asked(able), lsp.DocumentSymbolParams(found.position.text_document))
    trees = [one for one in made if isinstance(one, lsp.DocumentSymbol)]
    assert len(trees) == len(made)
    for one in trees:
        for inner in one.children or ():
            assert (one.range.start.line, one.range.end.line) >= (0, inner.range.end.line)
    return {one.name: (one.detail or "", [inner.name for inner in one.children or ()]) for one in trees}


def test_the_outline_of_a_file(tmp_path: Path) -> None:
    found = _outline(place(tmp_path, SHOP + '\ntable t(n: Int) -> Int {\n  otherwise => n\n}\ntest "a title" { assert true }\n‸'))
    assert found["Order"] == ("record", ["id", "total", "topic", "note"])
    assert found["Topic"] == ("enum", ["Refund", "Shipping", "Other"])
    assert found["Orders"] == ("service", ["get", "refund"])
    assert found["orders.refund"] == ("permission", [])
    assert found["a title"] == ("test", [])
    assert found["t"] == ("table", [])
    assert "std/text" not in found


def test_a_file_that_does_not_parse_has_the_outline_of_the_rest(tmp_path: Path) -> None:
    found = _outline(place(tmp_path, "fn a() -> Int { 1 }\nfn b( {\nfn c() -> Int { 1 }\n‸"))
    assert list(found) == ["a", "c"]


def test_a_client_without_trees_gets_a_list(tmp_path: Path) -> None:
    found = place(tmp_path, SHOP + "‸")
    made = document_symbols(found.asked(), lsp.DocumentSymbolParams(found.position.text_document))
    assert ("total", "Order") in [(one.name, one.container_name) for one in made if isinstance(one, lsp.SymbolInformation)]


def test_every_declaration_has_a_kind() -> None:
    missing = [one for one in n.Declaration.__args__ if one is not n.Use and one not in KINDS]
    assert missing == []


def test_symbols_of_the_workspace(examples: dict[str, Snapshot]) -> None:
    snapshot = examples["support"]
    found = {name for _, name, *_ in matching(snapshot, "refund")}
    assert {"refund_order", "refund", "orders.refund", "Refund"} <= found
    found_place = Place(snapshot, snapshot.modules["main"], 0)
    made = workspace_symbols(found_place.asked(), lsp.WorkspaceSymbolParams("refund_order"))
    assert made[0].name == "refund_order"
    assert made[0].container_name == "main"
    assert len({(one.name, str(one.location)) for one in made}) == len(made)


def test_nearer_names_go_first() -> None:
    names = ["order", "order_book", "my_order", "OldOrder", "border", "o_r_d_e_r"]
    found = [distance("order", one) for one in names]
    assert found == sorted(one for one in found if one is not None)
    assert distance("order", "red") is None


# --- folding and selections ----------------------------------------------------------------------------------------------------


def test_what_can_be_folded(tmp_path: Path) -> None:
    head = "// one\n// two\n\nuse std/text\nuse std/json\n\n/// Doc\n/// more.\n"
    text = f"{head}fn f(\n  a: Int,\n) -> Int {{\n  if a > 1 {{\n    return 1\n  }}\n  a\n}}\n‸"
    found = {(one.start_line, one.end_line): one.kind for one in folds(place(tmp_path, text).file)}
    comment, imports, region = lsp.FoldingRangeKind.Comment, lsp.FoldingRangeKind.Imports, lsp.FoldingRangeKind.Region
    assert found == {(0, 1): comment, (3, 4): imports, (6, 7): comment, (8, 9): None, (10, 14): region, (11, 12): region}


def test_braces_that_are_left_open_fold_nothing_wrong(tmp_path: Path) -> None:
    found = folds(place(tmp_path, "fn f() {\n  if true {\n    1\n\nfn g() {\n  2\n}\n‸").file)
    assert [(one.start_line, one.end_line) for one in found] == [(4, 5)]


def test_a_selection_grows_through_what_is_around_it(tmp_path: Path) -> None:
    found = place(tmp_path, "fn f(a: Int) -> Int {\n  g(a, b.c‸d + 1)\n}\n")
    texts = [found.text(span) for span in reversed(grown(found.file, found.offset))]
    assert texts[:2] == ["cd", "b.cd"]
    assert "b.cd + 1" in texts
    assert "(a, b.cd + 1)" in texts
    assert "g(a, b.cd + 1)" in texts
    assert texts[-1] == found.file.source.text
    made = selection_ranges(found.asked(), lsp.SelectionRangeParams(found.position.text_document, [found.position.position]))
    chain: lsp.SelectionRange | None = made[0]
    lengths = 0
    while chain is not None:
        lengths, chain = lengths + 1, chain.parent
    assert lengths == len(texts)


# --- colours -----------------------------------------------------------------------------------------------------------------


def _coloured(found: Place) -> list[tuple[str, str, tuple[str, ...]]]:
    return [
        (
            found.text(Span(one.start, one.end)),
            TYPES[one.type],
            tuple(m for at, m in enumerate(MODIFIERS) if one.modifiers >> at & 1),
        )
        for one in tokens.tokens(found.snapshot, found.file)
    ]


def test_what_each_name_is(tmp_path: Path) -> None:
    source = (
        "fn leaf<T>(x: T) -> T { x }\nfn acts() -> Order fails NotFound {\n  var n = MOST\n  n = 2\n"
        '  let o = try lookup("x", deep: true)\n'
        "  log(shorten(o.id, n))\n  o\n}\n// end 😀\n‸"
    )
    found = _coloured(place(tmp_path, SHOP + source))
    for wanted in (
        ("fn", "keyword", ()),
        ("leaf", "function", ("declaration",)),
        ("T", "typeParameter", ("declaration",)),
        ("x", "parameter", ("declaration", "readonly")),
        ("acts", "function", ("declaration", "async")),
        ("n", "variable", ("declaration",)),
        ("n", "variable", ("modification",)),
        ("o", "variable", ("declaration", "readonly")),
        ("MOST", "variable", ("readonly",)),
        ("lookup", "function", ("async",)),
        ("deep", "parameter", ("readonly",)),
        ("log", "function", ("async", "defaultLibrary")),
        ("shorten", "function", ("defaultLibrary",)),
        ("id", "property", ()),
        ("Order", "struct", ("declaration",)),
        ("Topic", "enum", ("declaration",)),
        ("Shipping", "enumMember", ("declaration", "readonly")),
        ("Orders", "interface", ("declaration",)),
        ("get", "method", ("declaration", "async")),
        ("orders", "decorator", ("declaration",)),
        ("String", "type", ("defaultLibrary",)),
        ("true", "keyword", ()),
        ("needs", "keyword", ()),
        ("5s", "number", ()),
        ('"x"', "string", ()),
        ("// end 😀", "comment", ()),
        ("/// Give money back.", "comment", ("documentation",)),
    ):
        assert wanted in found, wanted


def test_words_that_are_names_are_coloured_as_names(tmp_path: Path) -> None:
    found = _coloured(
        place(
            tmp_path,
            "record Node { type: Int, tools: Int }\nfn f(model: Node, key: Int) -> Int { model.type + model.tools + key }\n‸",
        )
    )
    assert ("type", "property", ("declaration",)) in found
    assert ("model", "parameter", ("readonly",)) in found
    assert not [one for one in found if one[1] == "keyword" and one[0] in ("type", "tools", "model", "key")]


def test_the_words_are_those_of_the_list(examples: dict[str, Snapshot], library: dict[str, Snapshot]) -> None:
    known = {word for group in ("declaration", "statement", "operator", "literal", "soft", "clause") for word in words()[group]}
    assert set(WORDS) == known
    for snapshot in (*examples.values(), *library.values()):
        for file in snapshot.files.values():
            if file.kind not in ("module", "deployment", "pack"):
                continue
            for one in tokens.tokens(snapshot, file):
                text = file.source.text[one.start : one.end]
                if TYPES[one.type] == "keyword" and file.kind != "deployment":
                    assert text in known, (file.path, text)


def _disjoint(file: File, found: list[tokens.Token]) -> None:
    for one, other in itertools.pairwise(found):
        assert one.end <= other.start, (file.path, file.source.position(one.start))


def test_every_token_of_the_examples_is_coloured_once(examples: dict[str, Snapshot]) -> None:
    for snapshot in examples.values():
        for file in snapshot.files.values():
            if file.kind != "module" or not file.own:
                continue
            found = list(tokens.tokens(snapshot, file))
            _disjoint(file, found)
            there = {one.start for one in found}
            bare = [
                file.tokens.texts[at]
                for at, start in enumerate(file.tokens.starts)
                if file.tokens.kinds[at] in (*WORDS.values(), NAME) and start not in there and file.tokens.texts[at] != "_"
            ]
            # What is left is a name that means something to nobody here: the provider of a model.
            assert len(bare) <= 3, (file.path, bare)


def _decoded(file: File, data: list[int]) -> list[tuple[str, str]]:
    line = column = 0
    found: list[tuple[str, str]] = []
    for at in range(0, len(data), 5):
        down, right, length, type, _ = data[at : at + 5]
        line, column = line + down, (column + right if not down else right)
        start = file.lines.offset(lsp.Position(line, column))
        end = file.lines.offset(lsp.Position(line, column + length))
        found.append((file.source.text[start:end], TYPES[type]))
    return found


def test_numbers_of_the_protocol_stand_for_the_tokens(tmp_path: Path) -> None:
    text = 'fn f(é: Int) -> String {\n  let a = "😀"; let b = 1\n  """\n  two 😀\n  lines\n  """\n}\n// 😀 end\n‸'.replace(
        "; let b", "\n  let b"
    )
    found = place(tmp_path, text.replace("é", "e"))
    data = tokens.full(found.asked(), lsp.SemanticTokensParams(found.position.text_document)).data
    decoded = _decoded(found.file, list(data))
    assert ('"😀"', "string") in decoded
    assert ("b", "variable") in decoded
    assert ("  two 😀", "string") in decoded
    assert ("// 😀 end", "comment") in decoded
    assert all("\n" not in one for one, _ in decoded)


def test_a_part_is_a_part_of_the_whole(tmp_path: Path) -> None:
    found = place(tmp_path, SHOP + "‸")
    whole = _decoded(found.file, list(tokens.full(found.asked(), lsp.SemanticTokensParams(found.position.text_document)).data))
    span = Span(*_of(found, "record Order"))
    asked = lsp.SemanticTokensRangeParams(found.position.text_document, found.file.lines.range(span))
    part = _decoded(found.file, list(tokens.within(found.asked(), asked).data))
    assert ("Order", "struct") in part
    assert ("lookup", "function") not in part
    at = next(i for i in range(len(whole)) if whole[i : i + len(part)] == part)
    assert at > 0


def _of(found: Place, text: str) -> tuple[int, int]:
    start = found.file.source.text.index(text)
    return start, found.file.source.text.index("}", start)


def test_a_change_is_told_as_a_change(tmp_path: Path) -> None:
    before = place(tmp_path, "fn f() -> Int { 1 }\nfn g() -> Int { f() }\n‸")
    document = lsp.SemanticTokensParams(before.position.text_document)
    first = tokens.full(before.asked(), document)
    after = place(tmp_path, "fn f() -> Int { 1 + 2 }\nfn g() -> Int { f() }\n‸")
    assert first.result_id is not None
    made = tokens.delta(after.asked(), lsp.SemanticTokensDeltaParams(document.text_document, first.result_id))
    assert isinstance(made, lsp.SemanticTokensDelta)
    data = list(first.data)
    for edit in made.edits:
        data[edit.start : edit.start + edit.delete_count] = edit.data or []
    assert data == list(tokens.full(after.asked(), document).data)
    assert sum(len(edit.data or ()) for edit in made.edits) < len(data)
    unknown = tokens.delta(after.asked(), lsp.SemanticTokensDeltaParams(document.text_document, "never heard of"))
    assert isinstance(unknown, lsp.SemanticTokens)
    assert tokens.changes(data, data) == []


def test_the_legend_is_what_is_sent() -> None:
    assert tuple(LEGEND.token_types) == TYPES
    assert tuple(LEGEND.token_modifiers) == MODIFIERS


# --- hints -----------------------------------------------------------------------------------------------------------------


def _hinted(found: Place) -> list[tuple[str, str]]:
    """Each hint with the text that stands before it on its line."""
    text = found.file.source.text
    return [
        (text[: one.offset].rpartition("\n")[2].strip(), one.label)
        for one in hints(found.snapshot, found.file, Span(0, len(text)))
    ]


def test_what_is_hinted(tmp_path: Path) -> None:
    source = (
        'fn acts() -> Order fails NotFound {\n  let o = try lookup("x", true)\n'
        '  let made = Order(id: "x", total: 1, topic: Topic.Other)\n'
        '  let plain = 1\n  for k in [o.total] {\n    log("x")\n  }\n'
        "  let ids = [o].map(fn(one) => one.id)\n  o\n}\nfn pure() -> Int { 1 }\n‸"
    )
    found = _hinted(place(tmp_path, SHOP + source))
    assert ("let o", ": Order") in found
    assert ("for k", ": Int") in found
    assert ("let ids = [o].map(fn(one", ": Order") in found
    assert ("let o = try lookup(", "id:") in found
    assert ('let o = try lookup("x",', "deep:") in found
    assert ("fn acts() -> Order fails NotFound", "needs orders.read · repeat idempotent") in [
        (before, label.removesuffix(" · outside data")) for before, label in found
    ]
    told = [before for before, _ in found]
    assert "let made" not in told
    assert "let plain" not in told
    assert "fn pure() -> Int" not in told
    assert "log(" not in told


def test_a_type_that_can_be_written_can_be_put_in(tmp_path: Path) -> None:
    found = place(
        tmp_path,
        f"{SHOP}\nfn f(o: Order) -> Int {{\n  let x = o\n  let y = parallel {{ a: o.total, b: o.id }}\n  x.total + y.a\n}}\n‸",
    )
    whole = lsp.InlayHintParams(found.position.text_document, found.file.lines.whole)
    made = {one.label: one.text_edits for one in inlay_hints(found.asked(), whole)}
    edits = made[": Order"]
    assert edits is not None
    assert edits[0].new_text == ": Order"
    assert made[": { a: Int, b: String(max: 64) }"] is None


def test_hints_can_be_chosen() -> None:
    assert groups({}) == {"types", "effects", "parameters"}
    assert groups({"inlayHints": False}) == frozenset()
    assert groups({"inlayHints": {"types": False}}) == {"effects", "parameters"}
