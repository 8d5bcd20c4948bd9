"""Another name everywhere, or a sentence that says why not; afterwards the program means what it meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp

from ael.editor.feature import Refused
from ael.editor.features.names import names
from ael.editor.features.rename import edits_for, prepare, rename, renamed_at
from ael.editor.features.rename_check import Edits, applied
from ael.editor.snapshot import Snapshot
from tests.lsp_features.marked import SHOP, Place, analysed, place

pytestmark = pytest.mark.feature("C2")


def _texts(edits: Edits) -> dict[str, str]:
    return {file.path.name: applied(file.source.text, many) for file, many in edits.items()}


def _renamed(found: Place, new: str) -> str:
    return _texts(edits_for(found.snapshot, found.file, found.offset, new))[found.file.path.name]


CASES: dict[str, tuple[str, str, str]] = {
    "a local": ("fn f() -> Int {\n  let n‸ = 1\n  n + n\n}\n", "m", "fn f() -> Int {\n  let m = 1\n  m + m\n}\n"),
    "a variable": ("fn f() -> Int {\n  var n = 1\n  n‸ = 2\n  n\n}\n", "m", "fn f() -> Int {\n  var m = 1\n  m = 2\n  m\n}\n"),
    "one of two that hide each other": (
        "fn f(n: Int) -> Int {\n  if n > 1 {\n    let k = n\n    k‸\n  } else {\n    let k = 2\n    k\n  }\n}\n",
        "m",
        "fn f(n: Int) -> Int {\n  if n > 1 {\n    let m = n\n    m\n  } else {\n    let k = 2\n    k\n  }\n}\n",
    ),
    "a parameter and its arguments": (
        "fn f(a‸: Int, b: Int) -> Int { a + b }\nfn g(a: Int) -> Int { f(b: a, a: 2) }\n",
        "c",
        "fn f(c: Int, b: Int) -> Int { c + b }\nfn g(a: Int) -> Int { f(b: a, c: 2) }\n",
    ),
    "a field": (
        "record R { a‸: Int }\nfn f(r: R) -> R { r with { a: r.a } }\nfn g() -> R { R(a: 1) }\n",
        "b",
        "record R { b: Int }\nfn f(r: R) -> R { r with { b: r.b } }\nfn g() -> R { R(b: 1) }\n",
    ),
    "a variant": (
        "enum E { A(x: Int), B }\nfn f(e: E) -> E {\n  match e {\n    A(x: n) => E.A‸(x: n)\n    B => E.B\n  }\n}\n",
        "C",
        "enum E { C(x: Int), B }\nfn f(e: E) -> E {\n  match e {\n    C(x: n) => E.C(x: n)\n    B => E.B\n  }\n}\n",
    ),
    "a type": (
        "record R { a: Int }\nfn f(r: R‸) -> List<R> { [r] }\n",
        "S",
        "record S { a: Int }\nfn f(r: S) -> List<S> { [r] }\n",
    ),
    "a type parameter": ("fn f<T>(x: T‸) -> T { x }\n", "U", "fn f<U>(x: U) -> U { x }\n"),
    "a permission": (
        "permission a.b\npermission a.c includes a.b\ntool t() -> Int\n  needs a.‸b\n  repeat idempotent\n{ 1 }\n",
        "a.read",
        "permission a.read\npermission a.c includes a.read\ntool t() -> Int\n  needs a.read\n  repeat idempotent\n{ 1 }\n",
    ),
    "a node and its output": (
        'node n(q: String) -> String { q }\nagent a(q: String) -> String {\n  edge start -> n\n  edge n‸ -> finish(n) when n != ""\n'
        '  edge n -> finish("") otherwise\n}\n',
        "m",
        'node m(q: String) -> String { q }\nagent a(q: String) -> String {\n  edge start -> m\n  edge m -> finish(m) when m != ""\n'
        '  edge m -> finish("") otherwise\n}\n',
    ),
    "an operation and what carries it out": (
        'service S {\n  get‸(id: String) -> Int\n}\nprovide S { fn get(id: String) -> Int { 1 } }\nfn f() -> Int { S.get(id: "x") }\n',
        "read",
        'service S {\n  read(id: String) -> Int\n}\nprovide S { fn read(id: String) -> Int { 1 } }\nfn f() -> Int { S.read(id: "x") }\n',
    ),
    "a parameter of an operation": (
        "service S {\n  get(id‸: String) -> Int\n}\n"
        'provide S { fn get(id: String) -> Int { id.length() } }\nfn f() -> Int { S.get(id: "x") }\n',
        "key",
        "service S {\n  get(key: String) -> Int\n}\n"
        'provide S { fn get(key: String) -> Int { key.length() } }\nfn f() -> Int { S.get(key: "x") }\n',
    ),
    "a module by another name": (
        'use std/text\nfn f() -> String { te‸xt.shorten("x", 3) }\n',
        "t",
        'use std/text as t\nfn f() -> String { t.shorten("x", 3) }\n',
    ),
    "an import by another name": (
        'use std/text.{shorten as cut}\nfn f() -> String { cu‸t("x", 3) }\n',
        "trim_to",
        'use std/text.{shorten as trim_to}\nfn f() -> String { trim_to("x", 3) }\n',
    ),
    "alternatives of a pattern": (
        "enum E { A(x: Int), B(x: Int) }\nfn f(e: E) -> Int {\n  match e {\n    A(n‸) | B(n) => n\n  }\n}\n",
        "m",
        "enum E { A(x: Int), B(x: Int) }\nfn f(e: E) -> Int {\n  match e {\n    A(m) | B(m) => m\n  }\n}\n",
    ),
    "after characters of two units": (
        'fn f() -> String {\n  let n = "😀"\n  "é😀${n‸}"\n}\n',
        "m",
        'fn f() -> String {\n  let m = "😀"\n  "é😀${m}"\n}\n',
    ),
    "a table": (
        "table t(n‸: Int) -> Int {\n  when < 5 => 1\n  otherwise => n\n}\n",
        "m",
        "table t(m: Int) -> Int {\n  when < 5 => 1\n  otherwise => m\n}\n",
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_a_new_name(what: str, tmp_path: Path) -> None:
    source, new, wanted = CASES[what]
    assert _renamed(place(tmp_path, source), new) == wanted


def test_every_module_and_deployment_follows_and_aliases_stay(tmp_path: Path) -> None:
    found = place(
        tmp_path,
        "use ./orders.{Order as O, load}\nuse ./orders as o\n\nfn f(x: O) -> o.Order { load(x.id) }\n"
        '\nmodel fast {\n  provider anthropic\n  name "x"\n}\n',
        others={
            "pack.ael": "pack shop {}\n",
            "orders.ael": "pub record Or‸der { id: String }\n\npub fn load(id: String) -> Order { Order(id: id) }\n",
            "deploy.ael": 'model fast = scripted("x.json")\n',
        },
    )
    texts = _texts(edits_for(found.snapshot, found.file, found.offset, "Purchase"))
    assert (
        texts["orders.ael"] == "pub record Purchase { id: String }\n\npub fn load(id: String) -> Purchase { Purchase(id: id) }\n"
    )
    assert "use ./orders.{Purchase as O, load}" in texts["main.ael"]
    assert "fn f(x: O) -> o.Purchase" in texts["main.ael"]
    main = found.snapshot.modules["main"]
    texts = _texts(edits_for(found.snapshot, main, main.source.text.index("fast"), "quick"))
    assert texts["deploy.ael"] == 'model quick = scripted("x.json")\n'


def test_what_a_test_says_in_a_text_follows(tmp_path: Path) -> None:
    script = 'script fast [call("lookup", ["id": "A-1"]), final("x")]'
    asserts = 'assert ask("q") == "x"\n  assert calls(lookup) == 1'
    test = f'test "x" {{\n  {script}\n  {asserts}\n}}\n'
    found = place(tmp_path, SHOP.replace("tool lookup", "tool look‸up") + test)
    text = _renamed(found, "find_order")
    assert 'call("find_order", ["id"' in text
    assert "calls(find_order)" in text
    parameter = place(tmp_path, SHOP.replace("lookup(id", "lookup(i‸d") + test)
    assert 'call("lookup", ["number": "A-1"])' in _renamed(parameter, "number")


REFUSED: dict[str, tuple[str, str, str]] = {
    "a word": ("fn f() -> Int {\n  re‸turn 1\n}\n", "x", "`return` is a word of the language, and has no other name"),
    "nothing": ("fn f() -> Int { 1 }‸\n", "x", "there is no name here that can be changed"),
    "a function of the language": ('fn f() { lo‸g("x") }\n', "x", "`log` belongs to the language, and has no other name"),
    "a built-in type": ("fn f(x: Str‸ing) -> String { x }\n", "X", "`String` belongs to the language, and has no other name"),
    "a method": ("fn f() -> Int { [1].leng‸th() }\n", "x", "`length` belongs to the language, and has no other name"),
    "the library": (
        'use std/text.{short‸en}\nfn f() -> String { shorten("x", 3) }\n',
        "x",
        "`shorten` is declared in the standard library: it can be imported under another name, `shorten as …`",
    ),
    "a file": ("use ./pri‸ces\nfn f() -> Int { prices.a() }\n", "x", "`./prices` is a file: rename the file"),
    "the title of a test": ('test "a ti‸tle" { assert true }\n', "x", "the title of a test is a text: change it where it stands"),
    "no name": ("fn f‸() -> Int { 1 }\n", "a b", "`a b` is no name: letters, digits and `_`"),
    "a reserved name": ("fn f‸() -> Int { 1 }\n", "tool", "`tool` is a word of the language, and cannot be a name here"),
    "another style": ("record R‸ { a: Int }\n", "small", "the name of a record is written `Small`, not `small`"),
    "a name of the language": ("fn f‸() -> Int { 1 }\n", "range", "`range` belongs to the language"),
    "a name that is there": ("fn f‸() -> Int { 1 }\nfn g() -> Int { 1 }\n", "g", "`g` means a function in main.ael already"),
    "a field that is there": ("record R { a‸: Int, b: Int }\n", "b", "`R` has a field `b` already"),
    "a variant that is there": ("enum E { A‸, B }\n", "B", "`E` has a variant `B` already"),
    "a parameter that is there": ("fn f(a‸: Int, b: Int) -> Int { a + b }\n", "b", "`f` has a parameter `b` already"),
    "a permission that is there": ("permission a.b‸\npermission a.c\n", "a.c", "there is a permission `a.c` already"),
    "a local that is there": ("fn f(b: Int) -> Int {\n  let a‸ = 1\n  a + b\n}\n", "b", "`b` is a local name there already"),
    "a local that would be hidden": (
        "fn f() -> Int {\n  let a‸ = 1\n  if true {\n    let b = 2\n    return a + b\n  }\n  a\n}\n",
        "b",
        "would mean something else",
    ),
    "a declaration that a local would hide": (
        "fn one‸() -> Int { 1 }\nfn f(two: Int) -> Int { two + one() }\n",
        "two",
        "check any more",
    ),
    "a local that a declaration hides": (
        "fn two() -> Int { 2 }\nfn f(one‸: Int) -> Int { one + two() }\n",
        "two",
        "check any more",
    ),
    "an output that is a parameter": (
        "node n(q: String) -> String { q }\nagent a(q: String) -> String {\n  edge start -> n‸\n  edge n -> finish\n}\n",
        "q",
        "check any more",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_is_said(what: str, tmp_path: Path) -> None:
    source, new, said = REFUSED[what]
    others = {"prices.ael": "pub fn a() -> Int { 1 }\n"} if "prices" in source else {}
    found = place(tmp_path, source, others=others)
    with pytest.raises(Refused) as refused:
        edits_for(found.snapshot, found.file, found.offset, new)
    assert said in str(refused.value)


def test_a_file_of_others_is_not_changed(library: dict[str, Snapshot]) -> None:
    snapshot = library["text"]
    file = snapshot.modules["std/text"]
    with pytest.raises(Refused, match="is not of this program"):
        renamed_at(snapshot, file, file.source.text.index("shorten") + 1)


def test_the_protocols_answers(tmp_path: Path) -> None:
    found = place(tmp_path, 'fn f() -> String {\n  let na‸me = "😀"\n  "😀${name}"\n}\n')
    at = found.position
    there = prepare(found.asked(), lsp.PrepareRenameParams(at.text_document, at.position))
    assert (there.placeholder, there.range) == ("name", lsp.Range(lsp.Position(1, 6), lsp.Position(1, 10)))
    edit = rename(found.asked(), lsp.RenameParams(at.text_document, at.position, "title"))
    assert edit.changes is not None
    assert [one.range.start for one in edit.changes[found.file.uri]] == [lsp.Position(1, 6), lsp.Position(2, 7)]
    able = lsp.ClientCapabilities(
        workspace=lsp.WorkspaceClientCapabilities(workspace_edit=lsp.WorkspaceEditClientCapabilities(document_changes=True))
    )
    versioned = rename(found.asked(able), lsp.RenameParams(at.text_document, at.position, "title"))
    assert versioned.document_changes is not None
    assert len(versioned.document_changes) == 1


def _fresh(text: str) -> str:
    if text.isupper():
        return f"{text}_NEW"
    return f"{text}New" if text[0].isupper() else f"{text}_new"


@pytest.mark.parametrize("name", ["support", "guard", "packs", "mcp-files"])
def test_all_that_can_be_renamed_in_an_example_can_be_and_the_program_checks_as_before(
    name: str, examples: dict[str, Snapshot], tmp_path: Path
) -> None:
    snapshot = examples[name]
    done: set[object] = set()
    count = 0
    sampled: list[Edits] = []
    for file in snapshot.files.values():
        if not file.own or file.kind != "module":
            continue
        for one in list(names(snapshot, file)):
            text = file.source.text[one.start : one.end]
            if (one.entity, text) in done:
                continue
            done.add((one.entity, text))
            # A part of what is alike is plenty: each rename checks the whole program.
            if one.entity.kind in ("field", "local", "parameter") and len(done) % 7:
                continue
            try:
                renamed_at(snapshot, file, one.start)
            except Refused:
                continue
            edits = edits_for(snapshot, file, one.start, _fresh(text))
            count += 1
            if count % 12 == 1:
                sampled.append(edits)
    assert count >= 3
    for edits in sampled:
        _checks_the_same(snapshot, edits, tmp_path)


def _checks_the_same(snapshot: Snapshot, edits: Edits, folder: Path) -> None:
    """Written to the disk and analysed anew, the program has the same problems."""
    for file in snapshot.files.values():
        if file.path.is_relative_to(snapshot.root):
            target = folder / file.path.relative_to(snapshot.root)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(applied(file.source.text, edits.get(file, [])), encoding="utf-8")
    main = snapshot.modules[snapshot.main].path.relative_to(snapshot.root)
    after = analysed(folder / main)
    told = sorted(one.code for path, many in snapshot.diagnostics.items() if path.suffix == ".ael" for one in many)
    # A dependency that lies outside of the copied folder is not there: what is told of it says nothing of the edits.
    found = sorted(one.code for path, many in after.diagnostics.items() if path.suffix == ".ael" for one in many)
    assert [code for code in found if not code.startswith("AEL08")] == told
