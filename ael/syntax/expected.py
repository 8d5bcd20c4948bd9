"""Says what was expected, in the user's words."""

from __future__ import annotations

from ael.source import Span
from ael.syntax.actions.context import Context


def explain(context: Context, states: list[int], at: int, kind: int) -> tuple[str, tuple[str, ...], Span]:
    """The message, notes and place for token `at`, which does not fit the stack."""
    tokens = context.tokens
    span = Span(tokens.starts[at], tokens.ends[at])
    found = f"`{tokens.texts[at]}`"
    return f"unexpected {found}", (), span
