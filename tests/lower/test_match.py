"""Patterns."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from tests.lower.helpers import compiled, run


def test_plain_enums_are_text() -> None:
    source = """
    pub enum Topic { Refund, Shipping, Other }
    fn f(t: Topic) -> Int {
      match t {
        Topic.Refund => 1
        Topic.Shipping | Topic.Other => 2
      }
    }
    fn g() -> Topic { Topic.Shipping }
    """
    unit = compiled(source)
    assert [unit.functions["main.f"](t) for t in ("Refund", "Shipping", "Other")] == [1, 2, 2]
    assert unit.functions["main.g"]() == "Shipping"


def test_variants_with_fields() -> None:
    source = """
    pub enum Shape { Empty, Circle(radius: Float), Box(width: Float, height: Float, note?: String) }
    fn f(s: Shape) -> String {
      match s {
        Empty => "empty"
        Circle(r) if r > 10.0 => "big"
        Circle(radius: r) => "circle ${r}"
        Box(w, h) if w == h => "square"
        Box(note: n) => n ?? "box"
      }
    }
    fn g() -> Shape { Shape.Box(height: 2.0, width: 1.0) }
    """
    unit = compiled(source)
    f = unit.functions["main.f"]
    assert f("Empty") == "empty"
    assert f({"kind": "Circle", "radius": 11.0}) == "big"
    assert f({"kind": "Circle", "radius": 1.5}) == "circle 1.5"
    assert f({"kind": "Box", "width": 2.0, "height": 2.0}) == "square"
    assert f({"kind": "Box", "width": 2.0, "height": 3.0}) == "box"
    assert f({"kind": "Box", "width": 2.0, "height": 3.0, "note": "n"}) == "n"
    assert unit.functions["main.g"]() == {"kind": "Box", "width": 1.0, "height": 2.0}


def test_union_members_by_class() -> None:
    source = """
    fn f(x: String | Int | Bool | List<Int> | null) -> String {
      match x {
        null => "null"
        true => "yes"
        Bool b => "no"
        1 => "one"
        Int n => "int ${n}"
        String s => "text ${s}"
        List xs => "list ${xs.length()}"
      }
    }
    """
    f = compiled(source.replace("List xs =>", "_ =>").replace("list ${xs.length()}", "list")).functions["main.f"]
    assert [f(v) for v in (None, True, False, 1, 2, "a", [1])] == ["null", "yes", "no", "one", "int 2", "text a", "list"]


def test_records_of_a_union_by_constant_field_and_by_shape() -> None:
    source = """
    pub record Cat { type: "cat", lives: Int }
    pub record Dog { type: "dog", name: String }
    pub record Point { x: Int, y: Int }
    fn f(a: Cat | Dog | Point | String) -> String {
      match a {
        Cat c => "cat ${c.lives}"
        Dog d => "dog ${d.name}"
        Point p => "point ${p.x + p.y}"
        String s => s
      }
    }
    """
    f = compiled(source).functions["main.f"]
    assert f({"type": "cat", "lives": 9}) == "cat 9"
    assert f({"type": "dog", "name": "Rex"}) == "dog Rex"
    assert f({"x": 1, "y": 2}) == "point 3"
    assert f("s") == "s"


def test_classes_of_values_that_json_writes_as_text() -> None:
    source = """
    fn f(x: Timestamp | Int) -> String {
      match x {
        Timestamp t => "time ${t}"
        Int n => "int"
      }
    }
    """
    assert run(source, "f", datetime(2026, 3, 1, tzinfo=UTC)) == "time 2026-03-01T00:00:00Z"


def test_list_patterns() -> None:
    source = """
    fn f(xs: List<Int>) -> String {
      match xs {
        [] => "none"
        [0] => "zero"
        [x] => "one ${x}"
        [1, ..] => "starts with 1"
        [a, b, ..rest] => "${a} ${b} and ${rest.length()}"
      }
    }
    """
    f = compiled(source).functions["main.f"]
    assert [f(v) for v in ([], [0], [5], [1, 2], [3, 4, 5, 6])] == ["none", "zero", "one 5", "starts with 1", "3 4 and 2"]


def test_guards_with_statements_and_fall_through() -> None:
    source = """
    fn f(n: Int) -> String {
      match n {
        x if { let half = x div 2
          half > 10 } => "big"
        x if x > 5 => "middle"
        _ => "small"
      }
    }
    """
    f = compiled(source).functions["main.f"]
    assert [f(30), f(8), f(1)] == ["big", "middle", "small"]


def test_many_arms() -> None:
    arms = "\n".join(f'        {n} => "n{n}"' for n in range(70))
    f = compiled(f'fn f(n: Int) -> String {{\n      match n {{\n{arms}\n        _ => "other"\n      }}\n    }}').functions[
        "main.f"
    ]
    assert [f(0), f(69), f(70)] == ["n0", "n69", "other"]


def test_literals_of_all_kinds() -> None:
    source = """
    fn d(x: Decimal) -> String {
      match x {
        $0.50 => "half"
        -1 => "minus one"
        2.25 => "more"
        _ => "other"
      }
    }
    fn t(x: Duration) -> String {
      match x {
        5s => "five"
        _ => "other"
      }
    }
    fn g(x: Float) -> String {
      match x {
        -0.5 => "minus half"
        3 => "three"
        _ => "other"
      }
    }
    """
    unit = compiled(source).functions
    assert [unit["main.d"](Decimal(x)) for x in ("0.5", "-1", "2.25", "3")] == ["half", "minus one", "more", "other"]
    assert [unit["main.t"](timedelta(seconds=x)) for x in (5, 6)] == ["five", "other"]
    assert [unit["main.g"](x) for x in (-0.5, 3.0, 1.0)] == ["minus half", "three", "other"]


def test_match_arms_return() -> None:
    source = """
    fn f(n: Int?) -> Int {
      let x = match n {
        null => { return -1 }
        Int v => v
      }
      x * 2
    }
    """
    f = compiled(source).functions["main.f"]
    assert [f(None), f(4)] == [-1, 8]


@pytest.mark.parametrize(
    ("value", "expected"), [(Decimal("1.50"), "1.50"), (date(2026, 1, 2), "2026-01-02"), (True, "true"), (0.1, "0.1")]
)
def test_text_forms(value: object, expected: str) -> None:
    names = {Decimal: "Decimal", date: "Date", bool: "Bool", float: "Float"}
    assert run(f'fn f(x: {names[type(value)]}) -> String {{ "${{x}}" }}', "f", value) == expected
