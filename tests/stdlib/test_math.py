"""Numbers of the standard library: Python's, and null where there is no finite one."""

from __future__ import annotations

import inspect
import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.lower.natives import math as natives
from tests.stdlib.functions import ending, module

numbers = module("math")
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
WHOLE = st.integers(-(10**12), 10**12)
ONE = ["sqrt", "cbrt", "exp", "ln", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"]


@given(FLOATS, FLOATS)
def test_every_function_is_total(x: float, y: float) -> None:
    for name in ONE:
        found = getattr(numbers, name)(x)
        assert found is None or math.isfinite(found), name
        try:
            wanted = getattr(math, {"ln": "log"}.get(name, name))(x)
        except (ValueError, OverflowError):
            wanted = None
        assert found == wanted, name
    for name in ("pow", "hypot", "log_base", "angle_to", "round_to", "floor_to", "ceil_to"):
        found = getattr(numbers, name)(x, y)
        assert found is None or math.isfinite(found), name


def test_the_natives_are_the_functions_of_the_table() -> None:
    own = {name for name, value in vars(natives).items() if inspect.isfunction(value) and not name.startswith("_")}
    assert set(ONE) <= own


@given(WHOLE, WHOLE)
def test_whole_numbers(a: int, b: int) -> None:
    assert numbers.gcd(a, b) == math.gcd(a, b)
    assert numbers.lcm(a, b) == math.lcm(a, b)
    assert numbers.whole_sqrt(abs(a)) == math.isqrt(abs(a))
    assert numbers.sign(a) == (a > 0) - (a < 0)
    assert numbers.power_modulo(a, abs(b), abs(b) + 1) == pow(a, abs(b), abs(b) + 1)


@given(st.integers(0, 400), st.integers(-2, 402))
def test_ways_to_choose(n: int, k: int) -> None:
    assert numbers.choose(n, k) == (math.comb(n, k) if k >= 0 else 0)


def test_numbers_of_four_thousand_bits() -> None:
    large = 2**4_096 - 1
    assert numbers.gcd(large, 2**4_095) == 1
    assert numbers.whole_sqrt(large) == math.isqrt(large)
    assert numbers.power_modulo(large, large, large - 1) == 1
    assert ending(numbers.lcm, large, large - 1) == "Arithmetic"
    assert numbers.factorial(500) == math.factorial(500)
    assert ending(numbers.power, 2, 4_096) == "Arithmetic"


@given(FLOATS, st.floats(0.001, 1000))
def test_steps(x: float, step: float) -> None:
    low, high = numbers.floor_to(x, step), numbers.ceil_to(x, step)
    if abs(x) < 1e12 and low is not None and high is not None:
        assert low <= x + step * 1e-6
        assert high >= x - step * 1e-6
        assert high - low <= step * 1.001 + abs(x) * 1e-12


@given(st.lists(FLOATS, min_size=1, max_size=20))
def test_the_mean_is_among_the_numbers(values: list[float]) -> None:
    middle = numbers.mean(values)
    assert middle is not None
    slack = max(abs(x) for x in values) * 1e-15 + sys.float_info.min
    assert min(values) - slack <= middle <= max(values) + slack
    assert min(values) <= numbers.median(values) <= max(values)


@pytest.mark.parametrize("value", [0.1, 1e308, -1e-320, 3.0])
def test_the_mean_of_equal_numbers_is_that_number(value: float) -> None:
    assert numbers.mean([value] * 7) == value


def test_angles() -> None:
    assert numbers.degrees(numbers.radians(90.0)) == 90.0
    assert numbers.angle_to(-1.0, 0.0) == math.pi
    assert numbers.lerp(1.0, 3.0, 0.5) == 2.0
