"""Versions are ordered as Semantic Versioning says, and a requirement takes those that it names and no other."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.types.version import (
    MAX_COMPARISONS,
    Version,
    VersionError,
    breaking,
    compatible,
    parse_requirement,
    parse_version,
    patched,
)

NUMBERS = st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5))
PRE = st.lists(st.one_of(st.integers(0, 20).map(str), st.sampled_from(["alpha", "beta", "rc", "x-1"])), max_size=3).map(tuple)
VERSIONS = st.builds(Version, NUMBERS, PRE)
RELEASES = st.builds(Version, NUMBERS)

# The example of semver.org, rule 11, in order.
ORDERED = (
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
)


def test_the_order_of_the_standard() -> None:
    found = [parse_version(text) for text in ORDERED]
    found.reverse()
    assert list(map(str, sorted(found))) == list(ORDERED)


@given(VERSIONS, VERSIONS, VERSIONS)
def test_versions_have_one_order(a: Version, b: Version, c: Version) -> None:
    assert (a < b) + (a == b) + (b < a) == 1
    if a < b < c:
        assert a < c


@given(VERSIONS)
def test_what_is_written_is_read(version: Version) -> None:
    assert parse_version(str(version)) == version


@given(RELEASES, st.integers(1, 3), VERSIONS)
def test_a_bare_requirement_ends_before_the_next_version_that_may_break(asked: Version, parts: int, other: Version) -> None:
    text = ".".join(map(str, asked.numbers[:parts]))
    least = parse_version(text)
    requirement = parse_requirement(text)
    if other.release:
        assert requirement.allows(other) == (least <= other < breaking(least, parts))
    else:
        assert not requirement.allows(other), "nobody gets an unfinished version without asking"
    assert requirement.allows(least)
    # Cargo's rule: the parts up to the first one that is not 0 are the same, as far as they are written.
    if requirement.allows(other):
        lead = next((at for at, number in enumerate(least.numbers[:parts]) if number), parts - 1)
        assert other.numbers[: lead + 1] == least.numbers[: lead + 1]


@given(RELEASES, PRE.filter(bool), NUMBERS, PRE.filter(bool))
def test_a_version_before_a_release_is_taken_where_its_own_is_asked_for(
    at: Version, pre: tuple[str, ...], numbers: tuple[int, int, int], other_pre: tuple[str, ...]
) -> None:
    asked, other = Version(at.numbers, pre), Version(numbers, other_pre)
    assert parse_requirement(f">={asked}").allows(other) == (other.numbers == asked.numbers and other >= asked)


@given(RELEASES, RELEASES, RELEASES)
def test_comparisons_must_all_hold(low: Version, high: Version, other: Version) -> None:
    assert parse_requirement(f">={low}, <{high}").allows(other) == (low <= other < high)
    assert parse_requirement(f">{low},<={high}").allows(other) == (low < other <= high)
    assert parse_requirement(f"={low}").allows(other) == (low == other)


@given(RELEASES)
def test_the_next_versions_are_above_and_what_is_compatible_is_taken(version: Version) -> None:
    requirement = parse_requirement(str(version))
    assert version < patched(version) <= breaking(version)
    assert version < compatible(version) <= breaking(version)
    assert not requirement.allows(breaking(version))
    if version.numbers[0]:
        assert requirement.allows(patched(version))
        assert requirement.allows(compatible(version))


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("1.2", ">=1.2.0, <2.0.0"),
        ("1", ">=1.0.0, <2.0.0"),
        ("^1.2.3", ">=1.2.3, <2.0.0"),
        ("0.3", ">=0.3.0, <0.4.0"),
        ("0.0.7", ">=0.0.7, <0.0.8"),
        ("0.0", ">=0.0.0, <0.1.0"),
        ("0", ">=0.0.0, <1.0.0"),
        (">=1.2, <3", ">=1.2.0, <3.0.0"),
        ("= 1.4", "=1.4.0"),
    ],
)
def test_what_a_requirement_means(asked: str, meant: str) -> None:
    assert str(parse_requirement(asked)) == meant


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "1.2.3.4", "v1", "01.2", "1.02", "1.2.3-", "1.2.3-rc..1", "1.2.3-01", "1.2.3+build", "-1", "1.-2", "１.2"),
        *("1234567890", "1.2.3-ü", "x" * 10_000, "1\n", "latest"),
    ],
)
def test_what_is_no_version(text: str) -> None:
    with pytest.raises(VersionError):
        parse_version(text)


@pytest.mark.parametrize(
    "text", ["", "~> 1.2", "*", "1.2,", ">=", "1 2", "1 || 2", "!=1", ",".join(["1"] * (MAX_COMPARISONS + 1))]
)
def test_what_is_no_requirement(text: str) -> None:
    with pytest.raises(VersionError):
        parse_requirement(text)


@given(st.one_of(st.text(max_size=40), st.text("0123456789.-rc<>=, ", max_size=20)))
def test_any_text_is_read_or_refused_and_a_version_is_what_it_asks_for(text: str) -> None:
    with contextlib.suppress(VersionError):
        parse_requirement(text)
    with contextlib.suppress(VersionError):
        assert parse_requirement(f"={text}").allows(parse_version(text))
