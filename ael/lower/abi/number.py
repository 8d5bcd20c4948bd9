"""Functions of Int, Float and Decimal.

Decimal: 34 digits, half to even (the context of IEEE 754's decimal128), whatever context the thread has. Rounding of a Float to
digits is exact on its decimal expansion, half to even, as Python's `round`.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from typing import Any, TypeVar

from ael.lower.abi.fault import float_too_large, int_too_large
from ael.lower.abi.size import INT_HIGH, INT_LOW
from ael.types.fault import Fault, FaultKind
from ael.types.limits import MAX_DECIMAL_DIGITS
from ael.types.text import decimal_text

N = TypeVar("N", int, float, Decimal)

CONTEXT = decimal.Context(
    prec=34,
    rounding=decimal.ROUND_HALF_EVEN,
    Emin=-MAX_DECIMAL_DIGITS,
    Emax=MAX_DECIMAL_DIGITS,
    capitals=1,
    clamp=0,
    traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
)
decimal_add = CONTEXT.add
decimal_subtract = CONTEXT.subtract
decimal_multiply = CONTEXT.multiply
decimal_divide = CONTEXT.divide
decimal_negate = CONTEXT.minus


def decimal_div(a: Decimal, b: Decimal) -> Decimal:
    """`a div b`: the whole number below the quotient."""
    quotient = CONTEXT.divide_int(a, b)
    exact = CONTEXT.multiply(quotient, b) == a
    return quotient if exact or (a < 0) == (b < 0) else CONTEXT.subtract(quotient, Decimal(1))


def decimal_modulo(a: Decimal, b: Decimal) -> Decimal:
    """What `div` leaves: it has the sign of `b`."""
    rest = CONTEXT.remainder(a, b)
    return CONTEXT.add(rest, b) if rest and (rest < 0) != (b < 0) else rest


def whole(value: int) -> int:
    """`value`, unless it has more than 4,096 bits."""
    if not INT_LOW <= value <= INT_HIGH:
        int_too_large()
    return value


def finite(value: float) -> float:
    """`value`, unless it is infinite or no number."""
    if value - value != 0.0:
        float_too_large()
    return value


def total(items: Iterable[Any], zero: Any = 0) -> Any:
    """The sum of numbers or Durations of one type; of no items `zero`, which is of that type."""
    items = list(items)
    match items[0] if items else zero:
        case Decimal() as made:
            for x in items[1:]:
                made = CONTEXT.add(made, x)
            return made
        case timedelta():
            return sum(items, timedelta())
        case float():
            return finite(sum(items, 0.0))
        case _:
            return whole(sum(items))


def ordered_min(items: list[Any]) -> Any:
    return min(items)


def ordered_max(items: list[Any]) -> Any:
    return max(items)


def std_min(a: Any, b: Any) -> Any:
    """The smaller one, the first of equal ones."""
    return b if b < a else a


def std_max(a: Any, b: Any) -> Any:
    """The larger one, the first of equal ones."""
    return b if b > a else a


def std_abs(value: Any) -> Any:
    return value.copy_abs() if isinstance(value, Decimal) else abs(value)


int_abs = float_abs = decimal_abs = std_abs
int_min = float_min = decimal_min = std_min
int_max = float_max = decimal_max = std_max


def int_clamp(value: N, low: N, high: N) -> N:
    """`value`, or the bound that it is beyond."""
    if low > high:
        raise Fault(FaultKind.OUT_OF_RANGE, "`clamp` with a lower bound above the upper one")
    return low if value < low else high if value > high else value


float_clamp = decimal_clamp = int_clamp


def _digits(digits: int) -> int:
    if not -MAX_DECIMAL_DIGITS <= digits <= MAX_DECIMAL_DIGITS:
        raise Fault(FaultKind.OUT_OF_RANGE, f"rounding to {digits} digits", digits=digits)
    return digits


def int_round(value: int, digits: int = 0) -> int:
    """To a multiple of a power of ten where `digits` is below zero."""
    return whole(round(value, min(_digits(digits), 0)))


def float_round(value: float, digits: int = 0) -> float:
    return finite(round(value, _digits(digits)))


def decimal_round(value: Decimal, digits: int = 0) -> Decimal:
    if -value.as_tuple().exponent <= _digits(digits):  # type: ignore[operator]
        return value
    return value.quantize(Decimal(1).scaleb(-digits), context=CONTEXT)


def int_floor(value: int) -> int:
    return value


int_ceil = int_to_int = int_floor


def float_floor(value: float) -> int:
    return math.floor(value)


def float_ceil(value: float) -> int:
    return math.ceil(value)


def float_to_int(value: float) -> int:
    """Towards zero."""
    return int(value)


def decimal_floor(value: Decimal) -> int:
    return whole(int(value.to_integral_value(decimal.ROUND_FLOOR)))


def decimal_ceil(value: Decimal) -> int:
    return whole(int(value.to_integral_value(decimal.ROUND_CEILING)))


def decimal_to_int(value: Decimal) -> int:
    """Towards zero."""
    return whole(int(value))


def int_to_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        float_too_large()


def float_to_float(value: float) -> float:
    return value


def decimal_to_float(value: Decimal) -> float:
    return finite(float(value))


def int_to_decimal(value: int) -> Decimal:
    """Exact up to 34 digits, then the fault, as for all arithmetic of Decimal."""
    if len(str(abs(value))) > MAX_DECIMAL_DIGITS:
        raise Fault(FaultKind.ARITHMETIC, "an Int too large for a Decimal")
    return Decimal(value)


def float_to_decimal(value: float) -> Decimal:
    """The shortest decimal that reads back as `value`."""
    return Decimal(repr(value))


def decimal_to_decimal(value: Decimal) -> Decimal:
    return value


int_to_string = str
float_to_string = repr
decimal_to_string = decimal_text


def std_range(low: int, high: int) -> list[int]:
    """The numbers from `low` to `high`, both included."""
    if high - low >= 1_000_000:
        raise Fault(FaultKind.TOO_LARGE, "a List of more than 1,000,000 entries")
    return list(range(low, high + 1))
