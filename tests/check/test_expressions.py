"""Expressions: literals, operators, calls, fields, methods, lambdas, loops, narrowing."""

# ruff: noqa: E501 (messages are quoted whole)

from __future__ import annotations

import pytest

from ael.syntax import nodes as n
from ael.types.text import show
from tests.check.helpers import body, check, codes, mended, program

HEAD = """
enum Topic { Refund, Shipping, Other }
record Order { id: String(max: 8), total: Decimal, note?: String, tags: List<String>(max: 5), topic: Topic }
record Pair { a: Int, b: Int? }
fn order() -> Order { Order(id: "a", total: 1, tags: [], topic: Topic.Other) }
fn maybe() -> Order? { null }
fn list() -> List<Int> { [1, 2] }
"""


def test_a_number_literal_takes_the_type_that_is_expected() -> None:
    text = """record R { f: Float, d: Decimal, i: Int, o: Float?, l: List<Decimal>, m: Map<String, Float> }
fn r() -> R { R(f: 1, d: 2, i: 3, o: -4, l: [1, 2.5, -3], m: ["a": 1]) }
fn a(x: Float) -> Float { x + 1 }
fn b(x: Decimal) -> Decimal { 2 * x - 0.5 }
fn c(x: Float) -> Bool { 1 < x and x == 2 or x in [1, 2] }
fn d(x: Int) -> Float { x / 2 }
fn e(x: Float?) -> Float { x ?? 1 }
fn f() -> Float { 1 + 2 }
fn g() -> Float { (1 + 2) * 3.5 }
fn h(x: Float) -> Float { min(1, x) }
fn i(xs: List<Float>) -> List<Float> { [1, 2.5] + xs.map(fn(x) => x * 2) }
"""
    program(text)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("let _x = 1 + 1.5", ""),
        ("let _x: Int(0..5) = 9", "AEL0301 1:30 `9` does not fit `Int(0..5)`"),
        ('let _x: String(max: 2) = "abc"', 'AEL0301 1:35 `"abc"` does not fit `String(max: 2)`: it has 3 characters'),
        ('let _x: "a" | "b" = "c"', 'AEL0301 1:30 expected `"a" | "b"` for `_x`, found `String`'),
        ("let _x: Int = 1.5", "AEL0301 1:24 expected `Int` for `_x`, found `Float`"),
        ("let _x: List<Int>(max: 1) = [1, 2]", "AEL0301 1:38 a list of 2 does not fit `List<Int>(max: 1)`"),
        ('let _x = ["a": 1, "a": 2]', 'AEL0307 1:28 the key `"a"` stands here twice'),
        ('let _x = 1 + "a"', "AEL0310 1:19 `+` does not take `Int` and `String`"),
        ("let _x = list()[0] + 0.5", "AEL0310 1:19 `+` does not take `Int` and `Float`"),
        ('let _x = 1 == "1"', "AEL0312 1:19 `Int` and `String` are never equal: `==` compares values of one type"),
        ("let _x = list() == [1]", ""),
        ("let _x = list == list", "AEL0312 1:19 functions cannot be compared"),
        ("let _x = order() < order()", "AEL0310 1:19 `<` does not take `Order` and `Order`"),
        ("let _x = not 1", "AEL0301 1:23 expected `Bool` after `not`, found `Int`"),
        ("let _x = 1 in 2", "AEL0310 1:24 `in` looks into a list, a map's keys or a text, not into `Int`"),
        ('let _x = "${order()}"', "AEL0311 1:22 `Order` has no text form: `${…}` takes scalars, times and plain enums"),
        ('let _x = "${order().note}"', "AEL0311 1:22 `String?` has no text form: `${…}` takes scalars, times and plain enums"),
        ('let _x = "${order().topic} ${1} ${2.5} ${true} ${5s}"', ""),
        ("let _x = order().idd", "AEL0305 1:27 `Order` has no field `idd`; did you mean `id`?"),
        ("let _x = maybe().id", "AEL0313 1:19 this may be null (it is `Order?`), so it has no `id`"),
        ("let _x = list()[0.5]", "AEL0301 1:26 expected `Int` as the place in a list, found `Float`"),
        ("let _x = 1[0]", "AEL0324 1:19 `Int` is not indexed: `[ ]` takes an item of a list or a value of a map"),
        ("let _x = Order(id: 1)", "AEL0306 1:19 `Order` needs `total`, `tags` and `topic`: missing arguments"),
        ('let _x = Pair(1, 2)', "AEL0306 1:24 the fields of `Pair` are named: `a: …, b: …`"),
        ("let _x = list(1)", "AEL0308 1:24 `list` takes no arguments"),
        ("let _x = Topic.Refund()", "AEL0308 1:19 `Topic.Refund` has no fields: write it without brackets"),
        ("let _x = list().lenght()", "AEL0305 1:26 `List<Int>` has no function `lenght`; did you mean `length`?"),
        ("let _x = list().length", "AEL0305 1:26 `length` is a method: call it, `length(…)`"),
        ("let _x = list().map(fn(x, y) => x)", "AEL0308 1:30 this function is called with 1 parameter, and it takes 2"),
        ("let _x = fn(x) => x", "AEL0314 1:22 nothing says what `x` is: give it a type, `fn(x: T) …`"),
        ("var _x = []", "AEL0314 1:10 an empty list does not say what the `var` may hold later: give it a type, `var _x: List<T> = …`"),
        ("let _x = list().sort_by(fn(x) => [x])", "AEL0310 1:19 `sort_by` takes values that have an order: numbers, text, times, not `List<Int>`"),
        ("let _x = [true].sum()", "AEL0310 1:19 `sum` takes values that are numbers, not `Bool`"),
        ("let _x = list() with { a: 1 }", "AEL0310 1:19 `with` copies a record, and this is `List<Int>`"),
        ('let _x = order() with { id: "b", totl: 1 }', "AEL0305 1:43 `Order` has no field `totl`; did you mean `total`?"),
        ("let _x = order() with { id: 1 }", "AEL0301 1:38 expected `String(max: 8)` for `id`, found `Int`"),
        ("let x = 1\n x = 2", "AEL0316 2:2 `x` does not change: only a `var` does"),
        ("var _n = 0\n list().map(fn(x) { _n = x\n x })", "AEL0316 2:21 `_n` belongs to the function around this one: what is taken along does not change"),
        ("if 1 { }", "AEL0301 1:13 expected `Bool` as the condition of an `if`, found `Int`"),
        ("break", "AEL0318 1:10 `break` stands in no loop"),
        ("for _x in 5 { }", "AEL0320 1:20 a loop runs over a list, a map or a range, not over `Int`"),
        ('for _x in ["a": 1] { }', "AEL0320 1:20 a map has keys and values: `for key, value in …`, or `.keys()` or `.values()`"),
        ("for _i in 1.. { }", ""),
        ('call("x")', "AEL0323 1:10 `call` has a meaning only in a `test`"),
        ("print(1)", "AEL0202 1:10 there is no `print`: `log(text)` writes to the run's log"),
        ('let _x = setting("A")', "AEL0323 1:19 `setting` is read where a model, a server or a deployment is set up, never by code that runs"),
        ("let _x = order().id.check(1)", "AEL0305 1:30 `String(max: 8)` has no function `check`"),
        ("let _x = parallel x in list() { return }", "AEL0323 1:42 a branch of a `parallel` gives its last expression: it cannot return from around it"),
        ("1 == 1", "AEL1106 1:10 this value is worked out and not used: is an `assert` meant?"),
        ("let x = 1", "AEL1101 1:14 the `let` `x` is never read"),
        ("return\n log(\"x\")", "AEL1103 2:2 this is never reached"),
    ],
)  # fmt: skip
def test_what_is_told(code: str, told: str) -> None:
    found = body(code, HEAD)
    if code == "for _i in 1.. { }":
        assert len(found) == 1
        assert found[0].startswith(("AEL01", "AEL0319"))
        return
    assert found == ([told] if told else [])


