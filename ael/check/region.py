"""What the cells of a decision table hold for, as sets whose overlap can be computed: values one by one, and intervals of numbers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from ael.data import dataclass

Number: TypeAlias = Fraction
Atom: TypeAlias = tuple[str, object]
"""One value: its kind (`variant`, `text`, `bool`, `null`, `number`), and which."""


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
    """All values (`all`), or these. `numbers`: those among the atoms, in their order."""

    all: bool = False
    atoms: frozenset[Atom] = frozenset()
    intervals: tuple[Interval, ...] = ()
    numbers: tuple[Number, ...] = ()

    def meet(self, other: Region) -> Region | None:
        """The values that are in both; None where there are none."""
        if self.all:
            return other
        if other.all:
            return self
        atoms = self.atoms & other.atoms
        found = (one.meet(two) for one in self.intervals for two in other.intervals)
        intervals = tuple(one for one in found if one is not None)
        inside = [*self._inside(other), *other._inside(self)]
        if not (atoms or intervals or inside):
            return None
        return values(atoms | {_atom(one) for one in inside}, False, intervals)

    @property
    def points(self) -> frozenset[Atom]:
        """The atoms that are numbers."""
        return frozenset(_atom(one) for one in self.numbers)

    def _inside(self, other: Region) -> Iterable[Number]:
        """The numbers that are in an interval of the other."""
        for one in other.intervals if self.numbers else ():
            place = bisect_left if one.low_in else bisect_right
            first = 0 if one.low is None else place(self.numbers, one.low)
            place = bisect_right if one.high_in else bisect_left
            yield from self.numbers[first : len(self.numbers) if one.high is None else place(self.numbers, one.high)]

    def holds(self, other: Region) -> bool:
        """Whether every value of `other` is in this one. False where only several intervals together hold one of the other's."""
        if self.all or other.all:
            return self.all
        if not all(any(mine.holds(one) for mine in self.intervals) for one in other.intervals):
            return False
        left = other.atoms - self.atoms
        return not left or (bool(self.intervals) and left <= {_atom(one) for one in other._inside(self)})

    def whole(self) -> Region:
        """The same where numbers are whole."""
        found = (one.whole() for one in self.intervals)
        atoms = self.atoms
        if any(one.denominator != 1 for one in self.numbers):
            atoms = frozenset(one for one in atoms if not (isinstance(one[1], Fraction) and one[1].denominator != 1))
        return values(atoms, self.all, tuple(one for one in found if one is not None))


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


def _atom(number: Number) -> Atom:
    return "number", number


def values(atoms: frozenset[Atom], all: bool = False, intervals: tuple[Interval, ...] = ()) -> Region:
    """These values one by one, and what else there is."""
    return Region(all, atoms, intervals, tuple(sorted(one for _, one in atoms if isinstance(one, Fraction))))


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
