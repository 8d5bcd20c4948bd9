"""What a page says, whatever it is written as: HTML, Markdown and JSON are made of the same items."""

from __future__ import annotations

from typing import TypeAlias

from ael.data import dataclass, field
from ael.diagnostics.diagnostic import Place
from ael.documenting.comment import Comment
from ael.documenting.names import Target


@dataclass(frozen=True, slots=True)
class Ref:
    """A name that leads to where it is documented; `target` None: it has no page here."""

    text: str
    target: Target | None = None


Said: TypeAlias = tuple["str | Ref", ...]
"""A few words, with names in them."""


@dataclass(frozen=True, slots=True)
class Fact:
    """`Needs: orders.read`. `key` is what it is called in JSON; `values` are the single things that it says."""

    key: str
    label: str
    values: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a signature, with what its name means."""

    text: str
    target: Target | None = None


@dataclass(frozen=True, eq=False)
class Part:
    """A field, variant, operation, member of a server or function of a skill. `facts` as those of a declaration."""

    name: str
    anchor: str
    pieces: tuple[Piece, ...]
    comment: Comment | None
    place: Place
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, eq=False)
class Item:
    """A declaration. `name` is how it is called where it stands, `anchor` its place on the page.

    `summary` are the four facts that every page has of what is called: permissions, repeat safety, errors, budget.
    """

    kind: str
    name: str
    qualified: str
    anchor: str
    public: bool
    place: Place
    pieces: tuple[Piece, ...]
    comment: Comment | None
    facts: tuple[Fact, ...] = ()
    summary: tuple[Fact, ...] = ()
    parts: tuple[Part, ...] = ()
    picture: str = ""
    """An agent's graph as SVG."""


@dataclass(frozen=True, eq=False)
class Page:
    """A module. `facts` are of it as a whole."""

    module: str
    comment: Comment | None
    place: Place
    items: tuple[Item, ...]
    facts: tuple[Fact, ...] = field(default_factory=tuple)


@dataclass(frozen=True, eq=False)
class Book:
    """All pages of a pack. `intro` is the comment that says what the pack is: that of its `pack.ael`, else of its main module."""

    title: str
    version: str
    intro: Comment | None
    intro_module: str
    pages: tuple[Page, ...]
    facts: tuple[Fact, ...] = ()
