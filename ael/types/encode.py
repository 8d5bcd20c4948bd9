"""What a function, tool or extern gave, checked and put into its JSON form where it leaves the program.

A result of the wrong type is told with the name of what gave it and the path inside, at once, not where it is stored or sent.
"""

from __future__ import annotations

from collections.abc import Callable

from ael.types.canonical import encode
from ael.types.decode import checker, encoder
from ael.types.definition import Definitions
from ael.types.limits import DEFAULT_LIMITS, Limits
from ael.types.problem import DecodeError, Problem
from ael.types.type import Type

__all__ = ["OutputError", "encoder", "output_checker", "output_writer"]


class OutputError(ValueError):
    """`source` (a qualified name) gave what its type does not allow. `too_large` tells a size apart from a wrong type."""

    def __init__(self, source: str, problems: tuple[Problem, ...], *, too_large: bool = False) -> None:
        self.source = source
        self.problems = problems
        self.too_large = too_large
        super().__init__(f"the result of `{source}` does not fit its type: " + "; ".join(map(str, problems)))


def output_checker(
    source: str, type: Type, definitions: Definitions, limits: Limits = DEFAULT_LIMITS
) -> Callable[[object], object]:
    """A function from what `source` returned to the value of its type. Raises OutputError."""
    check = checker(type, definitions, limits)

    def checked(value: object) -> object:
        try:
            return check(value)
        except DecodeError as error:
            raise OutputError(source, error.problems) from None

    return checked


def output_writer(
    source: str, type: Type, definitions: Definitions, limits: Limits = DEFAULT_LIMITS, *, max_bytes: int | None = None
) -> Callable[[object], bytes]:
    """A function from a value to its JSON text, at most `max_bytes` (default: a tool's result). Raises OutputError."""
    to_json = encoder(type, definitions, limits)
    most = limits.tool_result if max_bytes is None else max_bytes

    def write(value: object) -> bytes:
        try:
            text = encode(to_json(value))
        except DecodeError as error:
            raise OutputError(source, error.problems) from None
        if len(text) > most:
            problem = Problem("", f"the result has {len(text):,} bytes, more than the {most:,} allowed")
            raise OutputError(source, (problem,), too_large=True)
        return text

    return write
