"""Another name for what is named at the cursor, in all files of the program; what would change its meaning is refused with a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol import types as lsp

from ael.check.collect import Symbol
from ael.check.declare import LANGUAGE, RESERVED, WORDS, style
from ael.editor.feature import Asked, Refused
from ael.editor.features.entity import Entity, Occurrence
from ael.editor.features.hover import token_at
from ael.editor.features.names import at, home, names, references, visible
from ael.editor.features.rename_check import Edits, verify
from ael.editor.snapshot import File, Snapshot
from ael.source import Span
from ael.syntax import nodes as n
from ael.syntax.tables import RESERVED as KEYWORDS
from ael.syntax.words import IS_RESERVED

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_DOTTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*\Z")
_WHAT = {
    "permission": "permission", "role": "role", "variant": "variant", "field": "field", "parameter": "parameter", "local": "local name",
    "type_parameter": "type parameter", "module": "module", "secret": "secret", "setting": "setting",
}  # fmt: skip


def prepare(asked: Asked, params: lsp.PrepareRenameParams) -> lsp.PrepareRenamePlaceholder:
    """`textDocument/prepareRename`."""
    file = asked.file
    one = renamed_at(asked.snapshot, file, file.lines.offset(params.position))[0]
    span = Span(one.start, one.end)
    return lsp.PrepareRenamePlaceholder(file.lines.range(span), file.source.text[one.start : one.end])


def rename(asked: Asked, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
    """`textDocument/rename`."""
    file = asked.file
    edits = edits_for(asked.snapshot, file, file.lines.offset(params.position), params.new_name)
    return workspace_edit(asked.client, edits)


def workspace_edit(client: lsp.ClientCapabilities, edits: Edits) -> lsp.WorkspaceEdit:
    """Edits as the protocol writes them: with the versions of the documents, where the client knows them."""
    found = {file: [lsp.TextEdit(file.lines.range(span), text) for span, text in sorted(many)] for file, many in edits.items()}
    able = client.workspace and client.workspace.workspace_edit
    if able and able.document_changes:
        return lsp.WorkspaceEdit(
            document_changes=[
                lsp.TextDocumentEdit(lsp.OptionalVersionedTextDocumentIdentifier(file.uri, file.version), list(many))
                for file, many in found.items()
            ]
        )
    return lsp.WorkspaceEdit(changes={file.uri: many for file, many in found.items()})


# --- what can be renamed ---------------------------------------------------------------------------------------------------


def renamed_at(snapshot: Snapshot, file: File, offset: int) -> list[Occurrence]:
    """The names at an offset, which can have another name. Raises `Refused`."""
    if not file.own:
        raise Refused(f"{file.path.name} is not of this program, and is not changed")
    found = at(snapshot, file, offset)
    if not found:
        raise Refused(_no_name(file, offset))
    for one in found:
        _renamable(snapshot, file, one)
    return found


def _no_name(file: File, offset: int) -> str:
    index = token_at(file, offset)
    if index is not None and file.tokens.kinds[index] in IS_RESERVED:
        return f"`{file.tokens.texts[index]}` is a word of the language, and has no other name"
    return "there is no name here that can be changed"


def _renamable(snapshot: Snapshot, file: File, one: Occurrence) -> None:
    entity = one.entity
    text = file.source.text[one.start : one.end]
    symbol = snapshot.collected.symbols.get(entity.name) if entity.kind == "symbol" else None
    if entity.kind in ("builtin", "method", "word", "store_operation") or (entity.kind == "symbol" and symbol is None):
        raise Refused(f"`{text}` belongs to the language, and has no other name")
    if entity.kind == "test":
        raise Refused("the title of a test is a text: change it where it stands")
    if not entity.shared:
        raise Refused(f"`{text}` is a field of a record without a name: change it where it is made and read")
    if entity.kind == "module":
        if isinstance(one.node, n.Use) and one.start == one.node.module_span.start and one.role == "import":
            raise Refused(f"`{text}` is a file: rename the file, or give the module another name here with `as`")
        return
    if entity.kind in ("secret", "setting"):
        return
    if _alias(snapshot, file, one):
        return
    where = home(snapshot, entity)
    if entity.kind in ("field", "parameter") and where is None:
        raise Refused(f"`{text}` belongs to the language, and has no other name")
    if where is None:
        raise Refused(f"what `{text}` means is not known well enough to give it another name")
    if not where.own:
        whose = "the standard library" if where.name.startswith("std/") else f"the pack `{where.name.partition('/')[0]}`"
        raise Refused(f"`{text}` is declared in {whose}: it can be imported under another name, `{text} as …`")
    owner = snapshot.collected.symbols.get(_declarer(snapshot, entity))
    if owner is not None and isinstance(owner.node, n.McpMember) and (owner.kind != "tool" or entity.kind == "parameter"):
        raise Refused(f"`{text}` comes from the definition of an MCP server, which `ael.lock` pins")


def _declarer(snapshot: Snapshot, entity: Entity) -> str:
    """The declared symbol that an entity is, or is a part of."""
    key = entity.owner or entity.name
    while key and key not in snapshot.collected.symbols:
        key = key.rpartition(".")[0]
    return key


def _alias(snapshot: Snapshot, file: File, one: Occurrence) -> bool:
    """Whether the name is one that this module alone gives, by an `as`."""
    if file.scope is None:
        return False
    text = file.source.text[one.start : one.end]
    given = file.scope.imports.get(text)
    return given is not None and getattr(given, "alias", None) is not None and text != one.entity.short


# --- the edits ---------------------------------------------------------------------------------------------------------------


def edits_for(snapshot: Snapshot, file: File, offset: int, new: str) -> Edits:
    """The edits that give what is named at an offset the name `new`. Raises `Refused`."""
    found = renamed_at(snapshot, file, offset)
    old = file.source.text[found[0].start : found[0].end]
    if new == old:
        return {}
    edits: Edits = {}
    servers: dict[str, str] = {}
    for one in found:
        _writable(snapshot, one.entity, new)
        local = one.entity.kind == "module" or _alias(snapshot, file, one)
        places = (
            [(file, o) for o in names(snapshot, file) if o.entity == one.entity] if local else references(snapshot, one.entity)
        )
        for where, place in places:
            span = Span(place.start, place.end)
            if where.source.text[place.start : place.end] != old:
                continue  # another name for it, which stays
            if not where.own:
                raise Refused(f"`{old}` is named in {where.path.name}, which is not of this program")
            edits.setdefault(where, [])
            if (span, new) not in edits[where]:
                edits[where].append((span, new))
        if one.entity.kind == "module":
            _named_module(snapshot, file, one.entity, old, new, edits)
        if not local:
            _free(snapshot, one.entity, old, new, list(edits))
            _keep_wire(snapshot, one.entity, old, edits)
            _types_of_tool(snapshot, one.entity, old, new, edits)
            servers |= _pinned(snapshot, one.entity, new, edits)
            for where, span in _in_scripts(snapshot, one.entity, old):
                edits.setdefault(where, []).append((span, new))
        elif file.scope is not None and new in file.scope.names:
            raise Refused(f"`{new}` means something else in this module already")
    verify(snapshot, edits, servers)
    return edits


def _writable(snapshot: Snapshot, entity: Entity, new: str) -> None:
    """Raise `Refused` where `new` is no name, or none of this kind."""
    dotted = entity.kind in ("permission", "role")
    if not (_DOTTED if dotted else _NAME).match(new):
        dots = ", with dots between parts" if dotted else ""
        raise Refused(f"`{new}` is no name: letters, digits and `_`, not beginning with a digit{dots}")
    if new in KEYWORDS and entity.kind != "field":
        raise Refused(f"`{new}` is a word of the language, and cannot be a name here")
    symbol = snapshot.collected.symbols.get(entity.name) if entity.kind == "symbol" else None
    form, what = None, _WHAT.get(entity.kind, "name")
    if symbol is not None:
        form, what = style(symbol.kind, new), WORDS[symbol.kind]
    elif entity.kind in ("local", "parameter"):
        form = style("function", new)
    if form is not None:
        raise Refused(f"the name of a {what} is written `{form}`, not `{new}`")
    if symbol is not None and "." not in _inside(symbol) and (new in LANGUAGE or new in RESERVED):
        raise Refused(f"`{new}` belongs to the language: choose another name")


def _inside(symbol: Symbol) -> str:
    """The name of a symbol in its module."""
    return symbol.name.removeprefix(f"{symbol.module}.")


def _free(snapshot: Snapshot, entity: Entity, old: str, new: str, files: list[File]) -> None:
    """Raise `Refused` where something else has the name already."""
    collected = snapshot.collected
    match entity.kind:
        case "symbol":
            symbol = collected.symbols[entity.name]
            if "." in _inside(symbol):
                other = collected.symbols.get(f"{entity.name.rpartition('.')[0]}.{new}")
                if other is not None:
                    raise Refused(f"`{entity.name.rpartition('.')[0].rpartition('.')[2]}` has a `{new}` already")
                return
            for file in files:
                known = file.scope.names.get(new) if file.scope is not None else None
                if known is not None and known.kind != "unknown" and _sees(file, old):
                    raise Refused(f"`{new}` means a {WORDS[known.kind]} in {file.path.name} already")
        case "permission" | "role":
            names = collected.permissions if entity.kind == "permission" else collected.roles
            if new in names or entity.name.removesuffix(old) + new in names:
                raise Refused(f"there is a {entity.kind} `{new}` already")
        case "field" | "variant" | "parameter" | "type_parameter":
            if new in _siblings(snapshot, entity):
                owner = entity.owner.removeprefix("provide ").rpartition(".")[2]
                raise Refused(f"`{owner}` has a {_WHAT[entity.kind]} `{new}` already")
        case "local":
            own = next((one for one in files if one.name == entity.owner), None)
            if own is not None and new in visible(snapshot, own, entity.at + len(old)):
                raise Refused(f"`{new}` is a local name there already")
        case _:
            pass


def _sees(file: File, old: str) -> bool:
    return file.scope is not None and old in file.scope.names


def _siblings(snapshot: Snapshot, entity: Entity) -> set[str]:
    collected = snapshot.collected
    if entity.kind in ("parameter", "type_parameter"):
        signature = collected.signatures.get(entity.owner)
        if signature is None:
            return set()
        return {p.name for p in signature.parameters} if entity.kind == "parameter" else set(signature.type_parameters)
    definition = collected.definitions.get(entity.owner)
    if definition is None:
        owner, _, name = entity.owner.rpartition(".")
        variants = getattr(collected.definitions.get(owner), "variants", ())
        return {f.name for v in variants if v.name == name for f in v.fields}
    return {one.name for one in (*getattr(definition, "fields", ()), *getattr(definition, "variants", ()))}


def _named_module(snapshot: Snapshot, file: File, entity: Entity, old: str, new: str, edits: Edits) -> None:
    """A module that is used by the last part of its path gets its new name by an `as`."""
    for node in file.tree.declarations:
        if isinstance(node, n.Use) and not node.names and node.alias is None and node.module.rpartition("/")[2] == old:
            known = file.scope.names.get(old) if file.scope is not None else None
            if known is not None and known.kind == "module" and known.name == entity.name:
                end = node.module_span.end
                edits.setdefault(file, []).append((Span(end, end), f" as {new}"))


def _keep_wire(snapshot: Snapshot, entity: Entity, old: str, edits: Edits) -> None:
    """A tool of a server that is called by its name there keeps it, `as "…"`."""
    symbol = snapshot.collected.symbols.get(entity.name) if entity.kind == "symbol" else None
    node = symbol.node if symbol is not None else None
    if isinstance(node, n.McpTool | n.McpPrompt) and node.wire is None and symbol is not None and symbol.kind == "tool":
        file = snapshot.modules[symbol.module]
        end = node.name.span.end
        edits.setdefault(file, []).append((Span(end, end), f' as "{old}"'))


def _types_of_tool(snapshot: Snapshot, entity: Entity, old: str, new: str, edits: Edits) -> None:
    """The types of a server's tool are called after it."""
    collected = snapshot.collected
    symbol = collected.symbols.get(entity.name) if entity.kind == "symbol" else None
    if symbol is None or symbol.kind != "tool" or not isinstance(symbol.node, n.McpTool):
        return
    lead, other = style("record", old) or old, style("record", new) or new
    for one in list(collected.symbols.values()):
        short = one.name.rpartition(".")[2]
        if one.node is symbol.node and one is not symbol and short.startswith(lead):
            for file, place in references(snapshot, Entity("symbol", one.name)):
                edits.setdefault(file, []).append((Span(place.start, place.end), other + short[len(lead) :]))


