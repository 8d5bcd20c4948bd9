"""What an action knows beside its values."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from ael.diagnostics.diagnostic import Bag
from ael.source import Source, Span
from ael.syntax import nodes as n
from ael.syntax.tokens import MAX_PROBLEMS, RawComment, Tokens

Names: TypeAlias = tuple[n.Name, ...]


class Context:
    """The tokens of the file, and where problems go. An action is `action(context, start, end, *values)`."""

    __slots__ = ("bag", "broken", "docs", "reported", "source", "starts", "text", "texts", "tokens")

    def __init__(self, tokens: Tokens, bag: Bag) -> None:
        self.tokens = tokens
        self.texts = tokens.texts
        self.starts = tokens.starts
        self.docs = tokens.docs
        self.source: Source = tokens.source
        self.text = tokens.source.text
        self.bag = bag
        self.broken = False
        self.reported = 0

    def problem(self, code: str, message: str, start: int, end: int, *notes: str) -> None:
        """Report something that the tables cannot say; the declaration is left out."""
        self.broken = True
        self.reported += 1
        if self.reported > MAX_PROBLEMS:
            return
        if self.reported == MAX_PROBLEMS:
            notes = (*notes, "further problems of this file are not shown")
        self.bag.report(code, message, self.source, Span(start, end), notes=notes)

    def plain(self, literal: n.StringLit | None) -> n.StringLit | None:
        """Refuse `${…}` where a text has to be known before anything runs."""
        if literal is not None and any(not isinstance(part, n.TextPart) for part in literal.parts):
            self.problem("AEL0103", "this is a plain text, without `${…}`", literal.span.start, literal.span.end)
        return literal

    def undocument(self, token: int) -> None:
        """Keep the lines of a doc comment as plain comments."""
        span = self.docs[token]
        lines = [line for line in self.tokens.doc_lines if span.start <= line[0] < span.end]
        self.tokens.comments.extend(RawComment(start, end, False) for start, end in lines)


class Signature(NamedTuple):
    """`(parameters) -> result fails errors`."""

    parameters: tuple[n.Parameter, ...]
    result: n.TypeExpr | None
    fails: tuple[n.Path, ...]


class Head(NamedTuple):
    """The doc comment and `pub` in front of a declaration."""

    doc: n.Doc | None
    public: bool


def items(values: list[Any] | None) -> tuple[Any, ...]:
    """A list of the grammar as the tree keeps it."""
    return tuple(values) if values else ()
