"""Kinds of faults of a checker: one cap on nesting for every tool (K48), circles, cascades and unions (K53)."""

from __future__ import annotations

import pytest

from ael.syntax.format import format_module
from tests.check.helpers import check, codes
from tests.syntax.helpers import parse

DEEP = {
    "list types": lambda k: "fn f(x: " + "List<" * k + "Int" + ">" * k + ") {}",
    "optional function types": lambda k: "fn f(x: " + "fn(Int) -> " * k + "Int) {}",
    "lists": lambda k: "fn f(x: Int) { let _y = " + "[" * k + "x" + "]" * k + " }",
    "conditions": lambda k: "fn f(x: Bool) { " + "if x { " * k + "} " * k + "}",
    "matches": lambda k: "fn f(x: Bool) { " + "match x { _ => { " * k + "} } " * k + "}",
    "else ifs": lambda k: "fn f(x: Bool) { if x { }" + " else if x { }" * k + " }",
    "negations": lambda k: "fn f(x: Bool) -> Bool { " + "not " * k + "x }",
    "lambdas": lambda k: "fn f() { let _y = " + "fn(_x: Int) => " * k + "1 }",
    "sums": lambda k: "fn f(x: Int) -> Int { " + "x + " * k + "x }",
    "defaults": lambda k: "fn f(x: Int?) -> Int { " + "x ?? " * k + "1 }",
    "constants": lambda k: "const A = " + "1 + " * k + "1",
    "records of records": lambda k: "record R { x?: R }\nfn f(r: R) -> R? { r" + ".x" * k + " }",
}


@pytest.mark.parametrize("name", sorted(DEEP))
def test_what_the_parser_takes_every_later_tool_can_walk(name: str) -> None:
    """K48: at each depth a program is fine, or one diagnostic says that it is nested too deep; never an exhausted stack."""
    make = DEEP[name]
    for depth in (20, 40, 58, 62, 64, 80, 95, 150, 195, 300, 3_000):
        text = make(depth)
        module, found = parse(text)
        told = codes(text)
        if found:
            assert {d.code for d in found} == {"AEL0008"}
            assert set(told) == {"AEL0008"}
        else:
            assert set(told) <= {"AEL0326", "AEL0310", "AEL0301", "AEL0313"}
            assert format_module(parse(format_module(module))[0]) == format_module(module)


@pytest.mark.parametrize("name", ["negations", "else ifs", "lambdas", "defaults", "records of records"])
def test_code_nested_too_deep_is_told_once(name: str) -> None:
    """K48: where the tree is one that the parser takes; later phases walk it by recursion."""
    for depth in (95, 120, 190):
        assert codes(DEEP[name](depth)) == ["AEL0326"]


def test_a_type_nested_too_deep_is_told_once() -> None:
    """K48: with its place, and what to do."""
    text = "type Deep = " + "List<" * 61 + "Int" + ">" * 61
    (told,) = check(text)
    assert told.startswith("AEL0326 1:")
    assert "nested more than 60 levels deep" in told
    assert check("type Deep = " + "List<" * 58 + "Int" + ">" * 58) == []


@pytest.mark.parametrize(
    "text",
    [
        "type A = List<A>",
        "type A = Map<String, List<A>>",
        "type A = B\ntype B = List<A>",
        "type A = List<B>\ntype B = List<C>\ntype C = List<A> | String",
        "record A { next?: A }",
        "record A { all: List<B> }\nrecord B { back: A }",
        "enum T { Leaf, Two(left: T, right: T) }",
        "type A = String | List<A>",
    ],
)
def test_a_circle_through_a_list_a_map_or_an_optional_is_legal(text: str) -> None:
    """K53: recursion that has an end is no mistake."""
    assert check(text) == []


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("type A = A", "`A` -> `A`"),
        ("type A = B\ntype B = A", "`A` -> `B` -> `A`"),
        ("type A = A?", "`A` -> `A`"),
        ("type A = A | String", "`A` -> `A`"),
        ("type A = B?\ntype B = C | Int\ntype C = A", "`A` -> `B` -> `C` -> `A`"),
        ("record A { b: B }\nrecord B { c: C }\nrecord C { a: A }", "`A` -> `B` -> `C` -> `A`"),
        ("record A { b: B }\ntype B = A", "`A` -> `A`"),
        ("const A = B\nconst B = C\nconst C = A", "`A` -> `B` -> `C` -> `A`"),
        ("const N: Int(max: N) = 1", "`N` -> `N`"),
        ("const N: T = 1\ntype T = Int(max: N)", "`T` -> `T`"),
    ],
)
def test_a_circle_without_an_end_is_told_once_with_its_path(text: str, path: str) -> None:
    """K53: whether through one type or many, and however often it is used."""
    uses = "\nfn f(_x: A) {}\nfn g(_y: List<A>, _z: A?) {}" if text.startswith(("type", "record")) else ""
    (told,) = check(text + uses)
    assert told[:7] in ("AEL0210", "AEL0211")
    assert told.endswith(path)


def test_a_long_circle_takes_bounded_time() -> None:
    """K53: fifty types that stand for each other are one message; five hundred are too deep to follow."""
    for many, told in ((50, {"AEL0210"}), (500, {"AEL0210", "AEL0326"})):
        text = "\n".join(f"type A{n} = A{(n + 1) % many}" for n in range(many))
        found = codes(text)
        assert set(found) <= told
        assert 1 <= len(found) <= 1 + many // 60


def test_one_mistake_in_a_type_is_not_told_of_what_uses_it() -> None:
    """K53: twenty uses of a record with one misspelt field type."""
    uses = "\n".join(f"fn f{n}(r: R) -> String {{ r.x.y.trim() + {n} }}" for n in range(20))
    assert check("record R { x: Strng }\n" + uses) == ["AEL0203 1:15 there is no type `Strng`; did you mean `String`?"]


@pytest.mark.parametrize(
    "members",
    ["A | B", "B | A", "A? | B", "List<A> | List<B>", "A | Json", "Map<String, Int> | A", 'String | "x" | A | B'],
)
def test_members_of_a_union_that_one_value_could_be_are_refused(members: str) -> None:
    """K53: no value is ever decoded into whichever member comes first."""
    text = f"record A {{ x: Int }}\nrecord B {{ x: Int, y?: Int }}\nfn f(_v: {members}) {{}}"
    (told,) = check(text)
    assert told.startswith("AEL0304 3:")


@pytest.mark.parametrize("members", ["A | C", "A | String | Int", "A | List<A>", '"low" | "high" | A', "D | E"])
def test_members_that_are_told_apart_are_fine(members: str) -> None:
    """K53: by JSON kind, by shape, or by a constant field."""
    kinds = 'record D { kind: "d", x: Int }\nrecord E { kind: "e", x: Int }'
    assert check(f"record A {{ x: Int }}\nrecord C {{ z: Int }}\n{kinds}\nfn f(_v: {members}) {{}}") == []
