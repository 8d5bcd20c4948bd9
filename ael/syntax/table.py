"""Nodes of decision tables.

A table is a function whose body is its rows. What they do is the `statements` of that body, which the parser makes of them: an `if` for
each row, in their order, and the value of `otherwise` at the end. So a table has the types, effects and code of a function; that its
rows decide one thing is checked on `rows`.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from ael.data import dataclass
from ael.source import Span
from ael.syntax.clause import Clause
from ael.syntax.code import Block, Expr, Pattern
from ael.syntax.tree import node

Comparison: TypeAlias = tuple[Literal["<", "<=", ">", ">="], Expr]


@dataclass(frozen=True, slots=True)
class Cell:
    """What one parameter has to be: a pattern, or one or two comparisons (`5..9` is `>= 5 and <= 9`)."""

    span: Span
    pattern: Pattern | None
    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """`when cells => result`; `cells` is None for `otherwise => result`."""

    span: Span
    cells: tuple[Cell, ...] | None
    result: Expr


@node
class Rows(Block):
    """The body of a `table`. `clauses` stand in front of it. Rows and cells are no nodes: what is in them stands in `statements`."""

    clauses: tuple[Clause, ...]
    rows: tuple[Row, ...]
