"""An agent's picture with a run on it: how often each node was visited and each edge taken, and where the run is now.

Of an entry that is no agent it is what the run called, as far as it has come: nodes, models, tools.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ael.data import dataclass, field
from ael.drawing.layout import BOX, layout, shown_label
from ael.drawing.picture import Arrow, Picture, Point, picture
from ael.drawing.svg import curve, ports_of
from ael.project.program import Opened
from ael.run.ports import Span
from ael.types.agent import FINISH, START, join_of

_CALLED = {"node": "code", "agent": "agent", "tool": "code", "operation": "code"}
_MOST = 60
"""Points of the picture of what a run called."""


@dataclass
class _Visited:
    """What is drawn on a picture. `points`: visits by name; `arrows`: by their number in the picture."""

    points: Counter[str] = field(default_factory=Counter)
    state: dict[str, str] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    arrows: Counter[int] = field(default_factory=Counter)
    newest: int = -1


def graphs(spans: Sequence[Span], entry: str, opened: Opened | None) -> list[dict[str, object]]:
    """The pictures of a run: of its entry first, then of each other agent that it visited."""
    names: dict[str, list[Span]] = {}
    if opened is not None:
        agents = {one: spec for one, spec in opened.program.nodes.items() if spec.agent is not None}
        short = {one.partition(".")[2] or one: one for one in agents}
        for span in spans:
            known = span.name if span.name in agents else short.get(span.name)
            if span.kind == "agent" and known is not None:
                names.setdefault(known, []).append(span)
        if entry in agents and entry not in names:
            names = {entry: [], **names}
    if not names or opened is None:
        return [_drawn("calls", *_called(spans))]
    return [_drawn("agent", *_agent(opened, name, visits, spans)) for name, visits in names.items()]


def _agent(opened: Opened, name: str, visits: Sequence[Span], spans: Sequence[Span]) -> tuple[Picture, _Visited]:
    drawn, found = picture(opened.program, name), _Visited()
    numbers = {span.sequence for span in visits}
    spec = opened.program.nodes[name].agent
    assert spec is not None
    ways: dict[str, list[tuple[str, str]]] = {}
    for edge in spec.edges:
        ways.setdefault(edge.shown, []).extend((source, edge.target) for source in edge.sources)
    order: dict[str, int] = {START: 0}
    if numbers:
        found.points[START], found.state[START] = len(visits), "value"
    for at, span in enumerate(spans):
        if span.parent not in numbers:
            continue
        if span.kind in ("node", "agent"):
            found.points[span.name] += 1
            found.last[span.name] = span.sequence
            found.state[span.name] = span.outcome or "value"
            order[span.name] = at
        elif span.kind == "edge":
            _taken(drawn, found, ways.get(span.name, []), order, joined=" & " in span.name)
    return drawn, found


def _taken(drawn: Picture, found: _Visited, ways: Sequence[tuple[str, str]], order: Mapping[str, int], *, joined: bool) -> None:
    """Count an edge: of several sources that it may have come from it is the one that ended last, of a join all of them."""
    if not ways:
        return
    target = ways[0][1]
    sources = [source for source, _ in ways]
    if joined:
        join = join_of(sources)
        found.points[join] += 1
        found.state[join] = "value"
        pairs = [*((source, join) for source in sources), (join, target)]
    else:
        pairs = [(max(sources, key=lambda one: order.get(one, -1)), target)]
    for pair in pairs:
        failed = found.state.get(pair[0], "value") != "value"
        here = [number for number, arrow in enumerate(drawn.arrows) if (arrow.source, arrow.target) == pair]
        if here:
            # Two edges may join the same nodes: one for a value, one for an error.
            found.newest = next((number for number in here if drawn.arrows[number].fails == failed), here[0])
            found.arrows[found.newest] += 1
    if target == FINISH:
        found.points[FINISH] += 1
        found.state[FINISH] = "value"


def _called(spans: Sequence[Span]) -> tuple[Picture, _Visited]:
    """What a run called, from what called it to what was called: as wide and deep as there is room."""
    found = _Visited()
    root = spans[0]
    points: dict[str, Point] = {root.name: Point(root.name, "end")}
    found.points[root.name], found.state[root.name] = 1, root.outcome or "value"
    arrows: dict[tuple[str, str], int] = {}
    named = {root.sequence: root.name}
    for span in spans[1:]:
        above = named.get(span.parent or 0, root.name)
        named[span.sequence] = above
        if span.kind not in _CALLED and span.kind != "turn":
            continue
        name = span.name.partition(".")[2] or span.name
        if name == root.name and span.parent == root.sequence:
            named[span.sequence] = root.name
            continue
        if name == above:
            continue
        if name not in points:
            if len(points) >= _MOST:
                continue
            points[name] = Point(name, "model" if span.kind == "turn" else "agent" if span.kind == "agent" else "code", "")
        if span.kind != "turn":
            named[span.sequence] = name
        found.points[name] += 1
        found.last[name] = span.sequence
        found.state[name] = span.outcome or "value"
        number = arrows.setdefault((above, name), len(arrows))
        found.arrows[number] += 1
    drawn = Picture(root.name, root.name, tuple(points.values()), tuple(Arrow(*pair) for pair in arrows))
    return drawn, found


def _drawn(kind: str, drawn: Picture, found: _Visited) -> dict[str, object]:
    """A picture with its places, and what the run did on it."""
    laid = layout(drawn)
    ports = ports_of(laid.runs)
    points = [
        {
            "name": point.name,
            "kind": point.kind,
            "detail": point.detail,
            "x": round(place.x - place.width / 2, 1),
            "y": round(place.y - BOX / 2, 1),
            "width": round(place.width, 1),
            "visits": found.points[point.name],
            "state": found.state.get(point.name),
            "span": found.last.get(point.name),
        }
        for point, place in [(point, laid.places[point.name]) for point in drawn.points]
    ]
    arrows = [
        {
            "source": run.arrow.source,
            "target": run.arrow.target,
            "label": shown_label(run.arrow),
            "fails": run.arrow.fails,
            "way": curve(run, number, ports),
            "x": None if run.label is None else round(run.label.x, 1),
            "y": None if run.label is None else round(run.label.y, 1),
            "taken": found.arrows[number],
            "newest": number == found.newest,
        }
        for number, run in enumerate(laid.runs)
    ]
    size = {"width": round(laid.width, 1), "height": round(laid.height, 1), "box": BOX}
    return {"kind": kind, "name": drawn.name, "title": drawn.title, **size, "points": points, "arrows": arrows}
