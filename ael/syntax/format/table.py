"""Printers of decision tables."""

from __future__ import annotations

from ael.syntax import nodes as n
from ael.syntax.format.stream import Printer, Stream


def rows(p: Stream, node: n.Rows) -> None:
    """`{ … }` with a row on each line."""
    p.take("{")
    with p.indent():
        for index, one in enumerate(node.rows):
            p.hard()
            p.lead(first=index == 0)
            row(p, one)
        p.inner_comments(first=not node.rows)
    if node.rows or p.commented is not None:
        p.hard()
    p.take("}")


def row(p: Stream, node: n.Row) -> None:
    """`when a, b => result`."""
    if node.cells is None:
        p.take("otherwise")
    else:
        p.take("when")
        p.space()
        for index, one in enumerate(node.cells):
            if index:
                p.take(",")
                p.space()
            cell(p, one)
    p.space()
    p.take("=>")
    p.space()
    p.show(node.result)


def cell(p: Stream, node: n.Cell) -> None:
    """`_`, a pattern, a comparison, or what lies between two."""
    if node.pattern is not None:
        p.show(node.pattern)
        return
    for index, (op, bound) in enumerate(node.comparisons):
        if p.peek() == "..":
            p.take()
        elif p.start < bound.span.start and p.peek() != "(":
            if index:
                p.space()
                p.take("and")
                p.space()
            p.take(op)
            p.space()
        p.show(bound)


PRINTERS: dict[type[n.Node], Printer] = {n.Rows: rows}
