"""Finding matches: what Python's engine finds, in time linear in the text."""

from __future__ import annotations

import re
import sys
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.types import pattern_find
from ael.types.pattern import check_pattern
from ael.types.pattern_find import Finder, finder
from ael.types.pattern_syntax import _CASED, PatternError


def spans(pattern: str, text: str) -> list[list[tuple[int, int] | None]]:
    return list(Finder(pattern).find(text))


def found(pattern: str, text: str) -> list[str]:
    return [text[slice(*one[0])] for one in spans(pattern, text) if one[0] is not None]


def oracle(pattern: str, text: str) -> list[list[tuple[int, int] | None]]:
    """What `re` finds, one match at a time, with the step of ECMA-262 after an empty one."""
    compiled = re.compile(pattern.replace("$", r"\Z").replace(".", r"[^\n\r]"), re.ASCII)
    at, made = 0, []
    while at <= len(text) and (match := compiled.search(text, at)) is not None:
        groups = [match.span(i) if match.span(i) != (-1, -1) else None for i in range(compiled.groups + 1)]
        made.append(groups)
        at = match.end() if match.end() > match.start() else match.end() + 1
    return made


ATOMS = st.sampled_from(["a", "b", "c", ".", "[ab]", "[^a]", r"\w", r"\W"])
COUNTS = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "{2,}"])
EDGES = st.sampled_from(["^", "$", r"\b", r"\B"])
# What is repeated always takes a character: engines differ in rounds of a loop that take none.
TAKING = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"({two[0]}|{two[1]})"),
        inner.map(lambda one: f"({one})"),
        st.tuples(inner, COUNTS, inner).map(lambda three: f"(?:{three[0]}){three[1]}{three[2]}"),
    ),
    max_leaves=8,
)
PATTERNS = st.one_of(
    TAKING,
    st.lists(st.one_of(EDGES, TAKING, st.tuples(TAKING, COUNTS).map(lambda two: f"(?:{two[0]}){two[1]}")), max_size=4).map(
        "".join
    ),
)


@given(PATTERNS, st.text("abc \n", min_size=1, max_size=12))  # `\B` of an empty text is a mistake of older Pythons
@pytest.mark.feature("A15.9")
def test_it_finds_what_an_engine_that_goes_back_finds(pattern: str, text: str) -> None:
    assert spans(pattern, text) == oracle(pattern, text)


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_as_a_pattern_is_refused_or_finds_spans_in_order(pattern: str, text: str) -> None:
    refused: PatternError | None = None
    matches: list[list[tuple[int, int] | None]] = []
    try:
        matches = spans(pattern, text)
    except PatternError as error:
        refused = error
    assert refused is None or 0 <= refused.at <= len(pattern)
    at = 0
    for whole, *groups in matches:
        assert whole is not None
        assert at <= whole[0] <= whole[1] <= len(text)
        at = whole[1]
        for group in groups:
            assert group is None or whole[0] <= group[0] <= group[1] <= whole[1]


@given(PATTERNS, st.text("abc", max_size=40), st.integers(1, 9))
def test_a_text_of_many_blocks_is_as_one_of_one(pattern: str, text: str, block: int) -> None:
    whole = spans(pattern, text)
    kept = pattern_find._BLOCK
    pattern_find._BLOCK = block
    try:
        assert spans(pattern, text) == whole
    finally:
        pattern_find._BLOCK = kept


@pytest.mark.feature("A15.9")
@pytest.mark.parametrize(
    ("pattern", "text", "count"),
    [
        ("(a+)+c", "a" * 65_536, 0),
        ("(?:(?:(?:a*)*)*)*b", "a" * 65_536, 0),
        ("a.*b|a", "a" * 65_536, 65_536),  # looking for one match at a time reads to the end for each
        ("(.*)(.*)(.*)(.*)x", "a" * 65_536, 0),
        ("(?:a?){450}a{50}", "a" * 65_536, 131),
        ("(?:[ab]*a[ab]{400}){1,2}c", "ab" * 10_000, 0),
        ("(?:.{0,20}){20}x", "ab" * 32_768, 0),
        ("c[abc]{900}x", "abcacb" * 10_923, 0),
        (r"^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 65_536, 0),
        ("(?:(?:){100000}){100000}", "aa", 3),
    ],
)
def test_hostile_patterns_and_texts_take_linear_time(pattern: str, text: str, count: int) -> None:
    assert sum(1 for _ in Finder(pattern).find(text)) == count


def test_repetitions_of_nothing_are_no_work_for_the_check_either() -> None:
    assert check_pattern("(?:(?:(?:){100000}){100000}){100000}") is None


def test_what_the_pattern_prefers_is_found() -> None:
    assert found("a|ab", "ab") == ["a"]
    assert found("ab|a", "ab") == ["ab"]
    assert found("<.+>", "<a><b>") == ["<a><b>"]
    assert found("<.+?>", "<a><b>") == ["<a>", "<b>"]
    assert found("a*", "baac") == ["", "aa", "", ""]


def test_groups_have_the_last_of_their_rounds() -> None:
    assert spans("(?:(a)|(b))+", "ab") == [[(0, 2), (0, 1), (1, 2)]]
    assert spans("(?<year>[0-9]{4})-(?<month>[0-9]{2})", "on 2026-11") == [[(3, 10), (3, 7), (8, 10)]]
    assert finder("(?<year>[0-9]{4})-([0-9]{2})").names == ("year", None)


def test_edges_of_words_and_lines() -> None:
    assert found(r"\bcat\b", "cat concat cat's") == ["cat", "cat"]
    assert found(r"\Bcat", "cat concat") == ["cat"]
    assert found(r"(?m)^\w+$", "one\ntwo three\nfour") == ["one", "four"]
    assert found(r"^\w+$", "one\nfour") == []
    assert found(r"(?s)a.b", "a\nb") == ["a\nb"]


def test_either_case() -> None:
    assert found("(?i)straße|ÄB", "STRAßE äb") == ["STRAßE", "äb"]
    assert found("(?i)[^a]", "aAb") == ["b"]
    assert found(r"(?i)\W", "aS-") == ["-"]
    assert all(chr(code).lower() == chr(code) == chr(code).upper() for code in range(_CASED, sys.maxunicode + 1))


@pytest.mark.parametrize(
    ("pattern", "at"),
    [
        ("(", 0),
        ("a)", 1),
        ("a**", 2),
        ("[z-a]", 1),
        ("(?=a)", 0),
        (r"\1", 0),
        ("a{3,1}", 1),
        ("(?<x>a)(?<x>b)", 7),
        ("(?x)a", 0),
        ("a" * 4_001, 4_000),
    ],
)
def test_a_pattern_that_is_refused_says_where(pattern: str, at: int) -> None:
    with pytest.raises(PatternError) as error:
        Finder(pattern)
    assert error.value.at == at


def test_a_pattern_that_stands_for_too_much_is_refused() -> None:
    with pytest.raises(PatternError, match="too large"):
        Finder("(?:a{1000}){1000}")


def test_threads_share_a_pattern() -> None:
    shared = Finder(r"(\w+)@(\w+)")
    text = "".join(f"user{chr(200 + i)}{i}@host{i} " for i in range(400))
    want = list(Finder(r"(\w+)@(\w+)").find(text))
    results: list[object] = []
    threads = [Thread(target=lambda: results.append(list(shared.find(text)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [want] * 4
