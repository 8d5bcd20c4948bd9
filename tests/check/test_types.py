"""Written types: bounds, unions, aliases, cycles, data; constants and defaults."""

from __future__ import annotations

import pytest

from ael.types.definition import AliasDef
from ael.types.text import show
from ael.types.type import ListType, Named, StringType
from tests.check.helpers import check, codes, program


@pytest.mark.parametrize(
    "written",
    [
        'String(max: 64, min: 1, pattern: "^a", format: "email")',
        "Int(0..100)",
        "Int(-5..5)",
        "Int(min: -5)",
        "Float(min: 0.5)",
        "Decimal(min: 0.01)",
        "Bytes(max: 1MB)",
        'File(media: "image/*", max: 5MB)',
        "List<Int>(max: 50)",
        "Map<String, Int?>(max: 50)",
        '"low" | "high" | 3',
        "Int | String",
        "fn(Int, String?) -> Bool",
        "Json",
        "true | 1",
    ],
)
def test_types_that_are_fine(written: str) -> None:
    assert check(f"fn f(x: {written}) -> Int {{ 1 }}") == []


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("String(max: -1)", "AEL0302 1:14 a bound of `String` counts something, so it is not below 0"),
        ('String(pattern: "(")', "AEL0302"),
        ("Int(5..1)", "AEL0302 1:10 no value lies in these bounds: 5 is above 1"),
        ("Int(max: 1.5)", "AEL0302 1:15 a bound of `Int` is a whole number"),
        ("Bool(max: 1)", "AEL0302 1:11 `Bool` takes no bounds"),
        ("List", "AEL0303 1:6 `List` is written `List<T>`"),
        ("Int<String>", "AEL0303 1:6 `Int` takes no type arguments"),
        ("Map<Int, Int>", "AEL0303 1:10 the keys of a map are `String`, not `Int`"),
        ("String(max: 1, max: 2)", "AEL0302 1:17 the bound `max` stands here twice"),
        ('File(media: "images")', "AEL0302 1:13 `media` is a media type, such as `image/png` or `image/*`"),
        ("1.5 | 2", "AEL0302 1:6 a Float cannot be a type of one value: give bounds, such as `Float(0.0..1.0)`"),
        ("Int(max: n)", "AEL0315"),
    ],
)
def test_types_that_are_refused(written: str, told: str) -> None:
    found = check(f"fn f(x: {written}) -> Int {{ 1 }}")
    assert len(found) == 1
    assert found[0].startswith(told[:7])
    assert len(told) == 7 or found[0].split(" ", 2)[2] == told.split(" ", 2)[2]


def test_bounds_may_name_constants() -> None:
    found = program("const N = 4 * 16\ntype Id = String(max: N)\nfn f(x: Id) -> Id { x }")
    assert found.signatures["main.f"].result == StringType(max=64)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("type A = A", "AEL0210 1:1 this type stands for itself: `A` -> `A`"),
        ("type A = B\ntype B = C?\ntype C = A | String", "AEL0210 1:1 this type stands for itself: `A` -> `B` -> `C` -> `A`"),
        ("record A { b: B }\nrecord B { a: A }", "AEL0210 1:8 no value can be made: `A` -> `B` -> `A`"),
        ("enum E { One(e: E) }", "AEL0210 1:6 no value can be made: `E` -> `E`"),
    ],
)
def test_cycles_without_end_are_told_with_their_path(text: str, told: str) -> None:
    assert check(text) == [told]


def test_what_needs_an_endless_type_is_silent() -> None:
    text = "record A { a: A }\nrecord B { a: A }\nfn f(b: B) -> A { b.a.a }"
    assert codes(text) == ["AEL0210"]


def test_legal_recursion() -> None:
    text = """type Tree = List<Tree>
type Value = String | List<Value> | Map<String, Value>
record Node { next?: Node, children: List<Node> }
enum Expr { Number(n: Int), Sum(left: Expr, right: Expr) }
fn depth(t: Tree) -> Int { t.map(fn(x) => depth(x)).fold(0, fn(a, b) => if a > b { a } else { b }) + 1 }
fn value(e: Expr) -> Int {
  match e {
    Number(n) => n
    Sum(l, r) => value(l) + value(r)
  }
}
fn texts(v: Value) -> List<String> {
  match v {
    String s => [s]
    List items => items.flat_map(fn(x) => texts(x))
    Map m => m.values().flat_map(fn(x) => texts(x))
  }
}
"""
    found = program(text)
    assert found.definitions["main.Tree"] == AliasDef("main.Tree", ListType(Named("main.Tree")))
    assert "main.Value" in found.definitions


