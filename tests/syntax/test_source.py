"""Source text: line ends, marks, characters, strings, numbers (K49)."""

from __future__ import annotations

import os
import re
from decimal import Decimal
from pathlib import Path

import pytest

import ael
from ael.diagnostics.diagnostic import Bag
from ael.project.lock import read_lock
from ael.source import MAX_SOURCE_BYTES, Source, SourceError, decode, read
from ael.syntax import nodes as n
from ael.syntax.parse import parse_module
from ael.syntax.tree import same
from tests.syntax.helpers import ROOT, expression, good, parse, problems, statements

SUPPORT = (ROOT / "tests" / "syntax" / "programs" / "support.ael").read_text("utf-8")


def text_of(source: str) -> str:
    """The text of a string without interpolation."""
    literal = expression(source)
    assert isinstance(literal, n.StringLit)
    return "".join(part.text for part in literal.parts if isinstance(part, n.TextPart))


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_do_not_matter(end: str) -> None:
    assert same(good(SUPPORT), good(SUPPORT.replace("\n", end)))


def test_mixed_line_ends_do_not_matter() -> None:
    lines = SUPPORT.split("\n")
    mixed = "".join(line + ("\n", "\r\n", "\r")[i % 3] for i, line in enumerate(lines))
    assert same(good(SUPPORT), good(mixed))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_columns_are_the_same_with_any_line_end(end: str) -> None:
    assert problems(f"fn f() {{{end}  let x ={end}}}{end}") == [("AEL0101", 3, 1)]


def test_a_byte_order_mark_does_not_matter() -> None:
    bag = Bag()
    with_mark = parse_module(decode(b"\xef\xbb\xbf" + SUPPORT.encode(), "x.ael"), bag)
    assert not bag.errors
    assert same(with_mark, good(SUPPORT))
    assert [d.span for d in good("\ufeffrole a").declarations] == [(1, 7)]
    assert problems("\ufeffrole 1") == [("AEL0101", 1, 7)]


def test_tabs_are_spaces() -> None:
    assert same(good("fn f() {\n\tlet x\t=\t1\n}"), good("fn f() {\n  let x = 1\n}"))


def test_text_is_any_unicode_and_names_are_ascii() -> None:
    assert text_of('"é 漢 😀"') == "é 漢 😀"
    assert problems("// é 漢 😀\nrole a") == []
    assert problems("role größe") == [("AEL0005", 1, 6)]


@pytest.mark.parametrize("char", ["\u202a", "\u202e", "\u2066", "\u2069", "\u200e", "\u200f", "\u061c"])
@pytest.mark.parametrize("text", ['fn f() {{ "a{}" }}', "// a{}\nrole a", "role{} a"])
def test_direction_marks_are_refused_everywhere(char: str, text: str) -> None:
    assert [code for code, _, _ in problems(text.format(char))] == ["AEL0002"]


@pytest.mark.parametrize("char", ["\0", "\x08", "\x1b", "\x7f", "\x85", "\u2028", "\ud800"])
@pytest.mark.parametrize("text", ['fn f() {{ "a{}" }}', "// a{}\nrole a", "role{} a"])
def test_control_characters_are_refused_everywhere(char: str, text: str) -> None:
    assert [code for code, _, _ in problems(text.format(char))] == ["AEL0001"]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('""', ""),
        (r'"a\n\t\r\"\\\$\u{1F600}"', 'a\n\t\r"\\$😀'),
        ('"costs $5 or $"', "costs $5 or $"),
        (r'r"\d+ ${x}"', r"\d+ ${x}"),
        ('"""one "quoted" line"""', 'one "quoted" line'),
        ('"""\n  a\n    b\n\n  c\n  """', "a\n  b\n\nc"),
        ('"""\r\n  a\r\n  b\r\n  """', "a\nb"),
        ('"""\n\ta\n\t"""', "a"),
        ('"""\n    a\n  """', "  a"),
        ('"""\n"""', ""),
        ('"""\n  a\\n\n  """', "a\n"),
    ],
)
def test_strings(written: str, value: str) -> None:
    assert text_of(written) == value


def test_interpolation_holds_any_expression() -> None:
    outer = expression('"a ${f("b ${g([1, 2].map(fn(x) { x }))}", {1})} c"')
    assert isinstance(outer, n.StringLit)
    assert [type(part) for part in outer.parts] == [n.TextPart, n.Call, n.TextPart]
    inner = next(node for part in outer.parts for node in part.children() if isinstance(node, n.Argument)).value
    assert isinstance(inner, n.StringLit)
    assert [type(part) for part in inner.parts] == [n.TextPart, n.Call]


