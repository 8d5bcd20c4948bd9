"""What the cells of a decision table hold for, as sets whose overlap can be computed: values one by one, and intervals of numbers."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from ael.data import dataclass

Number: TypeAlias = Fraction
Atom: TypeAlias = tuple[str, object]
"""What is no number: its kind (`variant`, `text`, `bool`, `null`), and which."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Numbers between two bounds; None is none. `low_in`, `high_in`: whether the bound itself is one of them."""

    low: Number | None
    low_in: bool
    high: Number | None
    high_in: bool

    def meet(self, other: Interval) -> Interval | None:
        """The numbers that are in both; None where there are none."""
        low, low_in = _tighter(self.low, self.low_in, other.low, other.low_in, lowest=True)
        high, high_in = _tighter(self.high, self.high_in, other.high, other.high_in, lowest=False)
        if low is not None and high is not None and (low > high or (low == high and not (low_in and high_in))):
            return None
        return Interval(low, low_in, high, high_in)

    def holds(self, other: Interval) -> bool:
        """Whether every number of `other` is in this one."""
        return self.meet(other) == other

    def whole(self) -> Interval | None:
        """The same for whole numbers, with bounds that belong to it; None where it has none."""
        low = None if self.low is None else Fraction(_up(self.low, inside=self.low_in))
        high = None if self.high is None else Fraction(-_up(-self.high, inside=self.high_in))
        if low is not None and high is not None and low > high:
            return None
        return Interval(low, True, high, True)


@dataclass(frozen=True, slots=True)
class Region:
    """All values (`all`), or these."""

    all: bool = False
    atoms: frozenset[Atom] = frozenset()
    intervals: tuple[Interval, ...] = ()

    def meet(self, other: Region) -> Region | None:
        """The values that are in both; None where there are none."""
        if self.all:
            return other
        if other.all:
            return self
        atoms = self.atoms & other.atoms
        found = (one.meet(two) for one in self.intervals for two in other.intervals)
        intervals = tuple(one for one in found if one is not None)
        return Region(False, atoms, intervals) if atoms or intervals else None

    def holds(self, other: Region) -> bool:
        """Whether every value of `other` is in this one. False where only several intervals together hold one of the other's."""
        if self.all or other.all:
            return self.all
        return other.atoms <= self.atoms and all(any(mine.holds(one) for mine in self.intervals) for one in other.intervals)

    def join(self, other: Region) -> Region:
        """The values that are in one or the other."""
        return Region(self.all or other.all, self.atoms | other.atoms, (*self.intervals, *other.intervals))

    def whole(self) -> Region:
        """The same where numbers are whole."""
        found = (one.whole() for one in self.intervals)
        return Region(self.all, self.atoms, tuple(one for one in found if one is not None))


EVERYTHING = Region(True)


def number_of(value: object) -> Number | None:
    """A number, or a length of time in microseconds, exactly; None for what is neither, and for what is not finite."""
    match value:
        case bool():
            return None
        case int() | Decimal() | float():
            try:
                return Fraction(value)
            except (ValueError, OverflowError):
                return None
        case timedelta():
            return Fraction(value // timedelta(microseconds=1))
        case _:
            return None


def point(number: Number) -> Region:
    """One number."""
    return Region(intervals=(Interval(number, True, number, True),))


def compared(comparisons: Iterable[tuple[str, Number]]) -> Region | None:
    """The numbers for which all of the comparisons hold; None where there are none."""
    found: Interval | None = Interval(None, False, None, False)
    for op, bound in comparisons:
        below = op in ("<", "<=")
        one = Interval(None, False, bound, op == "<=") if below else Interval(bound, op == ">=", None, False)
        found = None if found is None else found.meet(one)
    return None if found is None else Region(intervals=(found,))


def _tighter(a: Number | None, a_in: bool, b: Number | None, b_in: bool, *, lowest: bool) -> tuple[Number | None, bool]:
    if a is None or b is None:
        return (b, b_in) if a is None else (a, a_in)
    if a == b:
        return a, a_in and b_in
    return (a, a_in) if (a > b) == lowest else (b, b_in)


def _up(number: Number, *, inside: bool) -> int:
    """The least whole number from `number` on."""
    least = -(-number.numerator // number.denominator)
    return least + 1 if least == number and not inside else least
