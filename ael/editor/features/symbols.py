"""What a file declares, as a tree, and what the workspace declares, by a part of its name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lsprotocol import types as lsp

from ael.editor.feature import Asked
from ael.editor.snapshot import File, Snapshot
from ael.source import Span
from ael.syntax import nodes as n

MAX_SYMBOLS = 500
"""Symbols of the workspace that are listed."""

K = lsp.SymbolKind
KINDS: dict[type, lsp.SymbolKind] = {
    n.PermissionDecl: K.Key, n.RoleDecl: K.Key, n.EnumDecl: K.Enum, n.RecordDecl: K.Struct, n.ErrorDecl: K.Struct, n.TypeDecl: K.Class,
    n.ConstDecl: K.Constant, n.FunctionDecl: K.Function, n.ToolDecl: K.Function, n.NodeDecl: K.Class, n.AgentDecl: K.Class,
    n.SkillDecl: K.Namespace, n.ServiceDecl: K.Interface, n.ProvideDecl: K.Class, n.McpDecl: K.Namespace, n.ModelDecl: K.Object,
    n.StoreDecl: K.Variable, n.TestDecl: K.Event, n.PackDecl: K.Package, n.Binding: K.Property, n.TenantDecl: K.Object,
    n.Field: K.Field, n.Variant: K.EnumMember, n.Operation: K.Method, n.McpTool: K.Method, n.McpResource: K.Method, n.McpPrompt: K.Method,
}  # fmt: skip

_WORDS: dict[type, str] = {
    n.PermissionDecl: "permission", n.RoleDecl: "role", n.EnumDecl: "enum", n.RecordDecl: "record", n.ErrorDecl: "error",
    n.TypeDecl: "type", n.ConstDecl: "const", n.FunctionDecl: "fn", n.ToolDecl: "tool", n.NodeDecl: "node", n.AgentDecl: "agent",
    n.SkillDecl: "skill", n.ServiceDecl: "service", n.ProvideDecl: "provide", n.McpDecl: "mcp", n.ModelDecl: "model",
    n.StoreDecl: "store", n.TestDecl: "test", n.PackDecl: "pack", n.TenantDecl: "tenant", n.McpTool: "tool", n.McpResource: "resource",
    n.McpPrompt: "prompt",
}  # fmt: skip


def document_symbols(asked: Asked, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol] | list[lsp.SymbolInformation]:
    """`textDocument/documentSymbol`."""
    file = asked.file
    found = [_tree(file, node) for node in file.tree.declarations if not isinstance(node, n.Use)]
    able = asked.client.text_document and asked.client.text_document.document_symbol
    if able and able.hierarchical_document_symbol_support:
        return found
    return list(_flat(file, found, None))


def _flat(file: File, found: Iterable[lsp.DocumentSymbol], container: str | None) -> Iterator[lsp.SymbolInformation]:
    """For clients that know no trees."""
    for one in found:
        yield lsp.SymbolInformation(lsp.Location(file.uri, one.selection_range), one.name, one.kind, container_name=container)
        yield from _flat(file, one.children or (), one.name)


def _tree(file: File, node: n.Node) -> lsp.DocumentSymbol:
    name, at = name_of(node)
    whole = node.span.to(at)
    children = [_tree(file, one) for one in inner(node)]
    table = isinstance(node, n.FunctionDecl) and isinstance(node.body, n.Rows)
    detail = "table" if table else _WORDS.get(type(node), "") or None
    return lsp.DocumentSymbol(
        name=name or "…",
        kind=KINDS[type(node)],
        range=file.lines.range(whole),
        selection_range=file.lines.range(at),
        detail=detail,
        children=children,
    )


def inner(node: n.Node) -> tuple[n.Node, ...]:
    """What stands in a declaration with a name of its own."""
    match node:
        case n.RecordDecl(fields=fields) | n.ErrorDecl(fields=fields) | n.Variant(fields=fields):
            return fields
        case n.EnumDecl(variants=variants):
            return variants
        case n.ServiceDecl(operations=operations):
            return operations
        case n.SkillDecl(functions=functions) | n.ProvideDecl(functions=functions):
            return functions
        case n.McpDecl(members=members):
            return members
        case _:
            return ()


def name_of(node: n.Node) -> tuple[str, Span]:
    """The name of what is declared, and where it stands."""
    match node:
        case n.PermissionDecl(path=path) | n.RoleDecl(path=path):
            return path.text, path.span
        case n.ProvideDecl(alias=alias, service=service):
            return (alias.text, alias.span) if alias is not None else (service.text, service.span)
        case n.TestDecl(title=title):
            return "".join(part.text for part in title.parts if isinstance(part, n.TextPart)), title.span
        case n.Binding(kind=kind, subject=subject, target=target):
            words = [
                kind.text,
                *([subject.text] if subject is not None else []),
                *(["->", target.text] if target is not None else []),
            ]
            return " ".join(words), (subject or kind).span
        case _:
            name = getattr(node, "name", None)
            return (name.text, name.span) if isinstance(name, n.Name) else ("", node.span)


# --- the workspace -------------------------------------------------------------------------------------------------------


def workspace_symbols(asked: Asked, params: lsp.WorkspaceSymbolParams) -> list[lsp.WorkspaceSymbol]:
    """`workspace/symbol`: what the programs of the workspace declare themselves."""
    found: dict[tuple[str, Span], tuple[int, str, File, Span, lsp.SymbolKind, str]] = {}
    for snapshot in (asked.snapshot, *asked.others()):
        for score, name, file, span, kind, container in matching(snapshot, params.query):
            found.setdefault((file.uri, span), (score, name, file, span, kind, container))
    best = sorted(found.values(), key=lambda one: (one[0], one[1], one[2].uri, one[3]))[:MAX_SYMBOLS]
    return [
        lsp.WorkspaceSymbol(lsp.Location(file.uri, file.lines.range(span)), name, kind, container_name=container)
        for _, name, file, span, kind, container in best
    ]


def matching(snapshot: Snapshot, query: str) -> Iterator[tuple[int, str, File, Span, lsp.SymbolKind, str]]:
    """The symbols of one program that a query means: how far each is from it, its name, place, kind and what it stands in."""
    for file in snapshot.files.values():
        if not file.own or file.kind not in ("module", "deployment", "pack"):
            continue
        for node in file.tree.declarations:
            if isinstance(node, n.Use):
                continue
            stack: list[tuple[n.Node, str]] = [(node, file.name or file.path.name)]
            while stack:
                one, container = stack.pop()
                name, span = name_of(one)
                score = distance(query, name)
                if score is not None and not isinstance(one, n.Field):
                    yield score, name, file, span, KINDS[type(one)], container
                stack.extend((child, name) for child in inner(one))


def distance(query: str, name: str) -> int | None:
    """How far a name is from what was typed, 0 for the name itself; None where its letters do not stand in it in their order."""
    if not query:
        return 50
    low, wanted = name.lower(), query.lower()
    if low == wanted:
        return 0
    if low.startswith(wanted):
        return 1
    at = low.find(wanted)
    if at >= 0:
        return 2 if low[at - 1] in "._ " or name[at].isupper() else 4
    place, gaps, starts = -1, 0, 0
    for char in wanted:
        following = low.find(char, place + 1)
        if following < 0:
            return None
        gaps += following > place + 1
        starts += following == 0 or low[following - 1] in "._ " or name[following].isupper()
        place = following
    return 5 + 2 * gaps - min(starts, gaps)
