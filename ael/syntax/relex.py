"""The tokens of a text after an edit, from those of before it: only the declarations around the edit are cut into tokens again.

The lexer is at rest where a declaration begins: nothing is open, and nothing of what came before counts. So what is read again reaches
from the declaration before the one that the edit touches to the one after it, and has to end with that very declaration as it was. Wherever
that cannot be told (something is open, reported or strange), the answer is None, and the whole text is read.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from ael.source import Source, Span
from ael.syntax.lexer import lex_plain
from ael.syntax.tokens import Piece, RawComment, Tokens
from ael.syntax.words import DOC


class Again:
    """Tokens after an edit: the first `head` pieces and the last `tail` ones are as they were."""

    __slots__ = ("head", "tail", "tokens")

    def __init__(self, tokens: Tokens, head: int, tail: int) -> None:
        self.tokens = tokens
        self.head = head
        self.tail = tail


def relex(old: Tokens, source: Source) -> Again | None:
    """The tokens of `source`, given those of another text of the same module, which were read without a report."""
    before, after = old.source.text, source.text
    pieces = old.pieces
    same = common(before, after)
    if len(pieces) < 4 or old.doubtful:
        return None
    most = min(len(before), len(after)) - same
    end = len(before) - common(before[::-1][:most], after[::-1][:most])
    begins = [_begin(old, piece) for piece in pieces]
    first = bisect_left(begins, same) - 2
    last = bisect_right(begins, end) + 1
    if first < 0:
        first = 0
    if last >= len(pieces):
        last = len(pieces)
    by = len(after) - len(before)
    start = _line_start(before, begins[first]) if first else 0
    stop = begins[last] if last < len(pieces) else len(before)
    if start < 0 or (last < len(pieces) and pieces[last - 1].first < pieces[first].first):
        return None
    part = lex_plain(Source(source.name, after[start : stop + by]), "module")
    if part is None or part.doubtful or (first and part.module_doc is not None) or not part.pieces:
        return None
    if last < len(pieces) and not _same_end(old, pieces[last - 1], begins[last - 1] + by, part, start):
        return None
    return Again(_joined(old, source, part, first, last, start, stop, by), first, len(pieces) - last)


def common(a: str, b: str) -> int:
    """How many characters two texts have in common at their start."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _begin(tokens: Tokens, piece: Piece) -> int:
    """Where a declaration begins, with its doc comment."""
    return tokens.docs[piece.first].start if tokens.kinds[piece.first] == DOC else tokens.starts[piece.first]


def _line_start(text: str, at: int) -> int:
    """Where the line of a declaration begins, -1 where something else stands in it."""
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    return start if not text[start:at].strip(" \t") else -1


def _same_end(old: Tokens, piece: Piece, begin: int, part: Tokens, start: int) -> bool:
    """Whether the last declaration that was read again is the one that it was."""
    found = part.pieces[-1]
    return (
        _begin(part, found) + start == begin
        and found[2:] == piece[2:]
        and part.kinds[found.first : found.end] == old.kinds[piece.first : piece.end]
        and part.texts[found.first : found.end] == old.texts[piece.first : piece.end]
    )


def _joined(old: Tokens, source: Source, part: Tokens, first: int, last: int, start: int, stop: int, by: int) -> Tokens:
    made = Tokens(source)
    head = old.pieces[first].first
    rest = old.pieces[last].first if last < len(old.pieces) else len(old.kinds)
    made.kinds = old.kinds[:head] + part.kinds + old.kinds[rest:]
    made.texts = old.texts[:head] + part.texts + old.texts[rest:]
    made.starts = old.starts[:head] + [at + start for at in part.starts] + [at + by for at in old.starts[rest:]]
    made.ends = old.ends[:head] + [at + start for at in part.ends] + [at + by for at in old.ends[rest:]]
    if last < len(old.pieces):
        # The end token of a declaration stands where the next one's first word is, behind its doc comment.
        at = old.starts[old.pieces[last].first] + by
        made.starts[head + len(part.kinds) - 1] = made.ends[head + len(part.kinds) - 1] = at
    moved = head + len(part.kinds) - rest
    made.pieces = [
        *old.pieces[:first],
        *(Piece(p.first + head, p.end + head, *p[2:]) for p in part.pieces),
        *(Piece(p.first + moved, p.end + moved, *p[2:]) for p in old.pieces[last:]),
    ]
    made.docs = {at: span for at, span in old.docs.items() if at < head}
    made.docs |= {at + head: Span(span.start + start, span.end + start) for at, span in part.docs.items()}
    made.docs |= {at + moved: Span(span.start + by, span.end + by) for at, span in old.docs.items() if at >= rest}
    made.comments = [
        *(one for one in old.comments if one.start < start),
        *(RawComment(one.start + start, one.end + start, one.trailing) for one in part.comments),
        *(RawComment(one.start + by, one.end + by, one.trailing) for one in old.comments if one.start >= stop),
    ]
    made.doc_lines = [
        *(one for one in old.doc_lines if one[0] < start),
        *((one[0] + start, one[1] + start) for one in part.doc_lines),
        *((one[0] + by, one[1] + by) for one in old.doc_lines if one[0] >= stop),
    ]
    made.module_doc = part.module_doc if not first else old.module_doc
    return made
