"""Decimals: rounded in any way, divided to a number of places, and the functions that Python's `decimal` has, to 34 digits."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from decimal import Decimal

from ael.lower.abi.number import CONTEXT
from ael.types.limits import MAX_DECIMAL_DIGITS, decimal_within

_MODES = {
    "HalfEven": decimal.ROUND_HALF_EVEN,
    "HalfUp": decimal.ROUND_HALF_UP,
    "HalfDown": decimal.ROUND_HALF_DOWN,
    "Up": decimal.ROUND_UP,
    "Down": decimal.ROUND_DOWN,
    "Ceiling": decimal.ROUND_CEILING,
    "Floor": decimal.ROUND_FLOOR,
}
_WIDE = decimal.Context(prec=4 * MAX_DECIMAL_DIGITS, Emin=-MAX_DECIMAL_DIGITS * 8, Emax=MAX_DECIMAL_DIGITS * 8)
"""Holds every sum and every quotient's whole part of two Decimals."""


def rounded(value: Decimal, places: int, mode: str) -> Decimal | None:
    """`value` with `places` digits behind the point; below zero, a multiple of a power of ten. Null beyond the bounds of a Decimal."""
    if not -MAX_DECIMAL_DIGITS <= places <= MAX_DECIMAL_DIGITS:
        return None
    step = Decimal(1).scaleb(-places, _WIDE)
    found = value.quantize(step, _MODES[mode], _WIDE)
    if places < 0:
        found = found.quantize(Decimal(1), context=_WIDE)
    return found if decimal_within(found) else None


def divided(a: Decimal, b: Decimal, places: int, mode: str) -> Decimal | None:
    """`a / b`, rounded once; null for a `b` of 0 and beyond the bounds of a Decimal."""
    if not b or not -MAX_DECIMAL_DIGITS <= places <= MAX_DECIMAL_DIGITS:
        return None
    # a whole number of steps, and what is left of it only matters as more, less or exactly half of one
    scaled = a.scaleb(places, _WIDE)
    steps = _WIDE.divide_int(scaled, b)
    rest = _WIDE.subtract(scaled, _WIDE.multiply(steps, b))
    twice = _WIDE.multiply(rest.copy_abs(), Decimal(2))
    tail = 0 if not rest else 5 if twice == b.copy_abs() else 1 if twice < b.copy_abs() else 9
    digits = steps.copy_abs().scaleb(1, _WIDE).quantize(Decimal(1), context=_WIDE)
    found = _WIDE.add(digits, Decimal(tail)).copy_sign(-1 if (a < 0) != (b < 0) else 1).scaleb(-1 - places, _WIDE)
    return rounded(found, places, mode)


def stripped(value: Decimal) -> Decimal:
    """Without zeros at the end, behind the point."""
    if not value:
        return Decimal(0)
    found = value.normalize(_WIDE)
    return found.quantize(Decimal(1), context=_WIDE) if found.as_tuple().exponent > 0 else found  # type: ignore[operator]


def places(value: Decimal) -> int:
    """How many digits stand behind the point."""
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return max(-exponent, 0)


def power(base: Decimal, exponent: Decimal) -> Decimal | None:
    """Exact where the exponent is whole and the result has no more than 34 digits."""
    return _total(CONTEXT.power, base, exponent)


def sqrt(value: Decimal) -> Decimal | None:
    return _total(CONTEXT.sqrt, value)


def exp(value: Decimal) -> Decimal | None:
    return _total(CONTEXT.exp, value)


def ln(value: Decimal) -> Decimal | None:
    return _total(CONTEXT.ln, value)


def log10(value: Decimal) -> Decimal | None:
    return _total(CONTEXT.log10, value)


def _total(function: Callable[..., Decimal], *values: Decimal) -> Decimal | None:
    try:
        found = function(*values)
    except decimal.DecimalException:
        return None
    return found if decimal_within(found) else None
