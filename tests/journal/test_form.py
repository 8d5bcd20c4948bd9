"""Values kept by a durable journal come back as the very values they were."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.journal.form import FormError, read, write
from ael.types.value import File, Secret

TEXT = st.text(st.characters(codec="utf-8"))
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXT,
    st.decimals(allow_nan=False, allow_infinity=False, places=6),
    st.binary(),
    st.datetimes(timezones=st.just(UTC)),
    st.dates(),
    st.timedeltas(min_value=timedelta(days=-10_000), max_value=timedelta(days=10_000)),
    st.builds(File, TEXT, st.none() | st.binary(), st.none() | TEXT),
)
KEYS = TEXT | st.sampled_from(["$map", "$decimal", "$file", "$", "$x"])
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner))


def same(a: object, b: object) -> bool:
    """Equal, and of the same types all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


@given(VALUES)
def test_a_value_comes_back_as_it_was(value: object) -> None:
    assert same(read(write(value)), value)


def test_each_kind() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
    value = {"a": Decimal("1.20"), "b": [at, date(2026, 1, 2)], "c": timedelta(seconds=1), "$x": {"$decimal": "not one"}}
    found = read(write(value))
    assert same(found, value)
    assert write({"n": 2**200, "f": 0.1}) == b'{"n":%d,"f":0.1}' % 2**200


@pytest.mark.parametrize(
    "value", [Secret("K", "s3cret"), {"a": [Secret("K", "s3cret")]}, len, {1: 2}, float("inf"), {"a": {1, 2}}]
)
def test_what_is_never_kept(value: object) -> None:
    with pytest.raises(FormError) as caught:
        write(value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "data", [b"", b"{", b'{"$time":"x"}', b'{"$decimal":"x"}', b'{"$other":1}', b'{"$bytes":"*"}', b'{"$map":[1]}']
)
def test_what_no_journal_wrote(data: bytes) -> None:
    with pytest.raises(FormError):
        read(data)
