"""Nothing that a program computes explodes, and no loop or recursion goes on for ever."""

from __future__ import annotations

import pytest

from ael.types.fault import Fault, FaultKind
from tests.lower.helpers import act, compiled

BIG = (1 << 4096) - 1


def outcome(source: str, *arguments: object, acting: bool = False) -> object:
    body = compiled(source).functions["main.f"] if not acting else compiled(source).nodes["main.f"].body
    try:
        return act(body, *arguments) if acting and body is not None else body(*arguments)  # type: ignore[misc]
    except Fault as fault:
        return fault.kind


@pytest.mark.parametrize(
    ("source", "arguments"),
    [
        ("fn f(n: Int) -> Int { n * n }", (BIG,)),
        ("fn f(n: Int) -> Int { var x = n\n for i in 1..100 { x = x + x }\n x }", (BIG,)),
        ("fn f(n: Int) -> Int { var x = 1\n for i in 1..n { x = x * 2 }\n x }", (4096,)),
        ("fn f(n: Int) -> Int { var x = 3\n while x > 0 up to 1_000_000 { x = x * x }\n x }", (0,)),
        ("fn f(n: Int) -> Int { var x = n\n for i in 1..1_000_000 { x = if i > 0 { x + x } else { 0 } }\n x }", (1,)),
        ("fn g(x: Int) -> Int { x + x }\nfn f(n: Int) -> Int { var x = 1\n for i in 1..n { x = g(x) }\n x }", (100_000,)),
        ("fn f(n: Int) -> Int { [n, n].fold(1, fn(a, x) => a * x) }", (BIG,)),
        ("fn f(n: Int) -> Int { range(1, 5_000).fold(1, fn(a, x) => a + a) }", (1,)),
        ("fn f(n: Int) -> Int { [n, n].sum() }", (BIG,)),
        ("fn f(n: Int) -> Int { var xs = [n]\n var t = 0\n for i in 1..3 { for x in xs { t = t + x } }\n t }", (BIG,)),
    ],
)
def test_ints_are_bounded(source: str, arguments: tuple[object, ...]) -> None:
    assert outcome(source, *arguments) is FaultKind.ARITHMETIC


def test_ints_are_exact_up_to_the_bound() -> None:
    assert outcome("fn f(n: Int) -> Int { (n - 1) + 1 }", BIG) == BIG
    assert outcome("fn f(n: Int) -> Int { var x = 1\n for i in 1..n { x = x * 2 }\n x }", 4095) == 1 << 4095
    assert outcome("fn f(n: Int) -> Int { n * n % 97 }", BIG) == BIG * BIG % 97
    assert outcome("fn f(n: Int) -> Bool { n * n > n + n }", BIG) is True


def test_sums_of_acting_code_are_exact() -> None:
    assert outcome("node f(n: Int) -> Int { let x = n + n\n x - n }", BIG, acting=True) is FaultKind.ARITHMETIC


@pytest.mark.parametrize(
    ("source", "arguments"),
    [
        ("fn f(x: Float) -> Float { x * x }", (1e200,)),
        ("fn f(x: Float) -> Float { 1.0 / (x * x) }", (1e200,)),
        ("fn f(x: Float) -> Bool { x * x > 1.0 }", (1e200,)),
        ("fn f(x: Float) -> Float { 1.0 / x }", (0.0,)),
        ("fn f(x: Float) -> Float { 1.0 % (x + x) }", (1e308,)),
        ("fn f(x: Float) -> Float { var t = 0.0\n for i in 1..100 { t = t + x }\n t }", (1e308,)),
        ("fn f(x: Float) -> Float { var t = x\n for i in 1..10 { t = t * x }\n 0.0 }", (1e200,)),
        ("fn f(x: Float) -> Float { var t = x\n for i in 1..10 { t = t * x\n if t > 1.0 { t = 0.5 } }\n t }", (1e200,)),
        ("fn f(x: Float) -> Float { [x, x].sum() }", (1e308,)),
        ("fn f(x: Int) -> Float { x / 1 }", (BIG,)),
        ("fn f(x: Int) -> Float { x.to_float() }", (BIG,)),
        ("fn f(x: Float) -> Int { 1 div x.to_int() }", (0.5,)),
        ("fn f(x: Int) -> Int { 1 % x }", (0,)),
    ],
)
def test_floats_are_finite_and_nothing_is_divided_by_zero(source: str, arguments: tuple[object, ...]) -> None:
    assert outcome(source, *arguments) is FaultKind.ARITHMETIC


