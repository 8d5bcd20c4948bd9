"""The elements that are open at a place of a page, and whether something there can be seen.

Which element an end tag ends, and which a start tag ends before it begins its own, follows the tree construction of WHATWG HTML
(13.2.6) as far as it decides what is inside of what is hidden. Where this is simpler than a browser, more is hidden, never less. Each step
takes the same time, however many elements are open.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from ael.data import dataclass, field
from ael.lower.natives import html_elements as known
from ael.lower.natives.html_colors import BLACK, WHITE, Ink

DEPTH_MAX = 512
"""Elements within each other, as in browsers. What is deeper is text of the deepest."""


@dataclass(slots=True, eq=False)
class Element:
    """An open element. `hidden` says that it hides itself, `shown` that it can be seen; one that was ended out of order is `over`."""

    name: str
    hidden: bool
    names: tuple[str, ...] = ()
    over: bool = False
    shown: bool = False
    ink: Ink = Ink(BLACK, WHITE)


_BARRIERS = {
    "scope": known.SCOPE,
    "button": known.SCOPE | {"button"},
    "table": known.TABLE_SCOPE,
    "special": known.SPECIAL,
    "li": known.SPECIAL - known.LOOSE - {"li"},
    "dd": known.SPECIAL - known.LOOSE - {"dd", "dt"},
}
"""Kinds of scopes, by the elements that bound them."""
_KINDS = {name: tuple(kind for kind, bounds in _BARRIERS.items() if name in bounds) for name in known.SPECIAL | known.SCOPE}


@dataclass(slots=True, eq=False)
class OpenElements:
    """The open elements, outermost first."""

    page: Ink
    """The colours of the page's own text."""
    stack: list[Element] = field(default_factory=list)
    names: Counter[str] = field(default_factory=Counter)
    """The tags, classes and ids that are open."""
    _places: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    _bounds: dict[str, list[int]] = field(default_factory=lambda: {kind: [] for kind in _BARRIERS})
    _hidden: int = 0
    """Open elements that hide, and formatting that lingers."""
    _lingering: Counter[str] = field(default_factory=Counter)
    """Formatting that hides and was ended by something else than its end tag: it goes on."""
    _deep: Counter[str] = field(default_factory=Counter)
    """Start tags that were too deep, whose end tags end nothing else."""
    lost: bool = False
    """Whether everything that follows is hidden."""

    @property
    def visible(self) -> bool:
        return not (self._hidden or self.lost)

    @property
    def foreign(self) -> bool:
        """Whether this is SVG or MathML, and not HTML inside of it."""
        inner = max(self._last("svg"), self._last("math"))
        return inner >= 0 and inner > max(self._last(name) for name in known.INTEGRATION)

    @property
    def ink(self) -> Ink:
        """The colours of text here."""
        return self.stack[-1].ink if self.stack else self.page

    def recolor(self, page: Ink) -> None:
        """Other colours of the page, which hold in what is open already."""
        for element in self.stack:
            if element.ink == self.page:
                element.ink = page
        self.page = page

    def push(self, name: str, hidden: bool, names: tuple[str, ...], ink: Ink) -> Element | None:
        """Open an element; None where it would be too deep, and what hides there hides all that follows."""
        if len(self.stack) >= DEPTH_MAX:
            self.lost = self.lost or hidden or not ink.legible
            self._deep[name] += 1
            return None
        element = Element(name, hidden, names, shown=self.visible and not hidden, ink=ink)
        place = len(self.stack)
        self.stack.append(element)
        self._places[name].append(place)
        for kind in _KINDS.get(name, ()):
            self._bounds[kind].append(place)
        self._hidden += hidden
        for one in names:
            self.names[one] += 1
        return element

    def ended_by_start(self, name: str) -> list[Element]:
        """The elements that the start tag `name` ends, innermost first."""
        if self.foreign:
            return []
        ended: list[Element] = []
        if name in known.ENDS_PARAGRAPH and self._last("p") > self._bound("button"):
            ended += self._pop_to(self._last("p"))
        for other in known.CLOSES.get(name, ()):
            if self._last(other) > self._limit(name, other):
                ended += self._end(other) if other == "a" else self._pop_to(self._last(other))
        if name in ("option", "optgroup") and self.stack and self.stack[-1].name == "option":
            ended += self._pop_to(len(self.stack) - 1)
        return ended

    def ended(self, name: str) -> list[Element]:
        """The elements that the end tag `name` ends, innermost first."""
        if name in ("html", "body"):
            return []
        if self._deep.get(name):
            self._deep[name] -= 1
            return []
        if name in known.TABLE_PARTS:
            kind = "table"
        elif name == "p":
            kind = "button"
        elif name in known.SPECIAL or name in known.FORMATTING or name in known.FOREIGN:
            kind = "scope"
        else:
            kind = "special"
        place = self._last(name)
        if place < 0 or place < self._bound(kind):
            if self._lingering.get(name):
                self._lingering[name] -= 1
                self._hidden -= 1
            return []
        return self._end(name)

    def _end(self, name: str) -> list[Element]:
        place = self._last(name)
        element = self.stack[place]
        if name not in known.FORMATTING or self._bound("special") < place:
            return self._pop_to(place)
        # A block inside of it stays open: only the formatting ends.
        self._forget(element, own=True)
        element.over = True
        self._places[name].pop()
        return [element]

    def _limit(self, name: str, other: str) -> int:
        """The place of what keeps a start tag from ending `other`."""
        if name == "li":
            return self._bound("li")
        if name in ("dd", "dt"):
            return self._bound("dd")
        if name in known.TABLE_PARTS:
            return self._bound("table")
        return self._bound("scope")

    def _last(self, name: str) -> int:
        places = self._places.get(name)
        return places[-1] if places else -1

    def _bound(self, kind: str) -> int:
        bounds = self._bounds[kind]
        return bounds[-1] if bounds else -1

    def _pop_to(self, place: int) -> list[Element]:
        """End the elements from the innermost to that at `place`."""
        ended: list[Element] = []
        while len(self.stack) > place:
            element = self.stack.pop()
            at = len(self.stack)
            for kind in _KINDS.get(element.name, ()):
                self._bounds[kind].pop()
            if element.over:
                continue
            self._places[element.name].pop()
            self._forget(element, own=at == place)
            ended.append(element)
        return ended

    def _forget(self, element: Element, *, own: bool) -> None:
        for name in element.names:
            self.names[name] -= 1
        if element.name in known.FORMATTING and not own and (element.hidden or not element.ink.legible):
            self._lingering[element.name] += 1
            self._hidden += not element.hidden
        else:
            self._hidden -= element.hidden
