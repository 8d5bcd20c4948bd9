"""Diagnostics as an editor shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from lsprotocol import types as lsp

from ael.diagnostics.diagnostic import Diagnostic, Label, Place, Severity
from ael.editor.documents import Open, uri_of
from ael.editor.positions import Lines
from ael.editor.snapshot import File, Snapshot
from ael.project.shipped import shipped
from ael.source import Source

SOURCE = "ael"
_SEVERITY = {Severity.ERROR: lsp.DiagnosticSeverity.Error, Severity.WARNING: lsp.DiagnosticSeverity.Warning}
_UNNECESSARY = frozenset({"AEL1101", "AEL1102", "AEL1103", "AEL1104", "AEL1105", "AEL1106", "AEL1123", "AEL1125"})
"""Diagnostics of what could as well not be there, which an editor shows pale."""
MAX_LABELS = 20
"""Places that are told beside that of one problem."""


class Reporter:
    """Turns the diagnostics of one snapshot into the protocol's; the lines of each source are counted once."""

    def __init__(self, documents: Open, encoding: lsp.PositionEncodingKind | str) -> None:
        self.documents = documents
        self.encoding = encoding
        self._lines: dict[int, tuple[Source, Lines]] = {}

    def lines(self, source: Source) -> Lines:
        """The lines of a source."""
        known = self._lines.get(id(source))
        if known is None:
            known = self._lines[id(source)] = (source, Lines(source, self.encoding))
        return known[1]

    def range(self, place: Place) -> lsp.Range:
        """Where a place is."""
        return self.lines(place.source).range(place.span)

    def diagnostic(self, found: Diagnostic) -> lsp.Diagnostic:
        """A diagnostic. Its notes stand below its message, its labels are related places."""
        return lsp.Diagnostic(
            self.range(found.place),
            "\n".join((found.message, *(f"note: {note}" for note in found.notes))),
            severity=_SEVERITY[found.severity],
            code=found.code,
            code_description=page(found.code),
            source=SOURCE,
            tags=[lsp.DiagnosticTag.Unnecessary] if found.code in _UNNECESSARY else None,
            related_information=[one for label in found.labels[:MAX_LABELS] if (one := self._related(label)) is not None] or None,
        )

    def _related(self, label: Label) -> lsp.DiagnosticRelatedInformation | None:
        path = label.place.source.path
        if path is None:
            return None
        location = lsp.Location(uri_of(path.resolve(), self.documents), self.range(label.place))
        return lsp.DiagnosticRelatedInformation(location, label.text)

    def all(self, found: Iterable[Diagnostic]) -> list[lsp.Diagnostic]:
        """Several diagnostics."""
        return [self.diagnostic(one) for one in found]


@cache
def page(code: str) -> lsp.CodeDescription | None:
    """The page about a code, in this installation."""
    file = shipped("errors") / f"{code}.md"
    return lsp.CodeDescription(file.resolve().as_uri()) if file.is_file() else None


def told(snapshot: Snapshot, file: File) -> Sequence[Diagnostic]:
    """What is wrong in a file."""
    return snapshot.diagnostics.get(file.path, ())
