"""What is told of every kind of name, of literals with units and of words; text of others forms nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp

from ael.editor.features.hover import hover, told_at
from ael.editor.features.markdown import code, escaped, prose, quoted
from ael.editor.snapshot import Snapshot
from ael.editor.word_help import FAULT_HELP, TYPE_HELP, WORDS
from ael.editor.words import words
from ael.types.fault import FAULT_NAMES
from tests.lsp_features.marked import SHOP, place

pytestmark = pytest.mark.feature("C2")

CASES = {
    "a tool": (
        'fn f() -> Int fails NotFound { try look‸up("x")\n 1 }',
        [
            "tool lookup(id: String(max: 64), deep: Bool = false) -> Order fails NotFound",
            "  needs orders.read",
            "  repeat idempotent",
            "Read one order. Call it first.",
            "Needs `orders.read`",
            "Repeat safety: `idempotent`",
            "Timeout: 5s",
            "Can fail with `NotFound`",
        ],
    ),
    "a node": (
        "node n(q: String(max: 100)) -> String { as‸k(q) }",
        [
            "node ask(question: String(max: 100)) -> String(max: 100)",
            "policy one_call",
            "Driven by the model `fast`",
            "outside data",
        ],
    ),
    "a service": (
        "fn f(id: String(max: 64)) -> Bool fails Uncertain { Or‸ders.refund(id) }",
        ["service Orders {", "refund(id: String(max: 64)) -> Bool"],
    ),
    "an operation": (
        "fn f(id: String(max: 64)) -> Bool fails Uncertain { Orders.re‸fund(id) }",
        [
            "refund(id: String(max: 64)) -> Bool",
            "Needs `orders.refund`",
            "Repeat safety: `never`",
            "`Uncertain`",
        ],
    ),
    "a function with effects": (
        'fn inner() -> Int fails NotFound { (try lookup("x")).total }\nfn f() -> Int fails NotFound { try inn‸er() }',
        [
            "fn inner() -> Int fails NotFound",
            "Reaches `orders.read`",
            "Repeat safety: `idempotent`",
        ],
    ),
    "a function without": ("fn inner() -> Int { 1 }\nfn f() -> Int { inn‸er() }", ["Acts on nothing outside."]),
    "a record": (
        "fn f(o: Or‸der) -> Int { o.total }",
        ["record Order {", "  id: String(max: 64)", "  note?: String", "An order of a customer."],
    ),
    "a field": ("fn f(o: Order) -> String { o.i‸d }", ["id: String(max: 64)", "What people call it.", "A field of `Order`."]),
    "an optional field": ('fn f(o: Order) -> String { o.no‸te ?? "" }', ["note?: String", "May be absent", "64 KiB"]),
    "an enum": ("fn f() -> To‸pic { Topic.Other }", ["enum Topic { Refund(amount: Int), Shipping, Other }"]),
    "a variant": ("fn f() -> Topic { Topic.Re‸fund(amount: 1) }", ["Topic.Refund(amount: Int)", "A variant of `Topic`."]),
    "a variant in a pattern": ("fn f(t: Topic) -> Int { match t { Re‸fund(a) => a, _ => 0 } }", ["Topic.Refund(amount: Int)"]),
    "an error": ('fn f() -> Int fails NotFo‸und { fail NotFound(id: "x") }', ["error NotFound { id: String(max: 64) }"]),
    "a fault": ("fn f() -> Int { f() catch { Time‸out t => 1 } }", ["catch { Timeout f => … }", FAULT_HELP["Timeout"]]),
    "an alias": ("fn f(m: Mon‸ey) -> Money { m }", ["type Money = Decimal(min: 0)"]),
    "a constant": ("fn f() -> Int { MO‸ST }", ["const MOST: Int = 5"]),
    "a parameter": ("fn f(count: Int) -> Int { cou‸nt }", ["count: Int", "A parameter of `f`."]),
    "a trusted parameter": ("fn f(trusted to: String) -> String { t‸o }", ["trusted to: String", "Takes only clean values"]),
    "a parameter with a default": (
        'fn f() -> Order fails NotFound { try lookup("x", de‸ep: true) }',
        ["deep: Bool = false", "Default: `false`."],
    ),
    "a local": ("fn f() -> Int { let n‸ame = 1\n name }", ["let name: Int"]),
    "a variable": ("fn f() -> Int { var x = 1\n x‸ = 2\n x }", ["var x: Int"]),
    "a binder": ("fn f(xs: List<Order>) -> Int { for o in xs { log(o‸.id) }\n 1 }", ["o: Order"]),
    "a type parameter": ("fn f<T>(x: T‸) -> T { x }", ["A type parameter of `f`."]),
    "a permission": (
        "tool t() -> Int\n  needs orders.ref‸und\n  repeat idempotent\n{ 1 }",
        [
            "permission orders.refund includes orders.read",
            "Give money back.",
            "Includes `orders.read`",
            "Needed by",
        ],
    ),
    "a role": (
        "tool t() -> Int\n  needs orders.read\n  repeat idempotent\n  approval required by fin‸ance\n{ 1 }",
        ["role finance"],
    ),
    "a model": (
        'node n() -> String\n  model fa‸st\n  policy one_call\n{\n  instructions "x"\n}',
        ["model fast {", "Provider `anthropic`"],
    ),
    "a store": (
        'fn f() -> Order? { not‸es.get("x") }',
        ["store notes: Map<String, Order> needs orders.read", "Needs `orders.read`"],
    ),
    "a store operation": ('fn f() -> Order? { notes.ge‸t("x") }', ["notes.get(key: String) -> Order?", "The value under a key"]),
    "a module": ("use std/js‸on", ["use std/json"]),
    "a function of the library": (
        'fn f() -> String { short‸en("x", 5) }',
        ["fn shorten(", "In the module `std/text`.", "`std/text`"],
    ),
    "a method": ("fn f() -> Int { [1].ma‸p(fn(x) => x).length() }", ["fn List<T>.map(function: fn(T) -> U) -> List<U>"]),
    "a function of the language": ('fn f() { lo‸g("x") }', ["fn log(text: String)", "Writes to the log of the run."]),
    "a built-in type": ("fn f(x: Str‸ing) -> String { x }", [TYPE_HELP["String"]]),
    "a bound": ("fn f(x: String(m‸ax: 5)) -> String { x }", ["The most that is allowed"]),
    "an amount": ("node n() -> Int\n  budget tok‸ens 5\n{ 1 }", ["Tokens of models"]),
    "the output of a node": (
        'node n() -> String\n  model fast\n  policy one_call\n{\n  instructions "x"\n  require out‸put != ""\n}',
        ["output: String"],
    ),
    "the key of a call": (
        "tool t() -> String\n  needs orders.read\n  repeat idempotent\n{ call.ke‸y }",
        ["call.key: String", "idempotency key"],
    ),
    "a start": (
        "agent a(q: String(max: 100)) -> String(max: 100) {\n  edge sta‸rt -> ask\n  edge ask -> finish\n}",
        ["Where an agent begins"],
    ),
    "an output in an edge": (
        "agent a(q: String(max: 100)) -> String(max: 100) {\n  edge start -> ask\n  edge ask -> finish(as‸k)\n}",
        ["node ask("],
    ),
    "a keyword": ("fn f() -> Int { tr‸y f()\n 1 }", ["try", WORDS["try"][0], "language.md"]),
    "a try": ('fn f() -> Order fails NotFound { tr‸y lookup("x") }', ["The operand can fail with `NotFound`."]),
    "a duration": ("const WAIT = 5mi‸n", ["Duration", "300 seconds"]),
    "a size": ("const SIZE = 64Ki‸B", ["65,536 bytes"]),
    "money": ("const PRICE = $0.‸10", ["0.10 US dollars"]),
}


@pytest.mark.parametrize("what", CASES)
def test_what_is_told(what: str, tmp_path: Path) -> None:
    source, wanted = CASES[what]
    found = place(tmp_path, f"{SHOP}\n{source}\n")
    told = told_at(found.snapshot, found.file, found.offset)
    assert told is not None, what
    for part in wanted:
        assert part in told.text, told.text
    assert told.span.start <= found.offset <= told.span.end


@pytest.mark.parametrize(
    "source",
    ["fn f() {\n  ‸\n}", "// a com‸ment\n", 'const X = "a te‸xt"', "fn f() { 1 +‸ 2 }", "", "fn f( ‸", "fn ‸"],
)
def test_where_there_is_nothing_to_tell(source: str, tmp_path: Path) -> None:
    found = place(tmp_path, source or "‸")
    assert told_at(found.snapshot, found.file, found.offset) is None


def test_lines_of_a_deployment_are_told_of(tmp_path: Path) -> None:
    text = 'run‸s = sqlite("runs.db")\nmodel fast = scripted("x.json")\n'
    found = place(tmp_path, text, "deploy.ael", {"main.ael": SHOP, "pack.ael": "pack shop {}\n"})
    told = told_at(found.snapshot, found.file, found.offset)
    assert told is not None
    assert "`runs = memory`" in told.text
    model = told_at(found.snapshot, found.file, found.file.source.text.index("fast") + 1)
    assert model is not None
    assert "model fast {" in model.text


def test_broken_code_is_told_of_as_far_as_it_is_known(tmp_path: Path) -> None:
    found = place(tmp_path, f"{SHOP}\nfn f(o: Order) -> Int {{\n  let x = missing(o.tot‸al)\n  x\n}}\n\nfn g( {{\n")
    told = told_at(found.snapshot, found.file, found.offset)
    assert told is not None
    assert "total: Int" in told.text


def test_the_protocols_hover_has_a_range_in_utf_16(tmp_path: Path) -> None:
    found = place(tmp_path, 'fn f() -> String {\n  let x = "😀"\n  /* */ x‸\n}\n'.replace("/* */ ", '"😀${x}" + '))
    at = found.position
    told = hover(found.asked(), lsp.HoverParams(at.text_document, at.position))
    assert told is not None
    assert told.range == lsp.Range(lsp.Position(2, 13), lsp.Position(2, 14))


def test_a_client_without_markdown_is_given_text(tmp_path: Path) -> None:
    found = place(tmp_path, "fn f‸() -> Int { 1 }\n")
    plain = lsp.ClientCapabilities(
        text_document=lsp.TextDocumentClientCapabilities(
            hover=lsp.HoverClientCapabilities(content_format=[lsp.MarkupKind.PlainText])
        )
    )
    told = hover(found.asked(plain), lsp.HoverParams(found.position.text_document, found.position.position))
    assert told is not None
    assert isinstance(told.contents, lsp.MarkupContent)
    assert told.contents.kind == lsp.MarkupKind.PlainText


def test_a_servers_words_are_shown_and_form_nothing(examples: dict[str, Snapshot]) -> None:
    snapshot = examples["support"]
    file = snapshot.modules["main"]
    told = told_at(snapshot, file, file.source.text.index("create_ticket") + 2)
    assert told is not None
    assert "The server says: " in told.text
    assert "MCP server `crm`" in told.text


HOSTILE = "[run](command:delete) <img src=x onerror=y> ![a](http://x) `code` # head\n\n---\n\u202egnp\u200b **bold** https://evil.example"


def test_text_of_others_is_escaped() -> None:
    shown = escaped(HOSTILE)
    assert "\n" not in shown
    assert "\u202e" not in shown
    for sign in "[]()<>`*#!":
        assert all(shown[at - 1] == "\\" for at in range(len(shown)) if shown[at] == sign), (sign, shown)
    assert "https\\:" in shown
    assert len(escaped("x" * 100_000)) <= 2_000


def test_docs_start_nothing_and_fences_hold() -> None:
    assert "command:" not in prose("[go](command:x)")
    assert "<img" not in prose("<img src=x>").replace("\\<img", "")
    assert code("a ```` b").startswith("`````ael\n")
    assert quoted("a `b` c") == "``a `b` c``"


def test_every_word_of_the_language_has_help() -> None:
    known = words()
    for kind in ("declaration", "statement", "operator", "literal", "soft", "clause"):
        for word in known[kind]:
            assert word in WORDS or word == "process", word
    assert set(FAULT_HELP) == FAULT_NAMES
    assert set(known["type"]) <= set(TYPE_HELP)
