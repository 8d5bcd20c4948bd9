"""Text that is put together of pieces of other sources: what is said of a place in it is said of the place that it came from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path

from ael.data import dataclass, field, replace
from ael.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label, Place
from ael.source import Source, Span


@dataclass(eq=False)
class Pieces:
    """`name` is how the whole is called, `path` the file that it stands for. What is added without an origin is nobody's: `instead` is
    its place."""

    name: str
    instead: Place
    path: Path | None = None
    _texts: list[str] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    _origins: list[Place | None] = field(default_factory=list)
    _length: int = 0
    _source: list[Source] = field(default_factory=list)

    def add(self, text: str, origin: Place | None = None) -> None:
        """Add a piece; `origin` is where it stands, character for character."""
        if text:
            self._texts.append(text)
            self._starts.append(self._length)
            self._origins.append(origin)
            self._length += len(text)

    @property
    def length(self) -> int:
        """Characters so far."""
        return self._length

    def source(self) -> Source:
        """The whole, once everything is added; the same each time."""
        if not self._source:
            self._source.append(Source(self.name, "".join(self._texts), self.path))
        return self._source[0]

    def place(self, place: Place) -> Place:
        """Where a place came from: as far as the piece goes in which it begins. One in another source is itself."""
        if place.source is not self.source():
            return place
        start, end = place.span
        at = bisect_right(self._starts, min(start, max(self._length - 1, 0))) - 1
        origin = self._origins[at] if at >= 0 else None
        if origin is None:
            return self.instead
        lead, room = start - self._starts[at], len(self._texts[at])
        first = origin.span.start + min(lead, room)
        last = origin.span.start + min(max(end - self._starts[at], lead), room)
        return Place(origin.source, Span(first, max(first, last)))

    def owned(self, place: Place) -> bool:
        """Whether a place is in a piece that has an origin, or in another source."""
        return place.source is not self.source() or self.place(place) is not self.instead

    def told(self, found: Diagnostic) -> Diagnostic:
        """The diagnostic about the places that its own came from. A fix stays where all that it changes has an origin."""
        labels = tuple(Label(self.place(label.place), label.text) for label in found.labels)
        return replace(found, place=self.place(found.place), labels=labels, fix=self._fix(found.fix))

    def _fix(self, fix: Fix | None) -> Fix | None:
        if fix is None or not all(self._whole(edit) for edit in fix.edits):
            return None
        return replace(fix, edits=tuple(Edit(self.place(edit.place), edit.text) for edit in fix.edits))

    def _whole(self, edit: Edit) -> bool:
        """Whether what an edit replaces came as it is from one place."""
        moved = self.place(edit.place)
        return self.owned(edit.place) and len(range(*moved.span)) == len(range(*edit.place.span))


def all_told(pieces: Pieces, found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """`Pieces.told` of each."""
    return [pieces.told(one) for one in found]
