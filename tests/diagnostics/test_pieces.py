"""A place in a text that is put together is told as the place that it came from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ael.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label, Place
from ael.diagnostics.pieces import Pieces
from ael.source import Source, Span

FILE = Source("main.ael", "/// let x = 1\n/// let y = 2\n")
HEAD = Place(FILE, Span(0, 3))


def pieces() -> Pieces:
    made = Pieces("example", HEAD)
    made.add('test "" {\n')
    made.add("let x = 1\n", Place(FILE, Span(4, 14)))
    made.add("  ")
    made.add("let y = 2\n", Place(FILE, Span(18, 28)))
    made.add("}\n")
    return made


def test_a_diagnostic_with_its_labels_and_fix() -> None:
    made = pieces()
    at = made.source().text.index("y")
    there = Place(made.source(), Span(at, at + 1))
    elsewhere = Place(Source("other.ael", "z"), Span(0, 1))
    found = Diagnostic(
        "AEL0001", "m", there, labels=(Label(there, "a"), Label(elsewhere, "b")), fix=Fix("f", (Edit(there, "z"),))
    )
    told = made.told(found)
    assert (told.place.source, told.place.span) == (FILE, Span(22, 23))
    assert [label.place.source.name for label in told.labels] == ["main.ael", "other.ael"]
    assert told.fix is not None
    assert told.fix.edits[0].place.span == Span(22, 23)


def test_what_came_from_nowhere_is_told_of_the_whole_and_not_changed() -> None:
    made = pieces()
    start = Place(made.source(), Span(0, 4))
    across = Place(made.source(), Span(made.source().text.index("x"), made.source().text.index("y")))
    assert made.place(start) is HEAD
    assert made.place(across).span == Span(8, 14)
    for place in (start, across):
        assert made.told(Diagnostic("AEL0001", "m", place, fix=Fix("f", (Edit(place, ""),)))).fix is None


@given(st.data())
def test_any_place_has_the_text_that_it_had(data: st.DataObject) -> None:
    text = data.draw(st.text(alphabet="ab\n", min_size=1, max_size=30))
    source = Source("s", text)
    made = Pieces("m", Place(source, Span(0, 0)))
    for _ in range(data.draw(st.integers(1, 5))):
        if data.draw(st.booleans()):
            start = data.draw(st.integers(0, len(text) - 1))
            end = data.draw(st.integers(start, len(text)))
            made.add(text[start:end], Place(source, Span(start, end)))
        else:
            made.add(data.draw(st.text(alphabet="-", max_size=4)))
    whole = made.source().text
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    place = made.place(Place(made.source(), Span(start, end)))
    assert 0 <= place.span.start <= place.span.end <= len(text)
    if made.owned(Place(made.source(), Span(start, end))) and end > start and "-" not in whole[start:end]:
        told = text[place.span.start : place.span.end]
        assert whole[start:end].startswith(told)
