"""Pictures of agents: nothing stands on anything else, every edge is drawn, whatever a label says stays text."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from ael.drawing.layout import layout, shown_label
from ael.drawing.mermaid import mermaid
from ael.drawing.picture import Arrow, Picture, Point
from ael.drawing.svg import svg
from ael.drawing.text import text

SVG = "{http://www.w3.org/2000/svg}"
LABELS = st.one_of(
    st.just(""), st.sampled_from(["otherwise", "on Fault, Uncertain", "when a == b up to 3"]), st.text(max_size=70)
)


@st.composite
def pictures(draw: st.DrawFn) -> Picture:
    names = ["start", *(f"n{at}" for at in range(draw(st.integers(0, 9)))), "finish"]
    points = [
        Point(name, draw(st.sampled_from(["code", "model", "agent", "join"])), draw(st.text("ab", max_size=9))) for name in names
    ]
    points[0], points[-1] = Point("start", "end"), Point("finish", "end")
    ends = st.sampled_from(names)
    made = st.builds(Arrow, ends, ends, LABELS, st.booleans(), st.booleans())
    first = [Arrow(a, b) for a, b in pairwise(names)]
    return Picture("a", "a() -> Int", tuple(points), (*first, *draw(st.lists(made, max_size=14))))


@settings(deadline=None, derandomize=True, max_examples=200)
@given(pictures())
def test_nothing_stands_on_anything_else(picture: Picture) -> None:
    laid = layout(picture)
    for at, layer in enumerate(laid.layers):
        for place in layer:
            assert place.layer == at
            assert place.x - place.width / 2 >= -0.01
            assert place.x + place.width / 2 + place.reach <= laid.width + 0.01
        for left, right in pairwise(layer):
            assert left.x + left.width / 2 + left.reach < right.x - right.width / 2
    for run in laid.runs:
        for one, other in pairwise(run.places):
            assert abs(one.layer - other.layer) == 1, "an arrow goes by every layer between its ends"
        assert (run.label is None) == (run.loop or not shown_label(run.arrow))


@settings(deadline=None, derandomize=True, max_examples=200)
@given(pictures())
def test_every_edge_is_drawn_and_what_a_label_says_stays_text(picture: Picture) -> None:
    drawn = svg(picture)
    assert drawn == svg(picture)
    root = ElementTree.fromstring(drawn)
    assert {one.tag.removeprefix(SVG) for one in root.iter()} <= {
        "svg", "title", "style", "defs", "marker", "path", "text", "g", "rect",
    }  # fmt: skip
    arrows = [one for one in root.iter(f"{SVG}path") if "marker-end" in one.attrib]
    assert len(arrows) == len(picture.arrows)
    assert [("fails" in one.attrib["class"]) for one in arrows] == [arrow.fails for arrow in picture.arrows]
    words = [one.text for one in root.iter(f"{SVG}text")]
    assert all(point.name in words or point.kind == "join" for point in picture.points)
    assert "url(http" not in drawn
    chart = mermaid(picture)
    assert len(re.findall(r"^  n\d+ -\.?->", chart, re.MULTILINE)) == len(picture.arrows)
    for line in chart.splitlines()[1:]:
        assert re.fullmatch(r'  n\d+(\S.*| (-->|-\.->)(\|"[^"|<>{}\[\]]+"\|)? n\d+)', line), line
    assert text(picture).count("->") >= len(picture.arrows)


def test_a_long_label_is_cut_and_told_whole_where_the_pointer_rests() -> None:
    label = "when " + " and ".join(f"a{at} == {at}" for at in range(20))
    drawn = svg(Picture("a", "a()", (Point("start", "end"), Point("finish", "end")), (Arrow("start", "finish", label),)))
    root = ElementTree.fromstring(drawn)
    [shown] = [one.text for one in root.iter(f"{SVG}text") if one.attrib.get("class") == "label"]
    assert shown is not None
    assert len(shown) == 48
    assert shown.endswith("…")
    assert f"start -> finish {label}" in [one.text for one in root.iter(f"{SVG}title")]
