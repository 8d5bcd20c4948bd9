"""`match`: what is missing, what is never reached, what patterns bind."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ael.types.text import show
from tests.check.helpers import check, codes, offered, program

HEAD = """enum Topic { Refund, Shipping, Other }
enum Shape { Circle(radius: Float), Box(width: Float, height: Float, name?: String), Dot }
record Refund { id: String }
record Order { kind: "order", id: String }
error E { x: Int }
type Mixed = String | Int | Order | null
"""


def match(type: str, *arms: str) -> list[str]:
    """What is told about a `match` of a value of a type; the arms give an Int."""
    return check(f"{HEAD}fn f(v: {type}) -> Int {{\n  match v {{\n" + "".join(f"    {arm}\n" for arm in arms) + "  }\n}")


@pytest.mark.parametrize(
    ("type", "arms"),
    [
        ("Topic", ["Refund => 1", "Shipping => 2", "Other => 3"]),
        ("Topic", ["Topic.Refund => 1", "Shipping | Other => 3"]),
        ("Topic", ["Refund => 1", "_ => 3"]),
        ("Topic", ["Refund => 1", "rest => 3"]),
        ("Topic?", ["Refund => 1", "null => 2", "Topic t => 3"]),
        ("Shape", ["Circle(r) => r.round().to_int()", "Box(w, h, n) => 2", "Dot => 3"]),
        ("Shape", ["Circle(radius: 0.0) => 0", "Circle(_) => 1", "Box(height: h) => 2", "Dot => 3"]),
        ("Shape", ["Box(name: null) => 0", "Box(name: String s) => s.length()", "Circle(_) | Dot => 1"]),
        ("Bool", ["true => 1", "false => 2"]),
        ("Bool?", ["true => 1", "false => 2", "null => 3"]),
        ("Int", ["0 => 1", "-1 => 2", "_ => 3"]),
        ("Int(0..2)", ["0 => 1", "1 => 2", "2 => 3"]),
        ('"a" | "b" | 3', ['"a" => 1', '"b" => 2', "3 => 3"]),
        ("Mixed", ["String s => s.length()", "Int i => i", "Order o => o.id.length()", "null => 0"]),
        ("Mixed", ['"x" => 1', "3 => 2", "String _ | Int _ => 3", "Order _ | null => 0"]),
        ("List<Int>", ["[] => 0", "[x] => x", "[x, y] => x + y", "[x, ..rest] => rest.length()"]),
        ("List<Topic>", ["[] => 0", "[Refund, ..] => 1", "[_, ..] => 2"]),
        ("List<Int>(min: 1)", ["[x, ..] => x"]),
        ("Order", ["Order o => o.id.length()"]),
        ("Topic | Order", ["Order o => 1", "Refund => 2", "Shipping | Other => 3"]),
        ("Topic | Order", ["Order o => 1", "Topic t => 3"]),
        ("Duration", ["5s => 1", "_ => 2"]),
        ("Decimal", ["$1.50 => 1", "0 => 3", "_ => 2"]),
        ("Json", ["_ => 1"]),
        ("Topic", ["Refund if 1 > 2 => 1", "Refund => 2", "Shipping => 2", "Other => 3"]),
    ],
)
def test_complete(type: str, arms: list[str]) -> None:
    assert match(type, *arms) == []


@pytest.mark.parametrize(
    ("type", "arms", "missing"),
    [
        ("Topic", ["Refund => 1"], "`Shipping`, `Other`: add the arms"),
        ("Topic?", ["Refund => 1", "Shipping => 2", "Other => 3"], "`null`: add the arm"),
        ("Topic", ["Refund if 1 > 2 => 1", "Shipping | Other => 3"], "`Refund`: add the arm"),
        ("Shape", ["Circle(0.0) => 1", "Dot => 2"], "`Circle(_)`, `Box(_, _, _)`: add the arms"),
        ("Shape", ["Box(_, _, null) => 1", "Circle(_) | Dot => 2"], "`Box(_, _, String s)`: add the arm"),
        ("Bool", ["true => 1"], "`false`: add the arm"),
        ("Int", ["0 => 1"], "`Int i`: add the arm"),
        ("Int(0..2)", ["0 => 1", "1 => 2"], "`Int i`: add the arm"),
        ('"a" | "b"', ['"a" => 1'], '`"b"`: add the arm'),
        ("Mixed", ["String s => 1", "null => 2"], "`Int i`, `Order o`: add the arms"),
        ("List<Int>", ["[] => 0", "[x] => x"], "`[_, _, ..]`: add the arm"),
        ("List<Bool>", ["[] => 0", "[true, ..] => 1"], "`[false, ..]`: add the arm"),
        ("Json", ['"x" => 1'], ""),
    ],
)
def test_what_is_missing(type: str, arms: list[str], missing: str) -> None:
    (told,) = match(type, *arms)
    if missing:
        assert told.startswith("AEL0405 8:9 this `match` of ")
        assert told.endswith(f"leaves out {missing}, or `_`")
    else:
        assert told.startswith("AEL040")


@pytest.mark.parametrize(
    ("type", "arms", "told"),
    [
        ("Topic", ["_ => 1", "Refund => 2"], "AEL1104 10:5"),
        ("Topic", ["Refund => 1", "Refund => 2", "_ => 3"], "AEL1104 10:5"),
        ("Topic", ["Refund => 1", "Shipping | Other => 2", "_ => 3"], "AEL1104 11:5"),
        ("Shape", ["Circle(_) => 1", "Circle(1.0) => 2", "_ => 3"], "AEL1104 10:5"),
        ("List<Int>", ["[_, ..] => 1", "[1, 2] => 2", "[] => 3"], "AEL1104 10:5"),
        ("Topic", ["Refnd => 1", "_ => 2"], "AEL0406 9:5 there is no variant `Refnd`; did you mean `Refund`?"),
        ("Topic", ["Topic.Refnd => 1", "_ => 2"], "AEL0214 9:11 `Topic` has no variant `Refnd`; did you mean `Refund`?"),
        ("Int", ['"x" => 1', "_ => 2"], "AEL0406 9:5 this never matches: here stands `Int`"),
        ("Int", ["null => 1", "_ => 2"], "AEL0406 9:5 `null` never matches here: `Int` is never null"),
        ("Int", ["String s => 1", "_ => 2"], "AEL0406 9:5 this never matches: here stands `Int`"),
        ("Int", ["Order o => 1", "_ => 2"], "AEL0406 9:5 this never matches: here stands `Int`"),
        ("Int", ["Timeout t => 1", "_ => 2"], "AEL0406 9:5 `Timeout` is a fault: faults are met by a `catch`, not by a `match`"),
        ("Shape", ["Circle(a, b) => 1", "_ => 2"], "AEL0410 9:15 `Circle` has 1 field"),
        ("Shape", ["Circle(size: a) => 1", "_ => 2"], "AEL0305 9:12 `Circle` has no field `size`"),
        ("Shape", ["Circle c => 1", "_ => 2"], "AEL0410 9:5 `Circle` has fields: `Circle(radius)` binds them"),
        ("Topic", ["Refund r => 1", "_ => 2"], "AEL0410 9:12 `Refund` is a plain variant, and holds nothing to bind"),
        ("Order", ["Order(id: i) => 1", "_ => 2"], "AEL0410 9:5 a record is bound whole, `Order x`, and its fields read: `x.…`"),
        ("Shape", ["Circle(x) | Box(y, _) => 1", "_ => 2"], "AEL0411 9:5"),
        ("Shape", ["Box(x, x) => 1", "_ => 2"], "AEL0201 9:12 `x` is bound twice in this pattern"),
        ("Topic", ["Refund if 1 => 1", "_ => 2"], "AEL0301 9:15 expected `Bool` as the condition of a guard, found `Int`"),
    ],
)
def test_patterns_that_are_refused(type: str, arms: list[str], told: str) -> None:
    (found,) = match(type, *arms)
    assert found.startswith(told)


def test_an_enum_s_variant_goes_before_a_type_of_the_same_name() -> None:
    assert match("Topic", "Refund => 1", "_ => 2") == []
    assert match("Refund?", "Refund r => r.id.length()", "null => 2") == []


def test_missing_arms_are_filled_in() -> None:
    text = "enum T { A, B(x: Int), C }\nfn f(t: T) -> Int {\n  match t {\n    A => 1\n  }\n}"
    assert (
        offered(text, "AEL0405")
        == "enum T { A, B(x: Int), C }\nfn f(t: T) -> Int {\n  match t {\n    A => 1\n    B(_) => { }\n    C => { }\n  }\n}"
    )


def test_a_match_narrows_its_subject() -> None:
    assert match("Order?", "null => 0", "_ => v.id.length()") == []
    assert match("Mixed", "Order _ => v.id.length()", "_ => 0") == []
    assert match("Mixed", "String _ | Int _ => 0", "null => 1", "_ => v.id.length()") == []


def test_a_match_joins_its_arms() -> None:
    found = program("fn f(x: Int?) -> Int? {\n  let y = match x {\n    null => null\n    Int i => i + 1\n  }\n  y\n}")
    assert show(found.signatures["main.f"].result) == "Int?"
    assert codes("fn f(x: Int?) -> Int {\n  match x {\n    null => { return 1 }\n    Int i => i\n  }\n}") == []


def test_declared_errors_in_unions_are_matched_by_name() -> None:
    assert match("E | Order", "E e => e.x", "Order o => 1") == []


# Against a plain reading: try every value of a small type on every arm in turn.

VALUES = [(a, b) for a in ("A", "B", "C") for b in (True, False)]
_one = st.sampled_from(["_", "A", "B", "C"])
_two = st.sampled_from(["_", "true", "false"])


def _matches(pattern: tuple[str, str], value: tuple[str, bool]) -> bool:
    return pattern[0] in ("_", value[0]) and pattern[1] in ("_", str(value[1]).lower())


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.tuples(_one, _two), min_size=1, max_size=6))
def test_usefulness_agrees_with_trying_every_value(arms: list[tuple[str, str]]) -> None:
    text = "enum L { A, B, C }\nenum P { Both(l: L, b: Bool) }\nfn f(p: P) -> Int {\n  match p {\n"
    text += "".join(f"    Both({a}, {b}) => {i}\n" for i, (a, b) in enumerate(arms)) + "  }\n}"
    told = codes(text)
    complete = all(any(_matches(arm, value) for arm in arms) for value in VALUES)
    dead = sum(
        not any(_matches(arm, v) and not any(_matches(before, v) for before in arms[:i]) for v in VALUES)
        for i, arm in enumerate(arms)
    )
    assert ("AEL0405" in told) != complete
    assert told.count("AEL1104") == dead


def test_a_huge_match_is_bounded() -> None:
    fields = ", ".join(f"f{i}: Bool" for i in range(20))
    arms = "\n".join(f"    V({', '.join('true' if j == i else '_' for j in range(20))}) => {i}" for i in range(20))
    told = codes(f"enum E {{ V({fields}) }}\nfn f(e: E) -> Int {{\n  match e {{\n{arms}\n    _ => 99\n  }}\n}}")
    assert set(told) <= {"AEL1104"}
    assert len(list(itertools.chain(told))) < 21


def test_a_long_list_pattern_is_bounded() -> None:
    items = ", ".join(["1"] * 2_000)
    assert match("List<Int>", f"[{items}] => 1", "_ => 2") == []


def test_recursive_types_are_not_taken_apart_without_end() -> None:
    head = "enum T { Leaf, Node(l: T, r: T) }\n"
    text = "fn f(t: T) -> Int {\n  match t {\n    Leaf => 0\n    Node(Leaf, Node(_, Leaf)) => 1\n  }\n}"
    assert check(head + text) == ["AEL0405 3:9 this `match` of `T` leaves out `Node(Leaf, Leaf)`: add the arm, or `_`"]


def test_a_name_for_all_the_rest_is_what_the_arms_above_left() -> None:
    assert check('fn f(m: Map<String, Int>) -> Int { match m["a"] { null => 0\n x => x + 1 } }') == []
    union = "fn f(u: String | Int | Bool) -> Int { match u { String s => s.length()\n Int i => i\n b => if b { 1 } else { 0 } } }"
    assert check(union) == []
    guarded = 'fn f(m: Map<String, Int>) -> Int { match m["a"] { null if 1 > 2 => 0\n x => x + 1 } }'
    assert check(guarded) == ["AEL0310 2:7 `+` does not take `Int?` and `Int`"]
