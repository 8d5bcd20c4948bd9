"""Syntax errors: in the user's words, each once, without costing the neighbours."""

from __future__ import annotations

import pytest

from ael.syntax import nodes as n
from ael.syntax.words import FileKind
from tests.syntax.helpers import parse, problems


def message(text: str, kind: FileKind = "module") -> str:
    """The only message, with its notes."""
    _, found = parse(text, kind)
    assert len(found) == 1, [d.message for d in found]
    return " | ".join((found[0].message, *found[0].notes))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fn f() { let x = }", "expected an expression, found `}`"),
        ("fn f() { a b }", "expected an operator, `=`, `}` or a new line, found `b` | a statement ends with its line"),
        ("fn f(x: ) {}", "expected a type, found `)`"),
        ("fn f(", "this `(` is never closed | add `)` where it ends"),
        ("fn f() { if x = 3 { } }", "`==` compares; `=` gives a name a value, as a statement of its own"),
        ("fn f() { x += 1 }", "write `x = x + …`"),
        ("fn f() { a && b }", "`&&` is written `and`"),
        ("fn f() { a || b }", "`||` is written `or`"),
        ("fn f() { !a }", "`!` is written `not`"),
        ("fn f() { a; }", "`;` ends nothing in AEL"),
        (
            "def f() {}",
            "expected a declaration (`use`, `fn`, `record`, `tool`, `node`, `agent`, …), found `def` | `def` is written `fn` in AEL",
        ),
        ("let x = 1", "a value of the whole module is a `const`"),
        ("enum E { A { x: Int } }", "the fields of a variant stand in parentheses: `Circle(radius: Float)`"),
        ("record R { a: Int b: Int }", "stands on lines of its own, or with `,` between"),
        ("fn f() { match x { 1 -> 2 } }", "expected `=>`, `if` or `|`, found `->`"),
        (
            "tool t() need a {}",
            "expected a clause (`needs`, `repeat`, `timeout`, …), `->`, `extern`, `fails` or `{`, found `need`",
        ),
        ("agent a() { edge a => b }", "expected `&`, `,` or `->`, found `=>`"),
        (
            'node n() -> T { instructions "a"\n let x = 1 }',
            "expected `examples`, `follow_up`, `input`, `instructions` or `require`, found the word `let`",
        ),
        ("fn f() {\n  let x\n}", "expected `:` or `=`, found `}`"),
        ("fn f() { let r = Ticket { a: 1 } }", "a record is made with parentheses, as in `Ticket(id: 1)`"),
        ("fn f() { if (x == 1) return 2 }", "what is done under a condition stands in braces"),
        ("fn f() { x ? 1 : 2 }", "a choice between values is `if x { 1 } else { 2 }`"),
        ("tool t(x: Int): Int needs a {}", "the type of a result follows `->`"),
        ("fn f(x) {}", "a parameter has a type, as in `id: String`"),
        ("fn f() {\n  needs a.b\n}", "the clause `needs` stands between a signature and its `{`"),
        ("node n() policy loop(steps = 8) {}", "an argument is named with `:`"),
        ("record R { a: String[] }", "a list is `List<String>`"),
        ("agent a() {\n  start -> b\n}", "an agent has edges only: `edge a -> b(a)`"),
        ("agent a() { edge b -> c if x }", "the condition of an edge begins with `when`"),
        ('model m { provider: "x" }', "no `:` stands between `provider` and its value"),
        ("type T = enum { A }", "expected a type, found the word `enum`"),
        ("const C = ", "expected an expression, found the end of the declaration"),
    ],
)
def test_messages(text: str, said: str) -> None:
    assert said in message(text)


def test_a_word_of_ael_is_foreign_only_where_it_is() -> None:
    assert "`from` is written `use` in AEL" in message('from "x" import a')
    body = 'node n() -> T { instructions "a"\n follow_up from "x.md" }'
    assert "in AEL" not in message(body)


def test_every_independent_error_of_a_file_is_told_and_the_rest_is_kept() -> None:
    text = (
        "fn a() {\n  let x =\n}\n\n"
        "fn b() {\n  let = 1\n  ok()\n  f(1 2)\n  if x { y z }\n  ok()\n}\n\n"
        "fn c() { ok() }\n\n"
        "record R {\n  a: Int\n  b\n  c: Int = \n}\n\n"
        "service S {\n  a( -> Int\n  b() -> Int\n}\n\n"
        "fn d() { ok() }\n"
    )
    module, _ = parse(text)
    assert [d.name.text for d in module.declarations if isinstance(d, n.FunctionDecl)] == ["c", "d"]
    assert [(line, column) for _, line, column in problems(text)] == [(3, 1), (6, 7), (8, 7), (9, 12), (17, 4), (19, 1), (22, 4)]


def test_one_mistake_is_told_once() -> None:
    for text in (
        "fn f() { a(b c d e }",
        'fn f() { "a ${b c} d" }',
        "fn f() { [1 2 3] }",
        "fn f() { x with { a 1, b 2 } }",
        "fn f() { g(fn(x) { a b }) }",
    ):
        assert len(problems(text)) == 1, (text, problems(text))


def test_an_error_in_a_pack_or_a_deployment_keeps_the_other_bindings() -> None:
    module, found = parse('model a = b(\nmodel c = d()\nhost "x"\nmodel e ! f\nlimit result 1KiB', "deployment")
    assert len(found) == 2
    assert [d.kind.text for d in module.declarations if isinstance(d, n.Binding)] == ["model", "host", "limit"]
    assert problems("pack a {\n  version 1\n  use b\n}", "pack") == [("AEL0101", 2, 11), ("AEL0101", 3, 3)]
    assert problems("fn f() {}", "pack") == [("AEL0101", 1, 1)]
    assert problems("pack a {}") == [("AEL0101", 1, 1)]


def test_a_file_of_nothing_but_mistakes_has_an_end() -> None:
    _, found = parse("fn f() {\n" + "a b\n" * 1_000 + "}\n")
    assert len(found) == 200
    assert "further problems of this file are not shown" in found[-1].notes


def test_a_character_that_means_nothing_hides_no_other_mistake_and_brings_none() -> None:
    assert [code for code, _, _ in problems("fn f() {\n  a; b\n  'x'\n  let y =\n}")] == [
        "AEL0006",
        "AEL0006",
        "AEL0101",
    ]
    assert problems("fn f() {\n  a ! b\n  5parsecs\n}\nfn g() {}") == [("AEL0006", 2, 5), ("AEL0004", 3, 3)]
    module, found = parse("role a\n@fn f() {}\nfn g() {}")
    assert [d.code for d in found] == ["AEL0006"]
    assert [type(d).__name__ for d in module.declarations] == ["RoleDecl", "FunctionDecl"]


def test_text_in_the_wrong_quotes_is_told_once() -> None:
    assert [code for code, *_ in problems("node main() -> String { 'some text, here' }")] == ["AEL0006"]
    assert [code for code, *_ in problems("const C = 'a\nconst D = 2")] == ["AEL0006"]
