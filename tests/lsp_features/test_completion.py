"""What is offered at the cursor: everything that fits the place, the likely first, also where the text does not parse."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lsprotocol import types as lsp

from ael.editor.features.complete_deploy import ARGUMENTS
from ael.editor.features.complete_words import DECLARATIONS, STATEMENTS
from ael.editor.features.completion import complete, resolve
from ael.editor.features.items import MAX_ITEMS, fits
from ael.editor.snapshot import Snapshot
from ael.project import bind_files, bind_http, bind_mcp, bind_process, bind_runs, bind_service, bind_web
from tests.lsp_features.marked import SHOP, Place, completions, labels, place

pytestmark = pytest.mark.feature("C2")

CASES: dict[str, tuple[str, list[str], list[str]]] = {
    "fields": ("fn f(o: Order) -> String {\n  let x = o.‸\n}", ["id", "total", "topic", "note"], ["lookup", "let"]),
    "fields, the line is not ended": ("fn f(o: Order) -> String {\n  o.‸\n  let y = 1\n", ["id", "total"], []),
    "fields, brackets are open": ("fn f(o: Order) -> Int {\n  lookup(f(g(o.‸", ["id", "total"], []),
    "fields after a broken line": ("fn f(o: Order) -> Int {\n  let y =\n  let z = o.‸\n}", ["id", "total"], []),
    "fields in a text": ('fn f(o: Order) -> String {\n  "😀 ${o.‸}"\n}', ["id", "note"], []),
    "methods": ("fn f(o: Order) -> String {\n  o.id.‸\n}", ["trim", "length", "split"], ["map"]),
    "methods in a lambda": ("fn f(xs: List<Int>) -> Int {\n  xs.filter(fn(x) => x.‸ > 1)\n}", ["abs", "clamp"], []),
    "variants": ("fn f() -> Topic { Topic.‸ }", ["Refund", "Shipping", "Other", "check"], []),
    "variants in a pattern": (
        "fn f(t: Topic) -> Int {\n  match t {\n    Topic.‸ => 1\n    _ => 2\n  }\n}",
        ["Refund", "Shipping", "Other"],
        ["check"],
    ),
    "variants in a cell": (
        "table t(a: Int, t: Topic) -> Int {\n  when 1, Topic.Other | Topic.‸ => 1\n  otherwise => 2\n}",
        ["Refund", "Shipping", "Other"],
        ["check"],
    ),
    "operations": ("fn f() { Orders.‸ }", ["get", "refund"], []),
    "store operations": ("fn f() { notes.‸ }", ["get", "put", "swap", "page"], []),
    "members of a module": ("use std/json as j\nfn f() { j.‸ }", ["canonical", "diff"], ["let"]),
    "the key of a call": ("tool t() -> String\n  needs orders.read\n  repeat idempotent\n{ call.‸ }", ["key"], []),
    "locals": (
        "fn f(count: Int) -> Int {\n  let first = 1\n  ‸\n  let later = 2\n}",
        ["count", "first", "if", "return"],
        ["later"],
    ),
    "what has the type first": ("fn f(count: Int, text: String) -> Int {\n  return ‸\n}", ["count"], []),
    "variants where one is wanted": ("fn f() -> Topic {\n  ‸\n}", ["Topic.Refund", "Topic.Shipping"], []),
    "named arguments": ("fn f() -> Order fails NotFound {\n  try lookup(‸\n}", ["id:", "deep:"], []),
    "named arguments that are left": ('fn f() -> Order fails NotFound {\n  try lookup(id: "x", ‸)\n}', ["deep:"], ["id:"]),
    "named arguments, one is behind": ("fn f() -> Order fails NotFound {\n  try lookup(‸, deep: true)\n}", ["id:"], ["deep:"]),
    "fields of a constructor": ('fn f() -> Order {\n  Order(id: "x", ‸\n}', ["total:", "topic:", "note:"], ["id:"]),
    "fields in with": ("fn f(o: Order) -> Order {\n  o with { total: 1, ‸ }\n}", ["id:", "topic:"], ["total:"]),
    "arms": (
        "fn f(t: Topic) -> Int {\n  match t {\n    Shipping => 1\n    ‸\n  }\n}",
        ["all missing cases", "Refund(amount)", "Other", "_"],
        ["Shipping"],
    ),
    "arms, one is behind": (
        "fn f(t: Topic) -> Int {\n  match t {\n    ‸\n    Other => 1\n  }\n}",
        ["Refund(amount)", "Shipping"],
        ["Other"],
    ),
    "arms of null": ("fn f(o: Order) -> Int {\n  match o.note {\n    ‸\n  }\n}", ["null", "String text"], []),
    "arms of a catch": ('fn f() -> Int {\n  lookup("x") catch {\n    ‸\n  }\n}', ["NotFound n", "Fault f", "Timeout f"], []),
    "clauses of a tool": (
        "tool t() -> Int\n  needs orders.read\n  ‸\n{ 1 }",
        ["repeat", "timeout", "limit", "approval"],
        ["needs", "budget", "tools"],
    ),
    "clauses, one is behind": ("tool t() -> Int\n  needs orders.read\n  ‸\n  timeout 5s\n{ 1 }", ["repeat"], ["timeout"]),
    "clauses of a node": (
        "node n() -> Int\n  model fast\n  ‸\n{ 1 }",
        ["policy", "grants", "tools", "budget"],
        ["model", "needs"],
    ),
    "clauses of an agent": (
        "agent a(q: String) -> String\n  ‸\n{}",
        ["grants", "budget", "skills", "policy"],
        ["tools", "model"],
    ),
    "clauses of an operation": ("service S {\n  get() -> Int\n    ‸\n}", ["needs", "repeat", "timeout"], ["grants"]),
    "permissions": ("tool t() -> Int\n  needs ‸\n{ 1 }", ["orders.read", "orders.refund"], ["finance"]),
    "permissions after a dot": ("tool t() -> Int\n  needs orders.re‸\n{ 1 }", ["orders.read", "orders.refund"], []),
    "roles": ("tool t() -> Int\n  needs orders.read\n  approval required by ‸\n{ 1 }", ["finance"], ["orders.read"]),
    "tools": ("node n() -> Int\n  model fast\n  tools ‸\n{ 1 }", ["lookup", "ask"], ["Order", "f"]),
    "models": ("node n() -> Int\n  model ‸\n{ 1 }", ["fast"], ["lookup"]),
    "amounts": ("node n() -> Int\n  budget tokens 5, ‸\n{ 1 }", ["cost", "time"], ["tokens"]),
    "sizes": ("tool t() -> Int\n  needs orders.read\n  limit ‸\n{ 1 }", ["input", "output", "concurrent"], ["tokens"]),
    "policies": ("node n() -> Int\n  policy ‸\n{ 1 }", ["one_call", "loop"], []),
    "bounds of a loop": ("node n() -> Int\n  policy loop(‸)\n{ 1 }", ["steps", "tool_calls"], []),
    "repeat": ("tool t() -> Int\n  repeat ‸\n{ 1 }", ["never", "idempotent", "reconcile"], []),
    "errors": ("fn f() -> Int fails ‸\n", ["NotFound", "Closed", "Uncertain"], ["Order"]),
    "types": ("fn f(x: ‸", ["String", "Order", "Topic", "Money", "List"], ["lookup", "let"]),
    "types inside of types": ("fn f(x: List<‸", ["String", "Order"], []),
    "bounds": ("fn f(x: String(‸", ["max", "min", "pattern"], []),
    "units of a time": ("tool t() -> Int\n  timeout 5‸\n{ 1 }", ["5s", "5min", "5ms"], ["5KiB"]),
    "units of a size": ("tool t() -> Int\n  limit input 64K‸\n{ 1 }", ["64KiB", "64KB"], ["64s"]),
    "edges": ("agent a(q: String) -> String {\n  edge ‸\n}", ["start", "ask"], ["lookup", "finish"]),
    "targets": ("agent a(q: String) -> String {\n  edge start -> ‸\n}", ["finish", "ask"], ["start", "lookup"]),
    "an agent's body": (
        "agent a(q: String) -> String {\n  edge start -> ask\n  ‸\n}",
        ["edge", "when", "otherwise", "on"],
        ["let"],
    ),
    "errors of an edge": ("agent a(q: String) -> String {\n  edge ask -> ask on ‸\n}", ["Fault", "Timeout", "NotFound"], []),
    "a node's body": (
        "node n(q: String) -> String\n  model fast\n  policy one_call\n{\n  ‸\n}",
        ["instructions", "require", "input"],
        [],
    ),
    "parameters in instructions": (
        'node n(question: String) -> String\n  model fast\n  policy one_call\n{\n  instructions "${‸}"\n}',
        ["question"],
        [],
    ),
    "settings of a model": ("model m {\n  ‸\n}", ["provider", "name", "temperature", "fallback"], ["url"]),
    "providers": ("model m {\n  provider ‸\n}", ["anthropic", "openai", "scripted"], []),
    "settings of a server": ("mcp crm {\n  ‸\n}", ["url", "credential", "tool", "resource"], ["provider"]),
    "operations to provide": (
        "provide Orders {\n  fn get(id: String(max: 64)) -> Order fails NotFound { fail NotFound(id: id) }\n  fn ‸\n}",
        ["refund"],
        ["get"],
    ),
    "services to provide": ("provide ‸\n", ["Orders"], ["notes"]),
    "cells of a table": (
        "table t(topic: Topic, deep: Bool) -> Int {\n  when ‸ => 1\n  otherwise => 2\n}",
        ["Refund", "Shipping", "_"],
        [],
    ),
    "cells of the second column": (
        "table t(topic: Topic, deep: Bool) -> Int {\n  when _, ‸ => 1\n  otherwise => 2\n}",
        ["true", "false"],
        ["Shipping"],
    ),
    "policies of a table": (
        "table t(topic: Topic) -> Int\n  policy ‸\n{\n  otherwise => 2\n}",
        ["unique", "first"],
        ["one_call"],
    ),
    "what a test scripts": ('test "x" {\n  script ‸\n}', ["fast"], ["Order"]),
    "turns": ('test "x" {\n  script fast [fin‸]\n}', ["final"], []),
    "tools that a script calls": ('test "x" {\n  script fast [call("‸")]\n}', ["lookup", "ask"], []),
    "what is counted": ('test "x" {\n  assert calls(‸) == 1\n}', ["lookup", "ask", "Orders"], ["Order"]),
    "declarations": ("‸", ["fn", "record", "tool", "node", "agent", "service", "test", "use", "table"], ["let", "needs"]),
    "after pub": ("pub ‸", ["fn", "record"], ["let"]),
    "modules": ("use std/te‸", ["std/text", "std/template"], []),
    "names of a module": ("use std/json.{‸}", ["canonical", "diff"], []),
    "names of a module that are left": ("use std/json.{diff, ‸}", ["canonical"], ["diff"]),
    "in a comment": ("// orders.‸", [], ["read"]),
    "in a text": ('fn f() -> String { "Order‸" }', [], ["Order"]),
    "a name that is given": ("fn f() {\n  let ‸\n}", [], ["lookup", "Order"]),
}


@pytest.mark.parametrize("what", CASES)
def test_what_is_offered(what: str, tmp_path: Path) -> None:
    source, wanted, unwanted = CASES[what]
    found = labels(place(tmp_path, f"{SHOP}\n{source}\n"))
    assert [one for one in wanted if one not in found] == [], found
    assert [one for one in unwanted if one in found] == []
    assert len(found) <= MAX_ITEMS


DEPLOYMENTS: dict[str, tuple[str, list[str], list[str]]] = {
    "kinds": ("‸", ["model", "secret", "store", "tenant", "runs"], ["fn"]),
    "models": ("model ‸", ["fast"], ["notes"]),
    "models that are not bound": ('model fast = scripted("x")\nmodel ‸', [], ["fast"]),
    "providers": ("model fast = ‸", ["anthropic", "scripted", "recorded"], ["sqlite"]),
    "options": ('model fast = anthropic("x", ‸', ["key:", "temperature:"], []),
    "options that are left": ('model fast = anthropic("x", key: secret("K"), ‸', ["temperature:"], ["key:"]),
    "secrets that are asked for": ('model fast = anthropic("x", key: secret("THE_KEY"))\nsecret ‸', ["THE_KEY"], []),
    "stores": ("store ‸", ["notes"], ["fast"]),
    "places of a store": ("store notes = ‸", ["sqlite", "memory"], []),
    "a tenant": ("tenant a {\n  ‸\n}", ["grants", "deny", "budget"], ["needs", "model"]),
    "a tenant's permissions": ("tenant a {\n  grants ‸\n}", ["orders.read"], []),
    "limits": ("limit ‸", ["input", "result", "depth"], []),
    "roles": ("role ‸", ["finance"], []),
}


@pytest.mark.parametrize("what", DEPLOYMENTS)
def test_what_is_offered_in_a_deployment(what: str, tmp_path: Path) -> None:
    source, wanted, unwanted = DEPLOYMENTS[what]
    found = labels(place(tmp_path, source, "deploy.ael", {"main.ael": SHOP, "pack.ael": "pack shop {}\n"}))
    assert [one for one in wanted if one not in found] == [], found
    assert [one for one in unwanted if one in found] == []


def test_a_pack_lists_optional_packages(tmp_path: Path) -> None:
    found = labels(place(tmp_path, "pack shop {\n  uses ‸\n}\n", "pack.ael", {"main.ael": SHOP}))
    assert "std/process" in found
    assert "std/text" not in found


def test_all_that_is_missing_is_filled_in(tmp_path: Path) -> None:
    first = completions(place(tmp_path, f"{SHOP}\nfn f(t: Topic) -> Int {{\n  match t {{\n    Other => 1\n    ‸\n  }}\n}}\n"))[0]
    assert first.label == "all missing cases"
    assert first.snippet == "Refund(amount) => ${1}\nShipping => ${2}$0"
    assert first.insert == "Refund(amount) => \nShipping => "


def test_a_name_of_another_module_brings_its_use(tmp_path: Path) -> None:
    pack = {
        "pack.ael": "pack shop {}\n",
        "prices.ael": "/// The price.\npub fn price_of(id: String) -> Int { 1 }\nfn hidden() -> Int { 1 }\n",
    }
    found = place(tmp_path, "use std/text.{shorten}\n\nfn f() -> Int { pri‸ }\n", others=pack)
    item = next(one for one in completions(found) if one.label == "price_of")
    (span, text), *more = item.edits
    assert not more
    assert (span.start, text) == (len("use std/text.{shorten}"), "\nuse ./prices.{price_of}")
    assert "hidden" not in labels(found)
    shorter = place(tmp_path, "use std/text.{shorten}\n\nfn f() -> String { shorten_w‸ }\n")
    (span, text), *more = next(one for one in completions(shorter) if one.label == "shorten_words").edits
    assert (shorter.text(span), text) == ("", ", shorten_words")
    assert shorter.file.source.text[: span.end] == "use std/text.{shorten"


def test_a_name_of_the_library_brings_its_use_where_nothing_is_used_yet(tmp_path: Path) -> None:
    found = place(tmp_path, "//! A module.\n\nfn f() -> String { shorten_w‸ }\n")
    ((span, text),) = next(one for one in completions(found) if one.label == "shorten_words").edits
    whole = found.file.source.text
    assert whole[: span.start] + text + whole[span.end :] == "//! A module.\n\nuse std/text.{shorten_words}\n\n" + whole[15:]


def test_tools_of_a_server_come_from_the_lock(examples: dict[str, Snapshot]) -> None:
    snapshot = examples["support"]
    file = snapshot.modules["main"]
    at = file.source.text.index("crm.get_customer") + 4
    found = labels(Place(snapshot, file, at))
    assert {"get_customer", "create_ticket"} <= set(found)


def _completed(found: Place, capabilities: lsp.ClientCapabilities | None = None) -> lsp.CompletionList:
    at = found.position
    return complete(found.asked(capabilities), lsp.CompletionParams(at.text_document, at.position))


def test_the_protocols_items_replace_the_word_and_say_more_when_looked_at(tmp_path: Path) -> None:
    found = place(tmp_path, f'{SHOP}\nfn f(o: Order) -> String {{ "😀" + o.no‸te_x }}\n')
    items = _completed(found).items
    item = next(one for one in items if one.label == "note")
    assert isinstance(item.text_edit, lsp.TextEdit)
    assert found.text(found.file.lines.span(item.text_edit.range)) == "note_x"
    assert item.insert_text_format == lsp.InsertTextFormat.PlainText
    assert item.documentation is None
    resolved = resolve(found.asked(), item)
    assert isinstance(resolved.documentation, lsp.MarkupContent)
    assert "A field of `Order`." in resolved.documentation.value
    assert [one.sort_text for one in items] == sorted(one.sort_text or "" for one in items)


def test_snippets_are_for_clients_that_know_them(tmp_path: Path) -> None:
    found = place(tmp_path, f"{SHOP}\nfn f() -> Order fails NotFound {{ try look‸ }}\n")
    plain = next(one for one in _completed(found).items if one.label == "lookup")
    assert isinstance(plain.text_edit, lsp.TextEdit)
    assert plain.text_edit.new_text == "lookup"
    able = lsp.ClientCapabilities(
        text_document=lsp.TextDocumentClientCapabilities(
            completion=lsp.CompletionClientCapabilities(completion_item=lsp.ClientCompletionItemOptions(snippet_support=True))
        )
    )
    snippet = next(one for one in _completed(found, able).items if one.label == "lookup")
    assert isinstance(snippet.text_edit, lsp.TextEdit)
    assert snippet.text_edit.new_text == "lookup($0)"


def test_the_answer_is_bounded_and_says_so(tmp_path: Path) -> None:
    many = "\n".join(f"fn name_{at}() -> Int {{ 1 }}" for at in range(400))
    found = place(tmp_path, f"{many}\nfn f() -> Int {{ name‸ }}\n")
    answer = _completed(found)
    assert answer.is_incomplete
    assert len(answer.items) == MAX_ITEMS


def test_the_same_place_gives_the_same_answer(tmp_path: Path) -> None:
    found = place(tmp_path, f"{SHOP}\nfn f(o: Order) -> Order {{ ‸ }}\n")
    assert _completed(found) == _completed(found)


def test_letters_in_their_order_fit_and_nearer_ones_go_first() -> None:
    assert [fits("ord", one) for one in ("order", "Order", "my_order", "border", "o_r_d", "road")] == [0, 1, 2, 3, 4, None]


def test_snippets_are_sound() -> None:
    for snippet in (*DECLARATIONS.values(), *STATEMENTS.values()):
        places = re.findall(r"\$\{(\d+)|\$(\d+)", snippet)
        assert places
        assert "$0" in snippet or snippet.count("$") >= 1
        plain = re.sub(r"\$\{\d+\|([^|,]*)[^}]*\}", r"\1", snippet)
        assert plain.count("{") >= plain.count("}") - plain.count("${")


def test_the_options_of_deployments_are_those_that_are_read() -> None:
    read = {
        ("mcp", "http"): bind_mcp._NETWORK | bind_mcp._COMMON,
        ("mcp", "sse"): bind_mcp._NETWORK | bind_mcp._COMMON,
        ("mcp", "stdio"): bind_mcp._PROCESS | bind_mcp._COMMON,
        ("http", "client"): frozenset(bind_http._OPTIONS),
        ("web", "search"): frozenset({*bind_web._OPTIONS, "key"}),
        ("web", "pages"): frozenset(bind_web._OPTIONS),
        ("files", "folder"): frozenset(bind_files._FILES),
        ("code", "commands"): frozenset(bind_files._CODE),
        ("process", "sandbox"): frozenset({*bind_process._WORDS, *bind_process._WALLS}),
        ("runs", "sqlite"): frozenset(bind_runs._OPTIONS),
        **{("service", one): frozenset(bind_service._OPTIONS[one]) for one in ("https", "grpc", "process")},
    }
    for key, known in read.items():
        assert set(ARGUMENTS[key]) <= known, key
