"""What a file names that can be opened: the modules of its `use` lines, the text files that instructions are read from, Python modules."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from lsprotocol import types as lsp

from ael.editor.feature import Asked
from ael.editor.features.meaning import module_entity
from ael.editor.snapshot import File, Snapshot
from ael.source import Span
from ael.syntax import nodes as n


def document_links(asked: Asked, params: lsp.DocumentLinkParams) -> list[lsp.DocumentLink]:
    """`textDocument/documentLink`."""
    lines = asked.file.lines
    found = [lsp.DocumentLink(lines.range(span), target.uri) for span, target in links(asked.snapshot, asked.file)]
    for node in asked.file.tree.declarations:
        place = python_of(asked.snapshot, node)
        if place is not None:
            found.append(lsp.DocumentLink(lines.range(place.span), place.path.as_uri()))
    return found


class Python(NamedTuple):
    """The Python function of a tool: where the tool names it, its file, and its name there."""

    span: Span
    path: Path
    name: str


def python_of(snapshot: Snapshot, node: n.Node) -> Python | None:
    """What an `extern "module:function"` names, where its module lies in the folder of the program."""
    if not isinstance(node, n.ToolDecl) or not isinstance(node.body, n.Extern):
        return None
    target = node.body.target
    text = "".join(part.text for part in target.parts if isinstance(part, n.TextPart))
    module, _, name = text.partition(":")
    if not re.fullmatch(r"\w+(\.\w+)*", module):
        return None
    inside = Path(*module.split("."))
    for path in (snapshot.root / inside.with_suffix(".py"), snapshot.root / inside / "__init__.py"):
        if path.is_file():
            return Python(Span(target.span.start + 1, target.span.end - 1), path, name)
    return None


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
