"""Patterns: ECMA's meaning, linear time, and what is refused."""

from __future__ import annotations

import re
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ael.types.dialect_pattern import portable
from ael.types.pattern import _direct, check_pattern, compile_pattern, matches
from ael.types.pattern_syntax import PatternError, parse


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^[A-Z]-[0-9]+$", "A-12", True),
        ("^[A-Z]-[0-9]+$", "A-12\n", False),
        ("b+", "abbc", True),
        ("", "anything", True),
        ("^$", "", True),
        ("^$", "x", False),
        ("^a|b$", "xb", True),
        ("^(foo|bar){2,3}$", "foobarfoo", True),
        ("^(foo|bar){2,3}$", "foo", False),
        ("^\\d{3}$", "123", True),
        ("^\\d{3}$", "١٢٣", False),
        ("^\\w+$", "é", False),
        ("^\\p{L}+$", "éa", True),
        ("^\\P{L}+$", "éa", False),
        ("^\\p{Lu}$", "É", True),
        ("^.$", "\n", False),
        ("^.$", "\U0001f600", True),
        ("^\\u{1F600}\\x41\\u0042$", "\U0001f600AB", True),
        ("^[^a-c\\d]+$", "xyz", True),
        ("^[^a-c\\d]+$", "xy1", False),
        ("^[\\w.-]+@[\\w-]+\\.[a-z]{2,}$", "a.b@c.de", True),
        ("^(?:a|b)*?c$", "ababc", True),
        ("^(?<year>\\d{4})$", "2026", True),
        ("[]", "a", False),
        ("[^]", "\n", True),
        ("^[a\\-z]$", "-", True),
        ("^[-a]$", "-", True),
        ("^a{0}$", "", True),
        ("a$|^b", "ba", True),
        ("(^a)+", "a", True),
        ("a^", "a", False),
        ("^\\s$", "\ufeff", True),
        ("^\\/$", "/", True),
        ("^\\cA$", "x", None),
        ("^(?!\\.)(?!.*\\.\\.)[a-z.]+@[a-z]+$", "a.b@c", True),
        ("^(?!\\.)(?!.*\\.\\.)[a-z.]+@[a-z]+$", ".a@c", False),
        ("^(?!\\.)(?!.*\\.\\.)[a-z.]+@[a-z]+$", "a..b@c", False),
        ("^(?=.*\\d)(?=.*[A-Z]).{4,}$", "ab1D", True),
        ("^(?=.*\\d)(?=.*[A-Z]).{4,}$", "abcD", False),
        ("^(?!a|b)", "c", True),
        ("^(?!a|b)", "b", False),
        ("^(?!a)(b|c)", "b", True),
        ("^(?=a)", "ba", False),
        ("^(?!a)b|c", "xc", None),
        ("^(?!a)*b", "b", None),
        ("^(?!a", "b", None),
        ("^(?=(?!a)b)", "b", None),
        ("^a(?!b)", "a", None),
    ],
)
def test_meaning(pattern: str, text: str, found: bool | None) -> None:
    if found is None:
        assert check_pattern(pattern) is not None
    else:
        assert matches(pattern, text) is found


@pytest.mark.parametrize(
    ("pattern", "at"),
    [
        ("(?=a)", 0),
        ("(?!a)", 0),
        ("x(?<=a)", 1),
        ("(?i)a", 0),
        ("(a)\\1", 3),
        ("\\bword", 0),
        ("a**", 2),
        ("*", 0),
        ("^*", 0),
        ("[b-a]", 1),
        ("[a", 0),
        ("(a", 0),
        ("a)", 1),
        ("a{2,1}", 1),
        ("a{", 1),
        ("}", 0),
        ("\\q", 0),
        ("\\", 0),
        ("\\u12", 0),
        ("\\u{110000}", 0),
        ("\\p{Script=Latin}", 0),
        ("\\p", 0),
    ],
)
def test_refusals_say_where(pattern: str, at: int) -> None:
    error = check_pattern(pattern)
    assert error is not None
    assert error.at == at
    assert error.message
    with pytest.raises(PatternError):
        matches(pattern, "a")


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "^(a|a)*$", "^(a*)*b$", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$", "a*a*a*a*a*a*a*b"]
)
def test_patterns_that_explode_elsewhere_take_linear_time(pattern: str) -> None:
    assert not matches(pattern, "a" * 20_000 + "!")


