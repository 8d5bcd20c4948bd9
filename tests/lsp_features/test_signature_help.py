"""The signature of the call around the cursor, and the parameter that is written there."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp

from ael.editor.features.signature_help import shown_at, signature_help
from tests.lsp_features.marked import SHOP, place

pytestmark = pytest.mark.feature("C2")

LOOKUP = "lookup(id: String(max: 64), deep: Bool = false) -> Order fails NotFound"
CASES: dict[str, tuple[str, str | None, int | None]] = {
    "nothing is written": ("fn f() { lookup(‸) }", LOOKUP, 0),
    "nothing is closed": ("fn f() {\n  let x = lookup(‸\n", LOOKUP, 0),
    "the second place": ('fn f() { lookup("x", ‸) }', LOOKUP, 1),
    "by name": ("fn f() { lookup(deep: tr‸ue) }", LOOKUP, 1),
    "what is left": ("fn f() { lookup(deep: true, ‸) }", LOOKUP, 0),
    "in a text": ('fn f() { lookup("a, b‸", true) }', LOOKUP, 0),
    "after wide characters": ('fn f() { lookup("😀é", ‸) }', LOOKUP, 1),
    "the inner call": ('fn f() { lookup(shorten("x", ‸)) }', "shorten(text: String, max: Int(1..65536)) -> String", 1),
    "the outer call": ('fn f() { lookup(shorten("x", 3), ‸) }', LOOKUP, 1),
    "a record": ('fn f() { Order(id: "x", ‸) }', "Order(id: String(max: 64), total: Int, topic: Topic, note?: String)", 1),
    "a variant": ("fn f() { Topic.Refund(‸) }", "Refund(amount: Int) -> Topic", 0),
    "a method": ("fn f() { [1].fold(0, ‸) }", "fold(start: U, function: fn(U, T) -> U) -> U", 1),
    "a function of the language": ("fn f() { log(‸) }", "log(text: String)", 0),
    "a store": ('fn f() { notes.put("x", ‸) }', "put(key: String, value: Order)", 1),
    "an operation": ("fn f() { Orders.refund(‸) }", "refund(id: String(max: 64)) -> Bool fails Uncertain", 0),
    "an edge": (
        "agent a(q: String) -> String {\n  edge start -> ask(‸\n}",
        "ask(question: String(max: 100)) -> String(max: 100)",
        0,
    ),
    "too many": ('fn f() { lookup("x", true, ‸) }', LOOKUP, None),
    "behind the call": ('fn f() { lookup("x")‸ }', None, None),
    "before the bracket": ('fn f() { look‸up("x") }', None, None),
    "no call": ("fn f() { ‸ }", None, None),
    "in a block of an argument": ("fn f() { [1].map(fn(x) { ‸ }) }", None, None),
    "what is not known": ("fn f() { nothing(‸) }", None, None),
}


@pytest.mark.parametrize("what", CASES)
def test_the_signature(what: str, tmp_path: Path) -> None:
    source, label, active = CASES[what]
    found = place(tmp_path, f"{SHOP}\n{source}\n")
    shown = shown_at(found.snapshot, found.file, found.offset)
    assert (shown.label if shown is not None else None) == label
    assert (shown.active if shown is not None else None) == active


def test_the_protocols_signature_marks_its_parameters(tmp_path: Path) -> None:
    record = '/// What it is.\nrecord R {\n  /// The first.\n  first: "😀" | "b"\n  second: Int\n}\n'
    found = place(tmp_path, f"{record}fn f() {{ R(‸) }}\n")
    at = found.position
    shown = signature_help(found.asked(), lsp.SignatureHelpParams(at.text_document, at.position))
    assert shown is not None
    (one,) = shown.signatures
    assert one.label == 'R(first: "😀" | "b", second: Int)'
    units = one.label.encode("utf-16-le")
    assert one.parameters is not None
    spans = [parameter.label for parameter in one.parameters]
    texts = [units[2 * span[0] : 2 * span[1]].decode("utf-16-le") for span in spans if isinstance(span, tuple)]
    assert texts == ['first: "😀" | "b"', "second: Int"]
    assert isinstance(one.documentation, lsp.MarkupContent)
    assert one.documentation.value == "What it is."
    assert isinstance(one.parameters[0].documentation, lsp.MarkupContent)
    assert one.parameters[0].documentation.value == "The first."
