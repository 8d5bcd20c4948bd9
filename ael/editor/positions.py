"""Places in a text as an editor counts them, and as the rest of AEL does.

An editor says a line and a number of code units in it, of UTF-16 where nothing else was agreed on; AEL counts characters from the start
of the text. Both ways are exact for every text, also one with characters outside of the first plane, combining marks, a lone carriage
return or a lone surrogate. A place that does not exist is the nearest that does: past the end of a line is its end, past the last line the
end of the text, and inside of a character its start.
"""

from __future__ import annotations

from bisect import bisect_right

from lsprotocol import types as lsp

from ael.source import Source, Span


class Lines:
    """The lines of one text. `encoding`: what the columns count."""

    def __init__(self, source: Source, encoding: lsp.PositionEncodingKind | str = lsp.PositionEncodingKind.Utf16) -> None:
        self.source = source
        self.encoding = lsp.PositionEncodingKind(encoding)
        self._starts = source.line_starts()

    def position(self, offset: int) -> lsp.Position:
        """The place of a character."""
        text = self.source.text
        offset = max(0, min(offset, len(text)))
        line = bisect_right(self._starts, offset) - 1
        return lsp.Position(line, self._units(text[self._starts[line] : offset]))

    def range(self, span: Span) -> lsp.Range:
        """The places of a span."""
        return lsp.Range(self.position(span[0]), self.position(span[1]))

    def offset(self, position: lsp.Position) -> int:
        """The character at a place."""
        line, column = max(0, position.line), max(0, position.character)
        text = self.source.text
        if line >= len(self._starts):
            return len(text)
        start = self._starts[line]
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(text)
        return start + self._characters(text[start:end].rstrip("\r\n"), column)

    def span(self, range: lsp.Range) -> Span:
        """The characters of a range; one whose end comes first is turned round."""
        start, end = self.offset(range.start), self.offset(range.end)
        return Span(min(start, end), max(start, end))

    @property
    def whole(self) -> lsp.Range:
        """The whole text."""
        return self.range(Span(0, len(self.source.text)))

    def _units(self, text: str) -> int:
        """How many code units a text has."""
        if self.encoding is lsp.PositionEncodingKind.Utf32 or text.isascii():
            return len(text)
        if self.encoding is lsp.PositionEncodingKind.Utf16:
            return len(text.encode("utf-16-le", "surrogatepass")) // 2
        return len(text.encode("utf-8", "surrogatepass"))

    def _characters(self, line: str, units: int) -> int:
        """How many whole characters at the start of a line have at most that many code units."""
        if self.encoding is lsp.PositionEncodingKind.Utf32 or line.isascii():
            return min(units, len(line))
        wide = self.encoding is lsp.PositionEncodingKind.Utf16
        for at, char in enumerate(line):
            units -= (2 if char > "\uffff" else 1) if wide else len(char.encode("utf-8", "surrogatepass"))
            if units < 0:
                return at
        return len(line)


def edited(text: str, changes: list[lsp.TextDocumentContentChangeEvent], encoding: lsp.PositionEncodingKind | str) -> str:
    """A text after the changes of one notification: each is meant in the text that those before it left."""
    for change in changes:
        if isinstance(change, lsp.TextDocumentContentChangePartial):
            start, end = Lines(Source("", text), encoding).span(change.range)
            text = _whole(text[:start] + change.text + text[end:])
        else:
            text = _whole(change.text)
    return text


def _whole(text: str) -> str:
    """A text in which two halves of a character that have come to stand side by side are that character, as they are for the editor."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text
