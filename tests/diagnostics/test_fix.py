"""Applying fixes: exactly the edits that they say, in one go, none over another."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ael.diagnostics.codes import TITLES
from ael.diagnostics.diagnostic import Bag, Diagnostic, Edit, Fix, Place
from ael.diagnostics.fix import apply
from ael.project.program import open_program
from ael.source import Source, Span
from tests.error_pages import FOLDER, read
from tests.programs import open_files

TEXT = "abcdefghij"


def _fix(source: Source, *edits: tuple[int, int, str], safe: bool = True) -> Diagnostic:
    changes = tuple(Edit(Place(source, Span(start, end)), text) for start, end, text in edits)
    return Diagnostic("AEL0202", "m", changes[0].place, fix=Fix("f", changes, safe))


@pytest.mark.feature("C6")
@pytest.mark.parametrize(
    ("edits", "after"),
    [
        ([[(0, 1, "X")]], "Xbcdefghij"),
        ([[(10, 10, "!")]], "abcdefghij!"),
        ([[(2, 4, "")], [(6, 6, "-")]], "abef-ghij"),
        ([[(0, 3, "X"), (5, 6, "Y")]], "XdeYghij"),
        ([[(0, 5, "X")], [(4, 6, "Y")]], "Xfghij"),
        ([[(0, 5, "X")], [(5, 6, "Y")]], "XYghij"),
        ([[(3, 3, "X")], [(3, 3, "Y")]], "abcXdefghij"),
        ([[(3, 6, "X")], [(6, 6, "Y")]], "abcXghij"),
        ([[(0, 2, "X"), (8, 9, "Y")], [(1, 3, "Z")]], "XcdefghYj"),
    ],
)
def test_edits(edits: list[list[tuple[int, int, str]]], after: str) -> None:
    source = Source("main.ael", TEXT)
    assert apply([_fix(source, *one) for one in edits]) == {source: after}


def test_what_is_not_safe_waits_for_a_person() -> None:
    source = Source("main.ael", TEXT)
    assert apply([_fix(source, (0, 1, "X"), safe=False)]) == {}
    assert apply([Diagnostic("AEL0202", "m", Place(source, Span(0, 1)))]) == {}


def test_a_fix_over_two_files_changes_both() -> None:
    one, two = Source("a.ael", TEXT), Source("b.ael", TEXT)
    fix = Fix("f", (Edit(Place(one, Span(0, 1)), "X"), Edit(Place(two, Span(9, 10)), "Y")))
    assert apply([Diagnostic("AEL0202", "m", Place(one, Span(0, 1)), fix=fix)]) == {one: "Xbcdefghij", two: "abcdefghiY"}


_EDITS = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10), st.sampled_from(["", "X", "YZ"])), min_size=1, max_size=6)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(_EDITS)
def test_the_first_fix_is_always_done_whole(edits: list[tuple[int, int, str]]) -> None:
    source = Source("main.ael", TEXT)
    ordered = [(min(start, end), max(start, end), text) for start, end, text in edits]
    text = apply([_fix(source, one) for one in ordered])[source]
    start, end, new = ordered[0]
    rest = TEXT[:start], TEXT[end:]
    assert new in text
    assert len(text) >= len(new)
    if len(ordered) == 1:
        assert text == rest[0] + new + rest[1]


# --- fixes of the language -----------------------------------------------------------------------------------------------


def _fixes() -> list[str]:
    return [path.stem for path in sorted(FOLDER.glob("AEL*.md")) if "= fix: " in (read(path).message or "")]


@pytest.mark.feature("C6")
@pytest.mark.parametrize("code", _fixes())
def test_the_fix_of_a_page_mends_what_it_says(code: str, tmp_path: Path) -> None:
    """Every fix, safe or not, applied alone: its own problem is gone, and the file still parses."""
    page = read(FOLDER / f"{code}.md")
    _, before = open_files(tmp_path, page.wrong)
    fixed = [d for d in before.sorted() if d.fix is not None]
    assert fixed, "the page shows a fix"
    for number, diagnostic in enumerate(fixed):
        assert diagnostic.fix is not None
        safe = Diagnostic(
            diagnostic.code, diagnostic.message, diagnostic.place, fix=Fix(diagnostic.fix.title, diagnostic.fix.edits, True)
        )
        folder = tmp_path / str(number)
        files = dict(page.wrong)
        for source, text in apply([safe]).items():
            assert source.path is not None
            files[source.path.name] = text
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        after = Bag()
        open_program(folder / "main.ael", after)
        there = {(d.code, d.message, d.place.span.start) for d in after.sorted()}
        own = (diagnostic.code, diagnostic.message, diagnostic.place.span.start)
        assert own not in there, f"`{diagnostic.fix.title}` does not mend it"
        broken = [d for d in after.sorted() if d.code < "AEL0200"]
        assert not [d for d in broken if d.code not in {b.code for b in before.sorted()}], "what a fix writes parses"


def test_there_are_fixes_to_try() -> None:
    assert len(_fixes()) >= 10
    assert set(_fixes()) <= set(TITLES)
