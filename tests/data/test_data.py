"""`ael.data.dataclass` means what the standard library's decorator means."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ael import data


@data.dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2


@data.dataclass(frozen=True, slots=True)
class Named(Point):
    name: str = "p"


@data.dataclass
class Counter:
    counts: dict[str, int] = data.field(default_factory=dict)
    hidden: list[int] = data.field(default_factory=list, repr=False, compare=False)


@data.dataclass(frozen=True, eq=False)
class Identity:
    value: int


def test_construction_defaults_and_order() -> None:
    assert (Point(1).x, Point(1).y, Point(y=5, x=4).y) == (1, 2, 5)
    assert (Named(1, 3, "q").name, Named(1).y) == ("q", 2)
    assert Point.__match_args__ == ("x", "y")
    assert Named.__match_args__ == ("x", "y", "name")
    match Point(7, 8):
        case Point(x, y):
            assert (x, y) == (7, 8)


def test_equality_hash_and_text() -> None:
    assert Point(1) == Point(1, 2)
    assert Point(1) != Point(2)
    assert Point(1) != Named(1)
    assert hash(Point(1)) == hash(Point(1, 2))
    assert {Point(1): "a"}[Point(1)] == "a"
    assert repr(Named(1)) == "Named(x=1, y=2, name='p')"
    assert Identity(1) != Identity(1)
    assert len({Identity(1), Identity(1)}) == 2


def test_what_is_frozen_does_not_change() -> None:
    with pytest.raises(AttributeError):
        Point(1).x = 2  # type: ignore[misc]  # that is the point
    with pytest.raises(AttributeError):
        Point(1).z = 2  # type: ignore[attr-defined]
    counter = Counter()
    counter.counts["a"] = 1
    assert Counter().counts == {}


def test_fields_left_out_of_text_and_comparison() -> None:
    assert Counter({"a": 1}, [1]) == Counter({"a": 1}, [2])
    assert repr(Counter()) == "Counter(counts={})"
    unhashable: Any = Counter()
    with pytest.raises(TypeError):
        hash(unhashable)


def test_replace() -> None:
    assert data.replace(Named(1), y=9) == Named(1, 9)
    with pytest.raises(TypeError):
        data.replace(Point(1), z=3)


@pytest.mark.parametrize("arguments", [(), (1, 2, 3), (1,)])
def test_wrong_arguments_are_refused_as_by_the_standard_library(arguments: tuple[int, ...]) -> None:
    made: Any = dataclasses.make_dataclass("Point", [("x", int), ("y", int, 2)], frozen=True)
    ours: Any = Point
    if 1 <= len(arguments) <= 2:
        assert ours(*arguments).x == made(*arguments).x
        return
    with pytest.raises(TypeError):
        made(*arguments)
    with pytest.raises(TypeError):
        ours(*arguments)
