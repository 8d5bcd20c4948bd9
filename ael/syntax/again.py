"""Parsing a file again after an edit: a declaration whose text did not change keeps its tree, moved to where it stands now.

What is kept and what is parsed anew gives the tree and the problems that parsing the whole file would: a declaration is kept only where
its text and its tokens are what they were. A tree that is kept is moved in place, so that
its nodes stay keys of whatever is remembered of them; so a tree of before an edit is not to be used after it.
"""

from __future__ import annotations

from collections import deque

from ael.diagnostics.diagnostic import Bag
from ael.source import Source, Span
from ael.syntax import nodes as n
from ael.syntax.actions.context import Context
from ael.syntax.characters import check_characters
from ael.syntax.lexer import lex, lex_plain
from ael.syntax.make import make_doc, make_module
from ael.syntax.parse import comments_of, parse_piece
from ael.syntax.relex import relex
from ael.syntax.tables import STARTS
from ael.syntax.tokens import Piece, Tokens
from ael.syntax.tree import Node, walk
from ael.syntax.words import DOC, FileKind

_SPAN = vars(Node)["span"]
_MODULE_SPAN = vars(n.Use)["module_span"]


class _Kept:
    """A declaration that parsed without a problem: its first offset, its text, its tokens and how far its end token is."""

    __slots__ = ("end", "kinds", "made", "nodes", "start", "text")

    def __init__(self, made: n.Declaration, start: int, text: str, kinds: list[int], end: int) -> None:
        self.made = made
        self.start = start
        self.text = text
        self.kinds = kinds
        self.end = end
        self.nodes: list[Node] | None = None

    def move(self, to: int) -> None:
        """Put the tree where the declaration stands now."""
        by = to - self.start
        if by:
            if self.nodes is None:
                self.nodes = list(walk(self.made))
            shift(self.nodes, by)
            self.start = to


class Parser:
    """Parses one file, again and again. `tree` and `tokens` are those of the last time."""

    def __init__(self, kind: FileKind = "module") -> None:
        self.kind: FileKind = kind
        self.tree: n.Module | None = None
        self.tokens: Tokens | None = None
        self._problems = Bag()
        self._plain: Tokens | None = None
        """The tokens as they were read, where nothing was to be reported of them: parsing adds comments to the others."""
        self._kept: list[_Kept | None] = []
        """For each piece of the tokens what is kept of it."""

    def parse(self, source: Source, bag: Bag) -> n.Module:
        """The tree of the file, as `parse_module` and its like give it; the same one for the same source."""
        if self.tree is None or self.tree.source is not source:
            self._problems = Bag()
            self.tree = self._parse(source, self._problems)
        for diagnostic in self._problems.sorted():
            bag.add(diagnostic)
        return self.tree

    def _lex(self, source: Source, bag: Bag) -> tuple[int, int]:
        """Fill `tokens`; how many of the first and of the last pieces are what they were, whatever their places."""
        again = relex(self._plain, source) if self._plain is not None and self.kind == "module" else None
        plain = again.tokens if again is not None else lex_plain(source, self.kind)
        if plain is None:
            self._plain = None
            self.tokens = lex(source, bag, self.kind)
            return 0, 0
        check_characters(source, bag)
        self._plain = plain
        self.tokens = plain.copy()
        return (again.head, again.tail) if again is not None else (0, 0)

    def _parse(self, source: Source, bag: Bag) -> n.Module:
        head, tail = self._lex(source, bag)
        tokens = self.tokens
        assert tokens is not None
        old, pieces = self._kept, tokens.pieces
        waiting: dict[str, deque[_Kept]] = {}
        for one in old[head : len(old) - tail]:
            if one is not None:
                waiting.setdefault(one.text, deque()).append(one)
        context, start = Context(tokens, bag), STARTS[self.kind]
        declarations: list[n.Declaration] = []
        kept: list[_Kept | None] = []
        for index, piece in enumerate(pieces):
            at = tokens.docs[piece.first].start if tokens.kinds[piece.first] == DOC else tokens.starts[piece.first]
            if index < head:
                found = old[index]
            elif index >= len(pieces) - tail:
                found = old[index - len(pieces)]
            else:
                found = _waiting(waiting, context, piece, at)
            if found is not None:
                found.move(at)
                declarations.append(found.made)
                kept.append(found)
                continue
            made, stays = _made(context, piece, start, at)
            kept.append(stays)
            if made is not None:
                declarations.append(made)
        self._kept = kept
        doc = None
        if tokens.module_doc is not None:
            text, span = tokens.module_doc
            doc = make_doc(span.start, span.end, text)
        return make_module(0, len(source.text), source, doc, tuple(declarations), comments_of(tokens))


def _waiting(waiting: dict[str, deque[_Kept]], context: Context, piece: Piece, at: int) -> _Kept | None:
    """A declaration that was kept and is the one that stands at `at`."""
    tokens = context.tokens
    same = waiting.get(context.text[at : tokens.ends[piece.end - 1]])
    if not same or not piece.sound or not piece.clean:
        return None
    if same[0].kinds != tokens.kinds[piece.first : piece.end + 1] or same[0].end != tokens.starts[piece.end] - at:
        return None
    return same.popleft()


def _made(context: Context, piece: Piece, start: int, at: int) -> tuple[n.Declaration | None, _Kept | None]:
    """A declaration that is parsed, and what is kept of it, if nothing was said."""
    tokens = context.tokens
    reported, comments = context.reported, len(tokens.comments)
    made: n.Declaration | None = parse_piece(context, piece, start)
    if made is None or context.reported != reported or len(tokens.comments) != comments:
        return made, None
    text, kinds = context.text[at : tokens.ends[piece.end - 1]], tokens.kinds[piece.first : piece.end + 1]
    return made, _Kept(made, at, text, kinds, tokens.starts[piece.end] - at)


def shift(nodes: list[Node], by: int) -> None:
    """Move nodes in their source, in place."""
    get, put, new = _SPAN.__get__, _SPAN.__set__, tuple.__new__
    for node in nodes:
        start, end = get(node)
        put(node, new(Span, (start + by, end + by)))
        if type(node) is n.Use:
            start, end = node.module_span
            _MODULE_SPAN.__set__(node, Span(start + by, end + by))
