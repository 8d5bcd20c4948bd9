"""What the lexer gives: the tokens of a file in parallel lists, cut into declarations."""

from __future__ import annotations

from typing import NamedTuple

from ael.data import dataclass, field
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

    `sound` is false when its brackets, strings or characters were reported: it is not parsed, so that nothing is told twice.
    `deep` says that its tree may be too deep and has to be measured.
    """

    first: int
    end: int
    sound: bool
    deep: bool


class RawComment(NamedTuple):
    """A `//` comment: where it starts and ends, and whether code stands before it on its line."""

    start: int
    end: int
    trailing: bool


@dataclass
class Tokens:
    """Kinds are numbers of `tables.TERMINALS`. A doc comment's token stands where the next token starts; its own place is in `docs`."""

    source: Source
    kinds: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    docs: dict[int, Span] = field(default_factory=dict)
    doc_lines: list[tuple[int, int]] = field(default_factory=list)
    """Every line of doc comments, those of the module too."""
    comments: list[RawComment] = field(default_factory=list)
    module_doc: tuple[str, Span] | None = None
    pieces: list[Piece] = field(default_factory=list)
