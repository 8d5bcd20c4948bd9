"""Decimals against exact fractions."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from ael.types.limits import decimal_within
from tests.stdlib.functions import ending, module

decimals = module("decimal")
MODES = ["HalfEven", "HalfUp", "HalfDown", "Up", "Down", "Ceiling", "Floor"]
NUMBERS = st.builds(lambda digits, places: Decimal(digits).scaleb(-places), st.integers(-(10**18), 10**18), st.integers(-6, 14))
SMALL = st.builds(lambda digits, places: Decimal(digits).scaleb(-places), st.integers(-99, 99), st.integers(-2, 3))


def rounded(value: Fraction, mode: str) -> int:
    """The whole number that a fraction becomes."""
    low = math.floor(value)
    rest = value - low
    if rest == 0:
        return low
    negative = value < 0
    half = {"HalfEven": low + low % 2, "HalfUp": low + (not negative), "HalfDown": low + negative}
    match mode:
        case "Floor":
            return low
        case "Ceiling":
            return low + 1
        case "Up":
            return low if negative else low + 1
        case "Down":
            return low + 1 if negative else low
        case _:
            return low if rest < Fraction(1, 2) else low + 1 if rest > Fraction(1, 2) else half[mode]


@given(NUMBERS, st.one_of(NUMBERS, SMALL), st.integers(-4, 20), st.sampled_from(MODES))
def test_a_quotient_is_rounded_once(a: Decimal, b: Decimal, places: int, mode: str) -> None:
    found = decimals.divide(a, b, places, mode)
    if not b:
        assert found is None
        return
    step = Fraction(10) ** places
    assert Fraction(found) * step == rounded(Fraction(a) / Fraction(b) * step, mode)
    assert -found.as_tuple().exponent == max(places, 0)


@given(st.one_of(NUMBERS, SMALL), st.integers(-4, 20), st.sampled_from(MODES))
def test_a_number_is_rounded_as_asked(value: Decimal, places: int, mode: str) -> None:
    found = decimals.round(value, places, mode)
    step = Fraction(10) ** places
    assert Fraction(found) * step == rounded(Fraction(value) * step, mode)
    assert -found.as_tuple().exponent == max(places, 0)


@given(st.one_of(NUMBERS, SMALL))
def test_what_is_written_is_read(value: Decimal) -> None:
    plain = decimals.round(value, max(-int(value.as_tuple().exponent), 0), "HalfEven")
    for group, point in ((",", "."), (".", ","), (" ", ","), ("", "."), ("'", ".")):
        written = decimals.format(plain, group, point)
        assert decimals.parse(written, group, point) == value
    assert decimals.format(plain, ",", ".") == f"{plain:,f}".replace("-0.0", "0.0" if not plain else "-0.0")
    assert decimals.strip(value) == value
    assert decimals.is_whole(value) == (value == value.to_integral_value())
    assert decimals.places(value) == max(-int(value.as_tuple().exponent), 0)


@given(st.text("0123456789,.-+ e_'", max_size=12))
def test_a_text_that_is_no_number_is_null(text: str) -> None:
    found = decimals.parse(text, ",", ".")
    assert found is None or (decimal_within(found) and found == Decimal(text.strip().replace(",", "")))


@given(NUMBERS, SMALL)
def test_functions_are_total(value: Decimal, exponent: Decimal) -> None:
    for found in (decimals.power(value, exponent), *(getattr(decimals, name)(value) for name in ("sqrt", "exp", "ln", "log10"))):
        assert found is None or (decimal_within(found) and len(found.as_tuple().digits) <= 34)


def test_numbers_as_large_as_they_get() -> None:
    large, small = Decimal("9" * 1_000), Decimal("1e-1000")
    assert decimals.divide(large, Decimal(3), 0, "Down") == int("3" * 1_000)
    assert ending(decimals.divide, large, small, 0, "Down") == "Arithmetic"
    assert decimals.divide(small, large, 1_000, "Up") == small
    assert decimals.round(small, 0, "Up") == 1
    assert ending(decimals.round, large, 10**18, "Up") == "Arithmetic"
    assert decimals.format(large, ",", ".").count(",") == 333
    assert decimals.parse("9" * 5_000, ",", ".") is None
    assert decimals.parse("1," * 100_000, ",", ".") is None
    assert decimals.power(Decimal("1.1"), Decimal(10**9)) is None
