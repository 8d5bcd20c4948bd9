"""Changes of files as the protocol says them: fixes of diagnostics, and the one style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from lsprotocol import types as lsp

from ael.diagnostics.diagnostic import Bag, Diagnostic, Edit
from ael.diagnostics.fix import apply
from ael.editor.positions import Lines
from ael.editor.reports import Reporter, told
from ael.editor.snapshot import File, Snapshot
from ael.source import Source, Span
from ael.syntax import nodes as n
from ael.syntax.format import format_module
from ael.syntax.parse import parse_deployment, parse_module, parse_pack

FIX_ALL = "source.fixAll.ael"
IMPORTS = lsp.CodeActionKind.SourceOrganizeImports
_UNUSED_IMPORT = "AEL1102"
_PARSE = {"module": parse_module, "pack": parse_pack, "deployment": parse_deployment}
_MAX_COMPARED = 4_000_000
"""Pairs of lines that are compared; of a longer text, what lies between its first and last change is replaced."""


def workspace_edit(snapshot: Snapshot, edits: Iterable[Edit], versioned: bool) -> lsp.WorkspaceEdit | None:
    """Edits in files of the program's own; None where one is elsewhere, which is not to be changed."""
    found: dict[File, list[lsp.TextEdit]] = {}
    for edit in edits:
        path = edit.place.source.path
        file = snapshot.files.get(path.resolve()) if path is not None else None
        if file is None or not file.own or file.source is not edit.place.source:
            return None
        found.setdefault(file, []).append(lsp.TextEdit(file.lines.range(edit.place.span), edit.text))
    if not versioned:
        return lsp.WorkspaceEdit(changes={file.uri: made for file, made in found.items()})
    return lsp.WorkspaceEdit(
        document_changes=[
            lsp.TextDocumentEdit(lsp.OptionalVersionedTextDocumentIdentifier(file.uri, file.version), list(made))
            for file, made in found.items()
        ]
    )


def fixes(
    snapshot: Snapshot, file: File, range: lsp.Range, only: Sequence[str] | None, reporter: Reporter, versioned: bool
) -> list[lsp.CodeAction]:
    """The code actions for what is wrong in a range, and those for the whole file."""
    actions: list[lsp.CodeAction] = []
    span = file.lines.span(range)
    if _wanted(lsp.CodeActionKind.QuickFix, only):
        for found in told(snapshot, file):
            place = found.place.span
            if found.fix is None or place.start > span.end or place.end < span.start:
                continue
            edit = workspace_edit(snapshot, found.fix.edits, versioned)
            if edit is not None:
                title = found.fix.title[:1].upper() + found.fix.title[1:]
                shown = [reporter.diagnostic(found)]
                actions.append(lsp.CodeAction(title, lsp.CodeActionKind.QuickFix, shown, is_preferred=True, edit=edit))
    if only is not None and _wanted(FIX_ALL, only):
        actions += _whole(snapshot, file, told(snapshot, file), "Apply all safe fixes", FIX_ALL, versioned)
    if only is not None and _wanted(IMPORTS, only):
        unused = [one for one in told(snapshot, file) if one.code == _UNUSED_IMPORT]
        actions += _whole(snapshot, file, unused, "Remove unused imports", IMPORTS, versioned)
    return actions


def _wanted(kind: str, only: Sequence[str] | None) -> bool:
    return only is None or any(kind == one or kind.startswith(f"{one}.") for one in only)


def _whole(
    snapshot: Snapshot, file: File, found: Sequence[Diagnostic], title: str, kind: str, versioned: bool
) -> list[lsp.CodeAction]:
    text = apply(found).get(file.source)
    if text is None or not file.own:
        return []
    made = changes(file.lines, text)
    if not versioned:
        edit = lsp.WorkspaceEdit(changes={file.uri: made})
    else:
        identifier = lsp.OptionalVersionedTextDocumentIdentifier(file.uri, file.version)
        edit = lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(identifier, list(made))])
    return [lsp.CodeAction(title, kind, edit=edit)]


# --- formatting ----------------------------------------------------------------------------------------------------------


def formatted(file: File) -> list[lsp.TextEdit] | None:
    """The changes that give a file the one style; None for one that does not parse, and what is no source."""
    text = _format(file, file.source)
    return None if text is None else changes(file.lines, text)


def formatted_range(file: File, span: Span) -> list[lsp.TextEdit] | None:
    """As `formatted`, for the declarations that a range touches. The others need not parse."""
    inside = [d for d in file.tree.declarations if d.span.start <= span.end and d.span.end >= span.start]
    if not inside or not _adjacent(file, inside):
        return None
    text = file.source.text
    start, end = _begin(file, inside[0]), inside[-1].span.end
    new = _format(file, Source(file.source.name, text[start:end]))
    if new is None:
        return None
    return changes(file.lines, text[:start] + new.rstrip("\r\n") + text[end:])


def _format(file: File, source: Source) -> str | None:
    parse = _PARSE.get(file.kind)
    if parse is None:
        return None
    bag = Bag()
    tree = parse(source, bag)
    try:
        return None if bag.errors else format_module(tree)
    except (ValueError, AssertionError):  # what cannot be formatted stays as it is
        return None


def _adjacent(file: File, inside: Sequence[n.Declaration]) -> bool:
    """Whether nothing that does not parse stands between the declarations: the text from the first to the last parses by itself."""
    tokens = file.tokens
    between = [piece for piece in tokens.pieces if inside[0].span.start <= tokens.starts[piece.first] <= inside[-1].span.end]
    return len(between) == len(inside)


def _begin(file: File, declaration: n.Declaration) -> int:
    """Where a declaration begins with its doc comment."""
    doc = getattr(declaration, "doc", None)
    return doc.span.start if isinstance(doc, n.Doc) else declaration.span.start


def changes(lines: Lines, new: str) -> list[lsp.TextEdit]:
    """The edits, each of whole lines, that make a text into another; those that do not change are not touched, so that cursors stay."""
    old = lines.source.text
    if "\r\n" in old and "\r" not in new:
        new = new.replace("\n", "\r\n")  # how lines end is the editor's business
    if old == new:
        return []
    starts = lines.source.line_starts()
    before = [old[a:b] for a, b in zip(starts, [*starts[1:], len(old)], strict=True)]
    fresh = Source("", new)
    at = fresh.line_starts()
    after = [new[a:b] for a, b in zip(at, [*at[1:], len(new)], strict=True)]
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    left, right = before[head : len(before) - tail], after[head : len(after) - tail]
    blocks = [("replace", 0, len(left), 0, len(right))]
    if len(left) * len(right) <= _MAX_COMPARED:
        blocks = list(SequenceMatcher(None, left, right, autojunk=False).get_opcodes())
    edits = []
    ends = [*starts, len(old)]
    for kind, a, b, c, d in blocks:
        if kind != "equal":
            span = Span(ends[head + a], ends[head + b])
            edits.append(lsp.TextEdit(lines.range(span), "".join(right[c:d])))
    return edits
