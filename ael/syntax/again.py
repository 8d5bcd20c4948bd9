"""Parsing a file again after an edit: a declaration whose text did not change keeps its tree, moved to where it stands now.

What is kept and what is parsed anew gives the tree and the problems that parsing the whole file would: the text is cut into tokens as
a whole, and a declaration is kept only where its text and its tokens are what they were. A tree that is kept is moved in place, so that
its nodes stay keys of whatever is remembered of them; so a tree of before an edit is not to be used after it.
"""

from __future__ import annotations

from collections import deque

from ael.diagnostics.diagnostic import Bag
from ael.source import Source, Span
from ael.syntax import nodes as n
from ael.syntax.actions.context import Context
from ael.syntax.lexer import lex
from ael.syntax.make import make_doc, make_module
from ael.syntax.parse import comments_of, parse_piece
from ael.syntax.tables import STARTS
from ael.syntax.tokens import Piece, Tokens
from ael.syntax.tree import Node, walk
from ael.syntax.words import DOC, FileKind

_SPAN = vars(Node)["span"]
_MODULE_SPAN = vars(n.Use)["module_span"]


class _Kept:
    """A declaration that parsed without a problem: its first offset, its text, its tokens and how far its end token is."""

    __slots__ = ("end", "kinds", "made", "nodes", "start")

    def __init__(self, made: n.Declaration, start: int, kinds: list[int], end: int) -> None:
        self.made = made
        self.start = start
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
        self._kept: dict[str, deque[_Kept]] = {}

    def parse(self, source: Source, bag: Bag) -> n.Module:
        """The tree of the file, as `parse_module` and its like give it; the same one for the same source."""
        if self.tree is None or self.tree.source is not source:
            self._problems = Bag()
            self.tree = self._parse(source, self._problems)
        for diagnostic in self._problems.sorted():
            bag.add(diagnostic)
        return self.tree

    def _parse(self, source: Source, bag: Bag) -> n.Module:
        tokens = self.tokens = lex(source, bag, self.kind)
        context, start = Context(tokens, bag), STARTS[self.kind]
        declarations: list[n.Declaration] = []
        kept: dict[str, deque[_Kept]] = {}
        for piece in tokens.pieces:
            made = self._again(context, piece, start, kept)
            if made is not None:
                declarations.append(made)
        self._kept = kept
        doc = None
        if tokens.module_doc is not None:
            text, span = tokens.module_doc
            doc = make_doc(span.start, span.end, text)
        return make_module(0, len(source.text), source, doc, tuple(declarations), comments_of(tokens))

    def _again(self, context: Context, piece: Piece, start: int, kept: dict[str, deque[_Kept]]) -> n.Declaration | None:
        tokens = context.tokens
        at = tokens.docs[piece.first].start if tokens.kinds[piece.first] == DOC else tokens.starts[piece.first]
        text = context.text[at : tokens.ends[piece.end - 1]]
        kinds, end = tokens.kinds[piece.first : piece.end + 1], tokens.starts[piece.end] - at
        waiting = self._kept.get(text)
        if waiting and piece.sound and piece.clean and waiting[0].kinds == kinds and waiting[0].end == end:
            found = waiting.popleft()
            found.move(at)
            kept.setdefault(text, deque()).append(found)
            return found.made
        reported, comments = context.reported, len(tokens.comments)
        made: n.Declaration | None = parse_piece(context, piece, start)
        if made is not None and context.reported == reported and len(tokens.comments) == comments:
            kept.setdefault(text, deque()).append(_Kept(made, at, kinds, end))
        return made


def shift(nodes: list[Node], by: int) -> None:
    """Move nodes in their source, in place."""
    get, put, span = _SPAN.__get__, _SPAN.__set__, Span._make
    for node in nodes:
        start, end = get(node)
        put(node, span((start + by, end + by)))
        if type(node) is n.Use:
            start, end = node.module_span
            _MODULE_SPAN.__set__(node, span((start + by, end + by)))
