"""Lists of the standard library, against plain Python that says the same."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate, pairwise, product, takewhile

from hypothesis import given
from hypothesis import strategies as st

from tests.stdlib.functions import module

lists = module("list")
ITEMS = st.lists(st.integers(0, 9), max_size=20)
PLACES = st.integers(-3, 25)


@given(ITEMS, st.integers(1, 25))
def test_parts(items: list[int], size: int) -> None:
    assert lists.chunks(items, size) == [items[i : i + size] for i in range(0, len(items), size)]
    assert lists.windows(items, size) == [items[i : i + size] for i in range(len(items) - size + 1)]
    assert lists.pairs(items) == [list(pair) for pair in pairwise(items)]


@given(ITEMS, PLACES)
def test_places(items: list[int], at: int) -> None:
    front, back = lists.split_at(items, at)
    assert front + back == items
    assert len(front) == min(max(at, 0), len(items))
    assert lists.insert_at(items, at, 7) == [*front, 7, *back]
    inside = 0 <= at < len(items)
    assert lists.remove_at(items, at) == (items[:at] + items[at + 1 :] if inside else items)
    assert lists.replace_at(items, at, 7) == ([*items[:at], 7, *items[at + 1 :]] if inside else items)
    turn = at % len(items) if items else 0
    assert lists.rotate(items, at) == items[turn:] + items[:turn]
    assert lists.repeated("a", at) == ["a"] * at


@given(ITEMS, st.integers(0, 9))
def test_conditions(items: list[int], limit: int) -> None:
    def below(x: int) -> bool:
        return x < limit

    assert lists.partition(items, below) == [[x for x in items if below(x)], [x for x in items if not below(x)]]
    taken = list(takewhile(below, items))
    assert lists.take_while(items, below) == taken
    assert lists.drop_while(items, below) == items[len(taken) :]
    assert lists.find_index(items, below) == next((i for i, x in enumerate(items) if below(x)), None)
    assert lists.find_last(items, below) == next((x for x in reversed(items) if below(x)), None)


@given(ITEMS, ITEMS)
def test_two_lists(items: list[int], others: list[int]) -> None:
    assert lists.zip_with(items, others, lambda a, b: (a, b)) == list(zip(items, others, strict=False))
    assert lists.cartesian(items, others, lambda a, b: (a, b)) == list(product(items, others))
    woven = lists.interleave(items, others)
    assert Counter(woven) == Counter(items + others)
    both = min(len(items), len(others))
    assert woven[: 2 * both : 2] == items[:both]


@given(ITEMS)
def test_orders_and_counts(items: list[int]) -> None:
    assert lists.min_by(items, lambda a, b: a < b) == min(items, default=None)
    assert lists.max_by(items, lambda a, b: a < b) == max(items, default=None)
    assert lists.is_sorted(items, lambda a, b: a < b) == (items == sorted(items))
    texts = [str(x) for x in items]
    assert lists.tally(texts) == dict(Counter(texts))
    assert [(f["text"], f["count"]) for f in lists.frequencies(texts)] == sorted(
        Counter(texts).items(), key=lambda pair: (-pair[1], pair[0])
    )
    assert [x % 3 for x in lists.distinct_by(items, lambda x: str(x % 3))] == list(dict.fromkeys(x % 3 for x in items))
    assert lists.index_by(items, lambda x: str(x % 3)) == {str(x % 3): x for x in items}
    assert lists.scan(items, 0, lambda a, b: a + b) == list(accumulate(items))
    assert lists.intersperse(items, -1)[::2] == items


@given(st.lists(ITEMS, max_size=4))
def test_rows_and_columns(rows: list[list[int]]) -> None:
    assert lists.transpose(rows) == [list(column) for column in zip(*rows, strict=False)]


def test_ten_thousand_items_and_more() -> None:
    items = list(range(100_000))
    assert len(lists.chunks(items, 1)) == 100_000
    assert len(lists.distinct_by(items, str)) == 100_000
    assert len(lists.transpose([[x] for x in items])[0]) == 100_000
    assert lists.interleave(items, items)[-1] == 99_999