def test_interpolation_in_a_block_keeps_the_margin() -> None:
    literal = expression('"""\n    a ${x}\n      ${y} b\n    """')
    assert isinstance(literal, n.StringLit)
    assert [p.text if isinstance(p, n.TextPart) else "?" for p in literal.parts] == ["a ", "?", "\n  ", "?", " b"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('fn f() {\n  let x = "abc\n}\nfn g() {}', ("AEL0003", 2, 11)),
        ('fn f() {\n  let x = "abc ${y\n}\nfn g() {}', ("AEL0003", 2, 11)),
        ('fn f() {\n  let x = r"abc\n}\nfn g() {}', ("AEL0003", 2, 11)),
        ('fn f() {\n  let x = """\n  abc\n}\nfn g() {}', ("AEL0003", 2, 11)),
        ("fn f() {\n  let x = (1\n}\nfn g() {}", ("AEL0007", 2, 11)),
        ("fn f() {\n  if x {\n    y\n}\nfn g() {}", ("AEL0007", 2, 8)),
        ("fn f() {\n  y\n}}\nfn g() {}", ("AEL0007", 3, 2)),
    ],
)
def test_what_is_never_closed_is_told_where_it_opens_and_costs_no_neighbour(text: str, place: tuple[str, int, int]) -> None:
    module, _ = parse(text)
    assert problems(text) == [place]
    assert [d.name.text for d in module.declarations if isinstance(d, n.FunctionDecl)] == ["g"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('"\\d"', "AEL0010"),
        ('"\\u{110000}"', "AEL0010"),
        ('"\\u{D800}"', "AEL0010"),
        ('"\\u{}"', "AEL0010"),
        ('"""\n  a\n b\n  """', "AEL0009"),
        ('"""\n  a"""', "AEL0009"),
        ('"""\n  a\n ${x}\n  """', "AEL0009"),
        ("1__0", "AEL0004"),
        ("1_", "AEL0004"),
        ("5parsecs", "AEL0004"),
        ("0.0001ms", "AEL0004"),
        ("$1.5e3", "AEL0004"),
        ("1e9999999", "AEL0004"),
        ("9" * 1_234, "AEL0004"),
        ("'a'", "AEL0006"),
        ("#", "AEL0006"),
        ("a\u00a0b", "AEL0006"),
    ],
)
def test_what_is_no_literal_is_told(text: str, code: str) -> None:
    assert {found for found, _, _ in problems(f"fn f() {{\n{text}\n}}")} == {code}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", 42),
        ("1_000", 1_000),
        ("9" * 1_233, int("9" * 1_233)),
        ("3.14", "3.14"),
        ("1e-3", "1e-3"),
        ("1_0.5", "10.5"),
        ("$0.25", Decimal("0.25")),
        ("$1_000", Decimal(1_000)),
        ("250ms", 250),
        ("5s", 5_000),
        ("1.5s", 1_500),
        ("2min", 120_000),
        ("1h", 3_600_000),
        ("7d", 604_800_000),
        ("64KiB", 65_536),
        ("2MB", 2_000_000),
        ("1.5KiB", 1_536),
    ],
)
def test_numbers(text: str, value: object) -> None:
    match expression(text):
        case n.IntLit(value=found) | n.MoneyLit(value=found) | n.DurationLit(milliseconds=found) | n.SizeLit(bytes=found):
            assert found == value
        case n.FloatLit(text=found):
            assert found == value
        case other:
            raise AssertionError(other)


def test_a_newline_ends_a_statement_but_where_something_goes_on() -> None:
    kinds = [type(s) for s in statements("a\nb\n-c\n(d)\n[e]\nnot f")]
    assert kinds == [n.ExprStatement] * 6
    for text in (
        "a +\nb", "a\n+ b", "a and\nb", "a\nor b", "a\n  .b\n  .c()", "f(\na,\nb\n)", "[\n1\n,\n2\n]", "let x =\n  1", "a\ncatch {\n}",
        "if a { }\nelse { }", "a >\nb", "fn(x)\n=> x", "a\nin b", "x with\n{ a: 1 }",
    ):  # fmt: skip
        assert len(statements(text)) == 1, text


def test_lines_count_again_in_a_block_inside_parentheses() -> None:
    (statement,) = statements("f(fn(x) {\n  a\n  b\n}, c)")
    assert isinstance(statement, n.ExprStatement)
    call = statement.value
    assert isinstance(call, n.Call)
    function = call.arguments[0].value
    assert isinstance(function, n.Lambda)
    assert isinstance(function.body, n.Block)
    assert len(function.body.statements) == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such files on this system")
def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    # A pipe that nobody writes into would be waited for, a device read without an end: a folder from somewhere may hold both.
    os.mkfifo(tmp_path / "pipe.ael")
    (tmp_path / "zero.ael").symlink_to("/dev/zero")
    (tmp_path / "ael.lock").symlink_to("/dev/zero")
    for name in ("pipe.ael", "zero.ael"):
        with pytest.raises(SourceError, match="not a regular file"):
            read(tmp_path / name)
    read_lock(tmp_path / "ael.lock", "ael.lock", bag := Bag())
    assert [one.message for one in bag.sorted()] == ["`ael.lock` cannot be read: not a regular file"]
    (tmp_path / "large.ael").write_bytes(b"\n" * (MAX_SOURCE_BYTES + 1))
    with pytest.raises(SourceError, match="larger than"):
        read(tmp_path / "large.ael")


def test_no_group_is_repeated_possessively() -> None:
    """Before 3.11.5 Python matches such a group wrongly: Debian 12 has 3.11.2, where a string with an escape had no end."""
    group = re.compile(r"\)(?:[*+?]|\{\d*,?\d*\})\+(?=[\s\"'|)])")
    assert group.search(r'"(?:a|b)*+"'), "it finds what it looks for"
    package = Path(ael.__file__).parent
    found = [
        f"{file.relative_to(package)}:{number}"
        for file in sorted(package.rglob("*.py"))
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if group.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("text", ['"' + "\\n" * 50 + "$" * 50 + '"', '"""\n' + '  a "b" ""c \\" $ d\n' * 50 + '  """'])
def test_strings_with_many_escapes_end(text: str) -> None:
    bag = Bag()
    parse_module(Source("a.ael", f"const A: String = {text}\n"), bag)
    assert bag.sorted() == []
