"""What a file names that can be opened: the modules of its `use` lines, the text files that instructions are read from."""

from __future__ import annotations

from lsprotocol import types as lsp

from ael.editor.feature import Asked
from ael.editor.features.meaning import module_entity
from ael.editor.snapshot import File, Snapshot
from ael.source import Span
from ael.syntax import nodes as n


def document_links(asked: Asked, params: lsp.DocumentLinkParams) -> list[lsp.DocumentLink]:
    """`textDocument/documentLink`."""
    lines = asked.file.lines
    return [lsp.DocumentLink(lines.range(span), target.uri) for span, target in links(asked.snapshot, asked.file)]


def links(snapshot: Snapshot, file: File) -> list[tuple[Span, File]]:
    """The places of a file that name another file of the program, and which."""
    found: list[tuple[Span, File]] = []
    for node in file.tree.declarations:
        if isinstance(node, n.Use) and file.scope is not None:
            entity = module_entity(snapshot.collected, file.scope, node)
            module = snapshot.modules.get(entity.name) if entity is not None else None
            if module is not None:
                found.append((node.module_span, module))
            continue
        told = _instructions(node)
        if told is not None and told.from_file:
            text = "".join(part.text for part in told.template.parts if isinstance(part, n.TextPart))
            target = snapshot.project.texts.get((file.name, text)) if snapshot.project is not None else None
            other = snapshot.files.get(target.path.resolve()) if target is not None and target.path is not None else None
            if other is not None:
                span = told.template.span
                found.append((Span(span.start + 1, span.end - 1), other))
    return found


def _instructions(node: n.Node) -> n.Instructions | None:
    match node:
        case n.NodeDecl(body=n.ModelBody(items=items)):
            return next((item for item in items if isinstance(item, n.Instructions)), None)
        case n.SkillDecl(instructions=instructions):
            return instructions
        case _:
            return None