@pytest.mark.parametrize(
    "source",
    [
        "fn f(s: String) -> Int { var x = s\n for i in 1..100 { x = x + x }\n x.length() }",
        'fn f(s: String) -> Int { var x = s\n for i in 1..100 { x = "${x}${x}" }\n x.length() }',
        'fn f(s: String) -> Int { var x = s\n while true up to 1_000_000_000 { x = x + "01234567890123456789012345678901" }\n x.length() }',
        "fn f(s: String) -> Int { s.repeat(100_000_000).length() }",
        'fn f(s: String) -> Int { s.pad_left(100_000_000, "-").length() }',
        'fn f(s: String) -> Int { s.repeat(10_000).replace("a", s.repeat(10_000)).length() }',
        "fn f(s: String) -> Int { var xs = [s]\n for i in 1..100 { xs = xs.concat(xs) }\n xs.length() }",
        "fn f(s: String) -> Int { var xs = [s]\n for i in 1..100 { xs = xs + xs }\n xs.length() }",
        "fn f(s: String) -> Int { var xs = [s]\n for i in 1..10_000_000 { xs = xs.append(s) }\n xs.length() }",
        "fn f(s: String) -> Int { range(1, 100_000_000).length() }",
        "fn f(s: String) -> Int { range(1, 2_000).flat_map(fn(i) => range(1, 2_000)).length() }",
        "fn f(s: String) -> Int { [s.repeat(10_000_000), s.repeat(10_000_000)].join(s).length() }",
        "fn d(s: String) -> String { s + s }\nfn f(s: String) -> Int { var x = s\n for i in 1..100 { x = d(x) }\n x.length() }",
    ],
)
def test_text_and_lists_are_bounded(source: str) -> None:
    assert outcome(source, "a") is FaultKind.TOO_LARGE


def test_building_in_place_is_not_seen() -> None:
    source = """
    fn f() -> List<List<Int>> {
      var xs = [1]
      let a = xs
      xs = xs.append(2)
      var all = [xs]
      for i in 3..4 {
        xs = xs.append(i)
        all = all.append(xs)
      }
      all.append(a)
    }
    fn g() -> List<Int> {
      var xs = [1, 2]
      for x in xs { xs = xs.append(x) }
      xs
    }
    fn h() -> List<Int> {
      var out = [0]
      for i in 1..3 {
        var inner = [0]
        for j in 1..i { inner = inner.append(j) }
        out = out.concat(inner)
      }
      out
    }
    fn m() -> Map<String, Int> {
      var seen = ["": 0]
      let old = seen
      for w in ["a", "b", "a"] { seen = seen.set(w, (seen[w] ?? 0) + 1) }
      seen.set("old", old.length())
    }
    fn e(xs: List<Int>) -> List<Int> {
      var out = [0]
      for x in xs {
        if x in out { continue }
        out = out + [x, x]
        if x == 9 { return out }
        out = out.concat(xs.take(1))
      }
      out = out + out
      out
    }
    fn r() -> List<List<Int>> {
      var out = [0]
      var all = [out]
      for i in 1..2 {
        out = out + [i]
        all = all + [out]
      }
      all
    }
    fn l() -> Int {
      var xs = [1]
      let count = fn() => xs.length()
      xs = xs.append(2)
      count() * 10 + xs.length()
    }
    """
    unit = compiled(source).functions
    assert unit["main.f"]() == [[1, 2], [1, 2, 3], [1, 2, 3, 4], [1]]
    assert unit["main.g"]() == [1, 2, 1, 2]
    assert unit["main.h"]() == [0, 0, 1, 0, 1, 2, 0, 1, 2, 3]
    assert unit["main.m"]() == {"": 0, "a": 2, "b": 1, "old": 1}
    assert unit["main.e"]([1, 2, 2]) == [0, 1, 1, 1, 2, 2, 1] * 2
    assert unit["main.e"]([1, 9, 3]) == [0, 1, 1, 1, 9, 9]
    assert unit["main.r"]() == [[0], [0, 1], [0, 1, 2]]
    assert unit["main.l"]() == 12


def test_building_a_list_takes_linear_time() -> None:
    # 200,000 copies of a growing list would be 160 GB of copying
    for building in ("xs.append(i)", "xs + [i]", "xs.concat([i])"):
        source = f"fn f(n: Int) -> Int {{ var xs = [0]\n for i in 1..n {{ xs = {building} }}\n xs.length() }}"
        assert outcome(source, 200_000) == 200_001
