"""Type parameters where an empty list says nothing of its items, and values that may be functions beside `null`."""

from __future__ import annotations

import pytest

from tests.check.helpers import check

HEAD = """fn first<T>(items: List<T>, fallback: T) -> T { items.first() ?? fallback }
fn made<T>(items: List<T>, fallback: fn() -> T) -> T { items.first() ?? fallback() }
fn maybe<T>(x: T?, other: fn() -> T) -> T { if x != null { x } else { other() } }
"""


@pytest.mark.parametrize(
    ("result", "code"),
    [
        ("Int", "first([], 3)"),
        ("String", 'first([], "a")'),
        ("String", 'made([], fn() => "a")'),
        ("Map<String, Int>", 'first([[:]], ["a": 1])'),
        ("List<List<Int>>", "first([[]], [[1]])"),
        ("Bool", "maybe(null, fn() => true)"),
        ("Int", "maybe(null, fn() => 1) + 1"),
        ("Int | String", '([:])["a"] ?? 5'),
        ("Int", "null ?? 5"),
        ("List<Int>", "[1, 2].fold([], fn(all, x) => all.append(x))"),
        ("Map<String, Int>", '["a"].fold([:], fn(all, x) => all.set(x, 1))'),
        ("List<List<Int>>", "[1].fold([[]], fn(all, x) => all.append([x]))"),
    ],
)
def test_an_empty_list_takes_what_the_others_or_the_result_say(result: str, code: str) -> None:
    assert check(f"{HEAD}fn f() -> {result} {{ {code} }}") == []


@pytest.mark.parametrize(
    ("result", "code"),
    [
        ("List<Int>", "first([[1]], [2, 3])"),
        ("List<Int>", "first([[1]], many)"),
        ("List<Int>", "made([[1]], fn() => many)"),
        ("Int", "first([small], big)"),
        ("Int", "first([big], small)"),
        ("List<Int>", "maybe([1], fn() => many)"),
    ],
)
def test_the_bounds_of_one_argument_do_not_bind_another(result: str, code: str) -> None:
    assert check(f"{HEAD}fn f(many: List<Int>, small: Int(0..5), big: Int) -> {result} {{ {code} }}") == []


def test_the_widest_bounds_are_the_result_s() -> None:
    told = check(f"{HEAD}fn f(small: Int(0..5), big: Int) -> Int(0..5) {{ first([small], big) }}")
    assert [one.split(" ")[0] for one in told] == ["AEL0301"]


def test_it_does_not_take_what_does_not_fit() -> None:
    told = check("fn f() -> List<String> { [1].fold([], fn(all, x) => all.append(x)) }")
    assert [one.split(" ")[0] for one in told] == ["AEL0301"]


def test_what_may_be_a_function_is_compared_with_null_alone() -> None:
    assert check("fn f<T>(x: T?) -> List<T> { if x != null { [x] } else { [] } }") == []
    assert check("fn f(x: (fn() -> Int)?) -> Int { if x == null { 0 } else { x() } }") == []
    assert [one.split(" ")[0] for one in check("fn f<T>(x: T?, y: T?) -> Bool { x == y }")] == ["AEL0312"]
