"""Numbers: what Python's `math` knows. What is no finite number is null."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterable

_STEPS = 1 << 1_074
"""How many of the smallest Float make 1."""


def _total(function: Callable[..., float], *numbers: float) -> float | None:
    try:
        found = function(*numbers)
    except (ValueError, OverflowError, ZeroDivisionError):
        return None
    return found if math.isfinite(found) else None


def sqrt(x: float) -> float | None:
    return _total(math.sqrt, x)


def cbrt(x: float) -> float | None:
    return _total(math.cbrt, x)


def exp(x: float) -> float | None:
    return _total(math.exp, x)


def ln(x: float) -> float | None:
    return _total(math.log, x)


def log2(x: float) -> float | None:
    return _total(math.log2, x)


def log10(x: float) -> float | None:
    return _total(math.log10, x)


def sin(x: float) -> float | None:
    return _total(math.sin, x)


def cos(x: float) -> float | None:
    return _total(math.cos, x)


def tan(x: float) -> float | None:
    return _total(math.tan, x)


def asin(x: float) -> float | None:
    return _total(math.asin, x)


def acos(x: float) -> float | None:
    return _total(math.acos, x)


def atan(x: float) -> float | None:
    return _total(math.atan, x)


def sinh(x: float) -> float | None:
    return _total(math.sinh, x)


def cosh(x: float) -> float | None:
    return _total(math.cosh, x)


def tanh(x: float) -> float | None:
    return _total(math.tanh, x)


def pow(x: float, y: float) -> float | None:
    return _total(math.pow, x, y)


def hypot(x: float, y: float) -> float | None:
    return _total(math.hypot, x, y)


def atan2(y: float, x: float) -> float:
    return math.atan2(y, x)


def isqrt(n: int) -> int | None:
    """The whole part of the square root; null below zero."""
    return math.isqrt(n) if n >= 0 else None


def modpow(base: int, exponent: int, modulus: int) -> int | None:
    """`base` to the power of `exponent`, modulo `modulus`; null for an exponent below 0 or a modulus below 1."""
    return builtins.pow(base, exponent, modulus) if exponent >= 0 and modulus >= 1 else None


def sum(numbers: list[float]) -> float | None:
    """The sum, rounded once."""
    return _exact(numbers)


def mean(numbers: list[float]) -> float | None:
    """The arithmetic mean, rounded once, so that of equal numbers it is that number; null of nothing."""
    if not numbers:
        return None
    sums: dict[int, int] = {}
    for numerator, denominator in map(float.as_integer_ratio, numbers):
        sums[denominator] = sums.get(denominator, 0) + numerator
    steps = builtins.sum(numerator * (_STEPS // denominator) for denominator, numerator in sums.items())
    return steps / (len(numbers) * _STEPS)


def moving(numbers: list[float], size: int) -> list[float]:
    """The mean of each `size` neighbours, rounded once: the sum goes along as a whole number of the smallest Float's steps."""
    steps = [numerator * (_STEPS // denominator) for numerator, denominator in (x.as_integer_ratio() for x in numbers)]
    if not 1 <= size <= len(steps):
        return []
    held = builtins.sum(steps[:size])
    found = [held / (size * _STEPS)]
    for old, new in zip(steps, steps[size:], strict=False):
        held += new - old
        found.append(held / (size * _STEPS))
    return found


def squares(numbers: list[float], around: float) -> float | None:
    """The sum of the squares of the distances from `around`."""
    return _exact((x - around) * (x - around) for x in numbers)


def products(xs: list[float], ys: list[float], x: float, y: float) -> float | None:
    """The sum of the products of the distances of pairs from `x` and `y`."""
    return _exact((a - x) * (b - y) for a, b in zip(xs, ys, strict=False))


def _exact(numbers: Iterable[float]) -> float | None:
    return _total(math.fsum, numbers)  # type: ignore[arg-type]
