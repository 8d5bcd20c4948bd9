"""What the lexer gives: the tokens of a file in parallel lists, cut into declarations."""

from __future__ import annotations

from typing import NamedTuple

from ael.source import Source, Span

MAX_NESTING = 64
"""How deep brackets, blocks, type arguments and interpolations nest. The one cap of all tools that read source."""

MAX_CHAIN = 100
"""Tokens of one statement, those around it included, from which on the depth of the tree is measured."""

MAX_TREE = 200
"""How many levels a declaration's tree may have: what later phases, which recurse, can walk safely."""

MAX_PROBLEMS = 200
"""Problems of a file that are reported, by the lexer and by the parser each."""

MAX_DIGITS = 1_233
"""Digits of a number: an `Int` has up to 4,096 bits."""


class Piece(NamedTuple):
    """The tokens of one declaration: `first` included, `end` (the index of its end token) not.

    `sound` is false when its brackets or strings were reported: it is not parsed, so that nothing is told twice. `clean` is false when a
    character or number was: it is parsed for what else is wrong, but left out.
    `deep` says that its tree may be too deep and has to be measured.
    """

    first: int
    end: int
    sound: bool
    clean: bool
    deep: bool


class RawComment(NamedTuple):
    """A `//` comment: where it starts and ends, and whether code stands before it on its line."""

    start: int
    end: int
    trailing: bool


class Tokens:
    """Kinds are numbers of `tables.TERMINALS`. A doc comment's token stands where the next token starts; its own place is in `docs`."""

    __slots__ = (
        "comments",
        "doc_lines",
        "docs",
        "doubtful",
        "ends",
        "kinds",
        "module_doc",
        "pieces",
        "source",
        "starts",
        "texts",
    )

    def __init__(self, source: Source) -> None:
        self.source = source
        self.kinds: list[int] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.texts: list[str] = []
        self.docs: dict[int, Span] = {}
        self.doc_lines: list[tuple[int, int]] = []
        """Every line of doc comments, those of the module too."""
        self.comments: list[RawComment] = []
        self.module_doc: tuple[str, Span] | None = None
        self.pieces: list[Piece] = []
        self.doubtful: set[int] = set()
        """Tokens before which a character was passed over, so that what does not fit there has been told."""

    def copy(self) -> Tokens:
        """The same tokens, with comments of their own: the parser adds to those."""
        made = Tokens(self.source)
        for name in self.__slots__:
            setattr(made, name, getattr(self, name))
        made.comments = list(self.comments)
        return made
