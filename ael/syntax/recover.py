"""Going on after a syntax error, so that every independent one in a file is reported."""

from __future__ import annotations

from typing import Any

from ael.syntax.actions.context import Context
from ael.syntax.expected import explain
from ael.syntax.tables import ACTION, GOTO, NONTERMINALS, SYMBOLS
from ael.syntax.tokens import Piece
from ael.syntax.words import NEWLINE

_ITEMS = [
    NONTERMINALS.index(name)
    for name in ("statements", "fields", "arms", "operations", "edges", "settings", "mcp_items", "functions", "model_items", "skill_items",
                 "variants", "pack_items")
]  # fmt: skip
"""Lists whose members stand on lines of their own: where a broken one can be skipped."""

_BRACE = SYMBOLS["{"]
_OPENERS = frozenset("([{")
_CLOSERS = frozenset(")]}")


def report_error(context: Context, states: list[int], at: int, kind: int) -> None:
    """Report that token `at` cannot stand where it stands."""
    if not context.tokens.doubtful.isdisjoint((at - 1, at)):
        context.broken = True
        return
    code, message, notes, span = explain(context, states, at, kind)
    context.problem(code, message, span.start, span.end, *notes)


def resume(context: Context, states: list[int], values: list[Any], begins: list[int], at: int, piece: Piece) -> int:
    """Skip the broken member of the innermost list; the token to go on with, -1 when there is no such list.

    The stack is cut back to the list, and what follows is read from the next line of the same block, or its end.
    """
    texts, kinds = context.tokens.texts, context.tokens.kinds
    if kinds[at] == NEWLINE and texts[at + 1] == "{" and _BRACE in ACTION[states[-1]]:
        return at + 1  # only the line break is wrong
    size, closed, depth = len(states), 0, 0
    while size > 1:
        # Brackets that are open are on the stack; those that are closed may be too, not yet reduced.
        text = texts[values[size - 1]] if isinstance(values[size - 1], int) else ""
        if text in _CLOSERS:
            closed += 1
        elif text in _OPENERS and closed:
            closed -= 1
        elif text in _OPENERS:
            row = GOTO[states[size - 1]]
            found = next((item for item in _ITEMS if item in row), -1)
            if found >= 0 and text == "{":
                break
            depth += 1
        size -= 1
    else:
        return -1
    opened = begins[size - 1]
    end = _skip(texts, kinds, at, piece.end, depth)
    if end < 0:
        return -1
    del states[size:], values[size:], begins[size:]
    states.append(GOTO[states[-1]][found])
    values.append([])
    begins.append(opened + 1)
    return end


def _skip(texts: list[str], kinds: list[int], at: int, end: int, depth: int) -> int:
    """The first token from `at` on that ends a line or the block itself, `depth` brackets further out."""
    for index in range(at, end):
        text = texts[index]
        if depth == 0 and (kinds[index] == NEWLINE or text == "}"):
            return index
        if text in _OPENERS:
            depth += 1
        elif text in _CLOSERS:
            depth -= 1
    return -1
