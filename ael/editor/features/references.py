"""All places where what is named here is named, and those of them in this file."""

from __future__ import annotations

from lsprotocol import types as lsp

from ael.editor.feature import Asked
from ael.editor.features.entity import Entity, Occurrence
from ael.editor.features.names import at, home, names, references
from ael.editor.snapshot import File, Snapshot
from ael.source import Span


def find_references(asked: Asked, params: lsp.ReferenceParams) -> list[lsp.Location]:
    """`textDocument/references`: in this program, and in others of the workspace where another pack's name is meant."""
    offset = asked.file.lines.offset(params.position)
    declaration = params.context.include_declaration
    found: dict[tuple[str, Span], lsp.Location] = {}
    for file, one in references_at(asked.snapshot, asked.file, offset, declaration=declaration):
        found.setdefault((file.uri, Span(one.start, one.end)), lsp.Location(file.uri, file.lines.range(Span(one.start, one.end))))
    for snapshot, entity in elsewhere(asked, offset):
        for file, one in _kept(references(snapshot, entity), declaration=declaration):
            found.setdefault(
                (file.uri, Span(one.start, one.end)), lsp.Location(file.uri, file.lines.range(Span(one.start, one.end)))
            )
    return list(found.values())


def references_at(snapshot: Snapshot, file: File, offset: int, *, declaration: bool = True) -> list[tuple[File, Occurrence]]:
    """All names of the program that mean what the name at an offset means."""
    found: dict[tuple[str, int, int], tuple[File, Occurrence]] = {}
    for entity in meant(snapshot, file, offset):
        for where, one in _kept(references(snapshot, entity), declaration=declaration):
            found.setdefault((where.uri, one.start, one.end), (where, one))
    return list(found.values())


def meant(snapshot: Snapshot, file: File, offset: int) -> list[Entity]:
    """What the name at an offset means, where its names belong together."""
    return list(dict.fromkeys(one.entity for one in at(snapshot, file, offset) if one.entity.shared))


def _kept(found: list[tuple[File, Occurrence]], *, declaration: bool) -> list[tuple[File, Occurrence]]:
    return [(file, one) for file, one in found if declaration or one.role != "declare"]


def elsewhere(asked: Asked, offset: int) -> list[tuple[Snapshot, Entity]]:
    """The other programs that may name the same thing: those that hold the file which declares it, as one of their own or of a pack."""
    found: list[tuple[Snapshot, Entity]] = []
    for entity in meant(asked.snapshot, asked.file, offset):
        file = home(asked.snapshot, entity)
        if file is None or entity.kind == "local":
            continue
        for other in asked.others():
            there = other.files.get(file.path)
            if there is not None and there.name:
                found.append((other, renamed_module(entity, file.name, there.name)))
    return found


def renamed_module(entity: Entity, old: str, new: str) -> Entity:
    """An entity as another program calls it, in which the module that declares it has another name."""

    def own(key: str) -> str:
        lead = "provide " if key.startswith("provide ") else ""
        rest = key.removeprefix("provide ")
        return f"{lead}{new}{rest[len(old) :]}" if rest == old or rest.startswith(f"{old}.") else key

    if entity.kind in ("permission", "role"):
        pack = new.partition("/")[0] if "/" in new and "/" not in old else ""
        return entity._replace(name=f"{pack}.{entity.name}" if pack else entity.name)
    if entity.kind == "module":
        return entity._replace(name=new)
    return entity._replace(name=own(entity.name), owner=own(entity.owner))


# --- in this file -----------------------------------------------------------------------------------------------------------


def highlight(asked: Asked, params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
    """`textDocument/documentHighlight`."""
    file = asked.file
    return [
        lsp.DocumentHighlight(file.lines.range(Span(one.start, one.end)), _KIND.get(one.role, lsp.DocumentHighlightKind.Read))
        for one in highlights_at(asked.snapshot, file, file.lines.offset(params.position))
    ]


_KIND = {
    "declare": lsp.DocumentHighlightKind.Write,
    "write": lsp.DocumentHighlightKind.Write,
    "implement": lsp.DocumentHighlightKind.Write,
    "import": lsp.DocumentHighlightKind.Text,
}


def highlights_at(snapshot: Snapshot, file: File, offset: int) -> list[Occurrence]:
    """The names of this file that mean what the name at an offset means."""
    wanted = frozenset(meant(snapshot, file, offset))
    if not wanted:
        return []
    found: dict[tuple[int, int], Occurrence] = {}
    for one in names(snapshot, file):
        if one.entity in wanted:
            found.setdefault((one.start, one.end), one)
    return list(found.values())
