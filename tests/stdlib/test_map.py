"""Maps and values that may be missing, against plain Python that says the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.stdlib.functions import ending, module

maps = module("map")
option = module("option")
KEYS = st.lists(st.sampled_from("abcdef"), max_size=8)
MAPS = st.dictionaries(st.sampled_from("abcdef"), st.one_of(st.none(), st.integers(0, 5)), max_size=6)
VALUES = st.one_of(st.none(), st.integers(-3, 3))


def same(made: dict[str, object], wanted: dict[str, object]) -> bool:
    """Equal, in the same order."""
    return list(made.items()) == list(wanted.items())


@given(MAPS, MAPS, KEYS)
def test_entries(one: dict[str, object], other: dict[str, object], keys: list[str]) -> None:
    assert same(maps.pick(one, keys), {k: v for k, v in one.items() if k in keys})
    assert same(maps.omit(one, keys), {k: v for k, v in one.items() if k not in keys})
    assert same(maps.shared(one, other), {k: v for k, v in one.items() if k in other})
    assert same(maps.without(one, other), {k: v for k, v in one.items() if k not in other})
    assert same(maps.sort_keys(one), dict(sorted(one.items())))
    assert same(maps.compact(one), {k: v for k, v in one.items() if v is not None})
    assert same(maps.map_keys(one, lambda k: k + k), {k + k: v for k, v in one.items()})
    assert same(maps.map_entries(one, lambda k, v: (k, v)), {k: (k, v) for k, v in one.items()})
    assert maps.to_list(one, lambda k, v: (k, v)) == list(one.items())
    kept, rest = maps.partition(one, lambda _, v: v is None)
    assert same(
        {**kept, **rest}, {**{k: v for k, v in one.items() if v is None}, **{k: v for k, v in one.items() if v is not None}}
    )
    joined = maps.merge_with(one, other, lambda a, b: (a, b))
    assert same(joined, {**one, **{k: (one[k], v) if k in one else v for k, v in other.items()}})
    assert maps.find_key(one, lambda v: v == 3) == next((k for k, v in one.items() if v == 3), None)


@given(KEYS, st.lists(st.integers(), max_size=8))
def test_made_of_lists(keys: list[str], values: list[int]) -> None:
    assert same(maps.from_lists(keys, values), dict(zip(keys, values, strict=False)))
    texts = {key: str(value % 3) for key, value in zip(keys, values, strict=False)}
    assert same(maps.invert(texts), {v: k for k, v in texts.items()})
    groups: dict[str, list[str]] = {}
    for key, value in texts.items():
        groups.setdefault(value, []).append(key)
    assert same(maps.group_keys(texts, lambda v: v), dict(groups))


def test_a_key_that_is_not_there() -> None:
    assert ending(maps.value_of, {"a": 1}, "b") == "OutOfRange"
    assert maps.value_of({"a": None}, "a") is None


@given(VALUES, VALUES, st.lists(VALUES, max_size=6))
def test_values_that_may_be_missing(one: int | None, other: int | None, many: list[int | None]) -> None:
    there = [x for x in many if x is not None]
    assert option.map(one, lambda x: x + 1) == (None if one is None else one + 1)
    assert option.then(one, lambda x: None if x < 0 else x) == (None if one is None or one < 0 else one)
    assert option.or_else(one, lambda: 9) == (9 if one is None else one)
    assert option.filter(one, lambda x: x > 0) == (one if one is not None and one > 0 else None)
    assert option.is_some_and(one, lambda x: x > 0) == (one is not None and one > 0)
    assert option.first_of(many) == next(iter(there), None)
    assert option.compact(many) == there
    assert option.all_or_none(many) == (many if len(there) == len(many) else None)
    assert option.to_list(one) == ([] if one is None else [one])
    assert option.both(one, other, lambda a, b: a * b) == (None if one is None or other is None else one * other)


def test_ten_thousand_entries_and_more() -> None:
    large = {f"k{i}": i for i in range(100_000)}
    assert len(maps.merge_with(large, large, lambda a, b: a + b)) == 100_000
    assert maps.map_keys(large, lambda k: k) == large
    assert maps.pick(large, list(large)) == large
