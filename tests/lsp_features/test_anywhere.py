"""Every feature answers at every place of every text, whole, cut off anywhere, or mixed up; the same place gives the same answer."""

from __future__ import annotations

import contextlib
import itertools
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ael.diagnostics.diagnostic import Severity
from ael.editor.analysis import Program, where
from ael.editor.documents import Disk, Document, Overlay
from ael.editor.feature import Refused
from ael.editor.features import semantic_tokens
from ael.editor.features.calls import called, callees, callers
from ael.editor.features.completion import offered
from ael.editor.features.cursor import Cursor
from ael.editor.features.definition import definitions_at, implementations_at, types_at
from ael.editor.features.entity import Entity
from ael.editor.features.folding import folds, grown
from ael.editor.features.hover import told_at
from ael.editor.features.inlay_hints import hints
from ael.editor.features.items import MAX_ITEMS, chosen
from ael.editor.features.links import links
from ael.editor.features.names import at
from ael.editor.features.references import highlights_at, references_at
from ael.editor.features.rename import renamed_at
from ael.editor.features.signature_help import shown_at
from ael.editor.features.symbols import document_symbols, inner, matching, name_of
from ael.editor.snapshot import File, Snapshot
from ael.source import Span
from tests.lsp_features.marked import ROOT, SHOP, Place

pytestmark = pytest.mark.feature("C2")

WHOLE = (
    SHOP
    + """
mcp crm {
  url setting("CRM_URL")
  credential secret("CRM_TOKEN")
  tool get_customer as "get-customer" needs orders.read repeat idempotent retry 3
  resource readme "docs://{+path}" needs orders.read
}

provide Orders as kept grants orders.refund {
  fn get(id: String(max: 64)) -> Order fails NotFound { fail NotFound(id: id) }
  fn refund(id: String(max: 64)) -> Bool { call.key != "" }
}

skill polite {
  version "1.0"
  tools lookup
  instructions "Be polite. 😀"
  fn nice(order: Order) -> Bool { order.total > 1 }
}

table route(topic: Topic, deep: Bool) -> Int
  policy first
{
  when Shipping, true => 1
  when Topic.Other | Shipping, _ => 2
  otherwise => 3
}

fn everything<T>(xs: List<Order>(max: 5), item: T, more?: String = "x") -> Int fails NotFound, Closed {
  var total = 0
  for at, x in xs {
    total = total + (if x.total > at { x.total } else { 0 - at })
  }
  while total > 10 up to 5 { total = total div 2 }
  let found = try lookup(id: xs[0].id, deep: true) catch {
    NotFound e => Order(id: e.id, total: 0, topic: Topic.Refund(amount: 3))
    Timeout | Unavailable => fail Closed()
  }
  let both = parallel { a: found.total, b: parallel x in xs up to 2 { x.id } }
  match found.topic {
    Refund(amount: n) if n > 2 => n
    Shipping | Other => both.a + xs.map(fn(one) => one.total).sum()
    _ => (found with { total: 2, note: null }).total
  }
}

agent desk(question: String(max: 100)) -> String(max: 100)
  grants orders.read
  budget tokens 1_000, cost $0.10, time 5min
{
  edge start -> ask(question)
  edge ask -> ask(ask) when ask != "" up to 2
  edge ask -> finish otherwise
  edge ask -> finish("no") on Fault
}

test "all of it 😀" {
  script fast [final("yes"), call("lookup", ["id": "x"])]
  log("x")
  compensate { log("y") }
  assert desk("is it?") == "yes"
}
"""
)


def _snapshot(folder: Path, text: str, kind: str = "main.ael") -> tuple[Snapshot, File]:
    """A text as an open document, so that nothing is written for each of many."""
    path = (folder / kind).resolve()
    document = Document(path.as_uri(), path, 1, text)
    disk = Disk()
    place = where(path, Overlay({path: document}, disk, {}))
    snapshot = Program(place, disk, "utf-16").analyse({path: document})
    return snapshot, snapshot.files[path]