def test_a_narrower_bound_fits_a_wider_one_and_the_other_way_is_checked() -> None:
    head = "type Id = String(max: 8)\nfn wide(x: String(max: 9)) -> Int { 1 }\nfn narrow(x: String(max: 7)) -> Int { 1 }\n"
    assert check(head + "fn f(x: Id) -> Int { wide(x) }") == []
    assert check(head + "fn f(x: Id) -> Int { narrow(x) }") == [
        "AEL0301 4:29 expected `String(max: 7)` for `x`, found `String(max: 8)`"
    ]
    assert check(head + 'fn f(x: String) -> Int { wide(Id.check(x)) + narrow(String(max: 7).check("a${x}")) }') == []


def test_text_knows_how_long_it_can_be() -> None:
    head = "enum E { A, Long }\n"
    assert check(head + 'fn f(x: String(max: 3), e: E, n: Int(0..99)) -> String(max: 10) { "${x}-${e}${n}" }') == []
    assert codes(head + 'fn f(x: String(max: 3), e: E, n: Int(0..99)) -> String(max: 9) { "${x}-${e}${n}" }') == ["AEL0301"]
    assert (
        check(
            "fn f(x: String(max: 3)) -> String(max: 3) { x.trim() }\nfn g(x: List<Int>(max: 3)) -> List<Int>(max: 3) { x.filter(fn(i) => i > 1) }"
        )
        == []
    )


