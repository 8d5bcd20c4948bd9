"""Patterns of the standard library: what Python's engine finds, in linear time. The engine itself: `tests/types/test_pattern_find.py`."""

from __future__ import annotations

import re
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.lower.natives import regex as natives
from tests.stdlib.functions import ending, module

regex = module("regex")
pytestmark = [pytest.mark.feature("A15.9")]
ATOMS = st.sampled_from(["a", "b", "[ab]", "[^a]", r"\w", r"\s", "(a)", "(?P<x>b)", "a|b"])
COUNTS = st.sampled_from(["", "+", "+?", "{1,2}"])
PATTERNS = st.lists(st.tuples(ATOMS, COUNTS), min_size=1, max_size=3).map(
    lambda parts: "".join(f"(?:{atom}){count}" for atom, count in parts)
)
TEXTS = st.text("ab c", max_size=16)


def ours(pattern: str) -> str:
    """The pattern as ECMA-262 writes it."""
    return pattern.replace("(?P<", "(?<")


def usable(pattern: str) -> bool:
    return pattern.count("(?P<") <= 1


@given(PATTERNS.filter(usable), TEXTS)
def test_matches_are_those_of_python(pattern: str, text: str) -> None:
    wanted = list(re.finditer(pattern, text, re.ASCII))
    found = regex.find_all(text, ours(pattern))
    assert [(one["text"], one["start"], one["end"], one["groups"]) for one in found] == [
        (m[0], m.start(), m.end(), list(m.groups())) for m in wanted
    ]
    assert [one["named"] for one in found] == [{k: v for k, v in m.groupdict().items() if v is not None} for m in wanted]
    assert regex.is_match(text, ours(pattern)) == bool(wanted)
    assert regex.is_whole(text, ours(pattern)) == (re.fullmatch(pattern, text, re.ASCII) is not None)
    assert regex.find(text, ours(pattern)) == (found[0] if found else None)
    assert regex.count(text, ours(pattern)) == len(wanted)
    groups = re.compile(pattern).groups
    assert regex.extract(text, ours(pattern)) == [m[1] if groups else m[0] for m in wanted if not groups or m[1] is not None]


@given(PATTERNS.filter(usable), TEXTS, st.text("$12&<x>-ab", max_size=6))
def test_replaced_and_split(pattern: str, text: str, replacement: str) -> None:
    compiled = re.compile(pattern, re.ASCII)

    def expand(match: re.Match[str]) -> str:
        def reference(one: re.Match[str]) -> str:
            sign = one[1]
            if sign in "$&":
                return "$" if sign == "$" else match[0]
            if sign.startswith("<"):
                return (match["x"] or "") if sign == "<x>" and "x" in compiled.groupindex else one[0]
            for length in (2, 1):
                number = sign[:length]
                if len(number) == length and int(number) <= compiled.groups:
                    return (match[int(number)] or "") + sign[length:]
            return one[0]

        return re.sub(r"\$(\$|&|[1-9][0-9]?|<[^>]*>)", reference, replacement)

    assert regex.replace(text, ours(pattern), replacement) == compiled.sub(expand, text)
    assert regex.replace_with(text, ours(pattern), lambda m: f"[{m['text']}]") == compiled.sub(lambda m: f"[{m[0]}]", text)
    pieces, at = [], 0
    for match in compiled.finditer(text):
        pieces.append(text[at : match.start()])
        at = match.end()
    assert regex.split(text, ours(pattern)) == [*pieces, text[at:]]


@given(st.text(max_size=20), st.text(max_size=10))
def test_an_escaped_text_is_found_as_it_is(text: str, other: str) -> None:
    assert regex.is_whole(text, regex.escape(text))
    assert regex.is_whole(other, regex.escape(text)) == (other == text)


@given(st.text(max_size=20), st.text("ab(", max_size=10))
def test_any_pattern_is_used_or_told_what_is_wrong(pattern: str, text: str) -> None:
    for name, more in (
        ("find_all", ()),
        ("replace", ("$1",)),
        ("split", ()),
        ("is_whole", ()),
        ("captures", ()),
        ("extract", ()),
    ):
        told = ending(getattr(regex, name), text, pattern, *more)
        if isinstance(told, tuple):
            assert told[0] == "BadPattern"
            assert 0 <= told[1]["at"] <= len(pattern)


def test_natives_of_a_pattern_that_nobody_looked_at_find_nothing() -> None:
    assert natives.found("(", "a(", -1) == []
    assert natives.replaced("(", "a(", "x") == "a("
    assert natives.parts("(", "a(") == ["a("]
    assert natives.whole("(", "(") is False


def test_a_result_that_is_too_large_is_a_fault() -> None:
    assert ending(regex.replace, "a" * 100_000, "a", "b" * 1_000) == "TooLarge"
    assert ending(regex.replace, "a" * 60_000, ".*", "$&" * 300) == "TooLarge"


@pytest.mark.parametrize(
    ("pattern", "piece"),
    [(r"^(([a-z])+.)+[A-Z]([a-z])+$", "a"), (r"(\w+\s?)*!", "word "), (r"(x+x+)+y", "x"), (r"\s+$", " "), (r"(.*),(.*),(.*)x", "a,"),
     (r"<.*?>", "<"), (r"(?i)(a|A|b)*c", "aB"), (r"(?m)^\s*$", "\n"), (r"\b(\w+)\b.*\1?".replace(r"\1?", "z"), "ab ")],
)  # fmt: skip
def test_what_keeps_other_engines_busy(pattern: str, piece: str) -> None:
    text = piece * (65_536 // len(piece))
    assert len(list(islice(regex.find_all(text, pattern), 3))) <= 3
    regex.replace(text, pattern, "-")
    regex.split(text, pattern)
