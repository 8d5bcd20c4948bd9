"""What somebody may be about to write at the cursor, the likely first; what is costly to say of an item is said when it is looked at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from lsprotocol import types as lsp

from ael.editor.feature import Asked
from ael.editor.features import complete_deploy
from ael.editor.features.complete_places import placed
from ael.editor.features.complete_words import units, words
from ael.editor.features.cursor import Cursor
from ael.editor.features.describe import describe
from ael.editor.features.entity import Entity
from ael.editor.features.imports import library, module_paths
from ael.editor.features.items import EXPECTED, KINDS, OWN, Item, K, chosen, to_lsp
from ael.editor.features.meaning import entity_of, module_entity
from ael.editor.snapshot import File, Snapshot
from ael.source import Span
from ael.syntax import nodes as n


def complete(asked: Asked, params: lsp.CompletionParams) -> lsp.CompletionList:
    """`textDocument/completion`."""
    file = asked.file
    offset = file.lines.offset(params.position)
    if params.context is not None and params.context.trigger_character == '"' and not _names_file(file, offset):
        return lsp.CompletionList(False, [])
    span, word, items = offered(asked.snapshot, file, offset)
    found, more = chosen(items, word)
    return lsp.CompletionList(more, to_lsp(file, found, span, asked.client))


def _names_file(file: File, offset: int) -> bool:
    line = file.source.text[:offset].rpartition("\n")[2]
    return bool(re.search(r'(?:instructions\s+from|call\(|secret\(|setting\()\s*"\Z', line))


def offered(snapshot: Snapshot, file: File, offset: int) -> tuple[Span, str, list[Item]]:
    """What can be written at an offset: the span that it replaces, what of it is typed already, and the items."""
    if file.kind not in ("module", "deployment", "pack"):
        return Span(offset, offset), "", []
    cursor = Cursor(snapshot, file, offset)
    span = Span(cursor.start, cursor.end)
    number = units(cursor)
    if number is not None:
        return Span(number[0], cursor.end), file.source.text[number[0] : offset], number[1]
    if cursor.at is None:
        return _in_text(cursor)
    if file.kind == "deployment":
        items = list(complete_deploy.deployment(cursor))
        if not cursor.line_start or cursor.start != cursor.first:
            items += list(words(cursor)) if any(isinstance(x, n.TenantDecl) for x in cursor.path) else []
        return _dotted(cursor, span, items)
    if file.kind == "pack":
        items = [*complete_deploy.pack(cursor)]
        start = cursor.file.source.text.rfind("\n", 0, offset) + 1
        path = re.search(r"[\w/]*\Z", file.source.text[start:offset])
        begin = start + path.start() if path is not None else cursor.start
        return Span(begin, cursor.end), file.source.text[begin:offset], items
    if cursor.before[:1] == ["use"]:
        return _use(cursor)
    return _dotted(cursor, span, [*_module(cursor)])


def _module(cursor: Cursor) -> Iterator[Item]:
    """What can stand at the cursor in a module."""
    place = placed(cursor) if cursor.takes_name or cursor.previous == "." else None
    if place is not None:
        yield from place
    elif cursor.guess is None and cursor.machine is None:
        yield from _fallback(cursor)
    if cursor.previous != ".":
        yield from words(cursor)


def _fallback(cursor: Cursor) -> Iterator[Item]:
    """Where the text before the cursor cannot be read: what the module sees."""
    scope = cursor.file.scope
    for name, symbol in scope.names.items() if scope is not None else ():
        if symbol.kind != "unknown":
            yield Item(name, KINDS[symbol.kind], OWN, symbol.kind, entity=entity_of(symbol))


def _dotted(cursor: Cursor, span: Span, items: list[Item]) -> tuple[Span, str, list[Item]]:
    """Permissions and roles are names with dots: what is typed of them begins before the last dot."""
    if cursor.previous != "." or not any("." in item.label for item in items):
        return span, cursor.word, items
    text = cursor.file.source.text
    found = re.search(r"[A-Za-z_][\w.]*\Z", text[: cursor.offset])
    start = found.start() if found is not None else cursor.start
    return Span(start, cursor.end), text[start : cursor.offset], items


# --- use -------------------------------------------------------------------------------------------------------------------


def _use(cursor: Cursor) -> tuple[Span, str, list[Item]]:
    """The path of a module, or the names that it shows."""
    text = cursor.file.source.text
    line = text[cursor.first : cursor.offset]
    span = Span(cursor.start, cursor.end)
    if "{" in line or re.search(r"use\s+[\w./]*\w\.\w*\Z", line):
        return span, cursor.word, [*_shown(cursor)]
    if re.search(r"use\s+\S+\s", line):
        return span, cursor.word, [Item("as", K.Keyword, EXPECTED, "under another name")]
    lead = re.search(r"\buse\s*", line)
    start = cursor.first + lead.end() if lead is not None else cursor.start
    rest = re.match(r"[\w./]*", text[cursor.offset :])
    end = cursor.offset + (rest.end() if rest is not None and "." not in rest.group().strip("./") else 0)
    items = [
        Item(path, K.Module, EXPECTED, "module", entity=Entity("module", name), rank=path.startswith("std/"))
        for path, name in module_paths(cursor.snapshot, cursor.file)
    ]
    return Span(start, max(end, cursor.end)), text[start : cursor.offset], items


def _shown(cursor: Cursor) -> Iterator[Item]:
    """What the module of a `use` shows and this line does not bring yet."""
    text = cursor.file.source.text
    match = re.match(r"use\s+([\w./]*?\w)\.(?:\{|\w*\Z|\w)", text[cursor.first : cursor.last])
    scope = cursor.file.scope
    if match is None or scope is None:
        return
    whole = text[cursor.first : cursor.last].partition("\n\n")[0]
    there = set(re.findall(r"\w+", whole.partition("{")[2])) - {cursor.word}
    node = n.Use(Span(0, 0), match[1], Span(0, 0), (), None)
    target = module_entity(cursor.snapshot.collected, scope, node)
    module = cursor.snapshot.collected.modules.get(target.name) if target is not None else None
    if module is None:
        for one in library():
            if one.module == match[1] and one.name not in there:
                yield Item(one.name, KINDS[one.kind], EXPECTED, one.head, doc=one.doc)
        return
    own = not module.name.startswith("std/") and cursor.snapshot.modules[module.name].own
    for name, symbol in module.names.items():
        if name in module.imports or symbol.kind in ("unknown", "module") or not (symbol.public or own) or name in there:
            continue
        yield Item(name, KINDS[symbol.kind], EXPECTED if symbol.public else OWN, symbol.kind, entity=entity_of(symbol))


# --- in a text ----------------------------------------------------------------------------------------------------------------


def _in_text(cursor: Cursor) -> tuple[Span, str, list[Item]]:
    """In a text that names something: a file of instructions, a tool that a script calls, a secret or setting."""
    text = cursor.file.source.text
    start = text.rfind("\n", 0, cursor.offset) + 1
    found = re.search(r'(instructions\s+from|call\(|secret\(|setting\()\s*"([^"\n]*)\Z', text[start : cursor.offset])
    if found is None:
        return Span(cursor.start, cursor.end), cursor.word, []
    begin = start + found.start(2)
    rest = re.match(r'[^"\n]*', text[cursor.offset :])
    span = Span(begin, cursor.offset + (rest.end() if rest is not None else 0))
    items: list[Item] = []
    word = found[1].rstrip("(").split()[0]
    if word == "instructions":
        folder = cursor.file.path.parent
        files = sorted(path for path in folder.glob("**/*.md") if path.is_file())[:200]
        items = [Item(path.relative_to(folder).as_posix(), K.File, EXPECTED, "text file") for path in files]
    elif word == "call":
        items = [*_called(cursor)]
    else:
        items = [*_asked(cursor, word)]
    return span, found[2], items


def _called(cursor: Cursor) -> Iterator[Item]:
    """The tools that a model can call, by the names that it sees."""
    for symbol in cursor.snapshot.collected.of_kind("tool", "node", "agent"):
        owner, _, name = symbol.name.rpartition(".")
        server = owner.rpartition(".")[2] if owner in cursor.snapshot.collected.servers else ""
        yield Item(f"{server}__{name}" if server else name, KINDS[symbol.kind], OWN, symbol.kind, entity=entity_of(symbol))


def _asked(cursor: Cursor, word: str) -> Iterator[Item]:
    """The secrets or settings that a deployment binds."""
    for file in cursor.snapshot.files.values():
        for node in file.tree.declarations if file.kind == "deployment" else ():
            if isinstance(node, n.Binding) and node.kind.text == word and node.subject is not None:
                yield Item(node.subject.text, K.Constant, EXPECTED, f"in {file.path.name}")


# --- later -------------------------------------------------------------------------------------------------------------------


def resolve(asked: Asked, item: lsp.CompletionItem) -> lsp.CompletionItem:
    """`completionItem/resolve`: what is known of it."""
    data = item.data
    told = data.get("entity") if isinstance(data, Mapping) else getattr(data, "entity", None)
    if item.documentation is None and isinstance(told, list | tuple) and len(told) == 4:
        text = describe(asked.snapshot, Entity(*told)).markdown()
        if text:
            item.documentation = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
    return item
