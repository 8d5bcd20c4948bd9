"""A picture as a Mermaid flowchart, which many places that show Markdown draw."""

from __future__ import annotations

from collections.abc import Iterator

from ael.drawing.picture import Picture, Point


def mermaid(picture: Picture) -> str:
    """The flowchart."""
    return "\n".join(_lines(picture)) + "\n"


def _lines(picture: Picture) -> Iterator[str]:
    yield "flowchart TD"
    ids = {point.name: f"n{at}" for at, point in enumerate(picture.points)}
    for point in picture.points:
        yield f"  {ids[point.name]}{_shape(point)}"
    for arrow in picture.arrows:
        label = " ".join(word for word in ("each" if arrow.each else "", arrow.label) if word)
        shown = f'|"{_quoted(label)}"|' if label else ""
        yield f"  {ids[arrow.source]} {'-.->' if arrow.fails else '-->'}{shown} {ids[arrow.target]}"


def _shape(point: Point) -> str:
    name, detail = _quoted(point.name), _quoted(point.detail)
    match point.kind:
        case "end":
            return f'(["{name}"])'
        case "join":
            return '{"&amp;"}'
        case "agent":
            return f'[["{name}"]]'
        case "model":
            return f'["{name}<br/><small>{detail}</small>"]'
        case "code":
            return f'["{name}"]'


def _quoted(text: str) -> str:
    """Text in a label: what Mermaid or the page around it would read as markup stands as an entity."""
    return "".join(c if c.isalnum() or c in " _.,:+-*/%=?()!" else f"#{ord(c)};" for c in text)
