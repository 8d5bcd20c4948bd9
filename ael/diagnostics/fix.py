"""Applying fixes: what `ael check --fix` and an editor do."""

from __future__ import annotations

from collections.abc import Iterable

from ael.diagnostics.diagnostic import Diagnostic, Edit
from ael.source import Source


def apply(diagnostics: Iterable[Diagnostic]) -> dict[Source, str]:
    """The new text of each source that safe fixes change. A fix that overlaps an earlier one waits for the next round."""
    taken: dict[Source, list[Edit]] = {}
    for diagnostic in diagnostics:
        fix = diagnostic.fix
        if fix is None or not fix.safe:
            continue
        if any(_overlaps(edit, other) for edit in fix.edits for other in taken.get(edit.place.source, ())):
            continue
        for edit in fix.edits:
            taken.setdefault(edit.place.source, []).append(edit)
    return {source: _rewrite(source.text, edits) for source, edits in taken.items()}


def _overlaps(a: Edit, b: Edit) -> bool:
    (start, end), (other_start, other_end) = a.place.span, b.place.span
    if start == end or other_start == other_end:
        return start <= other_end and other_start <= end
    return start < other_end and other_start < end


def _rewrite(text: str, edits: list[Edit]) -> str:
    for edit in sorted(edits, key=lambda e: e.place.span, reverse=True):
        text = text[: edit.place.span.start] + edit.text + text[edit.place.span.end :]
    return text