@pytest.mark.parametrize(
    "code",
    [
        "if x != null { x + 1 } else { 0 }",
        "if x == null { 0 } else { x + 1 }",
        "if x == null { return 0 }\n  x + 1",
        "if x != null and x > 1 { x } else { 1 }",
        "if x == null or x > 1 { 1 } else { x }",
        "if not (x == null) { x } else { 0 }",
        "match x {\n null => 0\n Int i => i + 1\n }",
        "match x {\n null => 0\n _ => x + 1\n }",
        "let y = x ?? 3\n  y + 1",
        "if r.x != null { r.x + 1 } else { 0 }",
        "assert x != null\n  x + 1",
        "var v = x\n  if v == null { v = 3 }\n  v ?? 1",
        "var v = x\n  while v != null up to 3 { v = if v > 3 { null } else { v + 1 } }\n  1",
        "if x == 3 { x + 1 } else { 0 }",
        "var best: Int? = null\n  for i in [1, 2] { if best == null or i > best { best = i } }\n  best ?? 0",
    ],
)
def test_a_question_asked_is_remembered(code: str) -> None:
    assert check(f"record R {{ x?: Int }}\nfn f(x: Int?, r: R) -> Int {{\n  {code}\n}}") == []


@pytest.mark.parametrize(
    "code",
    [
        "if x != null { }\n  x + 1",
        "if x != null or true { x + 1 } else { 0 }",
        "var v = x\n  if v != null { v = null\n v + 1 } else { 0 }",
        "var v = x\n  if v != null { for _i in 1..2 { let _y = v + 1\n v = null } }\n  1",
        "var v = x\n  if v == null { v = 3 }\n  v = null\n  v + 1",
        "var v = x\n  if v != null { (fn() => v + 1)() } else { 0 }",
    ],
)
def test_and_forgotten_where_it_may_have_changed(code: str) -> None:
    assert codes(f"fn f(x: Int?) -> Int {{\n  {code}\n}}") == ["AEL0310"]


def test_generic_functions() -> None:
    text = """fn first<T>(items: List<T>) -> T? { for item in items { return item }
  null }
fn apply<A, B>(x: A, f: fn(A) -> B) -> B { f(x) }
fn both<T>(a: T, b: T) -> List<T> { [a, b] }
fn pick<T>(a: T?, b: T) -> T { a ?? b }
fn nested<T>(a: T) -> T? { first(both(a, a)) }
fn a() -> Int? { first([1, 2]) }
fn b() -> String { apply(3, fn(n) => "${n}") }
fn c(x: Float) -> List<Float> { both(1, x) }
fn d(x: Int?) -> Int { pick(x, 1) }
fn e() -> Map<String, List<Int>> { [1, 2].group_by(fn(x) => "${x % 2}") }
fn g() -> List<String> { ["b", "a"].sort().zip([1, 2]).map(fn(p) => "${p.first}${p.second}") }
fn h() -> Int { [[1], [2]].flatten().enumerate().fold(0, fn(s, p) => s + p.index * p.value) }
fn i() -> Decimal { [1.5, 2].fold($0, fn(s, x) => s + x.to_decimal()) }
"""
    program(text)
    head = "fn both<T>(a: T, b: T) -> List<T> { [a, b] }\nfn none<T>() -> List<T> { [] }\n"
    assert check(head + 'fn f() -> List<Int> { both(1, "a") }') == [
        "AEL0301 3:31 expected `String` for `a`, found `Int`"
    ] or check(head + 'fn f() -> List<Int> { both(1, "a") }') == ["AEL0301 3:28 expected `String` for `a`, found `Int`"]
    assert check(head + "fn f() -> List<Int> { none() }") == []
    assert codes(head + "fn f() -> Int { none().length() }") == ["AEL0314"]
    assert codes("fn f<T>(a: T) -> T { a + a }") == ["AEL0310"]


