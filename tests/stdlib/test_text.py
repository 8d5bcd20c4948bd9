"""Texts of the standard library, against plain Python that says the same."""

from __future__ import annotations

import textwrap
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.lower.natives.text import natural
from tests.stdlib.functions import ending, module

text = module("text")
TEXTS = st.text(st.sampled_from("abAB12 _-'\n\t.é\u0301ßØ日\u202e\0\ud800"), max_size=24)
WORDS = st.text(st.sampled_from("abc def\n"), max_size=60)


def common(a: str, b: str) -> str:
    return a[: next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))]


def levenshtein(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


@given(st.text("abc", max_size=80), st.text("abc", max_size=80))
def test_the_distance_is_levenshteins(a: str, b: str) -> None:
    assert text.distance(a, b) == levenshtein(a, b)
    assert 0.0 <= text.similarity(a, b) <= 1.0


def test_a_distance_is_bounded_by_what_it_takes() -> None:
    assert text.distance("ab" * 10_000, "ba" * 10_000) == 2
    assert ending(text.distance, "a" * 32_769, "b" * 32_768) == "TooLarge"
    assert text.distance("a" * 1_000_000, "") == 1_000_000


@given(TEXTS, TEXTS, TEXTS)
def test_what_stands_between_is_what_a_search_finds(whole: str, start: str, end: str) -> None:
    found, at = [], 0
    while start and end and (low := whole.find(start, at)) >= 0 and (high := whole.find(end, low + len(start))) >= 0:
        found.append(whole[low + len(start) : high])
        at = high + len(end)
    assert text.all_between(whole, start, end) == found


def test_openings_without_an_end_take_linear_time() -> None:
    assert text.all_between("<" * 1_000_000, "<", ">") == []
    assert text.between("<" * 1_000_000 + ">", "<", ">") == "<" * 999_999


@given(WORDS, st.integers(1, 12))
def test_lines_are_wrapped_as_pythons(whole: str, width: int) -> None:
    lines = text.wrap(whole, width)
    assert all(0 < len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == "".join(whole.split())
    if all(len(word) <= width for word in whole.split()):
        assert lines == textwrap.wrap(" ".join(whole.split()), width)


@given(st.lists(st.text(" \tab", max_size=6), max_size=6).map("\n".join))
def test_lines_lose_what_they_all_begin_with(whole: str) -> None:
    lines = textwrap.dedent(whole).split("\n")
    assert text.dedent(whole) == "\n".join(lines[:-1] if whole.endswith("\n") or not whole else lines)


@given(TEXTS, TEXTS)
def test_parts_put_together_are_the_whole(whole: str, part: str) -> None:
    assert text.count(whole, part) == (whole.count(part) if part else 0)
    assert text.remove_prefix(whole, part) == whole.removeprefix(part)
    assert text.remove_suffix(whole, part) == whole.removesuffix(part)
    if part and part in whole:
        assert text.before(whole, part) + part + text.after(whole, part) == whole
        assert text.before_last(whole, part) + part + text.after_last(whole, part) == whole
    assert text.common_prefix(whole, part) == common(whole, part)
    assert text.common_suffix(whole, part) == common(whole[::-1], part[::-1])[::-1]
    assert text.words(whole) == whole.split()


@given(TEXTS, st.integers(1, 30))
def test_cut_texts_are_short_enough(whole: str, most: int) -> None:
    for cut in (text.shorten(whole, most), text.shorten_words(whole, most)):
        assert len(cut) <= most
        assert cut == whole or cut.endswith("…")


@given(TEXTS)
def test_cases_hold_letters_and_digits_alone(whole: str) -> None:
    snake = text.snake_case(whole)
    assert snake == snake.lower()
    assert "__" not in snake
    assert not snake.startswith("_")
    assert text.kebab_case(whole).replace("-", "_") == snake
    slug = text.slugify(whole)
    assert set(slug) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert slug.strip("-") == slug
    assert "--" not in slug
    assert text.capitalize(whole)[1:].endswith(whole[1:])


@given(st.lists(st.text("ab019", max_size=6)))
def test_numbers_in_texts_are_in_their_order(texts: list[str]) -> None:
    ordered = text.sort_natural(texts)
    assert sorted(ordered) == sorted(texts)
    for a, b in pairwise(ordered):
        assert text.compare_natural(a, b) <= 0
    numbers = [one for one in ordered if one.isdigit()]
    assert numbers == sorted(numbers, key=lambda one: (int(one), one))
    assert natural("a" + "9" * 100_000) > natural("a" + "8" * 100_000)


@given(TEXTS, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_normal_forms_and_folding(whole: str, form: str) -> None:
    assert text.normalize(whole, form) == unicodedata.normalize(form, whole)  # type: ignore[arg-type]
    assert text.same_text(whole, unicodedata.normalize("NFD", whole))
    assert text.fold(text.fold(whole)) == text.fold(whole)
    assert not any(unicodedata.combining(c) for c in text.without_marks(whole) if c == "\u0301")


@given(st.text(max_size=30))
def test_what_is_printed_is_seen(whole: str) -> None:
    seen = text.printable(whole)
    assert all(c in "\n\r\t" or unicodedata.category(c)[0] != "C" for c in seen)
    assert text.printable(seen) == seen


@pytest.mark.feature("A15.9")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [("wrap", (3,)), ("dedent", ()), ("title_case", ()), ("slugify", ()), ("snake_case", ()), ("squeeze", ()), ("reverse", ()),
     ("without_marks", ()), ("printable", ()), ("all_between", ("a", "b")), ("shorten_words", (60_000,)), ("fold", ())],
)  # fmt: skip
@pytest.mark.parametrize("piece", [" ", "a", "a\u0301 ", "A1_", "\n \t", "\u0f73", "ab"])
def test_long_texts_of_one_kind_take_linear_time(name: str, arguments: tuple[object, ...], piece: str) -> None:
    getattr(text, name)(piece * (65_536 // len(piece)), *arguments)
