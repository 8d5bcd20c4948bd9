"""A failed assertion tells the values of its parts, and where two values that should be equal differ; it never tells too much."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.lower.abi.test import MOST_DIFFERENT, difference
from tests.cli.conftest import Ael, ael  # noqa: F401  # a fixture

MAIN = """record Line {
  name: String
  price: Int
}

record Order {
  id: String
  lines: List<Line>
}

fn order() -> Order {
  Order(id: "A-1", lines: [Line(name: "tea", price: 3), Line(name: "cup", price: 9)])
}

fn total(order: Order) -> Int {
  order.lines.map(fn(x) => x.price).sum()
}

fn many() -> List<Int> {
  range(0, 3_000)
}

"""


def told(desk: Ael, body: str) -> list[str]:
    desk.write({"main.ael": f'{MAIN}test "it" {{\n  {body}\n}}\n'})
    ended = desk("test")
    assert ended.code == 1, ended.err
    return [line[6:] for line in ended.err.splitlines() if line.startswith("      ")]


@pytest.mark.feature("C7")
def test_the_values_of_nested_calls_are_told(ael: Ael) -> None:  # noqa: F811
    lines = told(ael, "assert total(order()) + 1 == 12")
    assert "    total(order()) = 12" in lines
    assert any(line.startswith('    order() = {"id":"A-1"') for line in lines)
    assert not any("left" in line for line in lines), "what is seen at a glance is not told again"


@pytest.mark.feature("C7")
def test_where_two_records_differ(ael: Ael) -> None:  # noqa: F811
    lines = told(ael, 'assert order() == order() with { lines: [Line(name: "tea", price: 3), Line(name: "mug", price: 9)] }')
    at = lines.index("  - left, + right:")
    assert [line.strip() for line in lines[at + 1 :] if line.strip().startswith(("-", "+"))] == [
        '-      "name": "cup",',
        '+      "name": "mug",',
    ]


def test_where_two_texts_differ(ael: Ael) -> None:  # noqa: F811
    lines = told(ael, 'assert "one\\ntwo\\nthree" == "one\\n2\\nthree"')
    assert lines[-4:] == ["     one", "    -two", "    +2", "     three"]


def test_what_is_long_is_cut(ael: Ael) -> None:  # noqa: F811
    lines = told(ael, "assert many() == many().map(fn(x) => x + 5_000)")
    assert len(lines) < MOST_DIFFERENT + 12
    assert all(len(line) < 300 for line in lines)
    assert lines[-1].endswith("lines more")


def test_a_message_and_what_was_not_looked_at(ael: Ael) -> None:  # noqa: F811
    lines = told(ael, 'let none: Int? = null\n  assert none != null and none > 3, "there has to be one"')
    assert lines[0] == "there has to be one"
    assert "    none = null" in lines


_LEAF = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
_JSON = st.recursive(_LEAF, lambda x: st.lists(x) | st.dictionaries(st.text(max_size=5), x), max_leaves=12)


@given(_JSON, _JSON)
def test_any_two_values_can_be_compared(left: object, right: object) -> None:
    lines = difference(left, right)
    assert len(lines) <= MOST_DIFFERENT + 2
    if left == right:
        assert lines == []
