"""Positions: every piece of Python that comes from AEL says where in the `.ael` file it stands.

Python counts columns in bytes of UTF-8, so they are computed from the line's text. A traceback, a debugger and a coverage tool read the
text of the file by its name through `linecache`; for sources that are no files (and for files that change while a program runs) the text
that was compiled is registered there.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterable
from typing import cast

from ael.source import Source, Span


class Places:
    """The positions of one module."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._known: dict[int, tuple[int, int]] = {}
        self._ascii = source.text.isascii()

    @property
    def filename(self) -> str:
        """What code objects call the file: its path where it has one, else the name that messages use."""
        return str(self.source.path) if self.source.path is not None else self.source.name

    def at(self, offset: int) -> tuple[int, int]:
        """Line (from 1) and column (from 0, in UTF-8 bytes) of a character offset."""
        found = self._known.get(offset)
        if found is None:
            line, column = self.source.position(offset)
            column -= 1
            if not self._ascii:
                column = len(self.source.text[offset - column : offset].encode("utf-8", "surrogatepass"))
            found = self._known[offset] = (line, column)
        return found

    def fill(self, tree: ast.AST, span: Span) -> None:
        """Give `span` to every node of `tree` that has no position yet; what has one was lowered from something inside."""
        if hasattr(tree, "lineno"):
            return
        line, column = self.at(span.start)
        end_line, end_column = self.at(max(span.start, span.end))
        stack = [tree]
        while stack:
            current = stack.pop()
            if current._attributes:
                placed = cast(ast.expr, current)
                if hasattr(placed, "lineno"):
                    continue
                placed.lineno, placed.col_offset = line, column
                placed.end_lineno, placed.end_col_offset = end_line, end_column
            for field in current._fields:
                part = getattr(current, field, None)
                if isinstance(part, ast.AST):
                    if part._fields or part._attributes:
                        stack.append(part)
                elif part.__class__ is list:
                    stack.extend(x for x in part if isinstance(x, ast.AST))

    def fill_all(self, trees: Iterable[ast.AST], span: Span) -> None:
        """`fill` for each."""
        for tree in trees:
            self.fill(tree, span)

    def register(self) -> None:
        """Make the text that was compiled available to tracebacks and debuggers."""
        text = self.source.text
        lines = [line + "\n" for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
        linecache.cache[self.filename] = (len(text), None, lines, self.filename)
