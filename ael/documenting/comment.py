"""A doc comment: its lines, and where each stands in its source, so that what is wrong in one is told at its place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ael.data import dataclass
from ael.diagnostics.diagnostic import Place
from ael.source import Source, Span
from ael.syntax import nodes as n

_LINE = re.compile(r"//[/!] ?(?P<text>[^\r\n]*)")


@dataclass(frozen=True, eq=False)
class Comment:
    """`text` is what the lexer keeps of it: Markdown. `offsets` are where the lines of it begin in `source`."""

    text: str
    source: Source
    span: Span
    offsets: tuple[int, ...]

    @property
    def lines(self) -> list[str]:
        """The lines of the text."""
        return self.text.split("\n")

    def place(self, line: int, start: int = 0, end: int | None = None) -> Place:
        """The place of the characters `start` to `end` (None: to its end) of a line, counted from 0."""
        at = self.offsets[line]
        length = len(self.lines[line])
        return Place(self.source, Span(at + min(start, length), at + min(length if end is None else end, length)))


def comment_of(source: Source, doc: n.Doc | None) -> Comment | None:
    """The comment of a node of that source; None where there is none, or only blanks."""
    if doc is None or not doc.text.strip():
        return None
    return Comment(doc.text, source, doc.span, tuple(_offsets(source, doc)))


def _offsets(source: Source, doc: n.Doc) -> Iterator[int]:
    """Where the text of each line begins: behind the slashes and one blank."""
    lines = doc.text.split("\n")
    found = [match.start("text") for match in _LINE.finditer(source.text, *doc.span)]
    # Both come from the same lines, by the rule of the lexer; a line more or less would shift what is told, and nothing else.
    yield from (found + [doc.span.start] * len(lines))[: len(lines)]


def sentence(text: str) -> str:
    """The first sentence of a comment, on one line, with its Markdown: what a list of declarations shows."""
    first = " ".join(re.split(r"\n[ \t]*\n", text.strip(), maxsplit=1)[0].split())
    return re.split(r"(?<=[.!?]) (?=[A-Z`(\[])", first, maxsplit=1)[0]
