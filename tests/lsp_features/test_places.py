"""Definitions, types, implementations, references, highlights, links and calls: places that belong together."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp

from ael.editor.features.calls import incoming, outgoing, prepare
from ael.editor.features.definition import definition, definitions_at, implementations_at, types_at
from ael.editor.features.entity import Entity as Meant
from ael.editor.features.links import document_links, links
from ael.editor.features.references import find_references, highlight, references_at, renamed_module
from ael.editor.snapshot import Snapshot
from tests.lsp_features.marked import SHOP, Place, place

pytestmark = pytest.mark.feature("C2")

DEFINITIONS: dict[str, tuple[str, str]] = {
    "a local": ("fn f() -> Int {\n  let n = 1\n  n‸\n}", "n"),
    "a field": ("fn f(o: Order) -> Int { o.tot‸al }", "total"),
    "a field in a constructor": ('fn f() -> Order { Order(id: "x", tot‸al: 1, topic: Topic.Other) }', "total"),
    "a variant": ("fn f() -> Topic { Topic.Oth‸er }", "Other"),
    "a variant in a pattern": ("fn f(t: Topic) -> Int { match t { Ship‸ping => 1, _ => 2 } }", "Shipping"),
    "a named argument": ('fn f() -> Order fails NotFound { try lookup("x", de‸ep: true) }', "deep"),
    "a permission": ("tool t() -> Int\n  needs orders.re‸ad\n  repeat idempotent\n{ 1 }", "orders.read"),
    "a model": ('node n() -> String\n  model fa‸st\n  policy one_call\n{\n  instructions "x"\n}', "fast"),
    "a node in an edge": (
        "agent a(q: String(max: 100)) -> String(max: 100) {\n  edge start -> as‸k\n  edge ask -> finish\n}",
        "ask",
    ),
    "an output": (
        "agent a(q: String(max: 100)) -> String(max: 100) {\n  edge start -> ask\n  edge ask -> finish(as‸k)\n}",
        "ask",
    ),
    "an import": ('fn f() -> String { short‸en("x", 3) }', "shorten"),
}


@pytest.mark.parametrize("what", DEFINITIONS)
def test_where_it_is_declared(what: str, tmp_path: Path) -> None:
    source, wanted = DEFINITIONS[what]
    found = place(tmp_path, f"{SHOP}\n{source}\n")
    ((file, span),) = definitions_at(found.snapshot, found.file, found.offset)
    assert file.source.text[span.start : span.end] == wanted
    assert what == "an import" or file is found.file
    assert what != "an import" or file.name == "std/text"


def test_the_first_of_two_locals_is_hidden(tmp_path: Path) -> None:
    found = place(tmp_path, "fn f(n: Int) -> Int {\n  if n > 0 {\n    let k = 1\n    return k‸\n  }\n  let k = 2\n  k\n}\n")
    ((_, span),) = definitions_at(found.snapshot, found.file, found.offset)
    assert found.file.lines.position(span.start).line == 2


def test_a_module_and_a_text_file_are_places(tmp_path: Path) -> None:
    node = 'node n(q: String) -> String\n  model fast\n  policy one_call\n{\n  instructions from "say.m‸d"\n}\n'
    others = {"pack.ael": "pack shop {}\n", "say.md": "Say it.\n"}
    found = place(tmp_path, f"{SHOP}\n{node}", others=others)
    ((file, span),) = definitions_at(found.snapshot, found.file, found.offset)
    assert (file.path.name, span.start) == ("say.md", 0)
    linked = [(found.text(span), file.path.name) for span, file in links(found.snapshot, found.file)]
    assert linked == [("std/text", "text.ael"), ("say.md", "say.md")]
    assert len(document_links(found.asked(), lsp.DocumentLinkParams(found.position.text_document))) == 2
    module = place(tmp_path, 'use std/te‸xt\nfn f() -> String { text.shorten("x", 1) }\n')
    ((file, span),) = definitions_at(module.snapshot, module.file, module.offset)
    assert (file.name, span.start) == ("std/text", 0)


def test_what_a_server_brings_is_found_in_the_lock(examples: dict[str, Snapshot]) -> None:
    snapshot = examples["support"]
    file = snapshot.modules["main"]
    at = file.source.text.index("crm.GetCustomerResult") + 6
    ((lock, span),) = definitions_at(snapshot, file, at)
    assert lock.path.name == "ael.lock"
    assert lock.source.text[span.start : span.end] == '"get_customer"'
    tool = file.source.text.index("crm.get_customer") + 6
    ((own, span),) = definitions_at(snapshot, file, tool)
    assert own is file
    assert file.source.text[span.start : span.end] == "get_customer"


def test_a_python_function_is_found_where_it_is_defined(tmp_path: Path) -> None:
    tool = 'permission a.b\ntool t() -> Int\n  needs a.b\n  repeat idempotent\n  extern "shop.db:lo‸ad"\n'
    others = {"pack.ael": 'pack shop { extern "shop.db" }\n', "shop/db.py": "# \U0001f600\n\n\nasync def load():\n    return 1\n"}
    found = place(tmp_path, tool, others=others)
    at = found.position
    (there,) = definition(found.asked(), lsp.DefinitionParams(at.text_document, at.position))
    assert there.uri == (tmp_path / "shop" / "db.py").resolve().as_uri()
    assert there.range == lsp.Range(lsp.Position(3, 10), lsp.Position(3, 14))
    (link,) = document_links(found.asked(), lsp.DocumentLinkParams(at.text_document))
    assert link.target == there.uri
    away = place(tmp_path, tool.replace("shop.db", "../db"), others={"pack.ael": "pack shop {}\n"})
    at = away.position
    assert definition(away.asked(), lsp.DefinitionParams(at.text_document, at.position)) == []


TYPES: dict[str, tuple[str, list[str]]] = {
    "of a local": ("fn f(o: Order) -> Int {\n  let t = o\n  t‸.total\n}", ["Order"]),
    "of a field": ("fn f(o: Order) -> Topic { o.top‸ic }", ["Topic"]),
    "of what is called": ('fn f() -> Order fails NotFound { try look‸up("x") }', ["Order"]),
    "of items": ("fn f(xs: List<Order>) -> Int { xs‸.length() }", ["Order"]),
    "of a union": ("fn f(x: Order | NotFound) -> Order | NotFound { x‸ }", ["Order", "NotFound"]),
    "of a number": ("fn f(n: Int) -> Int { n‸ }", []),
}


@pytest.mark.parametrize("what", TYPES)
def test_where_the_type_is_declared(what: str, tmp_path: Path) -> None:
    source, wanted = TYPES[what]
    found = place(tmp_path, f"{SHOP}\n{source}\n")
    there = types_at(found.snapshot, found.file, found.offset)
    assert [file.source.text[span.start : span.end] for file, span in there] == wanted


PROVIDED = """
provide Orders as kept grants orders.refund {
  fn get(id: String(max: 64)) -> Order fails NotFound { fail NotFound(id: id) }
  fn refund(id: String(max: 64)) -> Bool { id != "" }
}
fn f() -> Order fails NotFound { try Orders.get("x") }
"""


def test_what_carries_out_an_operation(tmp_path: Path) -> None:
    found = place(tmp_path, SHOP + PROVIDED.replace("Orders.get", "Orders.g‸et"))
    ((file, span),) = implementations_at(found.snapshot, found.file, found.offset)
    line = file.source.line(file.source.position(span.start).line)
    assert line.startswith("  fn get(id")
    service = place(tmp_path, (SHOP + PROVIDED).replace("try Orders.get", "try Ord‸ers.get"))
    ((file, span),) = implementations_at(service.snapshot, service.file, service.offset)
    assert file.source.line(file.source.position(span.start).line).startswith("provide Orders as kept")


def test_references_with_and_without_the_declaration(tmp_path: Path) -> None:
    found = place(tmp_path, SHOP + PROVIDED.replace("Orders.get", "Orders.g‸et"))
    every = references_at(found.snapshot, found.file, found.offset)
    assert [one.role for _, one in every] == ["declare", "implement", "read"]
    without = references_at(found.snapshot, found.file, found.offset, declaration=False)
    assert [one.role for _, one in without] == ["implement", "read"]
    at = found.position
    asked = lsp.ReferenceParams(lsp.ReferenceContext(True), at.text_document, at.position)
    assert len(find_references(found.asked(), asked)) == 3


def test_references_in_other_modules_through_aliases(tmp_path: Path) -> None:
    found = place(
        tmp_path,
        "use ./orders.{Order as O}\nuse ./orders as o\nfn f(x: O) -> o.Order { x }\n",
        others={"pack.ael": "pack shop {}\n", "orders.ael": "pub record Or‸der { id: String }\n"},
    )
    every = references_at(found.snapshot, found.file, found.offset)
    assert [(file.name, file.source.text[one.start : one.end]) for file, one in every] == [
        ("main", "Order"), ("main", "O"), ("main", "O"), ("main", "Order"), ("orders", "Order"),
    ]  # fmt: skip


def test_another_program_calls_a_module_otherwise() -> None:
    assert renamed_module(Meant("symbol", "main.f"), "main", "prices/main") == Meant("symbol", "prices/main.f")
    assert renamed_module(Meant("field", "a", "main.R"), "main", "prices/main") == Meant("field", "a", "prices/main.R")
    assert renamed_module(Meant("symbol", "provide main.s"), "main", "p/main") == Meant("symbol", "provide p/main.s")
    assert renamed_module(Meant("permission", "a.b"), "main", "p/main") == Meant("permission", "p.a.b")
    assert renamed_module(Meant("symbol", "maintain.f"), "main", "p/main") == Meant("symbol", "maintain.f")


def test_highlights_say_what_is_written(tmp_path: Path) -> None:
    found = place(tmp_path, "fn f() -> Int {\n  var n = 1\n  n = n‸ + 1\n  n\n}\n")
    at = found.position
    there = highlight(found.asked(), lsp.DocumentHighlightParams(at.text_document, at.position))
    read, write = lsp.DocumentHighlightKind.Read, lsp.DocumentHighlightKind.Write
    assert [(one.range.start.line, one.range.start.character, one.kind) for one in there] == [
        (1, 6, write), (2, 2, write), (2, 6, read), (3, 2, read),
    ]  # fmt: skip


def test_the_protocols_definition(tmp_path: Path) -> None:
    found = place(tmp_path, 'fn f() -> String {\n  let n = "😀"\n  "😀${n‸}"\n}\n')
    at = found.position
    (one,) = definition(found.asked(), lsp.DefinitionParams(at.text_document, at.position))
    assert one == lsp.Location(found.file.uri, lsp.Range(lsp.Position(1, 6), lsp.Position(1, 7)))


CALLS = """
fn leaf() -> Int { 1 }
fn twice() -> Int { leaf() + leaf() }
tool step() -> Int
  needs orders.read
  repeat idempotent
{ twice() }
node plan(q: String(max: 100)) -> String(max: 100)
  model fast
  policy loop(steps: 2, tool_calls: 2)
  grants orders.read
  tools step
{
  instructions "x"
}
agent whole(q: String(max: 100)) -> String(max: 100)
  grants orders.read
{
  edge start -> plan
  edge plan -> finish
}
"""


def _called(found: Place, way: str) -> dict[str, int]:
    at = found.position
    (item,) = prepare(found.asked(), lsp.CallHierarchyPrepareParams(at.text_document, at.position))
    if way == "in":
        return {
            one.from_.name: len(one.from_ranges) for one in incoming(found.asked(), lsp.CallHierarchyIncomingCallsParams(item))
        }
    return {one.to.name: len(one.from_ranges) for one in outgoing(found.asked(), lsp.CallHierarchyOutgoingCallsParams(item))}


def test_who_calls_whom(tmp_path: Path) -> None:
    leaf = place(tmp_path, SHOP + CALLS.replace("leaf() +", "le‸af() +"))
    assert _called(leaf, "in") == {"twice": 2}
    assert _called(leaf, "out") == {}
    step = place(tmp_path, SHOP + CALLS.replace("tool step", "tool st‸ep"))
    assert _called(step, "in") == {"plan": 1}
    assert _called(step, "out") == {"twice": 1}
    whole = place(tmp_path, SHOP + CALLS.replace("agent whole", "agent who‸le"))
    assert _called(whole, "out") == {"plan": 2}


def test_what_is_no_callable_has_no_calls(tmp_path: Path) -> None:
    found = place(tmp_path, SHOP.replace("record Order", "record Or‸der"))
    at = found.position
    assert prepare(found.asked(), lsp.CallHierarchyPrepareParams(at.text_document, at.position)) == []
