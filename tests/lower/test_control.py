"""Statements, branches, loops, matches: what plain code gives; deep nesting (kind K48)."""

from __future__ import annotations

import pytest

from ael.check.check import check_program
from ael.diagnostics.diagnostic import Bag
from ael.lower.lower import lower
from ael.source import Source
from ael.syntax.parse import parse_module
from ael.types.fault import Fault, FaultKind
from tests.lower.helpers import compiled, run


def fault_of(source: str, *arguments: object, name: str = "f") -> FaultKind:
    with pytest.raises(Fault) as caught:
        run(source, name, *arguments)
    return caught.value.kind


def test_if_as_value_and_as_statement() -> None:
    source = """
    fn f(n: Int) -> String {
      let sign = if n < 0 { "-" } else if n == 0 { "0" } else { "+" }
      var seen = 0
      if n > 100 { seen = 1 }
      if seen == 1 { return "large" }
      sign
    }
    """
    unit = compiled(source)
    f = unit.functions["main.f"]
    assert [f(-1), f(0), f(1), f(101)] == ["-", "0", "+", "large"]


def test_blocks_as_operands_keep_their_order() -> None:
    source = """
    fn f() -> Int {
      var x = 1
      let y = x + { x = 10
        x } * 2 + x
      y
    }
    """
    assert run(source) == 1 + 20 + 10


@pytest.mark.feature("D6")
def test_while_ends_at_its_limit() -> None:
    source = """
    fn f(n: Int) -> Int {
      var i = 0
      while i < n up to 10 { i = i + 1 }
      i
    }
    """
    unit = compiled(source)
    assert unit.functions["main.f"](10) == 10
    assert unit.functions["main.f"](0) == 0
    with pytest.raises(Fault) as caught:
        unit.functions["main.f"](11)
    assert caught.value.kind is FaultKind.LOOP_LIMIT
    assert caught.value.details["limit"] == 10


def test_break_and_continue() -> None:
    source = """
    fn f(xs: List<Int>) -> Int {
      var sum = 0
      for x in xs {
        if x < 0 { continue }
        if x > 100 { break }
        sum = sum + x
      }
      sum
    }
    fn g(n: Int) -> Int {
      var sum = 0
      for i in 1..n {
        if i % 2 == 0 { continue }
        if i > 5_000 { break }
        sum = sum + i
      }
      sum
    }
    fn h(n: Int) -> Int {
      var i = 0
      while true up to 100_000 {
        i = i + 1
        if i == n { break }
      }
      i
    }
    """
    unit = compiled(source)
    assert unit.functions["main.f"]([1, -5, 2, 101, 7]) == 3
    assert unit.functions["main.g"](10_000) == sum(range(1, 5_001, 2))
    assert unit.functions["main.h"](3_000) == 3_000


def test_loops_over_lists_maps_and_ranges() -> None:
    source = """
    fn f(xs: List<String>, m: Map<String, Int>) -> List<String> {
      var out = [""]
      for i, x in xs { out = out.append("${i}=${x}") }
      for k, v in m { out = out.append("${k}:${v}") }
      for i in 2..4 { out = out.append("${i}") }
      for i in 4..2 { out = out.append("never") }
      out.drop(1)
    }
    """
    assert run(source, "f", ["a", "b"], {"x": 1, "y": 2}) == ["0=a", "1=b", "x:1", "y:2", "2", "3", "4"]


def test_indexes() -> None:
    source = """
    fn f(xs: List<Int>, i: Int) -> Int { xs[i] }
    fn g(m: Map<String, Int>, k: String) -> Int { m[k] ?? -1 }
    fn h(xs: List<Int>) -> Int { xs[0] + xs[xs.length - 1] }
    """.replace("xs.length", "xs.length()")
    unit = compiled(source)
    assert unit.functions["main.f"]([5, 6], 1) == 6
    assert unit.functions["main.g"]({"a": 1}, "a") == 1
    assert unit.functions["main.g"]({"a": 1}, "b") == -1
    assert unit.functions["main.h"]([1, 2, 3]) == 4
    for index in (-1, 2, 10**30):
        with pytest.raises(Fault) as caught:
            unit.functions["main.f"]([5, 6], index)
        assert caught.value.kind is FaultKind.OUT_OF_RANGE


def nested(levels: int, innermost: str) -> str:
    """Loops in the operands of `catch`, in each other: more blocks than CPython compiles."""
    text = innermost
    for n in range(levels):
        text = f"let v{n} = {{\n for i{n} in 1..2 {{\n {text}\n }}\n 1 div hits\n }} catch {{ Arithmetic a => 0 }}\n total = total + v{n}"
    return text