def _ask_everything(snapshot: Snapshot, file: File, offset: int) -> None:
    """Ask each feature that is about a place."""
    told_at(snapshot, file, offset)
    definitions_at(snapshot, file, offset)
    types_at(snapshot, file, offset)
    implementations_at(snapshot, file, offset)
    references_at(snapshot, file, offset)
    highlights_at(snapshot, file, offset)
    spans = grown(file, offset)
    assert all(a.start <= b.start and b.end <= a.end for a, b in itertools.pairwise(spans))
    shown_at(snapshot, file, offset)
    span, word, items = offered(snapshot, file, offset)
    assert span.start <= offset <= span.end or not items
    assert "\n" not in file.source.text[span.start : span.end]
    found, _ = chosen(items, word)
    assert len(found) <= MAX_ITEMS
    with contextlib.suppress(Refused):
        for one in renamed_at(snapshot, file, offset):
            assert one.start <= offset <= one.end


def _ask_of_the_file(snapshot: Snapshot, file: File) -> None:
    """Ask each feature that is about a whole file."""
    folds(file)
    links(snapshot, file)
    list(matching(snapshot, "a"))
    found = list(semantic_tokens.tokens(snapshot, file))
    assert all(0 <= one.start < one.end <= len(file.source.text) for one in found)
    semantic_tokens.encoded(file, found)
    hints(snapshot, file, Span(0, len(file.source.text)))
    place = Place(snapshot, file, 0)
    from lsprotocol import types as lsp

    document_symbols(place.asked(), lsp.DocumentSymbolParams(lsp.TextDocumentIdentifier(file.uri)))
    for node in file.tree.declarations:
        for one in (node, *inner(node)):
            name_of(one)


def test_the_text_that_is_cut_checks(tmp_path: Path) -> None:
    snapshot, file = _snapshot(tmp_path, WHOLE)
    wrong = [one.message for one in snapshot.diagnostics.get(file.path, ()) if one.severity is Severity.ERROR]
    assert wrong == ["the MCP server `crm` is not pinned, so nothing is known of its tools"]
    assert len(file.tree.declarations) > 20


def test_every_place_of_a_program(tmp_path: Path) -> None:
    snapshot, file = _snapshot(tmp_path, WHOLE)
    _ask_of_the_file(snapshot, file)
    for offset in range(0, len(WHOLE) + 1, 7):
        _ask_everything(snapshot, file, offset)


def test_every_prefix_of_a_program(tmp_path: Path) -> None:
    chance = random.Random(7)
    ends = sorted({*chance.sample(range(len(WHOLE)), 40), 0, 1, len(WHOLE)})
    for end in ends:
        text = WHOLE[:end]
        snapshot, file = _snapshot(tmp_path, text)
        _ask_everything(snapshot, file, end)
        _ask_everything(snapshot, file, chance.randint(0, end))
    _ask_of_the_file(snapshot, file)


def test_the_tree_at_the_end_of_every_prefix_is_nearly_always_known(tmp_path: Path) -> None:
    """Where a prefix ends in code, the text is ended and has a tree: half-written code is the normal case."""
    snapshot, file = _snapshot(tmp_path, WHOLE)
    asked = known = 0
    for end in range(1, len(WHOLE), 5):
        cursor = Cursor(snapshot, file, end)
        if cursor.at is None or not cursor.takes_name:
            continue
        asked += 1
        known += bool(cursor.path)
    assert asked > 200
    assert known / asked > 0.97, (known, asked)


@pytest.mark.parametrize("name", ["support", "connectors"])
def test_places_of_examples(name: str, examples: dict[str, Snapshot]) -> None:
    chance = random.Random(3)
    snapshot = examples[name]
    for file in snapshot.files.values():
        if not file.own:
            continue
        _ask_of_the_file(snapshot, file)
        length = len(file.source.text)
        for offset in sorted({chance.randint(0, length) for _ in range(25)}):
            _ask_everything(snapshot, file, offset)
    for key in list(snapshot.collected.symbols)[::4]:
        entity = Entity("symbol", key)
        if called(snapshot, entity):
            callers(snapshot, entity)
            callees(snapshot, entity)


