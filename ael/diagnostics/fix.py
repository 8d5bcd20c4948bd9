"""Applying fixes: what `ael fix`, `ael check --fix` and an editor do."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ael.diagnostics.diagnostic import Diagnostic, Edit, Fix
from ael.source import Source

Wanted = Callable[[Diagnostic, Fix], bool]


def safe(diagnostic: Diagnostic, fix: Fix) -> bool:
    """Whether a fix needs nobody to choose it."""
    return fix.safe


def apply(diagnostics: Iterable[Diagnostic], wanted: Wanted = safe) -> dict[Source, str]:
    """The new text of each source that the wanted fixes change, the safe ones unless others are said."""
    return rewritten(taken(diagnostics, wanted))


def taken(diagnostics: Iterable[Diagnostic], wanted: Wanted = safe) -> list[Diagnostic]:
    """Those whose fixes are applied together. A fix that overlaps an earlier one waits for the next round."""
    edits: dict[Source, list[Edit]] = {}
    found: list[Diagnostic] = []
    for diagnostic in diagnostics:
        fix = diagnostic.fix
        if fix is None or not fix.edits or not wanted(diagnostic, fix):
            continue
        if any(_overlaps(edit, other) for edit in fix.edits for other in edits.get(edit.place.source, ())):
            continue
        for edit in fix.edits:
            edits.setdefault(edit.place.source, []).append(edit)
        found.append(diagnostic)
    return found


def rewritten(diagnostics: Iterable[Diagnostic]) -> dict[Source, str]:
    """The new text of each source that the fixes change, of which none overlaps another."""
    edits: dict[Source, list[Edit]] = {}
    for diagnostic in diagnostics:
        for edit in diagnostic.fix.edits if diagnostic.fix is not None else ():
            edits.setdefault(edit.place.source, []).append(edit)
    return {source: _rewrite(source.text, found) for source, found in edits.items()}


def _overlaps(a: Edit, b: Edit) -> bool:
    (start, end), (other_start, other_end) = a.place.span, b.place.span
    if start == end or other_start == other_end:
        return start <= other_end and other_start <= end
    return start < other_end and other_start < end


def _rewrite(text: str, edits: list[Edit]) -> str:
    for edit in sorted(edits, key=lambda e: e.place.span, reverse=True):
        text = text[: edit.place.span.start] + edit.text + text[edit.place.span.end :]
    return text
