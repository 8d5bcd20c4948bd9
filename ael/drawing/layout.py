"""Where the points of a picture stand and how its arrows run: layers from top to bottom, with few crossings (Sugiyama's method).

Every arrow has a place of its own between the layers of its ends, as wide as its label, so that no label stands on another or on a box.
All of it is deterministic: the same picture has the same layout everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ael.data import dataclass, field
from ael.drawing.picture import Arrow, Picture, Point

CHARACTER = 7.3
"""The width of a character of the fonts that are used, in the unit of all lengths here (a CSS pixel)."""
LINE = 16.0
BOX = 34.0
"""The height of a box."""
GAP = 26.0
"""Between neighbours of a layer."""
STEP = 46.0
"""From the middle of a layer to the middle of the next."""
LONGEST = 48
"""Characters of a label that are shown; the whole of a longer one is told where the pointer rests."""
_SWEEPS = 12


@dataclass(eq=False)
class Place:
    """A point, or where an arrow crosses a layer. `x` is its middle, `layer` counts from 0, `reach` is what stands right of it."""

    width: float
    layer: int
    point: Point | None = None
    x: float = 0.0
    reach: float = 0.0
    above: list[Place] = field(default_factory=list)
    below: list[Place] = field(default_factory=list)

    @property
    def y(self) -> float:
        return self.layer * STEP


@dataclass(eq=False)
class Run:
    """An arrow with the places it goes by, from its source to its target; the label stands at `label`."""

    arrow: Arrow
    places: list[Place]
    label: Place | None
    loop: bool = False


@dataclass(eq=False)
class Layout:
    """The whole, its upper left corner at (0, 0)."""

    places: dict[str, Place]
    runs: list[Run]
    layers: list[list[Place]]
    width: float
    height: float


def shown_label(arrow: Arrow) -> str:
    """The label as it is drawn."""
    label = " ".join(word for word in ("each" if arrow.each else "", arrow.label) if word)
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"


def layout(picture: Picture) -> Layout:
    """Lay out a picture. Its first point is at the top, and all others are reached from it."""
    backwards = _backwards(picture)
    levels = _levels(picture, backwards)
    places = {point.name: Place(_width(point), levels[point.name] * 2, point) for point in picture.points}
    runs = [_run(arrow, places, back=at in backwards) for at, arrow in enumerate(picture.arrows)]
    for run in runs:
        if run.loop:
            run.places[0].reach = max(run.places[0].reach, 30 + len(shown_label(run.arrow)) * CHARACTER)
    layers = _ordered(places, runs)
    _spread(layers)
    left = min(place.x - place.width / 2 for layer in layers for place in layer)
    for layer in layers:
        for place in layer:
            place.x -= left
    width = max(place.x + place.width / 2 + place.reach for layer in layers for place in layer)
    return Layout(places, runs, layers, width, (len(layers) - 1) * STEP + BOX)


def _width(point: Point) -> float:
    if point.kind == "join":
        return BOX
    return max(60.0, max(len(point.name), len(point.detail) + 2) * CHARACTER + 24)


def _backwards(picture: Picture) -> set[int]:
    """The arrows that lead back to a point on the way to them; turned round, they make no round any more."""
    leaving: dict[str, list[int]] = {}
    for at, arrow in enumerate(picture.arrows):
        leaving.setdefault(arrow.source, []).append(at)
    found: set[int] = set()
    done: set[str] = set()
    for root in [point.name for point in picture.points]:
        if root in done:
            continue
        on_way = {root}
        stack = [(root, iter(leaving.get(root, ())))]
        while stack:
            name, rest = stack[-1]
            for at in rest:
                target = picture.arrows[at].target
                if target in on_way:
                    found.add(at)
                elif target not in done:
                    on_way.add(target)
                    stack.append((target, iter(leaving.get(target, ()))))
                    break
            else:
                stack.pop()
                on_way.discard(name)
                done.add(name)
    return found


def _levels(picture: Picture, backwards: set[int]) -> dict[str, int]:
    """How many arrows the longest way to each point has, those that lead back turned round."""
    levels = dict.fromkeys((point.name for point in picture.points), 0)
    for _ in picture.points:
        changed = False
        for at, arrow in enumerate(picture.arrows):
            if arrow.source == arrow.target:
                continue
            upper, lower = (arrow.target, arrow.source) if at in backwards else (arrow.source, arrow.target)
            if levels[lower] <= levels[upper]:
                levels[lower] = levels[upper] + 1
                changed = True
        if not changed:
            break
    return levels


def _run(arrow: Arrow, places: dict[str, Place], *, back: bool) -> Run:
    if arrow.source == arrow.target:
        return Run(arrow, [places[arrow.source]], None, loop=True)
    upper, lower = (arrow.target, arrow.source) if back else (arrow.source, arrow.target)
    first, last = places[upper], places[lower]
    label = shown_label(arrow)
    middle: Place | None = None
    chain = [first]
    for layer in range(first.layer + 1, last.layer):
        wide = middle is None and bool(label)
        place = Place(len(label) * CHARACTER + 8 if wide else 6.0, layer)
        middle = place if wide else middle
        chain.append(place)
    chain.append(last)
    for above, below in pairwise(chain):
        above.below.append(below)
        below.above.append(above)
    return Run(arrow, chain[::-1] if back else chain, middle)


def _ordered(places: dict[str, Place], runs: Sequence[Run]) -> list[list[Place]]:
    """The layers, each in the order that puts what belongs together near each other."""
    layers: list[list[Place]] = [[] for _ in range(max(place.layer for place in places.values()) + 1)]
    seen: set[Place] = set()
    for place in [*places.values(), *(one for run in runs for one in run.places)]:
        if place not in seen:
            seen.add(place)
            layers[place.layer].append(place)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            beside = layer[0].layer + (-1 if down else 1)
            ranks = {other: at for at, other in enumerate(layers[beside])} if 0 <= beside < len(layers) else {}
            own = {place: at for at, place in enumerate(layer)}
            layer.sort(key=lambda place: (_centre(place.above if down else place.below, ranks, own[place]), own[place]))
    return layers


def _centre(neighbours: Sequence[Place], ranks: dict[Place, int], own: int) -> float:
    known = [ranks[one] for one in neighbours if one in ranks]
    return sum(known) / len(known) if known else float(own)


def _spread(layers: Sequence[list[Place]]) -> None:
    """Across: each place near the middle of its neighbours, none on another."""
    for layer in layers:
        x = 0.0
        for place in layer:
            place.x = x + place.width / 2
            x += place.width + place.reach + GAP
        for place in layer:
            place.x -= x / 2
    for sweep in range(_SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wished = [_wish(place) for place in layer]
            _apart(layer, wished)


def _wish(place: Place) -> float:
    near = [*place.above, *place.below]
    return sum(one.x for one in near) / len(near) if near else place.x


def _apart(layer: Sequence[Place], wished: Sequence[float]) -> None:
    """Put the places of a layer where they wish to be, as far as they stay apart and in order: the mean of pushing right and left."""
    right = list(wished)
    for at in range(1, len(layer)):
        right[at] = max(right[at], right[at - 1] + _between(layer[at - 1], layer[at]))
    left = list(wished)
    for at in range(len(layer) - 2, -1, -1):
        left[at] = min(left[at], left[at + 1] - _between(layer[at], layer[at + 1]))
    for place, one, other in zip(layer, right, left, strict=True):
        place.x = (one + other) / 2


def _between(first: Place, second: Place) -> float:
    return (first.width + second.width) / 2 + first.reach + GAP
