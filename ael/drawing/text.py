"""A picture as text: each point with the arrows that leave it."""

from __future__ import annotations

from collections.abc import Iterator

from ael.drawing.picture import Arrow, Picture, Point


def text(picture: Picture) -> str:
    """The picture, a line for each point and each arrow."""
    return "\n".join(_lines(picture)) + "\n"


def _lines(picture: Picture) -> Iterator[str]:
    yield f"agent {picture.title}"
    for point in picture.points:
        arrows = [arrow for arrow in picture.arrows if arrow.source == point.name]
        if not arrows:
            continue
        yield ""
        yield _point(point)
        targets = [f"{'each ' if arrow.each else ''}{arrow.target}" for arrow in arrows]
        width = max(len(target) for target in targets)
        for arrow, target in zip(arrows, targets, strict=True):
            yield f"  {_stroke(arrow)} {target:<{width}}  {arrow.label}".rstrip()


def _stroke(arrow: Arrow) -> str:
    return "-x->" if arrow.fails else "--->"


def _point(point: Point) -> str:
    detail = f"  ({'model ' if point.kind == 'model' else ''}{point.detail})" if point.detail else ""
    return f"{point.name}{detail}"