@pytest.mark.parametrize(
    "pattern", ["a" * 5_000, "(" * 100 + ")" * 100, "(a{1000}){1000}", "x{200000}", "((a{0,99}){0,99}){0,99}"]
)
def test_patterns_that_are_too_large_are_refused(pattern: str) -> None:
    assert check_pattern(pattern) is not None


def test_many_states_do_not_pile_up() -> None:
    # the deterministic automaton of this has some 2 ** 14 states
    assert matches("(a|b)*a(a|b){13}$", "ab" * 10_000)
    assert not matches("^(a|b)*a(a|b){13}$", "ab" * 5_000 + "b" * 14)


def test_the_fast_way_is_only_taken_where_nothing_is_tried_twice() -> None:
    assert _direct(parse("^[a-z]+-[0-9]*$")) is not None
    for pattern in ("^a*a$", "^a*b*a$", "a*", "^(a|b)$", "^[a-z]+[m]$", "^a?a?b$"):
        assert _direct(parse(pattern)) is None
    assert compile_pattern("^a*b*a$")("aaba")


ATOMS = st.sampled_from(["a", "b", "[ab]", "[^a]", "(?:ab|b)", "(?:a|)", ".", "(?:a*b)"])
PIECES = st.tuples(ATOMS, st.sampled_from(["", "*", "+", "?", "{2}", "{0,2}", "{1,}"])).map("".join)
PATTERNS = st.tuples(
    st.sampled_from(["", "^"]),
    st.lists(PIECES, max_size=4).map("".join),
    st.sampled_from(["", "|b", "|^a"]),
    st.sampled_from(["", "\\Z"]),
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(parts=PATTERNS, text=st.text("abc", max_size=8))
def test_the_same_as_python_where_both_mean_the_same(parts: tuple[str, str, str, str], text: str) -> None:
    ours = "".join(parts).replace("\\Z", "$")
    assert matches(ours, text) is (re.search("".join(parts), text) is not None)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(parts=PATTERNS, text=st.text("abc", max_size=8))
def test_the_portable_form_means_the_same(parts: tuple[str, str, str, str], text: str) -> None:
    pattern = "^(" + "".join(parts).replace("\\Z", "") + "d?)" + "$"
    plain = portable(pattern, 100)
    assert plain is None or matches(plain, text) is matches(pattern, text)


def test_portable_forms_exist() -> None:
    assert portable("^[ab]{2}(?:ab|b)+$", 100) == "^[ab]{2}(ab|b)+$"


@given(
    st.lists(st.tuples(st.sampled_from("=!"), st.sampled_from(("a", ".*b", "a|b", "[ab]$", "", "c*a"))), min_size=1, max_size=3),
    st.sampled_from(("[a-c]+$", "(a|b)c?", ".", "", "$", "a{1,2}b")),
    st.text(alphabet="abc", max_size=5),
)
@settings(max_examples=300, deadline=None)
def test_conditions_at_the_start_are_those_of_python(conditions: list[tuple[str, str]], rest: str, text: str) -> None:
    pattern = "^" + "".join(f"(?{sign}{inner})" for sign, inner in conditions) + rest
    assert matches(pattern, text) == (re.search(pattern.replace("$", r"\Z"), text) is not None)


def test_threads_share_a_pattern_beyond_what_is_kept() -> None:
    """Each text makes states of its own, so that what is kept begins anew under the searches of the others."""
    found = compile_pattern("(?:[ab]*a[ab]{11}c)+x")
    texts = ["".join("ab"[number * step >> bit & 1] for bit in range(14)) + "cx" for step in (3, 5, 7) for number in range(400)]
    wanted = [re.search("[ab]*a[ab]{11}cx", text) is not None for text in texts]
    results: list[list[bool]] = []
    threads = [Thread(target=lambda: results.append([found(text) for text in texts])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [wanted] * 4
