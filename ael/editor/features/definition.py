"""Where what is named is declared, what type it has, and what carries it out."""

from __future__ import annotations

import json
import re

from lsprotocol import types as lsp

from ael.editor.feature import Asked
from ael.editor.features.describe import definition_of
from ael.editor.features.entity import Entity
from ael.editor.features.hover import type_at
from ael.editor.features.links import links, python_of
from ael.editor.features.meaning import members
from ael.editor.features.names import at, declared, references
from ael.editor.positions import Lines
from ael.editor.snapshot import File, Snapshot
from ael.source import SourceError, Span, read
from ael.syntax import nodes as n
from ael.types.type import ListType, MapType, Named, Type

Found = tuple[File, Span]
"""A place in a file."""


def definition(asked: Asked, params: lsp.DefinitionParams) -> list[lsp.Location]:
    """`textDocument/definition`."""
    offset = asked.file.lines.offset(params.position)
    return _located(definitions_at(asked.snapshot, asked.file, offset)) or _in_python(asked, offset)


def _in_python(asked: Asked, offset: int) -> list[lsp.Location]:
    """The Python function that a tool names by a text at an offset."""
    node = asked.file.declaration_at(offset)
    place = python_of(asked.snapshot, node) if node is not None else None
    if place is None or not place.span.start <= offset <= place.span.end:
        return []
    try:
        source = read(place.path)
    except SourceError:
        return []
    found = re.search(rf"^(?:async )?def ({re.escape(place.name)})\b", source.text, re.MULTILINE)
    span = Span(*found.span(1)) if found is not None else Span(0, 0)
    return [lsp.Location(place.path.as_uri(), Lines(source, asked.file.encoding).range(span))]


def type_definition(asked: Asked, params: lsp.TypeDefinitionParams) -> list[lsp.Location]:
    """`textDocument/typeDefinition`."""
    return _located(types_at(asked.snapshot, asked.file, asked.file.lines.offset(params.position)))


def implementation(asked: Asked, params: lsp.ImplementationParams) -> list[lsp.Location]:
    """`textDocument/implementation`."""
    return _located(implementations_at(asked.snapshot, asked.file, asked.file.lines.offset(params.position)))


def _located(found: list[Found]) -> list[lsp.Location]:
    return [lsp.Location(file.uri, file.lines.range(span)) for file, span in found]


def definitions_at(snapshot: Snapshot, file: File, offset: int) -> list[Found]:
    """Where what is named at an offset is declared."""
    found: dict[tuple[str, Span], Found] = {}
    for one in at(snapshot, file, offset):
        for place in declaration_of(snapshot, one.entity):
            found[place[0].uri, place[1]] = place
    if not found:
        for place in _file_named(snapshot, file, offset):
            found[place[0].uri, place[1]] = place
    return list(found.values())


def declaration_of(snapshot: Snapshot, entity: Entity) -> list[Found]:
    """Where an entity is declared: what a server brings in `ael.lock`, and in its block where the lock is not there."""
    if entity.kind == "module":
        module = snapshot.modules.get(entity.name)
        return [(module, Span(0, 0))] if module is not None else []
    found = declared(snapshot, entity)
    if found is not None:
        return [(found[0], Span(found[1].start, found[1].end))]
    return _of_server(snapshot, entity)


def _of_server(snapshot: Snapshot, entity: Entity) -> list[Found]:
    """A type of an MCP server, or a field or parameter of what it brings: where its tool is pinned."""
    collected = snapshot.collected
    key = entity.owner or entity.name
    symbol = collected.symbols.get(key)
    while symbol is None and "." in key:
        key = key.rpartition(".")[0]
        symbol = collected.symbols.get(key)
    if symbol is None or not isinstance(symbol.node, n.McpMember):
        return []
    pinned = pin_of(snapshot, symbol.name.rpartition(".")[0], symbol.node)
    if pinned is not None:
        return [pinned]
    module = snapshot.modules.get(symbol.module)
    return [(module, symbol.node.name.span)] if module is not None else []


def pin_of(snapshot: Snapshot, server: str, member: n.McpMember) -> Found | None:
    """Where the definition of a server's tool or prompt stands in `ael.lock`."""
    lock = next((file for file in snapshot.files.values() if file.kind == "lock" and file.own), None)
    if lock is None or isinstance(member, n.McpResource):
        return None
    wire = (
        "".join(p.text for p in member.wire.parts if isinstance(p, n.TextPart)) if member.wire is not None else member.name.text
    )
    text = lock.source.text
    block = text.find(json.dumps(server))
    start = text.find(f'"name": {json.dumps(wire, ensure_ascii=False)}', max(block, 0))
    if start < 0:
        start = text.find(json.dumps(wire, ensure_ascii=False), max(block, 0))
        return (lock, Span(start, start + len(wire) + 2)) if start >= 0 else None
    begin = start + len('"name": ')
    return lock, Span(begin, begin + len(json.dumps(wire, ensure_ascii=False)))


def _file_named(snapshot: Snapshot, file: File, offset: int) -> list[Found]:
    """The text file that instructions are read from, where the offset is in its name."""
    return [(target, Span(0, 0)) for span, target in links(snapshot, file) if span.start <= offset <= span.end]


# --- types ---------------------------------------------------------------------------------------------------------------


def types_at(snapshot: Snapshot, file: File, offset: int) -> list[Found]:
    """Where the type of what is named at an offset is declared; of a list or a map, that of what it holds."""
    found: dict[tuple[str, Span], Found] = {}
    for one in at(snapshot, file, offset):
        type = type_at(file, one) or _declared_type(snapshot, one.entity)
        for name in _named(snapshot, type):
            for place in declaration_of(snapshot, Entity("symbol", name)):
                found[place[0].uri, place[1]] = place
    return list(found.values())


def _declared_type(snapshot: Snapshot, entity: Entity) -> Type | None:
    """The type of a field or parameter, the result of what is called, the type itself that a name is."""
    collected = snapshot.collected
    if entity.kind in ("field", "parameter"):
        found = definition_of(snapshot, entity)
        return found.type if found is not None else None
    if entity.kind == "variant":
        return Named(entity.owner)
    if entity.kind == "symbol":
        signature = collected.signatures.get(entity.name)
        if signature is not None:
            return signature.result
        return Named(entity.name) if entity.name in collected.definitions else None
    return None


def _named(snapshot: Snapshot, type: Type | None) -> list[str]:
    collected = snapshot.collected
    found: list[str] = []
    for one in members(collected, type):
        match one:
            case ListType(item=inner) | MapType(value=inner):
                found += _named(snapshot, inner)
            case Named(name=name):
                found.append(name)
            case _:
                pass
    return found


# --- what carries it out ---------------------------------------------------------------------------------------------------


def implementations_at(snapshot: Snapshot, file: File, offset: int) -> list[Found]:
    """The providers of a service, or their functions of an operation."""
    found: list[Found] = []
    collected = snapshot.collected
    for one in at(snapshot, file, offset):
        symbol = collected.symbols.get(one.entity.name) if one.entity.kind == "symbol" else None
        if symbol is None:
            continue
        if symbol.kind == "operation":
            found += [(where, Span(o.start, o.end)) for where, o in references(snapshot, one.entity) if o.role == "implement"]
        elif symbol.kind == "service":
            for where, o in references(snapshot, one.entity):
                inside = where.declaration_at(o.start)
                if isinstance(inside, n.ProvideDecl) and inside.service.span.end == o.end:
                    found.append((where, Span(o.start, o.end)))
        else:
            found += declaration_of(snapshot, one.entity)
    return found
