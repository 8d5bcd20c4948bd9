"""The one style: what it looks like, and that it keeps the program and every comment (K50)."""

from __future__ import annotations

import tomllib

import pytest

from ael.diagnostics.diagnostic import Bag
from ael.syntax.format import format_module
from ael.syntax.lexer import lex
from ael.syntax.tree import same
from ael.syntax.words import FileKind
from tests.syntax.generate import program
from tests.syntax.helpers import ROOT, good, parse

pytestmark = pytest.mark.feature("B20", "C1")

SUPPORT = (ROOT / "tests" / "syntax" / "programs" / "support.ael").read_text("utf-8")


def styled(text: str, kind: FileKind = "module") -> str:
    """The formatted text, after the promises that every formatting keeps."""
    module = good(text, kind)
    out = format_module(module)
    again = good(out, kind)
    assert same(module, again)
    assert format_module(again) == out
    assert sorted(c.text.rstrip() for c in module.comments) == sorted(c.text for c in again.comments)
    assert all(line == line.rstrip() for line in out.split("\n"))
    return out


def body(text: str) -> str:
    """What the statements of a function look like, without its braces and indentation."""
    lines = styled("fn f() {\n" + text + "\n}\n").split("\n")
    return "\n".join(line[2:] for line in lines[1:-2])


def test_the_program_of_the_design() -> None:
    out = styled(SUPPORT)
    assert (
        out.splitlines()[2]
        == "use ./orders.{NotFound, Order, OrderStatus, Orders, Refund}  // a service, its records and its error"
    )
    assert "  tool get_customer  needs crm.read  repeat idempotent\n" in out
    assert out.count("//") == SUPPORT.count("//")


def files() -> list[str]:
    """Every AEL file of the project."""
    found = [p for folder in ("examples", "stdlib", "benches") for p in (ROOT / folder).rglob("*.ael") if p.is_file()]
    return sorted(str(p.relative_to(ROOT)) for p in found)


