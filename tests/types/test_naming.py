"""Names on the wire: kind K19."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ael.types.naming import wire_name, wire_names


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("lookup_order", "lookup_order"),
        ("crm.get_customer", "crm__get_customer"),
        ("delegate.answer", "delegate__answer"),
        ("get-customer", "get-customer"),
        ("main.orders.get", "main__orders__get"),
        ("x" * 64, "x" * 64),
    ],
)
def test_plain_names_are_readable(name: str, wire: str) -> None:
    assert wire_name(name) == wire


class TestK19:
    @pytest.mark.parametrize(
        "name",
        [
            "a/b",
            "a b",
            "x" * 200,
            "é",
            "",
            ".",
            "a..b",
            "1st",
            "_a",
            "a__b",
            "a_.b",
            "a._b",
            "\ud800",
            "a\n",
            "crm.0123456789abcdef",
        ],
    )
    def test_any_name_gets_a_legal_one_of_its_own(self, name: str) -> None:
        wire = wire_name(name)
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", wire)
        assert wire != name
        assert wire_names([name]) == {wire: name}

    def test_the_mapping_does_not_depend_on_order(self) -> None:
        names = ["a", "a_b", "a.b", "a/b", "a__b"]
        made = [dict(wire_names(order)) for order in itertools.permutations(names)]
        assert all(one == made[0] for one in made)
        assert sorted(made[0].values()) == sorted(names)


NAMES = st.one_of(
    st.text(st.sampled_from("ab_./-1é"), max_size=8),
    st.lists(st.sampled_from(["a", "b", "_", "__", ".", "0123456789abcdef", "x" * 30]), max_size=5).map("".join),
    st.text(max_size=6).map(lambda text: text + wire_name(text)),
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(names=st.sets(NAMES, max_size=20))
def test_distinct_names_stay_distinct(names: set[str]) -> None:
    more = names | {wire_name(name) for name in names}
    found = wire_names(more)
    assert sorted(found.values()) == sorted(more)
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", wire) for wire in found)