def test_deep_nesting_compiles() -> None:
    body = nested(11, "hits = hits + 1")
    source = f"fn f() -> Int {{\n var hits = 0\n var total = 0\n {body}\n hits + total * 0\n}}"
    assert run(source) == 2**11


def test_leaving_deep_nesting() -> None:
    body = nested(
        11, "hits = hits + 1\n if hits == stop { return hits * 2 }\n if hits == 3 { continue }\n if hits == 5 { break }"
    )
    source = f"fn f(stop: Int) -> Int {{\n var hits = 0\n var total = 0\n {body}\n hits\n}}"
    unit = compiled(source)
    assert unit.functions["main.f"](7) == 14
    assert unit.functions["main.f"](0) == 2**11 - 1


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("if true { ", " } else { 1 }"),
        ("(", " + 1)"),
        ("{ let x = ", "\n x }"),
        ("match 1 { 1 => ", "\n _ => 2 }"),
        ("[", "].sum()"),
        ("[1].map(fn(y) => ", ").sum()"),
        ("(", " catch { Timeout t => 0 })"),
        ("(if n > 0 { let z = 1\n ", " } else { 3 })"),
    ],
)
def test_what_the_check_lets_pass_compiles_however_deep(opening: str, closing: str) -> None:
    """K48."""
    deepest = 0
    for depth in (5, 20, 28, 40, 60, 85):
        source = f"fn f(n: Int) -> Int {{ {opening * depth}1{closing * depth} }}"
        bag = Bag()
        module = parse_module(Source("main.ael", source), bag)
        program = check_program({"main": module}, "main", bag)
        if program is not None:
            assert isinstance(lower(program).functions["main.f"](1), int)
            deepest = depth
    assert deepest >= 20


def test_recursion_is_cut() -> None:
    source = """
    fn down(n: Int) -> Int { if n == 0 { 0 } else { 1 + down(n - 1) } }
    fn even(n: Int) -> Bool { if n == 0 { true } else { odd(n - 1) } }
    fn odd(n: Int) -> Bool { if n == 0 { false } else { even(n - 1) } }
    fn through(n: Int) -> Int { [n].map(fn(x) => if x == 0 { 0 } else { 1 + through(x - 1) }).sum() }
    """
    unit = compiled(source)
    assert unit.functions["main.down"](900) == 900
    assert unit.functions["main.even"](900) is True
    assert unit.functions["main.through"](900) == 900
    for name in ("down", "even", "through"):
        with pytest.raises(Fault) as caught:
            unit.functions[f"main.{name}"](5_000)
        assert caught.value.kind is FaultKind.TOO_DEEP


def test_default_arguments_and_argument_order() -> None:
    source = """
    fn g(a: Int, b: Int = 7, c?: Int) -> String { "${a} ${b} ${c ?? -1}" }
    fn f() -> String { g(1) + "; " + g(1, c: 3) + "; " + g(b: 2, a: 9) }
    """
    assert run(source) == "1 7 -1; 1 7 3; 9 2 -1"


def test_constants() -> None:
    source = """
    const LIMIT = 10
    const NAMES = ["a", "b"]
    const WAIT = 5s
    fn f() -> String { "${LIMIT} ${NAMES.join("-")} ${WAIT}" }
    """
    assert run(source) == "10 a-b PT5S"


def test_unit_functions_give_null() -> None:
    assert run("fn g() -> Int { 3 }\nfn f() { g() }") is None


def test_halting_flag_stops_loops_and_recursion() -> None:
    source = """
    fn loop() -> Int {
      var n = 0
      for i in 1..100_000 { n = n + i }
      n
    }
    fn fib(n: Int) -> Int { if n < 2 { n } else { fib(n - 1) + fib(n - 2) } }
    fn calls() -> Int {
      var n = 0
      for i in 1..10 { n = n + fib(1) }
      n
    }
    fn lists(xs: List<Int>) -> Int { xs.fold(0, fn(a, x) => a + x) }
    """
    unit = compiled(source)
    assert unit.functions["main.loop"]() == 100_000 * 100_001 // 2
    unit.halt.flag[0] = Fault(FaultKind.DEADLINE_EXCEEDED, "late")
    for name, arguments in (("loop", ()), ("fib", (3,)), ("calls", ()), ("lists", ([1],))):
        with pytest.raises(Fault) as caught:
            unit.functions[f"main.{name}"](*arguments)
        assert caught.value.kind is FaultKind.DEADLINE_EXCEEDED
    unit.halt.flag[0] = None
    assert unit.functions["main.fib"](10) == 55
