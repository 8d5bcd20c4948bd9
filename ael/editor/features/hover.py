"""What is told of the place under the pointer: of a name, a literal with a unit, or a word of the language."""

from __future__ import annotations

from bisect import bisect_right
from datetime import timedelta
from decimal import Decimal
from typing import NamedTuple

from lsprotocol import types as lsp

from ael.check.program import Local
from ael.editor.feature import Asked
from ael.editor.features.describe import Description, describe
from ael.editor.features.entity import Occurrence
from ael.editor.features.markdown import quoted
from ael.editor.features.names import at
from ael.editor.features.pages import page
from ael.editor.snapshot import File, Snapshot
from ael.editor.word_help import LANGUAGE, WORDS
from ael.project.form import FORMS
from ael.source import Span
from ael.syntax import nodes as n
from ael.syntax.words import ANY_WORD, NAME
from ael.types.text import show
from ael.types.times import print_duration
from ael.types.type import Type, Unknown


class Told(NamedTuple):
    """What is told, as Markdown, and of which place."""

    text: str
    span: Span


def hover(asked: Asked, params: lsp.HoverParams) -> lsp.Hover | None:
    """`textDocument/hover`."""
    file = asked.file
    told = told_at(asked.snapshot, file, file.lines.offset(params.position))
    if told is None:
        return None
    kinds = asked.client.text_document and asked.client.text_document.hover and asked.client.text_document.hover.content_format
    kind = lsp.MarkupKind.PlainText if kinds and lsp.MarkupKind.Markdown not in kinds else lsp.MarkupKind.Markdown
    return lsp.Hover(lsp.MarkupContent(kind, told.text), file.lines.range(told.span))


def told_at(snapshot: Snapshot, file: File, offset: int) -> Told | None:
    """What is told at an offset; None where there is nothing to tell."""
    if file.kind not in ("module", "deployment", "pack"):
        return None
    found = at(snapshot, file, offset)
    if found:
        told = _of_names(snapshot, file, found)
        if told is not None:
            return told
    return _line(file, offset) or _literal(file, offset) or _word(snapshot, file, offset)


def _line(file: File, offset: int) -> Told | None:
    """The kind of a deployment's line: how it is written."""
    node = file.declaration_at(offset)
    if not isinstance(node, n.Binding) or not node.kind.span.start <= offset <= node.kind.span.end:
        return None
    form = FORMS.get(node.kind.text)
    if form is None:
        return None
    more = page("deployment.md", title="Deployments")
    return Told(Description(said=f"It is written {form}.", more=more).markdown(), node.kind.span)


def _of_names(snapshot: Snapshot, file: File, found: list[Occurrence]) -> Told | None:
    texts: dict[str, None] = {}
    for one in found:
        description = describe(snapshot, one.entity, type_at(file, one))
        if one.entity.kind in ("local", "parameter") and description.source:
            description = _local(file, one, description)
        text = description.markdown()
        if text:
            texts[text] = None
    first = found[0]
    return Told("\n\n---\n\n".join(texts), Span(first.start, first.end)) if texts else None


def type_at(file: File, one: Occurrence) -> Type | None:
    """The type of the value that a name stands for, where it stands."""
    tables, node = file.tables, one.node
    type = tables.types.get(node)
    if type is None and (local := tables.locals.get(node)) is not None:
        type = local.type
    if type is None and isinstance(node, n.Let | n.FieldValue):
        type = tables.types.get(node.value)
    elif type is None and isinstance(node, n.Assign):
        known = tables.resolved.get(node.name)
        type = known.type if isinstance(known, Local) else None
    return None if isinstance(type, Unknown) else type


def _local(file: File, one: Occurrence, description: Description) -> Description:
    """With the word that a local name is declared by."""
    node = one.node
    word = ""
    if isinstance(node, n.Let):
        word = "var " if node.mutable else "let "
    elif one.role == "write":
        word = "var "
    return Description(f"{word}{description.source}", description.said, description.facts, description.more)


# --- literals ------------------------------------------------------------------------------------------------------------


def _literal(file: File, offset: int) -> Told | None:
    node = next(iter(reversed(file.nodes_at(offset))), None)
    match node:
        case n.DurationLit(milliseconds=length):
            seconds = Decimal(length) / 1_000
            shown = [f"{seconds.normalize():,f} seconds", f"{quoted(print_duration(timedelta(milliseconds=length)))} in JSON"]
            return Told(Description("Duration", facts=[f"{', '.join(shown)}."]).markdown(), node.span)
        case n.SizeLit(bytes=size):
            return Told(Description("Int", facts=[f"{size:,} bytes."]).markdown(), node.span)
        case n.MoneyLit(value=amount):
            return Told(Description("Decimal", facts=[f"{amount:f} US dollars, exactly."]).markdown(), node.span)
        case n.IntLit() | n.FloatLit() if (type := file.tables.types.get(node)) is not None and not isinstance(type, Unknown):
            return Told(Description(show(type)).markdown(), node.span)
        case _:
            return None


# --- words ---------------------------------------------------------------------------------------------------------------


def token_at(file: File, offset: int) -> int | None:
    """The index of the token at an offset (its end included), None between tokens."""
    tokens = file.tokens
    index = bisect_right(tokens.starts, offset) - 1
    while index >= 0 and tokens.starts[index] <= offset:
        if offset <= tokens.ends[index] and tokens.ends[index] > tokens.starts[index]:
            return index
        if tokens.ends[index] < offset:
            break
        index -= 1
    return None


def _word(snapshot: Snapshot, file: File, offset: int) -> Told | None:
    index = token_at(file, offset)
    if index is None:
        return None
    tokens = file.tokens
    text, span = tokens.texts[index], Span(tokens.starts[index], tokens.ends[index])
    if tokens.kinds[index] not in ANY_WORD or tokens.kinds[index] == NAME or text not in WORDS:
        return None
    if any(isinstance(one, n.Name) and one.span == span for one in file.nodes_at(offset)):
        return None
    told, section = WORDS[text]
    facts = _passes(snapshot, file, offset) if text in ("try", "catch") else []
    more = page(LANGUAGE, section) if section else page("deployment.md", title="Deployments")
    return Told(Description(text, told, facts, more).markdown(), span)


def _passes(snapshot: Snapshot, file: File, offset: int) -> list[str]:
    """What the operand of a `try` or `catch` can fail with."""
    for node in reversed(file.nodes_at(offset)):
        if isinstance(node, n.Try | n.Catch):
            fails = sorted(name.rpartition(".")[2] for name in file.tables.failures.get(node, ()))
            return [f"The operand can fail with {', '.join(f'`{name}`' for name in fails)}."] if fails else []
    return []