def test_side_tables() -> None:
    found = program(
        """record R { the_id: String as "id", note?: String }
fn f(r: R, xs: List<Float>) -> String? {
  let total = 1 + xs.fold(0.0, fn(a, x) => a + x)
  log("${total}")
  let copy = r with { the_id: r.the_id.trim() }
  copy.note
}
"""
    )
    tables = found.modules["main"].tables
    fields = {node.name.text: wire for node, wire in tables.fields.items() if isinstance(node, n.FieldAccess | n.FieldValue)}
    assert fields == {"the_id": "id", "note": "note"}
    assert [node.name.text for node in tables.optional_reads if isinstance(node, n.FieldAccess)] == ["note"]
    kinds = {(info.kind, info.name, len(info.arguments), info.acts) for info in tables.calls.values()}
    assert kinds == {("builtin", "list.fold", 3, False), ("effect", "std.log", 1, True), ("builtin", "string.trim", 1, False)}
    literal = next(t for node, t in tables.types.items() if isinstance(node, n.IntLit))
    assert show(literal).startswith("Float")


def test_bodies_give_their_last_expression() -> None:
    assert check("fn f() -> Int { }") == ["AEL0317 1:15 `f` gives `Int`, but its end is reached without a value"]
    assert check("fn f(x: Int) -> Int { if x > 1 { return 1 } }") == ["AEL0301 1:23 expected `Int`, found `Unit`"]
    assert check("fn f(x: Int) -> Int { if x > 1 { return 1 } else { return 2 } }") == []
    assert check("fn f(x: Int) -> Int { for i in 1..x { return i } }") == [
        "AEL0317 1:23 `f` gives `Int`, but its end is reached without a value"
    ]
    assert check('fn f() -> Int { log("x") }') == ["AEL0301 1:17 expected `Int`, found `Unit`"]
    assert check("fn f() { 1 + 1 }") == ["AEL1106 1:10 this value is worked out and not used"]
    assert check("fn f() -> Int { return }") == ["AEL0317 1:17 `return` gives nothing, and `f` gives `Int`"]
    assert check("fn f() { return 1 }") == ["AEL0301 1:17 expected `Unit`, found `Int`"]


@pytest.mark.feature("D6")
def test_every_loop_is_bounded() -> None:
    text = "fn f(n: Int) -> Int {\n  var x = n\n  while x > 1 { x = x div 2 }\n  x\n}"
    assert check(text) == ["AEL0319 3:9 a `while` says how often it may run: `while … up to N { … }`"]
    deep = "fn f() {\n" + "for _i in 1..2 {\n" * 13 + "}\n" * 13 + "}"
    assert codes(deep) == ["AEL0326"]


def test_deep_nesting_is_told_not_a_crash() -> None:
    told = codes("fn f(x: Int) -> List<Int> { " + "[" * 120 + "x" + "]" * 120 + " }")
    assert "AEL0326" in told or told[0].startswith("AEL0")
    long = "fn f(x: Int) -> Int { " + " + ".join(["x"] * 150) + " }"
    assert check(long) == []
    for many in (" + ".join(["x"] * 400), " and ".join(["x"] * 400)):
        (told,) = codes("fn f(x: Int) -> Int { " + many + " }")
        assert told in ("AEL0008", "AEL0326")


def test_a_needless_try_is_taken_out() -> None:
    text = "fn f() -> Int { 1 }\nfn g() -> Int { try f() }"
    assert codes(text) == ["AEL1105"]
    assert mended(text) == "fn f() -> Int { 1 }\nfn g() -> Int { f() }"


def test_nodes_tools_and_stores_in_code() -> None:
    text = """permission a.b
store notes: Map<String, Int> needs a.b
/// Look. Call when asked.
tool look(id: String(max: 8), deep: Bool = false, note?: String) -> Int
  needs a.b
  repeat idempotent key id
  approval required when deep and note != null
{
  let key = call.key
  notes.put(key, 1)
  notes.get(id) ?? notes.entries().length()
}
fn f(x: String?) -> List<Int> { [look("a"), look("a", note: x), look(id: "b", deep: true)] }
test "it" {
  assert look("a") == 1
  assert calls(look) == 1
}
"""
    program(text)
    assert [d for d in check(text.replace("deep and note", "id and note")) if "AEL0301" in d] == [
        "AEL0301 7:26 expected `Bool` before `and`, found `String`"
    ]
    assert codes("fn f() -> String { call.key }") == ["AEL0215"]
