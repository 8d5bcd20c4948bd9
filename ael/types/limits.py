"""How large what crosses a boundary may be where its type says nothing. A deployment may change these."""

from __future__ import annotations

from decimal import Decimal

from ael.data import dataclass

KIB = 1_024
MAX_INT_BITS = 4_096
"""An `Int` beyond it is refused where it enters and a fault where it is computed."""
MAX_INT = (1 << MAX_INT_BITS) - 1
MAX_DECIMAL_DIGITS = 1_000
"""Digits of a `Decimal`, and how far its exponent may be from zero."""
MAX_DEPTH = 128
"""The deepest nesting that a deployment may allow; below what the parser and every writer can do."""


def decimal_within(value: Decimal) -> bool:
    """Whether a Decimal is finite and short enough to be written without an exponent."""
    exponent = value.as_tuple().exponent
    return (
        isinstance(exponent, int)
        and -MAX_DECIMAL_DIGITS <= exponent <= MAX_DECIMAL_DIGITS
        and value.adjusted() <= MAX_DECIMAL_DIGITS
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes of UTF-8, counts in entries, nesting in levels. A zero refuses everything of its kind."""

    string_bytes: int = 64 * KIB
    entries: int = 10_000
    depth: int = 32
    tool_input: int = 256 * KIB
    tool_result: int = 64 * KIB
    model_output: int = 256 * KIB
    problems: int = 20

    def __post_init__(self) -> None:
        for name in ("string_bytes", "entries", "depth", "tool_input", "tool_result", "model_output"):
            if getattr(self, name) < 0:
                raise ValueError(f"the limit {name} is below zero")
        if self.depth > MAX_DEPTH:
            raise ValueError(f"the limit depth is above {MAX_DEPTH}")
        if self.problems < 1:
            raise ValueError("at least one problem has to be told")


DEFAULT_LIMITS = Limits()
