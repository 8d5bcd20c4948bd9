"""Plain code without a model: loops, records, calls and strings against the same code in CPython, CPU milliseconds a call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing

from benches.harness import Goal, Row, interleave, row
from benches.programs.plain import CASES
from benches.sides import ael_side, plain_side

GOAL: Goal = ("<=", 1.5)


def rows(quick: bool) -> Iterator[Row]:
    """Each function by itself."""
    with ExitStack() as stack:
        starting = (ael_side("plain"), plain_side("cpython", "cpython"))
        sides = [stack.enter_context(closing(side)) for side in starting if side]
        for case in CASES:
            found = interleave(sides, 1 if quick else 9, "plain", "ms", case=case)
            yield row(f"plain/{case}", "ms CPU a call", found.get("ael"), "cpython", found.get("cpython"), GOAL)
