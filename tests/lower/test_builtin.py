"""What the language brings: every method of the check's table, implemented and right."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from ael.check.builtin import FUNCTIONS, METHODS, TEST_FUNCTIONS, Builtin
from ael.lower import abi
from ael.lower.unit import Halt
from ael.types.fault import Fault, FaultKind
from ael.types.type import FunctionType
from tests.lower.helpers import compiled, run

SPACE = abi.namespace(Halt())
INLINE = {
    "string.length",
    "list.length",
    "map.length",
    "bytes.length",
    "string.is_empty",
    "list.is_empty",
    "map.is_empty",
    "map.get",
}
METHOD_LIST = [(kind, method) for kind, methods in METHODS.items() for method in methods.values()]


@pytest.mark.parametrize(("kind", "method"), METHOD_LIST, ids=lambda x: x.name if isinstance(x, Builtin) else x)
def test_every_method_of_the_check_is_there(kind: str, method: Builtin) -> None:
    owner, _, own = method.name.partition(".")
    names = [f"{k}_{own}" for k in (("int", "float", "decimal") if owner == "number" else (owner,))]
    for name in names:
        assert method.name in INLINE or name in SPACE, name
        if any(isinstance(p, FunctionType) for p in method.parameters):
            assert f"{name}_acting" in SPACE


def test_every_function_of_the_check_is_there() -> None:
    for name in FUNCTIONS:
        assert f"std_{name}" in SPACE or name in ("json", "release")
    for name in TEST_FUNCTIONS:
        assert f"turn_{name}" in SPACE


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('" a b ".trim()', "a b"),
        ('"aXbXc".split("X")', ["a", "b", "c"]),
        ('"abc".split("")', ["a", "b", "c"]),
        ('"one\\ntwo\\n".lines()', ["one", "two"]),
        ('"hello".slice(1, 3)', "el"),
        ('"hello".slice(3)', "lo"),
        ('"hello".slice(-2, 99)', "hello"),
        ('"h\\u{1F600}llo".slice(1, 2)', "\U0001f600"),
        ('"h\\u{1F600}llo".length()', 5),
        ('"hello".index_of("l")', 2),
        ('"hello".index_of("z")', None),
        ('"ab".repeat(3)', "ababab"),
        ('"ab".repeat(-1)', ""),
        ('" 42 ".to_int()', 42),
        ('"1_000".to_int()', 1000),
        ('"4.5".to_int()', None),
        ('"4.5".to_float()', 4.5),
        ('"1e999".to_float()', None),
        ('"nan".to_float()', None),
        ('"0.10".to_decimal()', Decimal("0.10")),
        ('"7".pad_left(3, "0")', "007"),
        ('"7".pad_right(3)', "7  "),
        ('"a-b".replace("-", "+")', "a+b"),
        ('"abc".replace("", "x")', "abc"),
        ('"abc".starts_with("ab") and "abc".ends_with("bc") and "abc".contains("b")', True),
        ('["b", "a"].sort().join(",")', "a,b"),
        ("[3, 1, 2].sort_by(fn(x) => -x)", [3, 2, 1]),
        ("[1, 2, 3].reverse()", [3, 2, 1]),
        ("[1, 2, 3].first()", 1),
        ("[1, 2, 3].last()", 3),
        ("[1, 2, 3].take(2)", [1, 2]),
        ("[1, 2, 3].drop(2)", [3]),
        ("[1, 2, 3].take(-1)", []),
        ("[1, 2, 3].slice(1, 2)", [2]),
        ("[1, 2, 3].contains(2)", True),
        ("[1, 2, 3].index_of(3)", 2),
        ("[1, 2].concat([3])", [1, 2, 3]),
        ("[1, 2] + [3]", [1, 2, 3]),
        ("[[1], [2, 3]].flatten()", [1, 2, 3]),
        ("[1, 2].flat_map(fn(x) => [x, x])", [1, 1, 2, 2]),
        ("[1, 2, 1].unique()", [1, 2]),
        ('[1, 2].zip(["a"]).map(fn(p) => p.second)', ["a"]),
        ("[5, 6].enumerate().map(fn(p) => p.index * p.value)", [0, 6]),
        ("[1, 2, 3].sum()", 6),
        ("[1.5, 2.5].sum()", 4.0),
        ("[$0.10, $0.20].sum()", Decimal("0.30")),
        ("[3, 1].min()", 1),
        ("[3, 1].max()", 3),
        ("[1, 2, 3].filter(fn(x) => x > 1).map(fn(x) => x * x)", [4, 9]),
        ("[1, 2, 3].find(fn(x) => x > 1)", 2),
        ("[1, 2, 3].any(fn(x) => x > 2)", True),
        ("[1, 2, 3].all(fn(x) => x > 2)", False),
        ("[1, 2, 3].count(fn(x) => x != 2)", 2),
        ("[1, 2, 3].fold(10, fn(a, x) => a + x)", 16),
        ('["aa", "b", "cc"].group_by(fn(x) => "${x.length()}")', {"2": ["aa", "cc"], "1": ["b"]}),
        ('["a": 1].set("b", 2).keys()', ["a", "b"]),
        ('["a": 1, "b": 2].remove("a").values()', [2]),
        ('["a": 1].merge(["a": 3, "c": 4]).map_values(fn(x) => x + 1)', {"a": 4, "c": 5}),
        ('["a": 1, "b": 2].filter(fn(k, v) => k == "b")', {"b": 2}),
        ('["a": 1].get("z") ?? 7', 7),
        ('["a": 1].has("a")', True),
        ("(-5).abs()", 5),
        ("5.clamp(1, 3)", 3),
        ("2.5.round()", 2.0),
        ("2.345.round(2)", 2.35),
        ("(-2.5).floor()", -3),
        ("2.1.ceil()", 3),
        ("(-2.7).to_int()", -2),
        ("1234.round(-2)", 1200),
        ("7.to_float()", 7.0),
        ("7.to_decimal()", Decimal(7)),
        ("7.to_string()", "7"),
        ("7 div 2", 3),
        ("(-7) div 2", -4),
        ("(-7) % 2", 1),
        ("7 / 2", 3.5),
        ("7.5 div 2.0", 3.0),
        ("(-7.5) % 2.0", 0.5),
        ("min(3, 2)", 2),
        ("max(3, 2)", 3),
        ("abs(-3)", 3),
        ("range(1, 3)", [1, 2, 3]),
        ('parse_json("{\\"a\\": [1, null]}").get("a")', [1, None]),
        ('json(["a": $0.5])', {"a": "0.5"}),
        ("json([1]).at(0) == json(1)", True),
        ("json(true) == json(1)", False),
        ('"ab".to_bytes().to_base64()', "YWI="),
        ("1h.plus(30min).in_seconds()", 5400.0),
        ("90s.to_string()", "PT1M30S"),
        ("64KiB", 65536),
    ],
)
def test_methods(expression: str, expected: Any) -> None:
    kinds = {str: "String", int: "Int", float: "Float", bool: "Bool", Decimal: "Decimal"}
    source = (
        f"fn f() -> Json {{ json({expression}) }}"
        if type(expected) not in kinds
        else (f"fn f() -> {kinds[type(expected)]} {{ {expression} }}")
    )
    if expected is None or expression.endswith("to_decimal()") or "to_int()" in expression or "to_float()" in expression:
        source = f"fn f() -> Bool {{ json({expression}) == json({_literal(expected)}) }}"
        assert run(source) is True
        return
    if isinstance(expected, str | int | float) and any(
        f".{m}(" in expression for m in ("index_of", "first", "last", "find", "min", "max")
    ):
        assert run(f"fn f() -> Json {{ json({expression}) }}") == expected
        return
    found = run(source)
    assert found == expected
    assert type(found) is type(expected)


def _literal(value: object) -> str:
    match value:
        case None:
            return "null"
        case Decimal():
            return f"${value}"
        case _:
            return repr(value)


def test_decimals_do_not_depend_on_the_context_of_the_thread() -> None:
    import decimal

    source = (
        "fn f(a: Decimal, b: Decimal) -> Decimal { a / b }\nfn g(a: Decimal, b: Decimal) -> Decimal { a div b + a % b * $100 }"
    )
    unit = compiled(source)
    with decimal.localcontext() as context:
        context.prec = 3
        assert unit.functions["main.f"](Decimal(1), Decimal(3)) == Decimal("0." + "3" * 34)
        assert unit.functions["main.g"](Decimal(-7), Decimal(2)) == Decimal(96)
    with pytest.raises(Fault) as caught:
        unit.functions["main.f"](Decimal(1), Decimal(0))
    assert caught.value.kind is FaultKind.ARITHMETIC


def test_times() -> None:
    source = """
    fn f(t: Timestamp, d: Date) -> List<String> {
      [
        "${t.plus(1h)}", "${t.minus(1d).year()}", "${t.since(t.minus(90s))}",
        "${d.plus(36h)}", "${d.minus(1d)}", "${d.since(d.minus(7d)).in_seconds()}",
      ]
    }
    """
    found = run(source, "f", datetime(2026, 1, 1, tzinfo=UTC), date(2026, 1, 1))
    assert found == ["2026-01-01T01:00:00Z", "2025", "PT1M30S", "2026-01-02", "2025-12-31", "604800.0"]
    with pytest.raises(Fault) as caught:
        run("fn f(t: Timestamp) -> Timestamp { t.plus(1d) }", "f", datetime(9999, 12, 31, 23, tzinfo=UTC))
    assert caught.value.kind is FaultKind.ARITHMETIC


@pytest.mark.parametrize(
    ("type_text", "good", "bad"),
    [("Int(0..5)", 5, 6), ("String(max: 3)", "abc", "abcd"), ("List<Int>(max: 2)", [1], [1, 2, 3])],
)
def test_check_narrows_or_fails(type_text: str, good: object, bad: object) -> None:
    wide = type_text.partition("(")[0]
    source = f"type T = {type_text}\nfn f(x: {wide}) -> T {{ T.check(x) }}"
    f = compiled(source).functions["main.f"]
    assert f(good) == good
    with pytest.raises(Fault) as caught:
        f(bad)
    assert caught.value.kind is FaultKind.OUT_OF_RANGE


def test_malformed_json_is_a_fault() -> None:
    with pytest.raises(Fault) as caught:
        run("fn f(s: String) -> Json { parse_json(s) }", "f", '{"a": 1, "a": 2}')
    assert caught.value.kind is FaultKind.MALFORMED


@pytest.mark.parametrize(
    ("type", "zero"), [("Int", 0), ("Float", 0.0), ("Float(0.0..1.0)", 0.0), ("Decimal", Decimal(0)), ("Duration", timedelta())]
)
def test_the_sum_of_nothing_is_of_the_items_type(type: str, zero: object) -> None:
    base = type.partition("(")[0]
    found = compiled(f"fn f(xs: List<{type}>) -> {base} {{ xs.sum() }}").functions["main.f"]([])
    assert found == zero
    assert found.__class__ is zero.__class__