def _pinned(snapshot: Snapshot, entity: Entity, new: str, edits: Edits) -> dict[str, str]:
    """The lock keeps the definitions of an MCP server under its name, which becomes another one."""
    symbol = snapshot.collected.symbols.get(entity.name) if entity.kind == "symbol" else None
    if symbol is None or symbol.kind != "mcp":
        return {}
    renamed = f"{symbol.module}.{new}"
    for file in snapshot.files.values():
        if file.kind == "lock" and file.own:
            at = file.source.text.find(f'"{symbol.name}":')
            if at >= 0:
                edits.setdefault(file, []).append((Span(at + 1, at + 1 + len(symbol.name)), renamed))
    return {symbol.name: renamed}


def _in_scripts(snapshot: Snapshot, entity: Entity, old: str) -> Iterator[tuple[File, Span]]:
    """What tests say in texts: the tool that a scripted model calls, the names of its arguments."""
    collected = snapshot.collected
    owner = entity.owner if entity.kind == "parameter" else entity.name if entity.kind == "symbol" else ""
    symbol = collected.symbols.get(owner)
    if symbol is None or symbol.kind not in ("tool", "node", "agent"):
        return
    short = symbol.name.rpartition(".")[2]
    alike = [one for one in collected.of_kind("tool", "node", "agent") if one.name.rpartition(".")[2] == short]
    if len(alike) > 1 or isinstance(symbol.node, n.McpMember):
        return
    for file in snapshot.files.values():
        if not file.own or file.kind != "module" or old not in file.source.text:
            continue
        for test in file.tree.declarations:
            for one in n.walk(test) if isinstance(test, n.TestDecl) else ():
                if isinstance(one, n.Call) and isinstance(one.callee, n.Reference) and one.callee.name.text == "call":
                    yield from ((file, span) for span in _said(one, short, entity, old))


def _said(call: n.Call, short: str, entity: Entity, old: str) -> Iterator[Span]:
    """The texts of a scripted call that name what is renamed."""
    values = [one.value for one in call.arguments]
    if not values or _plain(values[0]) != short:
        return
    if entity.kind == "symbol":
        yield Span(values[0].span.start + 1, values[0].span.end - 1)
    elif len(values) > 1 and isinstance(values[1], n.MapLit):
        for entry in values[1].entries:
            if _plain(entry.key) == old:
                yield Span(entry.key.span.start + 1, entry.key.span.end - 1)


def _plain(node: n.Node) -> str | None:
    match node:
        case n.StringLit(form="plain", parts=(n.TextPart(text=text),)) if node.span.end - node.span.start == len(text) + 2:
            return text
        case _:
            return None
