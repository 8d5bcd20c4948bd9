"""Challenges as servers write them, and as nobody should."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ael.mcp.oauth.challenge import MAX_SCOPES, Challenge, challenges_of, scopes_of, token_challenge


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Bearer", [("bearer", {})]),
        ('Bearer realm="a, b", error="invalid_token"', [("bearer", {"realm": "a, b", "error": "invalid_token"})]),
        ('bearer scope="a b"', [("bearer", {"scope": "a b"})]),
        ('Bearer realm="say \\"hi\\"", x=1', [("bearer", {"realm": 'say "hi"', "x": "1"})]),
        ("Negotiate, Bearer scope=a", [("negotiate", {}), ("bearer", {"scope": "a"})]),
        ('Basic realm="x", Bearer error=e', [("basic", {"realm": "x"}), ("bearer", {"error": "e"})]),
        ("Negotiate dG9rZW4=, Bearer error=e", [("negotiate", {}), ("bearer", {"error": "e"})]),
        ('Bearer , scope="a" ,, error=x', [("bearer", {"scope": "a", "error": "x"})]),
        ("Bearer SCOPE=a, scope=b", [("bearer", {"scope": "a"})]),
        ('DPoP algs="ES256", Bearer', [("dpop", {"algs": "ES256"}), ("bearer", {})]),
        ("Bearer scope = a", [("bearer", {"scope": "a"})]),
        ("", []),
        (", ,", []),
        ('"', []),
        ('Bearer realm="open', [("bearer", {})]),
    ],
)
def test_challenges(value: str, expected: list[tuple[str, dict[str, str]]]) -> None:
    assert [(one.scheme, dict(one.parameters)) for one in challenges_of([value])][: len(expected)] == expected


def test_the_first_that_a_token_answers() -> None:
    found = token_challenge(["Negotiate", 'Basic realm="x"', 'Bearer resource_metadata="https://a/b", scope="x y x"'])
    assert found == Challenge("bearer", {"resource_metadata": "https://a/b", "scope": "x y x"})
    assert found.resource_metadata == "https://a/b"
    assert found.scopes == ("x", "y")
    assert found.error == ""
    assert token_challenge(['Basic realm="x"']) is None
    assert token_challenge([]) is None


def test_scopes_are_only_what_scopes_may_be() -> None:
    assert scopes_of('a  b\ta "x" ä \\ https://x/y.z') == ("a", "b", "https://x/y.z")
    assert scopes_of("") == ()
    assert len(scopes_of(" ".join(map(str, range(1000))))) == MAX_SCOPES
    assert scopes_of("s" * 300) == ()


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(st.sampled_from('Bearer DPoP=",\\ \tscope;é'), max_size=80), max_size=4))
def test_any_text_ends(values: list[str]) -> None:
    for found in challenges_of(values):
        assert found.scheme == found.scheme.lower() != ""


def test_long_values_take_no_long_time() -> None:
    for piece in ('"', "\\", "a=", 'a="', "a, ", "a ", "=", 'a="\\'):
        found = challenges_of(["Bearer " + piece * 200_000] * 3)
        assert len(found) <= 20_000
