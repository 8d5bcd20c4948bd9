"""The module that a session is: the text of its program, what was declared since, and the input that is being looked at.

All of it is one module, the program's main one, so that an input sees what code there would see. What is declared again takes the place of
what had the name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ael.data import dataclass
from ael.diagnostics.diagnostic import Bag, Place
from ael.diagnostics.pieces import Pieces
from ael.source import Source, Span
from ael.syntax import nodes as n
from ael.syntax.parse import parse_module

TITLE = "the input of this session"
"""The title of the `test` that an input of statements is to the check."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """A declaration with its comment, as it was typed or stands in the program. `names` are what it declares."""

    place: Place
    names: frozenset[str]

    @property
    def text(self) -> str:
        """Its text."""
        return self.place.source.text[self.place.span.start : self.place.span.end]


def chunks(source: Source, bag: Bag) -> list[Chunk]:
    """The declarations of a source, in order. What is wrong with one goes to the bag."""
    tree = parse_module(source, bag)
    return [Chunk(Place(source, _whole(source.text, node)), frozenset(_names(node))) for node in tree.declarations]


def _whole(text: str, node: n.Declaration) -> Span:
    doc = getattr(node, "doc", None)
    return Span(doc.span.start if isinstance(doc, n.Doc) else node.span.start, node.span.end)


def _names(node: n.Declaration) -> Iterator[str]:
    match node:
        case n.Use(names=names) if names:
            yield from ((one.alias or one.name).text for one in names)
        case n.Use(module=module, alias=alias):
            yield alias.text if alias is not None else module.rpartition("/")[2].removesuffix(".ael")
        case n.PermissionDecl(path=path) | n.RoleDecl(path=path):
            yield f"permission {path.text}"
        case n.ProvideDecl(alias=alias, service=service):
            yield f"provide {alias.text if alias is not None else service.text}"
        case n.TestDecl():
            return
        case _:
            name = getattr(node, "name", None)
            if isinstance(name, n.Name):
                yield name.text


def assembled(
    program: Source | None, declared: Sequence[Chunk], path: Path, instead: Place, statements: Sequence[str | Place] = ()
) -> Pieces:
    """The module. `statements` are what stands in the body of the input: text of ours, and places of what was typed."""
    pieces = Pieces(program.name if program is not None else path.name, instead, path)
    if program is not None:
        _without(pieces, program, frozenset().union(*(chunk.names for chunk in declared)))
        pieces.add("\n")
    for chunk in declared:
        pieces.add(chunk.text, chunk.place)
        pieces.add("\n")
    if statements:
        pieces.add(f'test "{TITLE}" {{\n')
        for part in statements:
            if isinstance(part, str):
                pieces.add(part)
            else:
                pieces.add(part.source.text[part.span.start : part.span.end], part)
        pieces.add("\n}\n")
    return pieces


def _without(pieces: Pieces, program: Source, names: frozenset[str]) -> None:
    """The program's own text, without what is declared again."""
    at = 0
    for chunk in chunks(program, Bag()) if names else ():
        gone = chunk.names & names
        if gone and chunk.names <= names:
            pieces.add(program.text[at : chunk.place.span.start], Place(program, Span(at, chunk.place.span.start)))
            at = chunk.place.span.end
    pieces.add(program.text[at:], Place(program, Span(at, len(program.text))))
