"""Who calls what: code that calls, models that are offered something, edges that lead to a node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from lsprotocol import types as lsp

from ael.check.collect import Kind
from ael.editor.feature import Asked
from ael.editor.features.entity import Entity
from ael.editor.features.names import at, declared, names_of, references
from ael.editor.features.symbols import KINDS, inner, name_of
from ael.editor.snapshot import File, Snapshot
from ael.source import Span
from ael.syntax import nodes as n

CALLED: frozenset[Kind] = frozenset({"function", "tool", "node", "agent", "operation"})


def prepare(asked: Asked, params: lsp.CallHierarchyPrepareParams) -> list[lsp.CallHierarchyItem]:
    """`textDocument/prepareCallHierarchy`."""
    snapshot, file = asked.snapshot, asked.file
    found: dict[Entity, lsp.CallHierarchyItem] = {}
    for one in at(snapshot, file, file.lines.offset(params.position)):
        if called(snapshot, one.entity) and (item := item_of(snapshot, one.entity)) is not None:
            found[one.entity] = item
    return list(found.values())


def incoming(asked: Asked, params: lsp.CallHierarchyIncomingCallsParams) -> list[lsp.CallHierarchyIncomingCall]:
    """`callHierarchy/incomingCalls`."""
    entity = _entity(params.item)
    return (
        [lsp.CallHierarchyIncomingCall(item, ranges) for item, ranges in callers(asked.snapshot, entity)]
        if entity is not None
        else []
    )


def outgoing(asked: Asked, params: lsp.CallHierarchyOutgoingCallsParams) -> list[lsp.CallHierarchyOutgoingCall]:
    """`callHierarchy/outgoingCalls`."""
    entity = _entity(params.item)
    return (
        [lsp.CallHierarchyOutgoingCall(item, ranges) for item, ranges in callees(asked.snapshot, entity)]
        if entity is not None
        else []
    )


def called(snapshot: Snapshot, entity: Entity) -> bool:
    """Whether it is something that is called."""
    symbol = snapshot.collected.symbols.get(entity.name) if entity.kind == "symbol" else None
    return symbol is not None and symbol.kind in CALLED


def _entity(item: lsp.CallHierarchyItem) -> Entity | None:
    data = item.data
    name = data.get("name") if isinstance(data, Mapping) else getattr(data, "name", None)
    return Entity("symbol", name) if isinstance(name, str) else None


def item_of(snapshot: Snapshot, entity: Entity) -> lsp.CallHierarchyItem | None:
    """What stands for a callable in the hierarchy."""
    found = declared(snapshot, entity)
    if found is None:
        return None
    file, one = found
    return _item(file, one.node, entity.name)


def _item(file: File, node: n.Node, key: str) -> lsp.CallHierarchyItem:
    name, span = name_of(node)
    kind = KINDS.get(type(node), lsp.SymbolKind.Function)
    data = {"uri": file.uri, "name": key}
    return lsp.CallHierarchyItem(
        name, kind, file.uri, file.lines.range(node.span.to(span)), file.lines.range(span), detail=file.name, data=data
    )


def callers(snapshot: Snapshot, entity: Entity) -> list[tuple[lsp.CallHierarchyItem, list[lsp.Range]]]:
    """What calls something, and where."""
    found: dict[str, tuple[lsp.CallHierarchyItem, list[lsp.Range]]] = {}
    for file, one in references(snapshot, entity):
        if one.role != "read" or file.kind != "module":
            continue
        around = file.declaration_at(one.start)
        if around is None:
            continue
        node, key = _innermost(file, around, one.start)
        entry = found.setdefault(f"{file.uri} {key}", (_item(file, node, key), []))
        entry[1].append(file.lines.range(Span(one.start, one.end)))
    return list(found.values())


def _innermost(file: File, node: n.Declaration, offset: int) -> tuple[n.Node, str]:
    """The callable that an offset is in: of a skill or a provider, its function."""
    lead = "provide " if isinstance(node, n.ProvideDecl) else ""
    name = name_of(node)[0].rpartition(".")[2]
    for one in inner(node):
        if isinstance(one, n.FunctionDecl) and one.span.start <= offset <= one.span.end:
            return one, f"{lead}{file.name}.{name}.{one.name.text}"
    return node, f"{lead}{file.name}.{name}"


def callees(snapshot: Snapshot, entity: Entity) -> list[tuple[lsp.CallHierarchyItem, list[lsp.Range]]]:
    """What something calls, offers to its model or joins, and where it says so."""
    found: dict[Entity, tuple[lsp.CallHierarchyItem, list[lsp.Range]]] = {}
    for file, node in _bodies(snapshot, entity):
        for declaration in _touching(file, node.span):
            for one in names_of(snapshot, file, declaration).names:
                inside = node.span.start <= one.start and one.end <= node.span.end
                if not inside or one.role != "read" or not called(snapshot, one.entity):
                    continue
                item = item_of(snapshot, one.entity)
                if item is not None:
                    found.setdefault(one.entity, (item, []))[1].append(file.lines.range(Span(one.start, one.end)))
    return list(found.values())


def _bodies(snapshot: Snapshot, entity: Entity) -> Iterator[tuple[File, n.Node]]:
    """The declaration, and for an operation the functions that carry it out."""
    symbol = snapshot.collected.symbols.get(entity.name)
    if symbol is None:
        return
    file = snapshot.modules.get(symbol.module)
    if file is not None and symbol.node is not None and symbol.kind != "operation":
        yield file, symbol.node
    if symbol.kind == "operation":
        for where, one in references(snapshot, entity):
            if one.role == "implement":
                yield where, one.node


def _touching(file: File, span: Span) -> Iterable[n.Declaration]:
    return [one for one in file.tree.declarations if one.span.start <= span.start and span.end <= one.span.end]
