"""How a diagnostic looks: to the letter, with and without colour, for text of every width."""

from __future__ import annotations

import re

import pytest

from ael.diagnostics.diagnostic import Bag, Diagnostic, Edit, Fix, Label, Place, Severity
from ael.diagnostics.render import render, render_all
from ael.source import Source, Span


def _at(text: str, word: str, *, name: str = "main.ael", after: int = 0) -> Place:
    start = text.index(word, after)
    return Place(Source(name, text), Span(start, start + len(word)))


def _one(place: Place, **more: object) -> Diagnostic:
    return Diagnostic("AEL0202", "there is no name `nme`", place, **more)  # type: ignore[arg-type]


@pytest.mark.feature("C4")
def test_a_plain_one() -> None:
    text = "node main() -> Int {\n  nme\n}\n"
    assert render(_one(_at(text, "nme"))) == (
        "error[AEL0202]: there is no name `nme`\n"
        "  --> main.ael:2:3\n"
        "   |\n"
        " 2 |   nme\n"
        "   |   ^^^"
    )  # fmt: skip


def test_labels_notes_and_a_fix() -> None:
    text = "permission a.b\n" + "\n" * 9 + "node main() -> Int {\n  nme\n}\n"
    place = _at(text, "nme")
    label = Label(_at(text, "a.b"), "declared here")
    fix = Fix("replace it by `name`", (Edit(place, "name"),))
    shown = render(_one(place, labels=(label,), notes=("one thing", "another"), fix=fix, severity=Severity.WARNING))
    assert shown == (
        "warning[AEL0202]: there is no name `nme`\n"
        "   --> main.ael:12:3\n"
        "    |\n"
        " 12 |   nme\n"
        "    |   ^^^\n"
        "   --> main.ael:1:12\n"
        "    |\n"
        "  1 | permission a.b\n"
        "    |            --- declared here\n"
        "    = note: one thing\n"
        "    = note: another\n"
        "    = fix: replace it by `name`"
    )


@pytest.mark.parametrize(
    ("line", "word", "shown", "under"),
    [
        ("\tnme", "nme", "    nme", "    ^^^"),
        ("a\tnme", "nme", "a    nme", "     ^^^"),
        ('"漢字" nme', "nme", '"漢字" nme', "       ^^^"),
        ("漢字", "漢字", "漢字", "^^^^"),
        ("e\u0301 nme", "nme", "e\u0301 nme", "  ^^^"),
        ("\U0001f600 nme", "nme", "\U0001f600 nme", "   ^^^"),
        ("\u202enme", "nme", "\N{REPLACEMENT CHARACTER}nme", " ^^^"),
        ("\x1b[31mnme", "nme", "\N{REPLACEMENT CHARACTER}[31mnme", "     ^^^"),
    ],
)
def test_carets_stand_under_their_place(line: str, word: str, shown: str, under: str) -> None:
    lines = render(_one(_at(f"{line}\n", word))).split("\n")
    assert lines[3] == f" 1 | {shown}"
    assert lines[4] == f"   | {under}"


def test_windows_line_ends_are_not_shown() -> None:
    text = "fn f() -> Int {\r\n  nme\r\n}\r\n"
    lines = render(_one(_at(text, "nme"))).split("\n")
    assert lines[1] == "  --> main.ael:2:3"
    assert lines[3:] == [" 2 |   nme", "   |   ^^^"]


@pytest.mark.parametrize(("before", "after"), [(0, 3_000), (1_500, 1_500), (3_000, 0)])
def test_a_long_line_is_cut_around_its_place(before: int, after: int) -> None:
    text = "a" * before + "nme" + "b" * after
    lines = render(_one(_at(text, "nme"))).split("\n")
    shown = lines[3].removeprefix(" 1 | ")
    assert len(shown) <= 200
    start = lines[4].index("^") - len("   | ")
    assert shown[start : start + 3] == "nme"


def test_a_place_over_several_lines_is_marked_on_its_first() -> None:
    text = "fn f() {\n  one\n  two\n}\n"
    place = Place(Source("main.ael", text), Span(text.index("one"), text.index("two") + 3))
    assert render(_one(place)).split("\n")[-1] == "   |   ^^^"


@pytest.mark.parametrize("at", [0, 4, 5])
def test_an_empty_place_has_one_mark(at: int) -> None:
    text = "a\nbc\n"
    shown = render(_one(Place(Source("main.ael", text), Span(at, at))))
    assert shown.count("^") == (1 if at < len(text) else shown.count("^"))


def test_an_empty_file_has_no_line_to_show() -> None:
    assert render(_one(Place(Source("gone.ael", ""), Span(0, 0)))).split("\n") == [
        "error[AEL0202]: there is no name `nme`",
        "  --> gone.ael:1:1",
    ]


def test_colour_adds_nothing_but_colour() -> None:
    text = "permission a.b\nnode main() -> Int {\n\tnme\n}\n"
    place = _at(text, "nme")
    one = _one(place, labels=(Label(_at(text, "a.b"), "here"),), notes=("n",), fix=Fix("f", (Edit(place, "x"),)))
    coloured = render(one, colour=True)
    assert "\x1b[31;1m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render(one)
    assert coloured.count("\x1b[0m") == coloured.count("\x1b[") / 2


def test_the_closing_line_counts() -> None:
    text = "nme\nnme\n"
    first, second = _one(_at(text, "nme")), _one(_at(text, "nme", after=1))
    assert render_all([]) == ""
    assert render_all([first]).endswith("\n\n1 error; `ael explain AEL0202` says more")
    warning = Diagnostic("AEL1101", "unused", _at(text, "nme"), Severity.WARNING)
    assert render_all([first, second, warning]).endswith("\n\n2 errors and 1 warning; `ael explain CODE` says more")
    assert render_all([warning]).endswith("\n\n1 warning; `ael explain AEL1101` says more")


def test_a_bag_sorts_and_keeps_each_once() -> None:
    text = "nme\nnme\n"
    source = Source("b.ael", text)
    bag = Bag()
    bag.report("AEL0202", "second", source, Span(4, 7))
    bag.report("AEL0202", "first", source, Span(0, 3))
    bag.report("AEL0202", "again", source, Span(0, 3))
    bag.report("AEL0101", "other code", source, Span(0, 3))
    bag.report("AEL0202", "other file", Source("a.ael", text), Span(4, 7), severity=Severity.WARNING)
    assert [d.message for d in bag.sorted()] == ["other file", "other code", "first", "second"]
    assert bag.errors == 3
    assert bag.told(source, Span(0, 3))
    assert not bag.told(source, Span(0, 2))
