"""What a phase says about a program: data, rendered elsewhere.

Phases report into a `Bag`; they never raise a diagnostic and never print one. A diagnostic has a stable code (`AEL0203`), one
sentence in the user's words, the exact place, labels on other places that matter, notes, and, where there is one, a fix.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from ael.data import dataclass, field, replace
from ael.source import Source, Span


class Severity(Enum):
    """How much a diagnostic weighs: an error stops a program from running, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Place:
    """A span of a source."""

    source: Source
    span: Span


@dataclass(frozen=True)
class Label:
    """What another place has to do with it: "the permission is granted here"."""

    place: Place
    text: str


@dataclass(frozen=True)
class Edit:
    """Replace what stands at `place` by `text`."""

    place: Place
    text: str


@dataclass(frozen=True)
class Fix:
    """A change that mends the problem. `safe` ones are applied by `ael check --fix`; the others only in an editor."""

    title: str
    edits: tuple[Edit, ...]
    safe: bool = True


@dataclass(frozen=True)
class Diagnostic:
    """One problem. `code` is of the catalogue in `ael.diagnostics.codes`."""

    code: str
    message: str
    place: Place
    severity: Severity = Severity.ERROR
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    fix: Fix | None = None


@dataclass
class Bag:
    """Where phases report. The same code at the same place is kept once; `sorted()` gives them in source order."""

    _found: dict[tuple[str, str, Span], Diagnostic] = field(default_factory=dict)

    def report(
        self,
        code: str,
        message: str,
        source: Source,
        span: Span,
        *,
        labels: tuple[Label, ...] = (),
        notes: tuple[str, ...] = (),
        fix: Fix | None = None,
        severity: Severity = Severity.ERROR,
    ) -> None:
        """Add a diagnostic."""
        self.add(Diagnostic(code, message, Place(source, span), severity, labels, notes, fix))

    def add(self, diagnostic: Diagnostic) -> None:
        """Add a finished diagnostic, once: the first one, unless only a later one has a fix."""
        key = (diagnostic.code, diagnostic.place.source.name, diagnostic.place.span)
        first = self._found.get(key)
        if first is None or (first.fix is None and diagnostic.fix is not None):
            self._found[key] = diagnostic

    def hush(self, sources: Iterable[Source]) -> None:
        """Forget the warnings about some sources, and every fix that would change them: they are for those whose sources they are."""
        names = {source.name for source in sources}
        for key, found in list(self._found.items()):
            if key[1] in names and found.severity is Severity.WARNING:
                del self._found[key]
            elif found.fix is not None and any(edit.place.source.name in names for edit in found.fix.edits):
                self._found[key] = replace(found, fix=None)

    def told(self, source: Source, span: Span) -> bool:
        """Whether something is reported of exactly this place already, so that what follows from it need not be."""
        return any(name == source.name and place == span for _, name, place in self._found)

    def sorted(self) -> list[Diagnostic]:
        """All diagnostics, by file name, then place, then code."""
        return [self._found[key] for key in sorted(self._found, key=lambda k: (k[1], k[2], k[0]))]

    @property
    def errors(self) -> int:
        """How many errors (warnings do not count)."""
        return sum(1 for d in self._found.values() if d.severity is Severity.ERROR)