def test_aliases_that_are_not_recursive_leave_no_trace() -> None:
    found = program("type Id = String(max: 8)\ntype Ids = List<Id>\nfn f(x: Ids) -> Id? { x.first() }")
    assert "main.Id" not in found.definitions
    assert show(found.signatures["main.f"].parameters[0].type) == "List<String(max: 8)>"


def test_ambiguous_unions_are_refused() -> None:
    text = "record A { x: Int }\nrecord B { x: Int, y?: Int }\nfn f(v: A | B) -> Int { v.x }"
    assert check(text) == ["AEL0304 3:9 a value could be both `A` and `B`: nothing tells these members of the union apart"]


@pytest.mark.parametrize(
    "text",
    [
        "record R { f: fn(Int) -> Int }",
        "record R { s: Secret }",
        "permission a.b\n/// Look. Call when asked.\ntool t(f: fn(Int) -> Int) -> Int\n  needs a.b\n  repeat idempotent\n{ 1 }",
        "store s: Map<String, fn(Int) -> Int>",
    ],
)
def test_functions_and_secrets_are_no_data(text: str) -> None:
    assert "AEL0321" in codes(text)


def test_constants_and_defaults() -> None:
    text = """enum Mode { Fast, Slow(after: Duration) }
record Point { x: Int = 1, y: Float = 2, on: Bool = true }
record Line { from: Point = Point(x: 3), mode: Mode = Mode.Fast, slow: Mode = Mode.Slow(after: 5s), price: Decimal = 1.50 }
const BASE = 2
const ALL: List<Float> = [1, 2.5, BASE_F]
const BASE_F = 0.5
const TEXT = "n=${BASE}"
const MANY = ["a": 1, "b": BASE * 2]
fn f(a: Float = 3, b?: Int) -> Float { a }
"""
    found = program(text)
    assert found.constants["main.ALL"] == [1.0, 2.5, 0.5]
    assert found.constants["main.TEXT"] == "n=2"
    assert found.constants["main.MANY"] == {"a": 1, "b": 4}
    line = found.definitions["main.Line"]
    assert [repr(f.default) for f in line.fields] == [  # type: ignore[union-attr]
        "{'x': 3, 'y': 2.0, 'on': True}", "'Fast'", "{'kind': 'Slow', 'after': datetime.timedelta(seconds=5)}", "Decimal('1.50')"
    ]  # fmt: skip
    assert found.signatures["main.f"].parameters[0].default == 3.0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("const A = B\nconst B = A + 1", "AEL0211 1:1 this constant needs itself: `A` -> `B` -> `A`"),
        ("const N: Int(max: N) = 3", "AEL0211 1:1 this constant needs itself: `N` -> `N`"),
        ("const A = 1 div 0", "AEL0315 1:11 this constant has no value: it divides by zero"),
        ("const A: Int = 1.5", "AEL0301 1:16 expected `Int`"),
        ("record R { x: Int(0..5) = 9 }", "AEL0301 1:27 `9` does not fit `Int(0..5)`"),
        ("fn f() -> Int { 1 }\nrecord R { x: Int = f() }", "AEL0315 2:21 this has no value before the program runs"),
        ("const A = now()", "AEL0315 1:11 this has no value before the program runs"),
        ("const A = missing", "AEL0202 1:11 there is no name `missing`"),
    ],
)
def test_constants_that_are_refused(text: str, told: str) -> None:
    (found,) = check(text)
    assert found.startswith(told)


def test_a_named_constant_fits_as_its_value_does() -> None:
    assert check("const N = 5\nfn f(x: Int(0..5)) -> Int { x }\nfn g() -> Int { f(N) }") == []
    assert codes("const N = 6\nfn f(x: Int(0..5)) -> Int { x }\nfn g() -> Int { f(N) }") == ["AEL0301"]


def test_a_long_constant_expression_has_its_value() -> None:
    assert program("const A = " + " + ".join(["1"] * 150)).constants["main.A"] == 150


def test_long_chains_of_types_are_no_deep_recursion() -> None:
    count = 1_500
    text = "".join(f"record R{i} {{ next: R{i + 1}?, x: Int }}\n" for i in range(count)) + f"record R{count} {{ x: Json }}\n"
    assert check(text + "fn f(a: R0, b: R0) -> Bool { a == b }\nfn g(a: R0) -> Json { a }") == []
    for many, told in ((15, set()), (200, {"AEL0326"})):
        aliases = "".join(f"type T{i} = List<T{i + 1}>?\n" for i in range(many)) + f"type T{many} = Int\n"
        assert set(codes(aliases + "fn f(a: T0) -> T0 { a }")) == told
