"""What a completion offers: items in the order in which they are likely to be meant, bounded, as the protocol writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from lsprotocol import types as lsp

from ael.check.collect import Kind
from ael.data import dataclass, field
from ael.editor.features.entity import Entity
from ael.editor.snapshot import File
from ael.source import Span

MAX_ITEMS = 250
"""Items of one answer; the client asks again when more is typed."""

K = lsp.CompletionItemKind
KINDS: dict[Kind, lsp.CompletionItemKind] = {
    "record": K.Struct, "error": K.Struct, "enum": K.Enum, "alias": K.TypeParameter, "type": K.TypeParameter, "fault": K.Struct,
    "const": K.Constant, "function": K.Function, "tool": K.Function, "node": K.Class, "agent": K.Class, "skill": K.Module, "mcp": K.Module,
    "service": K.Interface, "operation": K.Method, "provide": K.Class, "model": K.Constant, "store": K.Variable, "module": K.Module,
    "permission": K.EnumMember, "role": K.EnumMember, "unknown": K.Text,
}  # fmt: skip

FIRST, EXPECTED, LOCAL, OWN, IMPORTED, LANGUAGE, WORD, ELSEWHERE = range(8)
"""The order of groups: what fills in all, what has the type that is expected, local names, …, names that need another `use`."""


@dataclass
class Item:
    """One thing that can be written. `snippet` is what is inserted by a client that knows snippets, `insert` by others."""

    label: str
    kind: lsp.CompletionItemKind
    group: int = OWN
    detail: str = ""
    insert: str = ""
    snippet: str = ""
    entity: Entity | None = None
    doc: str = ""
    edits: list[tuple[Span, str]] = field(default_factory=list)
    asks: bool = False
    """Whether the client should show the signature next."""
    rank: int = 0


def escape(text: str) -> str:
    """Text in a snippet."""
    return re.sub(r"([\\$}])", r"\\\1", text)


def fits(word: str, label: str) -> int | None:
    """How far a label is from what was typed, less is nearer; None where its letters do not stand in it in their order."""
    if not word:
        return 0
    low, wanted = label.lower(), word.lower()
    if label.startswith(word):
        return 0
    if low.startswith(wanted):
        return 1
    if f"_{wanted}" in low or f".{wanted}" in low:
        return 2
    if wanted in low:
        return 3
    at = -1
    for char in wanted:
        at = low.find(char, at + 1)
        if at < 0:
            return None
    return 4 if low[0] == wanted[0] else 5


def chosen(items: Iterable[Item], word: str) -> tuple[list[Item], bool]:
    """The items that fit what was typed, the likely first, each label once in its kind; and whether some were left out."""
    best: dict[tuple[str, lsp.CompletionItemKind], tuple[int, int, int, str, Item]] = {}
    for item in items:
        far = fits(word, item.label)
        if far is None or (item.group == ELSEWHERE and (len(word) < 2 or far > 1)):
            continue
        key = (item.label, item.kind)
        value = (item.group, item.rank, far, item.label, item)
        if key not in best or value[:4] < best[key][:4]:
            best[key] = value
    found = sorted(best.values(), key=lambda one: one[:4])
    return [one[4] for one in found[:MAX_ITEMS]], len(found) > MAX_ITEMS


def to_lsp(
    file: File, items: list[Item], span: Span, client: lsp.ClientCapabilities, filter_text: str = ""
) -> list[lsp.CompletionItem]:
    """The items as the protocol writes them; `span` is what each replaces."""
    able = client.text_document.completion.completion_item if client.text_document and client.text_document.completion else None
    snippets = bool(able and able.snippet_support)
    place = file.lines.range(span)
    made: list[lsp.CompletionItem] = []
    for number, item in enumerate(items):
        snippet = item.snippet if snippets else ""
        text = snippet or item.insert or item.label
        entity = list(item.entity) if item.entity is not None else None
        extra = [lsp.TextEdit(file.lines.range(where), what) for where, what in item.edits]
        made.append(
            lsp.CompletionItem(
                label=item.label,
                kind=item.kind,
                detail=item.detail or None,
                documentation=lsp.MarkupContent(lsp.MarkupKind.Markdown, item.doc) if item.doc else None,
                sort_text=f"{number:04d}",
                filter_text=filter_text + item.label if filter_text else None,
                insert_text_mode=lsp.InsertTextMode.AdjustIndentation if "\n" in text else None,
                insert_text_format=lsp.InsertTextFormat.Snippet if snippet else lsp.InsertTextFormat.PlainText,
                text_edit=lsp.TextEdit(place, text),
                additional_text_edits=extra or None,
                command=lsp.Command("", "editor.action.triggerParameterHints")
                if item.asks and snippet and _vscode(client)
                else None,
                data={"uri": file.uri, "entity": entity} if entity is not None else {"uri": file.uri},
            )
        )
    return made


def _vscode(client: lsp.ClientCapabilities) -> bool:
    """Whether the client says that it knows the command that shows a signature."""
    experimental = client.experimental
    return isinstance(experimental, Mapping) and bool(experimental.get("triggerParameterHints"))
