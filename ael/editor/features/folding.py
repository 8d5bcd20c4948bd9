"""What can be folded: blocks, lists that go over lines, comments, imports; and how a selection grows."""

from __future__ import annotations

from collections.abc import Callable

from lsprotocol import types as lsp

from ael.editor.feature import Asked
from ael.editor.snapshot import File
from ael.source import Span
from ael.syntax import nodes as n
from ael.syntax.words import STRING, STRING_HEAD, STRING_TAIL

MAX_FOLDS = 5_000
Add = Callable[[int, int, lsp.FoldingRangeKind | None], None]
_OPEN = {"{": "}", "[": "]", "(": ")"}


def folding_ranges(asked: Asked, params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
    """`textDocument/foldingRange`."""
    able = asked.client.text_document and asked.client.text_document.folding_range
    most = able.range_limit if able and able.range_limit else MAX_FOLDS
    return folds(asked.file)[:most]


def folds(file: File) -> list[lsp.FoldingRange]:
    """The foldable places, as lines: by tokens, so that they are there in code that does not parse."""
    lines = _Lines(file)
    found: dict[tuple[int, int], lsp.FoldingRange] = {}

    def add(first: int, last: int, kind: lsp.FoldingRangeKind | None) -> None:
        if last > first:
            found.setdefault((first, last), lsp.FoldingRange(first, last, kind=kind))

    tokens = file.tokens
    stack: list[tuple[str, int]] = []
    for index, text in enumerate(tokens.texts):
        kind = tokens.kinds[index]
        if text in _OPEN and kind not in (STRING, STRING_HEAD):
            stack.append((text, tokens.starts[index]))
        elif text in ("}", "]", ")") and kind != STRING_TAIL and stack:
            opened, start = stack.pop()
            # The line of the closing bracket stays, as editors show it.
            add(lines.of(start), lines.of(tokens.starts[index]) - 1, lsp.FoldingRangeKind.Region if opened == "{" else None)
        elif kind == STRING and tokens.ends[index] - tokens.starts[index] > 6:
            add(lines.of(tokens.starts[index]), lines.of(tokens.ends[index]), None)
    _comments(file, lines, add)
    _imports(file, lines, add)
    return [found[key] for key in sorted(found)]


class _Lines:
    def __init__(self, file: File) -> None:
        self._source = file.source

    def of(self, offset: int) -> int:
        """The line of an offset, from 0."""
        return self._source.position(offset).line - 1


def _comments(file: File, lines: _Lines, add: Add) -> None:
    """Comments on lines that follow each other, those of docs too."""
    tokens = file.tokens
    places = [lines.of(start) for start, _, trailing in tokens.comments if not trailing] + [
        lines.of(s) for s, _ in tokens.doc_lines
    ]
    first = last = -2
    for line in sorted(set(places)):
        if line == last + 1:
            last = line
            continue
        add(first, last, lsp.FoldingRangeKind.Comment)
        first = last = line
    add(first, last, lsp.FoldingRangeKind.Comment)


def _imports(file: File, lines: _Lines, add: Add) -> None:
    first: n.Use | None = None
    last: n.Use | None = None
    for node in (*file.tree.declarations, None):
        if isinstance(node, n.Use):
            first, last = first or node, node
        elif first is not None and last is not None:
            add(lines.of(first.span.start), lines.of(last.span.end), lsp.FoldingRangeKind.Imports)
            first = last = None


# --- selections ------------------------------------------------------------------------------------------------------------


def selection_ranges(asked: Asked, params: lsp.SelectionRangeParams) -> list[lsp.SelectionRange]:
    """`textDocument/selectionRange`."""
    file = asked.file
    found: list[lsp.SelectionRange] = []
    for position in params.positions:
        made: lsp.SelectionRange | None = None
        for span in grown(file, file.lines.offset(position)):
            made = lsp.SelectionRange(file.lines.range(span), made)
        assert made is not None, "the whole text is always one of them"
        found.append(made)
    return found


def grown(file: File, offset: int) -> list[Span]:
    """The spans that a selection at an offset grows through, widest first: the text, its brackets and nodes, the token."""
    text = file.source.text
    spans = [Span(0, len(text))]
    spans += [node.span for node in file.nodes_at(offset)]
    tokens = file.tokens
    stack: list[int] = []
    for index, one in enumerate(tokens.texts):
        if tokens.starts[index] > offset and not stack:
            break
        if one in _OPEN:
            stack.append(tokens.starts[index])
        elif one in ("}", "]", ")") and stack:
            start, end = stack.pop(), tokens.ends[index]
            if start <= offset <= end:
                spans.append(Span(start, end))
                if start < offset < end:
                    spans.append(Span(start + 1, end - 1))
        elif tokens.starts[index] <= offset <= tokens.ends[index] and one.strip():
            spans.append(Span(tokens.starts[index], tokens.ends[index]))
    spans += [Span(c.start, c.end) for c in tokens.comments if c.start <= offset <= c.end]
    chain: list[Span] = []
    for span in sorted({s for s in spans if s.start <= offset <= s.end}, key=lambda s: (s.start - s.end, s.start)):
        # Each lies in the one before it; of two that cross, the first stays.
        if not chain or (chain[-1].start <= span.start and span.end <= chain[-1].end):
            chain.append(span)
    return chain
