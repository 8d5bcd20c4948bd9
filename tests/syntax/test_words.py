"""Which words are names where."""

from __future__ import annotations

import pytest

from ael.syntax import nodes as n
from ael.syntax.tables import RESERVED, SOFT
from tests.syntax.helpers import good, parse, problems, statements

ITEMS = {"input", "require", "examples", "instructions", "script"}


@pytest.mark.feature("A1.2")
@pytest.mark.parametrize("word", sorted(RESERVED))
def test_a_reserved_word_is_no_name(word: str) -> None:
    for text in (f"fn {word}() {{}}", f"fn f({word}x: Int, y: Int) {{\n  let {word} = 1\n}}", f"record {word} {{}}"):
        assert [code for code, _, _ in problems(text)] == ["AEL0102"], text


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_a_reserved_word_is_the_name_of_a_field_or_argument(word: str) -> None:
    module = good(
        f"record R {{ {word}?: Int, a: Int }}\nfn f({word}: Int) {{\n  g({word}: r.{word}, a: 1) with {{ {word}: 2 }}\n}}"
    )
    record = module.declarations[0]
    assert isinstance(record, n.RecordDecl)
    assert record.fields[0].name.text == word


@pytest.mark.parametrize("word", sorted(SOFT))
def test_a_soft_word_is_a_name_elsewhere(word: str) -> None:
    text = (
        f"record R {{\n  {word}: Int\n}}\nfn {word}({word}: Int) -> Int {{\n  let {word} = {word} + 1\n  {word}\n  {word}.{word}\n"
        f"  {word}({word}: 1)\n  {word} = {word}\n  for {word} in {word} {{ f({word}) }}\n  match {word} {{ {word} => {word} }}\n}}\n"
        f"const C = {word}\npermission {word}.{word} includes {word}\nmodel {word} {{\n  {word} {word}\n}}\n"
    )
    module, found = parse(text)
    assert not found, (text, found[0].message)
    assert len(module.declarations) == 5


def test_item_words_are_words_only_before_an_operand() -> None:
    (node,) = good(
        'node n(input: In) -> Int\n  model m\n{\n  instructions "a"\n  input input.text\n  require (a or b), "c"\n}'
    ).declarations
    assert isinstance(node, n.NodeDecl)
    assert isinstance(node.body, n.ModelBody)
    assert [type(item) for item in node.body.items] == [n.Instructions, n.Input, n.Require]
    assert [type(s) for s in statements("input.text\ninput + 1\ninput(x)\ninput = 1\ninput")] == [
        n.ExprStatement, n.ExprStatement, n.ExprStatement, n.Assign, n.ExprStatement,
    ]  # fmt: skip


def test_clauses_need_no_lines() -> None:
    one = good(
        "tool t() needs a.b repeat reconcile key x timeout none limit input 8KiB, output 1MB approval required by r when x taints\n{ }"
    )
    (tool,) = one.declarations
    assert isinstance(tool, n.ToolDecl)
    assert [type(c) for c in tool.clauses] == [n.Needs, n.RepeatClause, n.Timeout, n.Limit, n.Approval, n.Taints]


def test_model_is_a_clause_before_a_body_and_a_declaration_after_it() -> None:
    module = good('node n() -> Int\n  model fast\n{\n  instructions "a"\n}\nmodel fast {\n}\nstore s: Int\nmodel slow {}\n')
    assert [type(d) for d in module.declarations] == [n.NodeDecl, n.ModelDecl, n.StoreDecl, n.ModelDecl]


def test_operations_and_mcp_tools_take_clauses_on_their_own_lines() -> None:
    service, server = good(
        "service S {\n  /// One.\n  get(id: String) -> Int fails E\n    needs a\n    repeat idempotent\n  put()\n    needs b\n}\n"
        'mcp m {\n  url "x"\n  timeout 5s\n  tool a\n    needs p\n    repeat never\n  tool b as "B" needs q\n}'
    ).declarations
    assert isinstance(service, n.ServiceDecl)
    assert [(o.name.text, len(o.clauses)) for o in service.operations] == [("get", 2), ("put", 1)]
    assert isinstance(server, n.McpDecl)
    assert [s.name.text for s in server.settings] == ["url", "timeout"]
    assert [(t.name.text, len(t.clauses)) for t in server.tools] == [("a", 2), ("b", 1)]