@pytest.mark.parametrize("name", files())
def test_files_of_the_project(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    last = name.rsplit("/", 1)[-1]
    kind: FileKind = "deployment" if last.startswith(("deploy", "eval")) else "pack" if last == "pack.ael" else "module"
    assert styled(text, kind)


RULES = {
    rule: entry
    for path in sorted((ROOT / "grammar" / "rules").glob("*.toml"))
    for rule, entry in tomllib.loads(path.read_text("utf-8")).items()
    if entry.get("kind") != "expression"
}


@pytest.mark.parametrize("rule", sorted(RULES))
def test_smallest_programs(rule: str) -> None:
    styled(RULES[rule]["valid"], RULES[rule].get("kind", "module"))


@pytest.mark.parametrize("seed", range(60))
def test_generated_programs(seed: int) -> None:
    for kind in ("module", "pack", "deployment"):
        text = program(seed, kind, 10 + seed * 2)
        if not parse(text, kind)[1]:
            styled(text, kind)


@pytest.mark.parametrize(
    ("text", "out"),
    [
        ("let  x=1+2*-3", "let x = 1 + 2 * -3"),
        ("f( a,b ,c:1 , )", "f(a, b, c: 1)"),
        ("a . b ( ) [ 1 ]", "a.b()[1]"),
        ("xs.map(fn(x)=>x+1)", "xs.map(fn(x) => x + 1)"),
        ("xs.map(fn(x)=>{x})", "xs.map(fn(x) { x })"),
        ("((a)) + (b)", "((a)) + (b)"),
        ('"a ${ b+c } d"', '"a ${b + c} d"'),
        ("if a{1}else if b{2}else{3}", "if a { 1 } else if b { 2 } else { 3 }"),
        ("if a{\n1}else{2}", "if a {\n  1\n} else {\n  2\n}"),
        ("if a { b; }".replace(";", ""), "if a { b }"),
        ("match a{1=>b,_=>return}", "match a { 1 => b, _ => return }"),
        ("match a{\n1=>b,_=>c}", "match a {\n  1 => b\n  _ => c\n}"),
        ("for i,x in 1..10{f(x)}", "for i, x in 1..10 { f(x) }"),
        ("while not a up to 3{}", "while not a up to 3 {}"),
        ('let m=[ "a":1 ]\nlet e=[ : ]', 'let m = ["a": 1]\nlet e = [:]'),
        ("[\n1,2]", "[\n  1,\n  2,\n]"),
        ("a with{b:1}", "a with { b: 1 }"),
        ("parallel x in xs up to 4{f(x)}", "parallel x in xs up to 4 { f(x) }"),
        ("let a:Int(0..5)|null=b", "let a: Int(0..5) | null = b"),
        ("try a() catch{E e=>fail e}", "try a() catch { E e => fail e }"),
        ("a\n\n\n\nb", "a\n\nb"),
        ("\n\na", "a"),
    ],
)
def test_code(text: str, out: str) -> None:
    assert body(text) == out


def test_what_does_not_fit_breaks_at_its_commas_and_operators() -> None:
    long = "a" * 30
    assert body(f"f({long}, {long}, {long}, {long})") == f"f(\n  {long},\n  {long},\n  {long},\n  {long},\n)"
    assert body(f"let x = {long} + {long} - {long} + {long}") == f"let x =\n  {long} +\n  {long} -\n  {long} +\n  {long}"
    assert body(f"xs.{long}(1).{long}(2).{long}(3).{long}(4)") == (f"xs.{long}(1)\n  .{long}(2)\n  .{long}(3)\n  .{long}(4)")
    assert max(map(len, styled(f"fn f({long}: Int, {long}b: Int, {long}c: Int, {long}d: Int) {{}}").split("\n"))) <= 110


def test_a_last_lambda_needs_no_lines_of_the_parentheses() -> None:
    assert body("f(a, fn(x) {\nlet y = x\ny })") == "f(a, fn(x) {\n  let y = x\n  y\n})"


def test_block_strings_move_with_their_code() -> None:
    text = 'if a {\n        let x = """\n              one\n                two\n\n              ${ y }\n              """\n  }'
    assert body(text) == 'if a {\n  let x = """\n  one\n    two\n\n  ${y}\n  """\n}'


def test_clauses_have_lines_of_their_own_and_then_the_body() -> None:
    text = 'node n(a:Int)->String model fast policy loop(steps:3) grants a.b,c{instructions "x"}'
    assert styled(text) == (
        'node n(a: Int) -> String\n  model fast\n  policy loop(steps: 3)\n  grants a.b, c\n{ instructions "x" }\n'
    )


def test_an_empty_line_stands_between_bodies_and_not_where_none_was_between_lines() -> None:
    text = "use ./a\nuse ./b\nfn f() {\n  1\n}\nfn g() {\n  2\n}\n// c\npermission a\npermission b\n\n\n\nrole c"
    assert styled(text) == (
        "use ./a\nuse ./b\n\nfn f() {\n  1\n}\n\nfn g() {\n  2\n}\n\n// c\npermission a\npermission b\n\nrole c\n"
    )


def test_packs_and_deployments() -> None:
    assert styled('pack a{version "1" uses std/process,b depends c "1" from "../c" extern "m","n"}', "pack") == (
        'pack a {\n  version "1"\n  uses std/process, b\n  depends c "1" from "../c"\n  extern "m", "n"\n}\n'
    )
    assert styled(
        'service A=https( "u" ) retry 3 breaker( failures:5 )\ndefault steps 8,tool_calls 16\nnode n=in process', "deployment"
    ) == ('service A = https("u") retry 3 breaker(failures: 5)\ndefault steps 8, tool_calls 16\nnode n = in process\n')


def test_comments_stay_where_they_are() -> None:
    text = (
        "//! Module.\n\n// first\n\n// second\nfn f( // after the parenthesis\n  a: Int, // of a\n  // before b\n  b: Int\n)"
        " { // after the brace\n"
        "  // before x\n  let x = 1 // of x\n\n  // alone\n\n  x // last\n  // end\n} // of f\n\n// end of file\n"
    )
    assert styled(text) == (
        "//! Module.\n\n// first\n\n// second\nfn f(  // after the parenthesis\n  a: Int,  // of a\n  // before b\n  b: Int,\n)"
        " {  // after the brace\n"
        "  // before x\n  let x = 1  // of x\n\n  // alone\n\n  x  // last\n  // end\n}  // of f\n\n// end of file\n"
    )


GAPS = """\
/// Doc.
pub tool t(id: String(max: 64), trusted b?: Int = 1) -> Order fails NotFound, Gone
  needs a.b
  repeat reconcile key id
{
  let x: Int = if a { b.c(1)[2] } else { [1, 2] }
  match try f(x) catch { E e => fail e } {
    Circle(r, radius: 1) | 2 if r => "a ${b + c} d"
    _ => { return }
  }
  xs.map(fn(x) { x }).filter(fn(y) => y with { a: -1 })
}

record R { a: Map<String, Int>, b?: A | B = 1 }

service S {
  get(id: Int) -> Int needs a
}

agent g() {
  edge start, b -> c(d) when e > 1 up to 3
}
"""


@pytest.mark.parametrize("comment", ["// note\n", "\n// note\n"])
def test_a_comment_in_every_gap_is_kept(comment: str) -> None:
    """Where a line may end there. Elsewhere a comment would end the statement, and the program is another."""
    module = good(GAPS)
    tokens = lex(module.source, Bag(), "module")
    tried = 0
    for at in sorted(set(tokens.starts) | set(tokens.ends)):
        text = GAPS[:at] + comment + GAPS[at:]
        changed, found = parse(text)
        if found or not same(module, changed):
            continue
        tried += 1
        out = format_module(changed)
        assert out.count("// note") == 1, text
        again, found = parse(out)
        assert not found
        assert format_module(again) == out, text
    assert tried > 150


def test_a_file_with_a_syntax_error_is_not_formatted() -> None:
    module, found = parse("fn f() {}\nfn g( {}\n")
    assert found
    with pytest.raises(ValueError, match="syntax errors"):
        format_module(module)


def test_line_ends_and_marks_become_one_style() -> None:
    assert styled("\ufeffrole a\r\n\r\nrole b\r") == "role a\n\nrole b\n"
    assert styled("") == ""
    assert styled("\n\n// only\n\n\n// comments\n\n") == "// only\n\n// comments\n"