PIECES = [
    "fn f(", ") -> Int", "{", "}", "\n", " ", "let x = ", "match x {", "=>", ".", ",", "(", ")", '"', "${", '"""', "tool t", "  needs ",
    "edge ", "->", "a.b", "Order", "o.", "try ", "catch {", "// c", "/// d\n", "use std/text.{", "x", "1", "5s", "😀", "\r\n", "record R {",
    "when ", "table t(", "\t", "é", "@", "model m = ", "tenant a {", ": ", "<", ">", "?", "fails ", "\x00", "\u2028",
]  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(PIECES), max_size=25), st.integers(0, 200), st.sampled_from(["main.ael", "deploy.ael", "pack.ael"])
)
def test_any_text(tmp_path: Path, pieces: list[str], at_: int, kind: str) -> None:
    text = "".join(pieces)
    snapshot, file = _snapshot(tmp_path, text, kind)
    _ask_everything(snapshot, file, min(at_, len(text)))
    _ask_everything(snapshot, file, len(text))
    _ask_of_the_file(snapshot, file)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(WHOLE)), st.integers(0, 60), st.sampled_from(PIECES))
def test_a_program_with_a_part_replaced(tmp_path: Path, start: int, length: int, piece: str) -> None:
    text = WHOLE[:start] + piece + WHOLE[start + length :]
    snapshot, file = _snapshot(tmp_path, text)
    _ask_everything(snapshot, file, start + len(piece))
    _ask_everything(snapshot, file, min(start, len(text)))


def test_what_is_asked_changes_nothing(tmp_path: Path) -> None:
    """No import counts as used because somebody looked, and the same question has the same answer."""
    text = "use std/text.{shorten}\n\nfn f() -> Int { 1 }\n"
    snapshot, file = _snapshot(tmp_path, text)
    before = [one.code for one in snapshot.diagnostics[file.path]]
    assert before == ["AEL1102"]
    assert file.scope is not None
    for offset in range(len(text)):
        _ask_everything(snapshot, file, offset)
    assert file.scope.used == set()
    assert at(snapshot, file, 15) == at(snapshot, file, 15)


def test_offsets_follow_a_declaration_that_moves(tmp_path: Path) -> None:
    """What is kept of a declaration is moved with it: an edit above it changes where names are, not what they are."""
    path = (tmp_path / "main.ael").resolve()
    disk = Disk()
    below = "fn f(count: Int) -> Int {\n  let first = count\n  first + count\n}\n"
    program = Program(where(path, Overlay({path: Document(path.as_uri(), path, 1, below)}, disk, {})), disk, "utf-16")
    for version, above in enumerate(["", "// 😀\n", "const A = 1\n\n", "", "/// Doc.\n"], 1):
        text = above + below
        snapshot = program.analyse({path: Document(path.as_uri(), path, version, text)})
        file = snapshot.files[path]
        offset = text.index("first +")
        ((_, span),) = definitions_at(snapshot, file, offset)
        assert span.start == text.index("first =")
        found = [one.start for _, one in references_at(snapshot, file, text.index("count:"))]
        assert found == [text.index("count:"), text.index("count\n"), text.rindex("count")]
        coloured = [text[one.start : one.end] for one in semantic_tokens.tokens(snapshot, file)]
        assert coloured.count("first") == 2


def test_pages_exist() -> None:
    from ael.editor.features.pages import page
    from ael.editor.word_help import KNOWN, WORDS

    language = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    heads = {line[3:].lower().replace(",", "").replace(" ", "-") for line in language.splitlines() if line.startswith("## ")}
    for _, section in (*WORDS.values(), *KNOWN.values()):
        assert not section or section in heads, section
        assert "(file:" in page("language.md", section)
