"""Deep and hostile texts: one cap with a diagnostic (K48), and work that grows with the text and no faster (K52)."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from ael.diagnostics.diagnostic import Bag
from ael.source import Source
from ael.syntax import nodes as n
from ael.syntax.format import format_module
from ael.syntax.parse import parse_expression, parse_module
from ael.syntax.tokens import MAX_NESTING, MAX_TREE
from tests.syntax.helpers import good, parse, problems

NESTED: dict[str, Callable[[int], str]] = {
    "parentheses": lambda k: "const C = " + "(" * k + "1" + ")" * k,
    "lists": lambda k: "const C = " + "[" * k + "]" * k,
    "calls": lambda k: "const C = " + "f(" * k + "1" + ")" * k,
    "types": lambda k: "type T = " + "A(x: f(" * k + "1" + "))" * k,
    "blocks": lambda k: "fn f() " + "{ " * k + "} " * k,
    "ifs": lambda k: "fn f() {" + "if a { " * k + "} " * k + "}",
    "matches": lambda k: "fn f() {" + "match a { _ => { " * k + "} }" * k + "}",
    "lambdas": lambda k: "const C = " + "fn(x) { " * k + "1" + " }" * k,
    "patterns": lambda k: "fn f() { match a { " + "[" * k + "]" * k + " => 1 } }",
    "interpolations": lambda k: "const C = " + '"${' * k + "1" + '}"' * k,
    "parallels": lambda k: "fn f() {" + "parallel { a: " * k + "1" + "}" * k + "}",
}
CHAINS: dict[str, Callable[[int], str]] = {
    "sums": lambda k: "const C = a" + " + a" * k,
    "defaults": lambda k: "const C = a" + " ?? a" * k,
    "nots": lambda k: "const C = " + "not " * k + "a",
    "tries": lambda k: "const C = " + "try " * k + "a",
    "minuses": lambda k: "const C = " + "- " * k + "a",
    "fields": lambda k: "const C = a" + ".a" * k,
    "calls of calls": lambda k: "const C = a" + "()" * k,
    "lambdas": lambda k: "const C = " + "fn(x) => " * k + "a",
    "function types": lambda k: "type T = " + "fn() -> " * k + "A",
    "else ifs": lambda k: "fn f() { if a { }" + " else if a { }" * k + " }",
    "withs": lambda k: "const C = a" + " with { b: 1 }" * k,
    "catches": lambda k: "const C = a" + " catch { }" * k,
    "type arguments": lambda k: "type T = " + "A<" * k + "B" + ">" * k,
}


@pytest.mark.parametrize("name", sorted(NESTED))
def test_nesting_has_a_cap(name: str) -> None:
    make = NESTED[name]
    for depth in (MAX_NESTING, MAX_NESTING + 1, 1_000, 20_000):
        module, found = parse(make(depth) + "\nrole after\n")
        assert {d.code for d in found} <= {"AEL0008"}
        assert found or depth == MAX_NESTING
        assert isinstance(module.declarations[-1], n.RoleDecl)
    fits = make(24)
    assert format_module(good(fits))


@pytest.mark.parametrize("name", sorted(CHAINS))
def test_chains_have_a_cap(name: str) -> None:
    make = CHAINS[name]
    for length in (MAX_TREE + 1, 1_000, 20_000):
        module, found = parse(make(length) + "\nrole after\n")
        assert [d.code for d in found] == ["AEL0008"]
        assert isinstance(module.declarations[-1], n.RoleDecl)
    assert format_module(good(make(80)))


def test_the_deepest_tree_that_is_taken_can_be_formatted() -> None:
    for make in CHAINS.values():
        low, high = 50, MAX_TREE
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if parse(make(middle))[1] else (middle, high)
        assert format_module(good(make(low)))


def test_no_tree_is_deeper_than_the_cap() -> None:
    def depth(node: n.Node) -> int:
        best, stack = 0, [(node, 1)]
        while stack:
            current, level = stack.pop()
            best = max(best, level)
            stack.extend((child, level + 1) for child in current.children())
        return best

    for make in (*NESTED.values(), *CHAINS.values()):
        for size in range(10, 400, 23):
            for declaration in parse(make(size))[0].declarations:
                assert depth(declaration) <= MAX_TREE + 1


def test_long_is_not_deep() -> None:
    assert problems("const C = [" + "1, " * 5_000 + "]") == []
    assert problems("fn f() {\n" + "a(b, c)\n" * 5_000 + "}") == []
    assert problems("enum E {\n" + "A\n" * 5_000 + "}") == []
    assert problems("fn f() {\n  match x {\n" + "    1 => a + b\n" * 5_000 + "  }\n}") == []


def test_an_expression_has_the_same_cap() -> None:
    bag = Bag()
    assert parse_expression(Source("x", "(" * 100 + "1" + ")" * 100), bag) is None
    assert [d.code for d in bag.sorted()] == ["AEL0008"]


HOSTILE = [
    '"', "(", ")", "{", "}", "[", "]", '"""', "${", '"${', '"""${', "\\", "/", "//", "\n", "\r", "a", "1", "1_", "$",
    "-", "a.", "a(", "a + ", "if a {", "List<", "?", "|", "a|", ",", "..", "=", ";", "'", "é", "\u202e", "\x00", '"\\',
    'r"', '"\n', '"""\n', "/// d\n", "//! d\n", "tool ", "fn ", "a\n", "a b\n", "x = \n", '"${a}', "fn b() {\n",
    "fn b() {}\n", "{a:", "match a { _ => ", "type T = a.a.a\n", "permission a\n", "\ud800",
]  # fmt: skip


def work(text: str) -> int:
    """Calls of functions, Python's and C's, that parsing takes."""
    count = 0

    def note(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    source, bag = Source("x", text), Bag()
    sys.setprofile(note)
    try:
        parse_module(source, bag)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("before", ["", "fn f() {\n"])
@pytest.mark.parametrize("piece", HOSTILE)
def test_work_grows_with_the_text_and_no_faster(piece: str, before: str) -> None:
    small, large = (work(before + piece * (size // len(piece))) for size in (1_000, 4_000))
    assert large <= 4.5 * small + 2_500


@pytest.mark.parametrize("piece", ['"', "(", "{", "}", "[", '"""', '"${', "//", "\n", "a", ";", '"\\', "a(", "if a {"])
def test_a_hundred_thousand_characters_come_to_an_end(piece: str) -> None:
    bag = Bag()
    parse_module(Source("x", "fn f() {\n" + piece * (100_000 // len(piece))), bag)
    assert len(bag.sorted()) <= 500


def messages(text: str) -> list[str]:
    bag = Bag()
    parse_module(Source("main.ael", text), bag)
    return [d.message for d in bag.sorted()]


@pytest.mark.parametrize("unit", ["ms", "s", "min", "h", "d"])
def test_a_duration_is_no_longer_than_one_can_be(unit: str) -> None:
    longest = {
        "ms": 86_399_999_913_600_000,
        "s": 86_399_999_913_600,
        "min": 1_439_999_998_560,
        "h": 23_999_999_976,
        "d": 999_999_999,
    }
    good(f"const C = {longest[unit]}{unit}")
    said = f"`{longest[unit] + 1}{unit}` is too large: a duration has at most 999,999,999 days"
    assert messages(f"const C = {longest[unit] + 1}{unit}") == [said]


def test_a_size_is_an_int() -> None:
    good(f"const C = {'9' * 1220}GB")
    said = f"`{'9' * 20}…999999GB` is too large: a size has at most 4,096 bits"
    assert messages(f"const C = {'9' * 1230}GB") == [said]
