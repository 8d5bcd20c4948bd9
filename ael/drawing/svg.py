"""A picture as SVG: one file, without a script, a font or anything from elsewhere; light or dark as whoever looks at it prefers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise

from ael.drawing.layout import BOX, CHARACTER, LINE, Layout, Place, Run, layout, shown_label
from ael.drawing.picture import Arrow, Picture, Point

_MARGIN = 24.0
_STYLE = """\
  svg { background: #fff; }
  .back { fill: #fff; opacity: .85; }
  .box { fill: #fff; stroke: #57606a; }
  .model { fill: #ddf4ff; stroke: #0969da; }
  .agent { fill: #fbefff; stroke: #8250df; }
  .end, .join { fill: #eaeef2; stroke: #57606a; }
  .arrow { fill: none; stroke: #57606a; }
  .fails { stroke: #cf222e; stroke-dasharray: 5 4; }
  text { font: 13px ui-sans-serif, system-ui, sans-serif; fill: #1f2328; text-anchor: middle; }
  .label, .detail { font-size: 11px; fill: #57606a; }
  .beside { text-anchor: start; }
  .title { font-weight: 600; text-anchor: start; }
  @media (prefers-color-scheme: dark) {
    svg { background: #0d1117; }
    .back { fill: #0d1117; }
    .box { fill: #161b22; stroke: #8b949e; }
    .model { fill: #0c2d6b; stroke: #58a6ff; }
    .agent { fill: #3c1e70; stroke: #bc8cff; }
    .end, .join { fill: #21262d; stroke: #8b949e; }
    .arrow { stroke: #8b949e; }
    .fails { stroke: #ff7b72; }
    text { fill: #e6edf3; }
    .label, .detail { fill: #8b949e; }
  }
"""


def svg(picture: Picture) -> str:
    """The picture."""
    return "\n".join(_lines(picture, layout(picture))) + "\n"


def _lines(picture: Picture, laid: Layout) -> Iterator[str]:
    top = _MARGIN + LINE + 14
    width = max(laid.width, len(picture.title) * CHARACTER) + 2 * _MARGIN
    height = top + laid.height + _MARGIN
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(width)} {_n(height)}" '
        f'width="{_n(width)}" height="{_n(height)}" role="img">'
    )
    yield f"<title>{_t(f'agent {picture.title}')}</title>"
    yield f"<style>\n{_STYLE}</style>"
    yield "<defs>"
    for name, kind in (("to", "arrow"), ("bad", "arrow fails")):
        yield (
            f'  <marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            f'<path class="{kind}" d="M 1 1 L 7 4 L 1 7"/></marker>'
        )
    yield "</defs>"
    yield f'<text class="title" x="{_n(_MARGIN)}" y="{_n(_MARGIN + 10)}">{_t(f"agent {picture.title}")}</text>'
    yield f'<g transform="translate({_n(_MARGIN)} {_n(top + BOX / 2)})">'
    ports = ports_of(laid.runs)
    for number, run in enumerate(laid.runs):
        yield from _arrow(run, number, ports)
    for place in laid.places.values():
        assert place.point is not None
        yield from _point(place, place.point)
    yield "</g>"
    yield "</svg>"


def ports_of(runs: Sequence[Run]) -> dict[tuple[int, int], float]:
    """(number of the arrow, 0 at its source or 1 at its target) -> where along the side of the box it is joined, from the middle."""
    sides: dict[tuple[Place, bool], list[tuple[float, int, int]]] = {}
    for number, run in enumerate(runs):
        if run.loop:
            continue
        places = run.places
        for end, at, near in ((0, places[0], places[1]), (1, places[-1], places[-2])):
            sides.setdefault((at, near.y > at.y), []).append((near.x, number, end))
    found: dict[tuple[int, int], float] = {}
    for (box, _), joined in sides.items():
        room = min(22.0, (box.width - 16) / max(1, len(joined)))
        for rank, (_, number, end) in enumerate(sorted(joined)):
            found[number, end] = (rank - (len(joined) - 1) / 2) * room
    return found


def _arrow(run: Run, number: int, ports: dict[tuple[int, int], float]) -> Iterator[str]:
    arrow = run.arrow
    kind, marker = ("arrow fails", "bad") if arrow.fails else ("arrow", "to")
    yield f'<path class="{kind}" d="{curve(run, number, ports)}" marker-end="url(#{marker})">{_tip(arrow)}</path>'
    if run.loop and (label := shown_label(arrow)):
        place = run.places[0]
        x = place.x + place.width / 2
        yield f'<text class="label beside" x="{_n(x + 24)}" y="{_n(place.y + 4)}">{_t(label)}</text>'
    if run.label is not None:
        yield from _label(run.label, arrow)


def curve(run: Run, number: int, ports: dict[tuple[int, int], float]) -> str:
    """The way of arrow `number` of a layout, as the data of a path; `ports` are those of `ports_of`."""
    places = run.places
    if run.loop:
        x, y = places[0].x + places[0].width / 2, places[0].y
        return f"M {_n(x)} {_n(y - 8)} C {_n(x + 26)} {_n(y - 14)}, {_n(x + 26)} {_n(y + 14)}, {_n(x)} {_n(y + 8)}"
    down = places[1].y > places[0].y
    edge = BOX / 2 if down else -BOX / 2
    points = [(places[0].x + ports[number, 0], places[0].y + edge)]
    points += [(place.x, place.y) for place in places[1:-1]]
    points.append((places[-1].x + ports[number, 1], places[-1].y - edge))
    path = f"M {_n(points[0][0])} {_n(points[0][1])}"
    for (x1, y1), (x2, y2) in pairwise(points):
        middle = (y1 + y2) / 2
        path += f" C {_n(x1)} {_n(middle)}, {_n(x2)} {_n(middle)}, {_n(x2)} {_n(y2)}"
    return path


def _label(place: Place, arrow: Arrow) -> Iterator[str]:
    label = shown_label(arrow)
    width = len(label) * CHARACTER
    x, y = _n(place.x - width / 2), _n(place.y - 8)
    yield f'<rect class="back" x="{x}" y="{y}" width="{_n(width)}" height="16"/>'
    yield f'<text class="label" x="{_n(place.x)}" y="{_n(place.y + 4)}">{_t(label)}</text>'


def _tip(arrow: Arrow) -> str:
    each = "each " if arrow.each else ""
    return f"<title>{_t(f'{arrow.source} -> {each}{arrow.target} {arrow.label}'.strip())}</title>"


def _point(place: Place, point: Point) -> Iterator[str]:
    x, y, width = place.x - place.width / 2, place.y - BOX / 2, place.width
    if point.kind == "join":
        half = BOX / 2
        right, left = f"l {_n(half)} {_n(half)} l {_n(-half)} {_n(half)}", f"l {_n(-half)} {_n(-half)} z"
        yield f'<path class="join" d="M {_n(place.x)} {_n(y)} {right} {left}"><title>{_t(point.name)}</title></path>'
        yield f'<text x="{_n(place.x)}" y="{_n(place.y + 4)}">&amp;</text>'
        return
    kind = {"end": "end", "code": "box", "model": "model", "agent": "agent"}[point.kind]
    round_ = BOX / 2 if point.kind == "end" else 6
    yield f'<rect class="{kind}" x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(BOX)}" rx="{_n(round_)}"/>'
    if not point.detail:
        yield f'<text x="{_n(place.x)}" y="{_n(place.y + 4)}">{_t(point.name)}</text>'
        return
    yield f'<text x="{_n(place.x)}" y="{_n(place.y - 2)}">{_t(point.name)}</text>'
    yield f'<text class="detail" x="{_n(place.x)}" y="{_n(place.y + 12)}">{_t(point.detail)}</text>'


def _n(number: float) -> str:
    """A length, with one digit behind the point at most."""
    return f"{round(number, 1):g}"


def _t(text: str) -> str:
    """Text in XML: escaped, without the control characters that XML has no way to write."""
    return escape(
        "".join(c if c >= " " and c not in "\x7f\ufffe\uffff" and not "\ud800" <= c <= "\udfff" else "\ufffd" for c in text)
    )
